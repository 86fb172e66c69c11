// SPDX-License-Identifier: Apache-2.0
//! Updates of a register's cells, one behind the other, as one operation: a
//! control loop writes a value for every service flow.

use v1model::RegisterId;

/// Cells of a run, at most: a run is written in one go.
pub const LONGEST: usize = 1024;

/// Values for cells from `first` on, which were checked.
#[derive(Clone, Debug)]
pub struct RegisterRun {
    pub register: RegisterId,
    pub first: usize,
    pub values: Vec<u128>,
}

impl RegisterRun {
    /// Takes an update in; whether it goes on where the run ends.
    pub fn extend(&mut self, register: RegisterId, index: usize, value: u128) -> bool {
        let goes_on = self.register == register
            && self.first + self.values.len() == index
            && self.values.len() < LONGEST;
        if goes_on {
            self.values.push(value);
        }
        goes_on
    }
}
