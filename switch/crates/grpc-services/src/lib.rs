// SPDX-License-Identifier: Apache-2.0
//! The services that clients talk to over gRPC, for devices that are reached
//! through [`device::DeviceHandle`]s.
//!
//! They are P4Runtime 1.5, `docsis.tm.v1.TrafficManager`,
//! `docsis.mac.v1.UpstreamChannels` and `docsis.switch.v1.Switch`, which is about
//! the whole process. [`Server`] offers all of them at one address.
//!
//! A write or a read is resolved to the program's dense ids on its own task,
//! executed in short closures on the device's thread, and put into messages on
//! the task again: packets wait as little as possible. Batches of several
//! closures exclude each other, so that each sees all or nothing of another.

mod action_call;
mod address;
mod arbitration;
mod budget;
mod bytes_of;
mod bytestring;
mod carry;
mod change;
pub mod channel_state;
pub mod client;
mod connections;
mod contained;
mod crew;
mod device_config;
mod entry;
mod export;
mod failure;
mod finished;
mod footprint;
mod heap;
mod in_flight;
pub mod in_process;
pub mod journal;
mod live_traces;
mod notes;
mod op;
mod opening;
mod options;
mod order;
mod outbound;
mod outbox;
mod p4info;
mod packet_io;
mod patience;
mod pause;
mod pipeline_config;
mod process;
pub mod proto;
mod read;
mod register_run;
mod role;
mod schema;
mod server;
mod service;
mod slice;
mod stream;
mod switch_service;
mod target;
mod targets;
mod tls;
mod trace_feed;
mod traffic_manager_service;
mod turns;
mod undo;
mod unix_socket;
mod updates;
mod upstream_channels_service;
mod whole_answers;
mod wire;
mod write;

pub use address::ServerAddress;
pub use contained::panic_is_contained;
pub use options::{Limits, ServerOptions};
pub use p4info::from_text as p4info_from_text;
pub use pipeline_config::PipelineConfig;
pub use process::Process;
pub use server::{ServedDevice, Server, ServerError};
pub use tls::{TlsError, TlsOptions};
