// SPDX-License-Identifier: Apache-2.0
//! Random expressions of any width against big integers: 64 bits, 128 bits
//! and the slow path must give what unbounded arithmetic gives.

use crate::common::pass;
use num_bigint::{BigInt, Sign};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use v1model::{Pipeline, Program};

/// Names, widths and signs of the fields of `in_t` in anything.p4.
const FIELDS: [(&str, u32, bool); 13] = [
    ("u8", 8, false),
    ("u33", 33, false),
    ("u7", 7, false),
    ("u64", 64, false),
    ("u72", 72, false),
    ("u128", 128, false),
    ("u200", 200, false),
    ("s8", 8, true),
    ("s40", 40, true),
    ("s64", 64, true),
    ("s104", 104, true),
    ("s128", 128, true),
    ("s264", 264, true),
];
/// Names and widths of the fields of `out_t` that are assigned.
const RESULTS: [(&str, u32); 6] = [
    ("b", 1),
    ("n", 8),
    ("w", 64),
    ("x", 128),
    ("y", 200),
    ("s", 40),
];

#[derive(Clone, Debug)]
enum Number {
    Field(usize),
    Constant(BigInt),
    Binary(&'static str, Box<Number>, Box<Number>),
    /// A shift by an unsigned field of 8 bits or a constant.
    Shift(&'static str, Box<Number>, Result<usize, u16>),
    Mask(Box<Number>, u32),
    /// A cast to so many bits.
    Cast(&'static str, Box<Number>, u32),
    Not(Box<Number>),
    Negative(Box<Number>),
    If(Box<Truth>, Box<Number>, Box<Number>),
    Of(Box<Truth>),
}

#[derive(Clone, Debug)]
enum Truth {
    Constant(bool),
    Compare(&'static str, Box<Number>, Box<Number>),
    Binary(&'static str, Box<Truth>, Box<Truth>),
    Not(Box<Truth>),
    Of(Box<Number>),
}

fn big(magnitude: [u64; 4], bits: u32, negative: bool) -> BigInt {
    let bytes: Vec<u8> = magnitude.iter().flat_map(|w| w.to_le_bytes()).collect();
    let value = BigInt::from_bytes_le(Sign::Plus, &bytes) & ones(bits);
    if negative { -value } else { value }
}

fn ones(bits: u32) -> BigInt {
    (BigInt::from(1) << bits) - 1
}

fn constant() -> impl Strategy<Value = BigInt> {
    let bits = prop_oneof![1u32..=16, Just(63), Just(64), Just(65), 1u32..=256];
    (any::<[u64; 4]>(), bits, any::<bool>()).prop_map(|(m, b, n)| big(m, b, n))
}

fn number(depth: u32) -> BoxedStrategy<Number> {
    let leaf = prop_oneof![
        3 => (0..FIELDS.len()).prop_map(Number::Field),
        1 => constant().prop_map(Number::Constant),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let n = || number(depth - 1).prop_map(Box::new);
    let t = || truth(depth - 1).prop_map(Box::new);
    let binary = prop::sample::select(vec!["+", "-", "*", "/", "%", "&", "|", "^"]);
    let shift = prop::sample::select(vec!["<<", ">>"]);
    let by = prop_oneof![Just(Ok(0usize)), (0u16..300).prop_map(Err)];
    let cast = prop::sample::select(vec!["two_comp_mod", "usat_cast", "sat_cast"]);
    let width = || prop_oneof![1u32..=16, 60u32..=68, 120u32..=132, 1u32..=300];
    prop_oneof![
        1 => leaf,
        4 => (binary, n(), n()).prop_map(|(op, a, b)| Number::Binary(op, a, b)),
        2 => (shift, n(), by).prop_map(|(op, a, by)| Number::Shift(op, a, by)),
        2 => (n(), width()).prop_map(|(a, w)| Number::Mask(a, w)),
        2 => (cast, n(), width()).prop_map(|(op, a, w)| Number::Cast(op, a, w)),
        1 => n().prop_map(Number::Not),
        1 => n().prop_map(Number::Negative),
        1 => (t(), n(), n()).prop_map(|(c, a, b)| Number::If(c, a, b)),
        1 => t().prop_map(Number::Of),
    ]
    .boxed()
}

fn truth(depth: u32) -> BoxedStrategy<Truth> {
    let leaf = any::<bool>().prop_map(Truth::Constant);
    if depth == 0 {
        return leaf.boxed();
    }
    let n = || number(depth - 1).prop_map(Box::new);
    let t = || truth(depth - 1).prop_map(Box::new);
    let compare = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let binary = prop::sample::select(vec!["and", "or", "==", "!="]);
    prop_oneof![
        1 => leaf,
        6 => (compare, n(), n()).prop_map(|(op, a, b)| Truth::Compare(op, a, b)),
        2 => (binary, t(), t()).prop_map(|(op, a, b)| Truth::Binary(op, a, b)),
        1 => t().prop_map(Truth::Not),
        2 => n().prop_map(Truth::Of),
    ]
    .boxed()
}

fn hex(value: &BigInt) -> Value {
    let sign = if value.sign() == Sign::Minus { "-" } else { "" };
    json!({"type": "hexstr", "value": format!("{sign}0x{}", value.magnitude().to_str_radix(16))})
}

fn expression(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

impl Number {
    fn json(&self) -> Value {
        match self {
            Number::Field(field) => json!({"type": "field", "value": ["i", FIELDS[*field].0]}),
            Number::Constant(value) => hex(value),
            Number::Binary(op, a, b) => expression(op, a.json(), b.json()),
            Number::Shift(op, a, Ok(field)) => {
                expression(op, a.json(), Number::Field(*field).json())
            }
            Number::Shift(op, a, Err(by)) => expression(op, a.json(), hex(&BigInt::from(*by))),
            Number::Mask(a, width) => expression("&", a.json(), hex(&ones(*width))),
            Number::Cast(op, a, width) => expression(op, a.json(), hex(&BigInt::from(*width))),
            Number::Not(a) => expression("~", Value::Null, a.json()),
            Number::Negative(a) => expression("-", Value::Null, a.json()),
            Number::If(c, a, b) => json!({"type": "expression", "value":
                {"op": "?", "left": a.json(), "right": b.json(), "cond": c.json()}}),
            Number::Of(t) => expression("b2d", Value::Null, t.json()),
        }
    }

    fn value(&self, fields: &[BigInt]) -> BigInt {
        let zero = BigInt::ZERO;
        match self {
            Number::Field(field) => fields[*field].clone(),
            Number::Constant(value) => value.clone(),
            Number::Binary(op, a, b) => {
                let (a, b) = (a.value(fields), b.value(fields));
                match *op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" | "%" if b == zero => zero,
                    "/" => a / b,
                    "%" => a % b,
                    "&" => a & b,
                    "|" => a | b,
                    _ => a ^ b,
                }
            }
            Number::Shift(op, a, by) => {
                let by = match by {
                    Ok(field) => u32::try_from(&fields[*field]).unwrap(),
                    Err(by) => u32::from(*by),
                };
                if *op == "<<" {
                    a.value(fields) << by
                } else {
                    a.value(fields) >> by
                }
            }
            Number::Mask(a, width) => a.value(fields) & ones(*width),
            Number::Cast(op, a, width) => {
                let a = a.value(fields);
                let half = BigInt::from(1) << (width - 1);
                match *op {
                    "two_comp_mod" => ((a + &half) & ones(*width)) - half,
                    "usat_cast" => a.clamp(zero, ones(*width)),
                    _ => a.clamp(-half.clone(), half - 1),
                }
            }
            Number::Not(a) => -a.value(fields) - 1,
            Number::Negative(a) => -a.value(fields),
            Number::If(c, a, b) => {
                if c.value(fields) {
                    a.value(fields)
                } else {
                    b.value(fields)
                }
            }
            Number::Of(t) => BigInt::from(u8::from(t.value(fields))),
        }
    }
}

impl Truth {
    fn json(&self) -> Value {
        match self {
            Truth::Constant(value) => json!({"type": "bool", "value": value}),
            Truth::Compare(op, a, b) => expression(op, a.json(), b.json()),
            Truth::Binary(op, a, b) => expression(op, a.json(), b.json()),
            Truth::Not(a) => expression("not", Value::Null, a.json()),
            Truth::Of(a) => expression("d2b", Value::Null, a.json()),
        }
    }

    fn value(&self, fields: &[BigInt]) -> bool {
        match self {
            Truth::Constant(value) => *value,
            Truth::Compare(op, a, b) => {
                let (a, b) = (a.value(fields), b.value(fields));
                match *op {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                }
            }
            Truth::Binary(op, a, b) => {
                let (a, b) = (a.value(fields), b.value(fields));
                match *op {
                    "and" => a && b,
                    "or" => a || b,
                    "==" => a == b,
                    _ => a != b,
                }
            }
            Truth::Not(a) => !a.value(fields),
            Truth::Of(a) => a.value(fields) != BigInt::ZERO,
        }
    }
}

/// anything.p4 with these expressions.
fn program(numbers: &[Number], condition: &Truth) -> Value {
    let mut json: Value = serde_json::from_str(include_str!("../programs/anything.json")).unwrap();
    for action in json["actions"].as_array_mut().unwrap() {
        for primitive in action["primitives"].as_array_mut().unwrap() {
            let target = &primitive["parameters"][0]["value"];
            let at = RESULTS
                .iter()
                .position(|(name, _)| *target == json!(["o", name]));
            if let Some(at) = at {
                primitive["parameters"][1] = numbers[at].json();
            }
        }
    }
    json["pipelines"][0]["conditionals"][0]["expression"] = condition.json();
    json
}

/// The frame, and what its fields are.
fn input(words: &[u64]) -> (Vec<u8>, Vec<BigInt>) {
    let bytes: Vec<u8> = words
        .iter()
        .flat_map(|w| w.to_be_bytes())
        .take(140)
        .collect();
    let mut left: u32 = FIELDS.iter().map(|f| f.1).sum();
    let all = BigInt::from_bytes_be(Sign::Plus, &bytes);
    let fields = FIELDS.map(|(_, width, signed)| {
        left -= width;
        let value: BigInt = (&all >> left) & ones(width);
        if signed && value.bit(u64::from(width) - 1) {
            value - (BigInt::from(1) << width)
        } else {
            value
        }
    });
    (bytes, fields.to_vec())
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        Just(1 << 63),
        Just(1),
        any::<u64>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn of_any_width(
        numbers in prop::collection::vec(number(4), RESULTS.len()),
        condition in truth(4),
        packets in prop::collection::vec(prop::collection::vec(word(), 18), 4),
    ) {
        let json = program(&numbers, &condition);
        let loaded = Program::load(json.to_string().as_bytes())
            .map_err(|e| TestCaseError::fail(e.to_string()))?;
        let mut pipeline = Pipeline::new(Arc::new(loaded), 1);
        for words in packets {
            let (frame, fields) = input(&words);
            let (_, out) = pass(&mut pipeline, 0, &frame).expect("a packet");
            let all = BigInt::from_bytes_be(Sign::Plus, &out);
            let mut left = 8 * out.len() as u32;
            for ((name, width), number) in RESULTS.iter().zip(&numbers) {
                left -= width;
                let found: BigInt = (&all >> left) & ones(*width);
                let wanted = number.value(&fields) & ones(*width);
                prop_assert_eq!(found, wanted, "{} of {:?}", name, fields);
            }
            prop_assert_eq!(all & BigInt::from(1) == BigInt::from(1), condition.value(&fields));
        }
    }
}
