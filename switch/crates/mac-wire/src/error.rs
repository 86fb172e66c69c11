// SPDX-License-Identifier: Apache-2.0
//! Why bytes or a configuration are refused.

use std::fmt;

/// Why something cannot be read from bytes, or be written to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireError {
    /// There are fewer bytes than it has, or more.
    Length {
        /// What it is.
        of: &'static str,
        /// Bytes that it has to have.
        needed: usize,
        /// Bytes that there are.
        got: usize,
    },
    /// Its check sequence is not that of its bytes.
    Check {
        /// What it is.
        of: &'static str,
    },
    /// A field has a value that it cannot have.
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it has to be.
        rule: &'static str,
    },
}

impl WireError {
    pub(crate) fn field(field: &'static str, value: impl Into<u64>, rule: &'static str) -> Self {
        Self::Field {
            field,
            value: value.into(),
            rule,
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { of, needed, got } => {
                write!(f, "the {of} has {needed} bytes, and {got} are there")
            }
            Self::Check { of } => {
                write!(f, "the check sequence of the {of} is not that of its bytes")
            }
            Self::Field { field, value, rule } => write!(f, "the {field} is {value}; {rule}"),
        }
    }
}

impl std::error::Error for WireError {}

/// Why a profile or a service flow is refused: one sentence that begins with the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The field, as it is named in [`crate::Profile`] or [`crate::FlowConfig`].
    pub key: &'static str,
    /// The rest of the sentence: what is wrong and what to do.
    pub why: String,
}

impl Refused {
    pub(crate) fn new(key: &'static str, why: impl Into<String>) -> Self {
        Self {
            key,
            why: why.into(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.why)
    }
}

impl std::error::Error for Refused {}
