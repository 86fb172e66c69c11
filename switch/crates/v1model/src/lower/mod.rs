// SPDX-License-Identifier: Apache-2.0
//! From BMv2 JSON to instructions.

mod action;
mod branch;
mod carry;
mod checksum;
mod circle;
mod control;
mod emit;
mod errors;
mod finish;
mod fuse;
mod generate;
mod header_ref;
pub(crate) mod limits;
mod live;
mod marks;
mod meter;
mod names;
mod node;
mod operand;
mod optimise;
mod packet_ops;
mod parser;
mod profile;
mod size;
mod stack;
mod tables;
mod value_set;
mod verify;

use crate::calculation::Calculation;
use crate::code::{Code, Message, ParserErrors};
use crate::error::LoadError;
use crate::json::{self, Document, Named, RuntimeData};
use crate::layout::{Known, Layout};
use crate::load_options::LoadOptions;
use crate::origin::Origin;
use crate::schema::{
    ActionProfileSchema, ActionSchema, CounterSchema, DigestSchema, MeterSchema, RegisterSchema,
    TableSchema, ValueSetSchema,
};
use emit::{Emitter, Label};
use names::{Names, index_of};
use std::collections::HashMap;

/// A program as lowered: what packets need, and what the control plane sees.
pub(crate) struct Lowered {
    pub code: Code,
    /// What is known of metadata fields once the code is there.
    pub known: Known,
    pub tables: Vec<TableSchema>,
    pub actions: Vec<ActionSchema>,
    pub registers: Vec<RegisterSchema>,
    pub counters: Vec<CounterSchema>,
    pub meters: Vec<MeterSchema>,
    pub action_profiles: Vec<ActionProfileSchema>,
    pub value_sets: Vec<ValueSetSchema>,
    pub digests: Vec<DigestSchema>,
}

/// The work in progress.
struct Lowering<'a> {
    document: &'a Document,
    layout: Layout,
    emitter: Emitter,
    names: Names<'a>,
    errors: ParserErrors,
    registers: Vec<RegisterSchema>,
    counters: Vec<CounterSchema>,
    meters: Vec<MeterSchema>,
    action_profiles: Vec<ActionProfileSchema>,
    value_sets: Vec<ValueSetSchema>,
    digests: Vec<DigestSchema>,
    messages: Vec<Message>,
    calculations: Vec<Calculation>,
    /// Index of the JSON's action by its id.
    action_ids: HashMap<u64, usize>,
    /// Code of an action that tables call, by its index.
    action_labels: Vec<Label>,
    /// Code of a table's lookup that finds no action to run.
    no_action: Label,
    tables: Vec<tables::LoweredTable>,
    field_lists: packet_ops::FieldLists,
    purpose: Purpose,
}

/// Which code is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// As few instructions as possible.
    Speed,
    /// Every step of the P4 program, with marks.
    Trace,
}

/// Lowers BMv2 JSON; gives the code that is traced, too, and where it comes from.
pub(crate) fn lower(
    text: &[u8],
    options: &LoadOptions,
) -> Result<(Lowered, Code, Origin), LoadError> {
    let document: Document = serde_json::from_slice(text)
        .map_err(|e| LoadError::new(format!("this is not the BMv2 JSON of a P4 program: {e}")))?;
    refuse_unsupported(&document)?;
    // Twice: which slots a packet resets, and which it takes with it, is known of the code
    // alone, and then they are laid out next to each other.
    let known = lower_document(&document, options, Purpose::Speed, &Known::default())?.known;
    let lowered = lower_document(&document, options, Purpose::Speed, &known)?;
    limits::check(&lowered)?;
    let traced = lower_document(&document, options, Purpose::Trace, &known)?.code;
    // Packets go from one to the other when tracing is switched on or off.
    if traced.template != lowered.code.template {
        return Err(LoadError::new(
            "the program was lowered in two ways that do not fit; this is a fault of the switch",
        ));
    }
    let origin = Origin::new(&document.program, &document.meta);
    Ok((lowered, traced, origin))
}

fn lower_document(
    document: &Document,
    options: &LoadOptions,
    purpose: Purpose,
    known: &Known,
) -> Result<Lowered, LoadError> {
    let params = document
        .actions
        .iter()
        .map(|a| a.runtime_data.iter().map(RuntimeData::slots).sum())
        .max()
        .unwrap_or(0);
    let layout = Layout::new(document, params, options.bmv2_quirks, known)?;
    let mut emitter = Emitter::new(&layout, purpose == Purpose::Trace);
    let action_labels = document.actions.iter().map(|_| emitter.label()).collect();
    let mut lowering = Lowering {
        names: Names::new(document),
        errors: errors::parser_errors(document),
        registers: registers(document)?,
        counters: document
            .counter_arrays
            .iter()
            .filter(|c| !c.is_direct)
            .map(|c| CounterSchema {
                name: c.name.clone(),
                size: c.size.unwrap_or(0),
            })
            .collect(),
        meters: meter::meters(document)?,
        action_profiles: profile::profiles(document),
        value_sets: value_set::value_sets(document, &layout)?,
        digests: packet_ops::digest_schemas(document, &layout)?,
        messages: Vec::new(),
        calculations: Vec::new(),
        action_ids: document
            .actions
            .iter()
            .enumerate()
            .map(|(i, a)| (a.id, i))
            .collect(),
        no_action: emitter.label(),
        action_labels,
        tables: Vec::new(),
        field_lists: packet_ops::FieldLists::default(),
        document,
        layout,
        emitter,
        purpose,
    };
    let (parser, parser_end) = lowering.parser()?;
    let ingress = lowering.pipeline("ingress")?;
    let egress = lowering.pipeline("egress")?;
    lowering.called_actions()?;
    let deparser = lowering.deparser()?;
    lowering.finish(parser, parser_end, ingress, egress, deparser)
}

impl Lowering<'_> {
    fn register_index(&self, name: &str) -> Result<u16, LoadError> {
        index_of(&self.names.registers, "register array", name)
    }

    fn counter_index(&self, name: &str) -> Result<u16, LoadError> {
        index_of(&self.names.counters, "counter array", name)
    }
}

fn registers(document: &Document) -> Result<Vec<RegisterSchema>, LoadError> {
    document
        .register_arrays
        .iter()
        .map(|r| {
            let width = u16::try_from(r.bitwidth)
                .ok()
                .filter(|w| (1..=128).contains(w));
            match width {
                Some(width) => Ok(RegisterSchema {
                    name: r.name.clone(),
                    size: r.size,
                    width,
                }),
                None => Err(LoadError::new(format!(
                    "register {} has {} bits; 1 to 128 are supported",
                    r.name, r.bitwidth
                ))
                .at(json::position(&r.source_info))),
            }
        })
        .collect()
}

/// What this target does not have yet is refused here by name, at load, so
/// that it can never be skipped when a packet comes.
fn refuse_unsupported(document: &Document) -> Result<(), LoadError> {
    let refuse = |kind: &str, list: &[Named]| match list.first() {
        None => Ok(()),
        Some(first) => Err(
            LoadError::new(format!("{kind} {} is not supported", first.name))
                .at(json::position(&first.source_info)),
        ),
    };
    refuse("extern instance", &document.extern_instances)?;
    Ok(())
}
