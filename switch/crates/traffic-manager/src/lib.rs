// SPDX-License-Identifier: Apache-2.0
//! The traffic manager between ingress and egress: service-flow queues with
//! byte-accurate dual token buckets, traffic priority, deficit round robin,
//! port rates and delay lines.
//!
//! A state machine: it reads no clock, has no threads and no sockets. Every
//! call takes `now`, nanoseconds since the process started, never decreasing.
//!
//! Per service flow and over all t1 < t2 (R, P in bit/s, B in bytes):
//!
//! * bytes sent <= (t2 - t1) * R / 8 + B, the Maximum Sustained Traffic Rate;
//! * bytes sent <= (t2 - t1) * P / 8 + 1522, the Peak Traffic Rate.

mod bucket;
mod config;
mod delay;
mod manager;
mod queue;
mod round_robin;

pub use bucket::TOKENS_PER_BYTE;
pub use config::*;
pub use delay::DelayLines;
pub use manager::{Commit, Offer, Slot, TrafficManager};
