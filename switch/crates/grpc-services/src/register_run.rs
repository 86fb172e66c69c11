// SPDX-License-Identifier: Apache-2.0
//! Updates of consecutive cells of a register, executed as one operation. Control loops need this,
//! because they write a value for every service flow.

use v1model::RegisterId;

/// The most cells of a run. It is limited because a run is written in one go.
pub const LONGEST: usize = 1024;

/// The checked values of consecutive cells, which begin at `first`.
#[derive(Clone, Debug)]
pub struct RegisterRun {
    pub register: RegisterId,
    pub first: usize,
    pub values: Vec<u128>,
}

impl RegisterRun {
    /// Appends an update if its cell is the next one, and returns whether it did.
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
