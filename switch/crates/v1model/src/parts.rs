// SPDX-License-Identifier: Apache-2.0
//! How many parts a program's expressions have: operators, operands and what is repeated.
//!
//! A comparison of headers repeats the conditions that choose them, and the indices of elements,
//! for every field, and conditions and indices may be such comparisons again: a few bytes of JSON
//! stand for any number of parts. They are counted before they are made.

use crate::error::LoadError;
use crate::expr::{Element, Expr, Index};
use std::cell::Cell;

/// Most parts of all expressions, each counted as often as its statement is put in place.
const PARTS: usize = 1 << 21;

/// Memory that a part of an expression takes, bytes, with what the allocator takes.
const BYTES: usize = size_of::<Expr>() + 16;

/// Parts that were made so far.
#[derive(Debug, Default)]
pub(crate) struct Parts(Cell<usize>);

impl Parts {
    /// Some are about to be made.
    ///
    /// # Errors
    /// There are more than a program may have.
    pub fn add(&self, more: usize) -> Result<(), LoadError> {
        let parts = self.0.get().saturating_add(more);
        self.0.set(parts);
        if parts <= PARTS {
            return Ok(());
        }
        Err(LoadError::new(format!(
            "the program's expressions become more than {PARTS} operations, which are not \
             supported: compare fewer or shorter headers, and call fewer or shorter actions"
        )))
    }
}

impl Index {
    /// Parts of the expression that it is, if any.
    pub fn parts(&self) -> usize {
        match self {
            Index::At(index) => index.parts(),
            Index::Last => 0,
        }
    }
}

impl Expr {
    /// The memory that it takes, bytes; an estimate from above.
    pub fn bytes(&self) -> usize {
        self.parts() * BYTES
    }

    /// Its parts. A long constant counts as several.
    pub fn parts(&self) -> usize {
        1 + match self {
            Expr::Huge(value) => usize::try_from(value.bits() / 64).unwrap_or(usize::MAX / 2),
            Expr::Const { .. }
            | Expr::Load { .. }
            | Expr::Var(_)
            | Expr::Bool(_)
            | Expr::SameVar(..) => 0,
            Expr::Element(Element { index, .. }) => index.parts(),
            Expr::Not(a) | Expr::FromBool(a) | Expr::ToBool(a) | Expr::Negate(a) => a.parts(),
            Expr::Arith(_, a, b)
            | Expr::Compare(_, a, b)
            | Expr::Same(a, b)
            | Expr::And(a, b)
            | Expr::Or(a, b) => a.parts() + b.parts(),
            Expr::If(a, b, c) => a.parts() + b.parts() + c.parts(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_indices_count() {
        let load = || Expr::Load {
            slot: 0,
            width: 8,
            signed: false,
        };
        let element = Expr::Element(Element {
            next: 0,
            index: Index::At(Box::new(Expr::Not(Box::new(load())))),
            base: 1,
            stride: 1,
            size: 2,
            width: 8,
            signed: false,
        });
        assert_eq!(element.parts(), 3);
        let cond = Expr::ToBool(Box::new(load()));
        let choice = Expr::If(Box::new(cond), Box::new(element), Box::new(load()));
        assert_eq!(choice.parts(), 1 + 2 + 3 + 1);
    }

    #[test]
    fn there_are_so_many_and_no_more() {
        let parts = Parts::default();
        parts.add(PARTS - 1).unwrap();
        parts.add(1).unwrap();
        let words = parts.add(1).expect_err("too many").message;
        assert!(words.contains("more than 2097152 operations"), "{words}");
        parts.add(usize::MAX).expect_err("still too many");
    }
}
