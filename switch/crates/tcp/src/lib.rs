// SPDX-License-Identifier: Apache-2.0
//! A TCP for simulated hosts, written from the RFCs.
//!
//! Sans-IO: it reads no clock, has no threads, no sockets and no randomness.
//! Time is nanoseconds that the caller passes and that never decrease. It
//! computes in integers only, so that a run is the same on every machine.
//! Data has a length and no content; sequence numbers are those of the wire.
//!
//! ```
//! use tcp::{Config, Connection, Role};
//!
//! let port = |port, peer_port| Config { port, peer_port, ..Config::linux() };
//! let mut client = Connection::open(port(4000, 80), Role::Active, 7, 0);
//! let mut server = Connection::open(port(80, 0), Role::Passive, 9, 0);
//! client.send(100_000);
//! client.close();
//! let mut now = 0;
//! while server.delivered() < 100_000 {
//!     now += 5_000_000;
//!     while let Some(segment) = client.next_segment(now) {
//!         server.on_segment(now, &segment);
//!     }
//!     while let Some(segment) = server.next_segment(now) {
//!         client.on_segment(now, &segment);
//!     }
//!     client.on_timer(now);
//!     server.on_timer(now);
//! }
//! ```
//!
//! What is implemented, and of which RFC, is in this crate's README.

mod autotune;
mod checksum;
mod config;
mod connection;
mod controller;
mod cubic;
mod delayed_ack;
mod frto;
mod header;
mod hystart;
mod ledbat;
mod newreno;
mod options;
mod prr;
mod rack;
mod reassembly;
mod receiver;
mod reno;
mod rtt;
mod sack;
mod scoreboard;
mod segment;
mod sender;
mod sequence;
mod timers;
mod tlp;
mod undo;
mod window;

pub use checksum::{checksum, pseudo_header_sum};
pub use config::{Config, Congestion, Growth, LossRecovery};
pub use connection::{Connection, Ended, Info, Role, State};
pub use rtt::RtoConfig;
pub use segment::{
    DecodeError, Flags, HEADER_LENGTH, MAX_HEADER_LENGTH, SackBlocks, Segment, Timestamps,
};
pub use sender::{Counts, Phase};
