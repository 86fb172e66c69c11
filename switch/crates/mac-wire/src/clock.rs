// SPDX-License-Identifier: Apache-2.0
//! Minislots, and when they are.

/// A minislot's number, from the start of the channel on; 32 bits of it are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Minislot(pub u64);

/// When minislots are. On an SC-QAM channel one follows the other; on an OFDMA channel all
/// those of a frame are sent side by side, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Minislots of a frame: 1 on an SC-QAM channel.
    pub per_frame: u32,
    /// A frame's length, picoseconds.
    pub frame_ps: u64,
}

impl Clock {
    /// When the minislot's frame starts, nanoseconds, rounded up.
    #[must_use]
    pub fn start(&self, slot: Minislot) -> u64 {
        self.frame_start(slot.0 / self.per_frame())
    }

    /// When the minislot's frame ends, nanoseconds, rounded up.
    #[must_use]
    pub fn end(&self, slot: Minislot) -> u64 {
        self.frame_start((slot.0 / self.per_frame()).saturating_add(1))
    }

    /// The first minislot that does not start before `now`.
    #[must_use]
    pub fn at_or_after(&self, now: u64) -> Minislot {
        // A start is rounded up, so a frame starts at `now` or later if it really starts later
        // than a nanosecond before it.
        match now.checked_sub(1) {
            None => Minislot(0),
            Some(before) => self.first_of(self.frames(before).saturating_add(1)),
        }
    }

    /// The first minislot of the last frame that starts at `now` or before it.
    #[must_use]
    pub fn at_or_before(&self, now: u64) -> Minislot {
        self.first_of(self.frames(now))
    }

    /// A frame's length, nanoseconds, rounded up.
    #[must_use]
    pub fn frame_length(&self) -> u64 {
        self.frame_start(1)
    }

    /// Frames that have really started within `ns` nanoseconds, beside the first.
    fn frames(&self, ns: u64) -> u64 {
        saturated(u128::from(ns) * 1000 / u128::from(self.frame_ps.max(1)))
    }

    fn first_of(&self, frame: u64) -> Minislot {
        Minislot(frame.saturating_mul(self.per_frame()))
    }

    fn frame_start(&self, frame: u64) -> u64 {
        saturated((u128::from(frame) * u128::from(self.frame_ps)).div_ceil(1000))
    }

    /// [`crate::Profile::check`] refuses 0; this keeps it from being divided by.
    fn per_frame(&self) -> u64 {
        u64::from(self.per_frame.max(1))
    }
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
