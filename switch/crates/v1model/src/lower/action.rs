// SPDX-License-Identifier: Apache-2.0
//! Actions and their primitives.

use super::Lowering;
use crate::code::Message;
use crate::error::LoadError;
use crate::expr::{Arith, Expr};
use crate::header::Field;
use crate::json::{self, Operand, Primitive};
use crate::op::{Op, Slot, words};
use crate::trace::Place;
use crate::wide::Form;

impl Lowering<'_> {
    /// The code of all actions that tables call.
    pub fn called_actions(&mut self) -> Result<(), LoadError> {
        self.emitter.bind(self.no_action);
        self.emitter.push(Op::Return);
        for index in 0..self.document.actions.len() {
            let label = self.action_labels[index];
            self.emitter.bind(label);
            let action = &self.document.actions[index];
            let mut slot = self.layout.params;
            let params: Vec<Expr> = action
                .runtime_data
                .iter()
                .map(|param| {
                    let first = slot;
                    slot += param.slots();
                    Expr::Load {
                        slot: first as Slot,
                        width: param.bitwidth as u16,
                        signed: false,
                    }
                })
                .collect();
            self.mark_action(index, None);
            self.action_body(index, &params)?;
            self.emitter.push(Op::Return);
        }
        Ok(())
    }

    /// The primitives of an action, in place.
    pub fn action_body(&mut self, action: usize, params: &[Expr]) -> Result<(), LoadError> {
        let document = self.document;
        let primitives = &document.actions[action].primitives;
        // Targets of _jump are indices of primitives, the end included.
        let jumps = primitives.iter().any(|p| p.op.starts_with("_jump"));
        let labels: Vec<_> = if jumps {
            (0..=primitives.len())
                .map(|_| self.emitter.label())
                .collect()
        } else {
            Vec::new()
        };
        for (index, primitive) in primitives.iter().enumerate() {
            if let Some(label) = labels.get(index) {
                self.emitter.bind(*label);
            }
            let at = || json::position(&primitive.source_info);
            self.emitter.statement().map_err(|e| e.at(at()))?;
            let jumps = primitive.op.starts_with("_jump");
            if !jumps {
                self.before_primitive(primitive);
            }
            let jump_target = |operand: Option<&Operand>| {
                let to = operand
                    .and_then(|o| o.value.as_str())
                    .and_then(|text| json::unsigned(text).ok())
                    .and_then(|n| usize::try_from(n).ok())
                    .filter(|to| *to < labels.len())
                    .ok_or_else(|| malformed(primitive).at(at()))?;
                if to <= index {
                    return Err(jumps_back(&document.actions[action].name, index, to).at(at()));
                }
                Ok(labels[to])
            };
            match primitive.op.as_str() {
                "_jump" => {
                    let to = jump_target(primitive.parameters.first())?.0;
                    self.emitter.push(Op::Jump { to });
                }
                "_jump_if_zero" => {
                    let to = jump_target(primitive.parameters.get(1))?;
                    let cond = primitive
                        .parameters
                        .first()
                        .ok_or_else(|| malformed(primitive))?;
                    let cond = Expr::parse(&self.layout, params, cond).map_err(|e| e.at(at()))?;
                    let cond = cond.into_bool();
                    self.emitter.mark(|| Place::Condition { position: at() });
                    self.branch_away(&cond, to).map_err(|e| e.at(at()))?;
                }
                _ => self.primitive(primitive, params).map_err(|e| e.at(at()))?,
            }
            if !jumps {
                self.after_primitive(primitive);
            }
            self.emitter.release_temporaries();
        }
        if let Some(label) = labels.last() {
            self.emitter.bind(*label);
        }
        Ok(())
    }

    /// One primitive that is no jump.
    pub fn primitive(&mut self, primitive: &Primitive, params: &[Expr]) -> Result<(), LoadError> {
        let operands = &primitive.parameters;
        let count = |n: usize| {
            if operands.len() == n {
                Ok(())
            } else {
                Err(malformed(primitive))
            }
        };
        match primitive.op.as_str() {
            "assign" | "modify_field" => {
                count(2)?;
                let value = Expr::parse(&self.layout, params, &operands[1])?;
                self.assign_operand(&operands[0], &value, params)
            }
            "assign_VL" => {
                count(2)?;
                self.assign_var(&operands[0], &operands[1])
            }
            "assign_header" => self.assign_header(primitive, params),
            "assign_header_stack" => self.assign_stack(primitive, "header_stack"),
            "assign_union" => self.assign_union(primitive, params),
            "assign_union_stack" => self.assign_stack(primitive, "header_union_stack"),
            "push" | "pop" => self.shift_stack(primitive),
            "add_header" => {
                count(1)?;
                self.add_header(&operands[0], params)
            }
            "remove_header" => {
                count(1)?;
                self.remove_header(&operands[0], params)
            }
            "mark_to_drop" => {
                count(1)?;
                self.mark_to_drop(&operands[0])
            }
            "exit" => {
                self.emitter.push(Op::End);
                Ok(())
            }
            "no_op" => Ok(()),
            "count" => {
                count(2)?;
                let counter = self.counter_index(operands[0].name("counter_array")?)?;
                let index = self.natural(&operands[1], params)?;
                self.emitter.push(Op::Count { counter, index });
                Ok(())
            }
            "execute_meter" => {
                count(3)?;
                self.execute_meter(operands, params)
            }
            "register_read" => {
                count(3)?;
                let register = self.register_index(operands[1].name("register_array")?)?;
                let to = self.target(&operands[0], params)?;
                let field = &to.field;
                let index = self.natural(&operands[2], params)?;
                let (d, w) = (field.slot, field.width as u8);
                let stored = self.registers[usize::from(register)].width;
                if stored > 64 || field.width > 64 {
                    if field.width > 128 {
                        return Err(LoadError::new(
                            "a register read into more than 128 bits is not supported",
                        ));
                    }
                    let target = if field.width > 64 {
                        d
                    } else {
                        self.emitter.temporary(2)?
                    };
                    if target != d {
                        // An index past the end leaves the field as it is.
                        self.emitter.push(Op::Mov { d: target, a: d });
                    }
                    self.emitter.push(Op::RegisterReadW {
                        d: target,
                        index,
                        register,
                        w,
                    });
                    if target != d {
                        self.emitter.push(Op::Cut { d, a: target, w });
                    }
                } else {
                    self.emitter.push(Op::RegisterRead {
                        d,
                        index,
                        register,
                        w,
                    });
                }
                self.written(&to)
            }
            "register_write" => {
                count(3)?;
                let register = self.register_index(operands[0].name("register_array")?)?;
                let index = self.natural(&operands[1], params)?;
                let value = Expr::parse(&self.layout, params, &operands[2])?;
                if self.registers[usize::from(register)].width > 64 {
                    let a = self.emitter.value_wide(&value)?;
                    self.emitter.push(Op::RegisterWriteW { a, index, register });
                } else {
                    let a = self.emitter.value(&value)?;
                    self.emitter.push(Op::RegisterWrite { a, index, register });
                }
                Ok(())
            }
            "modify_field_rng_uniform" => {
                count(3)?;
                let to = self.target(&operands[0], params)?;
                let low = self.natural(&operands[1], params)?;
                let high = self.natural(&operands[2], params)?;
                self.with_narrow(&to.field, |d, w| Op::Random { d, low, high, w })?;
                self.written(&to)
            }
            "modify_field_with_hash_based_offset" => {
                count(4)?;
                let to = self.target(&operands[0], params)?;
                let field = &to.field;
                let base = Expr::parse(&self.layout, params, &operands[1])?;
                let calculation = self.calculation(operands[2].name("calculation")?)?;
                let size = self.natural(&operands[3], params)?;
                if field.width > 64 || base.range().bits() > 64 {
                    let (d, zero) = (self.emitter.temporary(1)?, self.emitter.constant(0)?);
                    self.emitter.push(Op::Hash {
                        d,
                        calculation,
                        base: zero,
                        size,
                    });
                    let hash = Expr::Load {
                        slot: d,
                        width: 64,
                        signed: false,
                    };
                    let value = Expr::Arith(Arith::Add, Box::new(base), Box::new(hash));
                    self.emitter.assign(field, &value)?;
                    return self.written(&to);
                }
                let base = self.emitter.natural(&base)?;
                self.with_narrow(field, |d, _| Op::Hash {
                    d,
                    calculation,
                    base,
                    size,
                })?;
                let (d, w) = (field.slot, field.width.min(64) as u8);
                self.emitter.push(Op::Cut { d, a: d, w });
                self.written(&to)
            }
            "log_msg" => {
                let text = operands.first().and_then(|o| o.value.as_str());
                let text = text.ok_or_else(|| malformed(primitive))?.to_owned();
                let values: Vec<Operand> = match operands.get(1) {
                    // p4c writes an empty object for no values.
                    Some(values) if values.value.is_object() => Vec::new(),
                    Some(values) => json::from_value("log_msg", &values.value)?,
                    None => Vec::new(),
                };
                let message = self.message(&text, &values, params)?;
                self.emitter.push(Op::Log { message });
                Ok(())
            }
            "assert" | "assume" => {
                count(1)?;
                let condition = Expr::parse(&self.layout, params, &operands[0])?.into_bool();
                let a = self.emitter.boolean(&condition)?;
                let place = json::position(&primitive.source_info);
                let place = place.map_or_else(String::new, |p| p.to_string());
                let text = format!("{place}: {} failed; the packet is dropped", primitive.op);
                let text = text.replace('{', "(").replace('}', ")");
                let message = self.message(&text, &[], params)?;
                self.emitter.push(Op::Assert { a, message });
                Ok(())
            }
            _ => self.packet_op(primitive, params),
        }
    }

    /// `mark_to_drop(header)`: sets `egress_spec` and `mcast_grp` of the header that it names.
    /// That may be a copy of the standard metadata, which p4c makes for every action and control
    /// that has them for an `inout` parameter, and puts back behind it.
    fn mark_to_drop(&mut self, operand: &Operand) -> Result<(), LoadError> {
        let name = operand.name("header")?;
        let header = self.layout.header(name)?;
        let slot = |field: &str| {
            let found = self.layout.field(name, field).ok();
            found.filter(|(_, f)| !f.var).map(|(_, f)| f.slot)
        };
        let spec = slot("egress_spec").ok_or_else(|| {
            LoadError::new(format!(
                "mark_to_drop of {} is not supported: it has no field egress_spec",
                header.name
            ))
        })?;
        let group = slot("mcast_grp").or_else(|| {
            // P4_14's programs may have the group of the standard metadata elsewhere.
            let is_standard = self.layout.standard("egress_spec") == Some(spec);
            let group = self.layout.standard("mcast_grp");
            group.filter(|_| is_standard)
        });
        let group = group.unwrap_or(self.layout.absent_zero);
        let raw = (!header.metadata).then_some(header.raw);
        self.emitter.push(Op::MarkToDrop { spec, group });
        if let Some(d) = raw {
            let a = self.emitter.constant(0)?;
            self.emitter.push(Op::Mov { d, a });
        }
        Ok(())
    }

    /// Assigns to the field that an operand names.
    pub fn assign_operand(
        &mut self,
        target: &Operand,
        value: &Expr,
        params: &[Expr],
    ) -> Result<(), LoadError> {
        let target = self.target(target, params)?;
        self.emitter.assign(&target.field, value)?;
        self.written(&target)
    }

    /// The field that an operand names, to write to.
    pub fn destination(&self, operand: &Operand) -> Result<Field, LoadError> {
        if operand.kind != "field" {
            return Err(LoadError::new(format!(
                "an assignment to a target of kind {} is not supported",
                operand.kind
            )));
        }
        let (header, field): (String, String) = json::from_value("a field", &operand.value)?;
        let (_, field) = self.layout.field(&header, &field)?;
        Ok(field)
    }

    /// Notes that the field's header is no longer as received.
    pub fn touch(&mut self, operand: &Operand) -> Result<(), LoadError> {
        let (header, _): (String, String) = json::from_value("a field", &operand.value)?;
        let header = self.layout.header(&header)?;
        if !header.metadata {
            let (d, a) = (header.raw, self.emitter.constant(0)?);
            self.emitter.push(Op::Mov { d, a });
        }
        Ok(())
    }

    /// An operand that is an exact number which is not negative.
    pub fn natural(&mut self, operand: &Operand, params: &[Expr]) -> Result<Slot, LoadError> {
        let expr = Expr::parse(&self.layout, params, operand)?;
        self.emitter.natural(&expr)
    }

    /// Writes a 64-bit result into a field of any width.
    fn with_narrow(
        &mut self,
        field: &Field,
        op: impl FnOnce(Slot, u8) -> Op,
    ) -> Result<(), LoadError> {
        let zero = self.emitter.constant(0)?;
        self.emitter.push(op(field.slot, field.width.min(64) as u8));
        for word in 1..words(field.width) {
            self.emitter.push(Op::Mov {
                d: field.slot + word,
                a: zero,
            });
        }
        Ok(())
    }

    fn assign_var(&mut self, to: &Operand, from: &Operand) -> Result<(), LoadError> {
        let (target, source) = (self.destination(to)?, self.destination(from)?);
        if !target.var || !source.var {
            return Err(LoadError::new(
                "an assignment between varbit and other fields is not supported",
            ));
        }
        self.emitter.push(Op::Mov {
            d: target.slot,
            a: source.slot,
        });
        self.touch(to)
    }

    fn message(
        &mut self,
        text: &str,
        values: &[Operand],
        params: &[Expr],
    ) -> Result<u16, LoadError> {
        let pieces = pieces(text);
        if pieces.len() != values.len() + 1 {
            return Err(LoadError::new(format!(
                "log_msg has {} values for {} places",
                values.len(),
                pieces.len() - 1
            )));
        }
        let values = values
            .iter()
            .map(|value| Expr::parse(&self.layout, params, value))
            .collect::<Result<Vec<_>, _>>()?;
        let bytes = text.len() + pieces.len() * size_of::<String>();
        self.emitter
            .keep(bytes + values.iter().map(Expr::bytes).sum::<usize>())?;
        for value in &values {
            self.emitter.wide_work(value, Form::Clamp)?;
        }
        self.messages.push(Message { pieces, values });
        u16::try_from(self.messages.len() - 1)
            .map_err(|_| LoadError::new("the program logs more messages than are supported"))
    }
}

pub(super) fn malformed(primitive: &Primitive) -> LoadError {
    LoadError::new(format!(
        "the BMv2 JSON is malformed: the primitive {} has the wrong operands",
        primitive.op
    ))
}

/// The text around the places for values: a place is from `{` to `}`, unless
/// there is a backslash in front of it.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let escaped = rest.starts_with("\\{") || rest.starts_with("\\}");
        let place = (c == '{').then(|| rest.find('}')).flatten();
        rest = match (escaped, place) {
            (true, _) => {
                piece.push_str(&rest[1..2]);
                &rest[2..]
            }
            (false, Some(end)) => {
                pieces.push(std::mem::take(&mut piece));
                &rest[end + 1..]
            }
            (false, None) => {
                piece.push(c);
                &rest[c.len_utf8()..]
            }
        };
    }
    pieces.push(piece);
    pieces
}

/// P4's actions have no loops; a packet would not leave one.
fn jumps_back(action: &str, from: usize, to: usize) -> LoadError {
    LoadError::new(format!(
        "action {action} jumps back, from its primitive {from} to {to}, in a circle that a packet \
         might not leave; compile the P4 program again, p4c writes no such thing"
    ))
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn places_of_a_message() {
        assert_eq!(pieces("a {} b{x}"), ["a ", " b", ""]);
        assert_eq!(pieces("\\{ü\\} {"), ["{ü} {"]);
        assert_eq!(pieces(""), [""]);
    }
}
