// SPDX-License-Identifier: Apache-2.0
//! How long one closure may hold the device's thread. Packets wait meanwhile,
//! so a request is as many closures as it takes, between which they go on.

use std::time::{Duration, Instant};

/// Units of work, each of about a microsecond or less, between two looks at the
/// clock: an update, or an entry that is read.
pub const STRIDE: usize = 16;

/// The time of one closure.
#[derive(Debug)]
pub struct Slice {
    start: Instant,
    /// `None`: as long as it takes.
    length: Option<Duration>,
    /// Units since the last look at the clock.
    units: usize,
}

impl Slice {
    /// A slice that begins now.
    pub fn new(length: Option<Duration>) -> Self {
        Slice {
            start: Instant::now(),
            length,
            units: 0,
        }
    }

    /// For work that nobody waits for.
    pub fn endless() -> Self {
        Slice::new(None)
    }

    /// Counts work that was done; whether there is time for more.
    pub fn spend(&mut self, units: usize) -> bool {
        self.units += units;
        if self.units < STRIDE {
            return true;
        }
        self.units = 0;
        self.length
            .is_none_or(|length| self.start.elapsed() < length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_looked_at_every_few_units() {
        let mut slice = Slice::new(Some(Duration::ZERO));
        for _ in 1..STRIDE {
            assert!(slice.spend(1));
        }
        assert!(!slice.spend(1));
        assert!(!slice.spend(STRIDE));
        let mut endless = Slice::endless();
        assert!((0..100).all(|_| endless.spend(STRIDE)));
    }
}
