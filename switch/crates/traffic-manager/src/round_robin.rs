// SPDX-License-Identifier: Apache-2.0
//! The ready queue that a port serves next: the one with the highest traffic priority. Queues with
//! equal priority take turns by deficit round robin (Shreedhar and Varghese, 1996).

/// Bytes a queue may send a turn.
pub const QUANTUM: i64 = crate::limits::PEAK_BURST as i64;

const NONE: u32 = u32::MAX;

/// A queue's place in the round.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn {
    /// Bytes that it may still send in this turn; below 0 where egress made a
    /// frame longer than the turn covered.
    pub deficit: i64,
    /// Its turn has begun. A queue that shaping takes out of the round in the
    /// middle of its turn goes on with it when it comes back.
    pub begun: bool,
}

impl Turn {
    /// Begins the turn if need be; ends it when `len` is more than it still allows.
    #[inline]
    pub fn covers(&mut self, len: u32) -> bool {
        if !self.begun {
            self.begun = true;
            self.deficit += QUANTUM;
        }
        self.begun = self.deficit >= i64::from(len);
        self.begun
    }
}

#[derive(Debug, Clone, Copy)]
struct Link {
    next: u32,
    previous: u32,
}

/// The neighbours of every slot that is in a round; a slot is in one round.
#[derive(Debug, Default)]
pub struct Links(Vec<Link>);

impl Links {
    /// Room for slots below `slots`.
    pub fn grow(&mut self, slots: usize) {
        let alone = Link {
            next: NONE,
            previous: NONE,
        };
        self.0.resize(slots.max(self.0.len()), alone);
    }

    /// The one whose turn comes after a slot's.
    #[inline]
    pub fn next(&self, slot: u32) -> u32 {
        self.0[slot as usize].next
    }

    /// Joins two neighbours.
    #[inline]
    fn join(&mut self, previous: u32, next: u32) {
        self.0[previous as usize].next = next;
        self.0[next as usize].previous = previous;
    }
}

/// The ready queues of a port, by traffic priority: a ring for each, so that a
/// queue leaves in O(1) wherever it stands.
#[derive(Debug, Default)]
pub struct Round {
    /// The sub-queue whose turn it is, for each level that is not empty.
    heads: [u32; 8],
    /// Bit p: level p is not empty.
    occupied: u8,
}

impl Round {
    /// True when no queue is ready.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// A queue became ready: its turn goes on, or comes after all others'.
    #[inline]
    pub fn enter(&mut self, links: &mut Links, slot: u32, priority: u8, turn: Turn) {
        let head = &mut self.heads[usize::from(priority)];
        if self.occupied & (1 << priority) == 0 {
            self.occupied |= 1 << priority;
            *head = slot;
            links.join(slot, slot);
            return;
        }
        links.join(links.0[*head as usize].previous, slot);
        links.join(slot, *head);
        if turn.begun {
            *head = slot;
        }
    }

    /// A queue is not ready any more.
    #[inline]
    pub fn leave(&mut self, links: &mut Links, slot: u32, priority: u8) {
        let Link { next, previous } = links.0[slot as usize];
        if next == slot {
            self.occupied &= !(1 << priority);
            return;
        }
        links.join(previous, next);
        let head = &mut self.heads[usize::from(priority)];
        if *head == slot {
            *head = next;
        }
    }

    /// The queue whose turn it is: the first whose `turn` covers its head frame,
    /// which `covers` finds out with [`Turn::covers`].
    #[inline]
    pub fn next(&mut self, links: &Links, mut covers: impl FnMut(u32) -> bool) -> Option<u32> {
        let priority = 7usize.checked_sub(self.occupied.leading_zeros() as usize)?;
        let head = &mut self.heads[priority];
        while !covers(*head) {
            *head = links.next(*head);
        }
        Some(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose turns they are, of `turns` in a row.
    fn turns(round: &mut Round, links: &Links, turns: usize) -> Vec<u32> {
        let mut seen = Vec::new();
        round.next(links, |slot| {
            seen.push(slot);
            seen.len() == turns
        });
        seen
    }

    #[test]
    fn whoever_leaves_and_wherever_it_stood_the_others_keep_their_order() {
        for gone in 0..4 {
            let (mut links, mut round) = (Links::default(), Round::default());
            links.grow(4);
            (0..4).for_each(|slot| round.enter(&mut links, slot, 3, Turn::default()));
            assert_eq!(turns(&mut round, &links, 5), [0, 1, 2, 3, 0]);
            round.leave(&mut links, gone, 3);
            let order: Vec<u32> = (0..4).filter(|&slot| slot != gone).collect();
            assert_eq!(turns(&mut round, &links, 3), order);
        }
    }

    #[test]
    fn a_turn_that_has_begun_goes_on_and_another_is_last() {
        let (mut links, mut round) = (Links::default(), Round::default());
        links.grow(4);
        let begun = Turn {
            deficit: 100,
            begun: true,
        };
        for (slot, turn) in [(0, Turn::default()), (1, Turn::default()), (2, begun)] {
            round.enter(&mut links, slot, 0, turn);
        }
        round.enter(&mut links, 3, 0, Turn::default());
        assert_eq!(turns(&mut round, &links, 4), [2, 0, 1, 3]);
    }

    #[test]
    fn levels_are_emptied_from_the_highest() {
        let (mut links, mut round) = (Links::default(), Round::default());
        links.grow(3);
        for (slot, priority) in [(0, 0), (1, 7), (2, 4)] {
            round.enter(&mut links, slot, priority, Turn::default());
        }
        for (slot, priority) in [(1, 7), (2, 4), (0, 0)] {
            assert_eq!(round.next(&links, |_| true), Some(slot));
            round.leave(&mut links, slot, priority);
        }
        assert!(round.is_empty() && round.next(&links, |_| true).is_none());
    }
}
