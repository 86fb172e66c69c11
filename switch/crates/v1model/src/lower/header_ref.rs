// SPDX-License-Identifier: Apache-2.0
//! Headers as operands: by name, as an element of a stack, as a union's member.

use super::action::name;
use super::expr::{Arith, Element, Expr, Index, Relation};
use crate::error::LoadError;
use crate::json::{self, Operand};
use crate::layout::{Field, Layout};
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
    /// Whether the operand is a header at all.
    pub fn is(operand: &Operand) -> bool {
        let op = |name: &str| unwrapped(operand).get("op").and_then(Value::as_str) == Some(name);
        operand.kind == "header"
            || op("dereference_header_stack")
            || op("dereference_stack")
            || op("access_union_header")
            || op("?") && {
                let left = unwrapped(operand).get("left").cloned();
                left.and_then(|l| json::from_value("?", &l).ok())
                    .is_some_and(|l| HeaderRef::is(&l))
            }
    }

    pub fn parse(
        layout: &Layout,
        params: &[Expr],
        operand: &Operand,
    ) -> Result<HeaderRef, LoadError> {
        if operand.kind == "header" {
            return Ok(HeaderRef::Named(
                layout.header_index(name(operand, "header")?)?,
            ));
        }
        let value = unwrapped(operand);
        let part = |name: &str| -> Result<Operand, LoadError> {
            json::from_value("a header", value.get(name).unwrap_or(&Value::Null))
        };
        match value.get("op").and_then(Value::as_str) {
            Some("dereference_header_stack" | "dereference_stack") => {
                let stack = layout.stack_index(name(&part("left")?, "header_stack")?)?;
                let index = Index::At(Box::new(Expr::parse(layout, params, &part("right")?)?));
                Ok(HeaderRef::Element {
                    stack,
                    member: 0,
                    index,
                })
            }
            Some("access_union_header") => {
                let union = UnionRef::parse(layout, params, &part("left")?)?;
                let member = value.get("right").and_then(Value::as_u64);
                let member = member
                    .and_then(|m| usize::try_from(m).ok())
                    .and_then(|m| union.member(layout, m));
                member.ok_or_else(|| {
                    LoadError::new("the BMv2 JSON is malformed: a union has no such member")
                })
            }
            Some("?") => {
                let cond = Expr::parse(layout, params, &part("cond")?)?.into_bool();
                let yes = HeaderRef::parse(layout, params, &part("left")?)?;
                let no = HeaderRef::parse(layout, params, &part("right")?)?;
                let kind = |h: &HeaderRef| &layout.headers[h.sample(layout)].header_type;
                if kind(&yes) != kind(&no) {
                    return Err(LoadError::new(
                        "the BMv2 JSON is malformed: ? chooses between headers of two types",
                    ));
                }
                Ok(HeaderRef::Either(
                    Box::new(cond),
                    Box::new(yes),
                    Box::new(no),
                ))
            }
            // How p4c 1.2.4 writes `stack.last` as a whole.
            _ if value.get("type").and_then(Value::as_str) == Some("stack_field") => {
                let (stack, last): (String, String) =
                    json::from_value("a header", value.get("value").unwrap_or(&Value::Null))?;
                if last != "last" {
                    return Err(LoadError::new(format!(
                        "the BMv2 JSON is malformed: {stack}.{last} is no header"
                    )));
                }
                Ok(HeaderRef::Element {
                    stack: layout.stack_index(&stack)?,
                    member: 0,
                    index: Index::Last,
                })
            }
            _ if value.get("type").and_then(Value::as_str) == Some("header") => {
                HeaderRef::parse(layout, params, &json::from_value("a header", value)?)
            }
            _ => Err(LoadError::new(format!(
                "an operand of kind {} where a header is expected is not supported",
                operand.kind
            ))),
        }
    }

    /// A header with the layout of the one that is meant.
    pub fn sample(&self, layout: &Layout) -> usize {
        match self {
            HeaderRef::Named(header) => *header,
            HeaderRef::Element { stack, member, .. } => layout.stacks[*stack].header(0, *member),
            HeaderRef::Either(_, yes, _) => yes.sample(layout),
        }
    }

    /// Reads some slots of the header: `slot` is the place in [`HeaderRef::sample`].
    fn load(&self, layout: &Layout, slot: Slot, width: u16, signed: bool) -> Expr {
        match self {
            HeaderRef::Named(_) => Expr::Load {
                slot,
                width,
                signed,
            },
            HeaderRef::Element { stack, index, .. } => {
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
                let sample = |header: &HeaderRef| &layout.headers[header.sample(layout)];
                let other = sample(yes).same_in(slot, sample(no));
                Expr::If(
                    cond.clone(),
                    Box::new(yes.load(layout, slot, width, signed)),
                    Box::new(no.load(layout, other, width, signed)),
                )
            }
        }
    }

    pub fn valid(&self, layout: &Layout) -> Expr {
        let slot = layout.headers[self.sample(layout)].valid;
        Expr::ToBool(Box::new(self.load(layout, slot, 1, false)))
    }

    fn field(&self, layout: &Layout, field: &Field) -> Result<Expr, LoadError> {
        if field.var {
            return Err(LoadError::new(format!(
                "the varbit field {} of a stack's element in an expression is not supported",
                field.name
            )));
        }
        Ok(self.load(layout, field.slot, field.width, field.signed))
    }

    /// A field by its number, as `access_field` has it; the number behind the
    /// last one is the header's validity.
    pub fn numbered(&self, layout: &Layout, number: u64) -> Result<Expr, LoadError> {
        let header = &layout.headers[self.sample(layout)];
        if number == header.fields.len() as u64 {
            return Ok(self.load(layout, header.valid, 1, false));
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
        let (a, b) = (self.valid(layout), other.valid(layout));
        let mut equal = and(a.clone(), b.clone());
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
            equal = and(equal, same);
        }
        Ok(if layout.quirks {
            equal
        } else {
            let neither = and(not(a), not(b));
            Expr::Or(Box::new(neither), Box::new(equal))
        })
    }
}

impl UnionRef {
    fn is(operand: &Operand) -> bool {
        let op = unwrapped(operand).get("op").and_then(Value::as_str);
        operand.kind == "header_union" || op == Some("dereference_union_stack")
    }

    pub fn parse(
        layout: &Layout,
        params: &[Expr],
        operand: &Operand,
    ) -> Result<UnionRef, LoadError> {
        if operand.kind == "header_union" {
            return Ok(UnionRef::Named(
                layout.union_index(name(operand, "header_union")?)?,
            ));
        }
        let value = unwrapped(operand);
        let part = |name: &str| -> Result<Operand, LoadError> {
            json::from_value("a union", value.get(name).unwrap_or(&Value::Null))
        };
        match value.get("op").and_then(Value::as_str) {
            Some("dereference_union_stack") => Ok(UnionRef::Element {
                stack: layout.stack_index(name(&part("left")?, "header_union_stack")?)?,
                index: Index::At(Box::new(Expr::parse(layout, params, &part("right")?)?)),
            }),
            _ => Err(LoadError::new(format!(
                "an operand of kind {} where a union is expected is not supported",
                operand.kind
            ))),
        }
    }

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

/// `valid_union`: whether a member is valid.
pub(super) fn union_valid(
    layout: &Layout,
    params: &[Expr],
    operand: &Operand,
) -> Result<Expr, LoadError> {
    let union = UnionRef::parse(layout, params, operand)?;
    let members = (0..union.members(layout)).filter_map(|m| union.member(layout, m));
    let any = members
        .map(|m| m.valid(layout))
        .reduce(|a, b| Expr::Or(Box::new(a), Box::new(b)));
    Ok(any.unwrap_or(Expr::Bool(false)))
}

/// Whether an operand may be a header or a union: no other has such a name.
pub(super) fn may_be_whole(operand: &Value) -> bool {
    let mut value = operand;
    loop {
        let kind = value.get("type").and_then(Value::as_str);
        match (kind, value.get("value")) {
            (Some("header" | "header_union"), _) => return true,
            (Some("expression"), Some(inner)) => value = inner,
            _ => break,
        }
    }
    match value.get("op").and_then(Value::as_str) {
        Some(
            "dereference_header_stack"
            | "dereference_stack"
            | "dereference_union_stack"
            | "access_union_header",
        ) => true,
        Some("?") => value.get("left").is_some_and(may_be_whole),
        _ => false,
    }
}

/// `==` of headers or unions; `None` when the operands are neither.
pub(super) fn same(
    layout: &Layout,
    params: &[Expr],
    left: &Operand,
    right: &Operand,
) -> Result<Option<Expr>, LoadError> {
    if HeaderRef::is(left) || HeaderRef::is(right) {
        let left = HeaderRef::parse(layout, params, left)?;
        let right = HeaderRef::parse(layout, params, right)?;
        return left.same(&right, layout).map(Some);
    }
    if !UnionRef::is(left) && !UnionRef::is(right) {
        return Ok(None);
    }
    let left = UnionRef::parse(layout, params, left)?;
    let right = UnionRef::parse(layout, params, right)?;
    if left.members(layout) != right.members(layout) {
        return Err(LoadError::new(
            "the BMv2 JSON is malformed: unions of different types are compared",
        ));
    }
    let mut all: Option<Expr> = None;
    for member in 0..left.members(layout) {
        if let (Some(a), Some(b)) = (left.member(layout, member), right.member(layout, member)) {
            let same = a.same(&b, layout)?;
            // To BMv2 one valid and equal member makes unions equal.
            all = Some(match all {
                None => same,
                Some(all) if layout.quirks => Expr::Or(Box::new(all), Box::new(same)),
                Some(all) => and(all, same),
            });
        }
    }
    Ok(Some(all.unwrap_or(Expr::Bool(true))))
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

fn and(a: Expr, b: Expr) -> Expr {
    Expr::And(Box::new(a), Box::new(b))
}

fn not(a: Expr) -> Expr {
    Expr::Negate(Box::new(a))
}

/// What p4c wrapped into expressions.
fn unwrapped(operand: &Operand) -> &Value {
    let mut value = &operand.value;
    while value.get("type").and_then(Value::as_str) == Some("expression") {
        match value.get("value") {
            Some(inner) => value = inner,
            None => break,
        }
    }
    value
}

/// `last_stack_index`: 2^64 - 1 below an empty stack's first element in BMv2,
/// which is -1 wherever it is cut to a width.
pub(super) fn last_index(layout: &Layout, operand: &Operand) -> Result<Expr, LoadError> {
    let stack = &layout.stacks[stack_of(layout, operand)?];
    let next = Expr::Load {
        slot: stack.next,
        width: 32,
        signed: false,
    };
    Ok(Expr::Arith(
        Arith::Sub,
        Box::new(next),
        Box::new(Expr::constant(1)),
    ))
}

/// `size_stack`.
pub(super) fn stack_size(layout: &Layout, operand: &Operand) -> Result<Expr, LoadError> {
    let stack = &layout.stacks[stack_of(layout, operand)?];
    Ok(Expr::constant(u128::from(stack.size)))
}

fn stack_of(layout: &Layout, operand: &Operand) -> Result<usize, LoadError> {
    match operand.kind.as_str() {
        "header_union_stack" => layout.stack_index(name(operand, "header_union_stack")?),
        _ => layout.stack_index(name(operand, "header_stack")?),
    }
}
