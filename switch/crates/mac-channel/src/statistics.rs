// SPDX-License-Identifier: Apache-2.0
//! A channel's counters.

use crate::histogram::Histogram;

/// Counters of a channel, from its start on. The scheduler and the stations have their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// MAPs made.
    pub maps: u64,
    /// Bytes of their bodies.
    pub map_bytes: u64,
    /// MAPs that could not be encoded or read: a fault.
    pub maps_lost: u64,
    /// Contention opportunities that MAPs offered.
    pub opportunities: u64,
    /// Opportunities in which one station or several sent a request.
    pub opportunities_used: u64,
    /// Opportunities in which several stations sent a request.
    pub opportunities_collided: u64,
    /// Requests sent in contention.
    pub requests: u64,
    /// Requests that collided.
    pub requests_collided: u64,
    /// Grants whose time has come.
    pub grants: u64,
    /// Their minislots.
    pub minislots_granted: u64,
    /// Granted minislots that bursts used.
    pub minislots_used: u64,
    /// Frames delivered.
    pub frames: u64,
    /// From the start of a request's minislot to that of its first grant, in answered requests.
    pub request_to_grant: Histogram,
}

impl Statistics {
    /// Minislots granted that carry nothing.
    #[must_use]
    pub fn minislots_wasted(&self) -> u64 {
        self.minislots_granted - self.minislots_used
    }
}
