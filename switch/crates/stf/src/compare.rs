// SPDX-License-Identifier: Apache-2.0
//! Compares the frames that came out with those that were expected.

use crate::script::Pattern;

/// An `expect` statement.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub line: u32,
    pub pattern: Option<Pattern>,
}

/// A frame that came out, and the line of the `packet` that made it.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub line: u32,
    pub frame: Vec<u8>,
}

/// An expected frame, a received one, or two that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    Both(usize, usize),
    Missing(usize),
    Unexpected(usize),
}

/// A frame's digits in upper case, ASCII.
pub(crate) fn digits(frame: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    frame
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| DIGITS[usize::from(nibble)])
        .collect()
}

/// Whether the frame is as expected. Without `$` it may be longer.
pub(crate) fn fits(pattern: Option<&Pattern>, frame: &[u8]) -> bool {
    let Some(pattern) = pattern else {
        return true;
    };
    let digits = digits(frame);
    let length_fits = if pattern.exact {
        digits.len() == pattern.digits.len()
    } else {
        digits.len() >= pattern.digits.len()
    };
    length_fits
        && pattern
            .digits
            .iter()
            .zip(&digits)
            .all(|(want, have)| *want == b'*' || want == have)
}

/// Pairs the frames of one port, in order. Where there are more or fewer than
/// expected, as many as possible are paired with an expectation that they fit,
/// and what lies between two such pairs is taken to be meant for each other.
pub(crate) fn align(expected: &[Expected], received: &[Received]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    if expected.len() == received.len() {
        return (0..expected.len()).map(|n| Pair::Both(n, n)).collect();
    }
    let (mut e, mut r) = (0, 0);
    for (fit_e, fit_r) in fitting(expected, received) {
        between(&mut pairs, e..fit_e, r..fit_r);
        pairs.push(Pair::Both(fit_e, fit_r));
        (e, r) = (fit_e + 1, fit_r + 1);
    }
    between(&mut pairs, e..expected.len(), r..received.len());
    pairs
}

fn between(pairs: &mut Vec<Pair>, mut e: std::ops::Range<usize>, mut r: std::ops::Range<usize>) {
    loop {
        pairs.push(match (e.next(), r.next()) {
            (Some(e), Some(r)) => Pair::Both(e, r),
            (Some(e), None) => Pair::Missing(e),
            (None, Some(r)) => Pair::Unexpected(r),
            (None, None) => return,
        });
    }
}

/// The longest common subsequence; what fits in order is taken at once.
fn fitting(expected: &[Expected], received: &[Received]) -> Vec<(usize, usize)> {
    let fit = |e: usize, r: usize| fits(expected[e].pattern.as_ref(), &received[r].frame);
    let shorter = expected.len().min(received.len());
    let front = (0..shorter).take_while(|&n| fit(n, n)).count();
    let mut pairs: Vec<_> = (0..front).map(|n| (n, n)).collect();
    let (rows, columns) = (expected.len() - front, received.len() - front);
    /// Beyond this many comparisons the rest is paired as it comes.
    const MOST: usize = 1 << 20;
    if rows.saturating_mul(columns) > MOST {
        return pairs;
    }
    // best[e][r]: how many pairs there are from e and r on.
    let mut best = vec![vec![0u32; columns + 1]; rows + 1];
    let mut fitted = vec![vec![false; columns]; rows];
    for e in (0..rows).rev() {
        for r in (0..columns).rev() {
            fitted[e][r] = fit(front + e, front + r);
            best[e][r] = if fitted[e][r] {
                best[e + 1][r + 1] + 1
            } else {
                best[e + 1][r].max(best[e][r + 1])
            };
        }
    }
    let (mut e, mut r) = (0, 0);
    while e < rows && r < columns {
        if fitted[e][r] {
            pairs.push((front + e, front + r));
            (e, r) = (e + 1, r + 1);
        } else if best[e + 1][r] >= best[e][r + 1] {
            e += 1;
        } else {
            r += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Expected {
        let exact = text.ends_with('$');
        Expected {
            line: 1,
            pattern: Some(Pattern {
                digits: text.trim_end_matches('$').bytes().collect(),
                exact,
            }),
        }
    }

    fn frame(byte: u8) -> Received {
        Received {
            line: 1,
            frame: vec![byte],
        }
    }

    #[test]
    fn a_frame_may_be_longer_unless_the_end_is_given() {
        let fits = |text, frame: &[u8]| fits(pattern(text).pattern.as_ref(), frame);
        assert!(fits("0A", &[10, 11]));
        assert!(!fits("0A$", &[10, 11]));
        assert!(fits("0A*B$", &[10, 11]));
        assert!(!fits("0A0B", &[10]));
        assert!(fits("0", &[10]));
        assert!(!fits("$", &[10]));
    }

    #[test]
    fn finds_what_is_missing_or_too_many() {
        let expected = ["01", "02", "03"].map(pattern);
        let got = [frame(1), frame(3), frame(4), frame(5)];
        assert_eq!(
            align(&expected, &got),
            [
                Pair::Both(0, 0),
                Pair::Missing(1),
                Pair::Both(2, 1),
                Pair::Unexpected(2),
                Pair::Unexpected(3)
            ]
        );
        assert_eq!(align(&expected[..1], &got[1..2]), [Pair::Both(0, 0)]);
        assert_eq!(align(&[], &got[..1]), [Pair::Unexpected(0)]);
    }
}
