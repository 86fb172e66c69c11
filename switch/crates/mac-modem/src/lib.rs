// SPDX-License-Identifier: Apache-2.0
//! A cable modem's part of the request/grant MAC, sans-IO: what it asks for, when it asks, and
//! what it sends in its grants (mac.md, "Contention requests" and "What a request asks for").
//!
//! A [`Station`] is one service flow. Frames wait in a [`Queue`] that belongs to somebody else, who
//! also shapes them and lets them through egress. Whoever runs stations reads MAPs for them: counts
//! contention opportunities in [`Opportunities`], tells a station what a MAP says of it
//! ([`Station::read`]), and comes back at its opportunities, polls and grants. A station that has
//! nothing to send needs none of that.

mod amount;
mod asked;
mod backoff;
mod booked;
mod burst;
mod opportunities;
mod queue;
mod random;
mod rules;
mod staged;
mod station;
mod statistics;

pub use asked::{Asked, How};
pub use burst::{Filled, Grant, Leaving};
pub use opportunities::Opportunities;
pub use queue::{Eligible, Frame, Queue};
pub use station::{News, Station};
pub use statistics::Statistics;
