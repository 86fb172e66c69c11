// SPDX-License-Identifier: Apache-2.0
//! Instructions for booleans: as values, and as branches.

use super::emit::{Emitter, Label};
use super::generate::{Lane, unfit};
use crate::error::LoadError;
use crate::expr::{Expr, Range, Relation};
use crate::op::{Cmp, Op, Slot};
use crate::wide::Form;

impl Emitter {
    /// A boolean, 0 or 1, in one slot.
    pub fn boolean(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        self.or_wide(expr, Form::Bool, |emitter| emitter.fast_boolean(expr))
    }

    fn fast_boolean(&mut self, expr: &Expr) -> Result<Slot, LoadError> {
        let w = 1;
        match expr {
            Expr::Bool(value) => self.constant(u64::from(*value)),
            Expr::ToBool(of) if of.range() == Range::unsigned(1) => self.value(of),
            Expr::ToBool(of) => self.compare(Relation::Ne, of, &Expr::constant(0)),
            Expr::Compare(relation, left, right) => self.compare(*relation, left, right),
            Expr::Same(left, right) => {
                let (a, b) = (self.boolean(left)?, self.boolean(right)?);
                let d = self.temporary(1)?;
                self.push(Op::Compare {
                    d,
                    a,
                    b,
                    cmp: Cmp::Eq,
                });
                Ok(d)
            }
            Expr::SameVar(a, b) => {
                let d = self.temporary(1)?;
                self.push(Op::CompareVar { d, a: *a, b: *b });
                Ok(d)
            }
            Expr::And(left, right) | Expr::Or(left, right) if self.may_fail(right) => {
                // The value of the left side that decides alone.
                let decides = matches!(expr, Expr::Or(..));
                let d = self.temporary(1)?;
                let end = self.label();
                let a = self.boolean(left)?;
                self.push(Op::Mov { d, a });
                let to = end.0;
                self.push(if decides {
                    Op::JumpIf { a: d, to }
                } else {
                    Op::JumpIfNot { a: d, to }
                });
                let a = self.boolean(right)?;
                self.push(Op::Mov { d, a });
                self.bind(end);
                Ok(d)
            }
            Expr::And(left, right) => {
                let (a, b) = (self.boolean(left)?, self.boolean(right)?);
                let d = self.temporary(1)?;
                self.push(Op::And { d, a, b, w });
                Ok(d)
            }
            Expr::Or(left, right) => {
                let (a, b) = (self.boolean(left)?, self.boolean(right)?);
                let d = self.temporary(1)?;
                self.push(Op::Or { d, a, b, w });
                Ok(d)
            }
            Expr::Negate(of) => {
                let a = self.boolean(of)?;
                let d = self.temporary(1)?;
                self.push(Op::Not { d, a, w });
                Ok(d)
            }
            Expr::If(cond, yes, no) if self.may_fail(yes) || self.may_fail(no) => {
                let d = self.temporary(1)?;
                self.choose(cond, &mut |emitter, which| {
                    let a = emitter.boolean(if which { yes } else { no })?;
                    emitter.push(Op::Mov { d, a });
                    Ok(())
                })?;
                Ok(d)
            }
            Expr::If(cond, yes, no) => {
                let (c, a, b) = (self.boolean(cond)?, self.boolean(yes)?, self.boolean(no)?);
                let d = self.temporary(1)?;
                self.push(Op::Select { d, c, a, b });
                Ok(d)
            }
            _ => Err(LoadError::new("a number where a boolean is expected")),
        }
    }

    /// Whether the evaluation of an expression may stop the parser: then it is evaluated only where
    /// it is needed (P4_16 8.1). Any other is evaluated all the same, which costs less than a jump.
    pub(super) fn may_fail(&self, expr: &Expr) -> bool {
        self.stack_out_of_bounds.is_some() && expr.reads_last()
    }

    /// Does `what` for the operand that a condition chooses, the first if it holds.
    pub(super) fn choose(
        &mut self,
        cond: &Expr,
        what: &mut dyn FnMut(&mut Self, bool) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let (other, end) = (self.label(), self.label());
        self.branch(cond, false, other)?;
        what(self, true)?;
        self.push(Op::Jump { to: end.0 });
        self.bind(other);
        what(self, false)?;
        self.bind(end);
        Ok(())
    }

    fn compare(
        &mut self,
        relation: Relation,
        left: &Expr,
        right: &Expr,
    ) -> Result<Slot, LoadError> {
        let held = comparison_lane(left, right)?;
        let cmp = match (relation, held.signed) {
            (Relation::Eq, _) => Cmp::Eq,
            (Relation::Ne, _) => Cmp::Ne,
            (Relation::Lt, false) => Cmp::Lt,
            (Relation::Le, false) => Cmp::Le,
            (Relation::Lt, true) => Cmp::LtS,
            (Relation::Le, true) => Cmp::LeS,
        };
        let (a, b) = if held.wide {
            (self.value_wide(left)?, self.value_wide(right)?)
        } else {
            (self.value(left)?, self.value(right)?)
        };
        let d = self.temporary(1)?;
        self.push(if held.wide {
            Op::CompareW { d, a, b, cmp }
        } else {
            Op::Compare { d, a, b, cmp }
        });
        Ok(d)
    }

    /// Jumps to `target` when the expression is `when`, else goes on.
    pub fn branch(&mut self, expr: &Expr, when: bool, target: Label) -> Result<(), LoadError> {
        let to = target.0;
        match expr {
            Expr::Negate(of) => return self.branch(of, !when, target),
            Expr::And(left, right) | Expr::Or(left, right) => {
                // The value of the left side that decides alone.
                let decides = matches!(expr, Expr::Or(..));
                if decides == when {
                    self.branch(left, when, target)?;
                    self.branch(right, when, target)?;
                } else {
                    let on = self.label();
                    self.branch(left, decides, on)?;
                    self.branch(right, when, target)?;
                    self.bind(on);
                }
                return Ok(());
            }
            Expr::Compare(relation, left, right) => {
                let unsigned = comparison_lane(left, right).is_ok_and(|held| {
                    !held.wide && (!held.signed || matches!(relation, Relation::Eq | Relation::Ne))
                });
                if unsigned {
                    let (a, b) = (self.value(left)?, self.value(right)?);
                    let zero = right.as_constant() == Some(0);
                    self.push(match (relation, when) {
                        (Relation::Eq, true) | (Relation::Ne, false) if zero => {
                            Op::JumpIfNot { a, to }
                        }
                        (Relation::Eq, false) | (Relation::Ne, true) if zero => {
                            Op::JumpIf { a, to }
                        }
                        (Relation::Eq, true) | (Relation::Ne, false) => Op::JumpEq { a, b, to },
                        (Relation::Eq, false) | (Relation::Ne, true) => Op::JumpNe { a, b, to },
                        (Relation::Lt, true) => Op::JumpLt { a, b, to },
                        (Relation::Lt, false) => Op::JumpLe { a: b, b: a, to },
                        (Relation::Le, true) => Op::JumpLe { a, b, to },
                        (Relation::Le, false) => Op::JumpLt { a: b, b: a, to },
                    });
                    return Ok(());
                }
            }
            _ => {}
        }
        let a = self.boolean(expr)?;
        self.push(if when {
            Op::JumpIf { a, to }
        } else {
            Op::JumpIfNot { a, to }
        });
        Ok(())
    }
}

/// A lane that holds both sides exactly.
fn comparison_lane(left: &Expr, right: &Expr) -> Result<Lane, LoadError> {
    let (l, r) = (left.range(), right.range());
    let signed = l.neg.is_some() || r.neg.is_some();
    let bits = if signed {
        let with_sign = |r: Range| r.neg.unwrap_or(0).max(r.pos) + 1;
        with_sign(l).max(with_sign(r))
    } else {
        l.pos.max(r.pos)
    };
    match bits {
        0..=64 => Ok(Lane {
            wide: false,
            signed,
        }),
        65..=128 => Ok(Lane { wide: true, signed }),
        _ => Err(unfit()),
    }
}
