// SPDX-License-Identifier: Apache-2.0
//! What a test's control statements do to a pipeline.

use crate::names::{self, resolve, resolve_field};
use crate::outcome::Note;
use crate::parse::{Error, small};
use crate::script::*;
use std::collections::BTreeMap;
use v1model::{
    ActionCall, ActionId, ControlError, CounterData, CounterId, EntryKey, EntryOptions, KeySchema,
    Match, MatchKind, MeterConfig, MeterId, Pipeline, Program, RegisterId, Replica, TableId,
};

/// BMv2's driver turns a test's priority into this minus it, where low wins.
const PRIORITY_BASE: i64 = 10_000;
/// What the lowest numbers in the compiled program's entries count from.
const HIGHEST: i64 = i32::MAX as i64;

/// A copy of a node.
#[derive(Debug)]
struct Node {
    rid: u16,
    ports: Vec<u16>,
}

/// What statements refer to later.
#[derive(Debug, Default)]
pub(crate) struct Control {
    handles: BTreeMap<String, (TableId, EntryKey)>,
    /// Each table's entries in the order they were added.
    added: BTreeMap<TableId, Vec<EntryKey>>,
    nodes: Vec<Node>,
    groups: BTreeMap<u32, Vec<usize>>,
    pub notes: Vec<Note>,
}

impl Control {
    /// Carries out a statement that is not about packets.
    pub fn apply(
        &mut self,
        now: u64,
        pipeline: &mut Pipeline,
        statement: &Statement,
    ) -> Result<(), Error> {
        let line = statement.line;
        let whole_line = |e: ControlError| Error {
            line,
            column: 0,
            message: e.to_string(),
        };
        match &statement.command {
            Command::Add {
                table,
                priority,
                key,
                call,
                handle,
            } => {
                let id = find_table(pipeline.program(), table)?;
                let key = entry_key(pipeline.program(), id, priority.as_ref(), key)?;
                let call = action_call(pipeline.program(), id, call)?;
                pipeline
                    .insert(now, id, &key, &call.into(), &EntryOptions::default())
                    .map_err(whole_line)?;
                self.added.entry(id).or_default().push(key.clone());
                if let Some(handle) = handle {
                    self.handles.insert(handle.text.clone(), (id, key));
                }
            }
            Command::SetDefault { table, call } => {
                let id = find_table(pipeline.program(), table)?;
                let call = action_call(pipeline.program(), id, call)?;
                pipeline
                    .set_default(id, Some(&call.into()))
                    .map_err(whole_line)?;
            }
            Command::RemoveAll => remove_all(pipeline).map_err(whole_line)?,
            Command::CounterRead { counter, index } => {
                let (text, data) = self.counter(pipeline, counter, index)?;
                self.note(
                    line,
                    format!("{text} = {} packets, {} bytes", data.packets, data.bytes),
                );
            }
            Command::CounterWrite {
                counter,
                index,
                packets,
                bytes,
            } => {
                let data = CounterData {
                    packets: small(packets, "number of packets")?,
                    bytes: small(bytes, "number of bytes")?,
                };
                let id = find_counter(pipeline.program(), counter)?;
                let index = as_index(index)?;
                pipeline
                    .set_counter(id, Some(index), data)
                    .map_err(whole_line)?;
            }
            Command::RegisterRead { register, index } => {
                let id = find_register(pipeline.program(), register)?;
                let at = as_index(index)?;
                let value = pipeline.register(id, at).map_err(whole_line)?;
                let name = &pipeline.program().registers()[id.0 as usize].name;
                let text = format!("{name}[{at}] = {value}");
                self.note(line, text);
            }
            Command::RegisterWrite {
                register,
                index,
                value,
            } => {
                let id = find_register(pipeline.program(), register)?;
                let schema = &pipeline.program().registers()[id.0 as usize];
                let what = format!("register {}", schema.name);
                let value = plain(value, schema.width, &what)?;
                pipeline
                    .set_register(id, Some(as_index(index)?), value)
                    .map_err(whole_line)?;
            }
            Command::RegisterReset { register } => {
                let id = find_register(pipeline.program(), register)?;
                pipeline.set_register(id, None, 0).map_err(whole_line)?;
            }
            Command::MeterSetRates {
                meter,
                index,
                rates,
            } => {
                let id = find_meter(pipeline.program(), meter)?;
                let index = index.as_ref().map(as_index).transpose()?;
                pipeline
                    .set_meter(id, index, Some(meter_config(meter, rates)?))
                    .map_err(whole_line)?;
            }
            Command::MeterGetRates { meter, index } => {
                let id = find_meter(pipeline.program(), meter)?;
                let at = as_index(index)?;
                let config = pipeline.meter(id, at).map_err(whole_line)?;
                let name = &pipeline.program().meters()[id.0 as usize].name;
                let text = match config {
                    Some(c) => format!(
                        "{name}[{at}] = {}:{} {}:{}, in units per second",
                        c.cir, c.cburst, c.pir, c.pburst
                    ),
                    None => format!("{name}[{at}] is not configured"),
                };
                self.note(line, text);
            }
            Command::GroupCreate { group } => {
                let number = narrow(group, "multicast group", u32::from(u16::MAX))?;
                pipeline
                    .multicast_mut()
                    .insert(number, &[])
                    .map_err(whole_line)?;
                self.groups.insert(number, Vec::new());
            }
            Command::NodeCreate { rid, ports } => {
                let rid = narrow(rid, "replication id", u32::from(u16::MAX))? as u16;
                let ports = as_ports(ports)?;
                self.nodes.push(Node { rid, ports });
            }
            Command::NodeUpdate { node, ports } => {
                let at = self.node(node)?;
                self.nodes[at].ports = as_ports(ports)?;
                let groups: Vec<u32> = self.groups_with(at).collect();
                for group in groups {
                    self.update_group(pipeline, group).map_err(whole_line)?;
                }
            }
            Command::NodeAssociate { group, node } => {
                let number = narrow(group, "multicast group", u32::from(u16::MAX))?;
                let at = self.node(node)?;
                let Some(nodes) = self.groups.get_mut(&number) else {
                    return Err(at_number(
                        group,
                        format!("there is no multicast group {number}; mc_mgrp_create makes one"),
                    ));
                };
                nodes.push(at);
                self.update_group(pipeline, number).map_err(whole_line)?;
            }
            _ => {
                return Err(Error {
                    line,
                    column: 0,
                    message: "this statement is not supported yet".into(),
                });
            }
        }
        Ok(())
    }

    fn note(&mut self, line: u32, text: String) {
        self.notes.push(Note { line, text });
    }

    // --- counters ----------------------------------------------------------

    /// Compares a counter; the words say what it is when it is not as it should.
    pub fn check_counter(
        &self,
        pipeline: &Pipeline,
        counter: &Name,
        index: &CounterIndex,
        check: Option<&(CounterUnit, Comparison, Number)>,
    ) -> Result<Option<String>, Error> {
        let (text, data) = match index {
            CounterIndex::Index(index) => self.counter(pipeline, counter, index)?,
            CounterIndex::Handle(handle) => {
                let name = handle.text.strip_prefix('$').unwrap_or(&handle.text);
                let Some((table, key)) = self.handles.get(name) else {
                    let known = self.handles.keys().map(String::as_str);
                    let known = known.collect::<Vec<_>>().join(", ");
                    return Err(names::at(
                        handle,
                        format!("no entry was added with `= {name}`; there is [{known}]"),
                    ));
                };
                let data = pipeline
                    .direct_counter(*table, Some(key))
                    .map_err(|e| names::at(counter, e.to_string()))?;
                (format!("{}({})", counter.text, handle.text), data)
            }
        };
        let Some((unit, comparison, number)) = check else {
            return Ok(None);
        };
        let wanted = number.literal.value.unwrap_or(u128::MAX);
        let (have, with_fcs, unit) = match unit {
            CounterUnit::Packets => (data.packets, data.packets, "packets"),
            // Tests written for hardware count the FCS of each packet too.
            CounterUnit::Bytes => {
                let fcs = data.packets.saturating_mul(4);
                (data.bytes, data.bytes.saturating_add(fcs), "bytes")
            }
        };
        let holds = [have, with_fcs]
            .into_iter()
            .any(|have| comparison.holds(u128::from(have), wanted));
        Ok((!holds).then(|| {
            format!(
                "{text} has {have} {unit}, which is not {} {wanted}",
                comparison.symbol()
            )
        }))
    }

    /// An indirect counter's cell, or the direct counter of a table's n-th entry.
    fn counter(
        &self,
        pipeline: &Pipeline,
        name: &Name,
        index: &Number,
    ) -> Result<(String, CounterData), Error> {
        let program = pipeline.program();
        let id = find_counter(program, name)?;
        let at = as_index(index)?;
        let data = pipeline
            .counter(id, at)
            .map_err(|e| at_number(index, e.to_string()))?;
        let full = &program.counters()[id.0 as usize].name;
        Ok((format!("{full}[{at}]"), data))
    }

    // --- replication -------------------------------------------------------

    fn node(&self, number: &Number) -> Result<usize, Error> {
        let at = as_index(number)?;
        if at < self.nodes.len() {
            return Ok(at);
        }
        Err(at_number(
            number,
            format!(
                "there is no node {at}; {} were made, numbered from 0",
                self.nodes.len()
            ),
        ))
    }

    fn groups_with(&self, node: usize) -> impl Iterator<Item = u32> + '_ {
        self.groups
            .iter()
            .filter(move |(_, nodes)| nodes.contains(&node))
            .map(|(group, _)| *group)
    }

    fn replicas(&self, group: u32) -> Vec<Replica> {
        let mut replicas = Vec::new();
        for node in self.groups.get(&group).into_iter().flatten() {
            let Node { rid, ports } = &self.nodes[*node];
            let mut ports = ports.clone();
            ports.sort_unstable();
            ports.dedup();
            replicas.extend(ports.into_iter().map(|port| Replica {
                instance: *rid,
                port,
            }));
        }
        replicas
    }

    fn update_group(&self, pipeline: &mut Pipeline, group: u32) -> Result<(), ControlError> {
        let replicas = self.replicas(group);
        pipeline.multicast_mut().modify(group, &replicas)
    }
}

fn remove_all(pipeline: &mut Pipeline) -> Result<(), ControlError> {
    let program = std::sync::Arc::clone(pipeline.program());
    for (n, table) in program.tables().iter().enumerate() {
        if table.const_entries || table.keys.is_empty() {
            continue;
        }
        let id = TableId(n as u32);
        for entry in pipeline.entries(id)? {
            pipeline.delete(id, &entry.key)?;
        }
    }
    Ok(())
}

// --- names -----------------------------------------------------------------

fn find_table(program: &Program, name: &Name) -> Result<TableId, Error> {
    let tables = program.tables().iter().enumerate();
    let tables = tables.filter(|(_, t)| !t.hidden);
    resolve(
        "table",
        name,
        tables.map(|(n, t)| (TableId(n as u32), t.name.as_str())),
    )
}

fn find_action(program: &Program, table: TableId, name: &Name) -> Result<ActionId, Error> {
    let table = &program.tables()[table.0 as usize];
    let kind = format!("action of table {}", table.name);
    let actions = table.actions.iter();
    resolve(
        &kind,
        name,
        actions.map(|id| (*id, program.actions()[id.0 as usize].name.as_str())),
    )
}

fn find_counter(program: &Program, name: &Name) -> Result<CounterId, Error> {
    let counters = program.counters().iter().enumerate();
    resolve(
        "counter",
        name,
        counters.map(|(n, c)| (CounterId(n as u32), c.name.as_str())),
    )
}

fn find_register(program: &Program, name: &Name) -> Result<RegisterId, Error> {
    let registers = program.registers().iter().enumerate();
    resolve(
        "register",
        name,
        registers.map(|(n, r)| (RegisterId(n as u32), r.name.as_str())),
    )
}

fn find_meter(program: &Program, name: &Name) -> Result<MeterId, Error> {
    let meters = program.meters().iter().enumerate();
    resolve(
        "meter",
        name,
        meters.map(|(n, m)| (MeterId(n as u32), m.name.as_str())),
    )
}

/// Rates are per microsecond in a test and per second in a meter.
fn meter_config(meter: &Name, rates: &[MeterRate]) -> Result<MeterConfig, Error> {
    let [committed, peak] = rates else {
        return Err(names::at(
            meter,
            format!(
                "a meter has two rates, committed and peak, not {}",
                rates.len()
            ),
        ));
    };
    let per_second = |rate: &MeterRate| (rate.per_microsecond * 1e6).round() as u64;
    Ok(MeterConfig {
        cir: per_second(committed),
        cburst: committed.burst,
        pir: per_second(peak),
        pburst: peak.burst,
    })
}

// --- values ----------------------------------------------------------------

fn action_call(program: &Program, table: TableId, call: &Call) -> Result<ActionCall, Error> {
    let action = find_action(program, table, &call.name)?;
    let schema = &program.actions()[action.0 as usize];
    let mut args = vec![None; schema.params.len()];
    let kind = format!("parameter of action {}", schema.name);
    for (name, number) in &call.args {
        let params = schema.params.iter().enumerate();
        let at = resolve(
            &kind,
            name,
            params.clone().map(|(n, p)| (n, p.name.as_str())),
        )?;
        let what = format!("parameter {}", schema.params[at].name);
        args[at] = Some(plain(number, schema.params[at].width, &what)?);
    }
    if let Some(missing) = args.iter().position(Option::is_none) {
        return Err(names::at(
            &call.name,
            format!(
                "action {} needs a value for its parameter {}",
                schema.name, schema.params[missing].name
            ),
        ));
    }
    Ok(ActionCall {
        action,
        args: args.into_iter().flatten().collect(),
    })
}

fn entry_key(
    program: &Program,
    table: TableId,
    priority: Option<&Number>,
    fields: &[KeyField],
) -> Result<EntryKey, Error> {
    let schema = &program.tables()[table.0 as usize];
    let mut matches: Vec<Match> = schema.keys.iter().map(dont_care).collect();
    for field in fields {
        let keys = schema.keys.iter().enumerate();
        let names = keys.map(|(n, key)| (n, key.name.as_str()));
        let at = resolve_field(&schema.name, &field.name, names)?;
        matches[at] = field_match(&schema.keys[at], field)?;
    }
    let priority = if schema.needs_priority() {
        let given = match priority {
            Some(number) => i64::try_from(small(number, "priority")?)
                .ok()
                .filter(|p| *p < HIGHEST)
                .ok_or_else(|| at_number(number, "the priority is too high".into()))?,
            None => 0,
        };
        // In the compiled program's terms, so that its own entries compare.
        (HIGHEST - PRIORITY_BASE + given).clamp(1, HIGHEST) as i32
    } else {
        0
    };
    Ok(EntryKey { matches, priority })
}

/// What BMv2's driver puts in for a field that is not named.
fn dont_care(key: &KeySchema) -> Match {
    match key.kind {
        MatchKind::Exact => Match::Exact(0),
        MatchKind::Lpm => Match::Lpm {
            value: 0,
            prefix_len: 0,
        },
        MatchKind::Ternary => Match::Ternary { value: 0, mask: 0 },
        MatchKind::Range => Match::Range {
            low: 0,
            high: ones(key.width),
        },
        MatchKind::Optional => Match::Optional(None),
    }
}

fn field_match(key: &KeySchema, field: &KeyField) -> Result<Match, Error> {
    let what = format!("key field {}", key.name);
    let all = ones(key.width);
    let misfit = |shape: &str| {
        names::at(
            &field.name,
            format!("{what} is matched {:?}, and {shape} is given", key.kind),
        )
    };
    Ok(match (key.kind, &field.value) {
        (MatchKind::Exact, Value::Any) => return Err(misfit("`*`")),
        (_, Value::Any) => dont_care(key),
        (MatchKind::Exact, Value::Number(number)) => Match::Exact(plain(number, key.width, &what)?),
        (MatchKind::Lpm, Value::Number(number)) => {
            let value = wild(number, key.width, &what)?;
            let prefix_len = match number.literal.prefix_bits {
                Some(bits) => bits.min(u32::from(key.width)) as u16,
                None => key.width,
            };
            prefix(value, prefix_len, key.width)
        }
        (MatchKind::Lpm, Value::Prefix(number, length)) => {
            let value = wild(number, key.width, &what)?;
            let length = narrow(length, "prefix length", u32::from(key.width))?;
            prefix(value, length as u16, key.width)
        }
        (MatchKind::Ternary, Value::Prefix(number, length)) => {
            let value = wild(number, key.width, &what)?;
            let length = narrow(length, "prefix length", u32::from(key.width))?;
            let mask = all & !ones(key.width - length as u16);
            let value = value & mask;
            Match::Ternary { value, mask }
        }
        (MatchKind::Ternary, Value::Number(number)) => {
            let value = wild(number, key.width, &what)?;
            // Digits that are not written are not compared.
            let mask = number.literal.mask & all;
            Match::Ternary { value, mask }
        }
        (MatchKind::Ternary, Value::Masked(number, mask)) => {
            let value = wild(number, key.width, &what)?;
            let mask = plain(mask, key.width, "mask")?;
            let value = value & mask;
            Match::Ternary { value, mask }
        }
        (MatchKind::Range, Value::Number(number)) => {
            let value = plain(number, key.width, &what)?;
            Match::Range {
                low: value,
                high: value,
            }
        }
        (MatchKind::Range, Value::Range(low, high)) => Match::Range {
            low: plain(low, key.width, &what)?,
            high: plain(high, key.width, &what)?,
        },
        (MatchKind::Optional, Value::Number(number)) => {
            if number.literal.wild && number.literal.mask == 0 {
                Match::Optional(None)
            } else {
                Match::Optional(Some(plain(number, key.width, &what)?))
            }
        }
        (_, Value::Prefix(..)) => return Err(misfit("a prefix")),
        (_, Value::Masked(..)) => return Err(misfit("a mask")),
        (_, Value::Range(..)) => return Err(misfit("a range")),
    })
}

fn prefix(value: u128, prefix_len: u16, width: u16) -> Match {
    Match::Lpm {
        value: value & !ones(width - prefix_len),
        prefix_len,
    }
}

/// A value without `*`; negative ones in two's complement.
fn plain(number: &Number, width: u16, what: &str) -> Result<u128, Error> {
    if number.literal.wild {
        return Err(at_number(
            number,
            format!("{what} takes no `*`, as in `{}`", number.literal.text),
        ));
    }
    wild(number, width, what)
}

fn wild(number: &Number, width: u16, what: &str) -> Result<u128, Error> {
    let all = ones(width);
    let value = match number.literal.value {
        Some(value) if number.negative && value.checked_sub(1).is_none_or(|v| v <= all >> 1) => {
            Some(value.wrapping_neg() & all)
        }
        Some(value) if !number.negative => Some(value).filter(|v| v & !all == 0),
        _ => None,
    };
    value.ok_or_else(|| {
        at_number(
            number,
            format!(
                "{}{} does not fit into the {width} bits of {what}",
                if number.negative { "-" } else { "" },
                number.literal.text
            ),
        )
    })
}

fn ones(width: u16) -> u128 {
    match width {
        0 => 0,
        width => u128::MAX >> (128 - u32::from(width.min(128))),
    }
}

fn narrow(number: &Number, what: &str, most: u32) -> Result<u32, Error> {
    let value = small(number, what)?;
    u32::try_from(value)
        .ok()
        .filter(|v| *v <= most)
        .ok_or_else(|| {
            at_number(
                number,
                format!("the {what} {value} is more than {most}, the highest"),
            )
        })
}

fn as_index(number: &Number) -> Result<usize, Error> {
    usize::try_from(small(number, "index")?)
        .map_err(|_| at_number(number, "the index is too high".into()))
}

fn as_ports(ports: &[Number]) -> Result<Vec<u16>, Error> {
    ports
        .iter()
        .map(|port| narrow(port, "port", 511).map(|p| p as u16))
        .collect()
}

pub(crate) fn at_number(number: &Number, message: String) -> Error {
    Error {
        line: number.line,
        column: number.column,
        message,
    }
}
