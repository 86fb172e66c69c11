// SPDX-License-Identifier: Apache-2.0
//! When data is acknowledged: delayed (RFC 1122 4.2.3.2, RFC 5681 4.2), or at
//! once while the other end is in slow start.

use crate::config::Config;

/// Duplicate ACKs that are sent at once: as many as fast retransmit waits for
/// (RFC 5681 3.2).
const DUP_THRESH: u32 = 3;
/// The most segments out of order that wait for one ACK.
const MAX_COMPRESSED: u32 = 44;
/// An ACK with SACK blocks waits for at most this part of a round trip.
const COMPRESSED_PART: u64 = 20;

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
    /// Data that the sender pushes is acknowledged as soon as it is read.
    pushed_at_once: bool,
    /// The window grows with this data, so its ACK is none of the quick ones.
    grows: bool,
    /// How long an ACK may wait that only adds to the SACK blocks.
    sack_delay: u64,
    /// Segments out of order that came while this was RCV.NXT.
    nxt: u64,
    out_of_order: u32,
    /// Such that wait for an ACK.
    compressed: u32,
    /// Data waits for an ACK.
    scheduled: bool,
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
            pushed_at_once: config.ack_pushed,
            grows: false,
            sack_delay: config.sack_delay,
            nxt: 0,
            out_of_order: 0,
            compressed: 0,
            scheduled: false,
        }
    }

    /// Data arrives in order, and fills no hole. `rto`: after a pause as long
    /// as that the other end starts slowly again.
    /// `grows`: so does the window, which is told at once.
    pub(crate) fn on_data(&mut self, now: u64, length: u64, rto: u64, grows: bool) {
        if self
            .last_data
            .is_some_and(|last| now.saturating_sub(last) > rto)
        {
            self.quick = self.quick_at_first;
        }
        self.last_data = Some(now);
        self.full = self.full.max(length);
        self.bytes = self.bytes.saturating_add(length);
        self.grows |= grows;
        self.scheduled = true;
        let quick = self.is_quick();
        // RFC 5681 4.2: at least for every second full segment.
        if quick || self.bytes > u64::from(self.every - 1) * self.full {
            self.now = true;
        } else if self.due.is_none() {
            self.due = Some(now.saturating_add(self.delay));
        }
    }

    /// Data arrives out of order, or in order while there are more holes, and
    /// `nxt` is RCV.NXT then. RFC 5681 4.2 wants an ACK at once. Linux lets
    /// those behind the third wait a little, as its traces show
    /// (tests/linux/traces/lost-retransmission-reno.txt).
    pub(crate) fn on_hole(&mut self, now: u64, nxt: u64, grows: bool, rtt: u64) {
        self.scheduled = true;
        self.grows |= grows;
        if self.nxt != nxt {
            self.nxt = nxt;
            self.out_of_order = 0;
        }
        self.out_of_order = self.out_of_order.saturating_add(1);
        let delay = self.sack_delay.min(rtt / COMPRESSED_PART);
        let few = self.out_of_order <= DUP_THRESH;
        self.compressed += 1;
        if few || delay == 0 || self.is_quick() || self.compressed >= MAX_COMPRESSED {
            self.now = true;
        } else {
            let at = now.saturating_add(delay);
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
    }

    /// Data arrives that was there: the other end is recovering.
    pub(crate) fn on_duplicate(&mut self) {
        self.quick = self.quick.max(self.quick_at_first);
        self.now = true;
    }

    fn is_quick(&self) -> bool {
        (self.quick > 0 || self.grows) && !self.interactive
    }

    /// The application has read everything up to a segment with PSH.
    pub(crate) fn on_push(&mut self) {
        if self.pushed_at_once && !self.interactive && self.bytes > 0 {
            self.now = true;
        }
    }

    /// RFC 5681 4.2: out of order, filling a hole, or not to be accepted.
    pub(crate) fn at_once(&mut self) {
        self.now = true;
    }

    /// A segment with an ACK goes out, with data or without.
    pub(crate) fn sent(&mut self, now: u64, with_data: bool) {
        if std::mem::take(&mut self.scheduled) && !self.grows {
            self.quick = self.quick.saturating_sub(1);
        }
        self.grows = false;
        self.compressed = 0;
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
        acks.on_data(0, 1000, MS, false);
        assert!(!acks.wanted());
        assert_eq!(acks.due(), Some(40 * MS));
        acks.on_data(MS, 1000, MS, false);
        assert!(acks.wanted());
        acks.sent(MS, false);
        acks.on_data(2 * MS, 1000, MS, false);
        acks.on_timer(41 * MS);
        assert!(!acks.wanted());
        acks.on_timer(42 * MS);
        assert!(acks.wanted());
    }

    /// Data with PSH is acknowledged once it is read, in the profile `linux`.
    #[test]
    fn pushed_data() {
        for ack_pushed in [true, false] {
            let mut acks = DelayedAck::new(&Config {
                quick_acks: 0,
                ack_pushed,
                ..Config::linux()
            });
            acks.on_data(0, 1000, MS, false);
            acks.on_push();
            assert_eq!(acks.wanted(), ack_pushed);
        }
    }

    /// The first three ACKs for a hole go at once, the next ones together.
    #[test]
    fn duplicates_are_compressed() {
        let mut acks = delayed(0, 2);
        for _ in 0..3 {
            acks.on_hole(0, 7, false, 100 * MS);
            assert!(acks.wanted());
            acks.sent(0, false);
        }
        for _ in 0..5 {
            acks.on_hole(0, 7, false, 100 * MS);
        }
        assert!(!acks.wanted());
        assert_eq!(acks.due(), Some(MS));
        for _ in 5..44 {
            acks.on_hole(0, 7, false, 100 * MS);
        }
        assert!(acks.wanted());
        acks.sent(0, false);
        // A twentieth of a short round trip.
        acks.on_hole(0, 7, false, 10 * MS);
        assert_eq!(acks.due(), Some(MS / 2));
        // RFC 5681 4.2: at once for the next hole.
        acks.on_hole(0, 8, false, 100 * MS);
        assert!(acks.wanted());
    }

    #[test]
    fn an_ack_per_segment() {
        let mut acks = delayed(0, 1);
        acks.on_data(0, 1000, MS, false);
        assert!(acks.wanted());
    }

    /// RFC 5681 4.2 allows ACKs without delay; the first ones are.
    #[test]
    fn quick_at_first_and_after_a_pause() {
        let mut acks = delayed(2, 2);
        for quick in [true, true, false] {
            acks.on_data(0, 1000, 200 * MS, false);
            assert_eq!(acks.wanted(), quick);
            acks.sent(0, false);
        }
        acks.on_data(300 * MS, 1000, 200 * MS, false);
        assert!(acks.wanted());
    }

    /// RFC 1122 4.2.3.2: the delay is there for the answer to carry the ACK.
    #[test]
    fn answers_carry_acks() {
        let mut acks = delayed(16, 2);
        acks.on_data(0, 100, MS, false);
        acks.sent(MS, true);
        acks.on_data(20 * MS, 50, 200 * MS, false);
        assert!(!acks.wanted());
        acks.sent(21 * MS, true);
        assert_eq!(acks.due(), None);
    }
}
