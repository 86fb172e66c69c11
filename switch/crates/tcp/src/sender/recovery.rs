// SPDX-License-Identifier: Apache-2.0
//! Begins recoveries, and ends or undoes them.

use super::{Phase, Sender};
use crate::config::LossRecovery;
use crate::frto::Frto;
use crate::prr::Prr;
use crate::scoreboard::State;
use crate::window::{Congestion, CongestionControl};

impl Sender {
    /// The quantity of which congestion takes a part: the window in Linux. In RFC 5681 it is the flight,
    /// but for what limited transmit has sent (3.2 step 2, RFC 6675 5 step 4.2), and the threshold is no
    /// more than half of it (3.1). So it is never more than the window, beyond which limited transmit
    /// sends. A recovery that waits for a lost retransmission goes on sending behind it, and what has
    /// arrived there counts as flight, too.
    fn basis(&self) -> u32 {
        let window = self.window.cwnd();
        match self.config.recovery {
            LossRecovery::Rack => window,
            LossRecovery::Sack => {
                u32::try_from(self.board.len()).map_or(window, |flight| flight.min(window))
            }
        }
    }

    fn reduce(&mut self, why: Congestion) {
        let basis = self.basis();
        self.window.ssthresh = self.controller.on_congestion(&self.window, basis, why);
    }

    /// Fast recovery begins (RFC 5681 3.2, RFC 6675 5, RFC 6937 3).
    pub(super) fn enter_recovery(&mut self) {
        self.undo.begin(self.una, self.window, &self.controller);
        let window = self.window.cwnd();
        self.reduce(Congestion::Loss);
        self.phase = Phase::Recovery;
        self.point = self.nxt;
        self.force = true;
        self.tlp.forget();
        self.probe_at = None;
        self.probe_wanted = false;
        self.counts.recoveries += 1;
        self.sack
            .begin(self.board.first().map_or(self.una, |first| first.end));
        self.newreno.begin(self.nxt);
        self.prr = Prr::new(window, self.window.ssthresh);
        if !self.uses_rack() {
            self.window.set(self.window.ssthresh);
        }
    }

    /// Fast recovery is over (RFC 6937 3.1, RFC 6675 5).
    pub(super) fn leave_recovery(&mut self) {
        if self.phase == Phase::Recovery {
            self.window.set(self.window.ssthresh);
            self.rack.recovered();
        }
        self.phase = Phase::Open;
        self.frto = Frto::Off;
        self.force = false;
        // A DSACK may still come; undoing stays possible until the next one.
    }

    /// The recovery was needless (RFC 4015 3.2, RFC 5682 3.1 step 3b).
    pub(super) fn undo_recovery(&mut self) {
        if let Some((window, controller)) = self.undo.take(self.window) {
            self.window = window;
            self.controller = controller;
            self.counts.undone += 1;
        }
        self.board.unmark_lost();
        self.phase = Phase::Open;
        self.frto = Frto::Off;
        self.force = false;
        self.rtt.clear_backoff();
    }

    /// The probe repaired a loss: congestion control reacts as to any
    /// (RFC 8985 7.4.2), and there is nothing left to recover.
    pub(super) fn probe_repaired(&mut self) {
        if self.phase == Phase::Open {
            self.undo.forget();
            self.reduce(Congestion::Loss);
            self.window
                .set(self.window.ssthresh.min(self.window.cwnd()));
        }
    }

    /// The retransmission timer has expired (RFC 6298 5.4 to 5.6, RFC 5681
    /// 3.1, RFC 8985 6.3, RFC 5682 3.1 step 1).
    pub(super) fn on_timeout(&mut self, now: u64) {
        self.counts.timeouts += 1;
        let before = self.phase;
        // RFC 5681 3.1: not again for the same segment.
        let again = before == Phase::Loss && self.unanswered > 1;
        if !again {
            if before == Phase::Recovery {
                self.undo.forget();
            } else {
                self.undo.begin(self.una, self.window, &self.controller);
            }
            let reduced = self.window.ssthresh;
            self.reduce(Congestion::Timeout);
            // RFC 5681 3.1 reduces once for a window of data: Linux keeps what
            // fast recovery has reduced to.
            if before == Phase::Recovery && self.uses_rack() {
                self.window.ssthresh = reduced;
            }
        }
        // RFC 2018 8: a receiver that SACKed the first segment has reneged.
        if self
            .board
            .first()
            .is_some_and(|sent| sent.state == State::Sacked)
        {
            self.board.forget_sacks();
        }
        let first = self.board.first_id();
        let rack = self.uses_rack().then(|| {
            let min_rtt = self.rtt.min_rtt();
            self.rack
                .reo_wnd(true, self.board.sacked(), min_rtt, self.rtt.srtt())
        });
        let judge = &self.rack;
        self.board.mark_each(|id, sent| match rack {
            // RFC 8985 6.3: what is too young to be lost may still arrive.
            Some(reo_wnd) if id != first => judge.due(sent, reo_wnd) <= now,
            _ => true,
        });
        self.window.set(1);
        self.phase = Phase::Loss;
        self.point = self.nxt;
        self.force = true;
        self.tlp.forget();
        self.probe_wanted = false;
        self.probe_at = None;
        self.reorder_at = None;
        self.newreno.begin(self.nxt);
        // RFC 5682 3.1 step 1: not if a recovery has sent others again already.
        self.frto = if self.uses_rack() && (before == Phase::Open || again) {
            Frto::Retransmitted
        } else {
            Frto::Off
        };
        self.rtt.back_off();
        self.restart_rto(now);
    }

    /// RFC 8985 6.2: the reordering window has passed.
    pub(super) fn on_reorder_timer(&mut self, now: u64) {
        let lost = self.detect_by_time(now);
        if lost > 0 {
            if self.phase == Phase::Open {
                self.enter_recovery();
            }
            self.let_go(0, false);
        }
        self.restart_rto(now);
    }

    /// RACK_detect_loss_and_arm_timer (RFC 8985 6.2 step 5).
    pub(super) fn detect_by_time(&mut self, now: u64) -> usize {
        let reo_wnd = self.rack.reo_wnd(
            self.phase != Phase::Open,
            self.board.sacked(),
            self.rtt.min_rtt(),
            self.rtt.srtt(),
        );
        let (lost, timeout) = self.rack.detect_loss(&mut self.board, now, reo_wnd);
        self.reorder_at = timeout.map(|timeout| now.saturating_add(timeout));
        lost
    }

    /// PRR sets the window from the pipe (RFC 6937 3.1).
    pub(super) fn let_go(&mut self, delivered: usize, safe_ack: bool) {
        if self.phase != Phase::Recovery || !self.uses_rack() {
            return;
        }
        let pipe = self.board.pipe();
        let count = self.prr.on_ack(delivered, pipe, safe_ack);
        let pipe = u32::try_from(pipe).unwrap_or(u32::MAX);
        self.window.set(pipe.saturating_add(count));
    }
}
