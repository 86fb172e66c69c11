// SPDX-License-Identifier: Apache-2.0
//! What happens to a packet, step by step, in the words of its P4 program.

mod place;
mod tracer;

pub(crate) use place::{Place, Target};
pub(crate) use tracer::{Off, Tracer};
