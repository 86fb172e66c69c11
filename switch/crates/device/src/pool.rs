// SPDX-License-Identifier: Apache-2.0
//! Packets and buffers for reuse, so that none is allocated on a packet's way.

/// What is kept whatever has been in use.
const LEAST: usize = 4096;
/// A period, ns. What was in use in this one or in the one before is kept for reuse.
const PERIOD: u64 = 10_000_000_000;
/// How many go at a time of those that are not to be kept: they take no longer than a packet.
const AT_ONCE: usize = 16;

/// What nobody uses now and somebody will again. As many are kept as have been in use at
/// a time, that is to say as queues, delay lines or links have held in this period or in the one
/// before, and [`LEAST`].
#[derive(Debug, Default)]
pub struct Pool<T> {
    free: Vec<T>,
    used: usize,
    /// Most of `used` in this period.
    most: usize,
    /// Most of `used` in the period before.
    before: usize,
    /// When this period is over.
    period_ends: u64,
}

impl<T: Default> Pool<T> {
    /// One of them, with whatever was in it.
    pub fn take(&mut self) -> T {
        self.used += 1;
        self.most = self.most.max(self.used);
        self.free.pop().unwrap_or_default()
    }

    /// Keeps what nobody uses any more, or hands it back: it is not to be kept.
    pub fn give(&mut self, item: T) -> Option<T> {
        self.used = self.used.saturating_sub(1);
        if self.free.len() < self.kept() {
            self.free.push(item);
            return None;
        }
        Some(item)
    }

    /// How many are kept for reuse.
    fn kept(&self) -> usize {
        self.most.max(self.before).max(LEAST)
    }

    /// How many nobody uses.
    #[cfg(test)]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Drops a few of those that were in use neither in this period nor in the one before: a flood
    /// must not keep its memory. `now` is the time of the caller's clock, ns.
    pub fn tidy_up(&mut self, now: u64) {
        if now >= self.period_ends {
            self.period_ends = now + PERIOD;
            self.before = std::mem::replace(&mut self.most, self.used);
        }
        let surplus = self.free.len().saturating_sub(self.kept());
        self.free.truncate(self.free.len() - surplus.min(AT_ONCE));
    }

    /// How many are in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// What has been in use so far says nothing about what will be.
    pub fn forget_most(&mut self) {
        self.most = self.used;
        self.before = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pool: &mut Pool<Vec<u8>>, used: impl IntoIterator<Item = Vec<u8>>) -> usize {
        let given = used.into_iter().map(|item| pool.give(item));
        given.filter(Option::is_none).count()
    }

    #[test]
    fn as_many_are_kept_as_have_been_in_use() {
        let mut pool = Pool::default();
        let used: Vec<_> = (0..LEAST + 34).map(|_| pool.take()).collect();
        assert_eq!(kept(&mut pool, used), LEAST + 34);
        // Shorter queues: what is above goes when it comes back.
        let used: Vec<_> = (0..LEAST + 34).map(|_| pool.take()).collect();
        pool.used = 10;
        pool.forget_most();
        assert_eq!(kept(&mut pool, used), LEAST);
    }

    #[test]
    fn a_flood_is_forgotten_two_periods_later_and_bit_by_bit() {
        const FLOOD: usize = LEAST + 10 * AT_ONCE;
        let mut pool = Pool::default();
        pool.tidy_up(0);
        let used: Vec<Vec<u8>> = (0..FLOOD).map(|_| pool.take()).collect();
        assert_eq!(kept(&mut pool, used), FLOOD);
        for now in [PERIOD - 1, PERIOD, 2 * PERIOD - 1] {
            pool.tidy_up(now);
            assert_eq!(
                pool.free(),
                FLOOD,
                "it was in this period or in the one before"
            );
        }
        pool.tidy_up(2 * PERIOD);
        assert_eq!(pool.free(), FLOOD - AT_ONCE);
        for _ in 0..20 {
            pool.tidy_up(2 * PERIOD);
        }
        assert_eq!(pool.free(), LEAST);
    }

    #[test]
    fn what_is_in_use_all_the_time_is_kept() {
        let mut pool = Pool::default();
        let used: Vec<Vec<u8>> = (0..LEAST + 34).map(|_| pool.take()).collect();
        for now in [0, PERIOD, 2 * PERIOD] {
            pool.tidy_up(now);
        }
        assert_eq!(kept(&mut pool, used), LEAST + 34);
        pool.tidy_up(2 * PERIOD);
        assert_eq!(pool.free(), LEAST + 34);
    }
}
