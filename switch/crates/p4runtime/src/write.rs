// SPDX-License-Identifier: Apache-2.0
//! Updates: checked and resolved to dense ids on the RPC's task, then executed
//! on the device's thread, where nothing is looked up by name any more.

use v1model::{
    ActionCall, CounterData, CounterId, EntryKey, EntryOptions, Pipeline, RegisterId, Replica,
    TableId,
};

use crate::bytestring;
use crate::entry;
use crate::failure::Failure;
use crate::notes::{EntryNote, GroupNote, Notes};
use crate::p4info::CellType;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::proto::p4::v1::update::Type;
use crate::schema::{Register, Schema, Table};

/// v1model's `egress_spec` has 9 bits.
const PORT_WIDTH: u16 = 9;

/// One update, ready to be executed.
#[derive(Clone, Debug)]
pub enum Op {
    Insert {
        table: TableId,
        key: EntryKey,
        action: ActionCall,
        counter: Option<CounterData>,
        note: EntryNote,
    },
    Modify {
        table: TableId,
        key: EntryKey,
        /// `None`: stays as it is.
        action: Option<ActionCall>,
        counter: Option<CounterData>,
        note: EntryNote,
    },
    Delete {
        table: TableId,
        key: EntryKey,
    },
    SetDefault {
        table: TableId,
        /// `None`: back to the one given in P4.
        action: Option<ActionCall>,
        /// `Some` also when a reset clears the counter.
        counter: Option<CounterData>,
        note: EntryNote,
    },
    SetDirectCounter {
        table: TableId,
        /// `None`: of the default entry.
        key: Option<EntryKey>,
        /// `None`: only check that the entry is there.
        data: Option<CounterData>,
    },
    SetCounter {
        counter: CounterId,
        /// `None`: all cells.
        index: Option<usize>,
        data: CounterData,
    },
    SetRegister {
        register: RegisterId,
        /// `None`: all cells.
        index: Option<usize>,
        value: u128,
    },
    SetGroup {
        group: u32,
        replicas: Vec<Replica>,
        note: GroupNote,
        /// Insert or modify.
        is_new: bool,
    },
    DeleteGroup {
        group: u32,
    },
    /// Valid, and nothing to do.
    Nothing,
}

impl Op {
    /// Executes the update at `now_ns`; on an error nothing was changed.
    ///
    /// # Errors
    /// What the pipeline refuses.
    pub fn execute(
        self,
        now_ns: u64,
        pipeline: &mut Pipeline,
        notes: &mut Notes,
    ) -> Result<(), Failure> {
        let options = EntryOptions::default();
        match self {
            Op::Insert {
                table,
                key,
                action,
                counter,
                note,
            } => {
                pipeline.insert(now_ns, table, &key, &action.into(), &options)?;
                if let Some(data) = counter {
                    pipeline.set_direct_counter(table, Some(&key), data)?;
                }
                notes.set_entry(table, Some(&key), note);
            }
            Op::Modify {
                table,
                key,
                action,
                counter,
                note,
            } => {
                match action {
                    Some(action) => {
                        pipeline.modify(now_ns, table, &key, &action.into(), &options)?
                    }
                    None => drop(pipeline.entry(table, &key)?),
                }
                if let Some(data) = counter {
                    pipeline.set_direct_counter(table, Some(&key), data)?;
                }
                notes.set_entry(table, Some(&key), note);
            }
            Op::Delete { table, key } => {
                pipeline.delete(table, &key)?;
                notes.set_entry(table, Some(&key), EntryNote::default());
            }
            Op::SetDefault {
                table,
                action,
                counter,
                note,
            } => {
                pipeline.set_default(table, action.map(Into::into).as_ref())?;
                if let Some(data) = counter {
                    pipeline.set_direct_counter(table, None, data)?;
                }
                notes.set_entry(table, None, note);
            }
            Op::SetDirectCounter { table, key, data } => match data {
                Some(data) => pipeline.set_direct_counter(table, key.as_ref(), data)?,
                None => drop(pipeline.direct_counter(table, key.as_ref())?),
            },
            Op::SetCounter {
                counter,
                index,
                data,
            } => pipeline.set_counter(counter, index, data)?,
            Op::SetRegister {
                register,
                index,
                value,
            } => pipeline.set_register(register, index, value)?,
            Op::SetGroup {
                group,
                replicas,
                note,
                is_new,
            } => {
                let groups = pipeline.multicast_mut();
                if is_new {
                    groups.insert(group, &replicas)?;
                } else {
                    groups.modify(group, &replicas)?;
                }
                notes.set_group(group, note);
            }
            Op::DeleteGroup { group } => {
                pipeline.multicast_mut().delete(group)?;
                notes.set_group(group, GroupNote::default());
            }
            Op::Nothing => {}
        }
        Ok(())
    }
}

/// Checks an update as far as that is possible without the device's state.
///
/// # Errors
/// The update's `p4.v1.Error`; the message names the object and the field.
pub fn resolve(schema: &Schema, update: &p4::Update) -> Result<Op, Failure> {
    let kind = match update.r#type() {
        Type::Unspecified => return Err(Failure::invalid("the update's type is unset")),
        kind => kind,
    };
    let entity = update
        .entity
        .as_ref()
        .and_then(|entity| entity.entity.as_ref());
    match entity {
        None => Err(Failure::invalid("the update's entity is unset")),
        Some(Entity::TableEntry(given)) => table_entry(schema, kind, given),
        Some(Entity::DirectCounterEntry(given)) => direct_counter(schema, kind, given),
        Some(Entity::CounterEntry(given)) => counter(schema, kind, given),
        Some(Entity::RegisterEntry(given)) => register(schema, kind, given),
        Some(Entity::PacketReplicationEngineEntry(given)) => replication(kind, given),
        Some(other) => Err(unimplemented(other)),
    }
}

/// UNIMPLEMENTED, in words.
pub fn unimplemented(entity: &Entity) -> Failure {
    let kind = match entity {
        Entity::ExternEntry(_) => "extern entries",
        Entity::TableEntry(_) => "table entries",
        Entity::ActionProfileMember(_) => "action profile members",
        Entity::ActionProfileGroup(_) => "action profile groups",
        Entity::MeterEntry(_) => "meters",
        Entity::DirectMeterEntry(_) => "direct meters",
        Entity::CounterEntry(_) => "counters",
        Entity::DirectCounterEntry(_) => "direct counters",
        Entity::PacketReplicationEngineEntry(_) => "clone sessions",
        Entity::ValueSetEntry(_) => "value sets",
        Entity::RegisterEntry(_) => "registers",
        Entity::DigestEntry(_) => "digests",
    };
    Failure::unimplemented(format!("{kind} are not supported by this target yet"))
}

/// A table by P4Info's id.
///
/// # Errors
/// INVALID_ARGUMENT: unset. NOT_FOUND: no such table.
pub fn find_table(schema: &Schema, id: u32) -> Result<&Table, Failure> {
    if id == 0 {
        return Err(Failure::invalid("table_id is unset"));
    }
    let position = schema.tables.position(id);
    let position =
        position.ok_or_else(|| Failure::not_found(format!("there is no table with id {id}")))?;
    Ok(&schema.tables.list()[position])
}

fn table_entry(schema: &Schema, kind: Type, given: &p4::TableEntry) -> Result<Op, Failure> {
    let table = find_table(schema, given.table_id)?;
    let name = &table.name;
    if given.is_const {
        return Err(Failure::invalid(format!(
            "table {name}: is_const must be false in a write"
        )));
    }
    if given.is_default_action {
        return default_entry(table, kind, given);
    }
    let denied = || {
        Failure::denied(format!(
            "table {name} has const entries, which cannot be changed"
        ))
    };
    if table.is_const && (kind != Type::Modify || given.action.is_some()) {
        return Err(denied());
    }
    if kind == Type::Insert && table.fields.is_empty() {
        return Err(Failure::invalid(format!(
            "table {name} has no key: it takes a default action only"
        )));
    }
    let key = entry::key(table, given)?;
    if kind == Type::Delete {
        return Ok(Op::Delete {
            table: table.table,
            key,
        });
    }
    let counter = direct_resources(table, given)?;
    let action = given.action.as_ref();
    let action = action
        .map(|action| entry::action(table, action, false))
        .transpose()?;
    let note = entry_note(given);
    if kind == Type::Modify {
        return Ok(Op::Modify {
            table: table.table,
            key,
            action,
            counter,
            note,
        });
    }
    let action = action
        .ok_or_else(|| Failure::invalid(format!("table {name}: a new entry needs an action")))?;
    Ok(Op::Insert {
        table: table.table,
        key,
        action,
        counter,
        note,
    })
}

fn default_entry(table: &Table, kind: Type, given: &p4::TableEntry) -> Result<Op, Failure> {
    let name = &table.name;
    if kind != Type::Modify {
        return Err(Failure::invalid(format!(
            "table {name}: the default entry is always there and can only be modified"
        )));
    }
    check_default_key(table, given)?;
    if table.const_default {
        return Err(Failure::denied(format!(
            "table {name} has a const default action, which cannot be changed"
        )));
    }
    let mut counter = direct_resources(table, given)?;
    let action = given.action.as_ref();
    let action = action
        .map(|action| entry::action(table, action, true))
        .transpose()?;
    if action.is_none() && table.direct_counter {
        // A reset takes the direct resources along.
        counter = counter.or(Some(CounterData::default()));
    }
    Ok(Op::SetDefault {
        table: table.table,
        action,
        counter,
        note: entry_note(given),
    })
}

/// The default entry has neither match nor priority.
///
/// # Errors
/// INVALID_ARGUMENT.
pub fn check_default_key(table: &Table, given: &p4::TableEntry) -> Result<(), Failure> {
    if given.r#match.is_empty() && given.priority == 0 {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "table {}: the default entry has neither match nor priority",
        table.name
    )))
}

fn entry_note(given: &p4::TableEntry) -> EntryNote {
    #[allow(deprecated)]
    EntryNote {
        metadata: given.metadata.clone(),
        controller_metadata: given.controller_metadata,
    }
}

fn direct_resources(table: &Table, given: &p4::TableEntry) -> Result<Option<CounterData>, Failure> {
    let name = &table.name;
    if given.meter_config.is_some() || given.meter_counter_data.is_some() {
        return Err(Failure::invalid(format!(
            "table {name} has no direct meter: leave meter_config and meter_counter_data unset"
        )));
    }
    if given.idle_timeout_ns != 0 {
        return Err(if table.idle_timeout {
            Failure::unimplemented(format!(
                "table {name}: idle_timeout_ns is not supported by this target yet"
            ))
        } else {
            Failure::invalid(format!(
                "table {name} has no idle timeout: leave idle_timeout_ns at 0"
            ))
        });
    }
    if given.counter_data.is_some() && !table.direct_counter {
        return Err(no_direct_counter(table));
    }
    given
        .counter_data
        .as_ref()
        .map(|data| counter_data(data, &format!("table {name}")))
        .transpose()
}

/// INVALID_ARGUMENT: a counter is asked of a table without.
pub fn no_direct_counter(table: &Table) -> Failure {
    Failure::invalid(format!("table {} has no direct counter", table.name))
}

fn counter_data(data: &p4::CounterData, place: &str) -> Result<CounterData, Failure> {
    let read = |field: &str, value: i64| {
        u64::try_from(value)
            .map_err(|_| Failure::invalid(format!("{place}: {field} is {value}, below 0")))
    };
    Ok(CounterData {
        packets: read("packet_count", data.packet_count)?,
        bytes: read("byte_count", data.byte_count)?,
    })
}

fn direct_counter(
    schema: &Schema,
    kind: Type,
    given: &p4::DirectCounterEntry,
) -> Result<Op, Failure> {
    only_modify("direct counter", kind)?;
    let entry = given.table_entry.as_ref().ok_or_else(|| {
        Failure::invalid("direct_counter_entry.table_entry is unset: it selects the counter")
    })?;
    let table = find_table(schema, entry.table_id)?;
    if !table.direct_counter {
        return Err(no_direct_counter(table));
    }
    let key = if entry.is_default_action {
        check_default_key(table, entry)?;
        None
    } else {
        Some(entry::key(table, entry)?)
    };
    let data = given.data.as_ref();
    let data = data.map(|data| counter_data(data, &format!("table {}", table.name)));
    Ok(Op::SetDirectCounter {
        table: table.table,
        key,
        data: data.transpose()?,
    })
}

fn counter(schema: &Schema, kind: Type, given: &p4::CounterEntry) -> Result<Op, Failure> {
    only_modify("counter", kind)?;
    let id = given.counter_id;
    if id == 0 {
        return Err(Failure::invalid("counter_id is unset"));
    }
    let position = schema.counters.position(id);
    let position =
        position.ok_or_else(|| Failure::not_found(format!("there is no counter with id {id}")))?;
    let counter = &schema.counters.list()[position];
    let index = index(given.index.as_ref(), "counter", &counter.name, counter.size)?;
    let Some(data) = &given.data else {
        return Ok(Op::Nothing);
    };
    Ok(Op::SetCounter {
        counter: counter.counter,
        index,
        data: counter_data(data, &format!("counter {}", counter.name))?,
    })
}

fn register(schema: &Schema, kind: Type, given: &p4::RegisterEntry) -> Result<Op, Failure> {
    only_modify("register", kind)?;
    let id = given.register_id;
    if id == 0 {
        return Err(Failure::invalid("register_id is unset"));
    }
    let position = schema.registers.position(id);
    let position =
        position.ok_or_else(|| Failure::not_found(format!("there is no register with id {id}")))?;
    let register = &schema.registers.list()[position];
    Ok(Op::SetRegister {
        register: register.register,
        index: index(
            given.index.as_ref(),
            "register",
            &register.name,
            register.size,
        )?,
        value: cell_value(register, given.data.as_ref())?,
    })
}

fn cell_value(register: &Register, data: Option<&p4::P4Data>) -> Result<u128, Failure> {
    use p4::p4_data::Data;
    let name = &register.name;
    let Some(data) = data.and_then(|data| data.data.as_ref()) else {
        return Err(Failure::invalid(format!("register {name}: data is unset")));
    };
    let value = match (register.cell, data) {
        (CellType::Bits, Data::Bitstring(bytes)) | (CellType::Enum, Data::EnumValue(bytes)) => {
            bytestring::decode(bytes, register.width)
        }
        (CellType::Signed, Data::Bitstring(bytes)) => {
            bytestring::decode_signed(bytes, register.width)
        }
        (CellType::Bool, Data::Bool(value)) => Ok(u128::from(*value)),
        (cell, _) => {
            let expected = match cell {
                CellType::Bits | CellType::Signed => "bitstring",
                CellType::Bool => "bool",
                CellType::Enum => "enum_value",
            };
            return Err(Failure::invalid(format!(
                "register {name}: data must be a {expected}"
            )));
        }
    };
    value.map_err(|error| Failure::out_of_range(format!("register {name}: the value {error}")))
}

/// Reads an index; unset is `None`, all cells.
///
/// # Errors
/// INVALID_ARGUMENT: negative. OUT_OF_RANGE: past the end.
pub fn index(
    index: Option<&p4::Index>,
    kind: &str,
    name: &str,
    size: usize,
) -> Result<Option<usize>, Failure> {
    let Some(&p4::Index { index }) = index else {
        return Ok(None);
    };
    if index < 0 {
        return Err(Failure::invalid(format!(
            "{kind} {name}: index {index} is negative"
        )));
    }
    match usize::try_from(index) {
        Ok(index) if index < size => Ok(Some(index)),
        _ => Err(Failure::out_of_range(format!(
            "{kind} {name}: index {index} is past the end, there are {size} cells"
        ))),
    }
}

fn only_modify(what: &str, kind: Type) -> Result<(), Failure> {
    if kind == Type::Modify {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "a {what} cannot be inserted or deleted, the update's type must be MODIFY"
    )))
}

fn replication(kind: Type, given: &p4::PacketReplicationEngineEntry) -> Result<Op, Failure> {
    use p4::packet_replication_engine_entry::Type as Entry;
    let given = match &given.r#type {
        Some(Entry::MulticastGroupEntry(group)) => group,
        Some(Entry::CloneSessionEntry(_)) => {
            return Err(Failure::unimplemented(
                "clone sessions are not supported by this target yet",
            ));
        }
        None => {
            return Err(Failure::invalid(
                "packet_replication_engine_entry.type is unset",
            ));
        }
    };
    let group = given.multicast_group_id;
    if group == 0 {
        return Err(Failure::invalid(
            "multicast_group_id is 0, which stands for no multicast",
        ));
    }
    if kind == Type::Delete {
        return Ok(Op::DeleteGroup { group });
    }
    let replicas = given.replicas.iter().map(|given| replica(group, given));
    #[allow(deprecated)]
    let numeric_ports = given.replicas.iter().any(|replica| {
        matches!(
            replica.port_kind,
            Some(p4::replica::PortKind::EgressPort(_))
        )
    });
    Ok(Op::SetGroup {
        group,
        replicas: replicas.collect::<Result<_, Failure>>()?,
        note: GroupNote {
            metadata: given.metadata.clone(),
            numeric_ports,
        },
        is_new: kind == Type::Insert,
    })
}

fn replica(group: u32, given: &p4::Replica) -> Result<Replica, Failure> {
    use p4::replica::PortKind;
    let place = format!("multicast group {group}");
    if !given.backup_replicas.is_empty() {
        return Err(Failure::unimplemented(format!(
            "{place}: backup_replicas are not supported"
        )));
    }
    #[allow(deprecated)]
    let port = match &given.port_kind {
        None => {
            return Err(Failure::invalid(format!(
                "{place}: a replica's port is unset"
            )));
        }
        Some(PortKind::EgressPort(port)) => bytestring::decode(&port.to_be_bytes(), PORT_WIDTH),
        Some(PortKind::Port(port)) => bytestring::decode(port, PORT_WIDTH),
    };
    let port =
        port.map_err(|error| Failure::out_of_range(format!("{place}: a replica's port {error}")))?;
    let instance = u16::try_from(given.instance).map_err(|_| {
        Failure::invalid(format!(
            "{place}: instance {} does not fit into 16 bits",
            given.instance
        ))
    })?;
    Ok(Replica {
        instance,
        port: port as u16,
    })
}
