// SPDX-License-Identifier: Apache-2.0
//! Limits what the channel may grant to the part of it that other users leave.
//!
//! For all MAPs a to b, with d their draws:
//!
//! granted(a..b) <= sum of d(a..b) + what is kept + what unsolicited grants take beyond draws
//!
//! What is kept is less than a minislot where grants may have any size; where bursts have to be
//! whole it is the longest of them, or a capacity below a burst a MAP could never carry one.
//! Unsolicited grants come when they are due: what they take beyond a MAP's draw is owed, and the next
//! MAPs grant less on request. Admission sees to it that in the long run they take less than is drawn.

use mac_wire::Capacity;

use crate::random::Random;

/// Bits that nothing exceeds: sums of some of them fit an `i64`.
const MOST: u64 = 1 << 60;

#[derive(Debug, Clone)]
pub(crate) struct Budget {
    capacity: Option<Capacity>,
    minislot_bits: u64,
    /// Bits of an unused draw that the next MAP may use.
    keep: u64,
    /// Bits that may still be granted; below 0 they are owed.
    left: i64,
    /// Bits that the last draw was of.
    drawn: u64,
}

impl Budget {
    /// `whole` minislots at the most have to be granted at once; 0 where grants may have any size.
    pub(crate) fn new(capacity: Option<Capacity>, minislot_bits: u64, whole: u32) -> Self {
        let minislot_bits = minislot_bits.max(1);
        Self {
            capacity,
            minislot_bits,
            keep: (u64::from(whole) * minislot_bits).max(minislot_bits - 1),
            left: 0,
            drawn: 0,
        }
    }

    /// From the next MAP on. What is owed stays owed.
    pub(crate) fn set(&mut self, capacity: Option<Capacity>) {
        self.capacity = capacity;
        if capacity.is_none() {
            self.left = 0;
        }
    }

    /// Draws what the next MAP may grant, in minislots; a MAP usually lasts `map_ns`.
    pub(crate) fn draw(&mut self, map_ns: u64, random: &mut Random) -> u64 {
        let Some(capacity) = self.capacity else {
            return u64::MAX;
        };
        let mean = bits(capacity.rate, map_ns);
        let away = away(mean, capacity);
        self.drawn = mean - away + random.below(2 * away + 1);
        self.left = self.left.min(self.keep as i64) + self.drawn as i64;
        u64::try_from(self.left).unwrap_or(0) / self.minislot_bits
    }

    /// A MAP of so many minislots, `usual` unless it was stretched, granted some. A longer MAP leaves
    /// more to the next ones.
    pub(crate) fn spend(&mut self, granted: u64, described: u64, usual: u64) {
        if self.capacity.is_none() {
            return;
        }
        let more = described.saturating_sub(usual);
        let more = u128::from(self.drawn) * u128::from(more) / u128::from(usual.max(1));
        let spent = granted.saturating_mul(self.minislot_bits).min(MOST);
        self.left += more.min(MOST.into()) as i64 - spent as i64;
    }

    /// The least that a MAP may grant under a capacity, minislots rounded down.
    pub(crate) fn least(&self, capacity: Option<Capacity>, map_ns: u64) -> Option<u64> {
        let capacity = capacity?;
        let mean = bits(capacity.rate, map_ns);
        Some((mean - away(mean, capacity)) / self.minislot_bits)
    }

    /// The longest burst that can be saved up for, minislots.
    pub(crate) fn longest(&self) -> u64 {
        self.keep / self.minislot_bits
    }

    /// What it has now.
    pub(crate) fn capacity(&self) -> Option<Capacity> {
        self.capacity
    }
}

/// Bits in a time, nanoseconds.
fn bits(rate: u64, ns: u64) -> u64 {
    let bits = u128::from(rate) * u128::from(ns) / 1_000_000_000;
    bits.min(u128::from(MOST / 2)) as u64
}

/// How far a draw may lie from the mean; at most as far as 0.
fn away(mean: u64, capacity: Capacity) -> u64 {
    let percent = u64::from(capacity.variation_percent.min(100));
    mean / 100 * percent + mean % 100 * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_minislot_and_a_half_a_map_is_one_and_two_in_turns() {
        let capacity = Capacity {
            rate: 1_500_000,
            variation_percent: 0,
        };
        let mut budget = Budget::new(Some(capacity), 1000, 0);
        let mut random = Random::new(1);
        let mut seen = Vec::new();
        for _ in 0..6 {
            let may = budget.draw(1_000_000, &mut random);
            budget.spend(may, 80, 80);
            seen.push(may);
        }
        assert_eq!(seen, [1, 2, 1, 2, 1, 2]);
        // What was not used is gone, but for less than a minislot.
        for _ in 0..10 {
            assert!(budget.draw(1_000_000, &mut random) <= 2);
        }
    }

    #[test]
    fn a_burst_that_must_be_whole_is_saved_up_for() {
        let capacity = Capacity {
            rate: 1_000_000,
            variation_percent: 0,
        };
        let mut budget = Budget::new(Some(capacity), 1000, 4);
        let mut random = Random::new(1);
        let draws: Vec<u64> = (0..8)
            .map(|_| budget.draw(1_000_000, &mut random))
            .collect();
        // One a MAP, and four saved at the most.
        assert_eq!(draws, [1, 2, 3, 4, 5, 5, 5, 5]);
        budget.spend(5, 80, 80);
        // Twice as long a MAP earned twice as much.
        budget.draw(1_000_000, &mut random);
        budget.spend(1, 160, 80);
        assert_eq!(budget.draw(1_000_000, &mut random), 2);
    }

    #[test]
    fn what_unsolicited_grants_take_beyond_the_draws_is_owed() {
        // Half of what they take.
        let capacity = Capacity {
            rate: 1_000_000,
            variation_percent: 0,
        };
        let mut budget = Budget::new(Some(capacity), 1000, 0);
        let mut random = Random::new(1);
        for _ in 0..3 {
            budget.draw(1_000_000, &mut random);
            budget.spend(2, 80, 80);
        }
        let draws: Vec<u64> = (0..6)
            .map(|_| budget.draw(1_000_000, &mut random))
            .collect();
        // Three are owed, and what is not used is gone.
        assert_eq!(draws, [0, 0, 0, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn no_run_of_maps_is_above_its_draws(
            rate in 1_u64..1_000_000_000_000,
            variation_percent in 0_u8..=100,
            minislot_bits in 1_u64..100_000,
            whole in prop_oneof![Just(0_u32), 1..300_u32],
            uses in prop::collection::vec((0_u64..=100, 0_u64..50, 0_u64..200), 1..40),
            seed in any::<u64>(),
        ) {
            let capacity = Some(Capacity { rate, variation_percent });
            let mut budget = Budget::new(capacity, minislot_bits, whole);
            let mut random = Random::new(seed);
            let mut maps = Vec::new();
            for (percent, unsolicited, stretched) in uses {
                let may = budget.draw(2_000_000, &mut random);
                prop_assert!(may >= 1 || budget.left < minislot_bits as i64);
                let drawn = u128::from(budget.drawn);
                // Of what is left beside unsolicited grants, some.
                let granted = unsolicited + may.saturating_sub(unsolicited) * percent / 100;
                budget.spend(granted, 80 + stretched, 80);
                let more = drawn * u128::from(stretched) / 80;
                let bits = |minislots: u64| u128::from(minislots) * u128::from(minislot_bits);
                maps.push((bits(granted), drawn, more, bits(unsolicited)));
            }
            let kept = u128::from(budget.keep);
            for from in 0..maps.len() {
                let (mut granted, mut earned, mut beyond) = (0, 0, 0);
                // Where the MAP before was stretched, what it left belongs to it.
                if let Some(before) = from.checked_sub(1) {
                    earned += maps[before].2;
                }
                for &(bits, drawn, more, unsolicited) in &maps[from..] {
                    granted += bits;
                    earned += drawn;
                    // Of the last MAPs, those in which it was the most.
                    beyond = (beyond + unsolicited).saturating_sub(drawn);
                    prop_assert!(granted <= earned + kept + beyond);
                    earned += more;
                }
            }
        }
    }
}
