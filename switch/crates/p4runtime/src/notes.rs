// SPDX-License-Identifier: Apache-2.0
//! What a client wants to get back with an entity although the data plane has
//! no use for it: opaque metadata, and the spelling of ports.

use std::collections::HashMap;

use v1model::{EntryKey, Match, TableId};

/// Opaque metadata of a table entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryNote {
    /// Any bytes; empty is unset.
    pub metadata: Vec<u8>,
    /// The older form; 0 is unset.
    pub controller_metadata: u64,
}

/// What belongs to a multicast group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupNote {
    /// Any bytes; empty is unset.
    pub metadata: Vec<u8>,
    /// Ports were given in the deprecated field `egress_port`.
    pub numeric_ports: bool,
}

/// The notes of one pipeline. Empty as long as clients write no metadata, and
/// then it costs nothing.
#[derive(Debug, Default)]
pub struct Notes {
    entries: HashMap<(TableId, Option<Vec<u8>>), EntryNote>,
    groups: HashMap<u32, GroupNote>,
}

impl Notes {
    /// Sets the note of an entry; `None` is the table's default entry.
    pub fn set_entry(&mut self, table: TableId, key: Option<&EntryKey>, note: EntryNote) {
        let empty = note == EntryNote::default();
        if empty && self.entries.is_empty() {
            return;
        }
        let place = (table, key.map(fingerprint));
        if empty {
            self.entries.remove(&place);
        } else {
            self.entries.insert(place, note);
        }
    }

    pub fn entry(&self, table: TableId, key: Option<&EntryKey>) -> EntryNote {
        if self.entries.is_empty() {
            return EntryNote::default();
        }
        let note = self.entries.get(&(table, key.map(fingerprint)));
        note.cloned().unwrap_or_default()
    }

    pub fn set_group(&mut self, group: u32, note: GroupNote) {
        if note == GroupNote::default() {
            self.groups.remove(&group);
        } else {
            self.groups.insert(group, note);
        }
    }

    pub fn group(&self, group: u32) -> GroupNote {
        self.groups.get(&group).cloned().unwrap_or_default()
    }
}

/// Bytes that differ between any two keys of one table.
fn fingerprint(key: &EntryKey) -> Vec<u8> {
    let mut bytes = key.priority.to_be_bytes().to_vec();
    for found in &key.matches {
        let (a, b) = match *found {
            Match::Exact(value) => (value, 0),
            Match::Lpm { value, prefix_len } => (value, u128::from(prefix_len)),
            Match::Ternary { value, mask } => (value, mask),
            Match::Range { low, high } => (low, high),
            Match::Optional(value) => (value.unwrap_or(0), u128::from(value.is_some())),
        };
        bytes.extend_from_slice(&a.to_be_bytes());
        bytes.extend_from_slice(&b.to_be_bytes());
    }
    bytes
}
