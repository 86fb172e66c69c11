// SPDX-License-Identifier: Apache-2.0
//! Sizes of a page's objects: log-normally distributed, and scaled so that the page has the bytes
//! that it is to have. In integers, so that they are the same on every machine.

use crate::random::{LN_2, Random, exp2, minus_logarithm};

/// Binary digits behind the point of logarithms, deviations and weights.
const DIGITS: u32 = 32;

/// The largest coefficient of variation, thousandths.
pub const MOST_VARIATION: u32 = 10_000;

/// The sizes of objects, with a coefficient of variation.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Standard deviation of the logarithm to base 2, in units of 2^-[`DIGITS`].
    deviation: u64,
    random: Random,
}

impl Sizes {
    /// With a coefficient of variation in thousandths, at most [`MOST_VARIATION`].
    #[must_use]
    pub fn new(variation: u32, random: Random) -> Self {
        let square = u128::from(variation.min(MOST_VARIATION)).pow(2);
        // The variance of the logarithm is ln(1 + CV^2), and -ln(x / 2^64) is there.
        let x = (1_000_000_u128 << 64) / (1_000_000 + square);
        let variance = minus_logarithm(u64::try_from(x).unwrap_or(u64::MAX));
        let natural = (u128::from(variance) << DIGITS).isqrt();
        Self {
            deviation: ((natural << DIGITS) / u128::from(LN_2)) as u64,
            random,
        }
    }

    /// Sizes of so many objects, each a byte at least, which are `bytes` together.
    pub fn draw(&mut self, objects: usize, bytes: u64) -> Vec<u64> {
        let weights: Vec<u64> = (0..objects).map(|_| self.weight()).collect();
        let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        let spare = u128::from(bytes.saturating_sub(objects as u64));
        let (mut sum, mut before) = (0_u128, 0_u128);
        weights
            .iter()
            .map(|weight| {
                sum += u128::from(*weight);
                let up_to = spare * sum / all.max(1);
                let size = 1 + (up_to - before) as u64;
                before = up_to;
                size
            })
            .collect()
    }

    /// Log-normally distributed with median 1, in units of 2^-[`DIGITS`].
    fn weight(&mut self) -> u64 {
        let normal = normal(&mut self.random);
        let power = (i128::from(normal) * i128::from(self.deviation)) >> DIGITS;
        exp2(power as i64)
    }
}

/// Normally distributed with mean 0 and deviation 1, in units of 2^-[`DIGITS`]: by the polar method
/// of Marsaglia.
fn normal(random: &mut Random) -> i64 {
    loop {
        let bits = random.bits();
        // From -1 to 1, with 31 digits behind the point.
        let [x, y] = [bits as u32, (bits >> 32) as u32].map(|half| i64::from(half as i32));
        let square = (x * x) as u64 + (y * y) as u64;
        // So near the middle is one draw in 2^38; it would need more than 128 bits.
        if !(1 << 24..1 << 62).contains(&square) {
            continue;
        }
        // sqrt(-2 ln(s) / s), where the logarithm has 32 digits and s has 62.
        let logarithm = u128::from(minus_logarithm(square << 2));
        let factor = ((logarithm << 1 << 62) / u128::from(square)) << DIGITS;
        return ((i128::from(x) * factor.isqrt() as i128) >> 31) as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn random(seed: u64) -> Random {
        Random::stream(seed, "test", "", 0)
    }

    /// Bounds: five standard errors of what 400,000 draws give.
    #[test]
    fn normal_draws_have_the_moments_and_quantiles_of_a_normal_distribution() {
        let mut random = random(1);
        let count = 400_000;
        let mut draws: Vec<f64> = (0..count)
            .map(|_| normal(&mut random) as f64 / 2f64.powi(32))
            .collect();
        let moment = |power: i32| draws.iter().map(|x| x.powi(power)).sum::<f64>() / count as f64;
        let error = |variance: f64| 5.0 * (variance / count as f64).sqrt();
        for (power, expected, variance) in
            [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
        {
            let found = moment(power);
            let far = (found - expected).abs();
            assert!(far < error(variance), "moment {power}: {found}");
        }
        draws.sort_by(f64::total_cmp);
        for (share, quantile) in [
            (0.001, -3.0902),
            (0.1, -1.2816),
            (0.9, 1.2816),
            (0.999, 3.0902),
        ] {
            let below = draws.partition_point(|x| *x < quantile) as f64 / f64::from(count);
            assert!(
                (below - share).abs() < error(share * (1.0 - share)),
                "{quantile}"
            );
        }
    }

    /// A log-normal distribution with median 1 has the mean sqrt(1 + CV^2). The bound of the
    /// coefficient of variation has the eighth moment's error: five standard errors, measured over
    /// 40 batches of the same draws.
    #[test]
    fn weights_have_their_mean_and_variation() {
        for variation in [0, 500, 1000, 2000] {
            let cv = f64::from(variation) / 1000.0;
            let mut sizes = Sizes::new(variation, random(2));
            let batches: Vec<(f64, f64)> = (0..40)
                .map(|_| {
                    let drawn: Vec<f64> = (0..25_000)
                        .map(|_| sizes.weight() as f64 / 2f64.powi(32))
                        .collect();
                    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
                    let squares = drawn.iter().map(|x| x * x).sum::<f64>() / drawn.len() as f64;
                    (mean, squares)
                })
                .collect();
            let law = [(1.0 + cv * cv).sqrt(), (1.0 + cv * cv).powi(2)];
            for (place, expected) in law.into_iter().enumerate() {
                let values = batches.iter().map(|batch| [batch.0, batch.1][place]);
                let mean = values.clone().sum::<f64>() / 40.0;
                let spread = values.map(|x| (x - mean).powi(2)).sum::<f64>() / 39.0;
                let bound = 5.0 * (spread / 40.0).sqrt() + 1e-6;
                assert!(
                    (mean - expected).abs() < bound,
                    "{cv}: {mean} {expected} {bound}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn a_page_has_its_bytes(
            seed: u64,
            variation in 0..=MOST_VARIATION,
            objects in 1..500_usize,
            more in 0..100_000_000_u64,
        ) {
            let bytes = objects as u64 + more;
            let sizes = Sizes::new(variation, random(seed)).draw(objects, bytes);
            prop_assert_eq!(sizes.len(), objects);
            prop_assert_eq!(sizes.iter().sum::<u64>(), bytes);
            prop_assert!(sizes.iter().all(|size| *size > 0));
            if variation == 0 {
                let least = more / objects as u64 + 1;
                prop_assert!(sizes.iter().all(|size| (least..=least + 1).contains(size)));
            }
        }
    }
}
