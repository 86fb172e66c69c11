// SPDX-License-Identifier: Apache-2.0
//! What is sent: SYN, data, ACK, FIN and RST.

use super::{Connection, State};
use crate::options::room_for_sack_blocks;
use crate::segment::{Flags, Segment, Timestamps};
use crate::sender::Transmit;
use crate::sequence::on_wire;

impl Connection {
    /// The next segment to send now, or None. To be asked until there is none
    /// whenever something has happened: a segment, a timer, [`Connection::send`],
    /// [`Connection::close`], [`Connection::read`] or [`Connection::abort`].
    pub fn next_segment(&mut self, now: u64) -> Option<Segment> {
        if std::mem::take(&mut self.reset_wanted) {
            let flags = Flags::RST.with(Flags::ACK);
            return Some(self.segment(now, self.sender.nxt(), flags));
        }
        if self.state == State::Closed {
            return None;
        }
        if self.syn_wanted {
            return Some(self.syn(now));
        }
        if self.may_send()
            && let Some(transmit) = self.sender.next(now)
        {
            return Some(self.transmit(now, transmit));
        }
        if self.receiver.acks.wanted() && self.receiver.nxt() > 0 {
            return Some(self.acknowledgment(now));
        }
        None
    }

    fn syn(&mut self, now: u64) -> Segment {
        self.syn_wanted = false;
        self.syn_transmissions = self.syn_transmissions.saturating_add(1);
        if self.syn_transmissions == 1 {
            self.syn_sent_at = now;
        }
        self.syn_at = Some(now.saturating_add(self.sender.rtt().rto()));
        let answer = self.state == State::SynReceived;
        let flags = if answer {
            Flags::SYN.with(Flags::ACK)
        } else {
            Flags::SYN
        };
        let mut syn = self.segment(now, 0, flags);
        syn.sack = Default::default();
        syn.mss = Some(self.config.mss);
        syn.sack_permitted = self.sack;
        // In an answer only what the SYN had (RFC 7323 2.2).
        let scales = !answer || self.shift > 0 || self.peer_shift > 0;
        syn.window_scale = scales.then_some(self.shift);
        syn.window = self.receiver.offer(0);
        if answer {
            self.receiver.ack_sent(now, false);
        }
        syn
    }

    fn acknowledgment(&mut self, now: u64) -> Segment {
        let mut segment = self.segment(now, self.sender.nxt(), Flags::ACK);
        self.add_blocks(&mut segment);
        self.receiver.ack_sent(now, false);
        segment
    }

    fn transmit(&mut self, now: u64, transmit: Transmit) -> Segment {
        let (start, end, fin) = match transmit {
            Transmit::Data { start, end, fin } => (start, end, fin),
            Transmit::WindowProbe => {
                let before = self.sender.una() - 1;
                let mut probe = self.segment(now, before, Flags::ACK);
                self.add_blocks(&mut probe);
                self.receiver.ack_sent(now, false);
                return probe;
            }
        };
        let mut flags = Flags::ACK;
        if fin {
            flags = flags.with(Flags::FIN);
        }
        let payload = end - start - u64::from(fin);
        if payload > 0 && self.sender.pushes(end) {
            flags = flags.with(Flags::PSH);
        }
        let mut segment = self.segment(now, start, flags);
        segment.payload = payload as u32;
        // Blocks that would make the segment too long wait for an ACK of
        // their own (RFC 6691 2).
        let wanted = self.receiver.acks.wanted();
        self.add_blocks(&mut segment);
        let longest = usize::from(self.config.mss) + 20;
        if segment.header_length() + payload as usize > longest {
            segment.sack.truncate(0);
        }
        let told = !self.receiver.has_blocks() || !segment.sack.is_empty();
        if told || !wanted {
            self.receiver.ack_sent(now, true);
        }
        if fin {
            self.state = match self.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                state => state,
            };
        }
        segment
    }

    /// The fields that every segment has.
    fn segment(&mut self, now: u64, seq: u64, flags: Flags) -> Segment {
        let mut segment = Segment {
            source_port: self.config.port,
            destination_port: self.peer_port,
            seq: on_wire(seq, self.iss),
            flags,
            ..Segment::default()
        };
        if flags.has(Flags::ACK) {
            segment.ack = on_wire(self.receiver.nxt(), self.irs);
        }
        if !flags.has(Flags::SYN) {
            segment.window = self.receiver.offer(self.shift);
        }
        if self.timestamps {
            segment.timestamps = Some(Timestamps {
                value: self.sender.timestamp(now),
                echo: self.receiver.timestamp().unwrap_or(0),
            });
        }
        segment
    }

    fn add_blocks(&mut self, segment: &mut Segment) {
        if !self.sack {
            return;
        }
        let room = room_for_sack_blocks(self.timestamps);
        for (left, right) in self.receiver.blocks(room) {
            segment
                .sack
                .push(on_wire(left, self.irs), on_wire(right, self.irs));
        }
    }
}
