// SPDX-License-Identifier: Apache-2.0
//! What a queue that sends by grants may ask for: see [`crate::shaping`].

use crate::frames::Frames;
use crate::granted::Granted;
use crate::queue_id::QueueId;
use crate::traffic::Traffic;

/// What a queue may ask for, and what it was granted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Allowance {
    /// Tokens that have left the buckets for what is still queued, bytes.
    pub(crate) bytes: u64,
    /// The frames of a queue without sub-queues that this covers, from the head on.
    pub(crate) covered: Traffic,
    /// Tokens have been turned into it as far as they came by then.
    pub(crate) until: u64,
    /// A notice of the queue waits to be taken.
    pub(crate) noticed: bool,
    /// What MAPs gave it.
    pub(crate) granted: Granted,
}

/// What a modem asks itself about one of its queues before it asks the CMTS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// All frames in the queue.
    pub waiting: Traffic,
    /// What both buckets let be asked for, less what has left: frames from the head on, whole.
    /// Where sub-queues take turns, which frames follow the head depends on what else comes:
    /// `bytes` may then end within a frame, and `frames` is their number at the queue's mean
    /// length, rounded up.
    pub eligible: Traffic,
    /// Bytes of the head, which is the first to leave; `None` of an empty queue.
    pub head: Option<u32>,
    /// When to look again, as before then no more of what is queued now becomes eligible; `None`
    /// where all of it is.
    pub more_at: Option<u64>,
}

/// A queue that had nothing to ask for has something, or will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Which.
    pub queue: QueueId,
    /// From when on something of it may be asked for, as things are now.
    pub at: u64,
}

impl Allowance {
    /// None yet, at `now`.
    pub(crate) fn new(now: u64) -> Self {
        Self {
            until: now,
            ..Self::default()
        }
    }

    /// Counts anew what is covered after `bytes` have changed: the most frames, whole.
    pub(crate) fn cover<T>(&mut self, frames: &Frames<T>) {
        let Frames::One(fifo) = frames else {
            self.covered = Traffic::default();
            return;
        };
        let needs = |frame: u64| fifo.get(frame as usize).map(|frame| u64::from(frame.needs));
        while self.covered.bytes > self.bytes
            && let Some(last) = self.covered.frames.checked_sub(1)
        {
            self.covered.frames = last;
            self.covered.bytes -= needs(last).unwrap_or(0).min(self.covered.bytes);
        }
        while let Some(needs) = needs(self.covered.frames)
            && self.covered.bytes + needs <= self.bytes
        {
            self.covered.frames += 1;
            self.covered.bytes += needs;
        }
    }

    /// A frame that it covers, and that needed so many bytes, is not in the queue any more.
    pub(crate) fn forget(&mut self, needs: u32) {
        if let Some(left) = self.covered.frames.checked_sub(1) {
            self.covered.frames = left;
            self.covered.bytes -= u64::from(needs).min(self.covered.bytes);
        }
    }
}
