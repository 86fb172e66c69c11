// SPDX-License-Identifier: Apache-2.0
//! TCP acknowledgements that a later one makes superfluous in their queue.
//!
//! They leave from any place in the queue, so the pipeline is told: each runs through egress at
//! that time, with the instance type [`InstanceType::Suppressed`], so that a program can count it
//! as gone from the queue. Whatever egress decides, the frame is not sent.

use crate::device::Device;
use crate::queued::Queued;
use crate::room::bound;
use traffic_manager::{Destination, Segment, SegmentArrival, Slot};
use v1model::trace::DropReason;
use v1model::{EgressMetadata, InstanceType};

impl Device {
    /// A packet comes to a queue that suppresses acknowledgements. Those that it makes
    /// superfluous are in `self.suppressed` afterwards.
    ///
    /// # Errors
    /// Hands the packet back when the queue is full.
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue_segment(
        &mut self,
        slot: Slot,
        len: usize,
        queued: Queued,
    ) -> Result<(), Queued> {
        let segment = Segment::of(queued.packet().received());
        let arrival = SegmentArrival {
            segment: segment.as_ref(),
            inherit: |new: &mut Queued, old| new.packet_mut().take_place_of(old.packet()),
            gone: &mut self.suppressed,
        };
        let now = self.time - self.skipped;
        self.tm.enqueue_segment(now, slot, len, queued, arrival)
    }

    /// Tells the pipeline, and who looks on, what has left a queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn account_for_suppressed(&mut self, now: u64, from: Destination) {
        let mut suppressed = std::mem::take(&mut self.suppressed);
        for mut queued in suppressed.drain(..) {
            let number = queued.packet().trace_number();
            if let Some(pipeline) = &mut self.pipeline {
                let metadata = EgressMetadata {
                    port: from.port,
                    rid: queued.rid,
                    instance_type: InstanceType::Suppressed,
                    deq_qdepth: 0,
                    queue: 0,
                    grants: None,
                };
                pipeline.egress(now, &metadata, queued.packet_mut(), &mut self.out);
                bound(&mut self.out);
            }
            self.packets.give(queued.leave(&mut self.uncounted));
            self.trace_drop(now, number, DropReason::Suppressed);
        }
        self.suppressed = suppressed;
    }
}
