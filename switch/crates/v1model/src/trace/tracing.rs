// SPDX-License-Identifier: Apache-2.0
//! The trace sink of a pipeline, if it has one.

use super::event::TraceSink;
use std::fmt;

/// Who is told, if anyone.
#[derive(Default)]
pub(crate) struct Tracing {
    pub(super) sink: Option<Box<dyn TraceSink + Send>>,
    /// The time of what happened last, for steps that have none of their own.
    pub(super) now_ns: u64,
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.sink.is_some() {
            "Tracing(on)"
        } else {
            "Tracing(off)"
        })
    }
}

impl Tracing {
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.sink.is_some()
    }
}
