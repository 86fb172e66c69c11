// SPDX-License-Identifier: Apache-2.0
//! How much the test of admission may compute. Its work grows with the square of the number of
//! different kinds of grants and polls, and whoever configures a channel chooses how many there are.

use std::cell::Cell;

/// The steps that are left. A step is a look at one load or one deadline, about 10 ns.
#[derive(Debug, Clone)]
pub(crate) struct Effort(Cell<u64>);

impl Effort {
    pub(crate) fn new(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    /// Spends steps, or says that there are not so many left: then there are none left.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        let left = self.0.get().checked_sub(steps as u64);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_takes_all_that_is_left() {
        let effort = Effort::new(10);
        assert!(effort.spend(4) && effort.spend(5));
        assert_eq!(effort.left(), 1);
        assert!(!effort.spend(2) && !effort.spend(1));
        assert_eq!(effort.left(), 0);
    }
}
