// SPDX-License-Identifier: Apache-2.0
//! Marks around statements, for the code that is traced.

use super::Lowering;
use super::emit::Label;
use crate::error::LoadError;
use crate::expr::Expr;
use crate::json::{self, Operand, ParserOp, Primitive};
use crate::layout::Layout;
use crate::op::{Op, Slot};
use crate::trace::{Place, Target};
use serde_json::Value;

impl Lowering<'_> {
    /// A parser operation comes next.
    pub fn before_parser_op(&mut self, op: &ParserOp) {
        self.emitter.mark(|| Place::Before {
            op: op.op.clone(),
            subject: op.parameters.first().and_then(|p| subject(&p["value"])),
            position: json::position(&op.source_info),
        });
    }

    /// It is done.
    pub fn after_parser_op(&mut self, op: &ParserOp) {
        let layout = &self.layout;
        self.emitter.mark(|| Place::After {
            target: (op.op == "set")
                .then(|| op.parameters.first())
                .flatten()
                .and_then(|to| target(layout, to["type"].as_str()?, &to["value"])),
            from: None,
        });
    }

    /// A primitive comes next.
    pub fn before_primitive(&mut self, primitive: &Primitive) {
        self.emitter.mark(|| Place::Before {
            op: primitive.op.clone(),
            subject: primitive.parameters.first().and_then(|o| subject(&o.value)),
            position: json::position(&primitive.source_info),
        });
    }

    /// It is done.
    pub fn after_primitive(&mut self, primitive: &Primitive) {
        let layout = &self.layout;
        self.emitter.mark(|| Place::After {
            target: (primitive.op != "remove_header")
                .then(|| primitive.parameters.first())
                .flatten()
                .and_then(|to| target(layout, &to.kind, &to.value)),
            from: (primitive.op == "assign")
                .then(|| primitive.parameters.get(1))
                .flatten()
                .and_then(|from| target(layout, &from.kind, &from.value))
                .map(|from| from.slot),
        });
    }

    /// The statements of an action come next. `node`: the table or call in the
    /// control flow in whose place they are put.
    pub fn mark_action(&mut self, action: usize, node: Option<&str>) {
        self.emitter.mark(|| Place::Action {
            index: action as u32,
            node: node.map(str::to_owned),
        });
    }

    /// Goes on when the condition holds, else jumps to `no`; tells the tracer which.
    pub fn branch_away(&mut self, condition: &Expr, no: Label) -> Result<(), LoadError> {
        if !self.emitter.marks() {
            return self.emitter.branch(condition, false, no);
        }
        let (told, on) = (self.emitter.label(), self.emitter.label());
        self.emitter.branch(condition, false, told)?;
        self.emitter.mark(|| Place::Outcome(true));
        self.emitter.push(Op::Jump { to: on.0 });
        self.emitter.bind(told);
        self.emitter.mark(|| Place::Outcome(false));
        self.emitter.push(Op::Jump { to: no.0 });
        self.emitter.bind(on);
        Ok(())
    }

    /// The parts of a select key, as far as they are fields of their own.
    pub fn select_parts(&self, key: &[Operand], at: &[(Slot, u16)]) -> Vec<Target> {
        let named = key.iter().zip(at).map(|(operand, (slot, width))| Target {
            name: match operand.kind.as_str() {
                "lookahead" => "lookahead".to_owned(),
                _ => subject(&operand.value).unwrap_or_default(),
            },
            slot: *slot,
            width: *width,
        });
        named.collect()
    }
}

/// The name of what an operand names: a field, a header, a register array.
fn subject(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Array(parts) => {
            let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
            let parts = parts?;
            // p4c keeps metadata and local variables in a struct of its own.
            let parts = match parts.split_first() {
                Some((&"scalars", rest)) => rest,
                _ => &parts[..],
            };
            Some(parts.join("."))
        }
        _ => None,
    }
}

/// The field that an operand names, when it has a place that is always the same.
fn target(layout: &Layout, kind: &str, value: &Value) -> Option<Target> {
    let [header, field] = value.as_array()?.as_slice() else {
        return None;
    };
    if kind != "field" {
        return None;
    }
    let (_, found) = layout.field(header.as_str()?, field.as_str()?).ok()?;
    (!found.var).then(|| Target {
        name: subject(value).unwrap_or_default(),
        slot: found.slot,
        width: found.width,
    })
}
