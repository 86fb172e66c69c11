// SPDX-License-Identifier: Apache-2.0
//! When data is acknowledged: delayed (RFC 1122 4.2.3.2, RFC 5681 4.2), or at
//! once while the other end is in slow start.

use crate::config::Config;

#[derive(Clone, Debug)]
pub(crate) struct DelayedAck {
    every: u32,
    delay: u64,
    /// ACKs at the beginning that are not delayed.
    quick: u32,
    quick_at_first: u32,
    /// Bytes that are not acknowledged.
    bytes: u64,
    /// The largest segment seen: what counts as full.
    full: u64,
    now: bool,
    due: Option<u64>,
    last_data: Option<u64>,
    /// The application answers: ACKs go with its data.
    interactive: bool,
}

impl DelayedAck {
    pub(crate) fn new(config: &Config) -> DelayedAck {
        DelayedAck {
            every: config.ack_every,
            delay: config.delayed_ack,
            quick: config.quick_acks,
            quick_at_first: config.quick_acks,
            bytes: 0,
            full: 0,
            now: false,
            due: None,
            last_data: None,
            interactive: false,
        }
    }

    /// Data arrives in order, and fills no hole. `rto`: after a pause as long
    /// as that the other end starts slowly again.
    pub(crate) fn on_data(&mut self, now: u64, length: u64, rto: u64) {
        if self
            .last_data
            .is_some_and(|last| now.saturating_sub(last) > rto)
        {
            self.quick = self.quick_at_first;
        }
        self.last_data = Some(now);
        self.full = self.full.max(length);
        self.bytes = self.bytes.saturating_add(length);
        let quick = self.quick > 0 && !self.interactive;
        // RFC 5681 4.2: at least for every second full segment.
        if quick || self.bytes > u64::from(self.every - 1) * self.full {
            self.now = true;
        } else if self.due.is_none() {
            self.due = Some(now.saturating_add(self.delay));
        }
    }

    /// RFC 5681 4.2: out of order, filling a hole, or not to be accepted.
    pub(crate) fn at_once(&mut self) {
        self.now = true;
    }

    /// A segment with an ACK goes out, with data or without.
    pub(crate) fn sent(&mut self, now: u64, with_data: bool) {
        if self.bytes > 0 {
            self.quick = self.quick.saturating_sub(1);
        }
        if with_data {
            self.interactive = self
                .last_data
                .is_some_and(|last| now.saturating_sub(last) < self.delay);
        }
        self.now = false;
        self.due = None;
        self.bytes = 0;
    }

    /// The timer.
    pub(crate) fn on_timer(&mut self, now: u64) {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.now = true;
            // The application did not answer in time.
            self.interactive = false;
        }
    }

    pub(crate) fn due(&self) -> Option<u64> {
        self.due
    }

    pub(crate) fn wanted(&self) -> bool {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn delayed(quick_acks: u32, ack_every: u32) -> DelayedAck {
        DelayedAck::new(&Config {
            quick_acks,
            ack_every,
            ..Config::linux()
        })
    }

    /// RFC 5681 4.2: an ACK for every second full segment, or after the delay.
    #[test]
    fn every_second_segment() {
        let mut acks = delayed(0, 2);
        acks.on_data(0, 1000, MS);
        assert!(!acks.wanted());
        assert_eq!(acks.due(), Some(40 * MS));
        acks.on_data(MS, 1000, MS);
        assert!(acks.wanted());
        acks.sent(MS, false);
        acks.on_data(2 * MS, 1000, MS);
        acks.on_timer(41 * MS);
        assert!(!acks.wanted());
        acks.on_timer(42 * MS);
        assert!(acks.wanted());
    }

    #[test]
    fn an_ack_per_segment() {
        let mut acks = delayed(0, 1);
        acks.on_data(0, 1000, MS);
        assert!(acks.wanted());
    }

    /// RFC 5681 4.2 allows ACKs without delay; the first ones are.
    #[test]
    fn quick_at_first_and_after_a_pause() {
        let mut acks = delayed(2, 2);
        for quick in [true, true, false] {
            acks.on_data(0, 1000, 200 * MS);
            assert_eq!(acks.wanted(), quick);
            acks.sent(0, false);
        }
        acks.on_data(300 * MS, 1000, 200 * MS);
        assert!(acks.wanted());
    }

    /// RFC 1122 4.2.3.2: the delay is there for the answer to carry the ACK.
    #[test]
    fn answers_carry_acks() {
        let mut acks = delayed(16, 2);
        acks.on_data(0, 100, MS);
        acks.sent(MS, true);
        acks.on_data(20 * MS, 50, 200 * MS);
        assert!(!acks.wanted());
        acks.sent(21 * MS, true);
        assert_eq!(acks.due(), None);
    }
}
