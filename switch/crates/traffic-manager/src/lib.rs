// SPDX-License-Identifier: Apache-2.0
//! The traffic manager between ingress and egress, in two models: service-flow
//! queues with byte-accurate dual token buckets, minimum reserved rates, traffic
//! priority, deficit round robin and port rates ([`TrafficManager`]); and BMv2's queues in packets
//! ([`PacketQueues`]). Delay lines go with both.
//!
//! A state machine: it reads no clock, has no threads and no sockets. Every
//! call takes `now`, nanoseconds since the process started, never decreasing.
//!
//! In the first model a frame is as long as DOCSIS counts it ([`frame_length`]).
//! Per service flow, and over all t1 < t2 (R, P in bit/s, B in bytes):
//!
//! * bytes sent <= (t2 - t1) * R / 8 + B, the Maximum Sustained Traffic Rate;
//! * bytes sent <= (t2 - t1) * P / 8 + 1522, the Peak Traffic Rate.
//!
//! A port whose rate is short sends, of the flows that these let send,
//!
//! 1. the one whose head has been within its Minimum Reserved Traffic Rate for longest;
//! 2. else of the highest traffic priority
//! 3. the one whose turn it is by deficit round robin.
//!
//! A flow may have sub-queues, which share what it sends by deficit round robin:
//! its head is that of the sub-queue whose turn it is.
//!
//! A flow may suppress TCP acknowledgements that later ones make superfluous
//! ([`AckSuppression`]): those leave the queue for nowhere, wherever they stand.
//!
//! Only frames sent under 1 spend the reservation. So every flow has its minimum,
//! and what is left is shared by priority and then equally, as HTB lends it.
//!
//! The minimum as an inequality, with r a flow's minimum reserved rate, F its
//! longest frame (at least 1522, and the assumed packet size), C the port's rate:
//! if the sum of all r is at most C, then over all t1 < t2 between which a flow
//! has frames that its R and P do not hold back,
//!
//! * bytes sent >= (t2 - t1) * r / 8 - F - r * D / 8, where D, less than a second,
//!   is the time in which the port sends two F of every flow with a reservation;
//!   a frame shorter than the assumed packet size counts for that.
//!
//! For, what is entitled by a time t and was not when all that was entitled had
//! last been sent, at s, is at most 2 F + (t - s) * r / 8 of each flow, and is sent
//! before what is entitled later: nothing is sent later than D after it is entitled.

mod acks;
mod allowance;
mod bucket;
mod config;
mod delay;
mod entitled;
mod frames;
mod framing;
mod length;
mod manager;
mod model;
mod packet_queue_config;
mod packet_queues;
mod queue;
mod reservation;
mod round_robin;
mod sub_queues;

pub use acks::{Connection, Content, Segment};
pub use allowance::{Backlog, Notice};
pub use bucket::TOKENS_PER_BYTE;
pub use config::*;
pub use delay::{DelayLines, Path};

pub use length::frame_length;
pub use manager::{Commit, Granted, Offer, SegmentArrival, Slot, TrafficManager};
pub use model::{Destination, Model, ModelKind, Place};
pub use packet_queues::{DEFAULT_DEPTH, MAX_PRIORITIES, PacketQueues};
