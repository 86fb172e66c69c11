// SPDX-License-Identifier: Apache-2.0
//! The grants that a station was told of and has not filled, by their MAPs.

use std::collections::VecDeque;

use mac_wire::Minislot;

/// More MAPs than a modem is ever ahead of; the grants of further ones count to the last.
const MOST: usize = 64;

/// In which MAPs a station has grants to come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Booked {
    /// The first minislot of each, in order, and how many grants are left of it.
    maps: VecDeque<(Minislot, u32)>,
}

impl Booked {
    /// A MAP that begins at `start` has so many grants for it.
    pub fn add(&mut self, start: Minislot, grants: u32) {
        if grants == 0 {
            return;
        }
        let full = self.maps.len() >= MOST;
        match self.maps.back_mut() {
            Some(last) if full => last.1 = last.1.saturating_add(grants),
            _ => self.maps.push_back((start, grants)),
        }
    }

    /// The next of them is filled.
    pub fn filled(&mut self) {
        if let Some(first) = self.maps.front_mut() {
            first.1 -= 1;
            if first.1 == 0 {
                self.maps.pop_front();
            }
        }
    }

    /// Whether none of them is left.
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// Whether one of them is in the MAP that has begun by a minislot, or in one before.
    pub fn by(&self, minislot: Minislot) -> bool {
        self.maps
            .front()
            .is_some_and(|&(start, _)| start <= minislot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_of_a_later_map_are_not_there_yet() {
        let mut booked = Booked::default();
        assert!(!booked.by(Minislot(u64::MAX)));
        booked.add(Minislot(80), 0);
        booked.add(Minislot(160), 2);
        booked.add(Minislot(240), 1);
        assert!(!booked.by(Minislot(159)));
        assert!(booked.by(Minislot(160)));
        booked.filled();
        assert!(booked.by(Minislot(160)));
        booked.filled();
        assert!(!booked.by(Minislot(160)));
        assert!(booked.by(Minislot(240)));
        booked.filled();
        assert!(booked.is_empty());
        assert!(!booked.by(Minislot(240)));
        booked.filled();
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut booked = Booked::default();
        for start in 0..1000 {
            booked.add(Minislot(start), u32::MAX);
        }
        assert_eq!(booked.maps.len(), MOST);
    }
}
