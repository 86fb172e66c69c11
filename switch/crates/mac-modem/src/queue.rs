// SPDX-License-Identifier: Apache-2.0
//! The interface to the queue of a service flow, which belongs to the caller.

/// What may be asked for: frames at the head of the queue that rate shaping lets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Eligible {
    /// How many.
    pub frames: u64,
    /// Their bytes, CRC included, 64 for each at the least, without MAC headers.
    pub bytes: u64,
}

impl Eligible {
    /// MAC bytes of them, with `header` bytes of MAC header each.
    #[must_use]
    pub fn mac_bytes(&self, header: u32) -> u64 {
        self.frames
            .saturating_mul(header.into())
            .saturating_add(self.bytes)
    }
}

/// A frame that left its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<I> {
    /// Its bytes, CRC included, 64 at the least, without MAC header.
    pub length: u32,
    /// The frame, as its queue has it.
    pub item: I,
}

/// A service flow's queue, with its shaping: data becomes eligible only after that (000, 3.2).
///
/// What happens to frames while they wait is the queue's: dropping, marking, and suppressing
/// acknowledgements that a later one replaces. Frames that were asked for and have gone leave a
/// grant unused, in whole or in part.
///
/// All times are nanoseconds. A modem calls nothing here for a flow that sleeps: whoever puts a
/// frame into the queue wakes the station.
pub trait Queue {
    /// A frame, however the queue has it.
    type Item;

    /// What may go at `now`, or be asked for: as many frames from the head on as the tokens of both
    /// buckets cover. What was asked for and has not left still counts in it. A queue that
    /// does not know how many frames its tokens cover may say so many that the headers are about
    /// right; a flow that is not shaped has all its frames.
    fn eligible(&self, now: u64) -> Eligible;

    /// When more than that will be eligible, if nothing comes and nothing leaves; `None`: never.
    fn more_eligible_at(&self, now: u64) -> Option<u64>;

    /// The length of the frame at a place from the head on, as of [`Frame::length`]; `None` where
    /// the queue ends, or cannot tell what follows. Only concatenation asks for more than the head.
    fn length(&self, place: usize) -> Option<u32>;

    /// The first `frames` frames have been asked for, or have grants to come, unless a request that
    /// was lost is made again. A queue whose tokens pay for requests, and not for departures, takes
    /// them now for those that it has not paid for, and has these eligible until they go: so a bucket
    /// goes on filling while grants are on their way, and a peak rate counts from the last request
    /// (mac.md, "CMTS scheduler", ns-3's CM).
    fn asked(&mut self, now: u64, frames: u64) {
        let _ = (now, frames);
    }

    /// Takes the head, if it is eligible and its length is `at_most`: egress runs now, once. A head
    /// that egress drops is replaced at once by the next, if that is eligible and short enough.
    fn take(&mut self, now: u64, at_most: u32) -> Option<Frame<Self::Item>>;

    /// Drops the head, which asked too often, or is too long ever to be sent.
    fn give_up(&mut self, now: u64);

    /// Drops a frame that was taken and cannot be sent after all; it is counted by the station.
    fn abandon(&mut self, now: u64, frame: Frame<Self::Item>) {
        let _ = (now, frame);
    }

    /// A MAP granted the flow `granted` MAC bytes, and leaves requests for `waiting` more that are
    /// acknowledged and not granted (000, appendix A). It is called for MAPs that say something of
    /// the flow; after any other there is neither.
    fn map(&mut self, now: u64, granted: u64, waiting: u64) {
        let _ = (now, granted, waiting);
    }
}

impl<Q: Queue> Queue for &mut Q {
    type Item = Q::Item;

    fn eligible(&self, now: u64) -> Eligible {
        (**self).eligible(now)
    }

    fn more_eligible_at(&self, now: u64) -> Option<u64> {
        (**self).more_eligible_at(now)
    }

    fn length(&self, place: usize) -> Option<u32> {
        (**self).length(place)
    }

    fn asked(&mut self, now: u64, frames: u64) {
        (**self).asked(now, frames);
    }

    fn take(&mut self, now: u64, at_most: u32) -> Option<Frame<Self::Item>> {
        (**self).take(now, at_most)
    }

    fn give_up(&mut self, now: u64) {
        (**self).give_up(now);
    }

    fn abandon(&mut self, now: u64, frame: Frame<Self::Item>) {
        (**self).abandon(now, frame);
    }

    fn map(&mut self, now: u64, granted: u64, waiting: u64) {
        (**self).map(now, granted, waiting);
    }
}
