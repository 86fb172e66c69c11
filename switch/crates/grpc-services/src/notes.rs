// SPDX-License-Identifier: Apache-2.0
//! Keeps what a client wants to get back with an entity although the data plane has no use for it:
//! opaque metadata, and the form in which it wrote ports.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use device::DigestConfig;
use tonic::Code;
use v1model::{ActionProfileId, DigestId, TableId};

use crate::change::Change;
use crate::failure::Failure;
use crate::heap;

/// Opaque metadata of a table entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryNote {
    /// Any bytes; empty is unset.
    pub metadata: Vec<u8>,
    /// The older form; 0 is unset.
    pub controller_metadata: u64,
    /// Whether the client gave the ports of a one-shot in the deprecated field `watch`.
    pub numeric_ports: bool,
}

const HAS_CONTROLLER_METADATA: u8 = 1;
const HAS_NUMERIC_PORTS: u8 = 2;

impl EntryNote {
    /// Packs the note into bytes that the entry keeps; most entries need none.
    pub fn pack(&self) -> Vec<u8> {
        if *self == EntryNote::default() {
            return Vec::new();
        }
        let mut flags = 0;
        if self.controller_metadata != 0 {
            flags |= HAS_CONTROLLER_METADATA;
        }
        if self.numeric_ports {
            flags |= HAS_NUMERIC_PORTS;
        }
        let mut bytes = Vec::with_capacity(9 + self.metadata.len());
        bytes.push(flags);
        if self.controller_metadata != 0 {
            bytes.extend_from_slice(&self.controller_metadata.to_be_bytes());
        }
        bytes.extend_from_slice(&self.metadata);
        bytes
    }

    pub fn unpack(bytes: &[u8]) -> Self {
        let Some((flags, mut rest)) = bytes.split_first() else {
            return EntryNote::default();
        };
        let mut controller_metadata = 0;
        if flags & HAS_CONTROLLER_METADATA != 0
            && let Some((number, metadata)) = rest.split_first_chunk()
        {
            controller_metadata = u64::from_be_bytes(*number);
            rest = metadata;
        }
        EntryNote {
            metadata: rest.to_vec(),
            controller_metadata,
            numeric_ports: flags & HAS_NUMERIC_PORTS != 0,
        }
    }
}

/// The notes of a group of replicas or members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupNote {
    /// Any bytes; empty is unset.
    pub metadata: Vec<u8>,
    /// Whether the client gave ports as numbers, in the deprecated field.
    pub numeric_ports: bool,
}

/// The notes of one pipeline.
#[derive(Debug, Default)]
pub struct Notes {
    defaults: Noted<TableId, EntryNote>,
    multicast: Noted<u32, GroupNote>,
    clone_sessions: Noted<u32, GroupNote>,
    selector_groups: Noted<(ActionProfileId, u32), GroupNote>,
    digests: BTreeMap<DigestId, DigestConfig>,
    /// Digests that the device has not been told of.
    changed_digests: Vec<DigestId>,
}

/// A note, whose memory is counted.
trait Note: Default + PartialEq + Clone {
    /// The metadata, the only part without a fixed size.
    fn metadata(&self) -> &[u8];
}

impl Note for EntryNote {
    fn metadata(&self) -> &[u8] {
        &self.metadata
    }
}

impl Note for GroupNote {
    fn metadata(&self) -> &[u8] {
        &self.metadata
    }
}

/// The notes of one kind of entity, without those that say nothing.
#[derive(Debug)]
struct Noted<K, N> {
    notes: HashMap<K, N>,
    /// The heap memory of the notes in the map, bytes.
    bytes: usize,
}

impl<K, N> Default for Noted<K, N> {
    fn default() -> Self {
        Self {
            notes: HashMap::new(),
            bytes: 0,
        }
    }
}

impl<K: Hash + Eq, N: Note> Noted<K, N> {
    fn set(&mut self, key: K, note: &N) {
        let old = if *note == N::default() {
            self.notes.remove(&key)
        } else {
            self.bytes += heap::list(note.metadata());
            self.notes.insert(key, note.clone())
        };
        let old = old.as_ref().map(N::metadata);
        self.bytes -= old.map_or(0, heap::list);
    }

    fn get(&self, key: &K) -> N {
        self.notes.get(key).cloned().unwrap_or_default()
    }

    fn kept_bytes(&self) -> usize {
        // A map may be half empty.
        self.notes.len() * 2 * size_of::<(K, N)>() + self.bytes
    }
}

impl Notes {
    /// The memory that the notes take, bytes.
    pub fn kept_bytes(&self) -> usize {
        self.defaults.kept_bytes()
            + self.multicast.kept_bytes()
            + self.clone_sessions.kept_bytes()
            + self.selector_groups.kept_bytes()
    }

    pub fn set_default(&mut self, table: TableId, note: &EntryNote) {
        self.defaults.set(table, note);
    }

    pub fn default_entry(&self, table: TableId) -> EntryNote {
        self.defaults.get(&table)
    }

    pub fn set_multicast(&mut self, group: u32, note: &GroupNote) {
        self.multicast.set(group, note);
    }

    pub fn multicast(&self, group: u32) -> GroupNote {
        self.multicast.get(&group)
    }

    pub fn set_clone_session(&mut self, session: u32, note: &GroupNote) {
        self.clone_sessions.set(session, note);
    }

    pub fn clone_session(&self, session: u32) -> GroupNote {
        self.clone_sessions.get(&session)
    }

    pub fn set_selector_group(&mut self, profile: ActionProfileId, group: u32, note: &GroupNote) {
        self.selector_groups.set((profile, group), note);
    }

    pub fn selector_group(&self, profile: ActionProfileId, group: u32) -> GroupNote {
        self.selector_groups.get(&(profile, group))
    }

    /// Enables, changes or disables a digest.
    ///
    /// # Errors
    /// ALREADY_EXISTS, NOT_FOUND.
    pub fn change_digest(
        &mut self,
        change: Change,
        digest: DigestId,
        config: DigestConfig,
    ) -> Result<(), Failure> {
        let is_on = self.digests.contains_key(&digest);
        match change {
            Change::Insert if is_on => {
                return Err(Failure::new(
                    Code::AlreadyExists,
                    "the digest is enabled already: MODIFY its config",
                ));
            }
            Change::Modify | Change::Delete if !is_on => {
                return Err(Failure::not_found(
                    "the digest is not enabled: INSERT it first",
                ));
            }
            Change::Insert | Change::Modify => {
                self.digests.insert(digest, config);
            }
            Change::Delete => {
                self.digests.remove(&digest);
            }
        }
        self.changed_digests.push(digest);
        Ok(())
    }

    pub fn digest(&self, digest: DigestId) -> Option<DigestConfig> {
        self.digests.get(&digest).copied()
    }

    /// The digests that have changed, to tell the device; `None` are off.
    pub fn take_digest_changes(&mut self) -> Vec<(DigestId, Option<DigestConfig>)> {
        let changed = std::mem::take(&mut self.changed_digests);
        let changes = changed.into_iter().map(|id| (id, self.digest(id)));
        changes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_go_leave_no_bytes_behind() {
        let mut notes = Notes::default();
        let note = |len| GroupNote {
            metadata: vec![7; len],
            numeric_ports: false,
        };
        notes.set_multicast(1, &note(1000));
        let one = notes.kept_bytes();
        assert!(one > 1000, "{one}");
        notes.set_multicast(2, &note(1000));
        assert_eq!(notes.kept_bytes(), 2 * one);
        notes.set_multicast(2, &note(3000));
        assert_eq!(notes.kept_bytes(), 2 * one + 2000);
        notes.set_multicast(1, &GroupNote::default());
        notes.set_multicast(2, &GroupNote::default());
        assert_eq!(notes.kept_bytes(), 0);
    }

    #[test]
    fn notes_of_entries_come_back() {
        for metadata in [&b""[..], b"x", b"\x01\x02\x03\x04\x05\x06\x07\x08\x09"] {
            for controller_metadata in [0, 1, u64::MAX] {
                for numeric_ports in [false, true] {
                    let note = EntryNote {
                        metadata: metadata.to_vec(),
                        controller_metadata,
                        numeric_ports,
                    };
                    assert_eq!(EntryNote::unpack(&note.pack()), note);
                }
            }
        }
        assert!(EntryNote::default().pack().is_empty());
        assert_eq!(EntryNote::unpack(&[1, 2]).metadata, [2]);
    }
}
