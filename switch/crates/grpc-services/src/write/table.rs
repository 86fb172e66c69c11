// SPDX-License-Identifier: Apache-2.0
//! Table entries, default entries and their direct resources.

use v1model::{CounterData, EntryOptions, MeterConfig};

use super::arrays::{counter_data, meter_config, no_meter_counters};
use super::{change, find, only_modify};
use crate::entry;
use crate::failure::Failure;
use crate::notes::EntryNote;
use crate::op::{DefaultOp, EntryOp, Op};
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::update::Type;
use crate::schema::{Schema, Table};

/// A table by P4Info's id.
///
/// # Errors
/// INVALID_ARGUMENT: unset. NOT_FOUND: no such table.
pub fn find_table(schema: &Schema, id: u32) -> Result<&Table, Failure> {
    find(&schema.tables, "table", "table_id", id)
}

pub fn entry(
    schema: &Schema,
    ports: Option<&[u16]>,
    kind: Type,
    given: &p4::TableEntry,
) -> Result<Op, Failure> {
    let table = find_table(schema, given.table_id)?;
    let name = &table.name;
    if given.is_const {
        return Err(Failure::invalid(format!(
            "table {name}: is_const must be false in a write"
        )));
    }
    if given.is_default_action {
        return default_entry(schema, ports, table, kind, given);
    }
    let mut note = note(given);
    let denied = |words: &str| {
        Err(Failure::denied(format!(
            "table {name} has const entries{words}"
        )))
    };
    if table.is_const && (kind != Type::Modify || given.action.is_some()) {
        return denied(", which cannot be changed");
    }
    if table.is_const && (note != EntryNote::default() || given.idle_timeout_ns != 0) {
        return denied(": of these only the direct counter and meter can be changed");
    }
    if kind == Type::Insert && table.fields.is_empty() {
        return Err(Failure::invalid(format!(
            "table {name} has no key: it takes a default action only"
        )));
    }
    let key = entry::key(table, given)?;
    let mut op = EntryOp {
        change: change(kind),
        table: table.table,
        key,
        action: None,
        options: EntryOptions::default(),
        counter: None,
        meter: None,
        only_resources: table.is_const,
        preinitialized: table.preinitialized,
    };
    if kind != Type::Delete {
        (op.counter, op.meter) = direct_resources(table, given)?;
        op.options.idle_timeout_ns = idle_timeout(table, given)?;
        let action = given.action.as_ref();
        let read = |action| entry::action(schema, ports, table, action, false, &mut note);
        op.action = action.map(read).transpose()?;
        op.options.metadata = note.pack();
    }
    if kind == Type::Insert && op.action.is_none() {
        return Err(Failure::invalid(format!(
            "table {name}: a new entry needs an action"
        )));
    }
    Ok(Op::Entry(Box::new(op)))
}

fn default_entry(
    schema: &Schema,
    ports: Option<&[u16]>,
    table: &Table,
    kind: Type,
    given: &p4::TableEntry,
) -> Result<Op, Failure> {
    let name = &table.name;
    if kind != Type::Modify {
        return Err(Failure::invalid(format!(
            "table {name}: the default entry is always there and can only be modified"
        )));
    }
    check_default_key(table, given)?;
    if given.idle_timeout_ns != 0 || given.time_since_last_hit.is_some() {
        return Err(Failure::invalid(format!(
            "table {name}: the default entry has no idle timeout: leave idle_timeout_ns and \
             time_since_last_hit unset"
        )));
    }
    if table.const_default {
        return Err(Failure::denied(format!(
            "table {name} has a const default action, which cannot be changed"
        )));
    }
    if table.profile != 0 && given.action.is_some() {
        return Err(Failure::denied(format!(
            "table {name} has an action profile: its default action cannot be changed"
        )));
    }
    let (mut counter, meter) = direct_resources(table, given)?;
    let mut note = note(given);
    let action = given.action.as_ref();
    let read = |action| entry::action(schema, ports, table, action, true, &mut note);
    let action = action.map(read).transpose()?;
    if action.is_none() {
        // Resetting a default entry also resets its direct resources and metadata.
        note = EntryNote::default();
        if table.direct_counter {
            counter = counter.or(Some(CounterData::default()));
        }
    }
    Ok(Op::Default(Box::new(DefaultOp {
        table: table.table,
        action,
        note,
        counter,
        meter,
    })))
}

/// Checks that a default entry is given without match and priority.
///
/// # Errors
/// INVALID_ARGUMENT if it has one of them.
pub fn check_default_key(table: &Table, given: &p4::TableEntry) -> Result<(), Failure> {
    if given.r#match.is_empty() && given.priority == 0 {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "table {}: the default entry has neither match nor priority",
        table.name
    )))
}

/// The metadata of an entry.
pub fn note(given: &p4::TableEntry) -> EntryNote {
    #[allow(deprecated)]
    EntryNote {
        metadata: given.metadata.clone(),
        controller_metadata: given.controller_metadata,
        numeric_ports: false,
    }
}

fn idle_timeout(table: &Table, given: &p4::TableEntry) -> Result<u64, Failure> {
    let name = &table.name;
    let invalid = |words: &str| Err(Failure::invalid(format!("table {name}{words}")));
    if !table.idle_timeout {
        if given.idle_timeout_ns != 0 {
            return invalid(" has no idle timeout: leave idle_timeout_ns at 0");
        }
        if given.time_since_last_hit.is_some() {
            return invalid(" has no idle timeout: leave time_since_last_hit unset");
        }
    }
    if given.time_since_last_hit.is_some() {
        return invalid(": time_since_last_hit can only be read");
    }
    u64::try_from(given.idle_timeout_ns).or_else(|_| invalid(": idle_timeout_ns is negative"))
}

/// The counter and the meter that an entry is to have.
type Resources = (Option<CounterData>, Option<Option<MeterConfig>>);

fn direct_resources(table: &Table, given: &p4::TableEntry) -> Result<Resources, Failure> {
    let of = || format!("table {}", table.name);
    if given.meter_config.is_some() && !table.direct_meter {
        return Err(no_direct_meter(table));
    }
    no_meter_counters(&of, given.meter_counter_data.as_ref())?;
    if given.counter_data.is_some() && !table.direct_counter {
        return Err(no_direct_counter(table));
    }
    let counter = given.counter_data.as_ref();
    let counter = counter.map(|data| counter_data(data, &of)).transpose()?;
    if !table.direct_meter {
        return Ok((counter, None));
    }
    let meter = given.meter_config.as_ref();
    let meter = meter.map(|config| meter_config(config, &of)).transpose()?;
    // An entry whose meter is not set gets the default configuration, even if it is modified.
    Ok((counter, Some(meter)))
}

/// The failure of a request for the direct counter of a table that has none.
pub fn no_direct_counter(table: &Table) -> Failure {
    Failure::invalid(format!(
        "table {} has no direct counter: leave counter_data unset",
        table.name
    ))
}

/// The failure of a request for the direct meter of a table that has none.
pub fn no_direct_meter(table: &Table) -> Failure {
    Failure::invalid(format!(
        "table {} has no direct meter: leave meter_config unset",
        table.name
    ))
}

/// Finds the entry that a direct resource belongs to; the key is `None` for the default entry.
fn owner<'a>(
    schema: &'a Schema,
    given: Option<&p4::TableEntry>,
    field: &str,
) -> Result<(&'a Table, Option<v1model::EntryKey>), Failure> {
    let entry = given.ok_or_else(|| {
        Failure::invalid(format!("{field}.table_entry is unset: it names the entry"))
    })?;
    let table = find_table(schema, entry.table_id)?;
    if entry.is_default_action {
        check_default_key(table, entry)?;
        return Ok((table, None));
    }
    Ok((table, Some(entry::key(table, entry)?)))
}

pub fn direct_counter(
    schema: &Schema,
    kind: Type,
    given: &p4::DirectCounterEntry,
) -> Result<Op, Failure> {
    only_modify("direct counter", kind)?;
    let (table, key) = owner(schema, given.table_entry.as_ref(), "direct_counter_entry")?;
    if !table.direct_counter {
        return Err(no_direct_counter(table));
    }
    let of = || format!("table {}", table.name);
    let data = given.data.as_ref();
    let data = data.map(|data| counter_data(data, &of)).transpose()?;
    Ok(Op::DirectCounter(Box::new((table.table, key, data))))
}

pub fn direct_meter(
    schema: &Schema,
    kind: Type,
    given: &p4::DirectMeterEntry,
) -> Result<Op, Failure> {
    only_modify("direct meter", kind)?;
    let (table, key) = owner(schema, given.table_entry.as_ref(), "direct_meter_entry")?;
    if !table.direct_meter {
        return Err(no_direct_meter(table));
    }
    let of = || format!("table {}", table.name);
    no_meter_counters(&of, given.counter_data.as_ref())?;
    let config = given.config.as_ref();
    let config = config.map(|config| meter_config(config, &of)).transpose()?;
    Ok(Op::DirectMeter(Box::new((table.table, key, config))))
}
