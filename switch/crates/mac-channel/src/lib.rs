// SPDX-License-Identifier: Apache-2.0
//! An upstream channel: a scheduler and its modems, run in due order, sans-IO.
//!
//! A [`Channel`] makes MAPs when they are due, encodes them, and reads them to the stations that
//! they concern; puts requests and bursts into their minislots, finds those that collide, tells the
//! scheduler what it hears when it hears it, and delivers frames when their last byte has arrived.
//! The queues, and what becomes of a frame, are those of its [`Ends`]. Only encoded MAPs and what is
//! heard cross between scheduler and stations.
//!
//! A MAP costs what it has in information elements, and the stations that act: modems that have
//! nothing to send are never looked at.

mod air;
mod calendar;
mod channel;
mod ends;
mod hearing;
mod histogram;
mod membership;
mod observer;
mod observers;
mod reading;
mod records;
mod seats;
mod serving;
mod statistics;
mod step;
mod watch;

pub use channel::Channel;
pub use ends::Ends;
pub use histogram::Histogram;
pub use mac_cmts::{Heard, Refusal};
pub use mac_modem::{Asked, Eligible, Filled, Frame, Grant, How, Leaving, Queue, Station};
pub use membership::Prepared;
pub use observer::Observer;
pub use records::Records;
pub use statistics::Statistics;
pub use watch::{
    MOST_MAPS, MOST_REQUESTS, Watch, WatchedBurst, WatchedElement, WatchedMap, WatchedRequest,
};
