// SPDX-License-Identifier: Apache-2.0
//! Reads: resolved to dense ids on the RPC's task, fetched on the device's
//! thread all at one moment, and put into messages on the task again.

use std::ops::Range;

use v1model::{
    ActionCall, CounterData, CounterId, EntryAction, EntryKey, Match, Pipeline, RegisterId,
    TableEntry,
};

use crate::bytestring;
use crate::entry;
use crate::failure::Failure;
use crate::notes::{EntryNote, GroupNote, Notes};
use crate::p4info::CellType;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::schema::{Register, Schema, Table};
use crate::write::{check_default_key, find_table, index, no_direct_counter, unimplemented};

/// One request. Places are those in the schema's lists.
#[derive(Clone, Debug)]
pub enum Query {
    Tables {
        places: Vec<usize>,
        filter: Box<Filter>,
        /// As `DirectCounterEntry`s instead of `TableEntry`s.
        as_counters: bool,
    },
    Counters {
        places: Range<usize>,
        index: Option<usize>,
    },
    Registers {
        places: Range<usize>,
        index: Option<usize>,
    },
    Groups {
        /// `None`: all.
        group: Option<u32>,
    },
}

/// Which entries of a table.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    is_default: bool,
    matches: Option<Vec<Match>>,
    /// 0: any.
    priority: i32,
    action: Option<v1model::ActionId>,
    note: EntryNote,
    counter: bool,
    /// NOT_FOUND when nothing is found.
    must_exist: bool,
}

/// What the device answered to one query.
#[derive(Debug)]
pub enum Answer {
    Entries(Vec<Entry>),
    /// Cells of one array after the other.
    Counters(Vec<CounterData>),
    /// Cells of one array after the other.
    Cells(Vec<u128>),
    /// The one cell of a register that was asked for: the control loop's case,
    /// without an allocation on the device's thread.
    Cell(u128),
    Groups(Vec<(u32, Vec<v1model::Replica>, GroupNote)>),
}

#[derive(Debug)]
pub struct Entry {
    place: usize,
    /// `None`: the default entry.
    key: Option<EntryKey>,
    action: ActionCall,
    counter: Option<CounterData>,
    note: EntryNote,
}

/// Checks a request and resolves it.
///
/// # Errors
/// The request's `p4.v1.Error`.
pub fn resolve(schema: &Schema, entity: &p4::Entity) -> Result<Query, Failure> {
    match &entity.entity {
        None => Err(Failure::invalid(
            "the entity is unset: name what to read, an empty one of its kind for all",
        )),
        Some(Entity::TableEntry(given)) => tables(schema, given, false),
        Some(Entity::DirectCounterEntry(given)) => {
            let all = p4::TableEntry::default();
            tables(schema, given.table_entry.as_ref().unwrap_or(&all), true)
        }
        Some(Entity::CounterEntry(given)) => {
            let list = schema.counters.list();
            let id = given.counter_id;
            let places = places(id, schema.counters.position(id), list.len(), "counter")?;
            let mut index_found = None;
            for place in places.clone() {
                let counter = &list[place];
                index_found = index(given.index.as_ref(), "counter", &counter.name, counter.size)?;
            }
            Ok(Query::Counters {
                places,
                index: index_found,
            })
        }
        Some(Entity::RegisterEntry(given)) => {
            let list = schema.registers.list();
            let id = given.register_id;
            let places = places(id, schema.registers.position(id), list.len(), "register")?;
            let mut index_found = None;
            for place in places.clone() {
                let register = &list[place];
                index_found = index(
                    given.index.as_ref(),
                    "register",
                    &register.name,
                    register.size,
                )?;
            }
            Ok(Query::Registers {
                places,
                index: index_found,
            })
        }
        Some(Entity::PacketReplicationEngineEntry(given)) => groups(given),
        Some(other) => Err(unimplemented(other)),
    }
}

fn places(
    id: u32,
    position: Option<usize>,
    count: usize,
    kind: &str,
) -> Result<Range<usize>, Failure> {
    if id == 0 {
        return Ok(0..count);
    }
    position
        .map(|position| position..position + 1)
        .ok_or_else(|| Failure::not_found(format!("there is no {kind} with id {id}")))
}

fn tables(schema: &Schema, given: &p4::TableEntry, as_counters: bool) -> Result<Query, Failure> {
    let list = schema.tables.list();
    let counter = as_counters || given.counter_data.is_some();
    if given.table_id == 0 {
        if !given.r#match.is_empty() || given.action.is_some() || given.priority != 0 {
            return Err(Failure::invalid(
                "table_id is unset, which selects all tables: match, action and priority must be \
                 unset, too",
            ));
        }
        let places = (0..list.len()).filter(|&place| !as_counters || list[place].direct_counter);
        return Ok(Query::Tables {
            places: places.collect(),
            filter: Box::new(Filter {
                is_default: given.is_default_action,
                counter,
                ..Filter::default()
            }),
            as_counters,
        });
    }
    let table = find_table(schema, given.table_id)?;
    if as_counters && !table.direct_counter {
        return Err(no_direct_counter(table));
    }
    if given.is_default_action {
        check_default_key(table, given)?;
    }
    let matches = if given.r#match.is_empty() {
        None
    } else {
        Some(entry::matches(table, &given.r#match)?)
    };
    #[allow(deprecated)]
    let note = EntryNote {
        metadata: given.metadata.clone(),
        controller_metadata: given.controller_metadata,
    };
    let filter = Filter {
        is_default: given.is_default_action,
        must_exist: as_counters && matches.is_some(),
        matches,
        priority: given.priority,
        action: action_filter(table, given.action.as_ref())?,
        note,
        counter,
    };
    Ok(Query::Tables {
        places: schema.tables.position(given.table_id).into_iter().collect(),
        filter: Box::new(filter),
        as_counters,
    })
}

fn action_filter(
    table: &Table,
    given: Option<&p4::TableAction>,
) -> Result<Option<v1model::ActionId>, Failure> {
    use p4::table_action::Type;
    match given.and_then(|action| action.r#type.as_ref()) {
        None => Ok(None),
        Some(Type::Action(action)) => Ok(Some(entry::find_action(table, action.action_id)?.action)),
        Some(_) => Err(Failure::invalid(format!(
            "table {} has no action profile: its entries can be filtered by action.action only",
            table.name
        ))),
    }
}

fn groups(given: &p4::PacketReplicationEngineEntry) -> Result<Query, Failure> {
    use p4::packet_replication_engine_entry::Type;
    match &given.r#type {
        Some(Type::MulticastGroupEntry(group)) => Ok(Query::Groups {
            group: (group.multicast_group_id != 0).then_some(group.multicast_group_id),
        }),
        Some(Type::CloneSessionEntry(_)) => Err(Failure::unimplemented(
            "clone sessions are not supported by this target yet",
        )),
        None => Err(Failure::invalid(
            "packet_replication_engine_entry.type is unset",
        )),
    }
}

impl Query {
    /// Fetches what the query selects.
    ///
    /// # Errors
    /// NOT_FOUND: no such entry. The rest was checked by [`resolve`].
    pub fn fetch(
        &self,
        schema: &Schema,
        pipeline: &Pipeline,
        notes: &Notes,
    ) -> Result<Answer, Failure> {
        match self {
            Query::Tables { places, filter, .. } => {
                let mut entries = Vec::new();
                for &place in places {
                    let table = &schema.tables.list()[place];
                    filter.collect(place, table, pipeline, notes, &mut entries)?;
                }
                if filter.must_exist && entries.is_empty() {
                    return Err(Failure::not_found(
                        "direct_counter_entry: the table has no entry with this match and priority",
                    ));
                }
                Ok(Answer::Entries(entries))
            }
            Query::Counters { places, index } => {
                let mut cells = Vec::new();
                for place in places.clone() {
                    let counter = &schema.counters.list()[place];
                    fetch_counter(pipeline, counter.counter, counter.size, *index, &mut cells)?;
                }
                Ok(Answer::Counters(cells))
            }
            Query::Registers { places, index } => {
                let list = schema.registers.list();
                if let ([register], Some(index)) = (&list[places.clone()], *index) {
                    return Ok(Answer::Cell(pipeline.register(register.register, index)?));
                }
                let mut cells = Vec::new();
                for place in places.clone() {
                    let register = &list[place];
                    fetch_register(
                        pipeline,
                        register.register,
                        register.size,
                        *index,
                        &mut cells,
                    )?;
                }
                Ok(Answer::Cells(cells))
            }
            Query::Groups { group } => {
                let groups = pipeline.multicast().iter();
                let wanted = groups.filter(|(id, _)| group.is_none_or(|group| group == *id));
                let found = wanted.map(|(id, replicas)| (id, replicas.to_vec(), notes.group(id)));
                Ok(Answer::Groups(found.collect()))
            }
        }
    }

    /// Puts an answer into entities.
    pub fn render(&self, schema: &Schema, answer: Answer, out: &mut Vec<p4::Entity>) {
        match (self, answer) {
            (
                Query::Tables {
                    filter,
                    as_counters,
                    ..
                },
                Answer::Entries(entries),
            ) => {
                for found in entries {
                    let table = &schema.tables.list()[found.place];
                    out.push(wrap(render_entry(table, filter, *as_counters, found)));
                }
            }
            (Query::Counters { places, index }, Answer::Counters(cells)) => {
                let sizes = |place: usize| schema.counters.list()[place].size;
                let mut cells = cells.into_iter();
                for_each_cell(places.clone(), *index, sizes, |place, index| {
                    let data = cells.next().map(render_counter);
                    out.push(wrap(Entity::CounterEntry(p4::CounterEntry {
                        counter_id: schema.counters.list()[place].id,
                        index: Some(p4::Index { index }),
                        data,
                    })));
                });
            }
            (Query::Registers { places, index }, Answer::Cells(cells)) => {
                let list = schema.registers.list();
                let mut cells = cells.into_iter();
                out.reserve(cells.len());
                for_each_cell(
                    places.clone(),
                    *index,
                    |place| list[place].size,
                    |place, index| {
                        let register = &list[place];
                        out.push(render_register(register, index, cells.next()));
                    },
                );
            }
            (Query::Registers { places, index }, Answer::Cell(value)) => {
                let register = &schema.registers.list()[places.start];
                let index = index.unwrap_or(0) as i64;
                out.push(render_register(register, index, Some(value)));
            }
            (Query::Groups { .. }, Answer::Groups(groups)) => {
                for (group, replicas, note) in groups {
                    out.push(wrap(render_group(group, &replicas, note)));
                }
            }
            // An answer is always that of its query.
            _ => {}
        }
    }
}

fn fetch_counter(
    pipeline: &Pipeline,
    counter: CounterId,
    size: usize,
    index: Option<usize>,
    out: &mut Vec<CounterData>,
) -> Result<(), Failure> {
    for index in index.map_or(0..size, |index| index..index + 1) {
        out.push(pipeline.counter(counter, index)?);
    }
    Ok(())
}

fn fetch_register(
    pipeline: &Pipeline,
    register: RegisterId,
    size: usize,
    index: Option<usize>,
    out: &mut Vec<u128>,
) -> Result<(), Failure> {
    for index in index.map_or(0..size, |index| index..index + 1) {
        out.push(pipeline.register(register, index)?);
    }
    Ok(())
}

fn for_each_cell(
    places: Range<usize>,
    index: Option<usize>,
    size: impl Fn(usize) -> usize,
    mut each: impl FnMut(usize, i64),
) {
    for place in places {
        for index in index.map_or(0..size(place), |index| index..index + 1) {
            each(place, index as i64);
        }
    }
}

impl Filter {
    fn collect(
        &self,
        place: usize,
        table: &Table,
        pipeline: &Pipeline,
        notes: &Notes,
        out: &mut Vec<Entry>,
    ) -> Result<(), Failure> {
        let mut keep = |key: Option<EntryKey>, action: EntryAction, counter| {
            let EntryAction::Call(action) = action else {
                return;
            };
            let note = notes.entry(table.table, key.as_ref());
            if self.action.is_none_or(|wanted| wanted == action.action) && self.note_fits(&note) {
                out.push(Entry {
                    place,
                    key,
                    action,
                    counter,
                    note,
                });
            }
        };
        if self.is_default {
            let (action, _) = pipeline.default_entry(table.table)?;
            let counter = (self.counter && table.direct_counter)
                .then(|| pipeline.direct_counter(table.table, None))
                .transpose()?;
            keep(None, action, counter);
            return Ok(());
        }
        for TableEntry {
            key,
            action,
            counter,
            ..
        } in self.candidates(table, pipeline)?
        {
            keep(Some(key), action, counter.filter(|_| self.counter));
        }
        Ok(())
    }

    fn candidates(&self, table: &Table, pipeline: &Pipeline) -> Result<Vec<TableEntry>, Failure> {
        if let Some(matches) = &self.matches
            && (self.priority != 0) == table.needs_priority
        {
            // The whole key: no need to look at any other entry.
            let key = EntryKey {
                matches: matches.clone(),
                priority: self.priority,
            };
            return match pipeline.entry(table.table, &key) {
                Ok(entry) => Ok(vec![entry]),
                Err(v1model::ControlError::EntryNotFound { .. }) => Ok(Vec::new()),
                Err(error) => Err(error.into()),
            };
        }
        let mut entries = pipeline.entries(table.table)?;
        entries.retain(|entry| {
            (self.priority == 0 || entry.key.priority == self.priority)
                && self
                    .matches
                    .as_ref()
                    .is_none_or(|matches| *matches == entry.key.matches)
        });
        Ok(entries)
    }

    fn note_fits(&self, note: &EntryNote) -> bool {
        let wanted = &self.note;
        (wanted.metadata.is_empty() || wanted.metadata == note.metadata)
            && (wanted.controller_metadata == 0
                || wanted.controller_metadata == note.controller_metadata)
    }
}

fn wrap(entity: Entity) -> p4::Entity {
    p4::Entity {
        entity: Some(entity),
    }
}

fn render_entry(table: &Table, filter: &Filter, as_counters: bool, found: Entry) -> Entity {
    let is_default = found.key.is_none();
    let counter_data = found.counter.map(render_counter);
    let (matches, priority) = match &found.key {
        Some(key) => (entry::render_matches(table, &key.matches), key.priority),
        None => (Vec::new(), 0),
    };
    let selected = p4::TableEntry {
        table_id: table.id,
        r#match: matches,
        priority,
        is_default_action: is_default,
        ..Default::default()
    };
    if as_counters {
        return Entity::DirectCounterEntry(Box::new(p4::DirectCounterEntry {
            table_entry: Some(selected),
            data: counter_data,
        }));
    }
    #[allow(deprecated)]
    Entity::TableEntry(Box::new(p4::TableEntry {
        action: entry::render_action(table, &found.action),
        counter_data: counter_data.filter(|_| filter.counter),
        metadata: found.note.metadata,
        controller_metadata: found.note.controller_metadata,
        is_const: if is_default {
            table.const_default
        } else {
            table.is_const
        },
        ..selected
    }))
}

fn render_counter(data: CounterData) -> p4::CounterData {
    // i64 on the wire; a counter gets there in two centuries of 10 Gbit/s.
    p4::CounterData {
        byte_count: data.bytes as i64,
        packet_count: data.packets as i64,
    }
}

fn render_register(register: &Register, index: i64, value: Option<u128>) -> p4::Entity {
    wrap(Entity::RegisterEntry(p4::RegisterEntry {
        register_id: register.id,
        index: Some(p4::Index { index }),
        data: value.map(|value| render_cell(register, value)),
    }))
}

fn render_cell(register: &Register, value: u128) -> p4::P4Data {
    use p4::p4_data::Data;
    let data = match register.cell {
        CellType::Bits => Data::Bitstring(bytestring::encode(value)),
        CellType::Signed => Data::Bitstring(bytestring::encode_signed(value, register.width)),
        CellType::Bool => Data::Bool(value != 0),
        CellType::Enum => Data::EnumValue(bytestring::encode(value)),
    };
    p4::P4Data { data: Some(data) }
}

fn render_group(group: u32, replicas: &[v1model::Replica], note: GroupNote) -> Entity {
    use p4::packet_replication_engine_entry::Type;
    use p4::replica::PortKind;
    let replicas = replicas.iter().map(|replica| {
        #[allow(deprecated)]
        let port = if note.numeric_ports {
            PortKind::EgressPort(u32::from(replica.port))
        } else {
            PortKind::Port(bytestring::encode(u128::from(replica.port)))
        };
        p4::Replica {
            instance: u32::from(replica.instance),
            backup_replicas: Vec::new(),
            port_kind: Some(port),
        }
    });
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(Type::MulticastGroupEntry(p4::MulticastGroupEntry {
            multicast_group_id: group,
            replicas: replicas.collect(),
            metadata: note.metadata,
        })),
    })
}
