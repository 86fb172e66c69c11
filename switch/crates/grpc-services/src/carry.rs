// SPDX-License-Identifier: Apache-2.0
//! Updates that bring the state of one pipeline into another, which begins with
//! the entries that its own P4 gives: of such entries only what a client made of
//! them is carried over.

use std::collections::HashSet;

use tonic::Code;
use v1model::{EntryAction, EntryOptions, TableId};

use crate::change::Change;
use crate::failure::Failure;
use crate::op::{EntryOp, Op};
use crate::pipeline_config::PipelineConfig;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::proto::p4::v1::update::Type;
use crate::read::key_fields;
use crate::write;

/// Makes the updates, and notes which entries of P4 are still there.
pub struct Carrier<'a> {
    from: &'a PipelineConfig,
    to: &'a PipelineConfig,
    /// Table and number of the entries that P4 gave `from`, as far as they were seen.
    seen: HashSet<(TableId, usize)>,
}

impl<'a> Carrier<'a> {
    pub fn new(from: &'a PipelineConfig, to: &'a PipelineConfig) -> Self {
        Carrier {
            from,
            to,
            seen: HashSet::new(),
        }
    }

    /// The operation that brings the object, which `update` would create in `from`, into `to`;
    /// `None` if there is nothing to do.
    ///
    /// # Errors
    /// `to` does not have the table, action or field.
    pub fn update(&mut self, update: p4::Update) -> Result<Option<Op>, Failure> {
        if self.is_as_given(&update) {
            return Ok(self.resources(update));
        }
        let mut op = write::resolve(&self.to.schema, None, &update)?;
        if let Op::Entry(op) = &mut op
            && op.change == Change::Insert
            && self.is_initial(op)
        {
            op.change = Change::Modify;
        }
        Ok(Some(op))
    }

    /// The operations that delete those entries that the P4 of both pipelines gives and that a
    /// client has deleted in `from`.
    ///
    /// # Errors
    /// The entries are const in `to`.
    pub fn deletions(&self) -> Result<Vec<Op>, Failure> {
        let mut ops = Vec::new();
        let tables = self.from.schema.tables.list().iter();
        for table in tables.filter(|table| table.preinitialized.is_some()) {
            let entries = self.from.program.initial_entries(table.table);
            for (at, (key, _)) in entries.iter().enumerate() {
                if self.seen.contains(&(table.table, at)) {
                    continue;
                }
                let update = p4::Update {
                    r#type: Type::Delete as i32,
                    entity: Some(p4::Entity {
                        entity: Some(Entity::TableEntry(Box::new(key_fields(table, Some(key))))),
                    }),
                };
                match write::resolve(&self.to.schema, None, &update) {
                    Ok(Op::Entry(op)) if self.is_initial(&op) => ops.push(Op::Entry(op)),
                    Err(failure) if failure.code == Code::PermissionDenied => return Err(failure),
                    // `to` has no such table, or no such entry in it.
                    _ => {}
                }
            }
        }
        Ok(ops)
    }

    /// Whether it is an entry of `from` that P4 gave and nobody changed.
    fn is_as_given(&mut self, update: &p4::Update) -> bool {
        let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
        let Some(Entity::TableEntry(entry)) = entity else {
            return false;
        };
        let table = self.from.schema.tables.get(entry.table_id);
        if table.is_none_or(|table| table.preinitialized.is_none()) {
            return false;
        }
        let Ok(Op::Entry(own)) = write::resolve(&self.from.schema, None, update) else {
            return false;
        };
        let program = &self.from.program;
        let Some(at) = program.initial_entry(own.table, &own.key) else {
            return false;
        };
        self.seen.insert((own.table, at));
        let (_, given) = &program.initial_entries(own.table)[at];
        own.action == Some(EntryAction::Call(given.clone()))
            && own.options == EntryOptions::default()
    }

    /// The direct resources of an entry that is as P4 gave it, where it is in `to`, too.
    fn resources(&self, mut update: p4::Update) -> Option<Op> {
        update.set_type(Type::Modify);
        let entity = update.entity.as_mut()?.entity.as_mut()?;
        let Entity::TableEntry(entry) = entity else {
            return None;
        };
        entry.action = None;
        match write::resolve(&self.to.schema, None, &update) {
            Ok(Op::Entry(mut op)) if self.is_initial(&op) => {
                op.only_resources = true;
                Some(Op::Entry(op))
            }
            _ => None,
        }
    }

    /// Whether P4 gives `to` this entry.
    fn is_initial(&self, op: &EntryOp) -> bool {
        let found = self.to.program.initial_entry(op.table, &op.key);
        found.is_some()
    }
}
