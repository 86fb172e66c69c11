// SPDX-License-Identifier: Apache-2.0
//! Keeps the requests that are being sent in their minislots.

use std::collections::VecDeque;

use mac_wire::{Minislot, Request};

/// An opportunity in which somebody asks.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub first: Minislot,
    /// When its last minislot ends, nanoseconds.
    pub end: u64,
    /// It was a poll.
    pub poll: bool,
    /// Who asks in it, at least one.
    pub requests: Vec<Request>,
}

/// Opportunities that have begun and not ended, in order of their minislots.
#[derive(Debug, Default)]
pub(crate) struct Air {
    opportunities: VecDeque<Asking>,
    /// Emptied lists of requests, to be used again.
    spare: Vec<Vec<Request>>,
}

impl Air {
    /// When the first of them ends.
    pub fn next(&self) -> Option<u64> {
        self.opportunities.front().map(|asking| asking.end)
    }

    pub fn send(&mut self, first: Minislot, end: u64, poll: bool, request: Request) {
        let at = self.opportunities.partition_point(|one| one.first < first);
        match self.opportunities.get_mut(at) {
            Some(asking) if asking.first == first => asking.requests.push(request),
            _ => {
                let mut requests = self.spare.pop().unwrap_or_default();
                requests.push(request);
                let asking = Asking {
                    first,
                    end,
                    poll,
                    requests,
                };
                self.opportunities.insert(at, asking);
            }
        }
    }

    pub fn pop(&mut self) -> Option<Asking> {
        self.opportunities.pop_front()
    }

    pub fn reuse(&mut self, mut requests: Vec<Request>) {
        requests.clear();
        self.spare.push(requests);
    }
}
