// SPDX-License-Identifier: Apache-2.0
//! Rate shaping of requests. On a port that sends by grants, a service flow's two buckets do not say
//! when a frame leaves. They bound what the modem may ask for (mac.md, "Policing": "the CM shapes
//! requests with its two buckets").
//!
//! As soon as both buckets hold the tokens for the next frame, these become *allowance*. The modem may
//! ask for what the allowance covers. A frame that leaves takes its bytes out of the allowance, so that
//! nothing leaves that the modem could not ask for. If egress drops the frame, its bytes are left to
//! the frames behind it, and what these do not need goes back to the buckets. For all t1 < t2, with
//! R, P and B as on the crate's first page:
//!
//! * bytes that became allowance, less those given back <= (t2 - t1) * R / 8 + B, and the same
//!   with P and 1522;
//! * at every time, bytes sent <= bytes that became allowance, less those given back.

use crate::allowance::{Allowance, Backlog};
use crate::bucket::Buckets;
use crate::frames::Frames;
use crate::limits::PEAK_BURST;
use crate::queue::{INSTANT, Queue};
use crate::traffic::Traffic;

/// Buckets and allowance of a queue at one moment.
#[derive(Clone, Copy)]
struct Shaped {
    buckets: Buckets,
    allowance: Allowance,
    waited: bool,
}

impl<T> Queue<T> {
    /// Bytes that all queued frames need together.
    fn needs(&self) -> u64 {
        let of_head = self.frames.head();
        let longer = of_head.map_or(0, |head| i64::from(head.needs) - i64::from(head.len));
        self.depth().bytes.saturating_add_signed(longer)
    }

    /// How many bytes the allowance lacks to cover another frame, or as many of them as come at a
    /// time: the buckets are at least so deep. `None` when all frames are covered.
    fn next_chunk(&self, allowance: &Allowance) -> Option<u32> {
        let missing = match &self.frames {
            Frames::One(fifo) => {
                let next = fifo.get(allowance.covered.frames as usize)?;
                let begun = allowance.bytes - allowance.covered.bytes;
                u64::from(next.needs).saturating_sub(begun)
            }
            Frames::Several(queues) => {
                let head = u64::from(queues.head()?.needs);
                let of_head = head.saturating_sub(allowance.bytes);
                let of_all = self.needs().saturating_sub(allowance.bytes);
                if of_head > 0 { of_head } else { of_all }
            }
        };
        (missing > 0).then_some(missing.min(PEAK_BURST) as u32)
    }

    /// Tokens turned into allowance, each at its own time, as far as they come by `now`.
    fn shaped(&self, now: u64, allowance: &Allowance) -> Shaped {
        let mut shaped = Shaped {
            buckets: self.buckets,
            allowance: *allowance,
            waited: self.waited,
        };
        let Shaped {
            buckets,
            allowance,
            waited,
        } = &mut shaped;
        while let Some(chunk) = self.next_chunk(allowance) {
            let ready = buckets.ready_at(chunk).unwrap_or(u64::MAX);
            let at = ready.max(allowance.until);
            if at > now || !buckets.spend(at, chunk) {
                *waited = *waited || buckets.earn_slower_than(now, chunk, INSTANT);
                return shaped;
            }
            allowance.until = at;
            allowance.bytes += u64::from(chunk);
            allowance.cover(&self.frames);
        }
        allowance.until = now;
        shaped
    }

    /// The buckets at `now`, less what of them is allowance by then.
    pub(crate) fn buckets_at(&self, now: u64) -> Buckets {
        match self.allowance.as_deref() {
            None => self.buckets,
            Some(allowance) => self.shaped(now, allowance).buckets,
        }
    }

    /// Turns tokens into allowance as far as they come by `now`.
    pub(crate) fn allow(&mut self, now: u64) {
        if let Some(mut allowance) = self.allowance.take() {
            let shaped = self.shaped(now, &allowance);
            *allowance = shaped.allowance;
            self.allowance = Some(allowance);
            self.buckets = shaped.buckets;
            self.waited = shaped.waited;
        }
    }

    /// What may be asked for at `now`.
    pub(crate) fn backlog(&self, now: u64) -> Backlog {
        let (Some(allowance), Some(head)) = (self.allowance.as_deref(), self.head()) else {
            return Backlog::default();
        };
        let Shaped {
            buckets, allowance, ..
        } = self.shaped(now, allowance);
        let more_at = self.next_chunk(&allowance).map(|chunk| {
            let ready = buckets.ready_at(chunk).unwrap_or(u64::MAX);
            ready.max(allowance.until)
        });
        Backlog {
            waiting: self.depth(),
            eligible: self.eligible(&allowance),
            head: Some(head),
            more_at,
        }
    }

    fn eligible(&self, allowance: &Allowance) -> Traffic {
        match &self.frames {
            Frames::One(_) => allowance.covered,
            Frames::Several(_)
                if self
                    .head()
                    .is_none_or(|needs| u64::from(needs) > allowance.bytes) =>
            {
                Traffic::default()
            }
            Frames::Several(_) => {
                let waiting = self.depth();
                let bytes = allowance.bytes.min(self.needs());
                let share = u128::from(waiting.frames) * u128::from(bytes);
                let frames = share.div_ceil(u128::from(waiting.bytes.max(1)));
                Traffic {
                    frames: (frames as u64).min(waiting.frames),
                    bytes,
                }
            }
        }
    }

    /// Bytes of the frame at a place from the head on; `None` where the queue ends, or where
    /// sub-queues take turns and it is not the head.
    pub(crate) fn length_at(&self, place: usize) -> Option<u32> {
        match &self.frames {
            Frames::One(fifo) => fifo.get(place).map(|frame| frame.needs),
            Frames::Several(_) if place == 0 => self.head(),
            Frames::Several(_) => None,
        }
    }

    /// Whether a grant lets the head go, as [`Self::allow`] has left it.
    pub(crate) fn head_is_allowed(&self) -> bool {
        let allowed = self.allowance.as_deref().map_or(0, |a| a.bytes);
        self.head().is_some_and(|needs| u64::from(needs) <= allowed)
    }

    /// Takes `len` bytes for the head out of the allowance, and what egress has made it longer than
    /// that out of the buckets. False when they do not hold it: nothing is taken.
    pub(crate) fn draw(&mut self, now: u64, len: u32) -> bool {
        let allowed = self.allowance.as_deref().map_or(0, |a| a.bytes);
        let missing = u64::from(len).saturating_sub(allowed);
        if missing > 0 && !self.buckets.spend(now, missing as u32) {
            return false;
        }
        if let Some(allowance) = &mut self.allowance {
            allowance.bytes = allowed + missing - u64::from(len);
        }
        true
    }

    /// Lets the head go by `pop`; the allowance goes on with the frames behind it.
    pub(crate) fn take_head<R>(
        &mut self,
        now: u64,
        pop: impl FnOnce(&mut Self) -> Option<R>,
    ) -> Option<R> {
        let needs = self.head()?;
        let gone = pop(self);
        if let Some(allowance) = &mut self.allowance {
            allowance.forget(needs);
        }
        self.rest(now);
        self.turn = Default::default();
        gone
    }

    /// Egress has made the head another length, for which there are no tokens yet.
    pub(crate) fn hold_head(&mut self, now: u64, len: u32) -> Option<&mut T> {
        let head = self.frames.head_mut()?;
        head.needs = len;
        self.rearranged(now);
        Some(&mut self.frames.head_mut()?.item)
    }

    /// After frames have gone: counts what is covered now, and gives back what no frame needs.
    pub(crate) fn rest(&mut self, now: u64) {
        let needs = self.needs();
        if let Some(allowance) = &mut self.allowance {
            let surplus = allowance.bytes.saturating_sub(needs);
            allowance.bytes -= surplus;
            self.buckets.give_back(now, surplus);
            allowance.cover(&self.frames);
        }
        if self.frames.is_empty() {
            self.waited = false;
        }
    }

    /// A frame at a position, which needed so many bytes, is not in the queue any more: what it
    /// had of the allowance is for others. [`Self::rest`] is to follow.
    pub(crate) fn uncover(&mut self, position: usize, needs: u32) {
        if let Some(allowance) = &mut self.allowance
            && (position as u64) < allowance.covered.frames
        {
            allowance.forget(needs);
        }
    }

    /// Frames need other numbers of bytes than before, or are in another order, or are gone.
    pub(crate) fn rearranged(&mut self, now: u64) {
        if let Some(allowance) = &mut self.allowance {
            allowance.covered = Traffic::default();
        }
        self.rest(now);
    }
}
