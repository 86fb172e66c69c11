// SPDX-License-Identifier: Apache-2.0
//! How large a program becomes while it is lowered. An action that statements call is put in place
//! at each of them, and a statement on an element of a stack is there for each element, so that a
//! program may become far larger than its JSON.

use crate::error::LoadError;

/// Most instructions of a program; those of the testbed have a few thousand.
pub(super) const INSTRUCTIONS: usize = 1 << 20;

/// Most bytes of what instructions refer to: messages, the inputs of hashes, expressions without
/// instructions of their own, and for tracing the names and positions of statements.
const KEPT: usize = 128 << 20;

/// What a program has taken so far.
#[derive(Debug, Default)]
pub(super) struct Size {
    statements: usize,
    kept: usize,
    /// Why it has become too large. It is noted where it happens, and told where errors are.
    excess: Option<Excess>,
}

#[derive(Clone, Copy, Debug)]
enum Excess {
    Instructions,
    Kept,
}

impl Size {
    /// A statement is about to be lowered, which may have no instructions.
    pub fn statement(&mut self) {
        self.statements += 1;
        if self.statements > INSTRUCTIONS {
            self.excess = Some(Excess::Instructions);
        }
    }

    /// Whether there is room for an instruction, or a label, behind so many.
    pub fn has_room(&mut self, behind: usize) -> bool {
        if behind >= INSTRUCTIONS {
            self.excess = Some(Excess::Instructions);
        }
        self.excess.is_none()
    }

    /// So many bytes are kept, or are about to be.
    pub fn keep(&mut self, bytes: usize) {
        self.kept = self.kept.saturating_add(bytes);
        if self.kept > KEPT {
            self.excess = Some(Excess::Kept);
        }
    }

    /// The bytes that are kept.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Of what is kept only the first bytes are left.
    pub fn keep_only(&mut self, bytes: usize) {
        self.kept = bytes;
    }

    /// # Errors
    /// The program is too large.
    pub fn check(&self) -> Result<(), LoadError> {
        match self.excess {
            None => Ok(()),
            Some(Excess::Instructions) => Err(LoadError::new(format!(
                "the program becomes more than {INSTRUCTIONS} instructions, which are not \
                 supported: call fewer or shorter actions"
            ))),
            Some(Excess::Kept) => Err(LoadError::new(format!(
                "the messages, hashes, long expressions and names of statements become more than \
                 {} MiB, which are not supported: call fewer or shorter actions",
                KEPT >> 20
            ))),
        }
    }
}
