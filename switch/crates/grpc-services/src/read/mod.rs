// SPDX-License-Identifier: Apache-2.0
//! Reads are resolved to dense ids on the RPC's task, fetched on the device's thread, and encoded
//! on the task again.

mod arrays;
pub mod cell_run;
mod cells;
mod fetch;
mod found;
mod part;
mod table;

use std::ops::Range;

use v1model::Pipeline;

use crate::action_call;
use crate::entry;
use crate::failure::Failure;
use crate::heap::list;
use crate::notes::Notes;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::schema::{Objects, Schema};
use crate::slice::{STRIDE, Slice};
use crate::wire::{Messages, written};
use crate::write::{digest, no_externs, profile, replication};

pub use arrays::render_cell;
pub use cell_run::CellRun;
pub use cells::Cells;
pub use found::Entry;
pub use part::{Part, Progress};
pub use table::{Filter, Sorted, key_fields, render_expired};

/// More work than any short request is, in units.
const LONG: usize = 1 << 20;

/// Takes the entities of an answer.
pub trait Entities {
    fn entity(&mut self, entity: Entity);

    /// Takes a cell of a register of bits.
    fn cell(&mut self, register_id: u32, index: i64, value: u128) {
        self.entity(Entity::RegisterEntry(p4::RegisterEntry {
            register_id,
            index: Some(p4::Index { index }),
            data: Some(arrays::bits(value)),
        }));
    }
}

impl<F: FnMut(Entity)> Entities for F {
    fn entity(&mut self, entity: Entity) {
        self(entity);
    }
}

impl Entities for Messages {
    fn entity(&mut self, entity: Entity) {
        Messages::entity(
            self,
            &p4::Entity {
                entity: Some(entity),
            },
        );
    }

    fn cell(&mut self, register_id: u32, index: i64, value: u128) {
        Messages::cell(self, &written::entity(register_id, index, value));
    }
}

/// One request of a Read, or several. Places are places in the schema's lists.
#[derive(Clone, Debug)]
pub enum Query {
    Tables {
        places: Vec<usize>,
        filter: Box<Filter>,
    },
    Counters {
        places: Range<usize>,
        index: Option<usize>,
    },
    Registers {
        places: Range<usize>,
        index: Option<usize>,
    },
    /// Single cells of registers, which stand for one request each.
    Cells(CellRun),
    Meters {
        places: Range<usize>,
        index: Option<usize>,
    },
    Members {
        places: Range<usize>,
        /// 0 for all members.
        id: u32,
    },
    Groups {
        places: Vec<usize>,
        /// 0 for all groups.
        id: u32,
    },
    ValueSets(Range<usize>),
    Digests {
        places: Range<usize>,
        /// Whether the client gave the id 0, so that digests that are not enabled are left out.
        is_wildcard: bool,
    },
    Multicast {
        /// 0 for all groups.
        group: u32,
    },
    CloneSessions {
        /// 0 for all sessions.
        session: u32,
    },
    /// A wildcard over a kind of objects that the pipeline cannot have.
    Nothing,
}

/// The device's answer to one query.
#[derive(Debug)]
pub enum Answer {
    /// The values of a run of cells, which is what a control loop reads.
    Cells(Vec<u128>),
    Parts(Vec<Part>),
}

/// Checks a request and resolves it.
///
/// # Errors
/// The request's `p4.v1.Error`.
pub fn resolve(schema: &Schema, entity: &p4::Entity) -> Result<Query, Failure> {
    let Some(entity) = &entity.entity else {
        return Err(Failure::invalid(
            "the entity is unset: name what to read, an empty one of its kind for all",
        ));
    };
    match entity {
        Entity::RegisterEntry(given) => arrays::registers(schema, given),
        Entity::CounterEntry(given) => arrays::counters(schema, given),
        Entity::MeterEntry(given) => arrays::meters(schema, given),
        Entity::TableEntry(given) => table::entries(schema, given),
        Entity::DirectCounterEntry(given) => table::direct_counters(schema, given),
        Entity::DirectMeterEntry(given) => table::direct_meters(schema, given),
        Entity::ActionProfileMember(given) => Ok(Query::Members {
            places: places(&schema.profiles, given.action_profile_id, "action profile")?,
            id: given.member_id,
        }),
        Entity::ActionProfileGroup(given) => {
            let id = given.action_profile_id;
            let list = schema.profiles.list();
            let found = places(&schema.profiles, id, "action profile")?;
            let places: Vec<_> = found.filter(|place| list[*place].selector).collect();
            if id != 0 && places.is_empty() {
                return Err(Failure::invalid(format!(
                    "the action profile with id {id} has no selector, and so no groups"
                )));
            }
            Ok(Query::Groups {
                places,
                id: given.group_id,
            })
        }
        Entity::ValueSetEntry(given) => Ok(Query::ValueSets(places(
            &schema.value_sets,
            given.value_set_id,
            "value set",
        )?)),
        Entity::DigestEntry(given) => Ok(Query::Digests {
            places: places(&schema.digests, given.digest_id, "digest")?,
            is_wildcard: given.digest_id == 0,
        }),
        Entity::PacketReplicationEngineEntry(given) => replication(given),
        // A wildcard over externs that do not exist finds none of them.
        Entity::ExternEntry(given) if *given == p4::ExternEntry::default() => Ok(Query::Nothing),
        Entity::ExternEntry(_) => Err(no_externs()),
    }
}

/// The place of the object with an id, or all places for 0.
fn places<T>(objects: &Objects<T>, id: u32, kind: &str) -> Result<Range<usize>, Failure> {
    if id == 0 {
        return Ok(0..objects.list().len());
    }
    let position = objects.position(id);
    position
        .map(|position| position..position + 1)
        .ok_or_else(|| Failure::not_found(format!("there is no {kind} with id {id}")))
}

fn replication(given: &p4::PacketReplicationEngineEntry) -> Result<Query, Failure> {
    use p4::packet_replication_engine_entry::Type;
    match &given.r#type {
        Some(Type::MulticastGroupEntry(group)) => Ok(Query::Multicast {
            group: group.multicast_group_id,
        }),
        Some(Type::CloneSessionEntry(session)) => Ok(Query::CloneSessions {
            session: session.session_id,
        }),
        None => Err(Failure::invalid(
            "packet_replication_engine_entry.type is unset",
        )),
    }
}

/// The state that queries are answered from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pub schema: &'a Schema,
    pub pipeline: &'a Pipeline,
    pub notes: &'a Notes,
}

impl Query {
    /// How many of a client's requests the query stands for.
    pub fn requests(&self) -> usize {
        match self {
            Query::Cells(run) => run.len(),
            _ => 1,
        }
    }

    /// The memory that the query takes, bytes.
    pub fn bytes(&self) -> usize {
        let beside = match self {
            Query::Tables { places, filter } => list(places) + filter.bytes(),
            Query::Groups { places, .. } => list(places),
            Query::Cells(run) => run.bytes(),
            _ => 0,
        };
        size_of::<Query>() + beside
    }

    /// About how much work it is to fetch the whole answer, in units. A query whose answer may have
    /// any length counts as [`LONG`].
    pub fn work(&self, schema: &Schema) -> usize {
        let cells = |sizes: &mut dyn Iterator<Item = usize>, index: &Option<usize>| match index {
            Some(_) => 1,
            None => sizes.map(|size| STRIDE * (1 + size / arrays::CELLS)).sum(),
        };
        match self {
            Query::Cells(run) => run.units(),
            Query::Registers { places, index } => {
                let list = &schema.registers.list()[places.clone()];
                cells(&mut list.iter().map(|one| one.size), index)
            }
            Query::Counters { places, index } => {
                let list = &schema.counters.list()[places.clone()];
                cells(&mut list.iter().map(|one| one.size), index)
            }
            Query::Meters { places, index } => {
                let list = &schema.meters.list()[places.clone()];
                cells(&mut list.iter().map(|one| 4 * one.size), index)
            }
            Query::Tables { filter, .. } if filter.is_default() => 1,
            Query::Members { id, .. } | Query::Groups { id, .. } if *id != 0 => STRIDE,
            Query::Multicast { group: id } | Query::CloneSessions { session: id } if *id != 0 => {
                STRIDE
            }
            Query::Digests { .. } | Query::Nothing => 1,
            _ => LONG,
        }
    }

    /// How much work it is to fetch the answer besides its parts, in units.
    pub fn units(&self) -> usize {
        match self {
            Query::Cells(run) => run.units(),
            _ => 1,
        }
    }

    /// Fetches what the query selects, as far as there is time for it; `None` if it is to be called
    /// again for the rest.
    ///
    /// # Errors
    /// NOT_FOUND: no such entry. The rest was checked by [`resolve`].
    pub fn fetch(
        &self,
        source: Source<'_>,
        progress: &mut Progress,
        slice: &mut Slice,
    ) -> Result<Option<Answer>, Failure> {
        if let Query::Cells(run) = self {
            let values = run.fetch(source.schema, source.pipeline)?;
            return Ok(Some(Answer::Cells(values)));
        }
        while self.fetch_part(source, progress)?.is_some() {
            // Fetching a piece is this much work.
            if !slice.spend(STRIDE) {
                return Ok(None);
            }
        }
        Ok(Some(Answer::Parts(std::mem::take(&mut progress.parts))))
    }

    /// Renders an answer as entities, one after the other.
    pub fn render(
        self,
        schema: &Schema,
        now_ns: u64,
        answer: Answer,
        entities: &mut impl Entities,
    ) {
        match self.in_pieces(answer) {
            Pieces::Cells(run, values) => run.render(schema, &values, entities),
            Pieces::Entries(mut sorted) => while sorted.render(schema, now_ns, entities) {},
            Pieces::Parts(parts) => {
                for part in parts {
                    render_part(schema, part, entities);
                }
            }
        }
    }

    /// Divides an answer into the pieces that are encoded in one go each.
    pub fn in_pieces(self, answer: Answer) -> Pieces {
        match (self, answer) {
            (Query::Cells(run), Answer::Cells(values)) => Pieces::Cells(run, values),
            (Query::Tables { filter, .. }, Answer::Parts(parts)) => {
                Pieces::Entries(Sorted::new(filter, parts))
            }
            (_, Answer::Parts(parts)) => Pieces::Parts(parts),
            // This cannot happen, because an answer is always that of its query.
            (_, Answer::Cells(_)) => Pieces::Parts(Vec::new()),
        }
    }
}

/// The pieces of an answer; see [`Query::in_pieces`].
#[derive(Debug)]
pub enum Pieces {
    Cells(CellRun, Vec<u128>),
    Entries(Sorted),
    Parts(Vec<Part>),
}

/// Renders a piece of anything but tables as entities.
pub fn render_part(schema: &Schema, part: Part, entities: &mut impl Entities) {
    let mut out = |entity| entities.entity(entity);
    match part {
        // A filter renders entries of tables; see `Sorted`.
        Part::Entries(_) => {}
        Part::Counters {
            place,
            first,
            cells,
        } => arrays::render_counters(&schema.counters.list()[place], first, &cells, &mut out),
        Part::Registers {
            place,
            first,
            cells,
        } => arrays::render_registers(&schema.registers.list()[place], first, &cells, entities),
        Part::Meters {
            place,
            first,
            cells,
        } => arrays::render_meters(&schema.meters.list()[place], first, &cells, &mut out),
        Part::Members(place, members) => {
            let profile = &schema.profiles.list()[place];
            for member in members {
                out(Entity::ActionProfileMember(p4::ActionProfileMember {
                    action_profile_id: profile.id,
                    member_id: member.id,
                    action: action_call::render_call(&profile.actions, &member.call),
                }));
            }
        }
        Part::Groups(place, groups) => {
            let profile = &schema.profiles.list()[place];
            for (group, note) in groups {
                let group = profile::render_group(profile, &group, &note);
                out(Entity::ActionProfileGroup(group));
            }
        }
        Part::ValueSet(place, members) => {
            let set = &schema.value_sets.list()[place];
            let members = members.iter().map(|matches| p4::ValueSetMember {
                r#match: entry::render_matches(&set.fields, matches),
            });
            out(Entity::ValueSetEntry(p4::ValueSetEntry {
                value_set_id: set.id,
                members: members.collect(),
            }));
        }
        Part::Digests(found) => {
            for (place, config) in found {
                let digest = &schema.digests.list()[place];
                out(Entity::DigestEntry(digest::render(digest.id, &config)));
            }
        }
        Part::Multicast(groups) => {
            for (group, replicas, note) in groups {
                let group = replication::render_multicast(group, &replicas, note);
                out(Entity::PacketReplicationEngineEntry(group));
            }
        }
        Part::CloneSessions(sessions) => {
            for (id, session, note) in sessions {
                let session = replication::render_clone_session(id, &session, &note);
                out(Entity::PacketReplicationEngineEntry(session));
            }
        }
    }
}
