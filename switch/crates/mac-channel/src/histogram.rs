// SPDX-License-Identifier: Apache-2.0
//! A distribution of times in a fixed number of places.

/// Binary digits behind the leading one that tell places apart: places are at most 1/32 wide.
const DIGITS: u32 = 5;
/// Values from this power of two on share the last place.
const MOST: u32 = 40;
const PLACES: usize = ((MOST - DIGITS + 1) << DIGITS) as usize;

/// Times, nanoseconds, each in a place that is at most 1/32 of it wide, up to 2^40 ns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    greatest: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; PLACES],
            count: 0,
            sum: 0,
            least: u64::MAX,
            greatest: 0,
        }
    }
}

impl Histogram {
    /// Adds a time.
    pub fn add(&mut self, ns: u64) {
        self.counts[place(ns)] += 1;
        self.count += 1;
        self.sum += u128::from(ns);
        self.least = self.least.min(ns);
        self.greatest = self.greatest.max(ns);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, rounded down; `None` if there are none.
    #[must_use]
    pub fn mean(&self) -> Option<u64> {
        let mean = self.sum.checked_div(self.count.into())?;
        u64::try_from(mean).ok()
    }

    /// Their sum; `u64::MAX` where it is more.
    #[must_use]
    pub fn sum(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    /// The places that have any, in order: the last time of each, and how many it has.
    pub fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.counts.iter().enumerate();
        let counts = counts.filter(|&(_, &count)| count > 0);
        counts.map(|(place, &count)| (end(place), count))
    }

    /// The least and the greatest, exactly; `None` if there are none.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.least, self.greatest))
    }

    /// A time that so many thousandths of them do not exceed: the upper end of a place, so that it
    /// is too great by at most 1/32; `None` if there are none.
    #[must_use]
    pub fn quantile(&self, thousandths: u32) -> Option<u64> {
        let rank = (u128::from(self.count) * u128::from(thousandths.min(1000))).div_ceil(1000);
        let mut below: u128 = 0;
        let found = self.counts.iter().position(|&count| {
            below += u128::from(count);
            below >= rank.max(1)
        })?;
        Some(end(found).clamp(self.least, self.greatest))
    }
}

fn place(ns: u64) -> usize {
    let ns = ns.min((1 << MOST) - 1);
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(DIGITS + 1);
    ((u64::from(shift) << DIGITS) + (ns >> shift)) as usize
}

/// The last value of a place.
fn end(place: usize) -> u64 {
    let place = place as u64;
    let shift = (place >> DIGITS).saturating_sub(1);
    let leading = place - (shift << DIGITS);
    ((leading + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn none_has_no_quantiles() {
        let none = Histogram::default();
        assert_eq!(
            (none.mean(), none.range(), none.quantile(500)),
            (None, None, None)
        );
    }

    proptest! {
        #[test]
        fn a_quantile_is_too_great_by_a_32nd_at_most(
            mut times in proptest::collection::vec(0..1_u64 << 40, 1..50), thousandths in 0..=1000_u32,
        ) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|&time| histogram.add(time));
            times.sort_unstable();
            let rank = (times.len() * thousandths as usize).div_ceil(1000).max(1);
            let exact = times[rank - 1];
            let found = histogram.quantile(thousandths).unwrap();
            prop_assert!(found >= exact && found - exact <= exact / 32, "{found} {exact}");
            prop_assert_eq!(histogram.range(), Some((times[0], times[times.len() - 1])));
            prop_assert_eq!(histogram.sum(), times.iter().sum::<u64>());
            let counts = histogram.places().map(|place| place.1);
            prop_assert_eq!(counts.sum::<u64>(), histogram.count());
            prop_assert!(histogram.places().is_sorted_by(|one, next| one.0 < next.0));
        }

        #[test]
        fn every_time_has_a_place(ns in any::<u64>()) {
            let place = place(ns);
            prop_assert!(place < PLACES);
            prop_assert!(end(place) >= ns.min((1 << MOST) - 1));
        }
    }
}
