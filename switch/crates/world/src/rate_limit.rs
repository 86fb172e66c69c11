// SPDX-License-Identifier: Apache-2.0
//! A rate that an application keeps to, or several applications together.
//!
//! An application that has something to send asks for a turn, and sends when it has come. Turns
//! are given in the order in which they are asked for. The next one begins when the bytes of the
//! one before have taken their time at the rate. What one application does not use the others can
//! send; time in which none of them sends is lost.

/// A rate limit of a world, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitId(pub u32);

/// A rate in bit/s, and the time from which on its next turn can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    rate: u64,
    free: u64,
}

impl RateLimit {
    /// A rate in bit/s, which is not 0, of which nothing has been used.
    #[must_use]
    pub fn new(rate: u64) -> Self {
        Self { rate, free: 0 }
    }

    /// Books a turn for so many bytes. Returns when it begins, nanoseconds.
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
        /// Between the beginnings of any two turns, no more bytes are sent than the rate allows for
        /// that time; and no turn begins later than it has to.
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
                let takes = (u128::from(pair[0].2) * 8_000_000_000).div_ceil(u128::from(rate));
                prop_assert_eq!(u128::from(pair[1].1), u128::from(pair[1].0).max(u128::from(pair[0].1) + takes));
            }
        }
    }
}
