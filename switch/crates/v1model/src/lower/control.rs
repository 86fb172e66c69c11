// SPDX-License-Identifier: Apache-2.0
//! The control flow of ingress and egress: tables, conditions, calls.
//!
//! p4c turns every statement outside an action into a table without a key
//! whose action is constant. Such tables cannot be seen or changed by the
//! control plane, so their actions are put in place instead of being looked up.

use super::emit::Label;
use super::node::Node;
use super::{Lowering, circle};
use crate::error::LoadError;
use crate::expr::Expr;
use crate::json::{self, Table};
use crate::op::Op;
use crate::trace::Place;
use std::collections::HashMap;

/// Where control goes after a node has been put in place.
enum Then<'d> {
    /// To this node, or to the pipeline's end.
    Next(Option<&'d str>),
    /// The node's own instructions know.
    Elsewhere,
}

impl<'d> Lowering<'d> {
    /// A pipeline by its name; gives its first instruction.
    pub fn pipeline(&mut self, name: &str) -> Result<Label, LoadError> {
        let document: &'d json::Document = self.document;
        let pipeline = document
            .pipelines
            .iter()
            .find(|p| p.name == name)
            .ok_or_else(|| {
                LoadError::new(format!(
                    "the program has no {name} pipeline, so it is not for v1model"
                ))
            })?;
        let mut nodes: HashMap<&str, (Node, Label)> = HashMap::new();
        for table in &pipeline.tables {
            nodes.insert(&table.name, (Node::Table(table), self.emitter.label()));
        }
        for conditional in &pipeline.conditionals {
            let node = Node::Conditional(conditional);
            nodes.insert(&conditional.name, (node, self.emitter.label()));
        }
        for call in &pipeline.action_calls {
            nodes.insert(&call.name, (Node::Call(call), self.emitter.label()));
        }
        let end = self.emitter.label();
        let label = |name: Option<&str>| match name {
            None => Ok(end),
            Some(name) => nodes.get(name).map(|(_, label)| *label).ok_or_else(|| {
                LoadError::new(format!(
                    "the BMv2 JSON is malformed: there is no node {name}"
                ))
            }),
        };
        let start = label(pipeline.init_table.as_deref())?;
        circle::refuse(name, pipeline.init_table.as_deref(), &nodes)?;

        // Nodes still to be put in place. A chain of nodes that follow each
        // other is put in place without jumps.
        let mut waiting: Vec<&str> = pipeline.init_table.as_deref().into_iter().collect();
        while let Some(name) = waiting.pop() {
            let mut current = Some(name);
            while let Some(name) = current {
                let Some(&(node, here)) = nodes.get(name) else {
                    return Err(LoadError::new(format!(
                        "the BMv2 JSON is malformed: there is no node {name}"
                    )));
                };
                if self.emitter.bound(here) {
                    break;
                }
                self.emitter.bind(here);
                let then = self.node(node, &label, &mut waiting)?;
                self.emitter.release_temporaries();
                self.emitter.statement()?;
                current = match then {
                    Then::Elsewhere => None,
                    Then::Next(None) => {
                        self.emitter.push(Op::End);
                        None
                    }
                    Then::Next(Some(next)) => {
                        let to = label(Some(next))?;
                        if self.emitter.bound(to) {
                            self.emitter.push(Op::Jump { to: to.0 });
                        }
                        Some(next)
                    }
                };
            }
        }
        self.emitter.bind(end);
        self.emitter.push(Op::End);
        Ok(start)
    }

    fn node(
        &mut self,
        node: Node<'d>,
        label: &dyn Fn(Option<&str>) -> Result<Label, LoadError>,
        waiting: &mut Vec<&'d str>,
    ) -> Result<Then<'d>, LoadError> {
        match node {
            Node::Conditional(conditional) => {
                let at = || json::position(&conditional.source_info);
                let condition = Expr::parse(&self.layout, &[], &conditional.expression)
                    .map_err(|e| e.at(at()))?;
                let condition = condition.into_bool();
                let no = label(conditional.false_next.as_deref())?;
                self.emitter.mark(|| Place::Condition { position: at() });
                self.branch_away(&condition, no).map_err(|e| e.at(at()))?;
                waiting.extend(conditional.false_next.as_deref());
                Ok(Then::Next(conditional.true_next.as_deref()))
            }
            Node::Call(call) => {
                let action = self.action_index(call.action_id)?;
                self.mark_action(action, Some(&call.name));
                self.action_body(action, &[])?;
                Ok(Then::Next(call.next_node.as_deref()))
            }
            Node::Table(table) => {
                let at = || json::position(&table.source_info);
                if let Some((action, args)) = self.constant_call(table).map_err(|e| e.at(at()))? {
                    self.mark_action(action, Some(&table.name));
                    self.action_body(action, &args)?;
                    let name = &self.document.actions[action].name;
                    let next = next_of(table, name, false);
                    self.note_constant_table(table).map_err(|e| e.at(at()))?;
                    return Ok(Then::Next(next));
                }
                let index = self.table(table, label).map_err(|e| e.at(at()))?;
                let lowered = &self.tables[usize::from(index)];
                let needs_more = lowered.meter.is_some()
                    || lowered.profile.is_some()
                    || lowered.schema.idle_timeout;
                self.emitter.push(if needs_more {
                    Op::ApplyWith { table: index }
                } else {
                    Op::Apply { table: index }
                });
                for next in table.next_tables.values() {
                    waiting.extend(next.as_deref());
                }
                waiting.extend(table.base_default_next.as_deref());
                Ok(Then::Elsewhere)
            }
        }
    }
}

/// The node after an action of a table.
pub(super) fn next_of<'d>(table: &'d Table, action: &str, hit: bool) -> Option<&'d str> {
    let by_result = table
        .next_tables
        .get(if hit { "__HIT__" } else { "__MISS__" });
    match by_result.or_else(|| table.next_tables.get(action)) {
        Some(next) => next.as_deref(),
        None => table.base_default_next.as_deref(),
    }
}

/// The node after a table that found no action to run, which is as if it had
/// run NoAction (PSA's default for empty groups).
pub(super) fn next_without_action(table: &Table, hit: bool) -> Option<&str> {
    let by_result = table
        .next_tables
        .get(if hit { "__HIT__" } else { "__MISS__" });
    match by_result.or_else(|| table.next_tables.get("NoAction")) {
        Some(next) => next.as_deref(),
        None => table.base_default_next.as_deref(),
    }
}
