// SPDX-License-Identifier: Apache-2.0
//! Idle timeouts of a table's entries.
//!
//! A hit only notes its time. Each entry with a timeout has one deadline in a
//! heap, which is moved on when it comes up and the entry was hit meanwhile.
//! The heap knows where each entry's is, so every change is a few steps.

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Nanoseconds; 0 is never.
    timeout: u64,
    /// When the entry was last hit, or written.
    last_hit: u64,
    /// When it was last reported.
    reported: u64,
    /// 1 + its place in the heap; 0 is none.
    place: u32,
}

impl Cell {
    fn deadline(&self) -> u64 {
        self.last_hit
            .max(self.reported)
            .saturating_add(self.timeout)
    }
}

/// The memory that an entry's idle timeout takes, bytes.
pub(super) const BYTES: usize = size_of::<Cell>() + size_of::<(u64, u32)>();

/// The idle timeouts of a table, by entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle {
    cells: Vec<Cell>,
    /// Deadline and entry, as a heap whose first is the earliest. A deadline is
    /// never later than the entry's.
    deadlines: Vec<(u64, u32)>,
}

/// What [`Idle::expired`] comes upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This entry had no hit for its timeout.
    Expired(u32),
    /// One was hit in time.
    Alive,
    /// No more now.
    None,
}

impl Idle {
    /// Takes room for so many entries.
    pub fn reserve(&mut self, entries: usize) {
        super::reserve(&mut self.cells, entries);
        super::reserve(&mut self.deadlines, entries);
    }

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
        let place = self.cells[at].place;
        self.cells[at] = Cell {
            timeout,
            last_hit: now_ns,
            reported: 0,
            place,
        };
        if timeout == 0 {
            self.forget(entry);
            return;
        }
        let deadline = (self.cells[at].deadline(), entry);
        if place == 0 {
            self.deadlines.push(deadline);
            self.rise(self.deadlines.len() - 1);
        } else {
            self.put(place as usize - 1, deadline);
        }
    }

    /// An entry was deleted.
    pub fn clear(&mut self, entry: u32) {
        self.cells[entry as usize].timeout = 0;
        self.forget(entry);
    }

    pub fn last_hit(&self, entry: u32) -> u64 {
        self.cells
            .get(entry as usize)
            .map_or(0, |cell| cell.last_hit)
    }

    /// At or before the time at which an entry may expire.
    pub fn next(&self) -> Option<u64> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Looks at the entry whose deadline comes first. One that expires is
    /// reported again after as long.
    pub fn expired(&mut self, now_ns: u64) -> Next {
        let Some((_, entry)) = self
            .deadlines
            .first()
            .copied()
            .filter(|(at, _)| *at <= now_ns)
        else {
            return Next::None;
        };
        let cell = &mut self.cells[entry as usize];
        let is_due = cell.deadline() <= now_ns;
        if is_due {
            cell.reported = now_ns;
        }
        let deadline = cell.deadline();
        self.put(0, (deadline, entry));
        if is_due {
            Next::Expired(entry)
        } else {
            Next::Alive
        }
    }

    /// Takes an entry's deadline out of the heap, if it has one.
    fn forget(&mut self, entry: u32) {
        let place = std::mem::take(&mut self.cells[entry as usize].place);
        let Some(at) = place.checked_sub(1) else {
            return;
        };
        if let Some(last) = self.deadlines.pop()
            && (at as usize) < self.deadlines.len()
        {
            self.put(at as usize, last);
        }
    }

    /// Replaces the deadline at a place.
    fn put(&mut self, at: usize, deadline: (u64, u32)) {
        self.deadlines[at] = deadline;
        let at = self.rise(at);
        self.sink(at);
    }

    /// Moves a deadline to the front as far as it is earlier.
    fn rise(&mut self, mut at: usize) -> usize {
        let own = self.deadlines[at];
        while at > 0 && own < self.deadlines[(at - 1) / 2] {
            let parent = (at - 1) / 2;
            self.move_to(at, self.deadlines[parent]);
            at = parent;
        }
        self.move_to(at, own);
        at
    }

    /// Moves a deadline to the back as far as it is later.
    fn sink(&mut self, mut at: usize) {
        let own = self.deadlines[at];
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < self.deadlines.len() && self.deadlines[child + 1] < self.deadlines[child]
            {
                child += 1;
            }
            match self.deadlines.get(child) {
                Some(&earlier) if earlier < own => self.move_to(at, earlier),
                _ => break,
            }
            at = child;
        }
        self.move_to(at, own);
    }

    fn move_to(&mut self, at: usize, deadline: (u64, u32)) {
        self.deadlines[at] = deadline;
        self.cells[deadline.1 as usize].place = at as u32 + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn due(idle: &mut Idle, now: u64) -> Vec<u32> {
        let mut found = Vec::new();
        loop {
            match idle.expired(now) {
                Next::Expired(entry) => found.push(entry),
                Next::Alive => {}
                Next::None => break,
            }
        }
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
