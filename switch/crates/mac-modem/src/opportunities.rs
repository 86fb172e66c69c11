// SPDX-License-Identifier: Apache-2.0
//! Contention opportunities, counted from the channel's start on across elements and MAPs.

use std::collections::VecDeque;

use mac_wire::{Clock, Minislot};

/// Opportunities side by side.
#[derive(Debug, Clone, Copy)]
struct Region {
    number: u64,
    first: Minislot,
    count: u32,
}

impl Region {
    fn slot(&self, place: u64, minislots: u32) -> Minislot {
        Minislot(
            self.first
                .0
                .saturating_add(place.saturating_mul(minislots.into())),
        )
    }
}

/// The contention opportunities of a channel: those of MAPs that were read have a minislot, those
/// of later MAPs have a number only. All modems of a channel count alike, so they share it.
#[derive(Debug, Clone)]
pub struct Opportunities {
    clock: Clock,
    /// Minislots of one.
    minislots: u32,
    /// In order; those that began some time ago are forgotten.
    regions: VecDeque<Region>,
    total: u64,
}

impl Opportunities {
    /// Makes the opportunities of a channel on which a request takes `minislots`, at least 1.
    #[must_use]
    pub fn new(clock: Clock, minislots: u32) -> Self {
        Self {
            clock,
            minislots: minislots.max(1),
            regions: VecDeque::new(),
            total: 0,
        }
    }

    /// Those of an element that offers all modems `minislots` for requests. Elements come in order
    /// of their minislots; one that does not is not counted.
    pub fn offer(&mut self, first: Minislot, minislots: u32) {
        let count = minislots / self.minislots;
        let late = self
            .regions
            .back()
            .is_some_and(|last| first < last.slot(last.count.into(), self.minislots));
        if count == 0 || late {
            return;
        }
        self.regions.push_back(Region {
            number: self.total,
            first,
            count,
        });
        self.total += u64::from(count);
    }

    /// How many there were, in all MAPs that were read.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Minislots of one.
    #[must_use]
    pub fn minislots(&self) -> u32 {
        self.minislots
    }

    /// The number of the first that does not begin before `now`; of one in a later MAP if need be.
    #[must_use]
    pub fn next(&self, now: u64) -> u64 {
        let slot = self.clock.at_or_after(now);
        let at = self.regions.partition_point(|region| {
            region.slot(u64::from(region.count) - 1, self.minislots) < slot
        });
        self.regions.get(at).map_or(self.total, |region| {
            let behind = slot.0.saturating_sub(region.first.0);
            region.number + behind.div_ceil(self.minislots.into())
        })
    }

    /// The first minislot of one; `None` if it is in a later MAP, or long gone.
    #[must_use]
    pub fn minislot(&self, number: u64) -> Option<Minislot> {
        let at = self
            .regions
            .partition_point(|region| region.number + u64::from(region.count) <= number);
        let region = self.regions.get(at)?;
        let place = number.checked_sub(region.number)?;
        Some(region.slot(place, self.minislots))
    }

    /// Forgets those that began before `now`, up to a region of which some did not.
    pub fn forget(&mut self, now: u64) {
        while let Some(region) = self.regions.front() {
            let last = region.slot(u64::from(region.count) - 1, self.minislots);
            if self.clock.start(last) >= now {
                break;
            }
            self.regions.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SLOTS: Clock = Clock {
        per_frame: 1,
        frame_ps: 25_000_000,
    };

    #[test]
    fn thirteen_skipped_of_regions_of_12_lead_to_the_2nd_of_the_second_region() {
        // mac.md, "Contention requests", 2.
        let mut opportunities = Opportunities::new(SLOTS, 1);
        opportunities.offer(Minislot(0), 12);
        let target = opportunities.next(0) + 13;
        assert_eq!(opportunities.minislot(target), None);
        opportunities.offer(Minislot(80), 12);
        assert_eq!(opportunities.minislot(target), Some(Minislot(81)));
    }

    #[test]
    fn one_that_begins_now_may_be_used_and_one_that_began_may_not() {
        let mut opportunities = Opportunities::new(SLOTS, 2);
        opportunities.offer(Minislot(4), 5);
        assert_eq!(opportunities.total(), 2);
        assert_eq!(opportunities.next(0), 0);
        assert_eq!(opportunities.next(4 * 25_000), 0);
        assert_eq!(opportunities.next(4 * 25_000 + 1), 1);
        assert_eq!(opportunities.next(6 * 25_000), 1);
        assert_eq!(opportunities.next(6 * 25_000 + 1), 2);
        opportunities.forget(6 * 25_000);
        assert_eq!(opportunities.minislot(1), Some(Minislot(6)));
        opportunities.forget(6 * 25_000 + 1);
        assert_eq!(opportunities.minislot(1), None);
        // What overlaps is not counted.
        opportunities.offer(Minislot(20), 2);
        opportunities.offer(Minislot(21), 2);
        assert_eq!(opportunities.total(), 3);
    }

    proptest! {
        #[test]
        fn what_comes_next_is_the_first_whose_minislot_is_not_past(
            regions in proptest::collection::vec((0..30_u64, 1..20_u32), 1..10),
            each in 1..4_u32,
            now in 0..12_000_000_u64,
        ) {
            let mut opportunities = Opportunities::new(SLOTS, each);
            let mut at = 0;
            let mut all = Vec::new();
            for (gap, minislots) in regions {
                at += gap;
                opportunities.offer(Minislot(at), minislots);
                all.extend((0..minislots / each).map(|n| at + u64::from(n * each)));
                at += u64::from(minislots);
            }
            prop_assert_eq!(opportunities.total(), all.len() as u64);
            let expected = all.iter().filter(|&&slot| SLOTS.start(Minislot(slot)) < now).count();
            prop_assert_eq!(opportunities.next(now), expected as u64);
            for (number, slot) in all.iter().enumerate() {
                prop_assert_eq!(opportunities.minislot(number as u64), Some(Minislot(*slot)));
            }
        }
    }
}
