// SPDX-License-Identifier: Apache-2.0
//! Queues with ACK suppression: when a frame makes TCP acknowledgements superfluous that wait, they are
//! taken out of the queue, wherever they stand, and go nowhere.

use super::{Slot, TrafficManager};
use crate::acks::Segment;
use crate::queue::Standing;
use crate::reservation::Saved;

/// What a frame that comes may make superfluous, and who is to know.
#[derive(Debug)]
pub struct SegmentArrival<'a, T> {
    /// Its TCP segment, if it has one.
    pub segment: Option<&'a Segment>,
    /// Called where it takes the place of another frame, with itself and that one: the time that
    /// a place in the queue has waited stays the place's.
    pub inherit: fn(&mut T, &T),
    /// Where the frames go that are no longer in the queue.
    pub gone: &'a mut Vec<T>,
}

impl<T> TrafficManager<T> {
    /// Whether frames for this queue are to come by [`Self::enqueue_segment`].
    #[inline]
    #[must_use]
    pub fn suppresses_acks(&self, slot: Slot) -> bool {
        self.queue(slot.0).suppresses()
    }

    /// [`Self::enqueue`] into a queue that suppresses acknowledgements.
    ///
    /// # Errors
    /// As there. What was handed to `gone` has left the queue all the same.
    #[cold]
    #[inline(never)]
    pub fn enqueue_segment(
        &mut self,
        now: u64,
        slot: Slot,
        len: usize,
        item: T,
        arrival: SegmentArrival<'_, T>,
    ) -> Result<(), T> {
        self.advance(now);
        let Slot(slot) = slot;
        let now = self.now;
        let queue = self.queue_mut(slot);
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        queue.allow(now);
        let head = queue.head();
        let SegmentArrival {
            segment,
            inherit,
            gone,
        } = arrival;
        queue.push_segment(len, item, segment, inherit, gone)?;
        match queue.standing {
            Standing::Granted => {
                queue.rest(now);
                if head.is_none() {
                    self.notice(slot);
                }
            }
            Standing::Empty => {
                queue.resume(now, Saved::Idle);
                self.stand(slot);
            }
            // A timer, or its port, may have been set for the head that has gone.
            _ if queue.head() != head => {
                let index = queue.port;
                self.stand_down(slot);
                self.stand(slot);
                self.activate(index);
            }
            _ => {}
        }
        Ok(())
    }
}
