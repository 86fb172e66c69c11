// SPDX-License-Identifier: Apache-2.0
//! The pieces of an answer, and how far a query has been answered.

use device::DigestConfig;
use v1model::{CloneSession, CounterData, Group, Match, Member, MeterConfig, Replica};

use super::cells::Cells;
use super::found::Entry;
use crate::heap::list;
use crate::notes::GroupNote;

/// A piece of an answer. `place` is the object's place in the schema's list, and `first` is the
/// index of the first cell.
#[derive(Debug)]
pub enum Part {
    /// Entries of tables, each with a number that grows in the order of insertion.
    Entries(Vec<(u64, Entry)>),
    Counters {
        place: usize,
        first: usize,
        cells: Vec<CounterData>,
    },
    Meters {
        place: usize,
        first: usize,
        cells: Vec<Option<MeterConfig>>,
    },
    Registers {
        place: usize,
        first: usize,
        cells: Cells,
    },
    Members(usize, Vec<Member>),
    Groups(usize, Vec<(Group, GroupNote)>),
    ValueSet(usize, Vec<Vec<Match>>),
    Digests(Vec<(usize, DigestConfig)>),
    Multicast(Vec<(u32, Vec<Replica>, GroupNote)>),
    CloneSessions(Vec<(u32, CloneSession, GroupNote)>),
}

impl Part {
    /// The memory that the piece takes, bytes.
    pub fn bytes(&self) -> usize {
        let beside = match self {
            Part::Entries(found) => {
                list(found) + found.iter().map(|(_, entry)| entry.bytes()).sum::<usize>()
            }
            Part::Counters { cells, .. } => list(cells),
            Part::Meters { cells, .. } => list(cells),
            Part::Registers { cells, .. } => cells.bytes(),
            Part::Members(_, found) => {
                let calls = found.iter().map(|member| list(&member.call.args));
                list(found) + calls.sum::<usize>()
            }
            Part::Groups(_, found) => {
                let groups = found.iter();
                let groups =
                    groups.map(|(group, note)| list(&group.members) + list(&note.metadata));
                list(found) + groups.sum::<usize>()
            }
            Part::ValueSet(_, rows) => list(rows) + rows.iter().map(|row| list(row)).sum::<usize>(),
            Part::Digests(found) => list(found),
            Part::Multicast(found) => {
                let groups = found.iter();
                let groups =
                    groups.map(|(_, replicas, note)| list(replicas) + list(&note.metadata));
                list(found) + groups.sum::<usize>()
            }
            Part::CloneSessions(found) => {
                let all = found.iter();
                let all = all.map(|(_, own, note)| list(&own.replicas) + list(&note.metadata));
                list(found) + all.sum::<usize>()
            }
        };
        size_of::<Part>() + beside
    }

    /// How many entities the piece has.
    pub fn len(&self) -> usize {
        match self {
            Part::Entries(list) => list.len(),
            Part::Counters { cells, .. } => cells.len(),
            Part::Meters { cells, .. } => cells.len(),
            Part::Registers { cells, .. } => cells.len(),
            Part::Members(_, list) => list.len(),
            Part::Groups(_, list) => list.len(),
            Part::ValueSet(..) => 1,
            Part::Digests(list) => list.len(),
            Part::Multicast(list) => list.len(),
            Part::CloneSessions(list) => list.len(),
        }
    }
}

/// How far a query has been answered.
#[derive(Debug, Default)]
pub struct Progress {
    /// How many tables, arrays or profiles are done.
    pub objects: usize,
    /// The place, cell or id in the next object from which to go on.
    pub next: usize,
    pub parts: Vec<Part>,
}

impl Progress {
    /// How many entities have been found so far.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }

    /// Goes on with the next object.
    pub fn object_done(&mut self) {
        self.objects += 1;
        self.next = 0;
    }

    /// Goes on behind an id in the present object, or with the next object without an id.
    pub(super) fn behind(&mut self, id: Option<u32>) {
        match id.and_then(|id| id.checked_add(1)) {
            Some(next) => self.next = next as usize,
            None => self.object_done(),
        }
    }
}
