// SPDX-License-Identifier: Apache-2.0
//! Instructions for expressions.
//!
//! Addition, multiplication and the bitwise operators give the right lower
//! bits whatever the upper bits are, so they are done modulo 2^64 where only
//! 64 bits are wanted. Comparisons, right shifts, divisions and saturation
//! need exact operands: there the operands' ranges decide between 64 and 128
//! bits, and what fits into neither is left to big integers ([`crate::wide`]).

use super::emit::Emitter;
use crate::error::LoadError;
use crate::expr::{Arith, Element, Expr, Range};
use crate::header::Field;
use crate::op::{Alu, Op, Slot, mask_wide, words};
use crate::wide::{Form, cut};

/// How exact values are held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Lane {
    pub wide: bool,
    pub signed: bool,
}

fn lane(range: Range) -> Result<Lane, LoadError> {
    let signed = range.neg.is_some();
    match range.bits() {
        0..=64 => Ok(Lane {
            wide: false,
            signed,
        }),
        65..=128 => Ok(Lane { wide: true, signed }),
        _ => Err(unfit()),
    }
}

/// There are no instructions for it: see [`Emitter::or_wide`].
pub(super) fn unfit() -> LoadError {
    LoadError::new("an expression needs values of more than 128 bits")
}

impl Emitter {
    /// The value modulo 2^64, in one slot. Exact when its range says so.
    pub fn value(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        self.or_wide(expr, Form::Cut(64), |emitter| emitter.fast_value(expr))
    }

    fn fast_value(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        match expr {
            Expr::Huge(value) => self.constant(cut(value, 64)[0]),
            Expr::Var(_) => Err(unfit()),
            Expr::Const {
                magnitude,
                negative,
            } => {
                let low = *magnitude as u64;
                self.constant(if *negative { low.wrapping_neg() } else { low })
            }
            Expr::Load {
                slot,
                signed: false,
                ..
            } => Ok(*slot),
            Expr::Load { slot, width, .. } if *width < 64 => {
                let d = self.temporary(1)?;
                self.push(Op::Sext {
                    d,
                    a: *slot,
                    from: *width as u8,
                });
                Ok(d)
            }
            Expr::Load { slot, .. } => Ok(*slot),
            Expr::Element(element) => {
                let slot = self.load_element(element)?;
                self.value(&loaded(element, slot))
            }
            Expr::Arith(op, left, right) => self.arith(*op, left, right),
            Expr::Not(of) => {
                let a = self.value(of)?;
                let d = self.temporary(1)?;
                self.push(Op::Not { d, a, w: 64 });
                Ok(d)
            }
            Expr::If(cond, yes, no) if self.may_fail(yes) || self.may_fail(no) => {
                let d = self.temporary(1)?;
                self.choose(cond, &mut |emitter, which| {
                    let a = emitter.value(if which { yes } else { no })?;
                    emitter.push(Op::Mov { d, a });
                    Ok(())
                })?;
                Ok(d)
            }
            Expr::If(cond, yes, no) => {
                let c = self.boolean(cond)?;
                let a = self.value(yes)?;
                let b = self.value(no)?;
                let d = self.temporary(1)?;
                self.push(Op::Select { d, c, a, b });
                Ok(d)
            }
            Expr::FromBool(of) => self.boolean(of),
            _ => self.boolean(expr),
        }
    }

    /// The value modulo 2^128, in two slots. Exact when its range says so.
    pub fn value_wide(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        self.or_wide(expr, Form::Cut(128), |emitter| {
            emitter.fast_value_wide(expr)
        })
    }

    fn fast_value_wide(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        if let Expr::Const {
            magnitude,
            negative,
        } = expr
        {
            let value = if *negative {
                magnitude.wrapping_neg()
            } else {
                *magnitude
            };
            return self.constant_wide(value);
        }
        let range = expr.range();
        if range.bits() <= 64 {
            let a = self.value(expr)?;
            let d = self.temporary(2)?;
            if range.neg.is_some() {
                self.push(Op::SextW { d, a, from: 64 });
            } else {
                let zero = self.constant(0)?;
                self.push(Op::Mov { d, a });
                self.push(Op::Mov { d: d + 1, a: zero });
            }
            return Ok(d);
        }
        match expr {
            Expr::Huge(value) => {
                let words = cut(value, 128);
                self.constant_wide(u128::from(words[0]) | u128::from(words[1]) << 64)
            }
            Expr::Var(_) => Err(unfit()),
            Expr::Load {
                slot,
                signed: false,
                ..
            } => Ok(*slot),
            Expr::Load { slot, width, .. } if *width >= 128 => Ok(*slot),
            Expr::Load { slot, width, .. } => {
                let d = self.temporary(2)?;
                self.push(Op::SextW {
                    d,
                    a: *slot,
                    from: *width as u8,
                });
                Ok(d)
            }
            Expr::Element(element) => {
                let slot = self.load_element(element)?;
                self.value_wide(&loaded(element, slot))
            }
            Expr::Arith(op, left, right) => self.arith_wide(*op, left, right),
            Expr::Not(of) => {
                let a = self.value_wide(of)?;
                let d = self.temporary(2)?;
                self.push(Op::NotW { d, a });
                Ok(d)
            }
            Expr::If(cond, yes, no) if self.may_fail(yes) || self.may_fail(no) => {
                let d = self.temporary(2)?;
                self.choose(cond, &mut |emitter, which| {
                    let a = emitter.value_wide(if which { yes } else { no })?;
                    emitter.push(Op::MovW { d, a });
                    Ok(())
                })?;
                Ok(d)
            }
            Expr::If(cond, yes, no) => {
                let c = self.boolean(cond)?;
                let a = self.value_wide(yes)?;
                let b = self.value_wide(no)?;
                let d = self.temporary(2)?;
                self.push(Op::Select { d, c, a, b });
                self.push(Op::Select {
                    d: d + 1,
                    c,
                    a: a + 1,
                    b: b + 1,
                });
                Ok(d)
            }
            _ => Err(LoadError::new("a boolean where a number is expected")),
        }
    }

    /// A number that is not negative: an index, an amount, a bound. What is
    /// negative counts as 0, and what is longer than 64 bits as the most.
    pub fn natural(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        if let Some(value) = expr.as_constant() {
            return self.constant(u64::try_from(value).unwrap_or(u64::MAX));
        }
        self.or_wide(expr, Form::Clamp, |emitter| emitter.exact(expr))
    }

    /// An exact value of at most 64 bits that is not negative.
    fn exact(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        let range = expr.range();
        if range.neg.is_some() || range.bits() > 64 {
            return Err(unfit());
        }
        self.fast_value(expr)
    }

    fn arith(&mut self, op: Arith, left: &Expr, right: &Expr) -> Result<Slot, LoadError> {
        if let Some(width) = mask_width(op, left, right).filter(|w| *w <= 64) {
            let inner = if right.as_constant().is_some() {
                left
            } else {
                right
            };
            let range = inner.range();
            let a = self.value(inner)?;
            if range.neg.is_none() && range.pos <= width {
                return Ok(a);
            }
            if self.narrow_last(a, a, width as u8) {
                return Ok(a);
            }
            let d = self.temporary(1)?;
            self.push(Op::Cut {
                d,
                a,
                w: width as u8,
            });
            return Ok(d);
        }
        match op {
            Arith::TwoCompMod => {
                let from = right.as_constant().unwrap_or(128);
                let a = self.value(left)?;
                if from >= 64 {
                    return Ok(a);
                }
                let d = self.temporary(1)?;
                self.push(Op::Sext {
                    d,
                    a,
                    from: from as u8,
                });
                return Ok(d);
            }
            Arith::SatUnsigned | Arith::SatSigned => return self.saturate(op, left, right),
            Arith::Shr => {
                let held = lane(left.range())?;
                if held.wide {
                    return self.arith_wide(op, left, right);
                }
                let a = self.value(left)?;
                let b = self.natural(right)?;
                let d = self.temporary(1)?;
                self.push(if held.signed {
                    Op::Sar { d, a, b, w: 64 }
                } else {
                    Op::Shr { d, a, b, w: 64 }
                });
                return Ok(d);
            }
            _ => {}
        }
        let (a, b) = match op {
            Arith::Div | Arith::Rem => (self.exact(left)?, self.exact(right)?),
            Arith::Shl => (self.value(left)?, self.natural(right)?),
            _ => (self.value(left)?, self.value(right)?),
        };
        let d = self.temporary(1)?;
        let w = 64;
        self.push(match op {
            Arith::Add => Op::Add { d, a, b, w },
            Arith::Sub => Op::Sub { d, a, b, w },
            Arith::Mul => Op::Mul { d, a, b, w },
            Arith::And => Op::And { d, a, b, w },
            Arith::Or => Op::Or { d, a, b, w },
            Arith::Xor => Op::Xor { d, a, b, w },
            Arith::Shl => Op::Shl { d, a, b, w },
            Arith::Div => Op::Div { d, a, b, w },
            _ => Op::Rem { d, a, b, w },
        });
        Ok(d)
    }

    fn arith_wide(&mut self, op: Arith, left: &Expr, right: &Expr) -> Result<Slot, LoadError> {
        if let Some(width) = mask_width(op, left, right) {
            let inner = if right.as_constant().is_some() {
                left
            } else {
                right
            };
            let range = inner.range();
            let a = self.value_wide(inner)?;
            if range.neg.is_none() && range.pos <= width {
                return Ok(a);
            }
            let d = self.temporary(2)?;
            self.push(Op::CutW {
                d,
                a,
                w: width as u8,
            });
            return Ok(d);
        }
        let mut alu = match op {
            Arith::TwoCompMod => {
                let from = right.as_constant().unwrap_or(128);
                let a = self.value_wide(left)?;
                if from >= 128 {
                    return Ok(a);
                }
                let d = self.temporary(2)?;
                self.push(Op::SextW {
                    d,
                    a,
                    from: from as u8,
                });
                return Ok(d);
            }
            Arith::SatUnsigned | Arith::SatSigned => return self.saturate(op, left, right),
            Arith::Div | Arith::Rem => {
                return Err(unfit());
            }
            Arith::Add => Alu::Add,
            Arith::Sub => Alu::Sub,
            Arith::Mul => Alu::Mul,
            Arith::And => Alu::And,
            Arith::Or => Alu::Or,
            Arith::Xor => Alu::Xor,
            Arith::Shl => Alu::Shl,
            Arith::Shr => Alu::Shr,
        };
        if alu == Alu::Shr && lane(left.range())?.signed {
            alu = Alu::Sar;
        }
        let a = self.value_wide(left)?;
        let b = match alu {
            Alu::Shl | Alu::Shr | Alu::Sar => self.natural(right)?,
            _ => self.value_wide(right)?,
        };
        let d = self.temporary(2)?;
        self.push(Op::AluW { d, a, b, alu });
        Ok(d)
    }

    fn saturate(&mut self, op: Arith, left: &Expr, right: &Expr) -> Result<Slot, LoadError> {
        let range = left.range();
        if range.bits() > 127 {
            return Err(unfit());
        }
        let w = right.as_constant().unwrap_or(128).min(128) as u8;
        let a = self.value_wide(left)?;
        let d = self.temporary(2)?;
        self.push(Op::SaturateW {
            d,
            a,
            w,
            signed: op == Arith::SatSigned,
        });
        Ok(d)
    }

    /// Assigns to a field, cutting the value to the field's width.
    pub fn assign(&mut self, field: &Field, expr: &Expr) -> Result<(), LoadError> {
        if field.var {
            return Err(LoadError::new(format!(
                "an assignment to the varbit field {} other than from a varbit is not supported",
                field.name
            )));
        }
        if field.width > 128 {
            return match expr {
                Expr::Load {
                    slot,
                    width,
                    signed: false,
                } if *width == field.width => {
                    self.push(Op::Copy {
                        d: field.slot,
                        a: *slot,
                        n: words(*width),
                    });
                    Ok(())
                }
                Expr::Huge(value) => {
                    for (word, value) in cut(value, field.width).into_iter().enumerate() {
                        let a = self.constant(value)?;
                        let d = field.slot + word as Slot;
                        self.push(Op::Mov { d, a });
                    }
                    Ok(())
                }
                _ => self.wide(expr, Form::Cut(field.width), field.slot, words(field.width)),
            };
        }
        let range = expr.range();
        let fits = !expr.is_bool() && range.neg.is_none() && range.pos <= u32::from(field.width)
            || expr.is_bool();
        if field.width > 64 {
            let a = self.value_wide(expr)?;
            self.push(if fits {
                Op::MovW { d: field.slot, a }
            } else {
                Op::CutW {
                    d: field.slot,
                    a,
                    w: field.width as u8,
                }
            });
            return Ok(());
        }
        let w = field.width as u8;
        let a = self.value(expr)?;
        if self.narrow_last(a, field.slot, w) || (fits && self.redirect_last(a, field.slot)) {
            return Ok(());
        }
        self.push(if fits {
            Op::Mov { d: field.slot, a }
        } else {
            Op::Cut {
                d: field.slot,
                a,
                w,
            }
        });
        Ok(())
    }

    /// If the last instruction computes the temporary `a` and can cut its
    /// result, lets it write `to` instead, cut to `width`.
    fn narrow_last(&mut self, a: Slot, to: Slot, width: u8) -> bool {
        if !self.is_temporary(a) {
            return false;
        }
        match self.last_mut() {
            Some(
                Op::Add { d, w, .. }
                | Op::Sub { d, w, .. }
                | Op::Mul { d, w, .. }
                | Op::And { d, w, .. }
                | Op::Or { d, w, .. }
                | Op::Xor { d, w, .. }
                | Op::Not { d, w, .. }
                | Op::Shl { d, w, .. }
                | Op::Shr { d, w, .. }
                | Op::Sar { d, w, .. }
                | Op::Div { d, w, .. }
                | Op::Rem { d, w, .. }
                | Op::Cut { d, w, .. },
            ) if *d == a => {
                *d = to;
                *w = (*w).min(width);
                true
            }
            _ => false,
        }
    }

    /// If the last instruction computes the temporary `a`, lets it write `to`.
    fn redirect_last(&mut self, a: Slot, to: Slot) -> bool {
        if !self.is_temporary(a) {
            return false;
        }
        match self.last_mut() {
            Some(Op::Compare { d, .. } | Op::Select { d, .. } | Op::CompareW { d, .. })
                if *d == a =>
            {
                *d = to;
                true
            }
            _ => false,
        }
    }
}

/// What an element's value is, now that it is in temporaries.
fn loaded(element: &Element, slot: Slot) -> Expr {
    Expr::Load {
        slot,
        width: element.width,
        signed: element.signed,
    }
}

/// For `x & (2^k - 1)` or the reverse: k.
fn mask_width(op: Arith, left: &Expr, right: &Expr) -> Option<u32> {
    if op != Arith::And {
        return None;
    }
    let mask = right.as_constant().or_else(|| left.as_constant())?;
    let width = 128 - mask.leading_zeros();
    (width > 0 && mask == mask_wide(width as u16)).then_some(width)
}
