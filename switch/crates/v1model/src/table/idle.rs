// SPDX-License-Identifier: Apache-2.0
//! Idle timeouts of a table's entries.
//!
//! A hit only notes its time. Each entry with a timeout has one deadline in a
//! heap, which is moved on when it comes up and the entry was hit meanwhile.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Nanoseconds; 0 is never.
    timeout: u64,
    /// When the entry was last hit, or written.
    last_hit: u64,
    /// When it was last reported.
    reported: u64,
    /// Tells the deadline of the entry as it is from those of earlier ones.
    serial: u32,
}

impl Cell {
    fn deadline(&self) -> u64 {
        self.last_hit
            .max(self.reported)
            .saturating_add(self.timeout)
    }
}

/// The idle timeouts of a table, by entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle {
    cells: Vec<Cell>,
    /// Deadline, entry, serial; those with an old serial do not count.
    deadlines: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl Idle {
    #[inline]
    pub fn hit(&mut self, entry: u32, now_ns: u64) {
        self.cells[entry as usize].last_hit = now_ns;
    }

    /// An entry was inserted or modified.
    pub fn set(&mut self, entry: u32, now_ns: u64, timeout: u64) {
        let at = entry as usize;
        if self.cells.len() <= at {
            self.cells.resize(at + 1, Cell::default());
        }
        let serial = self.cells[at].serial.wrapping_add(1);
        self.cells[at] = Cell {
            timeout,
            last_hit: now_ns,
            reported: 0,
            serial,
        };
        if timeout > 0 {
            let deadline = self.cells[at].deadline();
            self.deadlines.push(Reverse((deadline, entry, serial)));
            self.forget_old();
        }
    }

    /// An entry was deleted.
    pub fn clear(&mut self, entry: u32) {
        let cell = &mut self.cells[entry as usize];
        cell.timeout = 0;
        cell.serial = cell.serial.wrapping_add(1);
    }

    pub fn last_hit(&self, entry: u32) -> u64 {
        self.cells
            .get(entry as usize)
            .map_or(0, |cell| cell.last_hit)
    }

    /// At or before the time at which an entry may expire.
    pub fn next(&self) -> Option<u64> {
        self.deadlines.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next entry that had no hit for its timeout; reported again after
    /// as long.
    pub fn expired(&mut self, now_ns: u64) -> Option<u32> {
        while let Some(mut first) = self.deadlines.peek_mut() {
            let Reverse((at, entry, serial)) = *first;
            if at > now_ns {
                return None;
            }
            let cell = &mut self.cells[entry as usize];
            if cell.serial != serial {
                std::collections::binary_heap::PeekMut::pop(first);
                continue;
            }
            let deadline = cell.deadline();
            let is_due = deadline <= now_ns;
            if is_due {
                cell.reported = now_ns;
            }
            *first = Reverse((cell.deadline(), entry, serial));
            if is_due {
                return Some(entry);
            }
        }
        None
    }

    /// Bounds the heap where entries are written over and over.
    fn forget_old(&mut self) {
        if self.deadlines.len() > 2 * self.cells.len() + 64 {
            let cells = &self.cells;
            self.deadlines
                .retain(|Reverse((_, entry, serial))| cells[*entry as usize].serial == *serial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(idle: &mut Idle, now: u64) -> Vec<u32> {
        let mut found: Vec<u32> = std::iter::from_fn(|| idle.expired(now)).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn an_entry_is_reported_again_after_each_timeout() {
        let mut idle = Idle::default();
        idle.set(1, 100, 50);
        idle.set(2, 100, 0);
        assert_eq!(idle.next(), Some(150));
        assert_eq!(due(&mut idle, 149), [0u32; 0]);
        idle.hit(1, 130);
        assert_eq!(due(&mut idle, 150), [0u32; 0]);
        assert_eq!(idle.next(), Some(180));
        assert_eq!(due(&mut idle, 185), [1]);
        assert_eq!(due(&mut idle, 234), [0u32; 0]);
        assert_eq!(due(&mut idle, 235), [1]);
        idle.clear(1);
        assert_eq!(due(&mut idle, 1000), [0u32; 0]);
        assert_eq!(idle.next(), None);
    }

    proptest! {
        #[test]
        fn deadlines_are_those_of_a_naive_model(
            steps in prop::collection::vec((0u64..20, 0u32..6, 0u32..4, 0u64..40), 1..200)
        ) {
            let mut idle = Idle::default();
            // Timeout, armed at.
            let mut model: [Option<(u64, u64)>; 6] = [None; 6];
            let mut now = 0;
            for (gap, entry, step, timeout) in steps {
                now += gap;
                let slot = &mut model[entry as usize];
                match step {
                    0 => {
                        idle.set(entry, now, timeout);
                        *slot = Some((timeout, now));
                    }
                    1 if slot.is_some() => {
                        idle.clear(entry);
                        *slot = None;
                    }
                    2 => if let Some((_, armed)) = slot {
                        idle.hit(entry, now);
                        *armed = now;
                    },
                    _ => {}
                }
                let mut expected = Vec::new();
                for (entry, slot) in model.iter_mut().enumerate() {
                    if let Some((timeout @ 1.., armed)) = slot && now >= *armed + *timeout {
                        expected.push(entry as u32);
                        *armed = now;
                    }
                }
                prop_assert!(expected.is_empty() || idle.next().is_some_and(|at| at <= now));
                prop_assert_eq!(due(&mut idle, now), expected);
            }
        }
    }
}
