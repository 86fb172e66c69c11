// SPDX-License-Identifier: Apache-2.0
//! A loaded program: immutable, shared by the pipelines that run it.

use crate::code::Code;
use crate::error::LoadError;
use crate::load_options::LoadOptions;
use crate::lower::{Lowered, limits, lower};
use crate::origin::Origin;
use crate::schema::*;
use crate::table::{Context, Table};
use crate::trace::Tracer;
use std::sync::atomic::{AtomicU64, Ordering};

/// A P4 program for v1model, lowered from p4c's BMv2 JSON.
#[derive(Debug)]
pub struct Program {
    pub(crate) code: Code,
    /// The same as `code`, with marks and without optimisation.
    pub(crate) traced: Code,
    pub(crate) tables: Vec<TableSchema>,
    pub(crate) actions: Vec<ActionSchema>,
    pub(crate) registers: Vec<RegisterSchema>,
    pub(crate) counters: Vec<CounterSchema>,
    pub(crate) meters: Vec<MeterSchema>,
    pub(crate) action_profiles: Vec<ActionProfileSchema>,
    pub(crate) value_sets: Vec<ValueSetSchema>,
    pub(crate) digests: Vec<DigestSchema>,
    /// The tables with the entries that P4 gives.
    pub(crate) initial_tables: Vec<Table>,
    pub(crate) origin: Origin,
    /// See [`LoadOptions::grow`].
    pub(crate) grows: bool,
    /// Tells packets of one program from those of another; never 0.
    pub(crate) id: u64,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Program {
    /// Lowers BMv2 JSON (format 2.x, as p4c-bm2-ss writes it).
    ///
    /// # Errors
    /// Not such JSON, or the program uses what this target does not support;
    /// the error names it, with its place in the P4 source.
    pub fn load(json: &[u8]) -> Result<Program, LoadError> {
        Self::load_with(json, &LoadOptions::default())
    }

    /// Like [`Program::load`], with a choice of how the program is understood.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn load_with(json: &[u8], options: &LoadOptions) -> Result<Program, LoadError> {
        let (lowered, traced, origin) = lower(json, options)?;
        let Lowered {
            code,
            tables,
            actions,
            registers,
            counters,
            meters,
            action_profiles,
            value_sets,
            digests,
            known: _,
        } = lowered;
        let mut initial_tables = Vec::new();
        let mut bytes = 0usize;
        for (schema, lowered) in tables.iter().zip(&code.tables) {
            let mut table = Table::new(schema, &actions, &lowered.keys, lowered.default.as_ref());
            let mut context = Context {
                schema,
                actions: &actions,
                profile: None,
            };
            limits::check_entries(schema, bytes + table.kept_bytes())?;
            for (key, action) in &lowered.entries {
                let (action, options) = (action.clone().into(), EntryOptions::default());
                table
                    .insert_unchecked(&mut context, 0, key, &action, &options)
                    .map_err(|e| {
                        LoadError::new(format!(
                            "the entries of table {} are wrong: {e}",
                            schema.name
                        ))
                    })?;
                limits::check_entries(schema, bytes + table.kept_bytes())?;
            }
            bytes += table.kept_bytes();
            initial_tables.push(table);
        }
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Program {
            code,
            traced,
            tables,
            actions,
            registers,
            counters,
            meters,
            action_profiles,
            value_sets,
            digests,
            initial_tables,
            origin,
            grows: options.grow,
            id,
        })
    }

    /// The code that the machine runs for a tracer.
    #[inline(always)]
    pub(crate) fn code_for<T: Tracer>(&self) -> &Code {
        if T::ENABLED { &self.traced } else { &self.code }
    }

    /// What it says of itself.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The tables, also those that the compiler made ([`TableSchema::hidden`]).
    pub fn tables(&self) -> &[TableSchema] {
        &self.tables
    }

    /// The actions.
    pub fn actions(&self) -> &[ActionSchema] {
        &self.actions
    }

    /// The register arrays.
    pub fn registers(&self) -> &[RegisterSchema] {
        &self.registers
    }

    /// The indirect counter arrays.
    pub fn counters(&self) -> &[CounterSchema] {
        &self.counters
    }

    /// The indirect meter arrays.
    pub fn meters(&self) -> &[MeterSchema] {
        &self.meters
    }

    /// The action profiles and selectors.
    pub fn action_profiles(&self) -> &[ActionProfileSchema] {
        &self.action_profiles
    }

    /// The parser value sets.
    pub fn value_sets(&self) -> &[ValueSetSchema] {
        &self.value_sets
    }

    /// The digests.
    pub fn digests(&self) -> &[DigestSchema] {
        &self.digests
    }

    /// The entries that P4 gives a table, in P4's order.
    pub fn initial_entries(&self, table: TableId) -> &[(EntryKey, ActionCall)] {
        let table = self.code.tables.get(table.0 as usize);
        table.map_or(&[], |table| &table.entries)
    }

    /// Which of [`Program::initial_entries`] has this key.
    pub fn initial_entry(&self, table: TableId, key: &EntryKey) -> Option<usize> {
        let schema = self.tables.get(table.0 as usize)?;
        self.initial_tables
            .get(table.0 as usize)?
            .number(schema, key)
    }

    /// A table by its fully qualified name.
    pub fn table(&self, name: &str) -> Option<TableId> {
        position(&self.tables, |t| t.name == name).map(TableId)
    }

    /// An action of a table by its fully qualified name.
    pub fn table_action(&self, table: TableId, name: &str) -> Option<ActionId> {
        let table = self.tables.get(table.0 as usize)?;
        table
            .actions
            .iter()
            .copied()
            .find(|a| self.actions[a.0 as usize].name == name)
    }

    /// A register array by its fully qualified name.
    pub fn register(&self, name: &str) -> Option<RegisterId> {
        position(&self.registers, |r| r.name == name).map(RegisterId)
    }

    /// An indirect counter array by its fully qualified name.
    pub fn counter(&self, name: &str) -> Option<CounterId> {
        position(&self.counters, |c| c.name == name).map(CounterId)
    }

    /// An indirect meter array by its fully qualified name.
    pub fn meter(&self, name: &str) -> Option<MeterId> {
        position(&self.meters, |m| m.name == name).map(MeterId)
    }

    /// An action profile or selector by its fully qualified name.
    pub fn action_profile(&self, name: &str) -> Option<ActionProfileId> {
        position(&self.action_profiles, |p| p.name == name).map(ActionProfileId)
    }

    /// A parser value set by its fully qualified name.
    pub fn value_set(&self, name: &str) -> Option<ValueSetId> {
        position(&self.value_sets, |v| v.name == name).map(ValueSetId)
    }

    /// A digest by its fully qualified name.
    pub fn digest(&self, name: &str) -> Option<DigestId> {
        position(&self.digests, |d| d.name == name).map(DigestId)
    }
}

fn position<T>(list: &[T], wanted: impl FnMut(&T) -> bool) -> Option<u32> {
    list.iter()
        .position(wanted)
        .and_then(|i| u32::try_from(i).ok())
}
