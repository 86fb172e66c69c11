// SPDX-License-Identifier: Apache-2.0
//! Packets and buffers for reuse, so that none is allocated on a packet's way.

/// What is kept whatever has been in use.
const LEAST: usize = 4096;

/// What nobody uses now and somebody will again. As many are kept as have been in use at
/// a time, that is to say as queues, delay lines or links have held, and [`LEAST`].
#[derive(Debug, Default)]
pub struct Pool<T> {
    free: Vec<T>,
    used: usize,
    /// Most of `used`.
    most: usize,
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
        if self.free.len() < self.most.max(LEAST) {
            self.free.push(item);
            return None;
        }
        Some(item)
    }

    /// How many are in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// What has been in use so far says nothing about what will be.
    pub fn forget_most(&mut self) {
        self.most = self.used;
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
}
