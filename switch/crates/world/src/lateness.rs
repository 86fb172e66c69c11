// SPDX-License-Identifier: Apache-2.0
//! How late a process runs what is due: a distribution with a given median and
//! 99th percentile, and the gate behind which work waits for it.

use std::collections::VecDeque;

use crate::error::{WorldError, invalid};
use crate::random::{LN_2, LN_100, Random};

/// The largest 99th percentile, nanoseconds.
const MOST: u64 = 1_000_000_000;

/// A distribution of lateness. It is an exponential one up to the median, and
/// another one above, so that both quantiles are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    p50: u64,
    p99: u64,
    /// Per unit of what an exponential distribution draws, up to the median and above,
    /// 32 digits behind the point.
    slopes: [u64; 2],
}

impl Lateness {
    /// Never late.
    pub const NONE: Lateness = Lateness {
        p50: 0,
        p99: 0,
        slopes: [0; 2],
    };

    /// # Errors
    /// The median is above the 99th percentile, or that is above a second.
    pub fn new(p50: u64, p99: u64) -> Result<Self, WorldError> {
        if p50 > p99 || p99 > MOST {
            return Err(invalid(format!(
                "a lateness of {p50} ns at the median and {p99} ns at the 99th percentile is not \
                 possible: the first is at most the second, and that at most a second"
            )));
        }
        // Both are below 2^30.
        let slopes = [(p50 << 32) / LN_2, ((p99 - p50) << 32) / (LN_100 - LN_2)];
        Ok(Self { p50, p99, slopes })
    }

    /// Whether it is never late.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.p99 == 0
    }

    /// How late it is this time, nanoseconds.
    pub fn draw(&self, random: &mut Random) -> u64 {
        if self.is_none() {
            return 0;
        }
        let drawn = random.exponential();
        if drawn <= LN_2 {
            return scaled(drawn, self.slopes[0]);
        }
        self.p50 + scaled(drawn - LN_2, self.slopes[1])
    }
}

fn scaled(drawn: u64, slope: u64) -> u64 {
    ((u128::from(drawn) * u128::from(slope)) >> 32) as u64
}

/// Work that waits until a process runs: what comes while it has not yet run is
/// done together.
#[derive(Debug)]
pub struct Gate<T> {
    lateness: Lateness,
    random: Random,
    waiting: VecDeque<T>,
}

impl<T> Gate<T> {
    /// A gate without anything behind it.
    #[must_use]
    pub fn new(lateness: Lateness, random: Random) -> Self {
        Self {
            lateness,
            random,
            waiting: VecDeque::new(),
        }
    }

    /// Whether nothing waits, and nothing is to.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lateness.is_none() && self.waiting.is_empty()
    }

    /// What comes from now on waits for so long. What waits is done when it was to be.
    pub fn set_lateness(&mut self, lateness: Lateness) {
        self.lateness = lateness;
    }

    /// What waits.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Something is to be done at `now`. When the process runs, where that is news.
    pub fn wait(&mut self, now: u64, work: T) -> Option<u64> {
        let first = self.waiting.is_empty();
        self.waiting.push_back(work);
        first.then(|| now + self.lateness.draw(&mut self.random))
    }

    /// The process runs: the next thing to do.
    pub fn pass(&mut self) -> Option<T> {
        let work = self.waiting.pop_front();
        if work.is_none() {
            // What comes next begins where the cache has it.
            self.waiting.clear();
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_99th_percentile_are_as_given() {
        let lateness = Lateness::new(70_000, 300_000).unwrap();
        let mut random = Random::stream(3, "test", "", 0);
        let mut draws: Vec<u64> = (0..200_000).map(|_| lateness.draw(&mut random)).collect();
        draws.sort_unstable();
        assert!((69_000..71_000).contains(&draws[100_000]));
        assert!((290_000..310_000).contains(&draws[198_000]));
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        for (p50, p99) in [(2, 1), (0, 1_000_000_001)] {
            let error = Lateness::new(p50, p99).unwrap_err().to_string();
            assert!(error.contains(&format!("{p99} ns")), "{error}");
        }
        assert!(Lateness::new(0, 0).unwrap().is_none());
    }

    #[test]
    fn what_comes_while_a_process_is_late_is_done_together() {
        let random = Random::stream(3, "test", "", 0);
        let mut gate = Gate::new(Lateness::new(70_000, 300_000).unwrap(), random);
        let first = gate.wait(1000, 'a').unwrap();
        assert!(first > 1000);
        assert_eq!(gate.wait(1001, 'b'), None);
        assert_eq!(
            (gate.pass(), gate.pass(), gate.pass()),
            (Some('a'), Some('b'), None)
        );
        assert!(gate.wait(2000, 'c').is_some());
    }
}
