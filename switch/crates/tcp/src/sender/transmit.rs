// SPDX-License-Identifier: Apache-2.0
//! Decides what is sent next, and whether it may be sent now.

use super::{Phase, Sender, Transmit};
use crate::config::LossRecovery;
use crate::frto::Frto;
use crate::scoreboard::Id;
use crate::tlp::Probe;
use crate::window::CongestionControl;

/// Why nothing new is sent.
enum Held {
    /// There is nothing, or what there is waits for more.
    Empty,
    /// The congestion window is full.
    Congestion,
    /// The other end's window is full.
    Window,
}

impl Sender {
    /// The next segment, if one may go now.
    pub(crate) fn next(&mut self, now: u64) -> Option<Transmit> {
        if std::mem::take(&mut self.probe_wanted)
            && let Some(probe) = self.probe(now)
        {
            return Some(probe);
        }
        if std::mem::take(&mut self.window_probe_wanted) {
            return Some(Transmit::WindowProbe);
        }
        // RFC 5682 3.1 step 2b: new data before what may not be lost at all.
        let first_new = self.phase == Phase::Loss && self.frto == Frto::NewData && !self.force;
        if first_new && let Ok(data) = self.new_data(now, self.window.cwnd() as usize) {
            return Some(data);
        }
        if let Some(data) = self.lost_data(now) {
            return Some(data);
        }
        let room = self.window.cwnd() as usize + self.limited_transmit();
        match self.new_data(now, room) {
            Ok(data) => Some(data),
            Err(held) => {
                self.note_usage(&held);
                match held {
                    Held::Congestion => None,
                    Held::Empty => self.further_data(now),
                    Held::Window => {
                        self.arm_persist(now);
                        self.further_data(now)
                    }
                }
            }
        }
    }

    fn limited_transmit(&self) -> usize {
        if self.agreed.sack || self.phase != Phase::Open {
            0
        } else {
            self.newreno.limited_transmit()
        }
    }

    /// Rule 1 of NextSeg (RFC 6675 4): what is lost goes again.
    fn lost_data(&mut self, now: u64) -> Option<Transmit> {
        let (id, _) = self.board.next_lost()?;
        if self.board.pipe() >= self.window.cwnd() as usize && !self.force {
            return None;
        }
        self.force = false;
        Some(self.resend(id, now))
    }

    /// Rules 3 and 4 of NextSeg (RFC 6675 4).
    fn further_data(&mut self, now: u64) -> Option<Transmit> {
        let by_sack = self.agreed.sack && self.config.recovery == LossRecovery::Sack;
        if !by_sack
            || self.phase != Phase::Recovery
            || self.board.pipe() >= self.window.cwnd() as usize
        {
            return None;
        }
        let id = self.sack.next(&self.board, self.una, self.point)?;
        // It counts as lost from now on, so that it is once in the pipe.
        self.board.mark_lost(id);
        Some(self.resend(id, now))
    }

    fn resend(&mut self, id: Id, now: u64) -> Transmit {
        let timestamp = self.agreed.timestamps.then(|| self.timestamp(now));
        self.undo.resent(timestamp);
        self.board.resend(id, now);
        self.count(true);
        // RFC 8985 8, and RFC 6675 6 allows it: the timer is for the first segment, whose loss shows when most
        // of the timeout has passed. Others do not start it: while a queue goes on dropping there is
        // always one more of them, and the timer would never find that the first one was lost again.
        if id == self.board.first_id() || self.rto_at.is_none() {
            self.restart_rto(now);
        }
        self.last_sent = now;
        let data = self
            .board
            .get(id)
            .map(|sent| (sent.start, sent.end, sent.fin));
        let (start, end, fin) = data.unwrap_or((self.una, self.una, false));
        Transmit::Data { start, end, fin }
    }

    fn count(&mut self, again: bool) {
        self.usage.sent = true;
        self.counts.segments += 1;
        self.counts.retransmissions += u64::from(again);
        if self.phase == Phase::Recovery {
            self.prr.sent();
        }
    }

    /// New data, if fewer than `room` segments are in flight.
    fn new_data(&mut self, now: u64, room: usize) -> Result<Transmit, Held> {
        if !self.has_new() {
            return Err(Held::Empty);
        }
        self.restart_after_idle(now);
        if self.board.pipe() >= room.max(1) {
            return Err(Held::Congestion);
        }
        let (length, fin) = self.fits()?;
        Ok(self.send_new(length, fin, now))
    }

    /// There are bytes, or the FIN, that were never sent.
    fn has_new(&self) -> bool {
        self.nxt < self.end || (self.nxt == self.end && self.closing)
    }

    /// How many bytes of new data may go, and whether the FIN goes with them.
    fn fits(&self) -> Result<(u64, bool), Held> {
        if !self.has_new() {
            return Err(Held::Empty);
        }
        let mss = u64::from(self.agreed.mss);
        let queued = self.end - self.nxt;
        let in_flight = self.nxt - self.una;
        let window = self.edge.saturating_sub(self.nxt);
        let buffer = u64::from(self.config.send_buffer).saturating_sub(in_flight);
        let length = queued.min(mss).min(window).min(buffer);
        let fin = self.closing && length == queued && window > length;
        if length == 0 && !fin {
            return Err(if window == 0 {
                Held::Window
            } else {
                Held::Empty
            });
        }
        if length < mss && !fin {
            // RFC 9293 3.8.6.2.1: no silly window.
            if length < queued && in_flight > 0 && 2 * length < self.largest_window {
                return Err(Held::Empty);
            }
            // RFC 896: no second small segment.
            if length == queued && self.config.nagle && self.small_end > self.una {
                return Err(Held::Empty);
            }
        }
        Ok((length, fin))
    }

    fn send_new(&mut self, length: u64, fin: bool, now: u64) -> Transmit {
        let start = self.nxt;
        let end = start + length + u64::from(fin);
        self.board.push(start, end, fin, now);
        self.nxt = end;
        if length < u64::from(self.agreed.mss) {
            self.small_end = end;
        }
        self.count(false);
        self.last_sent = now;
        self.persist_at = None;
        if self.rto_at.is_none() {
            self.restart_rto(now);
        }
        self.schedule_probe(now);
        self.usage.most = self.usage.most.max(self.board.pipe());
        Transmit::Data { start, end, fin }
    }

    /// A tail loss probe: new data whatever the congestion window, else the
    /// last segment again (RFC 8985 7.3).
    fn probe(&mut self, now: u64) -> Option<Transmit> {
        let data = self
            .fits()
            .ok()
            .map(|(length, fin)| self.send_new(length, fin, now));
        let retransmission = data.is_none();
        let data = match data {
            Some(data) => data,
            None => {
                let (id, _) = self.board.last()?;
                self.board.resend(id, now);
                self.count(true);
                self.last_sent = now;
                let sent = self.board.get(id)?;
                Transmit::Data {
                    start: sent.start,
                    end: sent.end,
                    fin: sent.fin,
                }
            }
        };
        self.tlp.sent(Probe {
            end: self.nxt,
            retransmission,
        });
        self.probe_at = None;
        self.counts.probes += 1;
        self.restart_rto(now);
        Some(data)
    }

    /// RFC 5681 4.1: after an idle time the window starts again. Linux halves
    /// it for each timeout that has passed (RFC 2861 3.1).
    fn restart_after_idle(&mut self, now: u64) {
        let idle = now.saturating_sub(self.last_sent);
        let rto = self.rtt.rto().max(1);
        if !self.board.is_empty() || idle <= rto || self.nxt == 1 {
            return;
        }
        self.controller.on_idle(idle);
        self.last_sent = now;
        if !self.config.restart_after_idle {
            return;
        }
        let cwnd = self.window.cwnd();
        let restart = self.config.initial_window.min(cwnd);
        if self.config.recovery == LossRecovery::Sack {
            self.window.set(restart);
            return;
        }
        let kept = u64::from(cwnd) * 3 / 4;
        let kept = u32::try_from(kept).unwrap_or(u32::MAX);
        self.window.ssthresh = self.window.ssthresh.max(kept);
        let halvings = (idle / rto).min(31);
        self.window.set((cwnd >> halvings).max(restart));
    }

    /// Notes how much of the window is in use (RFC 7661 4.3), as Linux does (`tcp_write_xmit`). The
    /// window counts as what holds back when data wait for it, even if none could go, and when the
    /// last data have filled it. So it grows for an application that hands over a segment at a time.
    fn note_usage(&mut self, held: &Held) {
        let waits = matches!(held, Held::Congestion);
        // An application that has sent its last does not take back that the
        // window was full.
        if !std::mem::take(&mut self.usage.sent) && !waits {
            return;
        }
        let pipe = self.board.pipe();
        let limited = waits || pipe >= self.window.cwnd() as usize;
        if self.una >= self.usage.until {
            self.usage.until = self.nxt;
            self.usage.most = pipe;
            self.usage.limited = limited;
        } else {
            self.usage.most = self.usage.most.max(pipe);
            self.usage.limited |= limited;
        }
    }

    /// True if the window was what held back: in slow start half of it
    /// (RFC 7661 4.3), else all.
    pub(super) fn limited(&self) -> bool {
        let cwnd = self.window.cwnd() as usize;
        self.usage.limited || (self.window.in_slow_start() && cwnd < 2 * self.usage.most)
    }
}
