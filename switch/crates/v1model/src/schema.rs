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

/// How a key field is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// Equal.
    Exact,
    /// The longest prefix wins.
    Lpm,
    /// Equal under a mask; needs a priority.
    Ternary,
    /// Within inclusive bounds; needs a priority.
    Range,
    /// Equal or don't care; needs a priority. p4c 1.2.4 calls such fields
    /// ternary in the JSON, so only P4Info tells them apart.
    Optional,
}

/// One field of a table's key.
#[derive(Clone, Debug)]
pub struct KeySchema {
    /// The P4 name (`@name` or the expression), the same as in P4Info.
    pub name: String,
    /// How it is matched.
    pub kind: MatchKind,
    /// Bits, at most 128.
    pub width: u16,
}

/// One parameter of an action, set by the control plane.
#[derive(Clone, Debug)]
pub struct ParamSchema {
    /// The P4 name.
    pub name: String,
    /// Bits, at most 128.
    pub width: u16,
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

/// A table with a key, or one that the P4 source declares without.
#[derive(Clone, Debug)]
pub struct TableSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// The key's fields, in P4 order.
    pub keys: Vec<KeySchema>,
    /// The actions an entry or the default entry may have (P4Info has the
    /// `@tableonly` and `@defaultonly` scopes; BMv2 JSON does not).
    pub actions: Vec<ActionId>,
    /// Most entries that the table takes.
    pub size: usize,
    /// Entries are given in P4 and cannot be changed.
    pub const_entries: bool,
    /// The default entry cannot be changed.
    pub const_default: bool,
    /// Entries and the default entry count packets and bytes.
    pub direct_counter: bool,
    /// The table was made by the compiler and is in no P4Info.
    pub hidden: bool,
}

impl TableSchema {
    /// Whether entries need a priority above 0 (some key is ternary, range or
    /// optional); otherwise it must be 0.
    pub fn needs_priority(&self) -> bool {
        self.keys.iter().any(|k| {
            matches!(
                k.kind,
                MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
            )
        })
    }
}

/// An array of registers.
#[derive(Clone, Debug)]
pub struct RegisterSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Cells.
    pub size: usize,
    /// Bits of a cell, at most 128.
    pub width: u16,
}

/// An array of indirect counters. (Direct counters belong to their tables.)
#[derive(Clone, Debug)]
pub struct CounterSchema {
    /// Fully qualified P4 name.
    pub name: String,
    /// Cells.
    pub size: usize,
}

/// Packets and bytes. Bytes are those of the frame as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterData {
    /// Packets counted.
    pub packets: u64,
    /// Bytes of these packets, without the FCS.
    pub bytes: u64,
}

/// The match of an entry for one key field; all fields of a key must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// For [`MatchKind::Exact`].
    Exact(u128),
    /// For [`MatchKind::Lpm`]; bits past the prefix must be 0, length 0 is don't care.
    Lpm {
        /// The prefix, in the field's upper bits.
        value: u128,
        /// Its length in bits.
        prefix_len: u16,
    },
    /// For [`MatchKind::Ternary`]; bits outside the mask must be 0.
    Ternary {
        /// Value under the mask.
        value: u128,
        /// 1 where the bit matters.
        mask: u128,
    },
    /// For [`MatchKind::Range`], both bounds inclusive.
    Range {
        /// Lowest value that matches.
        low: u128,
        /// Highest value that matches.
        high: u128,
    },
    /// For [`MatchKind::Optional`], and for [`MatchKind::Ternary`] with all bits
    /// or none: `None` is don't care. Read back as written.
    Optional(Option<u128>),
}

/// An action with its arguments, in the order of [`ActionSchema::params`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionCall {
    /// Which action.
    pub action: ActionId,
    /// Its arguments.
    pub args: Vec<u128>,
}

/// What identifies an entry within its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryKey {
    /// One match for each key field, in the order of [`TableSchema::keys`].
    pub matches: Vec<Match>,
    /// Higher wins; 0 exactly when the table needs no priority.
    pub priority: i32,
}

/// An entry as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// Its match and priority.
    pub key: EntryKey,
    /// Its action.
    pub action: ActionCall,
    /// Its direct counter, when the table has one.
    pub counter: Option<CounterData>,
}
