// SPDX-License-Identifier: Apache-2.0
//! What can go wrong, in words.

use std::fmt;

/// Why a world did not do something.
#[derive(Clone, Debug)]
pub enum WorldError {
    /// An argument is not possible; nothing has changed.
    Invalid(String),
    /// The world has reached a limit and does not go on.
    Limit(String),
    /// A method of a device's server ended with this status.
    Rpc(Box<tonic::Status>),
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::Invalid(words) | WorldError::Limit(words) => f.write_str(words),
            WorldError::Rpc(status) => write!(f, "{status}"),
        }
    }
}

impl std::error::Error for WorldError {}

/// An argument is not possible.
pub(crate) fn invalid(words: impl Into<String>) -> WorldError {
    WorldError::Invalid(words.into())
}

/// A limit is reached.
pub(crate) fn limit(words: impl Into<String>) -> WorldError {
    WorldError::Limit(words.into())
}
