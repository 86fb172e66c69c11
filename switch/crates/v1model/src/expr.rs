// SPDX-License-Identifier: Apache-2.0
//! Expressions of a program, without instructions yet.
//!
//! BMv2 computes with unbounded signed integers and cuts where p4c put a mask
//! or where a value is assigned. [`Expr::range`] bounds a value at load time,
//! so that the code generator can prove that 64 or 128 bits give the same.

use crate::op::Slot;
use num_bigint::{BigInt, Sign};

/// Operators with two data operands and a data result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    /// Two's complement of the left value in the right number of bits.
    TwoCompMod,
    /// Saturate to so many unsigned bits.
    SatUnsigned,
    /// Saturate to so many signed bits.
    SatSigned,
}

/// Comparisons of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
}

/// Which element of a stack.
#[derive(Clone, Debug)]
pub(crate) enum Index {
    At(Box<Expr>),
    /// The last one that the parser filled.
    Last,
}

/// A field of a stack's element that is known only when a packet comes.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    /// Slot of the stack's `next`, which also identifies the stack.
    pub next: Slot,
    pub index: Index,
    /// The field's slot in the first element.
    pub base: Slot,
    pub stride: u16,
    pub size: u16,
    pub width: u16,
    pub signed: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Const {
        magnitude: u128,
        negative: bool,
    },
    /// A constant of more than 128 bits.
    Huge(BigInt),
    Load {
        slot: Slot,
        width: u16,
        signed: bool,
    },
    /// A varbit field, as a number.
    Var(Slot),
    Element(Element),
    Arith(Arith, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    /// `if 0 then 1 else 2`, of data or of booleans.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    FromBool(Box<Expr>),
    // Booleans.
    Bool(bool),
    ToBool(Box<Expr>),
    Compare(Relation, Box<Expr>, Box<Expr>),
    /// Equality of booleans.
    Same(Box<Expr>, Box<Expr>),
    /// Equality of two varbit fields.
    SameVar(Slot, Slot),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
}

/// Bounds of a value: `-(2^neg) <= v < 2^pos`; without `neg` it is not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub neg: Option<u32>,
    pub pos: u32,
}

/// Stands for "no useful bound".
const HUGE: u32 = 100_000;

impl Range {
    pub fn unsigned(pos: u32) -> Range {
        Range {
            neg: None,
            pos: pos.min(HUGE),
        }
    }

    fn signed(neg: u32, pos: u32) -> Range {
        Range {
            neg: Some(neg.min(HUGE)),
            pos: pos.min(HUGE),
        }
    }

    /// Bits that hold the value in two's complement, or unsigned when it
    /// cannot be negative.
    pub fn bits(&self) -> u32 {
        match self.neg {
            None => self.pos,
            Some(neg) => neg.max(self.pos) + 1,
        }
    }

    fn magnitude(&self) -> u32 {
        self.neg.unwrap_or(0).max(self.pos)
    }

    fn union(self, other: Range) -> Range {
        let neg = match (self.neg, other.neg) {
            (None, n) | (n, None) => n,
            (Some(a), Some(b)) => Some(a.max(b)),
        };
        Range {
            neg,
            pos: self.pos.max(other.pos),
        }
    }
}

impl Expr {
    pub fn constant(value: u128) -> Expr {
        Expr::Const {
            magnitude: value,
            negative: false,
        }
    }

    pub fn is_bool(&self) -> bool {
        match self {
            Expr::If(_, yes, _) => yes.is_bool(),
            Expr::Bool(_)
            | Expr::ToBool(_)
            | Expr::Compare(..)
            | Expr::Same(..)
            | Expr::SameVar(..)
            | Expr::And(..)
            | Expr::Or(..)
            | Expr::Negate(_) => true,
            _ => false,
        }
    }

    /// The expression as a boolean: a number is true when it is not 0.
    pub fn into_bool(self) -> Expr {
        match self {
            boolean if boolean.is_bool() => boolean,
            Expr::FromBool(boolean) => *boolean,
            number => Expr::ToBool(Box::new(number)),
        }
    }

    /// Whether it reads the last element that the parser filled, of which there may be none.
    pub fn reads_last(&self) -> bool {
        match self {
            Expr::Element(element) => match &element.index {
                Index::Last => true,
                Index::At(index) => index.reads_last(),
            },
            Expr::Const { .. }
            | Expr::Huge(_)
            | Expr::Load { .. }
            | Expr::Var(_)
            | Expr::Bool(_)
            | Expr::SameVar(..) => false,
            Expr::Not(a) | Expr::FromBool(a) | Expr::ToBool(a) | Expr::Negate(a) => a.reads_last(),
            Expr::Arith(_, a, b)
            | Expr::Compare(_, a, b)
            | Expr::Same(a, b)
            | Expr::And(a, b)
            | Expr::Or(a, b) => a.reads_last() || b.reads_last(),
            Expr::If(a, b, c) => a.reads_last() || b.reads_last() || c.reads_last(),
        }
    }

    /// The constant, if it is one that is not negative.
    pub fn as_constant(&self) -> Option<u128> {
        match self {
            Expr::Const {
                magnitude,
                negative: false,
            } => Some(*magnitude),
            _ => None,
        }
    }

    /// Bounds of a data expression's value.
    pub fn range(&self) -> Range {
        match self {
            Expr::Const {
                magnitude,
                negative,
            } => {
                let bits = 128 - magnitude.leading_zeros();
                if *negative {
                    Range::signed(bits, 0)
                } else {
                    Range::unsigned(bits)
                }
            }
            Expr::Huge(value) => {
                let bits = u32::try_from(value.bits()).unwrap_or(HUGE);
                if value.sign() == Sign::Minus {
                    Range::signed(bits, 0)
                } else {
                    Range::unsigned(bits)
                }
            }
            Expr::Var(_) => Range::unsigned(HUGE),
            Expr::Load {
                width,
                signed: false,
                ..
            } => Range::unsigned(u32::from(*width)),
            Expr::Load { width, .. } => {
                let bits = u32::from(*width).saturating_sub(1);
                Range::signed(bits, bits)
            }
            Expr::Element(e) if !e.signed => Range::unsigned(u32::from(e.width)),
            Expr::Element(e) => {
                let bits = u32::from(e.width).saturating_sub(1);
                Range::signed(bits, bits)
            }
            Expr::Arith(op, left, right) => arith_range(*op, left, right),
            Expr::Not(of) => {
                // ~v = -v - 1
                let r = of.range();
                Range {
                    neg: Some(r.pos),
                    pos: r.neg.unwrap_or(0),
                }
            }
            Expr::If(_, yes, no) => yes.range().union(no.range()),
            _ => Range::unsigned(1),
        }
    }
}

fn arith_range(op: Arith, left: &Expr, right: &Expr) -> Range {
    let (l, r) = (left.range(), right.range());
    let any_negative = l.neg.is_some() || r.neg.is_some();
    match op {
        Arith::Add => {
            let neg = any_negative.then(|| l.neg.unwrap_or(0).max(r.neg.unwrap_or(0)) + 1);
            Range {
                neg,
                pos: l.pos.max(r.pos) + 1,
            }
        }
        // A right operand of 0 is no reason for a sign; all others are.
        Arith::Sub => Range::signed(
            l.neg.unwrap_or(0).max(r.pos) + 1,
            l.pos.max(r.neg.unwrap_or(0)) + 1,
        ),
        Arith::Mul if any_negative => {
            let bits = l.magnitude() + r.magnitude();
            Range::signed(bits, bits + 1)
        }
        Arith::Mul => Range::unsigned(l.pos + r.pos),
        Arith::Div if !any_negative => l,
        Arith::Rem if !any_negative => Range::unsigned(l.pos.min(r.pos)),
        Arith::Div | Arith::Rem => Range::signed(HUGE, HUGE),
        Arith::And => match (l.neg, r.neg) {
            (None, None) => Range::unsigned(l.pos.min(r.pos)),
            (None, Some(_)) => l,
            (Some(_), None) => r,
            (Some(a), Some(b)) => Range::signed(a.max(b).max(l.pos).max(r.pos), l.pos.max(r.pos)),
        },
        Arith::Or | Arith::Xor if any_negative => {
            let bits = l.magnitude().max(r.magnitude());
            Range::signed(bits, bits)
        }
        Arith::Or | Arith::Xor => Range::unsigned(l.pos.max(r.pos)),
        Arith::Shl => {
            let by = match right.as_constant() {
                Some(c) => u32::try_from(c).unwrap_or(HUGE).min(HUGE),
                None => 1u32.checked_shl(r.pos).unwrap_or(HUGE).min(HUGE),
            };
            match l.neg {
                None => Range::unsigned(l.pos + by),
                Some(neg) => Range::signed(neg + by, l.pos + by),
            }
        }
        Arith::Shr => {
            let by = right
                .as_constant()
                .and_then(|c| u32::try_from(c).ok())
                .unwrap_or(0);
            Range {
                neg: l.neg.map(|n| n.saturating_sub(by)),
                pos: l.pos.saturating_sub(by),
            }
        }
        Arith::TwoCompMod | Arith::SatSigned => {
            let bits = right
                .as_constant()
                .map_or(HUGE, |w| (w as u32).saturating_sub(1));
            Range::signed(bits, bits)
        }
        Arith::SatUnsigned => Range::unsigned(right.as_constant().map_or(HUGE, |w| w as u32)),
    }
}
