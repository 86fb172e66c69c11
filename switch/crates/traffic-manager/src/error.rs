// SPDX-License-Identifier: Apache-2.0
//! Why a configuration is refused.

use std::fmt;

/// Why a request was refused; the words name port, queue and field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// A value out of range (INVALID_ARGUMENT).
    Invalid(String),
    /// Only the other traffic manager has that (FAILED_PRECONDITION).
    OtherModel(String),
}

impl ConfigError {
    pub(crate) fn invalid(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::Invalid(format!("{place}: {what}"))
    }

    pub(crate) fn other_model(place: impl fmt::Display, what: impl fmt::Display) -> Self {
        Self::OtherModel(format!(
            "{place}: this device's traffic manager has no {what}; see --traffic-manager"
        ))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(words) | Self::OtherModel(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for ConfigError {}
