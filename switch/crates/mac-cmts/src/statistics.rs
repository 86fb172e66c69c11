// SPDX-License-Identifier: Apache-2.0
//! The scheduler's counters.

/// Counters of a channel, from its start on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// MAPs made.
    pub maps: u64,
    /// MAPs that were stretched.
    pub maps_stretched: u64,
    /// Minislots that MAPs described.
    pub minislots: u64,
    /// Minislots for contention.
    pub minislots_contention: u64,
    /// For maintenance.
    pub minislots_maintenance: u64,
    /// For polls.
    pub minislots_polls: u64,
    /// Granted.
    pub minislots_granted: u64,
    /// Granted minislots that bursts used.
    pub minislots_used: u64,
    /// Granted minislots that stayed empty.
    pub minislots_wasted: u64,
    /// Contention opportunities.
    pub opportunities: u64,
    /// Requests heard in contention.
    pub requests_contention: u64,
    /// Requests heard in polls.
    pub requests_polled: u64,
    /// Requests heard in bursts.
    pub requests_piggybacked: u64,
    /// Contention opportunities in which noise was heard: requests that collided.
    pub collisions: u64,
    /// Requests of SIDs that do not exist.
    pub requests_unknown: u64,
    /// Requests from before their flow was admitted or began anew.
    pub requests_outdated: u64,
    /// Requests that the service or the request/transmission policy forbids.
    pub requests_forbidden: u64,
    /// Requests for nothing, or in units that the channel does not use.
    pub requests_malformed: u64,
    /// Requests for more than a flow may have outstanding; the rest was not remembered.
    pub requests_trimmed: u64,
    /// Requests that had to be granted whole and never can be: too long, or without a hole.
    pub requests_impossible: u64,
    /// Requests that took the place of one that was not granted yet.
    pub requests_replaced: u64,
    /// Pending marks.
    pub pending_marks: u64,
    /// MAPs whose Ack Time stayed back because not every pending mark had room.
    pub acks_held_back: u64,
    /// MAPs in which a request that Ack Time had passed waited without a mark: a fault.
    pub marks_without_room: u64,
    /// Polls.
    pub polls: u64,
    /// Grants in answer to requests.
    pub grants: u64,
    /// Unsolicited and proactive grants.
    pub grants_unsolicited: u64,
    /// Unsolicited grants and polls that did not come in their jitter window: a fault.
    pub missed: u64,
    /// Bytes granted.
    pub bytes_granted: u64,
    /// Bytes of grants that bursts used.
    pub bytes_used: u64,
    /// Grants of which no burst was heard of at all, not even an empty one.
    pub grants_unheard: u64,
    /// Bursts heard in minislots that were not granted to their SID, or a second time.
    pub bursts_unknown: u64,
}

/// Counters of a service flow, from its admission on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowStatistics {
    /// Requests heard and accepted.
    pub requests: u64,
    /// Polls.
    pub polls: u64,
    /// Grants, unsolicited ones included.
    pub grants: u64,
    /// Grants that stayed empty.
    pub grants_empty: u64,
    /// Bytes granted.
    pub bytes_granted: u64,
    /// Bytes of grants that bursts used.
    pub bytes_used: u64,
}
