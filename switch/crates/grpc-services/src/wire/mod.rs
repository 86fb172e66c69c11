// SPDX-License-Identifier: Apache-2.0
//! The RPCs Write and Read with messages that stay as they are on the wire.
//!
//! A control loop moves tens of thousands of register cells at a time. As
//! protobuf's objects each of them is four allocations' worth of structures that
//! live for a microsecond; here they are read from the request's bytes, and
//! answers are written as bytes. What is no cell of a register is still decoded
//! and encoded as any message is, so there is one meaning of it, and cells that
//! are not written in the usual way take that path, too.

mod cell;
mod codec;
mod config;
mod fields;
mod messages;
mod request;
pub mod written;

pub use cell::{Asked, Cell, cells};
pub use codec::{Encoded, EncodedCodec};
pub use config::config_memory;
pub use messages::Messages;
pub use request::{ReadRequest, WriteRequest, put_update};

/// The service p4.v1.P4Runtime whose Write and Read have [`Encoded`] messages.
#[allow(missing_docs, clippy::all)]
pub mod rpc {
    include!(concat!(env!("OUT_DIR"), "/p4.v1.P4Runtime.rs"));
}

/// The bytes are no such message; INTERNAL, as gRPC has it.
fn malformed(what: &str, why: &str) -> tonic::Status {
    tonic::Status::internal(format!("the {what} cannot be decoded: {why}"))
}
