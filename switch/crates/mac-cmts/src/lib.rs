// SPDX-License-Identifier: Apache-2.0
//! The CMTS's scheduler of one upstream channel: what was heard goes in, MAPs come out.
//!
//! Nothing here reads a clock, and of a modem it knows what `mac-wire` has: its configuration, its
//! requests, and how much of its grants it used. Everything that was heard may be hostile: it is
//! bounded or refused, and counted.

mod admission;
mod asked;
mod budget;
mod contention;
mod demand;
mod draft;
mod effort;
mod flow;
mod given;
mod granting;
mod ground;
mod hearing;
mod load;
mod opportunities;
mod parameters;
mod parts;
mod pending;
mod periodic;
mod policing;
mod promises;
mod queues;
mod random;
mod reading;
mod refusal;
mod reserved;
mod schedulable;
mod scheduler;
mod sizes;
mod statistics;
mod turn;
mod unsolicited;
mod whole;

#[cfg(test)]
mod testing;

pub use parameters::Parameters;
pub use reading::Reference;
pub use refusal::Refusal;
pub use scheduler::{Heard, Scheduler};
pub use statistics::{FlowStatistics, Statistics};
