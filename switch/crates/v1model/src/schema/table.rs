// SPDX-License-Identifier: Apache-2.0
//! Tables and their keys.

use super::{ActionId, ActionProfileId, MeterUnit};

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
    /// Most entries that the table takes. Of a table with entries in P4 the
    /// JSON only tells how many those are.
    pub size: usize,
    /// Entries are given in P4. Whether they are const is in P4Info and not in
    /// the JSON: they are taken for const until somebody who knows says
    /// otherwise ([`Pipeline::unlock_entries`](crate::Pipeline::unlock_entries)).
    pub initial_entries: bool,
    /// The default entry cannot be changed.
    pub const_default: bool,
    /// Entries and the default entry count packets and bytes.
    pub direct_counter: bool,
    /// Entries and the default entry have a meter, which counts in this unit.
    pub direct_meter: Option<MeterUnit>,
    /// Entries name members or groups of this action profile, or bring a
    /// one-shot, instead of an action.
    pub profile: Option<ActionProfileId>,
    /// Entries may have an idle timeout.
    pub idle_timeout: bool,
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
