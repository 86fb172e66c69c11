// SPDX-License-Identifier: Apache-2.0
//! What is read, in pieces that take the device's thread some microseconds each.

use device::DigestConfig;
use v1model::{CloneSession, CounterData, Group, Match, Member, MeterConfig, Replica};

use super::{Cells, Entry, Query, Source, arrays};
use crate::bytes_of::list;
use crate::failure::Failure;
use crate::notes::GroupNote;

/// Members, groups or sessions of a piece; each is at most as much again.
const OBJECTS: usize = 64;

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
    fn behind(&mut self, id: Option<u32>) {
        match id.and_then(|id| id.checked_add(1)) {
            Some(next) => self.next = next as usize,
            None => self.object_done(),
        }
    }
}

/// Takes objects from an iterator until they are enough for one piece; the id
/// of the last, if there may be more. `cost` is 1 and what an object is beside.
fn take<T>(
    objects: impl Iterator<Item = T>,
    wanted: u32,
    id: impl Fn(&T) -> u32,
    cost: impl Fn(&T) -> usize,
) -> (Vec<T>, Option<u32>) {
    let mut taken = Vec::new();
    let mut spent = 0;
    for object in objects {
        let this = id(&object);
        if wanted != 0 {
            if this == wanted {
                taken.push(object);
            }
            return (taken, None);
        }
        spent += cost(&object);
        taken.push(object);
        if spent >= OBJECTS {
            return (taken, Some(this));
        }
    }
    (taken, None)
}

impl Query {
    /// Fetches the next piece; `None` when there is none.
    ///
    /// # Errors
    /// NOT_FOUND: no such entry. The rest was checked by [`super::resolve`].
    pub(super) fn fetch_part(
        &self,
        source: Source<'_>,
        progress: &mut Progress,
    ) -> Result<Option<()>, Failure> {
        let Source {
            schema,
            pipeline,
            notes,
            ..
        } = source;
        let object = progress.objects;
        let from = progress.next as u32;
        let first = |id: u32| if id == 0 { from } else { id };
        match self {
            Query::Tables { places, filter } => {
                return filter.fetch_part(source, places, progress);
            }
            Query::Counters { places, index } => {
                let Some(place) = places.clone().nth(object) else {
                    return Ok(None);
                };
                arrays::fetch_counters(source, place, *index, progress)?;
            }
            Query::Registers { places, index } => {
                let Some(place) = places.clone().nth(object) else {
                    return Ok(None);
                };
                arrays::fetch_registers(source, place, *index, progress)?;
            }
            Query::Meters { places, index } => {
                let Some(place) = places.clone().nth(object) else {
                    return Ok(None);
                };
                arrays::fetch_meters(source, place, *index, progress)?;
            }
            Query::Members { places, id } => {
                let Some(place) = places.clone().nth(object) else {
                    return Ok(None);
                };
                let profile = schema.profiles.list()[place].profile;
                let members = pipeline.members(profile, first(*id))?;
                let (members, last) = take(members, *id, |member| member.id, |_| 1);
                progress.parts.push(Part::Members(place, members));
                progress.behind(last);
            }
            Query::Groups { places, id } => {
                let Some(&place) = places.get(object) else {
                    return Ok(None);
                };
                let profile = schema.profiles.list()[place].profile;
                let groups = pipeline.groups(profile, first(*id))?;
                let cost = |group: &Group| 1 + group.members.len() / 16;
                let (groups, last) = take(groups, *id, |group| group.id, cost);
                let groups = groups.into_iter().map(|group| {
                    let note = notes.selector_group(profile, group.id);
                    (group, note)
                });
                progress.parts.push(Part::Groups(place, groups.collect()));
                progress.behind(last);
            }
            Query::ValueSets(places) => {
                let Some(place) = places.clone().nth(object) else {
                    return Ok(None);
                };
                let members = pipeline.value_set(schema.value_sets.list()[place].set)?;
                progress.parts.push(Part::ValueSet(place, members));
                progress.object_done();
            }
            Query::Digests {
                places,
                is_wildcard,
            } => {
                if object > 0 {
                    return Ok(None);
                }
                let list = schema.digests.list();
                let found = places.clone();
                let found =
                    found.filter_map(|place| Some((place, notes.digest(list[place].digest)?)));
                let found: Vec<_> = found.collect();
                if found.is_empty() && !is_wildcard {
                    return Err(Failure::not_found("the digest is not enabled"));
                }
                progress.parts.push(Part::Digests(found));
                progress.object_done();
            }
            Query::Multicast { group } => {
                if object > 0 {
                    return Ok(None);
                }
                let groups = pipeline.multicast().from(first(*group));
                let cost = |(_, replicas): &(_, &[Replica])| 1 + replicas.len() / 64;
                let (groups, last) = take(groups, *group, |(id, _)| *id, cost);
                let groups = groups
                    .into_iter()
                    .map(|(id, replicas)| (id, replicas.to_vec(), notes.multicast(id)));
                progress.parts.push(Part::Multicast(groups.collect()));
                progress.behind(last);
            }
            Query::CloneSessions { session } => {
                if object > 0 {
                    return Ok(None);
                }
                // Session 0 may be made by other means than P4Runtime.
                let sessions = pipeline.clone_sessions().from(first(*session).max(1));
                let cost = |(_, session): &(_, &CloneSession)| 1 + session.replicas.len() / 64;
                let (sessions, last) = take(sessions, *session, |(id, _)| *id, cost);
                let sessions = sessions
                    .into_iter()
                    .map(|(id, session)| (id, session.clone(), notes.clone_session(id)));
                progress.parts.push(Part::CloneSessions(sessions.collect()));
                progress.behind(last);
            }
            // Not in parts.
            Query::Cells(_) | Query::Nothing => return Ok(None),
        }
        Ok(Some(()))
    }
}
