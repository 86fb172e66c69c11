// SPDX-License-Identifier: Apache-2.0
//! Fetches answers in pieces that take some microseconds each on the device's thread.

use v1model::{CloneSession, Group, Replica};

use super::{Part, Progress, Query, Source, arrays};
use crate::failure::Failure;

/// The most members, groups or sessions of a piece.
const OBJECTS: usize = 64;

/// Takes objects from an iterator until they are enough for one piece. Returns them and the id of
/// the last one, if there may be more. `cost` returns how many objects one counts as.
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
    /// Fetches the next piece; `None` if there are no more.
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
                // Something other than P4Runtime may have made session 0, so it is left out.
                let sessions = pipeline.clone_sessions().from(first(*session).max(1));
                let cost = |(_, session): &(_, &CloneSession)| 1 + session.replicas.len() / 64;
                let (sessions, last) = take(sessions, *session, |(id, _)| *id, cost);
                let sessions = sessions
                    .into_iter()
                    .map(|(id, session)| (id, session.clone(), notes.clone_session(id)));
                progress.parts.push(Part::CloneSessions(sessions.collect()));
                progress.behind(last);
            }
            // Runs of cells have no parts.
            Query::Cells(_) | Query::Nothing => return Ok(None),
        }
        Ok(Some(()))
    }
}
