// SPDX-License-Identifier: Apache-2.0
//! The process's clock.

use crate::port::Time;
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
}

impl Time for Clock {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// The kernel stamps frames by the wall clock, nanoseconds since 1970.
    fn ahead(&self) -> u64 {
        let wall = || {
            let wall = SystemTime::now().duration_since(UNIX_EPOCH);
            wall.map_or(0, |since| since.as_nanos() as u64)
        };
        ahead(|| self.now(), wall)
    }

    fn wall(&self, now: u64) -> u64 {
        self.wall + now
    }
}

/// Time between two looks at a clock that says that the thread did not run in between, ns.
const INTERRUPTED: u64 = 5_000;
/// Times that two clocks are looked at together.
const LOOKS: usize = 4;

/// How far one clock is ahead of another. Each look at it is between two at the other, and the
/// closest counts: where the thread has to wait for a processor between them, what they say is
/// not of one moment.
fn ahead(now: impl Fn() -> u64, other: impl Fn() -> u64) -> u64 {
    let (mut closest, mut found) = (u64::MAX, 0);
    for _ in 0..LOOKS {
        let (before, told, after) = (now(), other(), now());
        let apart = after.saturating_sub(before);
        if apart < closest {
            (closest, found) = (apart, told.saturating_sub(before + apart / 2));
        }
        if apart < INTERRUPTED {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_thread_that_waits_between_two_clocks_looks_again() {
        for waits_at in 0..9 {
            let (time, looks) = (Cell::new(1_000_000_000), Cell::new(0));
            let look = || {
                // 3 ms for a processor in front of one look.
                let waits = looks.replace(looks.get() + 1) == waits_at;
                time.set(time.get() + if waits { 3_000_000 } else { 50 });
                time.get()
            };
            let found = ahead(look, || look() + 77_000_000);
            assert_eq!(found, 77_000_000, "{waits_at}");
        }
    }
}
