// SPDX-License-Identifier: Apache-2.0
//! The sender's timers: retransmission (RFC 6298 5), loss probe (RFC 8985
//! 7.2), reordering (RFC 8985 6.2) and persist (RFC 9293 3.8.6.1).

use super::{Phase, Sender};
use crate::timers::earliest;
use crate::tlp;

impl Sender {
    /// When [`Sender::on_timer`] is to be called next.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        earliest([self.rto_at, self.probe_at, self.reorder_at, self.persist_at])
    }

    /// Does what is due. False if the connection is to be given up: nothing
    /// was heard for too long (RFC 9293 3.8.3).
    pub(crate) fn on_timer(&mut self, now: u64) -> bool {
        let due = |timer: Option<u64>| timer.is_some_and(|at| at <= now);
        if due(self.reorder_at) {
            self.reorder_at = None;
            self.on_reorder_timer(now);
        } else if due(self.probe_at) {
            self.probe_at = None;
            self.probe_wanted = true;
            // It is sent at once, and restarts the timer then (RFC 8985 7.3).
            self.restart_rto(now);
        } else if due(self.rto_at) {
            self.unanswered += 1;
            if self.unanswered > self.config.retries {
                return false;
            }
            self.on_timeout(now);
        }
        if due(self.persist_at) {
            self.unanswered += 1;
            if self.unanswered > self.config.retries {
                return false;
            }
            self.window_probe_wanted = true;
            self.persist_at = None;
            self.rtt.back_off();
            self.arm_persist(now);
        }
        true
    }

    /// RFC 6298 5.1 and 5.3.
    pub(super) fn restart_rto(&mut self, now: u64) {
        self.rto_at = Some(now.saturating_add(self.rtt.rto()));
    }

    /// RFC 6298 5.2: everything is acknowledged.
    pub(super) fn stop_timers(&mut self) {
        self.rto_at = None;
        self.probe_at = None;
        self.reorder_at = None;
    }

    /// TLP_calc_PTO and its conditions (RFC 8985 7.2).
    pub(super) fn schedule_probe(&mut self, now: u64) {
        let fit = self.uses_rack()
            && self.phase == Phase::Open
            && !self.tlp.waits()
            && !self.probe_wanted
            && self.board.sacked() == 0
            && self.board.lost() == 0
            && !self.board.is_empty();
        self.probe_at = fit.then(|| {
            let timeout = tlp::timeout(self.rtt.srtt(), self.board.len() == 1);
            let at = now.saturating_add(timeout);
            self.rto_at.map_or(at, |rto| at.min(rto))
        });
    }

    /// The other end's window is closed: it is probed, ever more rarely
    /// (RFC 9293 3.8.6.1). As long as data is on its way, that asks, too.
    pub(super) fn arm_persist(&mut self, now: u64) {
        if self.board.is_empty() && self.persist_at.is_none() {
            self.persist_at = Some(now.saturating_add(self.rtt.rto()));
        }
    }
}
