// SPDX-License-Identifier: Apache-2.0
//! What the control plane may do with a [`Pipeline`](crate::Pipeline): one
//! file for each kind of object. A refused operation changes nothing.

mod arrays;
mod carry;
mod meters;
mod profiles;
mod tables;
mod value_sets;

pub use arrays::RegisterCells;

use crate::error::ControlError;

fn unknown(kind: &str, id: u32) -> ControlError {
    ControlError::UnknownObject {
        what: format!("{kind} {id}"),
    }
}

fn past_the_end(kind: &str, name: &str, index: usize, size: usize) -> ControlError {
    ControlError::IndexOutOfRange {
        what: format!("{kind} {name}"),
        index,
        size,
    }
}
