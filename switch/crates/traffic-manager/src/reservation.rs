// SPDX-License-Identifier: Apache-2.0
//! What a service flow may send within its Minimum Reserved Traffic Rate.

use crate::bucket::{TOKENS_PER_BYTE, time_to_earn};
use crate::limits::PEAK_BURST;

/// How many seconds of its rate a flow may save up while it waits for the port.
/// No flow waits longer than the port takes to send two frames of each flow that
/// has a reservation. So a flow loses some only on a port that cannot carry the
/// sum of the reserved rates.
const PATIENCE: u64 = 1;

/// What a flow saves up, in frames of [`PEAK_BURST`] or of the assumed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// One while it has nothing to send.
    Idle,
    /// Two while its own rates hold it back.
    Shaped,
}

/// Tokens at the minimum reserved rate, as exact as [`crate::bucket::Bucket`]'s.
/// A frame that costs more than all that may be saved up overdraws them, so that
/// every frame has its turn.
#[derive(Debug, Clone, Copy)]
pub struct Reservation {
    rate: u64,
    /// Bytes that a shorter frame counts for.
    assumed: u32,
    tokens: i128,
    updated: u64,
}

fn cost(bytes: u64) -> i128 {
    i128::from(bytes) * i128::from(TOKENS_PER_BYTE)
}

impl Reservation {
    /// A reservation with one frame saved up; `rate` in bit/s, not 0.
    pub fn new(now: u64, rate: u64, assumed: u32) -> Self {
        let mut new = Self {
            rate,
            assumed,
            tokens: 0,
            updated: now,
        };
        new.tokens = new.frame();
        new
    }

    /// The same at another rate, with what fits of its tokens.
    pub fn reconfigured(&self, now: u64, rate: u64, assumed: u32) -> Self {
        let mut new = Self {
            rate,
            assumed,
            tokens: self.tokens(now),
            updated: now,
        };
        new.tokens = new.tokens.min(new.depth());
        new
    }

    /// Tokens for the largest frame.
    fn frame(&self) -> i128 {
        cost(PEAK_BURST.max(self.assumed.into()))
    }

    /// Tokens that are kept at the most.
    fn depth(&self) -> i128 {
        cost(self.rate * PATIENCE / 8).max(2 * self.frame())
    }

    /// Tokens that a frame of `len` bytes spends.
    fn price(&self, len: u32) -> i128 {
        cost(len.max(self.assumed).into())
    }

    fn tokens(&self, now: u64) -> i128 {
        let passed = now.saturating_sub(self.updated);
        let earned = i128::from(passed) * i128::from(self.rate);
        (self.tokens + earned).min(self.depth())
    }

    /// Since when, or from when on, there are tokens for a frame of `len` bytes.
    pub fn covers_since(&self, len: u32) -> u64 {
        let missing = self.price(len).min(self.depth()) - self.tokens;
        match u128::try_from(missing) {
            Ok(missing) => {
                let wait = time_to_earn(missing, self.rate);
                self.updated.saturating_add(wait)
            }
            Err(_) => {
                let ago = missing.unsigned_abs() / u128::from(self.rate);
                let ago = u64::try_from(ago).unwrap_or(u64::MAX);
                self.updated.saturating_sub(ago)
            }
        }
    }

    /// The flow was idle, or held back, until `at`: it has not saved up more than that.
    pub fn resume(&mut self, at: u64, saved: Saved) {
        let most = match saved {
            Saved::Idle => self.frame(),
            Saved::Shaped => 2 * self.frame(),
        };
        self.tokens = self.tokens(at).min(most);
        self.updated = self.updated.max(at);
    }

    /// A frame of `len` bytes leaves within the reservation.
    pub fn spend(&mut self, now: u64, len: u32) {
        self.tokens = self.tokens(now) - self.price(len);
        self.updated = self.updated.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte a nanosecond.
    const FAST: u64 = 8_000_000_000;

    #[test]
    fn covers_to_the_nanosecond_and_tells_since_when() {
        let mut flow = Reservation::new(5, 3, 0);
        assert_eq!(flow.covers_since(1522), 5);
        flow.spend(5, 1522);
        // 100 bytes at 3 bit/s: 800/3 s and no nanosecond less.
        assert_eq!(flow.covers_since(100), 5 + 266_666_666_667);
        let mut flow = Reservation::new(0, FAST, 0);
        flow.spend(0, 1522);
        // At 5000 there are tokens for 5000 bytes: for 1000 since 1000, then since 2000.
        assert_eq!(flow.covers_since(1000), 1000);
        flow.spend(5000, 1000);
        assert_eq!(flow.covers_since(1000), 2000);
        assert_eq!(flow.covers_since(4500), 5500);
    }

    #[test]
    fn a_short_frame_counts_for_the_assumed_size() {
        let mut flow = Reservation::new(0, FAST, 2000);
        flow.spend(0, 60);
        assert_eq!(flow.covers_since(60), 2000);
        assert_eq!(flow.covers_since(3000), 3000);
    }

    #[test]
    fn saves_up_one_frame_idle_two_shaped_and_a_second_in_line() {
        let spent = {
            let mut flow = Reservation::new(0, FAST, 0);
            flow.spend(0, 1522);
            flow
        };
        let long = 10_000_000_000;
        let missing = |flow: Reservation, bytes| flow.covers_since(bytes).saturating_sub(long);
        let mut idle = spent;
        idle.resume(long, Saved::Idle);
        assert_eq!((missing(idle, 1522), missing(idle, 1523)), (0, 1));
        let mut shaped = spent;
        shaped.resume(long, Saved::Shaped);
        assert_eq!((missing(shaped, 3044), missing(shaped, 3045)), (0, 1));
        // Held back until then, and ready since.
        shaped = spent;
        shaped.resume(long - 100, Saved::Shaped);
        assert_eq!((missing(shaped, 3144), missing(shaped, 3145)), (0, 1));
        let mut in_line = spent;
        in_line.spend(long, 0);
        assert_eq!(in_line.tokens(long), cost(FAST / 8));
    }

    #[test]
    fn a_frame_longer_than_all_that_is_kept_overdraws() {
        // 8 bit/s keep two frames: 3044 bytes, in 1522 s more.
        let mut flow = Reservation::new(0, 8, 0);
        assert_eq!(flow.covers_since(9000), 1_522_000_000_000);
        assert_eq!(flow.covers_since(9000), flow.covers_since(3044));
        flow.spend(1_522_000_000_000, 9000);
        // 5956 bytes overdrawn.
        assert_eq!(flow.covers_since(44), 1_522_000_000_000 + 6_000_000_000_000);
    }

    #[test]
    fn another_rate_keeps_what_fits() {
        let mut flow = Reservation::new(0, FAST, 0);
        flow.spend(0, 1522);
        let slow = flow.reconfigured(10_000, 8_000_000, 0);
        assert_eq!(slow.tokens(10_000), cost(10_000));
        assert_eq!(slow.reconfigured(10_000, 8, 0).tokens(10_000), cost(3044));
    }

    #[test]
    fn the_highest_rate_and_the_longest_time_do_not_overflow() {
        let mut flow = Reservation::new(0, crate::limits::MAX_RATE, 0);
        flow.spend(u64::MAX, u32::MAX);
        assert!(flow.covers_since(u32::MAX) > 0);
        let mut flow = Reservation::new(0, 1, 0);
        flow.spend(0, u32::MAX);
        flow.spend(0, u32::MAX);
        assert_eq!(flow.covers_since(u32::MAX), u64::MAX);
    }
}
