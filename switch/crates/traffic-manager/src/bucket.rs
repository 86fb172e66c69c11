// SPDX-License-Identifier: Apache-2.0
//! Token buckets in exact integer arithmetic.
//!
//! A token is 1/8,000,000,000 byte: one bit/s earns one every nanosecond, so
//! nothing is ever rounded.

/// Tokens that a byte costs.
pub const TOKENS_PER_BYTE: u64 = 8_000_000_000;

/// Tokens for `bytes`.
#[inline]
fn cost(bytes: u64) -> u128 {
    u128::from(bytes) * u128::from(TOKENS_PER_BYTE)
}

/// Nanoseconds, rounded up, until `missing` tokens have come at `rate`.
#[inline]
pub(crate) fn time_to_earn(missing: u128, rate: u64) -> u64 {
    // 64-bit division where it fits: 2^64 tokens are 2.3 GB.
    match u64::try_from(missing) {
        Ok(missing) => missing.div_ceil(rate),
        Err(_) => u64::try_from(missing.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
    }
}

/// For all t1 < t2: bytes spent <= (t2 - t1) * rate / 8 + depth.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    rate: u64,
    depth: u128,
    tokens: u128,
    updated: u64,
}

impl Bucket {
    /// A bucket of `depth` bytes with `bytes` in it; `rate` in bit/s, 0 is no limit.
    #[must_use]
    pub fn new(now: u64, rate: u64, depth: u64, bytes: u64) -> Self {
        Self {
            rate,
            depth: cost(depth),
            tokens: cost(bytes).min(cost(depth)),
            updated: now,
        }
    }

    /// Tokens at `now`, which is not before the last call's.
    #[inline]
    #[must_use]
    pub fn tokens(&self, now: u64) -> u128 {
        if self.rate == 0 {
            return self.depth;
        }
        let earned = u128::from(now - self.updated) * u128::from(self.rate);
        (self.tokens + earned).min(self.depth)
    }

    /// The same bucket with another rate and depth; it keeps what fits of its tokens.
    #[must_use]
    pub fn reconfigured(&self, now: u64, rate: u64, depth: u64) -> Self {
        let depth = cost(depth);
        Self {
            rate,
            depth,
            tokens: self.tokens(now).min(depth),
            updated: now,
        }
    }

    /// When `bytes` may go: a time not after the last spending's is "at once",
    /// `None` is never.
    #[inline]
    #[must_use]
    pub fn ready_at(&self, bytes: u64) -> Option<u64> {
        if self.rate == 0 {
            return Some(0);
        }
        let need = cost(bytes);
        if need <= self.tokens {
            Some(self.updated)
        } else if need > self.depth {
            None
        } else {
            let wait = time_to_earn(need - self.tokens, self.rate);
            Some(self.updated.saturating_add(wait))
        }
    }

    /// Whether there will ever be tokens for `bytes`: [`Bucket::ready_at`] says the same with
    /// a division.
    #[inline]
    #[must_use]
    pub fn may_hold(&self, bytes: u64) -> bool {
        self.rate == 0 || cost(bytes) <= self.depth
    }

    /// Whether tokens for `bytes` take longer than `ns` to come.
    #[inline]
    #[must_use]
    pub fn earns_slower_than(&self, bytes: u64, ns: u64) -> bool {
        self.rate != 0 && cost(bytes) > u128::from(self.rate) * u128::from(ns)
    }

    /// What is left of the tokens at `now` when `bytes` are spent; `None` when they are not
    /// enough. [`Bucket::ready_at`] says the same with a division.
    #[inline]
    #[must_use]
    pub fn left(&self, now: u64, bytes: u64) -> Option<u128> {
        if self.rate == 0 {
            return Some(self.tokens);
        }
        self.tokens(now).checked_sub(cost(bytes))
    }

    /// Takes what [`Bucket::left`] says.
    #[inline]
    pub fn leave(&mut self, now: u64, left: u128) {
        self.tokens = left;
        self.updated = now;
    }

    /// Puts back what was spent, as far as there is room for it.
    pub(crate) fn give_back(&mut self, now: u64, bytes: u64) {
        if self.rate != 0 {
            self.tokens = (self.tokens(now) + cost(bytes)).min(self.depth);
            self.updated = now;
        }
    }

    /// Spends `bytes` that [`Bucket::ready_at`] allows at `now`.
    #[cfg(test)]
    fn spend(&mut self, now: u64, bytes: u64) {
        let left = self.left(now, bytes).expect("tokens");
        self.leave(now, left);
    }
}

/// A service flow's two buckets, which both have to allow what it sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buckets {
    pub(crate) sustained: Bucket,
    pub(crate) peak: Bucket,
}

impl Buckets {
    /// When `bytes` may go; `None` is never.
    #[inline]
    pub(crate) fn ready_at(&self, bytes: u32) -> Option<u64> {
        let bytes = u64::from(bytes);
        Some(
            self.sustained
                .ready_at(bytes)?
                .max(self.peak.ready_at(bytes)?),
        )
    }

    /// Whether there will ever be tokens for `bytes` in both.
    #[inline]
    pub(crate) fn may_hold(&self, bytes: u64) -> bool {
        self.sustained.may_hold(bytes) && self.peak.may_hold(bytes)
    }

    /// Spends the tokens for `bytes`, if there are as many in both buckets.
    #[inline]
    pub(crate) fn spend(&mut self, now: u64, bytes: u32) -> bool {
        let bytes = u64::from(bytes);
        let left = (self.sustained.left(now, bytes), self.peak.left(now, bytes));
        let (Some(sustained), Some(peak)) = left else {
            return false;
        };
        self.sustained.leave(now, sustained);
        self.peak.leave(now, peak);
        true
    }

    /// Puts back what was spent, as far as there is room for it.
    pub(crate) fn give_back(&mut self, now: u64, bytes: u64) {
        self.sustained.give_back(now, bytes);
        self.peak.give_back(now, bytes);
    }

    /// Whether tokens for a frame of `len` bytes, for which it waits at `now`, take longer than
    /// `ns` to come.
    #[inline]
    pub(crate) fn earn_slower_than(&self, now: u64, len: u32, ns: u64) -> bool {
        let bytes = u64::from(len);
        let waits = self.sustained.ready_at(bytes).is_none_or(|at| at > now);
        let bucket = if waits { &self.sustained } else { &self.peak };
        bucket.earns_slower_than(bytes, ns)
    }
}

/// The rate of a port: a bucket that a frame longer than it is deep overdraws, so
/// that every frame passes.
///
/// For all t1 < t2: bytes sent <= (t2 - t1) * rate / 8 + max(depth, longest frame).
#[derive(Debug, Clone, Copy)]
pub struct PortBucket {
    rate: u64,
    depth: i128,
    tokens: i128,
    updated: u64,
}

impl PortBucket {
    /// A full bucket of `depth` bytes; `rate` in bit/s, 0 is no limit.
    #[must_use]
    pub fn new(now: u64, rate: u64, depth: u64) -> Self {
        let depth = cost(depth) as i128;
        Self {
            rate,
            depth,
            tokens: depth,
            updated: now,
        }
    }

    #[inline]
    fn tokens(&self, now: u64) -> i128 {
        let earned = i128::from(now - self.updated) * i128::from(self.rate);
        (self.tokens + earned).min(self.depth)
    }

    /// The same bucket with another rate and depth; it keeps what fits of its tokens.
    #[must_use]
    pub fn reconfigured(&self, now: u64, rate: u64, depth: u64) -> Self {
        let depth = cost(depth) as i128;
        Self {
            rate,
            depth,
            tokens: self.tokens(now).min(depth),
            updated: now,
        }
    }

    /// Whether any frame may start at any time.
    #[inline]
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.rate == 0
    }

    /// When a frame of `bytes` may start.
    #[inline]
    #[must_use]
    pub fn ready_at(&self, bytes: u64) -> u64 {
        if self.rate == 0 {
            return 0;
        }
        let missing = (cost(bytes) as i128).min(self.depth) - self.tokens;
        match u128::try_from(missing) {
            Ok(missing) => self
                .updated
                .saturating_add(time_to_earn(missing, self.rate)),
            Err(_) => self.updated,
        }
    }

    /// Spends `bytes`.
    #[inline]
    pub fn spend(&mut self, now: u64, bytes: u64) {
        if self.rate != 0 {
            self.tokens = self.tokens(now) - cost(bytes) as i128;
            self.updated = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_to_the_nanosecond() {
        // 3 bit/s: 100 bytes take 800/3 s, and no nanosecond less.
        let mut bucket = Bucket::new(7, 3, 1522, 100);
        assert_eq!(bucket.ready_at(100), Some(7));
        bucket.spend(7, 100);
        let at = bucket.ready_at(100).unwrap();
        assert_eq!(at, 7 + 266_666_666_667);
        assert!(bucket.tokens(at - 1) < cost(100) && bucket.tokens(at) >= cost(100));
    }

    #[test]
    fn tells_a_pace_that_matters() {
        let bucket = Bucket::new(0, 8_000_000_000, 1522, 0); // a byte a nanosecond
        assert!(!bucket.earns_slower_than(1000, 1000));
        assert!(bucket.earns_slower_than(1001, 1000));
        assert!(!Bucket::new(0, 0, 1522, 0).earns_slower_than(1_000_000, 0));
    }

    #[test]
    fn longer_than_deep_is_never() {
        let bucket = Bucket::new(0, 1000, 1522, 1522);
        assert_eq!(bucket.ready_at(1522), Some(0));
        assert_eq!(bucket.ready_at(1523), None);
        assert!(bucket.may_hold(1522) && !bucket.may_hold(1523));
        assert!(Bucket::new(0, 0, 1522, 0).may_hold(1523));
    }

    #[test]
    fn a_reconfigured_bucket_keeps_what_fits() {
        let bucket = Bucket::new(0, 8, 10_000, 5_000);
        assert_eq!(bucket.reconfigured(0, 8, 20_000).tokens(0), cost(5_000));
        assert_eq!(bucket.reconfigured(0, 8, 2_000).tokens(0), cost(2_000));
    }

    #[test]
    fn the_largest_burst_and_the_longest_wait_do_not_overflow() {
        let bucket = Bucket::new(0, 1, crate::limits::MAX_BURST, 0);
        assert!(bucket.ready_at(crate::limits::MAX_BURST).unwrap() > u64::from(u32::MAX) * 8);
        assert_eq!(
            Bucket::new(0, crate::limits::MAX_RATE, crate::limits::MAX_BURST, 0).tokens(u64::MAX),
            cost(crate::limits::MAX_BURST)
        );
    }

    #[test]
    fn a_port_lets_a_jumbo_frame_pass_and_makes_the_next_wait() {
        let mut port = PortBucket::new(0, 8_000_000_000, 1522); // a byte a nanosecond
        assert_eq!(port.ready_at(9000), 0);
        port.spend(0, 9000);
        assert_eq!(port.ready_at(1000), 9000 - 1522 + 1000);
    }
}
