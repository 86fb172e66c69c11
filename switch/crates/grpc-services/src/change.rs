// SPDX-License-Identifier: Apache-2.0
//! The changes that an update makes.

/// What an update does to an object that is told by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Insert,
    Modify,
    Delete,
}
