// SPDX-License-Identifier: Apache-2.0
//! What a program offers to the control plane: names, widths and dense ids.
//!
//! Ids index the program's lists; they are this program's own, neither
//! P4Info's nor the JSON's. Clients resolve names once and keep the ids.

/// Index into [`Program::tables`](crate::Program::tables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);
/// Index into [`Program::actions`](crate::Program::actions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId(pub u32);
/// Index into [`Program::registers`](crate::Program::registers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);
/// Index into [`Program::counters`](crate::Program::counters).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterId(pub u32);
/// Index into [`Program::meters`](crate::Program::meters).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeterId(pub u32);
/// Index into [`Program::action_profiles`](crate::Program::action_profiles).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionProfileId(pub u32);
/// Index into [`Program::value_sets`](crate::Program::value_sets).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueSetId(pub u32);
/// Index into [`Program::digests`](crate::Program::digests).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DigestId(pub u32);

mod entry;
mod profile;
mod resource;
mod table;

pub use entry::*;
pub use profile::*;
pub use resource::*;
pub use table::*;

/// One parameter of an action, set by the control plane.
#[derive(Clone, Debug)]
pub struct ParamSchema {
    /// The P4 name.
    pub name: String,
    /// Bits, at most 128.
    pub width: u16,
}

impl ParamSchema {
    /// Words of 64 bits that an argument has.
    pub(crate) fn words(&self) -> usize {
        usize::from(self.width.div_ceil(64))
    }
}

/// An action. Names are not unique: p4c copies an action for each table that
/// uses it, so resolve within a table with [`TableSchema::actions`].
#[derive(Clone, Debug)]
pub struct ActionSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Parameters in P4 order.
    pub params: Vec<ParamSchema>,
}

/// An action with its arguments, in the order of [`ActionSchema::params`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Which action.
    pub action: ActionId,
    /// Its arguments.
    pub args: Vec<u128>,
}
