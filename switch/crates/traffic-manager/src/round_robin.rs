// SPDX-License-Identifier: Apache-2.0
//! Which of a port's ready queues is next: traffic priority, then deficit round
//! robin among equals (Shreedhar and Varghese, 1996).

use std::collections::VecDeque;

/// Bytes a queue may send a turn.
pub const QUANTUM: u64 = crate::config::PEAK_BURST;

/// A queue's place in the round.
#[derive(Debug, Clone, Copy, Default)]
pub struct Turn {
    /// Bytes that it may still send in this turn.
    pub deficit: u64,
    /// Its turn has begun. A queue that shaping takes out of the round in the
    /// middle of its turn goes on with it when it comes back.
    pub begun: bool,
}

impl Turn {
    /// Begins the turn if need be; ends it when `len` is more than it still allows.
    pub fn covers(&mut self, len: u64) -> bool {
        if !self.begun {
            self.begun = true;
            self.deficit += QUANTUM;
        }
        self.begun = self.deficit >= len;
        self.begun
    }
}

/// The ready queues of a port, by traffic priority.
#[derive(Debug, Default)]
pub struct Round {
    levels: [VecDeque<u32>; 8],
    /// Bit p: level p is not empty.
    occupied: u8,
}

impl Round {
    /// True when no queue is ready.
    pub fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// A queue became ready.
    pub fn enter(&mut self, slot: u32, priority: u8, turn: Turn) {
        let level = &mut self.levels[usize::from(priority)];
        if turn.begun {
            level.push_front(slot);
        } else {
            level.push_back(slot);
        }
        self.occupied |= 1 << priority;
    }

    /// A queue is not ready any more. O(1) for the queue whose turn it is.
    pub fn leave(&mut self, slot: u32, priority: u8) {
        let level = &mut self.levels[usize::from(priority)];
        if level.front() == Some(&slot) {
            level.pop_front();
        } else {
            level.retain(|&other| other != slot);
        }
        if level.is_empty() {
            self.occupied &= !(1 << priority);
        }
    }

    /// The queue whose turn it is: the first whose `turn` covers its head frame,
    /// which `covers` finds out with [`Turn::covers`].
    pub fn next(&mut self, mut covers: impl FnMut(u32) -> bool) -> Option<u32> {
        let priority = 7usize.checked_sub(self.occupied.leading_zeros() as usize)?;
        let level = &mut self.levels[priority];
        loop {
            let slot = *level.front()?;
            if covers(slot) {
                return Some(slot);
            }
            level.rotate_left(1);
        }
    }
}
