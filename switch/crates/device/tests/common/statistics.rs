// SPDX-License-Identifier: Apache-2.0
//! Tests of counts against probabilities, two-sided, 99.9% each. Devices are seeded: what
//! passes once passes always, so a change that fails one is worth a look.

/// The normal distribution's quantile.
pub const QUANTILE: f64 = 3.2905;

/// That `count` of `trials` may come of a probability.
pub fn assert_rate(count: usize, trials: usize, probability: f64, what: &str) {
    let trials = trials as f64;
    let expected = trials * probability;
    let error = QUANTILE * (expected * (1.0 - probability)).sqrt();
    assert!(
        (count as f64 - expected).abs() <= error,
        "{what}: {count} of {trials}, expected {expected:.1} +- {error:.1}"
    );
}

/// That counts may come of their expectations: Pearson's chi-square, its 99.9% quantile
/// after Wilson and Hilferty.
pub fn assert_distribution(counts: &[usize], expected: &[f64], what: &str) {
    assert_eq!(counts.len(), expected.len());
    assert!(
        expected.iter().all(|&n| n >= 5.0),
        "{what}: too few for a cell"
    );
    let statistic: f64 = counts
        .iter()
        .zip(expected)
        .map(|(&n, e)| (n as f64 - e).powi(2) / e)
        .sum();
    let freedom = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    // One-sided: 3.0902.
    let quantile = freedom * (1.0 - spread + 3.0902 * spread.sqrt()).powi(3);
    assert!(
        statistic <= quantile,
        "{what}: chi-square {statistic:.1}, quantile {quantile:.1}, {counts:?}"
    );
}

/// That runs of trials up to and with a success have a geometric distribution.
pub fn assert_geometric(runs: &[usize], probability: f64, what: &str) {
    let mut expected = Vec::new();
    let mut left = runs.len() as f64;
    // Cells of 20 runs at the least, the last is the rest.
    let (mut ends, mut end, mut cell) = (Vec::new(), 0, 0.0);
    let total = left;
    while left > 40.0 {
        end += 1;
        let n = total * probability * (1.0 - probability).powi(end as i32 - 1);
        cell += n;
        left -= n;
        if cell >= 20.0 {
            expected.push(cell);
            ends.push(end);
            cell = 0.0;
        }
    }
    expected.push(left + cell);
    let mut counts = vec![0; expected.len()];
    for &run in runs {
        counts[ends.partition_point(|&end| end < run)] += 1;
    }
    assert_distribution(&counts, &expected, what);
}
