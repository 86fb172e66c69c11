// SPDX-License-Identifier: Apache-2.0
//! The channel as admission sees it: its times and what it loses.

use mac_wire::Clock;

use crate::effort::Effort;
use crate::load::Load;

/// The channel as the test sees it.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    pub(crate) clock: Clock,
    /// Minislots of a MAP.
    pub(crate) map: u64,
    /// The first minislot of some MAP, if all are equally long; `None` if they stretch.
    pub(crate) grid: Option<u64>,
    pub(crate) maintenance: u64,
    pub(crate) contention: u64,
    /// Pieces that a MAP may have.
    pub(crate) pieces: u64,
    /// What the test may still compute: beyond, it says that nothing holds.
    pub(crate) effort: Effort,
}

/// Fractions of the channel are parts of this.
pub(crate) const WHOLE: u128 = 1 << 32;

impl Ground {
    /// A MAP's length, picoseconds.
    pub(crate) fn map_ps(&self) -> u64 {
        self.ps(self.map)
    }

    pub(crate) fn ps(&self, minislots: u64) -> u64 {
        let frames = minislots / u64::from(self.clock.per_frame.max(1));
        frames.saturating_mul(self.clock.frame_ps)
    }

    /// Whole frames of a time, in minislots.
    pub(crate) fn minislots(&self, ps: u64) -> u64 {
        ps / self.clock.frame_ps.max(1) * u64::from(self.clock.per_frame.max(1))
    }

    /// What the end of a MAP costs: maintenance, and a piece that does not fit before it. A MAP that
    /// may stretch ends behind the piece.
    pub(crate) fn end_loss(&self, loads: &[Load]) -> u64 {
        if self.grid.is_none() {
            return 0;
        }
        let longest = loads.iter().map(|load| u64::from(load.cost)).max();
        self.maintenance + longest.unwrap_or(1) - 1
    }

    /// Parts of [`WHOLE`] that a load takes.
    pub(crate) fn share(&self, load: &Load) -> u128 {
        let minislots = u128::from(load.cost) * u128::from(load.count);
        let per_frame = u128::from(self.clock.per_frame.max(1));
        (minislots * u128::from(self.clock.frame_ps) * WHOLE)
            .div_ceil(u128::from(load.interval) * 1000 * per_frame)
    }
}
