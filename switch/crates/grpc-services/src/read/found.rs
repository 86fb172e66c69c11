// SPDX-License-Identifier: Apache-2.0
//! Entries of tables that a query found.

use v1model::{CounterData, EntryAction, EntryKey, MeterConfig};

use crate::bytes_of;
use crate::heap;
use crate::notes::EntryNote;

/// An entry that was found.
#[derive(Debug)]
pub struct Entry {
    pub(super) place: usize,
    /// `None` for the default entry.
    pub(super) key: Option<EntryKey>,
    pub(super) action: EntryAction,
    pub(super) counter: Option<CounterData>,
    pub(super) meter: Option<MeterConfig>,
    pub(super) note: EntryNote,
    pub(super) idle_timeout_ns: u64,
    pub(super) last_hit_ns: u64,
}

impl Entry {
    /// The heap memory of the entry, bytes.
    pub fn bytes(&self) -> usize {
        let key = self.key.as_ref().map_or(0, bytes_of::key);
        key + bytes_of::action(&self.action) + heap::list(&self.note.metadata)
    }
}
