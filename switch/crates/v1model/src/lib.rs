// SPDX-License-Identifier: Apache-2.0
//! Runs P4 programs for v1model: loads p4c's BMv2 JSON, lowers it to dense
//! typed instructions over a flat packet-header vector, and runs packets.
//!
//! Sans-IO: time is an argument, randomness is seeded, nothing here opens,
//! sleeps or spawns. [`Program`] is what was loaded, [`Pipeline`] is a program
//! with its tables, registers and counters, [`Packet`] is a frame on its way
//! from [`Pipeline::ingress`] through a traffic manager to [`Pipeline::egress`].

mod bits;
pub mod by_name;
mod calculation;
mod carry;
mod code;
mod control;
mod error;
mod expr;
mod grants;
mod hash;
mod header;
mod json;
mod layout;
mod load_options;
mod lower;
mod machine;
mod meter;
mod op;
mod origin;
mod outcome;
mod packet;
mod packets;
mod parts;
mod paths;
mod pipeline;
mod places;
mod pre;
mod program;
mod random;
mod schema;
mod stack;
mod stack_ops;
mod state;
mod table;
pub mod trace;
mod value_set;
mod wide;
mod wire;

pub use control::RegisterCells;
pub use error::{Code, ControlError, LoadError, SourcePosition};
pub use grants::Grants;
pub use load_options::LoadOptions;
pub use origin::Origin;
pub use outcome::{EgressFate, EgressMetadata, EgressOutcome, Fate, IngressOutcome, InstanceType};
pub use packet::Packet;
pub use pipeline::Pipeline;
pub use pre::{CloneSession, CloneSessions, MAX_CLONE_SESSION, MulticastGroups, Replica};
pub use program::Program;
pub use schema::*;
pub use state::LogSink;
