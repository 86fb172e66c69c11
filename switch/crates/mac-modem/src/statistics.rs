// SPDX-License-Identifier: Apache-2.0
//! A station's counters.

/// Counters of a station, from its start on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Requests sent in contention.
    pub requests_contention: u64,
    /// Requests sent in polls.
    pub requests_polled: u64,
    /// Requests sent in bursts.
    pub requests_piggybacked: u64,
    /// Requests sent in contention that were lost.
    pub requests_lost: u64,
    /// Polls that it was given.
    pub polls: u64,
    /// Polls that stayed empty.
    pub polls_unused: u64,
    /// Grants that it was given.
    pub grants: u64,
    /// Grants that stayed empty.
    pub grants_unused: u64,
    /// Grants that stayed empty because they were too small for what waited.
    pub grants_too_small: u64,
    /// Minislots of the grants that it has filled, or left empty.
    pub minislots_granted: u64,
    /// Granted minislots that its bursts used.
    pub minislots_used: u64,
    /// MAC bytes that its grants carry, segment headers included.
    pub bytes_granted: u64,
    /// MAC bytes that it sent in them, with all headers.
    pub bytes_used: u64,
    /// Frames sent to their last byte.
    pub frames: u64,
    /// Fragments sent.
    pub fragments: u64,
    /// Frames dropped after all tries to ask for them were lost.
    pub given_up: u64,
    /// Frames dropped that no grant can ever carry.
    pub too_long: u64,
}
