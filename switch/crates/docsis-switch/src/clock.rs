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

    /// How far the wall clock, nanoseconds since 1970, is ahead of this one. The kernel stamps
    /// frames by that clock, which may be set: ask before each use.
    pub fn ahead(&self) -> u64 {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall = wall.map_or(0, |since| since.as_nanos() as u64);
        wall.saturating_sub(self.now())
    }

    /// Nanoseconds since 1970 at `now`, for capture files.
    pub fn wall(&self, now: u64) -> u64 {
        self.wall + now
    }
}
