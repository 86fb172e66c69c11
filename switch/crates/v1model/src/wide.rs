// SPDX-License-Identifier: Apache-2.0
//! Expressions by big integers: the slow way, for what does not fit into 128
//! bits. It allocates; instructions of up to 128 bits never come here.

use crate::bits;
use crate::error::LoadError;
use crate::expr::{Arith, Element, Expr, Index, Relation};
use crate::op::words;
use crate::op::{Slot, span};
use num_bigint::{BigInt, BigUint, Sign};

/// An expression that has no instructions of its own.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    pub expr: Expr,
    pub form: Form,
}

/// How a value is put into slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Its lowest bits, so many.
    Cut(u16),
    /// The nearest number of 64 bits.
    Clamp,
    /// 0 or 1.
    Bool,
}

/// A shift to the left by more than this gives 0 for every width there is.
const MOST_SHIFT: u64 = 1 << 17;

/// All bits of a value are needed.
const EXACT: u64 = u64::MAX;

/// What an expression reads.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub phv: &'a [u64],
    pub frame: &'a [u8],
}

impl Wide {
    /// Evaluates into slots from `d` on.
    #[inline(never)]
    pub fn run(&self, phv: &mut [u64], frame: &[u8], d: Slot) {
        let source = Source { phv, frame };
        let value = match self.form {
            Form::Cut(width) => cut(&source.low_bits(&self.expr, width.into()), width),
            Form::Clamp => {
                let value = source.number(&self.expr);
                let clamped = match value.sign() {
                    Sign::Minus => 0,
                    _ => u64::try_from(&value).unwrap_or(u64::MAX),
                };
                vec![clamped]
            }
            Form::Bool => vec![u64::from(source.truth(&self.expr))],
        };
        let d = usize::from(d);
        phv[d..d + value.len()].copy_from_slice(&value);
    }
}

/// The lowest `width` bits in two's complement, as slots.
pub(crate) fn cut(value: &BigInt, width: u16) -> Vec<u64> {
    let mask: BigInt = (BigInt::from(1) << width) - 1;
    let mut slots = (value & mask).magnitude().to_u64_digits();
    slots.resize(usize::from(words(width)), 0);
    slots
}

impl Source<'_> {
    /// The value of a number.
    pub fn number(&self, expr: &Expr) -> BigInt {
        self.low_bits(expr, EXACT)
    }

    /// A value with the same lowest `need` bits. What is added, multiplied or shifted to the left
    /// needs no other bits of its operands, so that values do not grow before they are cut.
    fn low_bits(&self, expr: &Expr, need: u64) -> BigInt {
        let value = match expr {
            Expr::Const {
                magnitude,
                negative,
            } => {
                let value = BigInt::from(*magnitude);
                if *negative { -value } else { value }
            }
            Expr::Huge(value) => value.clone(),
            Expr::Load {
                slot,
                width,
                signed,
            } => self.load(*slot, *width, *signed),
            Expr::Element(element) => self.element(element),
            Expr::Var(slot) => self.varbit(self.phv[usize::from(*slot)]),
            Expr::Arith(op, left, right) => {
                let [l, r] = needs(*op, left, right, need);
                arith(*op, self.low_bits(left, l), self.low_bits(right, r), need)
            }
            Expr::Not(of) => !self.low_bits(of, need),
            Expr::If(cond, yes, no) => {
                let chosen = if self.truth(cond) { yes } else { no };
                self.low_bits(chosen, need)
            }
            Expr::FromBool(of) => BigInt::from(u8::from(self.truth(of))),
            boolean => BigInt::from(u8::from(self.truth(boolean))),
        };
        if value.bits() > need {
            value & ((BigInt::from(1) << need) - 1)
        } else {
            value
        }
    }

    /// The value of a boolean.
    pub fn truth(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Bool(value) => *value,
            Expr::ToBool(of) => self.number(of).sign() != Sign::NoSign,
            Expr::Compare(relation, left, right) => {
                let (left, right) = (self.number(left), self.number(right));
                match relation {
                    Relation::Eq => left == right,
                    Relation::Ne => left != right,
                    Relation::Lt => left < right,
                    Relation::Le => left <= right,
                }
            }
            Expr::Same(left, right) => self.truth(left) == self.truth(right),
            Expr::SameVar(a, b) => bits::same_var(
                self.frame,
                self.phv[usize::from(*a)],
                self.phv[usize::from(*b)],
            ),
            Expr::And(left, right) => self.truth(left) && self.truth(right),
            Expr::Or(left, right) => self.truth(left) || self.truth(right),
            Expr::Negate(of) => !self.truth(of),
            Expr::If(cond, yes, no) => {
                if self.truth(cond) {
                    self.truth(yes)
                } else {
                    self.truth(no)
                }
            }
            number => self.number(number).sign() != Sign::NoSign,
        }
    }

    fn load(&self, slot: Slot, width: u16, signed: bool) -> BigInt {
        let slot = usize::from(slot);
        let words = &self.phv[slot..slot + usize::from(words(width))];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let value = BigInt::from(BigUint::from_bytes_le(&bytes));
        if signed && width > 0 {
            two_comp(value, u64::from(width))
        } else {
            value
        }
    }

    fn element(&self, element: &Element) -> BigInt {
        let index = match &element.index {
            Index::At(index) => u64::try_from(self.number(index)).ok(),
            Index::Last => self.phv[usize::from(element.next)].checked_sub(1),
        };
        match index.filter(|i| *i < u64::from(element.size)) {
            Some(index) => self.load(
                element.base + index as u16 * element.stride,
                element.width,
                element.signed,
            ),
            None => BigInt::ZERO,
        }
    }

    fn varbit(&self, value: u64) -> BigInt {
        let (from, bits) = ((value >> 32) as usize, (value & 0xffff_ffff) as usize);
        let bytes: Vec<u8> = (0..bits)
            .step_by(8)
            .map(|at| bits::load(self.frame, from + at, 8) as u8)
            .collect();
        BigInt::from_bytes_be(Sign::Plus, &bytes)
    }
}

/// The bits of a mask, if an operand is a number that is not negative and known to be short.
fn mask_bits(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Const {
            magnitude,
            negative: false,
        } => Some(u64::from(128 - magnitude.leading_zeros())),
        Expr::Huge(value) if value.sign() != Sign::Minus => Some(value.bits()),
        Expr::Load {
            width,
            signed: false,
            ..
        } => Some(u64::from(*width)),
        _ => None,
    }
}

/// The lowest bits of both operands that the lowest `need` bits of a result depend on.
fn needs(op: Arith, left: &Expr, right: &Expr, need: u64) -> [u64; 2] {
    let amount = || right.as_constant().and_then(|a| u64::try_from(a).ok());
    match op {
        Arith::Add | Arith::Sub | Arith::Mul | Arith::Or | Arith::Xor => [need; 2],
        Arith::And => {
            let masks = [left, right].into_iter().filter_map(mask_bits);
            [masks.fold(need, u64::min); 2]
        }
        Arith::Shl => [need, EXACT],
        Arith::Shr => [need.saturating_add(amount().unwrap_or(EXACT)), EXACT],
        Arith::TwoCompMod => [amount().unwrap_or(EXACT), EXACT],
        Arith::Div | Arith::Rem | Arith::SatUnsigned | Arith::SatSigned => [EXACT; 2],
    }
}

fn arith(op: Arith, left: BigInt, right: BigInt, need: u64) -> BigInt {
    // Amounts and widths; what is no such number counts as none at all.
    let amount = || u64::try_from(&right).unwrap_or(0);
    let shift = || match right.sign() {
        Sign::Minus => 0,
        _ => u64::try_from(&right).unwrap_or(u64::MAX),
    };
    match op {
        Arith::Add => left + right,
        Arith::Sub => left - right,
        Arith::Mul => left * right,
        // BMv2 stops when something is divided by 0; here it gives 0.
        Arith::Div => left.checked_div(&right).unwrap_or_default(),
        Arith::Rem if right.sign() == Sign::NoSign => BigInt::ZERO,
        Arith::Rem => left % right,
        Arith::And => left & right,
        Arith::Or => left | right,
        Arith::Xor => left ^ right,
        Arith::Shl => match shift() {
            by if by <= MOST_SHIFT && by < need => left << by,
            _ => BigInt::ZERO,
        },
        Arith::Shr => left >> shift().min(MOST_SHIFT),
        Arith::TwoCompMod => two_comp(left, amount().clamp(1, MOST_SHIFT)),
        Arith::SatUnsigned => {
            let most = (BigInt::from(1) << amount().min(MOST_SHIFT)) - 1;
            left.clamp(BigInt::ZERO, most)
        }
        Arith::SatSigned => {
            let half = BigInt::from(1) << amount().clamp(1, MOST_SHIFT).saturating_sub(1);
            left.clamp(-half.clone(), half - 1)
        }
    }
}

/// The value in two's complement of so many bits.
fn two_comp(value: BigInt, width: u64) -> BigInt {
    let all = BigInt::from(1) << width;
    let low = value & (&all - 1);
    if low >= (BigInt::from(1) << (width - 1)) {
        low - all
    } else {
        low
    }
}

/// Most bits of a value, and of a varbit field's: the longest frame has half as many.
const MOST_BITS: u64 = 1 << 18;

/// Most work for the expressions of a program, in products of 64-bit words or sums of them.
const MOST_WORK: u64 = 1 << 24;

/// What big integers take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work(u64);

impl Work {
    /// Another expression is to be evaluated.
    ///
    /// # Errors
    /// Its values become too long, or with those before it takes too long.
    pub fn add(&mut self, expr: &Expr, form: Form) -> Result<(), LoadError> {
        match form {
            Form::Cut(width) => self.number(expr, width.into())?,
            Form::Clamp | Form::Bool => self.number(expr, EXACT)?,
        };
        Ok(())
    }

    /// Counts words.
    fn count(&mut self, words: u64) -> Result<(), LoadError> {
        self.0 = self.0.saturating_add(words);
        if self.0 <= MOST_WORK {
            return Ok(());
        }
        Err(LoadError::new(
            "the program's expressions of more than 128 bits take too long for a packet: use \
             shorter fields, or fewer products and quotients",
        ))
    }

    /// Goes where [`Source::low_bits`] and [`Source::truth`] go; gives the most bits of the value.
    fn number(&mut self, expr: &Expr, need: u64) -> Result<u64, LoadError> {
        let words = |bits: u64| bits / 64 + 1;
        let bits = match expr {
            Expr::Const { magnitude, .. } => u64::from(128 - magnitude.leading_zeros()),
            Expr::Huge(value) => value.bits(),
            Expr::Load { width, .. } => u64::from(*width),
            Expr::Element(element) => {
                if let Index::At(index) = &element.index {
                    self.number(index, EXACT)?;
                }
                u64::from(element.width)
            }
            Expr::Var(_) => MOST_BITS / 2,
            Expr::Arith(op, left, right) => {
                let [l, r] = needs(*op, left, right, need);
                let (l, r) = (self.number(left, l)?, self.number(right, r)?);
                match op {
                    Arith::Mul | Arith::Div | Arith::Rem => self.count(words(l) * words(r))?,
                    _ => {}
                }
                match op {
                    Arith::Add | Arith::Sub | Arith::And | Arith::Or | Arith::Xor => l.max(r) + 1,
                    Arith::Mul => l + r,
                    Arith::Div | Arith::Rem | Arith::Shr => l,
                    Arith::Shl => {
                        let amount = match right.as_constant() {
                            Some(amount) => u64::try_from(amount).unwrap_or(EXACT),
                            None => 1u64.checked_shl(r as u32).unwrap_or(EXACT),
                        };
                        l + amount.min(MOST_SHIFT).min(need)
                    }
                    Arith::TwoCompMod | Arith::SatUnsigned | Arith::SatSigned => {
                        let width = right.as_constant().and_then(|w| u64::try_from(w).ok());
                        width.unwrap_or(EXACT).min(MOST_SHIFT) + 1
                    }
                }
            }
            Expr::Not(of) => self.number(of, need)? + 1,
            Expr::If(cond, yes, no) => {
                self.number(cond, EXACT)?;
                self.number(yes, need)?.max(self.number(no, need)?)
            }
            Expr::FromBool(of) | Expr::ToBool(of) | Expr::Negate(of) => {
                self.number(of, EXACT)?;
                1
            }
            Expr::Compare(_, left, right)
            | Expr::Same(left, right)
            | Expr::And(left, right)
            | Expr::Or(left, right) => {
                self.number(left, EXACT)?;
                self.number(right, EXACT)?;
                1
            }
            Expr::Bool(_) | Expr::SameVar(..) => 1,
        };
        if bits > MOST_BITS {
            return Err(LoadError::new(format!(
                "an expression needs values of more than {MOST_BITS} bits, which are not \
                 supported: cast what is shifted or multiplied to the width of the result"
            )));
        }
        self.count(words(bits))?;
        Ok(bits.min(need))
    }
}

/// Calls `visit` with the slots that an expression reads.
pub(crate) fn slots(expr: &Expr, visit: &mut dyn FnMut(Slot, u16)) {
    match expr {
        Expr::Load { slot, width, .. } => visit(*slot, words(*width)),
        Expr::Var(slot) => visit(*slot, 1),
        Expr::SameVar(a, b) => {
            visit(*a, 1);
            visit(*b, 1);
        }
        Expr::Element(element) => {
            visit(element.next, 1);
            let words = words(element.width) as u8;
            visit(element.base, span(words, element.stride, element.size));
            if let Index::At(index) = &element.index {
                slots(index, visit);
            }
        }
        Expr::Const { .. } | Expr::Huge(_) | Expr::Bool(_) => {}
        Expr::Not(a) | Expr::FromBool(a) | Expr::ToBool(a) | Expr::Negate(a) => slots(a, visit),
        Expr::Arith(_, a, b)
        | Expr::Compare(_, a, b)
        | Expr::Same(a, b)
        | Expr::And(a, b)
        | Expr::Or(a, b) => {
            slots(a, visit);
            slots(b, visit);
        }
        Expr::If(a, b, c) => {
            slots(a, visit);
            slots(b, visit);
            slots(c, visit);
        }
    }
}
