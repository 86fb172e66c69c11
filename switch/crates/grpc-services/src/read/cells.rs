// SPDX-License-Identifier: Apache-2.0
//! Values of a register's cells.

use crate::heap::list;

/// The cells of a register as they were at one moment.
#[derive(Debug)]
pub enum Cells {
    /// Cells of up to 64 bits.
    Narrow(Vec<u64>),
    /// Cells of more bits.
    Wide(Vec<u128>),
}

impl Cells {
    /// The heap memory of the cells, bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Cells::Narrow(cells) => list(cells),
            Cells::Wide(cells) => list(cells),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Cells::Narrow(cells) => cells.len(),
            Cells::Wide(cells) => cells.len(),
        }
    }
}
