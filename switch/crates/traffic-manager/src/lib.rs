// SPDX-License-Identifier: Apache-2.0
//! The traffic manager between ingress and egress, in two models: service-flow
//! queues with byte-accurate dual token buckets, traffic priority, deficit round
//! robin and port rates ([`TrafficManager`]); and BMv2's queues in packets
//! ([`PacketQueues`]). Delay lines go with both.
//!
//! A state machine: it reads no clock, has no threads and no sockets. Every
//! call takes `now`, nanoseconds since the process started, never decreasing.
//!
//! Per service flow, in the first model, and over all t1 < t2 (R, P in bit/s, B in bytes):
//!
//! * bytes sent <= (t2 - t1) * R / 8 + B, the Maximum Sustained Traffic Rate;
//! * bytes sent <= (t2 - t1) * P / 8 + 1522, the Peak Traffic Rate.

mod bucket;
mod config;
mod delay;
mod manager;
mod model;
mod packet_queue_config;
mod packet_queues;
mod queue;
mod round_robin;

pub use bucket::TOKENS_PER_BYTE;
pub use config::*;
pub use delay::DelayLines;
pub use manager::{Commit, Offer, Slot, TrafficManager};
pub use model::{Destination, Model, ModelKind, Place};
pub use packet_queues::{DEFAULT_DEPTH, MAX_PRIORITIES, PacketQueues};
