// SPDX-License-Identifier: Apache-2.0
//! P4Info bound to a program: every P4Runtime id is resolved to the program's
//! dense id once, when a pipeline is verified, and both are compared there.

mod arrays;
mod meter_unit;
mod profile;
mod table;
mod types;

use std::collections::HashMap;

use v1model::Program;

pub use arrays::{Counter, Digest, Meter, Register, ValueSet};
pub use profile::{Counts, Profile};
pub use table::{Action, Field, Scope, Table};
pub use types::{CellType, Shape, Types};

use crate::packet_io::HeaderLayout;
use crate::proto::p4::config::v1 as config;

/// The control plane's view of a pipeline.
#[derive(Debug, Default)]
pub struct Schema {
    pub tables: Objects<Table>,
    pub profiles: Objects<Profile>,
    pub registers: Objects<Register>,
    pub counters: Objects<Counter>,
    pub meters: Objects<Meter>,
    pub value_sets: Objects<ValueSet>,
    pub digests: Objects<Digest>,
    /// Header in front of packet-outs; without one they are frames.
    pub packet_out: HeaderLayout,
    /// Header in front of packet-ins.
    pub packet_in: HeaderLayout,
}

/// Objects of one kind, by P4Info's id and in P4Info's order.
#[derive(Debug)]
pub struct Objects<T> {
    list: Vec<T>,
    /// Ids and places in the list, by id. A search in a handful of them is
    /// several times faster than a hash that withstands clients' choices, and a
    /// batch looks one up for each update.
    index: Vec<(u32, usize)>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Objects {
            list: Vec::new(),
            index: Vec::new(),
        }
    }
}

impl<T> Objects<T> {
    /// The place of an object in [`Self::list`].
    pub fn position(&self, id: u32) -> Option<usize> {
        let found = self.index.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.index[found].1)
    }

    pub fn get(&self, id: u32) -> Option<&T> {
        self.list.get(self.position(id)?)
    }

    pub fn list(&self) -> &[T] {
        &self.list
    }

    fn push(&mut self, id: u32, object: T) {
        // Ids are unique: checked before.
        let at = self.index.partition_point(|&(other, _)| other < id);
        self.index.insert(at, (id, self.list.len()));
        self.list.push(object);
    }
}

impl Schema {
    /// Binds P4Info to the program that it should describe. P4Info may leave
    /// out what a controller is not to see.
    ///
    /// # Errors
    /// They disagree, or P4Info has what this target lacks: one sentence that
    /// names the object and the field.
    pub fn bind(info: &config::P4Info, program: &Program) -> Result<Schema, String> {
        refuse_unsupported(info)?;
        check_ids(info)?;
        let actions = info.actions.iter();
        let context = table::Context {
            info,
            actions: actions
                .map(|action| (preamble(&action.preamble).id, action))
                .collect(),
            types: Types(info.type_info.as_ref()),
            program,
        };
        let mut schema = Schema::default();
        for table in &info.tables {
            let bound = context.table(table)?;
            schema.tables.push(bound.id, bound);
        }
        for profile in &info.action_profiles {
            let bound = context.action_profile(profile)?;
            schema.profiles.push(bound.id, bound);
        }
        for register in &info.registers {
            let bound = context.register(register)?;
            schema.registers.push(bound.id, bound);
        }
        for counter in &info.counters {
            let bound = context.counter(counter)?;
            schema.counters.push(bound.id, bound);
        }
        for meter in &info.meters {
            let bound = context.meter(meter)?;
            schema.meters.push(bound.id, bound);
        }
        for set in &info.value_sets {
            let bound = context.value_set(set)?;
            schema.value_sets.push(bound.id, bound);
        }
        for digest in &info.digests {
            let bound = context.digest(digest)?;
            schema.digests.push(bound.id, bound);
        }
        for header in &info.controller_packet_metadata {
            let layout = HeaderLayout::new(header, |name| context.types.is_translated_name(name))?;
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
    if let Some(object) = info.externs.first() {
        return Err(format!(
            "P4Info has the extern type {}, which this target does not support",
            object.extern_type_name
        ));
    }
    match info.pkg_info.as_ref().map(|package| package.arch.as_str()) {
        None | Some("" | "v1model") => Ok(()),
        Some(arch) => Err(format!(
            "pkg_info.arch is {arch} in P4Info, and this target runs v1model programs only"
        )),
    }
}

/// Every object has an id of its own that is not 0, and what direct resources
/// refer to is there.
fn check_ids(info: &config::P4Info) -> Result<(), String> {
    let heads = (info.tables.iter().map(|x| ("table", &x.preamble)))
        .chain(info.actions.iter().map(|x| ("action", &x.preamble)))
        .chain(
            info.action_profiles
                .iter()
                .map(|x| ("action profile", &x.preamble)),
        )
        .chain(info.counters.iter().map(|x| ("counter", &x.preamble)))
        .chain(
            info.direct_counters
                .iter()
                .map(|x| ("direct counter", &x.preamble)),
        )
        .chain(info.meters.iter().map(|x| ("meter", &x.preamble)))
        .chain(
            info.direct_meters
                .iter()
                .map(|x| ("direct meter", &x.preamble)),
        )
        .chain(info.value_sets.iter().map(|x| ("value set", &x.preamble)))
        .chain(info.registers.iter().map(|x| ("register", &x.preamble)))
        .chain(info.digests.iter().map(|x| ("digest", &x.preamble)));
    let mut known = HashMap::new();
    for (kind, head) in heads {
        let head = preamble(head);
        let name = &head.name;
        if head.id == 0 {
            return Err(format!(
                "P4Info's {kind} {name} has no id: preamble.id is 0"
            ));
        }
        if let Some((other, other_name)) = known.insert(head.id, (kind, name)) {
            return Err(format!(
                "P4Info's {kind} {name} and {other} {other_name} have the same id {}",
                head.id
            ));
        }
    }
    let direct = (info.direct_counters.iter())
        .map(|x| ("direct counter", &x.preamble, x.direct_table_id))
        .chain(
            (info.direct_meters.iter()).map(|x| ("direct meter", &x.preamble, x.direct_table_id)),
        );
    for (kind, head, table) in direct {
        if !matches!(known.get(&table), Some(("table", _))) {
            return Err(format!(
                "P4Info's {kind} {} has direct_table_id {table}, and there is no table with that \
                 id",
                preamble(head).name
            ));
        }
    }
    for table in &info.tables {
        for resource in &table.direct_resource_ids {
            if !matches!(
                known.get(resource),
                Some(("direct counter" | "direct meter", _))
            ) {
                return Err(format!(
                    "P4Info's table {} has direct_resource_ids {resource}, and there is no \
                     direct counter or meter with that id",
                    preamble(&table.preamble).name
                ));
            }
        }
    }
    Ok(())
}

/// What to do about a P4Info and a JSON that are not of one program.
const ONE_RUN: &str = "use the P4Info and the JSON of one p4c run";

fn missing(kind: &str, name: &str) -> String {
    format!("P4Info has the {kind} {name} and the JSON does not: {ONE_RUN}")
}

fn differs(
    what: &str,
    of: &str,
    info: impl std::fmt::Display,
    json: impl std::fmt::Display,
) -> String {
    format!("{what} of {of} is {info} in P4Info and {json} in the JSON: {ONE_RUN}")
}

fn same<T: PartialEq + std::fmt::Display>(
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
