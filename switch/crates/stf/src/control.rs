// SPDX-License-Identifier: Apache-2.0
//! What a test's control statements do to a pipeline.

use crate::error::Error;
use crate::lookup::{find_counter, find_meter, find_register, find_table};
use crate::names;
use crate::outcome::Note;
use crate::parse::small;
use crate::script::*;
use crate::values::{
    action_call, as_index, as_ports, at_number, entry_key, meter_config, narrow, plain,
};
use std::collections::BTreeMap;
use v1model::{
    CloneSession, ControlError, CounterData, EntryKey, EntryOptions, MAX_CLONE_SESSION, Pipeline,
    Replica, TableId,
};

/// A copy of a node.
#[derive(Debug)]
struct Node {
    rid: u16,
    ports: Vec<u16>,
}

/// Where a session's clones go.
#[derive(Clone, Copy, Debug)]
enum Mirror {
    Port(u16),
    Group(u32),
}

/// What statements refer to later.
#[derive(Debug, Default)]
pub(crate) struct Control {
    handles: BTreeMap<String, (TableId, EntryKey)>,
    /// Each table's entries in the order they were added.
    added: BTreeMap<TableId, Vec<EntryKey>>,
    nodes: Vec<Node>,
    groups: BTreeMap<u32, Vec<usize>>,
    mirrors: BTreeMap<u32, Mirror>,
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
            Command::MirrorAdd { session, port } => {
                let id = narrow(session, "session", MAX_CLONE_SESSION)?;
                let port = narrow(port, "port", 511)? as u16;
                self.mirrors.insert(id, Mirror::Port(port));
                self.update_mirror(pipeline, id).map_err(whole_line)?;
            }
            Command::MirrorAddGroup { session, group } => {
                let id = narrow(session, "session", MAX_CLONE_SESSION)?;
                let group = narrow(group, "multicast group", u32::from(u16::MAX))?;
                self.mirrors.insert(id, Mirror::Group(group));
                self.update_mirror(pipeline, id).map_err(whole_line)?;
            }
            Command::MirrorDelete { session } => {
                let id = narrow(session, "session", MAX_CLONE_SESSION)?;
                self.mirrors.remove(&id);
                pipeline
                    .clone_sessions_mut()
                    .delete(id)
                    .map_err(whole_line)?;
            }
            Command::MirrorGet { session } => {
                let id = narrow(session, "session", MAX_CLONE_SESSION)?;
                let text = match self.mirrors.get(&id) {
                    Some(Mirror::Port(port)) => format!("session {id} clones to port {port}"),
                    Some(Mirror::Group(group)) => {
                        format!("session {id} clones to multicast group {group}")
                    }
                    None => format!("there is no session {id}"),
                };
                self.note(line, text);
            }
            // The run's own.
            Command::Packet { .. }
            | Command::Expect { .. }
            | Command::NoPacket
            | Command::Wait
            | Command::CheckCounter { .. } => {}
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
        pipeline.multicast_mut().modify(group, &replicas)?;
        for (id, mirror) in &self.mirrors {
            if matches!(mirror, Mirror::Group(of) if *of == group) {
                self.update_mirror(pipeline, *id)?;
            }
        }
        Ok(())
    }

    /// A session to a group follows the group.
    fn update_mirror(&self, pipeline: &mut Pipeline, id: u32) -> Result<(), ControlError> {
        let replicas = match self.mirrors.get(&id) {
            Some(Mirror::Port(port)) => vec![Replica {
                instance: 0,
                port: *port,
            }],
            Some(Mirror::Group(group)) => self.replicas(*group),
            None => return Ok(()),
        };
        let session = CloneSession {
            replicas,
            ..CloneSession::default()
        };
        let sessions = pipeline.clone_sessions_mut();
        match sessions.get(id) {
            Some(_) => sessions.modify(id, &session),
            None => sessions.insert(id, &session),
        }
    }
}

fn remove_all(pipeline: &mut Pipeline) -> Result<(), ControlError> {
    let program = std::sync::Arc::clone(pipeline.program());
    for (n, table) in program.tables().iter().enumerate() {
        if table.initial_entries || table.keys.is_empty() {
            continue;
        }
        let id = TableId(n as u32);
        for entry in pipeline.entries(id)? {
            pipeline.delete(id, &entry.key)?;
        }
    }
    Ok(())
}
