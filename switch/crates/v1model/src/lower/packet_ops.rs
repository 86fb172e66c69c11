// SPDX-License-Identifier: Apache-2.0
//! Primitives that decide where a packet goes after the pipeline: clone,
//! resubmit, recirculate, truncate and digest. They leave their wish in slots
//! of the packet ([`PacketSlots`]), the last call wins, and need no
//! instructions of their own.

use super::Lowering;
use super::action::malformed;
use crate::error::LoadError;
use crate::expr::Expr;
use crate::header::{Field, Header};
use crate::json::{self, Document, FieldList, Operand, Primitive};
use crate::layout::Layout;
use crate::op::{Cmp, Op, Slot, mask, words};
use crate::paths::{CLONE_REQUESTED, CarriedField, DigestField, PacketSlots, PathCode};
use crate::schema::{DigestSchema, ParamSchema};
use std::collections::HashMap;

/// The field lists that the program uses.
#[derive(Debug)]
pub(crate) struct FieldLists {
    /// The first is empty and for everybody.
    lists: Vec<Vec<CarriedField>>,
    /// Places in `lists`, by the JSON's id.
    by_id: HashMap<u64, usize>,
}

impl Default for FieldLists {
    fn default() -> Self {
        FieldLists {
            lists: vec![Vec::new()],
            by_id: HashMap::new(),
        }
    }
}

impl Lowering<'_> {
    /// One of the primitives of this file; any other is refused.
    pub fn packet_op(&mut self, primitive: &Primitive, params: &[Expr]) -> Result<(), LoadError> {
        let operands = primitive.parameters.as_slice();
        let slots = PacketSlots::new(self.layout.packet_slots);
        match (primitive.op.as_str(), operands) {
            ("clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress", [session, list]) => {
                let list = self.field_list(list)?.unwrap_or(0);
                let list = self.emitter.constant(list)?;
                let session = self.natural(session, params)?;
                let all = self.emitter.constant(CLONE_REQUESTED - 1)?;
                let flag = self.emitter.constant(CLONE_REQUESTED)?;
                let id = self.emitter.temporary(1)?;
                self.emitter.push(Op::And {
                    d: id,
                    a: session,
                    b: all,
                    w: 64,
                });
                self.emitter.push(Op::Or {
                    d: slots.clone,
                    a: id,
                    b: flag,
                    w: 64,
                });
                self.emitter.push(Op::Mov {
                    d: slots.clone_list,
                    a: list,
                });
                Ok(())
            }
            ("resubmit", [list]) => self.flag(slots.resubmit, list),
            ("recirculate", [list]) => self.flag(slots.recirculate, list),
            // The first operand is P4_14's receiver, which BMv2 ignores, too.
            ("generate_digest", [_, list]) => {
                let id = json::unsigned_operand(list)?;
                let digest = if id == 0 {
                    0
                } else {
                    let index = place(&self.names.learn_lists, id);
                    let index = index.ok_or_else(|| missing("learn list", id))?;
                    index as u64 + 1
                };
                let a = self.emitter.constant(digest)?;
                self.emitter.push(Op::Mov { d: slots.digest, a });
                Ok(())
            }
            ("truncate", [length]) => {
                // The shortest length wins: the greatest complement.
                let length = self.natural(length, params)?;
                let wish = self.emitter.temporary(1)?;
                self.emitter.push(Op::Not {
                    d: wish,
                    a: length,
                    w: 64,
                });
                let shorter = self.emitter.temporary(1)?;
                self.emitter.push(Op::Compare {
                    d: shorter,
                    a: slots.truncate,
                    b: wish,
                    cmp: Cmp::Lt,
                });
                self.emitter.push(Op::Select {
                    d: slots.truncate,
                    c: shorter,
                    a: wish,
                    b: slots.truncate,
                });
                Ok(())
            }
            (
                "clone_ingress_pkt_to_egress"
                | "clone_egress_pkt_to_egress"
                | "resubmit"
                | "recirculate"
                | "generate_digest"
                | "truncate",
                _,
            ) => Err(malformed(primitive)),
            (other, _) => Err(LoadError::new(format!(
                "the primitive {other} is not supported"
            ))),
        }
    }

    /// Asks for another pass with a field list; BMv2 takes id 0 as "no".
    fn flag(&mut self, d: Slot, list: &Operand) -> Result<(), LoadError> {
        let list = self.field_list(list)?.map_or(0, |list| list + 1);
        let a = self.emitter.constant(list)?;
        self.emitter.push(Op::Mov { d, a });
        Ok(())
    }

    /// Index in [`PathCode::lists`] of the list that an operand names; `None`
    /// for id 0 where no list has it.
    fn field_list(&mut self, operand: &Operand) -> Result<Option<u64>, LoadError> {
        let id = json::unsigned_operand(operand)?;
        let document = self.document;
        let found = place(&self.names.field_lists, id);
        let Some(list) = found.map(|at| &document.field_lists[at]) else {
            return if id == 0 {
                Ok(None)
            } else {
                Err(missing("field list", id))
            };
        };
        let known = &mut self.field_lists;
        if let Some(index) = known.by_id.get(&list.id) {
            return Ok(Some(*index as u64));
        }
        let fields =
            carried(&self.layout, list).map_err(|e| e.at(json::position(&list.source_info)))?;
        known.by_id.insert(list.id, known.lists.len());
        known.lists.push(fields);
        Ok(Some(known.lists.len() as u64 - 1))
    }

    /// What packets need of all this.
    pub fn path_code(&mut self) -> Result<PathCode, LoadError> {
        let layout = &self.layout;
        let digests =
            self.document.learn_lists.iter().map(|list| {
                digest(layout, list).map_err(|e| e.at(json::position(&list.source_info)))
            });
        let mut masks = vec![u64::MAX; layout.state_slots];
        let metadata = layout.headers.iter().filter(|h| h.metadata);
        for field in metadata.flat_map(|h| &h.fields) {
            if let 1..=64 = field.width {
                masks[usize::from(field.slot)] = mask(field.width as u8);
            }
        }
        Ok(PathCode {
            slots: PacketSlots::new(layout.packet_slots),
            lists: std::mem::take(&mut self.field_lists.lists),
            digests: digests.collect::<Result<_, _>>()?,
            metadata: layout
                .headers
                .iter()
                .filter(|h| h.metadata)
                .map(|h| (h.valid, h.slots))
                .collect(),
            masks,
            qid: layout.standard("qid").unwrap_or(layout.absent),
        })
    }
}

impl PathCode {
    /// Calls `visit` with the slots that are read at the end of a pipeline,
    /// first and number, and whether they are written then, too.
    pub fn operands(&self, visit: &mut dyn FnMut(Slot, u16, bool)) {
        visit(self.slots.clone, PacketSlots::COUNT as u16, true);
        for field in self.lists.iter().flatten() {
            visit(field.slot, field.words, true);
        }
        for field in self.digests.iter().flatten() {
            if let DigestField::Field { slot, wide } = *field {
                visit(slot, if wide { 2 } else { 1 }, false);
            }
        }
    }
}

/// The fields of a list. Constants in it carry nothing, as in BMv2.
fn carried(layout: &Layout, list: &FieldList) -> Result<Vec<CarriedField>, LoadError> {
    let mut fields = Vec::new();
    for element in &list.elements {
        let mut carry = |header: &Header, field: &Field| {
            if field.var {
                return Err(LoadError::new(format!(
                    "the varbit field {} in the field list {} is not supported",
                    field.name, list.name
                )));
            }
            fields.push(CarriedField {
                slot: field.slot,
                words: words(field.width),
                raw: (!header.metadata).then_some(header.raw),
            });
            Ok(())
        };
        match element.kind.as_str() {
            "field" => {
                let (header, field): (String, String) =
                    json::from_value("a field list", &element.value)?;
                let (header, field) = layout.field(&header, &field)?;
                carry(header, &field)?;
            }
            "header" => {
                let name: String = json::from_value("a field list", &element.value)?;
                let header = layout.header(&name)?;
                for field in &header.fields {
                    carry(header, field)?;
                }
            }
            "hexstr" => {}
            other => {
                return Err(LoadError::new(format!(
                    "a {other} in the field list {} is not supported",
                    list.name
                )));
            }
        }
    }
    Ok(fields)
}

/// The values of a digest.
fn digest(layout: &Layout, list: &FieldList) -> Result<Vec<DigestField>, LoadError> {
    let value = |element: &Operand| match element.kind.as_str() {
        "field" => {
            let (header, field): (String, String) = json::from_value("a digest", &element.value)?;
            let (_, field) = layout.field(&header, &field)?;
            if field.var || field.width > 128 {
                return Err(LoadError::new(format!(
                    "the field {} of the digest {} is a varbit or wider than 128 bits, which is not supported",
                    field.name, list.name
                )));
            }
            Ok(DigestField::Field {
                slot: field.slot,
                wide: field.width > 64,
            })
        }
        "hexstr" => json::unsigned_operand(element).map(DigestField::Constant),
        other => Err(LoadError::new(format!(
            "a {other} in the digest {} is not supported",
            list.name
        ))),
    };
    list.elements.iter().map(value).collect()
}

/// What the control plane sees of digests.
pub(super) fn digest_schemas(
    document: &Document,
    layout: &Layout,
) -> Result<Vec<DigestSchema>, LoadError> {
    let schema = |list: &FieldList| {
        let fields = list.elements.iter().enumerate().map(|(index, element)| {
            if element.kind != "field" {
                return Ok(ParamSchema {
                    name: format!("{index}"),
                    width: 128,
                });
            }
            let (header, name): (String, String) = json::from_value("a digest", &element.value)?;
            let (_, field) = layout.field(&header, &name)?;
            Ok(ParamSchema {
                name,
                width: field.width,
            })
        });
        Ok(DigestSchema {
            name: list.name.clone(),
            fields: fields.collect::<Result<_, LoadError>>()?,
        })
    };
    let all = document
        .learn_lists
        .iter()
        .map(|list| schema(list).map_err(|e: LoadError| e.at(json::position(&list.source_info))));
    all.collect()
}

/// The place of the list that an operand names by its id.
fn place(places: &HashMap<u64, usize>, id: u128) -> Option<usize> {
    places.get(&u64::try_from(id).ok()?).copied()
}

fn missing(kind: &str, id: u128) -> LoadError {
    LoadError::new(format!(
        "the BMv2 JSON is malformed: there is no {kind} {id}"
    ))
}
