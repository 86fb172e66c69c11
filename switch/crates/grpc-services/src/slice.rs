// SPDX-License-Identifier: Apache-2.0
//! A slice limits how long one closure may hold the device's thread. Packets wait meanwhile, so a
//! request runs as several closures, between which packets go on.

use std::time::{Duration, Instant};

use crate::journal::{Pace, Work};

/// How many units of work are done between two looks at the clock. A unit is about a microsecond or
/// less: an update, or an entry that is read.
pub const STRIDE: usize = 16;

/// The time of one closure.
#[derive(Debug)]
pub struct Slice {
    start: Instant,
    /// `None` if the slice lasts until the work is done.
    length: Option<Duration>,
    /// How many units have been done since the last look at the clock.
    units: usize,
    done: Work,
    /// The work after which the slice ends, if it does not end by the clock.
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

    /// A slice that begins now, and ends by the clock or after the same work as another slice.
    pub fn paced(length: Option<Duration>, pace: Pace) -> Self {
        Slice {
            exactly: match pace {
                Pace::Clock => None,
                Pace::Exactly(work) => Some(work),
            },
            ..Slice::new(length)
        }
    }

    /// The work that was done in the slice.
    pub fn done(&self) -> Work {
        self.done
    }

    /// A slice without an end, for work that nobody waits for.
    pub fn endless() -> Self {
        Slice::new(None)
    }

    /// Counts work that was done, and returns whether there is time for more.
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
