// SPDX-License-Identifier: Apache-2.0
//! How long one closure may hold the device's thread. Packets wait meanwhile,
//! so a request is as many closures as it takes, between which they go on.

use std::time::{Duration, Instant};

use crate::journal::{Pace, Work};

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
    done: Work,
    /// What is done instead of looking at the clock.
    exactly: Option<Work>,
}

impl Slice {
    /// A slice that begins now.
    pub fn new(length: Option<Duration>) -> Self {
        Slice {
            start: Instant::now(),
            length,
            units: 0,
            done: Work::default(),
            exactly: None,
        }
    }

    /// A slice that begins now, or one that ends where another did.
    pub fn paced(length: Option<Duration>, pace: Pace) -> Self {
        Slice {
            exactly: match pace {
                Pace::Clock => None,
                Pace::Exactly(work) => Some(work),
            },
            ..Slice::new(length)
        }
    }

    /// What was done within it.
    pub fn done(&self) -> Work {
        self.done
    }

    /// For work that nobody waits for.
    pub fn endless() -> Self {
        Slice::new(None)
    }

    /// Counts work that was done; whether there is time for more.
    pub fn spend(&mut self, units: usize) -> bool {
        self.done.units += units as u64;
        let goes_on = match self.exactly {
            Some(work) => !work.stopped || self.done.units < work.units,
            None => self.has_time(units),
        };
        self.done.stopped = !goes_on;
        goes_on
    }

    fn has_time(&mut self, units: usize) -> bool {
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

    #[test]
    fn a_slice_ends_where_another_did() {
        let work_of = |mut slice: Slice| {
            (0..100).take_while(|_| slice.spend(5)).for_each(drop);
            slice.done()
        };
        let first = work_of(Slice::new(Some(Duration::ZERO)));
        assert!(first.stopped && first.units < 100);
        assert_eq!(work_of(Slice::paced(None, Pace::Exactly(first))), first);
        let whole = work_of(Slice::endless());
        assert_eq!((whole.units, whole.stopped), (500, false));
        let zero = Some(Duration::ZERO);
        assert_eq!(work_of(Slice::paced(zero, Pace::Exactly(whole))), whole);
    }
}
