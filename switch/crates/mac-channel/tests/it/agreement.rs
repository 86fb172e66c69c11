// SPDX-License-Identifier: Apache-2.0
//! When a measurement agrees with a vector. The rule, written before any run: the mean over 30 seeds
//! lies within `SIGMAS` of its own standard errors of the vector, plus the vector's own error (half
//! of its last digit, unless mac.md gives more). Student's t of 29 degrees of freedom exceeds that
//! in one of 10,000 comparisons. A least or greatest value is never passed.

pub const SEEDS: u64 = 30;
const SIGMAS: f64 = 4.53;

/// Mean and standard error of one value a seed.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// One value a seed agrees with a vector that has an error of its own.
pub fn agrees(what: &str, seeds: &[f64], vector: f64, own: f64) {
    let (mean, error) = mean(seeds);
    let bound = SIGMAS * error + own;
    println!("{what}: {mean:.4} against {vector} (error {error:.4}, bound {bound:.4})");
    assert!(
        (mean - vector).abs() <= bound,
        "{what}: the mean of {} seeds is {mean}, the vector {vector}, the bound {bound}",
        seeds.len()
    );
}

/// A distribution's mean, sd, range and quantiles, in one unit.
pub struct Vector {
    pub mean: f64,
    pub sd: Option<f64>,
    pub least: f64,
    pub greatest: f64,
    pub quantiles: &'static [(f64, f64)],
    /// Half of the last digit of mean and sd.
    pub digit: f64,
    /// Half of the last digit of the range.
    pub range_digit: f64,
    /// Error of the quantiles.
    pub quantile_error: f64,
}

/// Samples of each seed agree with a distribution.
pub fn distribution(what: &str, samples: &[Vec<f64>], vector: &Vector) {
    let seeds = |value: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        samples.iter().map(|samples| value(samples)).collect()
    };
    let means = seeds(&|samples| samples.iter().sum::<f64>() / samples.len() as f64);
    agrees(&format!("{what}, mean"), &means, vector.mean, vector.digit);
    if let Some(sd) = vector.sd {
        let variances = seeds(&|samples| {
            let (mean, error) = mean(samples);
            let _ = mean;
            error.powi(2) * samples.len() as f64
        });
        let own = 2.0 * sd * vector.digit;
        agrees(&format!("{what}, variance"), &variances, sd * sd, own);
    }
    for sample in samples.iter().flatten() {
        assert!(
            (vector.least - vector.range_digit..=vector.greatest + vector.range_digit)
                .contains(sample),
            "{what}: {sample} is outside of {} to {}",
            vector.least,
            vector.greatest
        );
    }
    for &(share, value) in vector.quantiles {
        // As many as the quantile says lie below it, give or take its own error.
        let below = |bound: f64| {
            let shares = seeds(&|samples| {
                samples.iter().filter(|&&sample| sample <= bound).count() as f64
                    / samples.len() as f64
            });
            mean(&shares)
        };
        let (few, few_error) = below(value - vector.quantile_error);
        let (many, many_error) = below(value + vector.quantile_error);
        println!("{what}, {share}: {few:.4} to {many:.4} lie below {value}");
        assert!(
            few - SIGMAS * few_error <= share && share <= many + SIGMAS * many_error,
            "{what}: {few} to {many} lie below {value}, which should be the {share} quantile"
        );
    }
}
