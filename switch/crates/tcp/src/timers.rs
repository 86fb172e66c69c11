// SPDX-License-Identifier: Apache-2.0
//! Finds which of several timers comes first.

/// The first of these times, if there is one. Asked for at every segment: a comparison
/// each, where the standard library's iterators make several branches of it.
pub(crate) fn earliest<const N: usize>(times: [Option<u64>; N]) -> Option<u64> {
    let never = u64::MAX;
    let earlier = |first: u64, time: Option<u64>| first.min(time.unwrap_or(never));
    let first = times.into_iter().fold(never, earlier);
    (first < never).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_time_does_not_count() {
        assert_eq!(earliest([None, Some(7), None, Some(3)]), Some(3));
        assert_eq!(earliest([None, Some(0)]), Some(0));
        assert_eq!(earliest([None; 3]), None);
    }
}
