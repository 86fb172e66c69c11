// SPDX-License-Identifier: Apache-2.0
//! Why the scheduler refuses a profile or a service flow.

use std::fmt;

/// One sentence that says what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<mac_wire::Refused> for Refusal {
    fn from(refused: mac_wire::Refused) -> Self {
        Self(refused.to_string())
    }
}

/// A refusal with a formatted sentence.
macro_rules! refuse {
    ($($sentence:tt)*) => { $crate::refusal::Refusal(format!($($sentence)*)) };
}
pub(crate) use refuse;
