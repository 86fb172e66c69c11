// SPDX-License-Identifier: Apache-2.0
//! P4Info bound to a program: every P4Runtime id is resolved to the program's
//! dense id once, when a pipeline is verified, and both are compared there.

use std::collections::HashMap;

use v1model::{ActionId, CounterId, MatchKind, Program, RegisterId, TableId};

use crate::p4info::{self, CellType};
use crate::packet_io::HeaderLayout;
use crate::proto::p4::config::v1 as config;

/// The control plane's view of a pipeline.
#[derive(Debug, Default)]
pub struct Schema {
    pub tables: Objects<Table>,
    pub registers: Objects<Register>,
    pub counters: Objects<Counter>,
    /// Header in front of packet-outs; without one they are frames.
    pub packet_out: HeaderLayout,
    /// Header in front of packet-ins.
    pub packet_in: HeaderLayout,
}

/// Objects of one kind, by P4Info's id and in P4Info's order.
#[derive(Debug)]
pub struct Objects<T> {
    list: Vec<T>,
    index: HashMap<u32, usize>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects {
            list: Vec::new(),
            index: HashMap::new(),
        }
    }
}

impl<T> Objects<T> {
    /// The place of an object in [`Self::list`].
    pub fn position(&self, id: u32) -> Option<usize> {
        self.index.get(&id).copied()
    }

    pub fn list(&self) -> &[T] {
        &self.list
    }

    fn push(&mut self, id: u32, object: T) {
        self.index.insert(id, self.list.len());
        self.list.push(object);
    }
}

#[derive(Debug)]
pub struct Table {
    pub id: u32,
    pub name: String,
    pub table: TableId,
    /// In the order of the program's key.
    pub fields: Vec<Field>,
    pub actions: Vec<Action>,
    pub needs_priority: bool,
    /// Entries cannot change.
    pub is_const: bool,
    /// The default entry cannot change.
    pub const_default: bool,
    pub direct_counter: bool,
    pub idle_timeout: bool,
}

#[derive(Debug)]
pub struct Field {
    pub id: u32,
    pub name: String,
    pub kind: MatchKind,
    pub width: u16,
}

#[derive(Debug)]
pub struct Action {
    pub id: u32,
    pub name: String,
    pub action: ActionId,
    /// In the order of the program's parameters.
    pub params: Vec<Param>,
    pub scope: Scope,
}

/// Where a table may use an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Both,
    TableOnly,
    DefaultOnly,
}

#[derive(Debug)]
pub struct Param {
    pub id: u32,
    pub name: String,
    pub width: u16,
}

#[derive(Debug)]
pub struct Register {
    pub id: u32,
    pub name: String,
    pub register: RegisterId,
    pub size: usize,
    pub width: u16,
    pub cell: CellType,
}

#[derive(Debug)]
pub struct Counter {
    pub id: u32,
    pub name: String,
    pub counter: CounterId,
    pub size: usize,
}

impl Schema {
    /// Binds P4Info to the program that it should describe.
    ///
    /// # Errors
    /// They disagree, or P4Info has what this target lacks: one sentence that
    /// names the object.
    pub fn bind(info: &config::P4Info, program: &Program) -> Result<Schema, String> {
        refuse_unsupported(info)?;
        let mut schema = Schema::default();
        let actions: HashMap<u32, &config::Action> = info
            .actions
            .iter()
            .map(|action| (preamble(&action.preamble).id, action))
            .collect();
        for table in &info.tables {
            let bound = bind_table(table, &actions, info, program)?;
            schema.tables.push(bound.id, bound);
        }
        for register in &info.registers {
            let bound = bind_register(register, info.type_info.as_ref(), program)?;
            schema.registers.push(bound.id, bound);
        }
        for counter in &info.counters {
            let bound = bind_counter(counter, program)?;
            schema.counters.push(bound.id, bound);
        }
        for header in &info.controller_packet_metadata {
            let layout = HeaderLayout::new(header)?;
            match preamble(&header.preamble).name.as_str() {
                "packet_out" => schema.packet_out = layout,
                "packet_in" => schema.packet_in = layout,
                other => {
                    return Err(format!(
                        "P4Info's controller_packet_metadata \"{other}\" is neither packet_in \
                         nor packet_out"
                    ));
                }
            }
        }
        Ok(schema)
    }
}

static NO_PREAMBLE: config::Preamble = config::Preamble {
    id: 0,
    name: String::new(),
    alias: String::new(),
    annotations: Vec::new(),
    annotation_locations: Vec::new(),
    doc: None,
    structured_annotations: Vec::new(),
};

fn preamble(preamble: &Option<config::Preamble>) -> &config::Preamble {
    preamble.as_ref().unwrap_or(&NO_PREAMBLE)
}

fn refuse_unsupported(info: &config::P4Info) -> Result<(), String> {
    let kinds = [
        (
            "action profile",
            info.action_profiles.first().map(|x| &x.preamble),
        ),
        ("meter", info.meters.first().map(|x| &x.preamble)),
        (
            "direct meter",
            info.direct_meters.first().map(|x| &x.preamble),
        ),
        ("value set", info.value_sets.first().map(|x| &x.preamble)),
        ("digest", info.digests.first().map(|x| &x.preamble)),
    ];
    for (kind, object) in kinds {
        if let Some(object) = object {
            return Err(format!(
                "P4Info has the {kind} {}, which this target does not support yet",
                preamble(object).name
            ));
        }
    }
    match info.externs.first() {
        Some(object) => Err(format!(
            "P4Info has the extern type {}, which this target does not support",
            object.extern_type_name
        )),
        None => Ok(()),
    }
}

fn missing(kind: &str, name: &str) -> String {
    format!(
        "P4Info has the {kind} {name} and the JSON does not: use the P4Info and the JSON of one \
         p4c run"
    )
}

fn differs(
    what: &str,
    of: &str,
    info: impl std::fmt::Display,
    json: impl std::fmt::Display,
) -> String {
    format!(
        "{what} of {of} is {info} in P4Info and {json} in the JSON: use the P4Info and the JSON \
         of one p4c run"
    )
}

fn same<T: PartialEq + Copy + std::fmt::Display>(
    what: &str,
    of: &str,
    info: T,
    json: T,
) -> Result<(), String> {
    if info == json {
        Ok(())
    } else {
        Err(differs(what, of, info, json))
    }
}

fn bind_table(
    info: &config::Table,
    actions: &HashMap<u32, &config::Action>,
    all: &config::P4Info,
    program: &Program,
) -> Result<Table, String> {
    let head = preamble(&info.preamble);
    let name = &head.name;
    let table = program.table(name).ok_or_else(|| missing("table", name))?;
    let schema = &program.tables()[table.0 as usize];
    let of = format!("table {name}");
    same(
        "the number of match fields",
        &of,
        info.match_fields.len(),
        schema.keys.len(),
    )?;
    let mut fields = Vec::with_capacity(schema.keys.len());
    for key in &schema.keys {
        let field = info
            .match_fields
            .iter()
            .find(|field| field.name == key.name);
        let field = field.ok_or_else(|| {
            format!(
                "the JSON has the match field {} in table {name} and P4Info does not: use the \
                 P4Info and the JSON of one p4c run",
                key.name
            )
        })?;
        let of = format!("match field {} in table {name}", key.name);
        same(
            "the width",
            &of,
            i64::from(field.bitwidth),
            i64::from(key.width),
        )?;
        let kind =
            match_kind(field).ok_or_else(|| format!("{of} has an unsupported match type"))?;
        if kind != key.kind {
            return Err(differs(
                "the match type",
                &of,
                format!("{kind:?}"),
                format!("{:?}", key.kind),
            ));
        }
        fields.push(Field {
            id: field.id,
            name: key.name.clone(),
            kind,
            width: key.width,
        });
    }
    let mut bound = Vec::with_capacity(info.action_refs.len());
    for reference in &info.action_refs {
        let action = actions.get(&reference.id).ok_or_else(|| {
            format!(
                "P4Info's table {name} refers to action {}, which P4Info does not describe",
                reference.id
            )
        })?;
        bound.push(bind_action(reference, action, name, table, program)?);
    }
    let mut direct_counters = all.direct_counters.iter();
    let direct_counter = direct_counters.any(|counter| counter.direct_table_id == head.id);
    same(
        "having a direct counter",
        &of,
        direct_counter,
        schema.direct_counter,
    )?;
    Ok(Table {
        id: head.id,
        name: name.clone(),
        table,
        needs_priority: schema.needs_priority(),
        is_const: info.is_const_table || schema.const_entries,
        const_default: info.const_default_action_id != 0 || schema.const_default,
        direct_counter,
        idle_timeout: info.idle_timeout_behavior()
            == config::table::IdleTimeoutBehavior::NotifyControl,
        fields,
        actions: bound,
    })
}

fn match_kind(field: &config::MatchField) -> Option<MatchKind> {
    use config::match_field::{Match, MatchType};
    let Some(Match::MatchType(kind)) = &field.r#match else {
        return None;
    };
    match MatchType::try_from(*kind).ok()? {
        MatchType::Unspecified => None,
        MatchType::Exact => Some(MatchKind::Exact),
        MatchType::Lpm => Some(MatchKind::Lpm),
        MatchType::Ternary => Some(MatchKind::Ternary),
        MatchType::Range => Some(MatchKind::Range),
        MatchType::Optional => Some(MatchKind::Optional),
    }
}

fn bind_action(
    reference: &config::ActionRef,
    info: &config::Action,
    table_name: &str,
    table: TableId,
    program: &Program,
) -> Result<Action, String> {
    let head = preamble(&info.preamble);
    let name = &head.name;
    let of = format!("action {name} of table {table_name}");
    let action = program
        .table_action(table, name)
        .ok_or_else(|| missing("action", &format!("{name} of table {table_name}")))?;
    let schema = &program.actions()[action.0 as usize];
    same(
        "the number of parameters",
        &of,
        info.params.len(),
        schema.params.len(),
    )?;
    let mut params = Vec::with_capacity(info.params.len());
    for (param, json) in info.params.iter().zip(&schema.params) {
        let of = format!("parameter {} of {of}", param.name);
        if param.name != json.name {
            return Err(differs("the name", &of, &param.name, &json.name));
        }
        same(
            "the width",
            &of,
            i64::from(param.bitwidth),
            i64::from(json.width),
        )?;
        params.push(Param {
            id: param.id,
            name: param.name.clone(),
            width: json.width,
        });
    }
    let scope = match reference.scope() {
        config::action_ref::Scope::TableAndDefault => Scope::Both,
        config::action_ref::Scope::TableOnly => Scope::TableOnly,
        config::action_ref::Scope::DefaultOnly => Scope::DefaultOnly,
    };
    Ok(Action {
        id: head.id,
        name: name.clone(),
        action,
        params,
        scope,
    })
}

fn bind_register(
    info: &config::Register,
    types: Option<&config::P4TypeInfo>,
    program: &Program,
) -> Result<Register, String> {
    let head = preamble(&info.preamble);
    let name = &head.name;
    let register = program
        .register(name)
        .ok_or_else(|| missing("register", name))?;
    let schema = &program.registers()[register.0 as usize];
    let of = format!("register {name}");
    let (cell, width) = info
        .type_spec
        .as_ref()
        .and_then(|spec| p4info::cell_type(spec, types))
        .ok_or_else(|| format!("{of} has a type in P4Info that is not supported"))?;
    same("the width", &of, i64::from(width), i64::from(schema.width))?;
    same("the size", &of, i64::from(info.size), schema.size as i64)?;
    Ok(Register {
        id: head.id,
        name: name.clone(),
        register,
        size: schema.size,
        width: schema.width,
        cell,
    })
}

fn bind_counter(info: &config::Counter, program: &Program) -> Result<Counter, String> {
    let head = preamble(&info.preamble);
    let name = &head.name;
    let counter = program
        .counter(name)
        .ok_or_else(|| missing("counter", name))?;
    let schema = &program.counters()[counter.0 as usize];
    same(
        "the size",
        &format!("counter {name}"),
        info.size,
        schema.size as i64,
    )?;
    Ok(Counter {
        id: head.id,
        name: name.clone(),
        counter,
        size: schema.size,
    })
}
