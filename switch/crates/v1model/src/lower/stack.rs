// SPDX-License-Identifier: Apache-2.0
//! Statements on headers, unions and stacks, and elements with an index that
//! only the packet tells.

use super::Lowering;
use super::action::malformed;
use super::emit::Emitter;
use super::header_ref::{HeaderRef, UnionRef, last_field};
use crate::error::LoadError;
use crate::expr::{Element, Expr, Index};
use crate::header::Field;
use crate::json::{self, Operand, Primitive};
use crate::op::{Op, Slot, words};
use crate::stack::Stack;

/// A field that is written, perhaps by way of temporaries.
pub(super) struct Target {
    /// Where to put the value.
    pub field: Field,
    /// The element that the value goes to from there.
    element: Option<(Element, Element)>,
    /// Slot that says where the header's received bytes are.
    raw: Option<Slot>,
}

/// The two parameters of a primitive.
fn pair(primitive: &Primitive) -> Result<(&Operand, &Operand), LoadError> {
    match primitive.parameters.as_slice() {
        [first, second] => Ok((first, second)),
        _ => Err(malformed(primitive)),
    }
}

impl Emitter {
    /// The number of an element, in a slot; past the end when there is none.
    pub(super) fn element_index(&mut self, element: &Element) -> Result<Slot, LoadError> {
        match &element.index {
            // Of a negative number the low bits are past the end of any stack.
            Index::At(index) => self.value(index),
            Index::Last => {
                if let Some(error) = self.stack_out_of_bounds {
                    let good = self.label();
                    self.push(Op::JumpIf {
                        a: element.next,
                        to: good.0,
                    });
                    let a = self.constant(error)?;
                    self.push(Op::Fail { a });
                    self.bind(good);
                }
                let d = self.temporary(1)?;
                let one = self.constant(1)?;
                self.push(Op::Sub {
                    d,
                    a: element.next,
                    b: one,
                    w: 64,
                });
                Ok(d)
            }
        }
    }

    /// An element's value as it is in its slots, in as many temporaries.
    pub(super) fn load_element(&mut self, element: &Element) -> Result<Slot, LoadError> {
        let index = self.element_index(element)?;
        let d = self.temporary(usize::from(words(element.width)))?;
        self.push(Op::LoadElement {
            words: words(element.width) as u8,
            d,
            index,
            base: element.base,
            stride: element.stride,
            size: element.size,
        });
        Ok(d)
    }

    fn store_element(&mut self, element: &Element, index: Slot, a: Slot) {
        self.push(Op::StoreElement {
            words: words(element.width) as u8,
            a,
            index,
            base: element.base,
            stride: element.stride,
            size: element.size,
        });
    }
}

impl Lowering<'_> {
    /// The field that an operand names, to write to. After the value is in
    /// its place, [`Lowering::written`] must be called.
    pub(super) fn target(
        &mut self,
        operand: &Operand,
        params: &[Expr],
    ) -> Result<Target, LoadError> {
        if operand.kind == "field" {
            let (header, name): (String, String) = json::from_value("a field", &operand.value)?;
            let (header, field) = self.layout.field(&header, &name)?;
            // Its slot says where the bits are, and how many: no number may be put there.
            if field.var {
                return Err(LoadError::new(format!(
                    "an assignment to the varbit field {} other than from a varbit is not supported",
                    field.name
                )));
            }
            return Ok(Target {
                field,
                element: None,
                raw: (!header.metadata).then_some(header.raw),
            });
        }
        let expr = match operand.kind.as_str() {
            "stack_field" => last_field(&self.layout, &operand.value)?,
            _ => Expr::parse(&self.layout, params, operand)?,
        };
        let Expr::Element(element) = expr else {
            return Err(LoadError::new(format!(
                "an assignment to a target of kind {} is not supported",
                operand.kind
            )));
        };
        // The index is evaluated before the value, as P4 wants it.
        let index = self.emitter.element_index(&element)?;
        let kept = self.emitter.temporary(1)?;
        self.emitter.push(Op::Mov { d: kept, a: index });
        let element = Element {
            index: Index::At(Box::new(Expr::Load {
                slot: kept,
                width: 64,
                signed: false,
            })),
            ..element
        };
        let stack = self.layout.stack_with_next(element.next);
        let raw = stack.and_then(|stack| {
            let own = stack.headers[..stack.per_element].iter();
            own.map(|h| &self.layout.headers[*h])
                .find(|h| (h.valid..h.valid + h.slots).contains(&element.base))
                .map(|h| h.raw)
        });
        let raw = raw.ok_or_else(|| LoadError::new("a stack has no such element"))?;
        let slot = self.emitter.load_element(&element)?;
        let raw = Element {
            base: raw,
            width: 64,
            signed: false,
            ..element.clone()
        };
        Ok(Target {
            field: Field {
                name: operand.value.to_string(),
                slot,
                width: element.width,
                signed: element.signed,
                var: false,
            },
            element: Some((element, raw)),
            raw: None,
        })
    }

    /// The target's value is in its place: puts it where it belongs, and
    /// notes that the header is no longer as received.
    pub(super) fn written(&mut self, target: &Target) -> Result<(), LoadError> {
        let zero = self.emitter.constant(0)?;
        if let Some(raw) = target.raw {
            self.emitter.push(Op::Mov { d: raw, a: zero });
        }
        if let Some((element, raw)) = &target.element {
            let index = self.emitter.element_index(element)?;
            self.emitter
                .store_element(element, index, target.field.slot);
            self.emitter.store_element(raw, index, zero);
        }
        Ok(())
    }

    /// Calls `act` for the header that is meant, whichever element it is.
    pub(super) fn each_header(
        &mut self,
        header: &HeaderRef,
        act: &mut dyn FnMut(&mut Self, usize) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let (stack, member, index) = match header {
            HeaderRef::Named(header) => return act(self, *header),
            HeaderRef::Either(cond, yes, no) => {
                self.emitter.check_size()?;
                let (other, end) = (self.emitter.label(), self.emitter.label());
                self.emitter.branch(cond, false, other)?;
                self.each_header(yes, act)?;
                self.emitter.push(Op::Jump { to: end.0 });
                self.emitter.bind(other);
                self.each_header(no, act)?;
                self.emitter.bind(end);
                return Ok(());
            }
            HeaderRef::Element {
                stack,
                member,
                index,
            } => (self.layout.stacks[*stack].clone(), *member, index.clone()),
        };
        let element = Element {
            next: stack.next,
            index,
            base: stack.first(),
            stride: stack.stride,
            size: stack.size,
            width: 1,
            signed: false,
        };
        let a = self.emitter.element_index(&element)?;
        let kept = self.emitter.temporary(1)?;
        self.emitter.push(Op::Mov { d: kept, a });
        let end = self.emitter.label();
        for at in 0..stack.size {
            self.emitter.check_size()?;
            let other = self.emitter.label();
            let b = self.emitter.constant(u64::from(at))?;
            self.emitter.push(Op::JumpNe {
                a: kept,
                b,
                to: other.0,
            });
            act(self, stack.header(usize::from(at), member))?;
            self.emitter.push(Op::Jump { to: end.0 });
            self.emitter.bind(other);
        }
        self.emitter.bind(end);
        Ok(())
    }

    /// A header became valid: the other members of its union are not any more.
    pub(super) fn end_rivals(&mut self, header: usize) -> Result<(), LoadError> {
        let zero = self.emitter.constant(0)?;
        for rival in self.layout.headers[header].rivals.clone() {
            self.emitter.push(Op::Mov { d: rival, a: zero });
        }
        Ok(())
    }

    pub(super) fn add_header(
        &mut self,
        operand: &Operand,
        params: &[Expr],
    ) -> Result<(), LoadError> {
        let header = HeaderRef::parse(&self.layout, params, operand)?;
        self.each_header(&header, &mut |lowering, header| {
            lowering.emitter.push(Op::AddHeader {
                header: header as u16,
            });
            lowering.end_rivals(header)
        })
    }

    pub(super) fn remove_header(
        &mut self,
        operand: &Operand,
        params: &[Expr],
    ) -> Result<(), LoadError> {
        let header = HeaderRef::parse(&self.layout, params, operand)?;
        self.each_header(&header, &mut |lowering, header| {
            lowering.emitter.push(Op::RemoveHeader {
                header: header as u16,
            });
            Ok(())
        })
    }

    /// Validity, fields and the place of the unmodified bytes are copied.
    pub(super) fn assign_header(
        &mut self,
        primitive: &Primitive,
        params: &[Expr],
    ) -> Result<(), LoadError> {
        let (to, from) = pair(primitive)?;
        let to = HeaderRef::parse(&self.layout, params, to)?;
        let from = HeaderRef::parse(&self.layout, params, from)?;
        let sample = &self.layout.headers[from.sample(&self.layout)];
        if self.layout.headers[to.sample(&self.layout)].header_type != sample.header_type {
            return Err(malformed(primitive));
        }
        let (valid, slots) = (sample.valid, sample.slots);
        if let (HeaderRef::Element { stack, index, .. }, HeaderRef::Named(_)) = (&from, &to) {
            let stack = &self.layout.stacks[*stack];
            let element = Element {
                next: stack.next,
                index: index.clone(),
                base: valid,
                stride: stack.stride,
                size: stack.size,
                width: 0,
                signed: false,
            };
            let index = self.emitter.element_index(&element)?;
            let words = u8::try_from(slots)
                .map_err(|_| LoadError::new("a copy of a header with more than 253 fields"))?;
            return self.each_header(&to, &mut |lowering, header| {
                let d = lowering.layout.headers[header].valid;
                lowering.emitter.push(Op::LoadElement {
                    words,
                    d,
                    index,
                    base: element.base,
                    stride: element.stride,
                    size: element.size,
                });
                lowering.header_assigned(header)
            });
        }
        self.each_header(&from, &mut |lowering, from| {
            lowering.each_header(&to, &mut |lowering, to| {
                let (into, of) = (&lowering.layout.headers[to], &lowering.layout.headers[from]);
                // In one piece, or in two.
                if into.first == into.raw + 1 && of.first == of.raw + 1 {
                    let (d, a) = (into.valid, of.valid);
                    lowering.emitter.push(Op::Copy { d, a, n: slots });
                } else {
                    for ((d, n), (a, _)) in into.pieces().into_iter().zip(of.pieces()) {
                        lowering.emitter.push(Op::Copy { d, a, n });
                    }
                }
                lowering.header_assigned(to)
            })
        })
    }

    /// A member of a union was assigned, and may be valid now.
    fn header_assigned(&mut self, header: usize) -> Result<(), LoadError> {
        if self.layout.headers[header].rivals.is_empty() {
            return Ok(());
        }
        let invalid = self.emitter.label();
        self.emitter.push(Op::JumpIfNot {
            a: self.layout.headers[header].valid,
            to: invalid.0,
        });
        self.end_rivals(header)?;
        self.emitter.bind(invalid);
        Ok(())
    }

    /// `assign_union`: member by member.
    pub(super) fn assign_union(
        &mut self,
        primitive: &Primitive,
        params: &[Expr],
    ) -> Result<(), LoadError> {
        let (to, from) = pair(primitive)?;
        let to = UnionRef::parse(&self.layout, params, to)?;
        let from = UnionRef::parse(&self.layout, params, from)?;
        let members = to.members(&self.layout);
        if members != from.members(&self.layout) {
            return Err(malformed(primitive));
        }
        for member in 0..members {
            let (Some(to), Some(from)) = (
                to.member(&self.layout, member),
                from.member(&self.layout, member),
            ) else {
                return Err(malformed(primitive));
            };
            self.each_header(&from, &mut |lowering, from| {
                lowering.each_header(&to, &mut |lowering, to| {
                    let (to, from) = (&lowering.layout.headers[to], &lowering.layout.headers[from]);
                    if to.header_type != from.header_type {
                        return Err(malformed(primitive));
                    }
                    let (d, a, n) = (to.valid, from.valid, to.slots);
                    lowering.emitter.push(Op::Copy { d, a, n });
                    Ok(())
                })
            })?;
        }
        Ok(())
    }

    /// `assign_header_stack` and `assign_union_stack`: one copy.
    pub(super) fn assign_stack(
        &mut self,
        primitive: &Primitive,
        kind: &str,
    ) -> Result<(), LoadError> {
        let (to, from) = pair(primitive)?;
        let to = self.layout.stack_index(to.name(kind)?)?;
        let from = self.layout.stack_index(from.name(kind)?)?;
        let (to, from) = (&self.layout.stacks[to], &self.layout.stacks[from]);
        // All elements of a stack are alike.
        let types = |stack: &Stack| -> Vec<&str> {
            let first = stack.headers[..stack.per_element].iter();
            let types = first.map(|h| &self.layout.headers[*h].header_type);
            types.map(String::as_str).collect()
        };
        if to.size != from.size || types(to) != types(from) {
            return Err(malformed(primitive));
        }
        self.emitter.push(Op::Copy {
            d: to.next,
            a: from.next,
            n: to.slots,
        });
        Ok(())
    }

    /// `push` and `pop`.
    pub(super) fn shift_stack(&mut self, primitive: &Primitive) -> Result<(), LoadError> {
        let (stack, by) = pair(primitive)?;
        let index = match stack.kind.as_str() {
            "header_union_stack" => self.layout.stack_index(stack.name("header_union_stack")?)?,
            _ => self.layout.stack_index(stack.name("header_stack")?)?,
        };
        let by = Expr::parse(&self.layout, &[], by)?;
        let by = by.as_constant().ok_or_else(|| {
            LoadError::new(format!(
                "{} by a number that is not constant is not supported",
                primitive.op
            ))
        })?;
        let by = u16::try_from(by).unwrap_or(u16::MAX);
        let of = &self.layout.stacks[index];
        let (stack, next, slots) = (index as u16, of.next, of.slots);
        self.emitter.push(if primitive.op == "push" {
            Op::Push {
                stack,
                next,
                slots,
                by,
            }
        } else {
            Op::Pop {
                stack,
                next,
                slots,
                by,
            }
        });
        Ok(())
    }
}
