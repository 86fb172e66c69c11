// SPDX-License-Identifier: Apache-2.0
//! CoDel in RFC 8289's own words, section 5.4 to 5.7. Times in microseconds.

use super::modem::MAX_PACKET;

/// 1 / sqrt(count) in Q1.31, rounded down.
pub fn inverse(count: u128) -> u128 {
    ((1u128 << 124) / (count << 62)).isqrt()
}

/// The packet that dodequeue() takes, and what it then knows.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub packet: u32,
    pub now: u64,
    pub sojourn: u64,
    /// Bytes that stay behind.
    pub bytes: usize,
}

/// The RFC's `codel_queue_t`.
#[derive(Debug, Default)]
pub struct Codel {
    pub target: u64,
    pub interval: u64,
    now: u64,
    first_above_time: u64,
    drop_next: u64,
    pub count: u64,
    lastcount: u64,
    dropping: bool,
    pub dropped: Vec<u32>,
}

impl Codel {
    pub fn new(target: u64, interval: u64) -> Self {
        Self {
            target,
            interval,
            ..Self::default()
        }
    }

    fn control_law(&self, t: u64) -> u64 {
        let count = u128::from(self.count);
        t + ((u128::from(self.interval) * inverse(count)) >> 31) as u64
    }

    fn dodequeue(&mut self, next: &mut impl FnMut() -> Option<Head>) -> (Option<u32>, bool) {
        let Some(head) = next() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.now = head.now;
        let mut ok_to_drop = false;
        if head.sojourn < self.target || head.bytes <= MAX_PACKET {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = head.now + self.interval;
        } else if head.now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(head.packet), ok_to_drop)
    }

    /// The packet that is sent; `dropped` has those in front of it. `next` takes the
    /// next packet: of a queue all have the same time, at the tail each its own.
    pub fn deque(&mut self, mut next: impl FnMut() -> Option<Head>) -> Option<u32> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(&mut next);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.now >= self.drop_next && self.dropping {
                self.dropped.extend(packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(&mut next);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let now = self.now;
            self.dropped.extend(packet);
            (packet, _) = self.dodequeue(&mut next);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * self.interval {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        packet
    }
}
