// SPDX-License-Identifier: Apache-2.0
//! How late the shell ran what was due: a histogram that readers subtract.

use std::fmt;

/// Buckets in each doubling of the lateness: a quantile is exact within an eighth.
const STEPS: u32 = 8;
/// Lateness below this, in ns, has one bucket a nanosecond.
const EXACT: u64 = STEPS as u64;
/// Buckets for all values of 64 bits.
const BUCKETS: usize = (STEPS + (64 - STEPS.ilog2()) * STEPS) as usize;

/// Which bucket a lateness falls into.
fn bucket(ns: u64) -> usize {
    if ns < EXACT {
        return ns as usize;
    }
    let doubling = ns.ilog2() - STEPS.ilog2();
    let step = (ns >> doubling) as u32 - STEPS;
    (STEPS + doubling * STEPS + step) as usize
}

/// The largest lateness of a bucket.
fn upto(bucket: usize) -> u64 {
    let bucket = bucket as u32;
    if bucket < STEPS {
        return u64::from(bucket);
    }
    let (doubling, step) = ((bucket - STEPS) / STEPS, (bucket - STEPS) % STEPS);
    let next = u128::from(STEPS + step + 1) << doubling;
    u64::try_from(next - 1).unwrap_or(u64::MAX)
}

/// How long after their time things happened, and how often time had to jump.
#[derive(Clone)]
pub struct Lateness {
    counts: Box<[u64; BUCKETS]>,
    count: u64,
    most: u64,
    bound: u64,
    jumps: u64,
    jumped: u64,
}

impl Lateness {
    /// Nothing yet; `bound` is how late the shell may be before time jumps, ns.
    #[must_use]
    pub fn new(bound: u64) -> Self {
        Self {
            counts: Box::new([0; BUCKETS]),
            count: 0,
            most: 0,
            bound,
            jumps: 0,
            jumped: 0,
        }
    }

    /// Something happened `ns` after it was due.
    pub fn note(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.count += 1;
        self.most = self.most.max(ns);
    }

    /// Time jumped over `ns`, for which nothing is earned.
    pub fn jump(&mut self, ns: u64) {
        self.jumps += 1;
        self.jumped += ns;
    }

    /// What was counted, by the largest lateness of each bucket, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counts = self.counts.iter().enumerate();
        let counts = counts.filter(|&(_, &count)| count > 0);
        counts.map(|(bucket, &count)| (upto(bucket), count))
    }

    /// The lateness that the share `q` of all did not exceed, within an eighth.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = (self.count as f64 * q).ceil() as u64;
        let mut below = 0;
        for (upto, count) in self.buckets() {
            below += count;
            if below >= rank {
                return upto.min(self.most);
            }
        }
        self.most
    }

    /// How many things were noted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest lateness, ns.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.most
    }

    /// How late the shell may be before time jumps, ns.
    #[must_use]
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// How often time jumped.
    #[must_use]
    pub fn jumps(&self) -> u64 {
        self.jumps
    }

    /// How far time jumped in sum, ns.
    #[must_use]
    pub fn jumped(&self) -> u64 {
        self.jumped
    }
}

impl fmt::Debug for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lateness({self})")
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ns: u64| ns as f64 / 1e3;
        write!(
            f,
            "{} events were late by {:.1} us at the median, {:.1} us at p99, {:.1} us at the most; \
             time jumped {} times, over {:.1} ms in sum",
            self.count,
            us(self.quantile(0.5)),
            us(self.quantile(0.99)),
            us(self.most),
            self.jumps,
            self.jumped as f64 / 1e6,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_all_values() {
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(upto(BUCKETS - 1), u64::MAX);
        for n in 0..BUCKETS - 1 {
            assert_eq!(bucket(upto(n)), n);
            assert_eq!(bucket(upto(n) + 1), n + 1);
        }
    }

    #[test]
    fn a_quantile_is_exact_within_an_eighth() {
        let mut lateness = Lateness::new(20_000_000);
        (1..=100_000).for_each(|ns| lateness.note(ns));
        for q in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let (exact, told) = (100_000.0 * q, lateness.quantile(q) as f64);
            assert!((exact..=exact * 1.125).contains(&told), "{q}: {told}");
        }
        assert_eq!(lateness.quantile(1.0), 100_000);
        assert_eq!(
            lateness.buckets().map(|(_, count)| count).sum::<u64>(),
            100_000
        );
    }

    #[test]
    fn nothing_noted_is_not_late() {
        let lateness = Lateness::new(1);
        assert_eq!((lateness.quantile(0.99), lateness.most()), (0, 0));
    }
}
