// SPDX-License-Identifier: Apache-2.0
//! A rate that applications keep to, each for itself or several together.
//!
//! Whoever has something to send asks for a turn, and sends no earlier than that. Turns are given
//! in the order in which they are asked for, each as long after the one before as that one's bytes
//! take. So those that can send take turns, and what one of them cannot use goes to the others;
//! what none of them uses is not caught up on.

/// A rate limit of a world, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitId(pub u32);

/// bit/s, and when its next turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    rate: u64,
    free: u64,
}

impl RateLimit {
    /// A rate in bit/s, at least one, of which nothing has been used.
    #[must_use]
    pub fn new(rate: u64) -> Self {
        Self {
            rate: rate.max(1),
            free: 0,
        }
    }

    /// When so many bytes may be sent that somebody has now, nanoseconds.
    pub fn turn(&mut self, now: u64, bytes: u64) -> u64 {
        let at = now.max(self.free);
        // Rounded up, because it is the most that may be.
        let takes = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(self.rate));
        self.free = at.saturating_add(u64::try_from(takes).unwrap_or(u64::MAX));
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn turns_are_as_far_apart_as_their_bytes_take() {
        let mut limit = RateLimit::new(8_000_000);
        let turns = [(0, 1000), (0, 500), (0, 1), (5, 1)];
        let given = turns.map(|(now, bytes)| limit.turn(now * 1_000_000, bytes));
        // A byte a microsecond; nothing is left of the time from 1.501 to 5 ms.
        assert_eq!(given, [0, 1_000_000, 1_500_000, 5_000_000]);
    }

    proptest! {
        /// Of any times in which it is asked, and of any two of its turns: what is given from the
        /// one to the other, without the latter's, takes at least the time between them.
        #[test]
        fn no_time_has_more_than_the_rate(
            rate in 1u64..100_000_000_000,
            asked in prop::collection::vec((0u64..SECOND, 1u64..100_000), 2..60),
        ) {
            let mut limit = RateLimit::new(rate);
            let mut now = 0;
            let turns: Vec<(u64, u64, u64)> = asked.into_iter().map(|(later, bytes)| {
                now += later;
                (now, limit.turn(now, bytes), bytes)
            }).collect();
            for first in 0..turns.len() {
                let mut bits = 0;
                for next in first + 1..turns.len() {
                    bits += 8 * u128::from(turns[next - 1].2);
                    let time = u128::from(turns[next].1 - turns[first].1);
                    prop_assert!(bits * u128::from(SECOND) <= time * u128::from(rate));
                }
            }
            for pair in turns.windows(2) {
                // Nobody waits for longer than for the turn before.
                let takes = (u128::from(pair[0].2) * 8_000_000_000).div_ceil(u128::from(rate));
                prop_assert_eq!(u128::from(pair[1].1), u128::from(pair[1].0).max(u128::from(pair[0].1) + takes));
            }
        }
    }
}
