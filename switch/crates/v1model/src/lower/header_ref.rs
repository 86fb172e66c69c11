// SPDX-License-Identifier: Apache-2.0
//! Headers as operands: by name, as an element of a stack, as a union's member.

use crate::error::LoadError;
use crate::expr::{Element, Expr, Index, Relation};
use crate::header::Field;
use crate::json;
use crate::layout::Layout;
use crate::op::Slot;
use serde_json::Value;

/// A header that a statement or an expression names.
#[derive(Clone, Debug)]
pub(super) enum HeaderRef {
    /// Index of the header.
    Named(usize),
    /// The given member, 0 for a stack of headers, of an element of a stack.
    Element {
        stack: usize,
        member: usize,
        index: Index,
    },
    /// The first header when the condition holds, else the second.
    Either(Box<Expr>, Box<HeaderRef>, Box<HeaderRef>),
}

/// A union that an expression names.
pub(super) enum UnionRef {
    Named(usize),
    Element { stack: usize, index: Index },
}

impl HeaderRef {
    /// A header with the layout of the one that is meant.
    pub fn sample(&self, layout: &Layout) -> usize {
        match self {
            HeaderRef::Named(header) => *header,
            HeaderRef::Element { stack, member, .. } => layout.stacks[*stack].header(0, *member),
            HeaderRef::Either(_, yes, _) => yes.sample(layout),
        }
    }

    /// Reads some slots of the header: `slot` is the place in [`HeaderRef::sample`].
    ///
    /// # Errors
    /// The program's expressions have too many parts with these.
    fn load(
        &self,
        layout: &Layout,
        slot: Slot,
        width: u16,
        signed: bool,
    ) -> Result<Expr, LoadError> {
        // What compares the field counts, too.
        layout.parts.add(2)?;
        Ok(match self {
            HeaderRef::Named(_) => Expr::Load {
                slot,
                width,
                signed,
            },
            HeaderRef::Element { stack, index, .. } => {
                layout.parts.add(index.parts())?;
                let stack = &layout.stacks[*stack];
                Expr::Element(Element {
                    next: stack.next,
                    index: index.clone(),
                    base: slot,
                    stride: stack.stride,
                    size: stack.size,
                    width,
                    signed,
                })
            }
            HeaderRef::Either(cond, yes, no) => {
                layout.parts.add(cond.parts())?;
                let sample = |header: &HeaderRef| &layout.headers[header.sample(layout)];
                let other = sample(yes).same_in(slot, sample(no));
                Expr::If(
                    cond.clone(),
                    Box::new(yes.load(layout, slot, width, signed)?),
                    Box::new(no.load(layout, other, width, signed)?),
                )
            }
        })
    }

    pub fn valid(&self, layout: &Layout) -> Result<Expr, LoadError> {
        let slot = layout.headers[self.sample(layout)].valid;
        let valid = self.load(layout, slot, 1, false)?;
        Ok(Expr::ToBool(Box::new(valid)))
    }

    fn field(&self, layout: &Layout, field: &Field) -> Result<Expr, LoadError> {
        if field.var {
            return Err(LoadError::new(format!(
                "the varbit field {} of a stack's element in an expression is not supported",
                field.name
            )));
        }
        self.load(layout, field.slot, field.width, field.signed)
    }

    /// A field by its number, as `access_field` has it; the number behind the
    /// last one is the header's validity.
    pub fn numbered(&self, layout: &Layout, number: u64) -> Result<Expr, LoadError> {
        let header = &layout.headers[self.sample(layout)];
        if number == header.fields.len() as u64 {
            return self.load(layout, header.valid, 1, false);
        }
        let field = usize::try_from(number)
            .ok()
            .and_then(|n| header.fields.get(n));
        let field = field.ok_or_else(|| {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: header {} has no field number {number}",
                header.name
            ))
        })?;
        self.field(layout, field)
    }

    /// A field by its name, `$valid$` included.
    pub fn named(&self, layout: &Layout, name: &str) -> Result<Expr, LoadError> {
        let sample = &layout.headers[self.sample(layout)].name;
        let (_, field) = layout.field(sample, name)?;
        self.field(layout, &field)
    }

    /// Whether two headers are equal: both invalid, or both valid with the
    /// same fields. To BMv2 invalid headers differ even from themselves.
    pub fn same(&self, other: &HeaderRef, layout: &Layout) -> Result<Expr, LoadError> {
        let (left, right) = (
            &layout.headers[self.sample(layout)],
            &layout.headers[other.sample(layout)],
        );
        if left.header_type != right.header_type {
            return Err(LoadError::new(format!(
                "the BMv2 JSON is malformed: {} and {} are compared and have different types",
                left.name, right.name
            )));
        }
        let validity = || Ok((self.valid(layout)?, other.valid(layout)?));
        let (a, b) = validity()?;
        let mut equal = vec![and(a, b)];
        for (x, y) in left.fields.iter().zip(&right.fields) {
            let same = if x.var {
                match (self, other) {
                    (HeaderRef::Named(_), HeaderRef::Named(_)) => Expr::SameVar(x.slot, y.slot),
                    _ => return Err(self.field(layout, x).map(|_| ()).unwrap_err()),
                }
            } else {
                let (x, y) = (self.field(layout, x)?, other.field(layout, y)?);
                Expr::Compare(Relation::Eq, Box::new(x), Box::new(y))
            };
            equal.push(same);
        }
        let equal = joined(equal, and);
        Ok(if layout.quirks {
            equal
        } else {
            let (a, b) = validity()?;
            let neither = and(not(a), not(b));
            Expr::Or(Box::new(neither), Box::new(equal))
        })
    }
}

impl UnionRef {
    pub fn members(&self, layout: &Layout) -> usize {
        match self {
            UnionRef::Named(union) => layout.unions[*union].headers.len(),
            UnionRef::Element { stack, .. } => layout.stacks[*stack].per_element,
        }
    }

    pub fn member(&self, layout: &Layout, member: usize) -> Option<HeaderRef> {
        match self {
            UnionRef::Named(union) => {
                let header = layout.unions[*union].headers.get(member)?;
                Some(HeaderRef::Named(*header))
            }
            UnionRef::Element { stack, index } => (member < layout.stacks[*stack].per_element)
                .then(|| HeaderRef::Element {
                    stack: *stack,
                    member,
                    index: index.clone(),
                }),
        }
    }
}

/// `stack_field`: a field of the last element that the parser filled.
pub(super) fn last_field(layout: &Layout, value: &Value) -> Result<Expr, LoadError> {
    let (stack, field): (String, String) = json::from_value("a stack's field", value)?;
    let stack = layout.stack_index(&stack)?;
    let header = HeaderRef::Element {
        stack,
        member: 0,
        index: Index::Last,
    };
    header.named(layout, &field)
}

/// `union_stack_field`: a field of a member of the last union.
pub(super) fn last_union_field(layout: &Layout, value: &Value) -> Result<Expr, LoadError> {
    let (stack, member, field): (String, String, String) =
        json::from_value("a union stack's field", value)?;
    let stack = layout.stack_index(&stack)?;
    let member = layout.stacks[stack]
        .members
        .iter()
        .position(|m| *m == member);
    let header = HeaderRef::Element {
        stack,
        member: member.ok_or_else(|| {
            LoadError::new("the BMv2 JSON is malformed: a union has no such member")
        })?,
        index: Index::Last,
    };
    header.named(layout, &field)
}

/// Most expressions that are joined from left to right.
const ROW: usize = 64;

/// Expressions joined by `join`, of which there must be one.
///
/// Code generation, like all that follows an expression, calls itself for each level of it: a
/// header with thousands of fields must not need as many levels. Up to [`ROW`] expressions are
/// joined from left to right, and more in halves; the code that tests them is the same.
pub(super) fn joined(mut all: Vec<Expr>, join: fn(Expr, Expr) -> Expr) -> Expr {
    if all.len() > ROW {
        let behind = all.split_off(all.len() / 2);
        return join(joined(all, join), joined(behind, join));
    }
    let mut rest = all.into_iter();
    let first = rest.next().unwrap_or(Expr::Bool(true));
    rest.fold(first, join)
}

pub(super) fn or(a: Expr, b: Expr) -> Expr {
    Expr::Or(Box::new(a), Box::new(b))
}

pub(super) fn and(a: Expr, b: Expr) -> Expr {
    Expr::And(Box::new(a), Box::new(b))
}

fn not(a: Expr) -> Expr {
    Expr::Negate(Box::new(a))
}
