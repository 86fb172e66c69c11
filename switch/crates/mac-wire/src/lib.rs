// SPDX-License-Identifier: Apache-2.0
//! What crosses an upstream channel, and what both ends have to agree on: the minislot
//! clock, MAPs, requests, headers, how many minislots a burst takes, and profiles.
//!
//! The scheduler (`mac-cmts`) and the modems (`mac-modem`) depend on this crate and not on
//! each other: only encoded MAPs and decoded requests cross.

mod clock;
mod flow;
mod map;
mod profile;
mod request;

pub use clock::{Clock, Minislot};
pub use flow::{FlowConfig, Periodic, Policy, Service, Sid};
pub use map::{Backoff, Element, Map, Usage};
pub use profile::{Asking, Capacity, ContentionPlace, GrantPlace, Packing, Phy, Profile, Timing};
pub use request::{Amount, Request};
