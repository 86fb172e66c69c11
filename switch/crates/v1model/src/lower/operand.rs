// SPDX-License-Identifier: Apache-2.0
//! Operands of statements and expressions: what the JSON says, as expressions, headers and unions,
//! each of which may have the others inside.

use super::header_ref::{self, HeaderRef, UnionRef, and, joined, or};
use crate::error::LoadError;
use crate::expr::{Arith, Expr, Index, Relation};
use crate::json::{self, Operand};
use crate::layout::Layout;
use serde_json::Value;

/// Digits of a constant that count as a part of an expression: those of 128 bits.
const DIGITS: usize = 32;

impl Expr {
    /// Parses an operand of a statement or expression. `params` are the
    /// enclosing action's parameters.
    pub fn parse(layout: &Layout, params: &[Expr], operand: &Operand) -> Result<Expr, LoadError> {
        Self::parse_parts(layout, params, &operand.kind, &operand.value)
    }

    /// The same for an operand in parts, so that nested ones are not copied.
    fn parse_parts(
        layout: &Layout,
        params: &[Expr],
        kind: &str,
        value: &Value,
    ) -> Result<Expr, LoadError> {
        layout.parts.add(1)?;
        match kind {
            "hexstr" => {
                let text = value.as_str().ok_or_else(|| malformed("hexstr", value))?;
                layout.parts.add(text.len() / DIGITS)?;
                Ok(match json::hex(text) {
                    Ok((magnitude, negative)) if !negative || magnitude <= 1 << 127 => {
                        Expr::Const {
                            magnitude,
                            negative,
                        }
                    }
                    _ => Expr::Huge(json::big(text)?),
                })
            }
            "bool" => value
                .as_bool()
                .map(Expr::Bool)
                .ok_or_else(|| malformed("bool", value)),
            "field" if value.get(0).is_some_and(Value::is_object) => {
                // p4c's form of the validity of an element with a run-time index.
                let header = Operand {
                    kind: "expression".to_owned(),
                    value: value[0].clone(),
                };
                let name = value.get(1).and_then(Value::as_str).unwrap_or("");
                HeaderRef::parse(layout, params, &header)?.named(layout, name)
            }
            "field" => {
                let (header, name): (String, String) = json::from_value("a field", value)?;
                let (_, field) = layout.field(&header, &name)?;
                if field.var {
                    return Ok(Expr::Var(field.slot));
                }
                Ok(Expr::Load {
                    slot: field.slot,
                    width: field.width,
                    signed: field.signed,
                })
            }
            "stack_field" => header_ref::last_field(layout, value),
            "union_stack_field" => header_ref::last_union_field(layout, value),
            "local" | "runtime_data" => {
                let index = value.as_u64().and_then(|i| usize::try_from(i).ok());
                index
                    .and_then(|i| params.get(i).cloned())
                    .ok_or_else(|| malformed(kind, value))
            }
            "expression" => parse_expression(layout, params, value),
            other => Err(LoadError::new(format!(
                "an operand of kind {other} in an expression is not supported"
            ))),
        }
    }
}

fn malformed(what: &str, value: &Value) -> LoadError {
    LoadError::new(format!(
        "the BMv2 JSON is malformed: {what} has the value {value}"
    ))
}

fn parse_expression(layout: &Layout, params: &[Expr], value: &Value) -> Result<Expr, LoadError> {
    // p4c wraps expressions in further expressions, and leaves in them.
    if let Some(kind) = value.get("type").and_then(Value::as_str) {
        let value = value.get("value").unwrap_or(&Value::Null);
        return Expr::parse_parts(layout, params, kind, value);
    }
    let op = value
        .get("op")
        .and_then(Value::as_str)
        .ok_or_else(|| malformed("an expression", value))?;
    let has = |name: &str| value.get(name).is_some_and(|v| !v.is_null());
    let operand = |name: &str| -> Result<Operand, LoadError> {
        let v = value
            .get(name)
            .ok_or_else(|| malformed(&format!("operator {op}"), value))?;
        json::from_value("an expression", v)
    };
    let parse = |name: &str| match value.get(name) {
        Some(v) if v.get("type").is_some_and(Value::is_string) => {
            parse_expression(layout, params, v)
        }
        _ => Err(malformed(&format!("operator {op}"), value)),
    };
    let data = |name: &str| {
        let e = parse(name)?;
        if e.is_bool() {
            Err(malformed(&format!("operator {op}"), value))
        } else {
            Ok(Box::new(e))
        }
    };
    let boolean = |name: &str| {
        let e = parse(name)?;
        if e.is_bool() {
            Ok(Box::new(e))
        } else {
            Err(malformed(&format!("operator {op}"), value))
        }
    };
    let arith = |op: Arith| Ok(Expr::Arith(op, data("left")?, data("right")?));
    let width_of = |expr: &Expr| match expr {
        Expr::Arith(_, _, width) => width
            .as_constant()
            .is_some_and(|w| (1..=65535).contains(&w)),
        _ => false,
    };
    let cast = |op_kind: Arith| {
        let e = arith(op_kind)?;
        if width_of(&e) {
            Ok(e)
        } else {
            Err(LoadError::new(format!(
                "operator {op} to a width that is not 1 to 65535 bits"
            )))
        }
    };
    match op {
        "+" if !has("left") => parse("right"),
        "-" if !has("left") => Ok(Expr::Arith(
            Arith::Sub,
            Box::new(Expr::constant(0)),
            data("right")?,
        )),
        "+" => arith(Arith::Add),
        "-" => arith(Arith::Sub),
        "*" => arith(Arith::Mul),
        "/" => arith(Arith::Div),
        "%" => arith(Arith::Rem),
        "&" => arith(Arith::And),
        "|" => arith(Arith::Or),
        "^" => arith(Arith::Xor),
        "<<" => arith(Arith::Shl),
        ">>" => arith(Arith::Shr),
        "~" => Ok(Expr::Not(data("right")?)),
        "two_comp_mod" => cast(Arith::TwoCompMod),
        "usat_cast" => cast(Arith::SatUnsigned),
        "sat_cast" => cast(Arith::SatSigned),
        "==" | "!=" => {
            let whole = |name: &str| value.get(name).is_some_and(may_be_whole);
            let same = if whole("left") || whole("right") {
                same(layout, params, &operand("left")?, &operand("right")?)?
            } else {
                None
            };
            if let Some(same) = same {
                return Ok(match op {
                    "==" => same,
                    _ => Expr::Negate(Box::new(same)),
                });
            }
            let (left, right) = (Box::new(parse("left")?), Box::new(parse("right")?));
            // BMv2 compares varbit fields as numbers, whatever their lengths.
            if let (Expr::Var(a), Expr::Var(b), false) = (&*left, &*right, layout.quirks) {
                let same = Expr::SameVar(*a, *b);
                return Ok(match op {
                    "==" => same,
                    _ => Expr::Negate(Box::new(same)),
                });
            }
            match (left.is_bool(), right.is_bool(), op) {
                (false, false, "==") => Ok(Expr::Compare(Relation::Eq, left, right)),
                (false, false, _) => Ok(Expr::Compare(Relation::Ne, left, right)),
                (true, true, "==") => Ok(Expr::Same(left, right)),
                (true, true, _) => Ok(Expr::Negate(Box::new(Expr::Same(left, right)))),
                _ => Err(malformed(&format!("operator {op}"), value)),
            }
        }
        "<" => Ok(Expr::Compare(Relation::Lt, data("left")?, data("right")?)),
        "<=" => Ok(Expr::Compare(Relation::Le, data("left")?, data("right")?)),
        ">" => Ok(Expr::Compare(Relation::Lt, data("right")?, data("left")?)),
        ">=" => Ok(Expr::Compare(Relation::Le, data("right")?, data("left")?)),
        "and" => Ok(Expr::And(boolean("left")?, boolean("right")?)),
        "or" => Ok(Expr::Or(boolean("left")?, boolean("right")?)),
        "not" => Ok(Expr::Negate(boolean("right")?)),
        "d2b" => Ok(Expr::ToBool(data("right")?)),
        "b2d" => Ok(Expr::FromBool(boolean("right")?)),
        "?" => {
            let (yes, no) = (Box::new(parse("left")?), Box::new(parse("right")?));
            if yes.is_bool() != no.is_bool() {
                return Err(malformed("operator ?", value));
            }
            Ok(Expr::If(boolean("cond")?, yes, no))
        }
        "valid" => {
            let header = HeaderRef::parse(layout, params, &operand("right")?)?;
            header.valid(layout)
        }
        "valid_union" => union_valid(layout, params, &operand("right")?),
        "last_stack_index" => last_index(layout, &operand("right")?),
        "size_stack" => stack_size(layout, &operand("right")?),
        "access_field" => {
            let header = HeaderRef::parse(layout, params, &operand("left")?)?;
            let number = value.get("right").and_then(Value::as_u64);
            header.numbered(
                layout,
                number.ok_or_else(|| malformed("operator access_field", value))?,
            )
        }
        _ => Err(LoadError::new(format!("operator {op} is not supported"))),
    }
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
                layout.header_index(operand.name("header")?)?,
            ));
        }
        let value = unwrapped(operand);
        let part = |name: &str| -> Result<Operand, LoadError> {
            json::from_value("a header", value.get(name).unwrap_or(&Value::Null))
        };
        match value.get("op").and_then(Value::as_str) {
            Some("dereference_header_stack" | "dereference_stack") => {
                let stack = layout.stack_index(part("left")?.name("header_stack")?)?;
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
                layout.union_index(operand.name("header_union")?)?,
            ));
        }
        let value = unwrapped(operand);
        let part = |name: &str| -> Result<Operand, LoadError> {
            json::from_value("a union", value.get(name).unwrap_or(&Value::Null))
        };
        match value.get("op").and_then(Value::as_str) {
            Some("dereference_union_stack") => Ok(UnionRef::Element {
                stack: layout.stack_index(part("left")?.name("header_union_stack")?)?,
                index: Index::At(Box::new(Expr::parse(layout, params, &part("right")?)?)),
            }),
            _ => Err(LoadError::new(format!(
                "an operand of kind {} where a union is expected is not supported",
                operand.kind
            ))),
        }
    }
}

/// `valid_union`: whether a member is valid.
fn union_valid(layout: &Layout, params: &[Expr], operand: &Operand) -> Result<Expr, LoadError> {
    let union = UnionRef::parse(layout, params, operand)?;
    let members = (0..union.members(layout)).filter_map(|m| union.member(layout, m));
    let valid: Vec<Expr> = members.map(|m| m.valid(layout)).collect::<Result<_, _>>()?;
    if valid.is_empty() {
        return Ok(Expr::Bool(false));
    }
    Ok(joined(valid, or))
}

/// Whether an operand may be a header or a union: no other has such a name.
fn may_be_whole(operand: &Value) -> bool {
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
fn same(
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
    let mut all = Vec::new();
    for member in 0..left.members(layout) {
        if let (Some(a), Some(b)) = (left.member(layout, member), right.member(layout, member)) {
            all.push(a.same(&b, layout)?);
        }
    }
    // To BMv2 one valid and equal member makes unions equal.
    Ok(Some(joined(all, if layout.quirks { or } else { and })))
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
fn last_index(layout: &Layout, operand: &Operand) -> Result<Expr, LoadError> {
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
fn stack_size(layout: &Layout, operand: &Operand) -> Result<Expr, LoadError> {
    let stack = &layout.stacks[stack_of(layout, operand)?];
    Ok(Expr::constant(u128::from(stack.size)))
}

fn stack_of(layout: &Layout, operand: &Operand) -> Result<usize, LoadError> {
    match operand.kind.as_str() {
        "header_union_stack" => layout.stack_index(operand.name("header_union_stack")?),
        _ => layout.stack_index(operand.name("header_stack")?),
    }
}
