// SPDX-License-Identifier: Apache-2.0
//! Random expressions, and what they are: BMv2's arithmetic of unbounded
//! signed integers, written down naively.

use super::{constant, field, operator};
use num_bigint::{BigInt, Sign};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The fields that expressions read: name, bits, signed.
pub const FIELDS: [(&str, u32, bool); 9] = [
    ("b1", 1, false),
    ("b7", 7, false),
    ("b16", 16, false),
    ("b32", 32, false),
    ("b48", 48, false),
    ("b64", 64, false),
    ("s8", 8, true),
    ("s32", 32, true),
    ("b120", 120, false),
];

/// A number.
#[derive(Clone, Debug)]
pub enum Data {
    Field(usize),
    Const(i128),
    Op(&'static str, Box<Data>, Box<Data>),
    /// `(left op right) & mask`, as p4c cuts unsigned arithmetic.
    Cut(&'static str, Box<Data>, Box<Data>, u32),
    Not(Box<Data>, u32),
    TwoComp(Box<Data>, u32),
    Saturate(bool, Box<Data>, u32),
    If(Box<Truth>, Box<Data>, Box<Data>),
    FromBool(Box<Truth>),
}

/// A truth value.
#[derive(Clone, Debug)]
pub enum Truth {
    Compare(&'static str, Box<Data>, Box<Data>),
    And(Box<Truth>, Box<Truth>),
    Or(Box<Truth>, Box<Truth>),
    Not(Box<Truth>),
    ToBool(Box<Data>),
}

fn width() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(1),
        Just(8),
        Just(16),
        Just(31),
        Just(32),
        Just(48),
        Just(63),
        Just(64)
    ]
}

/// Random numbers; some are more than the switch supports.
pub fn data() -> BoxedStrategy<Data> {
    let leaf = prop_oneof![
        4 => (0..FIELDS.len()).prop_map(Data::Field),
        1 => any::<u8>().prop_map(|n| Data::Const(i128::from(n))),
        1 => any::<i32>().prop_map(|n| Data::Const(i128::from(n))),
        1 => any::<u64>().prop_map(|n| Data::Const(i128::from(n))),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let b = |d: Data| Box::new(d);
        let pair = (inner.clone(), inner.clone());
        let truth = truth(inner.clone());
        prop_oneof![
            4 => (pair.clone(), width(), prop::sample::select(vec!["+", "-", "*", "<<"])).prop_map(
                move |((l, r), w, op)| match op {
                    // Shifted by little, or by what a narrow mask lets through.
                    "<<" => Data::Cut(op, b(l), b(Data::Cut("+", b(r), b(Data::Const(0)), 5)), w),
                    _ => Data::Cut(op, b(l), b(r), w),
                }),
            3 => (pair.clone(), prop::sample::select(vec!["&", "|", "^"]))
                .prop_map(move |((l, r), op)| Data::Op(op, b(l), b(r))),
            1 => (pair.clone(), prop::sample::select(vec!["+", "-", "*"]))
                .prop_map(move |((l, r), op)| Data::Op(op, b(l), b(r))),
            2 => (inner.clone(), 0u8..70).prop_map(move |(l, by)|
                Data::Op(">>", b(l), b(Data::Const(i128::from(by))))),
            1 => (inner.clone(), inner.clone()).prop_map(move |(l, r)|
                Data::Op(">>", b(l), b(Data::Cut("+", b(r), b(Data::Const(0)), 8)))),
            1 => (inner.clone(), width()).prop_map(move |(l, w)| Data::Not(b(l), w)),
            2 => (inner.clone(), width()).prop_map(move |(l, w)| Data::TwoComp(b(l), w)),
            1 => (any::<bool>(), inner.clone(), width())
                .prop_map(move |(s, l, w)| Data::Saturate(s, b(l), w)),
            1 => (truth.clone(), pair).prop_map(move |(c, (l, r))|
                Data::If(Box::new(c), b(l), b(r))),
            1 => truth.prop_map(|c| Data::FromBool(Box::new(c))),
        ]
    })
    .boxed()
}

/// Random conditions over such numbers.
pub fn truth(data: BoxedStrategy<Data>) -> BoxedStrategy<Truth> {
    let compare = (
        prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]),
        data.clone(),
        data.clone(),
    )
        .prop_map(|(op, l, r)| Truth::Compare(op, Box::new(l), Box::new(r)));
    let leaf = prop_oneof![4 => compare, 1 => data.prop_map(|d| Truth::ToBool(Box::new(d)))];
    leaf.prop_recursive(2, 6, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone()
                .prop_map(|(l, r)| Truth::And(Box::new(l), Box::new(r))),
            pair.prop_map(|(l, r)| Truth::Or(Box::new(l), Box::new(r))),
            inner.prop_map(|t| Truth::Not(Box::new(t))),
        ]
    })
    .boxed()
}

fn mask(width: u32) -> BigInt {
    (BigInt::from(1) << width) - 1
}

fn wrap(value: Value) -> Value {
    json!({"type": "expression", "value": value})
}

impl Data {
    /// As the JSON has it.
    pub fn json(&self) -> Value {
        match self {
            Data::Field(at) => field("in", FIELDS[*at].0),
            Data::Const(n) if *n < 0 => constant(&format!("-0x{:x}", n.unsigned_abs())),
            Data::Const(n) => constant(&format!("0x{n:x}")),
            Data::Op(op, l, r) => operator(op, l.json(), r.json()),
            Data::Cut(op, l, r, w) => operator(
                "&",
                operator(op, l.json(), r.json()),
                constant(&format!("{:#x}", mask(*w))),
            ),
            Data::Not(of, w) => operator(
                "&",
                operator("~", Value::Null, of.json()),
                constant(&format!("{:#x}", mask(*w))),
            ),
            Data::TwoComp(of, w) => {
                operator("two_comp_mod", of.json(), constant(&format!("{w:#x}")))
            }
            Data::Saturate(signed, of, w) => operator(
                if *signed { "sat_cast" } else { "usat_cast" },
                of.json(),
                constant(&format!("{w:#x}")),
            ),
            Data::If(c, l, r) => {
                wrap(json!({"op": "?", "left": l.json(), "right": r.json(), "cond": c.json()}))
            }
            Data::FromBool(of) => operator("b2d", Value::Null, of.json()),
        }
    }

    /// Its value, given those of [`FIELDS`].
    pub fn value(&self, fields: &[BigInt]) -> BigInt {
        let signed_of = |v: BigInt, w: u32| {
            let low: BigInt = v & mask(w);
            if (&low >> (w - 1)) == BigInt::from(1) {
                low - (BigInt::from(1) << w)
            } else {
                low
            }
        };
        match self {
            Data::Field(at) => fields[*at].clone(),
            Data::Const(n) => BigInt::from(*n),
            Data::Op(op, l, r) => apply(op, l.value(fields), r.value(fields)),
            Data::Cut(op, l, r, w) => apply(op, l.value(fields), r.value(fields)) & mask(*w),
            Data::Not(of, w) => !of.value(fields) & mask(*w),
            Data::TwoComp(of, w) => signed_of(of.value(fields), *w),
            Data::Saturate(signed, of, w) => {
                let (low, high) = if *signed {
                    (-(BigInt::from(1) << (w - 1)), mask(w - 1))
                } else {
                    (BigInt::from(0), mask(*w))
                };
                of.value(fields).clamp(low, high)
            }
            Data::If(c, l, r) if c.value(fields) => {
                let _ = r;
                l.value(fields)
            }
            Data::If(_, _, r) => r.value(fields),
            Data::FromBool(of) => BigInt::from(u8::from(of.value(fields))),
        }
    }
}

fn apply(op: &str, l: BigInt, r: BigInt) -> BigInt {
    let by = || usize::try_from(&r).expect("shift amounts are small");
    match op {
        "+" => l + r,
        "-" => l - r,
        "*" => l * r,
        "&" => l & r,
        "|" => l | r,
        "^" => l ^ r,
        "<<" => l << by(),
        ">>" => l >> by(),
        other => unreachable!("{other} is not generated"),
    }
}

impl Truth {
    /// As the JSON has it.
    pub fn json(&self) -> Value {
        match self {
            Truth::Compare(op, l, r) => operator(op, l.json(), r.json()),
            Truth::And(l, r) => operator("and", l.json(), r.json()),
            Truth::Or(l, r) => operator("or", l.json(), r.json()),
            Truth::Not(of) => operator("not", Value::Null, of.json()),
            Truth::ToBool(of) => operator("d2b", Value::Null, of.json()),
        }
    }

    /// Its value, given those of [`FIELDS`].
    pub fn value(&self, fields: &[BigInt]) -> bool {
        match self {
            Truth::Compare(op, l, r) => {
                let (l, r) = (l.value(fields), r.value(fields));
                match *op {
                    "==" => l == r,
                    "!=" => l != r,
                    "<" => l < r,
                    "<=" => l <= r,
                    ">" => l > r,
                    _ => l >= r,
                }
            }
            Truth::And(l, r) => l.value(fields) && r.value(fields),
            Truth::Or(l, r) => l.value(fields) || r.value(fields),
            Truth::Not(of) => !of.value(fields),
            Truth::ToBool(of) => of.value(fields).sign() != Sign::NoSign,
        }
    }
}

/// The values of [`FIELDS`] in a frame that begins with them, bit-packed.
pub fn fields_of(frame: &[u8]) -> Vec<BigInt> {
    let bits: usize = FIELDS.iter().map(|f| f.1 as usize).sum();
    let whole = BigInt::from_bytes_be(Sign::Plus, &frame[..bits.div_ceil(8)]);
    let mut left = 8 * bits.div_ceil(8);
    let mut values = Vec::new();
    for (_, width, signed) in FIELDS {
        left -= width as usize;
        let raw: BigInt = (&whole >> left) & mask(width);
        let negative = signed && (&raw >> (width - 1)) == BigInt::from(1);
        values.push(if negative {
            raw - (BigInt::from(1) << width)
        } else {
            raw
        });
    }
    values
}

/// The lower bits of a value, as a frame holds them.
pub fn bytes_of(value: &BigInt, width: u32) -> Vec<u8> {
    let (_, digits) = (value & mask(width)).to_bytes_be();
    let bytes = (width / 8) as usize;
    let digits = &digits[digits.len().saturating_sub(bytes)..];
    let mut padded = vec![0; bytes - digits.len()];
    padded.extend_from_slice(digits);
    padded
}
