// SPDX-License-Identifier: Apache-2.0
//! Pieces of what is read, and how far reading has come.

use device::DigestConfig;
use v1model::{CloneSession, CounterData, Group, Match, Member, MeterConfig, Replica};

use super::cells::Cells;
use super::found::Entry;
use crate::bytes_of::list;
use crate::notes::GroupNote;

/// A piece of an answer. `place` is that in the schema's list, `first` the
/// index of the first cell.
#[derive(Debug)]
pub enum Part {
    /// Each with a number that grows in the order of insertion.
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
    /// The memory that it takes, bytes.
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

    /// How many entities it is.
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

/// Where the answer to a request has come to.
#[derive(Debug, Default)]
pub struct Progress {
    /// Tables, arrays or profiles that are done.
    pub objects: usize,
    /// The place, cell or id in the next one to go on from.
    pub next: usize,
    pub parts: Vec<Part>,
}

impl Progress {
    /// How many entities there are so far.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }

    /// The object in hand is done.
    pub fn object_done(&mut self) {
        self.objects += 1;
        self.next = 0;
    }

    /// Goes on behind an id.
    pub(super) fn behind(&mut self, id: Option<u32>) {
        match id.and_then(|id| id.checked_add(1)) {
            Some(next) => self.next = next as usize,
            None => self.object_done(),
        }
    }
}
