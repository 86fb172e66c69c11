// SPDX-License-Identifier: Apache-2.0
//! The process's clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the process started, and what that was in wall time.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    wall: u64,
}

impl Clock {
    /// Starts at 0.
    pub fn start() -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_nanos() as u64);
        Self {
            start: Instant::now(),
            wall,
        }
    }

    /// Nanoseconds since the start; monotonic.
    pub fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Nanoseconds since 1970 at `now`, for capture files.
    pub fn wall(&self, now: u64) -> u64 {
        self.wall + now
    }
}
