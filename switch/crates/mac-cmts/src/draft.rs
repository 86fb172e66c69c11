// SPDX-License-Identifier: Apache-2.0
//! A MAP while it is made: which of its minislots are free, and how many information elements.

use mac_wire::{Element, Map, Minislot, Sid, Usage};

/// The MAP that is being made. Maintenance has its last minislots; they move when it stretches,
/// and become an element at the end.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) map: Map,
    maintenance: u32,
    /// Free minislots, in order: first, and first not free.
    holes: Vec<(u64, u64)>,
    free: u64,
    /// Information elements kept back for requests that have to be marked as pending.
    for_pending: usize,
}

impl Draft {
    pub(crate) fn new(map: Map, maintenance: u32) -> Self {
        Self {
            map,
            maintenance,
            holes: Vec::new(),
            free: 0,
            for_pending: 0,
        }
    }

    /// Starts the next MAP.
    pub(crate) fn begin(&mut self, start: u64, minislots: u32, for_pending: usize) {
        self.map.start = Minislot(start);
        self.map.end = Minislot(start + u64::from(minislots));
        self.map.elements.clear();
        self.map.pending.clear();
        self.for_pending = for_pending;
        self.holes.clear();
        self.free = u64::from(minislots.saturating_sub(self.maintenance));
        if self.free > 0 {
            self.holes.push((start, start + self.free));
        }
    }

    /// The first of its minislots.
    pub(crate) fn start(&self) -> u64 {
        self.map.start.0
    }

    /// The first minislot behind it.
    pub(crate) fn end(&self) -> u64 {
        self.map.end.0
    }

    /// The first minislot that maintenance has, or the end.
    pub(crate) fn limit(&self) -> u64 {
        self.end().saturating_sub(self.maintenance.into())
    }

    /// Free minislots.
    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    /// Free intervals, in order.
    pub(crate) fn holes(&self) -> &[(u64, u64)] {
        &self.holes
    }

    /// Whether one element more, wherever it lies, leaves room for what has to be in the MAP.
    pub(crate) fn has_room(&self) -> bool {
        self.left() > self.for_pending + 1
    }

    /// Information elements that are kept back for pending marks.
    pub(crate) fn for_pending(&self) -> usize {
        self.for_pending
    }

    /// Information elements that are left.
    pub(crate) fn left(&self) -> usize {
        let maintenance = usize::from(self.maintenance > 0);
        let used = self.map.elements.len() + self.holes.len() + maintenance + 1;
        Map::MAX_INFORMATION_ELEMENTS
            .saturating_sub(used)
            .saturating_sub(self.map.pending.len())
    }

    /// Where `minislots` are free in a row: the first such place at or after `from`.
    pub(crate) fn first_fit(&self, minislots: u32, from: u64) -> Option<u64> {
        let near = self.holes.partition_point(|&(_, end)| end <= from);
        self.holes[near..].iter().find_map(|&(first, end)| {
            let first = first.max(from);
            (end.saturating_sub(first) >= u64::from(minislots)).then_some(first)
        })
    }

    /// Gives free minislots away. Those that are not free stay as they are, and it says so.
    pub(crate) fn give(&mut self, sid: Sid, usage: Usage, first: u64, minislots: u32) -> bool {
        let end = first + u64::from(minislots);
        let index = self.holes.partition_point(|&(_, to)| to <= first);
        let Some(&(from, to)) = self.holes.get(index) else {
            return false;
        };
        if minislots == 0 || first < from || end > to {
            return false;
        }
        match (from < first, end < to) {
            (true, true) => {
                self.holes[index].1 = first;
                self.holes.insert(index + 1, (end, to));
            }
            (true, false) => self.holes[index].1 = first,
            (false, true) => self.holes[index].0 = end,
            (false, false) => {
                self.holes.remove(index);
            }
        }
        self.free -= u64::from(minislots);
        self.map.elements.push(Element {
            sid,
            usage,
            first: Minislot(first),
            minislots,
        });
        true
    }

    /// Makes the MAP longer; maintenance moves to the new end.
    pub(crate) fn stretch(&mut self, end: u64) {
        let (old, new) = (self.limit(), end.saturating_sub(self.maintenance.into()));
        if new <= old {
            return;
        }
        self.map.end = Minislot(end);
        self.free += new - old;
        match self.holes.last_mut() {
            Some(last) if last.1 == old => last.1 = new,
            _ => self.holes.push((old, new)),
        }
    }

    /// Puts maintenance in and elements in order.
    pub(crate) fn close(&mut self) {
        if self.maintenance > 0 {
            self.map.elements.push(Element {
                sid: Sid::ALL,
                usage: Usage::InitialMaintenance,
                first: Minislot(self.limit()),
                minislots: self.maintenance,
            });
        }
        self.map
            .elements
            .sort_unstable_by_key(|element| element.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mac_wire::Backoff;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn draft(maintenance: u32) -> Draft {
        let backoff = Backoff { start: 3, end: 7 };
        Draft::new(
            Map {
                channel: 1,
                ucd_count: 0,
                start: Minislot(0),
                end: Minislot(0),
                ack: Minislot(0),
                ranging: backoff,
                data: backoff,
                elements: Vec::new(),
                pending: Vec::new(),
            },
            maintenance,
        )
    }

    proptest! {
        /// As a set of minislots.
        #[test]
        fn gives_each_minislot_once_and_counts_elements_as_the_map_does(
            maintenance in 0u32..5,
            steps in prop::collection::vec((0u64..120, 1u32..20, prop::bool::weighted(0.1)), 1..80),
        ) {
            let mut draft = draft(maintenance);
            draft.begin(10, 60, 0);
            let mut free: BTreeSet<u64> = (10..70 - u64::from(maintenance)).collect();
            for (first, minislots, stretch) in steps {
                if stretch {
                    let old = draft.end();
                    draft.stretch(old + u64::from(minislots));
                    free.extend((old..draft.end()).map(|slot| slot - u64::from(maintenance)));
                    continue;
                }
                let wanted: Vec<u64> = (first..first + u64::from(minislots)).collect();
                let possible = wanted.iter().all(|slot| free.contains(slot));
                prop_assert_eq!(draft.give(Sid(1), Usage::Long, first, minislots), possible);
                if possible {
                    free.retain(|slot| !wanted.contains(slot));
                }
                prop_assert_eq!(draft.free(), free.len() as u64);
                let fits = |&first: &u64| (first..first + 7).all(|slot| free.contains(&slot));
                prop_assert_eq!(draft.first_fit(7, first), (first..200).find(fits));
            }
            let left = draft.left();
            draft.close();
            prop_assert_eq!(draft.map.information_elements(), Map::MAX_INFORMATION_ELEMENTS - left);
            prop_assert!(draft.map.encode().is_ok());
        }
    }
}
