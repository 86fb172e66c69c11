// SPDX-License-Identifier: Apache-2.0
//! The Pareto distribution: P(X > x) = (scale / x)^shape for x above the scale. In integers, so that
//! draws are the same on every machine.

use crate::random::{LN_2, Random, exp2};

/// Thousandths: a unit of shapes, and of means of what comes in whole pieces.
pub const THOUSAND: u64 = 1000;
/// The least shape, thousandths. At 1 there is no mean.
pub const LEAST_SHAPE: u32 = 1001;
/// The greatest shape, thousandths.
pub const MOST_SHAPE: u32 = 100_000;
/// The greatest mean, in its unit.
pub const MOST_MEAN: u64 = 1 << 42;

/// Binary digits behind the point of what [`Random::exponential`] gives.
const DIGITS: u32 = 32;
/// Binary digits behind the point of a draw before it is rounded.
const FINE: u32 = 16;
/// A draw is at most 2 to that power times the scale. A draw in 2^36 would be greater at a shape
/// of 1.2, so nobody sees one.
const MOST_POWER: u64 = 30;

/// A Pareto distribution that has a mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pareto {
    /// In whatever unit, at most [`MOST_MEAN`].
    pub mean: u64,
    /// Thousandths, from [`LEAST_SHAPE`] to [`MOST_SHAPE`].
    pub shape: u32,
}

impl Pareto {
    /// Whether there is such a distribution, and draws have room.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        (1..=MOST_MEAN).contains(&self.mean) && (LEAST_SHAPE..=MOST_SHAPE).contains(&self.shape)
    }

    /// A draw in the mean's unit, rounded down.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let shape = u128::from(self.shape);
        let scale = (u128::from(self.mean) << FINE) * (shape - u128::from(THOUSAND)) / shape;
        // (1 / U)^(1 / shape) is 2 to the power of -ln U / (shape ln 2).
        let natural = u128::from(random.exponential()) * u128::from(THOUSAND) / shape;
        let power = (natural << DIGITS) / u128::from(LN_2);
        let power = power.min(u128::from(MOST_POWER << DIGITS)) as i64;
        ((scale * u128::from(exp2(power))) >> (DIGITS + FINE)) as u64
    }

    /// Whole pieces, where the mean is in thousandths of one: a draw between two whole numbers
    /// becomes one of them at random, so that the mean stays what it is.
    pub fn whole(&self, random: &mut Random) -> u64 {
        let drawn = self.draw(random);
        (drawn + random.below(THOUSAND)) / THOUSAND
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COUNT: usize = 200_000;
    /// Standard errors: chance exceeds five once in 1.7 million times.
    const ERRORS: f64 = 5.0;

    fn random(seed: u64) -> Random {
        Random::stream(seed, "test", "pareto", 0)
    }

    fn sorted(pareto: Pareto, seed: u64) -> Vec<u64> {
        let mut random = random(seed);
        let mut drawn: Vec<u64> = (0..COUNT).map(|_| pareto.draw(&mut random)).collect();
        drawn.sort_unstable();
        drawn
    }

    /// What paper 004 draws: gaps of pages and objects in ns, objects and segments in thousandths.
    const OF_004: [Pareto; 4] = [
        Pareto {
            mean: 10_000_000_000,
            shape: 2000,
        },
        Pareto {
            mean: 500_000_000,
            shape: 1500,
        },
        Pareto {
            mean: 3000,
            shape: 1500,
        },
        Pareto {
            mean: 12_000,
            shape: 1200,
        },
    ];

    /// Their variance is infinite, so a mean of draws tells nothing: shares below quantiles do.
    #[test]
    fn shares_below_quantiles_are_those_of_the_law() {
        for (seed, pareto) in OF_004.into_iter().enumerate() {
            let drawn = sorted(pareto, seed as u64);
            let shape = f64::from(pareto.shape) / 1000.0;
            let scale = pareto.mean as f64 * (shape - 1.0) / shape;
            assert!(drawn[0] as f64 >= scale - 1.0, "{pareto:?}: {}", drawn[0]);
            for share in [0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.9999_f64] {
                // Draws are rounded down: what is below x + 1 is at most x.
                let quantile = (scale * (1.0 - share).powf(-1.0 / shape)).floor() + 1.0;
                let law = 1.0 - (scale / quantile).powf(shape);
                let found = drawn.partition_point(|&one| (one as f64) < quantile);
                let found = found as f64 / COUNT as f64;
                let bound = ERRORS * (law * (1.0 - law) / COUNT as f64).sqrt();
                assert!(
                    (found - law).abs() < bound,
                    "{pareto:?} {share}: {found} {law}"
                );
            }
        }
    }

    /// With a shape of 5 mean and variance are finite.
    #[test]
    fn a_mean_that_has_an_error_is_met_and_so_is_that_of_whole_pieces() {
        let pareto = Pareto {
            mean: 3300,
            shape: 5000,
        };
        let scale = 3300.0 * 4.0 / 5.0;
        let variance = scale * scale * 5.0 / (16.0 * 3.0);
        let mut random = random(7);
        let draws = (0..COUNT).map(|_| pareto.draw(&mut random) as f64 + 0.5);
        let mean = draws.sum::<f64>() / COUNT as f64;
        let error = ERRORS * (variance / COUNT as f64).sqrt();
        assert!((mean - 3300.0).abs() < error, "{mean}");
        let pieces = (0..COUNT).map(|_| pareto.whole(&mut random) as f64);
        let mean = pieces.sum::<f64>() / COUNT as f64;
        // Rounding at random adds a quarter of a piece squared at the most.
        let error = ERRORS * ((variance / 1e6 + 0.25) / COUNT as f64).sqrt() + 0.001;
        assert!((mean - 3.3).abs() < error, "{mean}");
    }

    proptest! {
        #[test]
        fn no_draw_is_below_the_scale_or_beyond_its_room(
            seed: u64,
            mean in 1..=MOST_MEAN,
            shape in LEAST_SHAPE..=MOST_SHAPE,
        ) {
            let pareto = Pareto { mean, shape };
            prop_assert!(pareto.is_possible());
            let scale = u128::from(mean) * u128::from(shape - 1000) / u128::from(shape);
            let mut random = random(seed);
            for _ in 0..20 {
                let drawn = u128::from(pareto.draw(&mut random));
                prop_assert!(drawn + 1 >= scale && drawn <= (scale + 1) << MOST_POWER);
            }
        }
    }
}
