// SPDX-License-Identifier: Apache-2.0
//! ACK suppression: when a TCP acknowledgement comes to a queue, earlier ones of its connection that
//! still wait there are superfluous (mac.md, "ACK handling in the CM").
//!
//! [`segment`] reads frames, [`connections`] remembers what came, and [`suppressor`] says which
//! of a queue's frames are to go.

mod connections;
mod segment;
mod suppressor;

pub use segment::{Connection, Content, Segment};
pub(crate) use suppressor::Suppressor;

/// Which acknowledgements a service flow's queue does without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckSuppression {
    /// None is suppressed.
    #[default]
    Off,
    /// Paper 004, section III: "When an ACK packet arrives at a CM to be sent upstream, any ACK
    /// that is currently in the queue is dropped if it is associated with the same connection as
    /// the ACK that arrived and if it acknowledges a sequence number lower than the sequence
    /// number of the ACK that arrived." Duplicates, SACK and ECN marks go with the rest.
    Always,
    /// Only acknowledgements that tell nothing but their number, and told a higher one than the
    /// one before, never duplicates. The new one takes the place of the old one in the queue, if
    /// no other frame of the connection came in between.
    Safe,
}
