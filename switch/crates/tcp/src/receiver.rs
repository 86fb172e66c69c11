// SPDX-License-Identifier: Apache-2.0
//! The receiving half of a connection: reassembly, acknowledgments, window.

use crate::autotune::Autotune;
use crate::config::Config;
use crate::delayed_ack::DelayedAck;
use crate::reassembly::{Inserted, Reassembly};

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// RCV.NXT (RFC 9293 3.3.1).
    nxt: u64,
    /// The number of the FIN, once it is known.
    fin: Option<u64>,
    reassembly: Reassembly,
    /// Data that arrived twice, to be reported once (RFC 2883 4).
    duplicate: Option<(u64, u64)>,
    delivered: u64,
    unread: u64,
    reads_at_once: bool,
    /// The right edge of the window that was offered.
    edge: u64,
    /// The largest segment that the other end sends.
    mss: u64,
    window_in_steps: bool,
    pub(crate) acks: DelayedAck,
    pub(crate) tuning: Autotune,
    /// TS.Recent and Last.ACK.sent (RFC 7323 4.3).
    timestamp: Option<u32>,
    last_ack_sent: u64,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Receiver {
        Receiver {
            nxt: 0,
            fin: None,
            reassembly: Reassembly::default(),
            duplicate: None,
            delivered: 0,
            unread: 0,
            reads_at_once: config.reads_at_once,
            edge: 0,
            mss: u64::from(config.mss),
            window_in_steps: config.window_in_steps,
            acks: DelayedAck::new(config),
            tuning: Autotune::new(
                config.receive_buffer,
                config.receive_buffer_max,
                u64::from(config.mss),
            ),
            timestamp: None,
            last_ack_sent: 0,
        }
    }

    /// The SYN has come.
    pub(crate) fn synchronise(&mut self, timestamp: Option<u32>) {
        self.nxt = 1;
        self.edge = self.edge.max(1);
        self.timestamp = timestamp;
        self.last_ack_sent = 1;
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(crate) fn unread(&self) -> u64 {
        self.unread
    }

    /// The FIN and everything before it has arrived.
    pub(crate) fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// TS.Recent.
    pub(crate) fn timestamp(&self) -> Option<u32> {
        self.timestamp
    }

    /// RFC 9293 3.10.7.4, first check: whether a segment has anything in the
    /// window. One without data may be as old as the last ACK, and stand at
    /// the right edge: it still acknowledges.
    pub(crate) fn acceptable(&self, seq: u64, length: u64) -> bool {
        let window = self.edge.saturating_sub(self.nxt);
        match (length, window) {
            (0, _) => self.last_ack_sent <= seq && seq <= self.edge.max(self.nxt),
            (_, 0) => false,
            _ => seq < self.edge && seq.saturating_add(length) > self.nxt,
        }
    }

    /// RFC 7323 5.3, R1: an old duplicate by its timestamp (PAWS).
    pub(crate) fn is_old(&self, timestamp: Option<u32>) -> bool {
        match (self.timestamp, timestamp) {
            (Some(recent), Some(value)) => (value.wrapping_sub(recent) as i32) < 0,
            _ => false,
        }
    }

    /// RFC 7323 4.3 (2): the timestamp to echo is that of the segment which
    /// moves the left edge.
    pub(crate) fn note_timestamp(&mut self, seq: u64, timestamp: Option<u32>) {
        if seq <= self.last_ack_sent && timestamp.is_some() && !self.is_old(timestamp) {
            self.timestamp = timestamp;
        }
    }

    /// A segment asks to hand the data on, which the application takes at once.
    pub(crate) fn on_push(&mut self) {
        if self.unread == 0 {
            self.acks.on_push();
        }
    }

    /// Takes the data and the FIN of a segment in.
    pub(crate) fn on_data(&mut self, now: u64, seq: u64, length: u64, fin: bool, rto: u64) {
        let behind = seq.saturating_add(length);
        if behind <= self.nxt && !(fin && behind == self.nxt) {
            if length > 0 {
                self.duplicate = Some((seq, behind));
                self.acks.on_duplicate();
            } else {
                self.acks.at_once();
            }
            return;
        }
        // What is beyond the window, or behind the FIN, is not accepted.
        let last = self.fin.unwrap_or(u64::MAX).min(self.edge);
        let end = behind.min(last);
        if fin && behind == end && self.fin.is_none() && behind < self.edge.max(self.nxt + 1) {
            self.fin = Some(behind);
        }
        if end < seq || (end == seq && length > 0) {
            self.acks.at_once();
            return;
        }
        if seq > self.nxt {
            self.on_hole(now, seq, end);
            return;
        }
        if seq < self.nxt && length > 0 {
            self.duplicate = Some((seq, self.nxt));
        }
        self.advance(now, end, rto);
    }

    /// Data behind a hole, or a FIN.
    fn on_hole(&mut self, now: u64, seq: u64, end: u64) {
        if end == seq {
            self.acks.at_once();
            return;
        }
        match self.reassembly.insert(seq, end) {
            Inserted::New => {
                let grows = self.tuning.grow(end - seq);
                self.acks.on_hole(now, self.nxt, grows, self.tuning.rtt());
            }
            Inserted::Duplicate => {
                self.duplicate = Some((seq, end));
                self.acks.on_duplicate();
            }
            Inserted::Refused => self.acks.at_once(),
        }
    }

    fn advance(&mut self, now: u64, end: u64, rto: u64) {
        let before = self.nxt;
        let holes = !self.reassembly.is_empty();
        self.nxt = self.reassembly.advance(self.nxt.max(end));
        let arrived = self.nxt - before;
        self.delivered += arrived;
        if !self.reads_at_once {
            self.unread += arrived;
        }
        if self.fin == Some(self.nxt) {
            self.nxt += 1;
            self.acks.at_once();
        }
        if arrived > 0 {
            let length = arrived.min(end.saturating_sub(before));
            let grows = self.tuning.grow(length);
            self.acks.on_data(now, length, rto, grows);
            self.tuning.on_read(now, arrived);
        }
        if !self.reassembly.is_empty() {
            self.acks.on_hole(now, self.nxt, false, self.tuning.rtt());
        } else if holes {
            // RFC 5681 4.2: the last hole is filled.
            self.acks.at_once();
        }
    }

    /// The application reads up to `bytes`; says how many there were.
    pub(crate) fn read(&mut self, bytes: u64) -> u64 {
        let count = bytes.min(self.unread);
        self.unread -= count;
        // RFC 9293 3.8.6.2.2: a window that opens well is told.
        if count > 0 && self.wanted_edge().saturating_sub(self.edge) >= self.step() {
            self.acks.at_once();
        }
        count
    }

    fn step(&self) -> u64 {
        if self.window_in_steps {
            self.mss.min(self.tuning.window() / 2)
        } else {
            1
        }
    }

    fn wanted_edge(&self) -> u64 {
        self.nxt + self.tuning.window().saturating_sub(self.unread)
    }

    /// The window field for a segment that is sent now, in units of 2^`shift`.
    /// It never takes back what was offered (RFC 9293 3.8.6), and opens in
    /// steps of a segment (3.8.6.2.2).
    pub(crate) fn offer(&mut self, shift: u8) -> u16 {
        let wanted = self.wanted_edge();
        if wanted >= self.edge.saturating_add(self.step()) {
            self.edge = wanted;
        }
        let units = (self.edge.saturating_sub(self.nxt)).div_ceil(1 << shift);
        let field = units.min(u64::from(u16::MAX)) as u16;
        self.edge = self.edge.max(self.nxt + (u64::from(field) << shift));
        field
    }

    /// The SACK blocks to send, a DSACK first (RFC 2883 4); at most `room`.
    pub(crate) fn blocks(&self, room: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let duplicate = self.duplicate.iter();
        duplicate
            .chain(self.reassembly.blocks())
            .take(room)
            .copied()
    }

    /// A segment with an ACK goes out.
    pub(crate) fn ack_sent(&mut self, now: u64, with_data: bool) {
        self.acks.sent(now, with_data);
        self.duplicate = None;
        self.last_ack_sent = self.nxt;
    }

    /// True if there is something to report by SACK.
    pub(crate) fn has_blocks(&self) -> bool {
        self.duplicate.is_some() || !self.reassembly.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(config: Config) -> Receiver {
        let mut receiver = Receiver::new(&config);
        receiver.synchronise(Some(10));
        receiver.offer(0);
        receiver
    }

    fn blocks(receiver: &Receiver) -> Vec<(u64, u64)> {
        receiver.blocks(4).collect()
    }

    /// RFC 5681 4.2: data out of order, and data that fills a hole, is
    /// acknowledged at once.
    #[test]
    fn out_of_order() {
        let config = Config {
            quick_acks: 0,
            ..Config::linux()
        };
        let mut receiver = receiver(config);
        receiver.on_data(0, 1001, 1000, false, 1);
        assert!(receiver.acks.wanted());
        assert_eq!(blocks(&receiver), [(1001, 2001)]);
        receiver.ack_sent(0, false);
        receiver.on_data(0, 1, 1000, false, 1);
        assert!(receiver.acks.wanted());
        assert_eq!((receiver.nxt(), receiver.delivered()), (2001, 2000));
        assert!(!receiver.has_blocks());
    }

    /// RFC 2883 4: a segment that arrives twice is reported once, in the
    /// first block.
    #[test]
    fn duplicates_are_reported() {
        let mut receiver = receiver(Config::linux());
        receiver.on_data(0, 1, 1000, false, 1);
        receiver.on_data(0, 2001, 1000, false, 1);
        receiver.ack_sent(0, false);
        receiver.on_data(0, 1, 1000, false, 1);
        assert_eq!(blocks(&receiver), [(1, 1001), (2001, 3001)]);
        receiver.ack_sent(0, false);
        receiver.on_data(0, 2001, 500, false, 1);
        assert_eq!(blocks(&receiver), [(2001, 2501), (2001, 3001)]);
    }

    /// RFC 9293 3.10.7.4: what is beyond the window is not accepted.
    #[test]
    fn the_window_bounds() {
        let config = Config {
            receive_buffer: 4000,
            receive_buffer_max: 4000,
            reads_at_once: false,
            ..Config::linux()
        };
        let mut receiver = receiver(config);
        assert!(!receiver.acceptable(4001, 10));
        receiver.on_data(0, 1, 5000, false, 1);
        assert_eq!(receiver.delivered(), 4000);
        assert_eq!(receiver.offer(0), 0);
        assert!(receiver.acceptable(4001, 0) && !receiver.acceptable(4001, 1));
        // RFC 9293 3.8.6.2.2: not a few bytes at a time.
        receiver.ack_sent(0, false);
        assert_eq!(receiver.read(100), 100);
        assert!(!receiver.acks.wanted());
        assert_eq!(receiver.offer(0), 0);
        receiver.read(2000);
        assert!(receiver.acks.wanted());
        assert_eq!(receiver.offer(0), 2100);
    }

    /// RFC 9293 3.8.6: the right edge does not move back.
    #[test]
    fn the_window_does_not_shrink() {
        let mut receiver = receiver(Config::linux());
        let mut edge = 0;
        for _ in 0..50 {
            let nxt = receiver.nxt();
            receiver.on_data(0, nxt, 777, false, 1);
            let field = receiver.offer(7);
            let now = receiver.nxt() + (u64::from(field) << 7);
            assert!(now >= edge && receiver.edge == now.max(receiver.edge));
            edge = now;
        }
    }

    /// RFC 7323 5.3: an older timestamp is refused; 4.3: that of the segment
    /// at the left edge is echoed.
    #[test]
    fn timestamps() {
        let mut receiver = receiver(Config::linux());
        assert!(receiver.is_old(Some(9)) && !receiver.is_old(Some(10)));
        receiver.note_timestamp(1001, Some(20));
        assert_eq!(receiver.timestamp(), Some(10));
        receiver.note_timestamp(1, Some(15));
        assert_eq!(receiver.timestamp(), Some(15));
    }

    /// RFC 9293 3.4: a FIN has a number behind the data, and nothing follows.
    #[test]
    fn a_fin_out_of_order() {
        let mut receiver = receiver(Config::linux());
        receiver.on_data(0, 1001, 500, true, 1);
        assert!(!receiver.finished());
        receiver.on_data(0, 1, 1000, false, 1);
        assert!(receiver.finished());
        assert_eq!((receiver.nxt(), receiver.delivered()), (1502, 1500));
        receiver.on_data(0, 1502, 500, false, 1);
        assert_eq!(receiver.delivered(), 1500);
    }
}
