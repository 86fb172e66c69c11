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
        self.frame_start(slot.0 / u64::from(self.per_frame))
    }

    /// When the minislot's frame ends, nanoseconds, rounded up.
    #[must_use]
    pub fn end(&self, slot: Minislot) -> u64 {
        self.frame_start(slot.0 / u64::from(self.per_frame) + 1)
    }

    /// The first minislot that does not start before `now`.
    #[must_use]
    pub fn at_or_after(&self, now: u64) -> Minislot {
        let frame = (u128::from(now) * 1000).div_ceil(u128::from(self.frame_ps)) as u64;
        // Rounding up a start may have brought an earlier frame to `now`.
        let frame = if frame > 0 && self.frame_start(frame - 1) >= now {
            frame - 1
        } else {
            frame
        };
        Minislot(frame * u64::from(self.per_frame))
    }

    fn frame_start(&self, frame: u64) -> u64 {
        (u128::from(frame) * u128::from(self.frame_ps)).div_ceil(1000) as u64
    }
}
