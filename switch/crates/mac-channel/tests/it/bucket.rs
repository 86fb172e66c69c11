// SPDX-License-Identifier: Apache-2.0
//! A token bucket in integers.

/// Tokens of a byte.
const BYTE: u128 = 8_000_000_000;

/// Fills with `rate` bit/s up to `depth` bytes, and starts full.
pub struct Bucket {
    pub rate: u64,
    pub depth: u64,
    level: u128,
    at: u64,
}

impl Bucket {
    pub fn new(rate: u64, depth: u64) -> Self {
        Self {
            rate,
            depth,
            level: u128::from(depth) * BYTE,
            at: 0,
        }
    }

    fn level(&self, now: u64) -> u128 {
        let earned = u128::from(now - self.at) * u128::from(self.rate);
        (self.level + earned).min(u128::from(self.depth) * BYTE)
    }

    /// When it has so many bytes, if nothing is taken; never, for more than its depth.
    pub fn ready_at(&self, bytes: u64) -> u64 {
        let needed = u128::from(bytes) * BYTE;
        if bytes > self.depth {
            return u64::MAX;
        }
        let missing = needed.saturating_sub(self.level);
        self.at + missing.div_ceil(u128::from(self.rate)) as u64
    }

    pub fn take(&mut self, now: u64, bytes: u64) {
        self.level = self.level(now) - u128::from(bytes) * BYTE;
        self.at = now;
    }
}
