// SPDX-License-Identifier: Apache-2.0
//! What happens to a packet, step by step, in the words of its P4 program.
//!
//! A [`TraceSink`] is told, see [`Pipeline::set_trace`](crate::Pipeline::set_trace);
//! [`TextTrace`] and [`JsonTrace`] write it down. A packet that no sink wants
//! goes another, untraced way through the machine.

mod attach;
mod event;
pub mod json;
mod output;
mod place;
mod recorder;
mod text;
mod tracer;
mod tracing;

pub use event::{
    Cause, CopyKind, DropReason, KeyPart, Named, RequestKind, TraceBurst, TraceEvent, TraceSink,
    TraceValue,
};
pub use json::JsonTrace;
pub use output::TraceFilter;
pub(crate) use place::{Place, Target};
pub use text::TextTrace;
pub(crate) use tracer::{Off, Tracer};
pub(crate) use tracing::Tracing;
