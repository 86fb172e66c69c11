// SPDX-License-Identifier: Apache-2.0
//! What the pipeline's trace is told about packets outside the pipeline.

use crate::device::Device;
use crate::drops::DropPlace;
use crate::taps::TraceId;
use v1model::trace::{CopyKind, DropReason, TraceEvent, TraceSink};
use v1model::{InstanceType, Packet};

impl Device {
    /// Tells `sink`, too, about packets that come in from now on, whatever
    /// pipeline they meet. `None` when there are [`TRACES`](crate::TRACES) already.
    pub fn add_trace(&mut self, sink: Box<dyn TraceSink + Send>) -> Option<TraceId> {
        let id = self.taps.add(sink)?;
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.set_trace(Some(Box::new(self.taps.clone())));
        }
        Some(id)
    }

    /// Ends a trace; after the last one packets are as fast as before.
    pub fn remove_trace(&mut self, id: TraceId) {
        self.taps.remove(id);
        if self.taps.count() == 0
            && let Some(pipeline) = &mut self.pipeline
        {
            pipeline.set_trace(None);
        }
    }

    /// Something happened to a packet. Nothing but a comparison when it is not traced.
    #[inline]
    pub(crate) fn trace(&mut self, now: u64, packet: u64, event: &TraceEvent<'_>) {
        if packet != 0
            && let Some(pipeline) = &mut self.pipeline
        {
            pipeline.trace(now, packet, event);
        }
    }

    /// A packet is dropped, which is counted whether it is traced or not.
    #[inline]
    pub(crate) fn trace_drop(&mut self, now: u64, packet: u64, reason: DropReason<'_>) {
        self.drops.note(DropPlace::from(&reason));
        self.trace(now, packet, &TraceEvent::Dropped(reason));
    }

    /// A copy of a packet was made.
    #[inline]
    pub(crate) fn trace_copy(&mut self, of: u64, kind: InstanceType, copy: &mut Packet) {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.trace_copy(of, copy_kind(kind), copy);
        }
    }
}

pub(crate) fn copy_kind(instance_type: InstanceType) -> CopyKind {
    match instance_type {
        InstanceType::IngressClone => CopyKind::IngressClone,
        InstanceType::EgressClone => CopyKind::EgressClone,
        _ => CopyKind::Replica,
    }
}
