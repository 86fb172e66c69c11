// SPDX-License-Identifier: Apache-2.0
//! One switch: a v1model pipeline around the traffic manager, with multicast
//! replication, a CPU port and delay lines.
//!
//! Sans-IO: the shell calls [`Device::receive`] with frames and
//! [`Device::step`] or [`Device::poll`] when [`Device::next_deadline`] has
//! come; frames leave through [`Output`]. Every `now` is in nanoseconds since
//! the process started and never decreases.

mod acks;
mod books;
mod counters;
mod device;
mod digest;
mod drops;
mod egress;
pub mod events;
mod flow_room;
mod grants;
pub mod handle;
mod lateness;
mod learning;
mod output;
mod paths;
mod pool;
mod queued;
mod room;
mod taps;
mod trace;

pub use books::Books;
pub use counters::DeviceCounters;
pub use device::{Device, DeviceConfig, Link, Replaced, TrafficManagerState};
pub use digest::{DigestConfig, DigestList, Forgotten};
pub use drops::{DropPlace, Drops};
pub use events::Event;
pub use flow_room::MOST_FLOW_BYTES;
pub use grants::Taken;
pub use handle::{DeviceGone, DeviceHandle};
pub use lateness::Lateness;
pub use output::{Note, Output};
pub use paths::{AGAIN, MOST_PASSES};
pub use pool::Pool;
pub use queued::{MOST_PACKETS, MOST_UNCOUNTED};
pub use taps::{TRACES, TraceId};
pub use traffic_manager::{
    AckSuppression, Backlog, ConfigError, Configuration, Framing, LONGEST_FRAME, ModelKind,
    Notice as GrantNotice, PacketQueueChange, PacketQueueConfig, PacketQueueState, PortConfig,
    PortState, QueueId, RoundRobin, ServiceFlowConfig, ServiceFlowState, Traffic,
};
pub use v1model::trace::{RequestKind, TraceBurst, TraceSink};
