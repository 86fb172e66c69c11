// SPDX-License-Identifier: Apache-2.0
//! The RPCs Write and Read with messages that stay as they are on the wire.
//!
//! A control loop moves tens of thousands of register cells at a time. As protobuf's objects each
//! of them would be four allocations that live for a microsecond. So cells are read from the bytes
//! of the request, and written as the bytes of the answer. Everything else is decoded and encoded
//! like any message, and so are cells that a client writes in an unusual way, so that each message
//! has one meaning.

mod cell;
mod codec;
mod config;
mod fields;
mod messages;
mod request;
pub mod written;

pub use cell::{Asked, Cell, cells};
pub use codec::{Encoded, EncodedCodec};
pub use config::{EncodedConfig, EncodedConfigResponse, config_memory};
pub use messages::Messages;
pub use request::{ReadRequest, WriteRequest, put_update};

/// The service p4.v1.P4Runtime whose Write and Read have [`Encoded`] messages.
#[allow(missing_docs, clippy::all)]
pub mod rpc {
    include!(concat!(env!("OUT_DIR"), "/p4.v1.P4Runtime.rs"));
}

/// The status INTERNAL of bytes that are no such message, as gRPC defines it.
fn malformed(what: &str, why: &str) -> tonic::Status {
    tonic::Status::internal(format!("the {what} cannot be decoded: {why}"))
}
