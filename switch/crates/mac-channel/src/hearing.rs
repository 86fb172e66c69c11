// SPDX-License-Identifier: Apache-2.0
//! Keeps requests and bursts that are on their way to the scheduler.

use std::collections::VecDeque;

use mac_cmts::Heard;

/// What will be heard, in order of time. Requests come from where they were sent, bursts from where
/// they begin, so each kind is in order by itself.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    requests: VecDeque<(u64, Heard)>,
    bursts: VecDeque<(u64, Heard)>,
}

impl Hearing {
    pub fn request(&mut self, at: u64, heard: Heard) {
        self.requests.push_back((at, heard));
    }

    pub fn burst(&mut self, at: u64, heard: Heard) {
        self.bursts.push_back((at, heard));
    }

    pub fn next(&self) -> Option<u64> {
        let front = |queue: &VecDeque<(u64, Heard)>| queue.front().map(|heard| heard.0);
        match (front(&self.requests), front(&self.bursts)) {
            (Some(request), Some(burst)) => Some(request.min(burst)),
            (request, burst) => request.or(burst),
        }
    }

    /// The first of them, bursts before requests of the same time.
    pub fn pop(&mut self) -> Option<(u64, Heard)> {
        let request = self.requests.front().map(|heard| heard.0);
        match self.bursts.front() {
            Some(&(burst, _)) if request.is_none_or(|request| burst <= request) => {
                self.bursts.pop_front()
            }
            _ => self.requests.pop_front(),
        }
    }
}
