// SPDX-License-Identifier: Apache-2.0
//! Learns how long before a departure the thread must be awake, from how late
//! the kernel wakes it.

/// Bounds of the slack, ns.
const LEAST: u64 = 15_000;
const MOST: u64 = 80_000;
const FIRST: u64 = 40_000;
/// Step of the estimate, ns.
const STEP: u64 = 250;
/// What a departure takes from it that was waited for without sleeping, ns:
/// the estimate must not stay high because it leaves no time to sleep.
const DECAY: u64 = 25;

/// Follows the 90th percentile of oversleeping: nine wakings in ten are in time
/// to wait for the departure awake, which costs no more than it must.
#[derive(Debug)]
pub struct Slack {
    ns: u64,
}

impl Default for Slack {
    fn default() -> Self {
        Self { ns: FIRST }
    }
}

impl Slack {
    /// A deadline nearer than this, in ns, is waited for awake.
    pub fn ns(&self) -> u64 {
        self.ns
    }

    /// A departure left no time to sleep.
    pub fn stayed_awake(&mut self) {
        self.ns = self.ns.saturating_sub(DECAY).max(LEAST);
    }

    /// The kernel woke the thread `late` ns after the time that it was told.
    pub fn overslept(&mut self, late: u64) {
        self.ns = if late > self.ns {
            (self.ns + 9 * STEP).min(MOST)
        } else {
            self.ns.saturating_sub(STEP).max(LEAST)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settles_at_the_ninetieth_percentile() {
        let mut slack = Slack::default();
        for n in 0..20_000u64 {
            // Uniform over 0 to 49 us.
            slack.overslept((n * 7 % 50) * 1000);
        }
        assert!((42_000..48_000).contains(&slack.ns()), "{}", slack.ns());
    }

    #[test]
    fn tries_again_to_sleep() {
        let mut slack = Slack::default();
        for _ in 0..1000 {
            slack.overslept(MOST + 1);
        }
        for _ in 0..2_000 {
            slack.stayed_awake();
        }
        assert_eq!(slack.ns(), MOST - 2_000 * DECAY);
    }

    #[test]
    fn stays_within_bounds() {
        let mut slack = Slack::default();
        for _ in 0..1000 {
            slack.overslept(0);
        }
        assert_eq!(slack.ns(), LEAST);
        for _ in 0..1000 {
            slack.overslept(5_000_000);
        }
        assert_eq!(slack.ns(), MOST);
    }
}
