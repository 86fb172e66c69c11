// SPDX-License-Identifier: Apache-2.0
//! TCP acknowledgements that are taken out of a queue because later ones came.

use super::Queue;
use crate::acks::Segment;
use crate::frame::Frame;

impl<T> Queue<T> {
    /// Whether its queue does without some acknowledgements.
    #[inline]
    pub(crate) fn suppresses(&self) -> bool {
        self.suppressor.is_some()
    }

    /// [`Self::push`] of a frame with a segment, or none, that may make acknowledgements in the
    /// queue superfluous, which are handed to `gone`. `inherit` is called where it takes the place
    /// of one of them: with it and that one, in this order.
    pub(crate) fn push_segment(
        &mut self,
        len: u32,
        mut item: T,
        segment: Option<&Segment>,
        inherit: impl FnOnce(&mut T, &T),
        gone: &mut Vec<T>,
    ) -> Result<(), T> {
        let Some(mut suppressor) = self.suppressor.take() else {
            return self.push(0, len, item);
        };
        let arrival = suppressor.arrive(segment);
        let place = arrival.place.and_then(|place| self.frames.get_mut(place));
        // Egress has run of a head that needs another length than it had.
        let place = place.filter(|place| place.len == len && place.needs == len);
        let pushed = if let Some(place) = place {
            inherit(&mut item, &place.item);
            gone.push(std::mem::replace(&mut place.item, item));
            self.enqueued.count(len as usize);
            self.suppressed.count(len as usize);
            Ok(())
        } else {
            self.push(0, len, item).map(|()| {
                suppressor.appended(arrival);
                suppressor.take_lower(arrival, |position| {
                    let taken = self.take_out(position);
                    let is_taken = taken.is_some();
                    gone.extend(taken);
                    is_taken
                });
            })
        };
        self.suppressor = Some(suppressor);
        pushed
    }

    /// Takes an acknowledgement out, wherever it stands.
    fn take_out(&mut self, position: usize) -> Option<T> {
        let place = self.frames.get_mut(position)?;
        if place.needs != place.len {
            // The head, of which egress has run.
            return None;
        }
        let Frame { len, item, .. } = self.frames.remove(position)?;
        self.queued.uncount(len as usize);
        self.suppressed.count(len as usize);
        self.uncover(position, len);
        Some(item)
    }
}
