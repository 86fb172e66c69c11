// SPDX-License-Identifier: Apache-2.0
//! The parser's states.

use super::Lowering;
use super::circle::Search;
use super::emit::Label;
use super::header_ref::HeaderRef;
use crate::error::LoadError;
use crate::expr::Expr;
use crate::json::{self, Operand, ParseState, ParserOp, Primitive};
use crate::op::{Op, Slot, mask, words};
use crate::trace::Place;
use serde_json::Value;
use std::collections::HashMap;

/// Most bytes of a select's key: each of its cases is as long.
const SELECT_BYTES: usize = 1 << 14;

/// One part of a select key: where its value is.
pub(super) struct KeyPart {
    pub slot: Slot,
    pub width: u16,
}

impl Lowering<'_> {
    /// The parser; gives its first instruction, and where it goes with an error.
    pub fn parser(&mut self) -> Result<(Label, Label), LoadError> {
        let document = self.document;
        let parsers = document.parsers.as_slice();
        let parser = the_one(parsers, "parser", |p| &p.name)?;
        let mut labels: HashMap<&str, Label> = HashMap::new();
        for state in &parser.parse_states {
            labels.insert(&state.name, self.emitter.label());
        }
        let accept = self.emitter.label();
        let target = |name: Option<&str>| match name {
            None => Ok(accept),
            Some(name) => labels.get(name).copied().ok_or_else(|| {
                LoadError::new(format!(
                    "the BMv2 JSON is malformed: parser {} has no state {name}",
                    parser.name
                ))
            }),
        };
        self.emitter.stack_out_of_bounds = Some(self.errors.stack_out_of_bounds);
        let start = target(parser.init_state.as_deref())?;
        let loops = has_loop(&parser.parse_states);
        for state in &parser.parse_states {
            self.emitter.bind(labels[state.name.as_str()]);
            if loops {
                self.emitter.push(Op::Tick);
            }
            let position = json::position(&state.source_info);
            self.emitter.mark(|| Place::State {
                name: state.name.clone(),
            });
            for op in &state.parser_ops {
                let at = json::position(&op.source_info).or_else(|| position.clone());
                self.emitter.statement().map_err(|e| e.at(at.clone()))?;
                self.before_parser_op(op);
                self.parser_op(op).map_err(|e| {
                    let message = format!("parser state {}: {}", state.name, e.message);
                    LoadError { message, ..e }.at(at)
                })?;
                self.after_parser_op(op);
                self.emitter.release_temporaries();
            }
            self.transitions(state, &target).map_err(|e| {
                let message = format!("parser state {}: {}", state.name, e.message);
                LoadError { message, ..e }.at(position)
            })?;
            self.emitter.release_temporaries();
        }
        self.emitter.stack_out_of_bounds = None;
        self.emitter.bind(accept);
        self.emitter.mark(|| Place::Accept);
        let end = self.emitter.label();
        self.emitter.bind(end);
        self.verify_checksums()?;
        self.emitter.push(Op::End);
        Ok((start, end))
    }

    fn parser_op(&mut self, op: &ParserOp) -> Result<(), LoadError> {
        let operand = |index: usize| -> Result<Operand, LoadError> {
            let value = op.parameters.get(index).unwrap_or(&Value::Null);
            json::from_value(&format!("the parser operation {}", op.op), value)
        };
        match op.op.as_str() {
            "extract" | "extract_VL" => {
                let length = match op.op.as_str() {
                    "extract" => None,
                    _ => Some(operand(1)?),
                };
                self.extract(&operand(0)?, length.as_ref())
            }
            "set" => {
                let (to, from) = (operand(0)?, operand(1)?);
                if from.kind != "lookahead" {
                    let value = Expr::parse(&self.layout, &[], &from)?;
                    return self.assign_operand(&to, &value, &[]);
                }
                let part = self.lookahead(&from)?;
                let value = Expr::Load {
                    slot: part.slot,
                    width: part.width,
                    signed: false,
                };
                self.assign_operand(&to, &value, &[])
            }
            "verify" => {
                let condition = Expr::parse(&self.layout, &[], &operand(0)?)?;
                let condition = condition.into_bool();
                let error = Expr::parse(&self.layout, &[], &operand(1)?)?;
                let good = self.emitter.label();
                self.emitter.branch(&condition, true, good)?;
                let a = self.emitter.natural(&error)?;
                self.emitter.push(Op::Fail { a });
                self.emitter.bind(good);
                Ok(())
            }
            "advance" => {
                let bits = Expr::parse(&self.layout, &[], &operand(0)?)?;
                let a = self.emitter.natural(&bits)?;
                self.emitter.push(Op::Advance { a });
                Ok(())
            }
            "shift" => {
                let bytes = op.parameters.first().and_then(Value::as_u64).unwrap_or(0);
                let a = self.emitter.constant(bytes.saturating_mul(8))?;
                self.emitter.push(Op::Advance { a });
                Ok(())
            }
            "primitive" => {
                let value = op.parameters.first().unwrap_or(&Value::Null);
                let primitive: Primitive = json::from_value("a parser's primitive", value)?;
                self.primitive(&primitive, &[])
                    .map_err(|e| e.at(json::position(&primitive.source_info)))
            }
            other => Err(LoadError::new(format!(
                "the parser operation {other} is not supported"
            ))),
        }
    }

    /// `extract`, or `extract_VL` with the length of the varbit field.
    fn extract(&mut self, target: &Operand, length: Option<&Operand>) -> Result<(), LoadError> {
        let wrong = |kind: &str| {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: a {kind} is extracted from {}",
                target.value
            ))
        };
        let name = || target.value.as_str().ok_or_else(|| wrong(&target.kind));
        // The stack and the union's member, or the header alone.
        let (stack, header) = match target.kind.as_str() {
            "regular" if target.value.is_object() => {
                let header = HeaderRef::parse(&self.layout, &[], target)?;
                return self.each_header(&header, &mut |lowering, header| {
                    let target = Operand {
                        kind: "regular".to_owned(),
                        value: lowering.layout.headers[header].name.as_str().into(),
                    };
                    lowering.extract(&target, length)
                });
            }
            "regular" => (None, self.layout.header_index(name()?)?),
            "stack" => {
                let stack = self.layout.stack_index(name()?)?;
                (Some((stack, 0)), self.layout.stacks[stack].header(0, 0))
            }
            "union_stack" => {
                let (stack, member): (String, String) = json::from_value("extract", &target.value)?;
                let stack = self.layout.stack_index(&stack)?;
                let of = &self.layout.stacks[stack];
                let member = of.members.iter().position(|m| *m == member);
                let member = member.ok_or_else(|| wrong("union"))?;
                (Some((stack, member)), of.header(0, member))
            }
            other => {
                return Err(LoadError::new(format!(
                    "extract into a {other} is not supported"
                )));
            }
        };
        let bits = match length {
            Some(length) => {
                let length = Expr::parse(&self.layout, &[], length)?;
                Some(self.emitter.natural(&length)?)
            }
            None if self.layout.headers[header].var().is_some() => {
                return Err(LoadError::new(format!(
                    "header {} with a varbit field is extracted without its length",
                    self.layout.headers[header].name
                )));
            }
            None => None,
        };
        let Some((stack, member)) = stack else {
            let index = header as u16;
            self.emitter.push(match bits {
                None => Op::Extract { header: index },
                Some(bits) => Op::ExtractVar {
                    header: index,
                    bits,
                },
            });
            return self.end_rivals(header);
        };
        let next = self.layout.stacks[stack].next;
        let member = u8::try_from(member).map_err(|_| wrong("union"))?;
        let stack = stack as u16;
        self.emitter.push(match bits {
            None => Op::ExtractNext {
                member,
                stack,
                next,
            },
            Some(bits) => Op::ExtractNextVar {
                member,
                stack,
                next,
                bits,
            },
        });
        Ok(())
    }

    /// Reads ahead into temporaries.
    fn lookahead(&mut self, operand: &Operand) -> Result<KeyPart, LoadError> {
        let (offset, width): (u64, u64) = json::from_value("a lookahead", &operand.value)?;
        let (Ok(offset), Ok(width @ 1..)) = (u16::try_from(offset), u16::try_from(width)) else {
            return Err(LoadError::new(format!(
                "a lookahead of {width} bits behind {offset} bits is not supported"
            )));
        };
        let d = self.emitter.temporary(usize::from(words(width)))?;
        self.emitter.push(if width <= 64 {
            Op::Lookahead {
                d,
                offset,
                width: width as u8,
            }
        } else {
            Op::LookaheadW { d, offset, width }
        });
        Ok(KeyPart { slot: d, width })
    }

    fn transitions(
        &mut self,
        state: &ParseState,
        target: &dyn Fn(Option<&str>) -> Result<Label, LoadError>,
    ) -> Result<(), LoadError> {
        let mut parts = Vec::new();
        for part in &state.transition_key {
            parts.push(match part.kind.as_str() {
                "lookahead" => self.lookahead(part)?,
                "field" => {
                    let field = self.destination(part)?;
                    if field.var {
                        return Err(LoadError::new(
                            "a select on a varbit field is not supported",
                        ));
                    }
                    KeyPart {
                        slot: field.slot,
                        width: field.width,
                    }
                }
                "stack_field" | "union_stack_field" => {
                    let Expr::Element(element) = Expr::parse(&self.layout, &[], part)? else {
                        return Err(LoadError::new("a select on a field that is none"));
                    };
                    KeyPart {
                        slot: self.emitter.load_element(&element)?,
                        width: element.width,
                    }
                }
                other => {
                    return Err(LoadError::new(format!(
                        "a select on a {other} is not supported"
                    )));
                }
            });
        }
        if self.emitter.marks() && !parts.is_empty() {
            let at: Vec<_> = parts.iter().map(|p| (p.slot, p.width)).collect();
            let parts = self.select_parts(&state.transition_key, &at);
            self.emitter.mark(|| Place::Select { parts });
        }
        let bytes: usize = parts.iter().map(|p| usize::from(p.width.div_ceil(8))).sum();
        if bytes > SELECT_BYTES {
            return Err(LoadError::new(format!(
                "a select over {bytes} bytes is not supported; at most {SELECT_BYTES} are"
            )));
        }
        for transition in &state.transitions {
            self.emitter.statement()?;
            let to = target(transition.next_state.as_deref())?;
            match transition.kind.as_deref() {
                Some("default") => {
                    self.emitter.push(Op::Jump { to: to.0 });
                    return Ok(());
                }
                Some("parse_vset") => self.value_set_case(transition, &parts, to)?,
                Some("hexstr") => {
                    let text = transition.value.as_deref().unwrap_or("");
                    let value = hex_bytes(text, bytes)?;
                    let wanted = match transition.mask.as_deref() {
                        Some(text) => hex_bytes(text, bytes)?,
                        None => vec![0xff; bytes],
                    };
                    self.select_case(&parts, &value, &wanted, to)?;
                }
                other => {
                    return Err(LoadError::new(format!(
                        "a transition of kind {} is not supported",
                        other.unwrap_or("(none)")
                    )));
                }
            }
        }
        // Nothing matched.
        if self.layout.quirks || parts.is_empty() {
            let accept = target(None)?;
            self.emitter.push(Op::Jump { to: accept.0 });
        } else {
            let a = self.emitter.constant(self.errors.no_match)?;
            self.emitter.push(Op::Fail { a });
        }
        Ok(())
    }

    /// Jumps to `to` when all parts have the wanted values under the masks,
    /// both given as byte-padded parts one after the other.
    fn select_case(
        &mut self,
        parts: &[KeyPart],
        value: &[u8],
        masks: &[u8],
        to: Label,
    ) -> Result<(), LoadError> {
        // (slot, mask or None for all bits, value) of each 64-bit word.
        let mut pieces: Vec<(Slot, Option<u64>, u64)> = Vec::new();
        let mut at = 0;
        for part in parts {
            let bytes = usize::from(part.width.div_ceil(8));
            for word in 0..words(part.width) {
                let bits = (part.width - 64 * word).min(64) as u8;
                let full = mask(bits);
                let wanted = be_word(&masks[at..at + bytes], usize::from(word)) & full;
                let value = be_word(&value[at..at + bytes], usize::from(word));
                if wanted != 0 {
                    let under = (wanted != full).then_some(wanted);
                    pieces.push((part.slot + word, under, value & wanted));
                }
            }
            at += bytes;
        }
        let Some((last, others)) = pieces.split_last() else {
            self.emitter.push(Op::Jump { to: to.0 });
            return Ok(());
        };
        let other_case = self.emitter.label();
        for word in others {
            let (a, b) = self.masked(*word)?;
            self.emitter.push(Op::JumpNe {
                a,
                b,
                to: other_case.0,
            });
        }
        let (a, b) = self.masked(*last)?;
        self.emitter.push(Op::JumpEq { a, b, to: to.0 });
        self.emitter.bind(other_case);
        Ok(())
    }

    fn masked(&mut self, word: (Slot, Option<u64>, u64)) -> Result<(Slot, Slot), LoadError> {
        let (slot, under, value) = word;
        let b = self.emitter.constant(value)?;
        let a = match under {
            None => slot,
            Some(mask) => {
                let mask = self.emitter.constant(mask)?;
                let d = self.emitter.temporary(1)?;
                self.emitter.push(Op::And {
                    d,
                    a: slot,
                    b: mask,
                    w: 64,
                });
                self.emitter.free_temporary(d);
                d
            }
        };
        Ok((a, b))
    }
}

/// The only one, or the one that simple_switch looks for by name.
pub(super) fn the_one<'d, T>(
    all: &'d [T],
    name: &str,
    name_of: impl Fn(&T) -> &String,
) -> Result<&'d T, LoadError> {
    let found = match all {
        [one] => Some(one),
        _ => all.iter().find(|one| name_of(one) == name),
    };
    found.ok_or_else(|| {
        LoadError::new(format!(
            "the program has {} {name}s and none of the name {name}",
            all.len()
        ))
    })
}

/// Whether some state can be visited twice: whether any are left when those
/// that nothing leads to are taken away again and again.
fn has_loop(states: &[ParseState]) -> bool {
    let index: HashMap<&str, usize> = states
        .iter()
        .enumerate()
        .map(|(i, s)| (s.name.as_str(), i))
        .collect();
    let next = |state: &ParseState| -> Vec<usize> {
        let names = state.transitions.iter();
        names
            .filter_map(|t| index.get(t.next_state.as_deref()?).copied())
            .collect()
    };
    let mut search = Search::new(states.len());
    (0..states.len()).any(|state| search.circle(state, |n| next(&states[n])).is_some())
}

/// A hexadecimal string as exactly so many bytes.
fn hex_bytes(text: &str, bytes: usize) -> Result<Vec<u8>, LoadError> {
    let bad = || {
        LoadError::new(format!(
            "the BMv2 JSON is malformed: {text} is no value for a select over {bytes} bytes"
        ))
    };
    let digits = text
        .strip_prefix("0x")
        .unwrap_or(text)
        .trim_start_matches('0');
    if digits.len() > 2 * bytes || !digits.is_ascii() {
        return Err(bad());
    }
    let padded = format!("{digits:0>width$}", width = 2 * bytes);
    (0..bytes)
        .map(|i| u8::from_str_radix(&padded[2 * i..2 * i + 2], 16).map_err(|_| bad()))
        .collect()
}

/// The 64-bit word number `word`, counted from the end, of a big-endian number.
fn be_word(bytes: &[u8], word: usize) -> u64 {
    let end = bytes.len() - (8 * word).min(bytes.len());
    let start = end.saturating_sub(8);
    bytes[start..end]
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::{be_word, hex_bytes};

    #[test]
    fn select_values_are_padded_and_split() {
        assert_eq!(hex_bytes("0x0aba03", 3).unwrap(), [0x0a, 0xba, 0x03]);
        assert_eq!(hex_bytes("0x6", 2).unwrap(), [0, 6]);
        assert!(hex_bytes("0x10000", 2).is_err());
        assert!(hex_bytes("0xzz", 1).is_err());
        let address: Vec<u8> = (0..16).collect();
        assert_eq!(be_word(&address, 0), 0x0809_0a0b_0c0d_0e0f);
        assert_eq!(be_word(&address, 1), 0x0001_0203_0405_0607);
        assert_eq!(be_word(&address[..9], 1), 0);
    }
}
