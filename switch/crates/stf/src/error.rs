// SPDX-License-Identifier: Apache-2.0
//! Errors of a test, with their places.

use std::fmt;

/// What is wrong with a test, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// From 1.
    pub line: u32,
    /// In characters, from 1; 0 when the whole line is meant.
    pub column: u32,
    /// One sentence.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "line {}: {}", self.line, self.message),
            column => write!(f, "line {}, column {column}: {}", self.line, self.message),
        }
    }
}

impl std::error::Error for Error {}
