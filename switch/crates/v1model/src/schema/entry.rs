// SPDX-License-Identifier: Apache-2.0
//! Table entries as the control plane writes and reads them.

use super::{ActionCall, CounterData, MeterConfig, WeightedCall};

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

/// What identifies an entry within its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryKey {
    /// One match for each key field, in the order of [`TableSchema::keys`].
    pub matches: Vec<Match>,
    /// Higher wins; 0 exactly when the table needs no priority.
    pub priority: i32,
}

/// What an entry, or a default entry, does with its packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryAction {
    /// This action; for a table without action profile.
    Call(ActionCall),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
    /// A group of the entry's own.
    OneShot(Vec<WeightedCall>),
}

impl From<ActionCall> for EntryAction {
    fn from(call: ActionCall) -> Self {
        EntryAction::Call(call)
    }
}

impl EntryAction {
    /// The action, when it is neither of a profile nor a one-shot.
    pub fn as_call(&self) -> Option<&ActionCall> {
        match self {
            EntryAction::Call(call) => Some(call),
            _ => None,
        }
    }
}

/// What an entry has beside match and action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryOptions {
    /// Nanoseconds without a hit after which the entry is reported by
    /// [`Pipeline::idle_expired`](crate::Pipeline::idle_expired); 0 is never.
    pub idle_timeout_ns: u64,
    /// Kept for the control plane as it is.
    pub metadata: Vec<u8>,
}

/// An entry as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// Its match and priority.
    pub key: EntryKey,
    /// Its action.
    pub action: EntryAction,
    /// Its direct counter, when the table has one.
    pub counter: Option<CounterData>,
    /// Its direct meter, when the table has one; `Some(None)` is one that is
    /// not configured.
    pub meter: Option<Option<MeterConfig>>,
    /// Idle timeout and metadata.
    pub options: EntryOptions,
    /// When it was last hit, inserted or modified, in nanoseconds since the
    /// device started; 0 in a table without idle timeouts, which does not
    /// keep it.
    pub last_hit_ns: u64,
}
