// SPDX-License-Identifier: Apache-2.0
//! A segment arrives (RFC 9293 3.10.7).

use super::{Connection, Ended, MAX_SHIFT, State};
use crate::config::MIN_MSS;
use crate::segment::{Flags, MAX_SACK_BLOCKS, Segment};
use crate::sender::{Ack, Agreed};
use crate::sequence::absolute;

/// The segment size when the other end announces none (RFC 9293 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// What timestamps take of a segment (RFC 7323 appendix A).
const TIMESTAMPS_LENGTH: u32 = 12;

impl Connection {
    /// A segment arrives. Then ask for [`Connection::next_segment`] until
    /// there is none.
    pub fn on_segment(&mut self, now: u64, segment: &Segment) {
        if !self.is_mine(segment) {
            return;
        }
        match self.state {
            State::Closed => {}
            State::Listen => self.on_listen(now, segment),
            State::SynSent => self.on_syn_sent(now, segment),
            _ => self.on_synchronised(now, segment),
        }
    }

    /// RFC 9293 3.10.7.2.
    fn on_listen(&mut self, now: u64, segment: &Segment) {
        let flags = segment.flags;
        if !flags.has(Flags::SYN) || flags.has(Flags::RST) || flags.has(Flags::ACK) {
            return;
        }
        self.peer_port = segment.source_port;
        self.learn(segment);
        self.state = State::SynReceived;
        self.syn_sent_at = now;
        self.syn_wanted = true;
    }

    /// RFC 9293 3.10.7.3.
    fn on_syn_sent(&mut self, now: u64, segment: &Segment) {
        let flags = segment.flags;
        let acknowledged = flags.has(Flags::ACK);
        if acknowledged && absolute(1, self.iss, segment.ack) != Some(1) {
            return;
        }
        if flags.has(Flags::RST) {
            if acknowledged {
                self.end(Ended::Reset);
            }
            return;
        }
        if !flags.has(Flags::SYN) {
            return;
        }
        self.learn(segment);
        if acknowledged {
            self.establish(now, 1, u64::from(segment.window), segment);
            self.receiver.acks.at_once();
        } else {
            // Both have sent a SYN at the same time.
            self.state = State::SynReceived;
            self.syn_wanted = true;
        }
    }

    /// What the other end's SYN says.
    fn learn(&mut self, segment: &Segment) {
        self.irs = segment.seq;
        self.sack = self.config.sack && segment.sack_permitted;
        self.timestamps = self.config.timestamps && segment.timestamps.is_some();
        match segment.window_scale {
            Some(shift) => self.peer_shift = shift.min(MAX_SHIFT),
            // RFC 7323 2.2: both ends or none.
            None => self.shift = 0,
        }
        let mss = segment.mss.unwrap_or(DEFAULT_MSS).max(MIN_MSS);
        self.config.mss = self.config.mss.min(mss);
        let value = segment.timestamps.map(|stamps| stamps.value);
        self.receiver.synchronise(value.filter(|_| self.timestamps));
    }

    /// The handshake is over: our SYN is acknowledged.
    fn establish(&mut self, now: u64, seq: u64, window: u64, segment: &Segment) {
        let options = if self.timestamps {
            TIMESTAMPS_LENGTH
        } else {
            0
        };
        let agreed = Agreed {
            mss: u32::from(self.config.mss) - options,
            sack: self.sack,
            timestamps: self.timestamps,
        };
        self.sender.establish(agreed, window, seq, now);
        let echo = segment.timestamps.map(|stamps| stamps.echo);
        let sent = self.syn_transmissions;
        self.sender.handshake(now, self.syn_sent_at, sent, echo);
        self.state = State::Established;
        self.syn_at = None;
        self.syn_wanted = false;
        self.note_delay(segment);
    }

    /// RFC 9293 3.10.7.4.
    fn on_synchronised(&mut self, now: u64, segment: &Segment) {
        let flags = segment.flags;
        let Some(seq) = absolute(self.receiver.nxt(), self.irs, segment.seq) else {
            self.on_old_syn(now, segment);
            return;
        };
        let value = segment.timestamps.map(|stamps| stamps.value);
        if self.timestamps && !flags.has(Flags::RST) {
            // RFC 7323 3.2: agreed upon, so every segment has them.
            if value.is_none() {
                return;
            }
            // RFC 7323 5.3.
            if self.receiver.is_old(value) && !flags.has(Flags::SYN) {
                self.refuse(seq, segment);
                return;
            }
        }
        let length = u64::from(segment.payload) + u64::from(flags.has(Flags::FIN));
        if flags.has(Flags::SYN) {
            self.on_old_syn(now, segment);
            return;
        }
        if !self.receiver.acceptable(seq, length) {
            if flags.has(Flags::RST) {
                return;
            }
            self.refuse(seq, segment);
            // RFC 9293 3.10.7.4: a closed window still takes ACKs, and a
            // duplicate of the FIN starts TIME-WAIT again.
            if self.state == State::TimeWait && flags.has(Flags::FIN) {
                self.time_wait_at = Some(now.saturating_add(self.config.time_wait));
            }
            if seq != self.receiver.nxt() {
                return;
            }
        }
        if flags.has(Flags::RST) {
            // RFC 5961 3.2: only at the left edge, else it is challenged.
            if seq == self.receiver.nxt() {
                self.end(Ended::Reset);
            } else {
                self.receiver.acks.at_once();
            }
            return;
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        if self.timestamps {
            self.receiver.note_timestamp(seq, value);
        }
        if self.on_acknowledgment(now, seq, segment) {
            self.on_text(now, seq, segment);
        }
    }

    /// A SYN where there should be none (RFC 5961 4.2); one whose answer was
    /// lost; or the answer to ours, if both have opened (RFC 9293 3.5).
    fn on_old_syn(&mut self, now: u64, segment: &Segment) {
        if self.state != State::SynReceived || segment.seq != self.irs {
            self.receiver.acks.at_once();
        } else if segment.flags.has(Flags::ACK) {
            if absolute(1, self.iss, segment.ack) == Some(1) {
                self.establish(now, 1, u64::from(segment.window), segment);
                self.receiver.acks.at_once();
            }
        } else {
            self.syn_wanted = true;
        }
    }

    /// A segment is not acceptable: it is answered, and reported as a
    /// duplicate if it is one (RFC 2883 4).
    fn refuse(&mut self, seq: u64, segment: &Segment) {
        let length = u64::from(segment.payload);
        if length > 0 && seq.saturating_add(length) <= self.receiver.nxt() {
            self.receiver.on_data(0, seq, length, false, 0);
        } else {
            self.receiver.acks.at_once();
        }
    }

    /// RFC 9293 3.10.7.4, fifth check. False if the segment is to be dropped.
    fn on_acknowledgment(&mut self, now: u64, seq: u64, segment: &Segment) -> bool {
        let Some(number) = absolute(self.sender.una(), self.iss, segment.ack) else {
            return false;
        };
        if number > self.sender.nxt() {
            self.receiver.acks.at_once();
            return false;
        }
        let window = u64::from(segment.window) << self.peer_shift;
        if self.state == State::SynReceived {
            if number != 1 {
                return false;
            }
            self.establish(now, seq, window, segment);
        }
        self.note_delay(segment);
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS];
        let (dsack, count) = self.blocks(number, segment, &mut blocks);
        let ack = Ack {
            now,
            seq,
            number,
            window,
            blocks: &blocks[..count],
            dsack,
            echo: segment.timestamps.map(|stamps| stamps.echo),
            with_data: segment.sequence_length() > 0,
            one_way_delay: self.one_way_delay(segment),
        };
        self.sender.on_ack(&ack);
        self.on_fin_acknowledged(now);
        true
    }

    /// The blocks of the SACK option that can be right, a DSACK apart
    /// (RFC 2018 3, RFC 2883 4).
    fn blocks(
        &self,
        number: u64,
        segment: &Segment,
        out: &mut [(u64, u64); MAX_SACK_BLOCKS],
    ) -> (Option<(u64, u64)>, usize) {
        let mut count = 0;
        let mut dsack = None;
        if !self.sack {
            return (None, 0);
        }
        let una = self.sender.una();
        for (index, &(left, right)) in segment.sack.as_slice().iter().enumerate() {
            let (Some(left), Some(right)) = (
                absolute(una, self.iss, left),
                absolute(una, self.iss, right),
            ) else {
                continue;
            };
            if left == 0 || left >= right || right > self.sender.nxt() {
                continue;
            }
            if index == 0 && right <= number {
                dsack = Some((left, right));
            } else if right > number {
                // The first block inside of the second is a duplicate.
                if index == 1 && count == 1 && left <= out[0].0 && out[0].1 <= right {
                    dsack = Some(out[0]);
                    count = 0;
                }
                out[count] = (left, right);
                count += 1;
            }
        }
        (dsack, count)
    }

    /// RFC 6817 2.4: what the clocks say, from the first ACK on, in milliseconds. A timestamp tells when
    /// the ACK was sent and not when the data came, so a delayed ACK adds what it waited.
    fn note_delay(&mut self, segment: &Segment) {
        if let (None, Some(stamps)) = (self.first_delay, segment.timestamps) {
            self.first_delay = Some(stamps.value.wrapping_sub(stamps.echo));
        }
    }

    fn one_way_delay(&self, segment: &Segment) -> Option<i64> {
        let (stamps, first) = (segment.timestamps?, self.first_delay?);
        let delay = stamps.value.wrapping_sub(stamps.echo).wrapping_sub(first);
        Some(i64::from(delay as i32) * 1_000_000)
    }

    /// Our FIN is acknowledged.
    fn on_fin_acknowledged(&mut self, now: u64) {
        if !self.sender.fin_acknowledged() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.wait(now),
            State::LastAck => self.end(Ended::Finished),
            _ => {}
        }
    }

    /// TIME-WAIT begins (RFC 9293 3.4.2).
    fn wait(&mut self, now: u64) {
        self.state = State::TimeWait;
        self.time_wait_at = Some(now.saturating_add(self.config.time_wait));
    }

    /// RFC 9293 3.10.7.4, seventh and eighth check: data and FIN.
    fn on_text(&mut self, now: u64, seq: u64, segment: &Segment) {
        let fin = segment.flags.has(Flags::FIN);
        if segment.payload == 0 && !fin {
            return;
        }
        if self.state == State::Closed {
            return;
        }
        let length = u64::from(segment.payload);
        if let Some(stamps) = segment.timestamps.filter(|_| length > 0) {
            let clock = self.sender.timestamp(now);
            self.receiver.tuning.echoed(clock, stamps.echo);
        }
        let rto = self.sender.rtt().rto();
        self.receiver.on_data(now, seq, length, fin, rto);
        if segment.flags.has(Flags::PSH) {
            self.receiver.on_push();
        }
        if !self.receiver.finished() {
            return;
        }
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.wait(now),
            _ => {}
        }
    }
}
