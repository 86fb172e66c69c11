// SPDX-License-Identifier: Apache-2.0
//! Parser value sets: what they look like, and selects on them.

use super::Lowering;
use super::emit::Label;
use super::names::index_of;
use super::parser::KeyPart;
use crate::error::LoadError;
use crate::json::{Document, Operand, Transition};
use crate::layout::Layout;
use crate::op::Op;
use crate::op::words;
use crate::places::first;
use crate::schema::{KeySchema, MatchKind, ValueSetSchema};
use serde_json::Value;

/// The value sets. BMv2's JSON gives the bits of all fields together; the
/// fields are those of the first select that uses the set.
pub(super) fn value_sets(
    document: &Document,
    layout: &Layout,
) -> Result<Vec<ValueSetSchema>, LoadError> {
    let states = document.parsers.iter().flat_map(|p| &p.parse_states);
    let users = states.flat_map(|state| {
        let cases = state.transitions.iter();
        let cases = cases.filter(|t| t.kind.as_deref() == Some("parse_vset"));
        cases.filter_map(move |t| Some((t.value.as_deref()?, state)))
    });
    let users = first(users);
    let mut sets = Vec::new();
    for set in &document.parse_vsets {
        let fields = match users.get(set.name.as_str()) {
            Some(state) => {
                let parts = state.transition_key.iter().enumerate();
                parts
                    .map(|(at, part)| field(layout, at, part))
                    .collect::<Result<_, _>>()?
            }
            None => vec![key(
                "value",
                u16::try_from(set.compressed_bitwidth).unwrap_or(128),
            )],
        };
        sets.push(ValueSetSchema {
            name: set.name.clone(),
            size: set.max_size.unwrap_or(usize::MAX),
            fields,
        });
    }
    Ok(sets)
}

fn key(name: &str, width: u16) -> KeySchema {
    KeySchema {
        name: name.to_owned(),
        kind: MatchKind::Exact,
        width,
    }
}

fn field(layout: &Layout, at: usize, part: &Operand) -> Result<KeySchema, LoadError> {
    let names: Option<Vec<&str>> = part
        .value
        .as_array()
        .and_then(|names| names.iter().map(Value::as_str).collect());
    Ok(match (part.kind.as_str(), names.as_deref()) {
        ("field", Some([header, name])) => {
            let (_, field) = layout.field(header, name)?;
            key(&format!("{header}.{name}"), field.width)
        }
        ("stack_field", Some([stack, name])) => {
            let of = &layout.stacks[layout.stack_index(stack)?];
            let header = &layout.headers[of.header(0, 0)].name;
            let (_, field) = layout.field(header, name)?;
            key(&format!("{stack}.last.{name}"), field.width)
        }
        _ => {
            let width = part.value.get(1).and_then(Value::as_u64);
            let width = width.and_then(|w| u16::try_from(w).ok());
            let width = width.ok_or_else(|| {
                LoadError::new(format!(
                    "a value set over a key of kind {} is not supported",
                    part.kind
                ))
            })?;
            key(&format!("key_{at}"), width)
        }
    })
}

impl Lowering<'_> {
    /// Jumps to `to` when the set has the key.
    pub(super) fn value_set_case(
        &mut self,
        transition: &Transition,
        parts: &[KeyPart],
        to: Label,
    ) -> Result<(), LoadError> {
        let name = transition.value.as_deref().unwrap_or_default();
        if transition.mask.is_some() {
            return Err(LoadError::new(format!(
                "a mask on the value set {name} is not supported"
            )));
        }
        let set = index_of(&self.names.value_sets, "value set", name)?;
        let fields = &self.value_sets[usize::from(set)].fields;
        if !fields
            .iter()
            .map(|f| f.width)
            .eq(parts.iter().map(|p| p.width))
        {
            return Err(LoadError::new(format!(
                "the value set {name} is used with keys of different widths"
            )));
        }
        // The words of the key one after the other.
        let total: u16 = parts.iter().map(|p| words(p.width)).sum();
        let key = self.emitter.temporary(usize::from(total))?;
        let mut d = key;
        for part in parts {
            for word in 0..words(part.width) {
                let a = part.slot + word;
                self.emitter.push(Op::Mov { d, a });
                d += 1;
            }
        }
        self.emitter.push(Op::JumpInSet {
            words: total as u8,
            set,
            key,
            to: to.0,
        });
        Ok(())
    }
}
