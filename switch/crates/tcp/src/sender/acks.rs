// SPDX-License-Identifier: Apache-2.0
//! Processes an acknowledgment.

use super::{Phase, Sender};
use crate::config::Growth;
use crate::frto::Answer;
use crate::newreno::Step;
use crate::rack::Acked;
use crate::scoreboard::{Sent, State};
use crate::window::{AckSample, CongestionControl};

/// An acknowledgment, in numbers that do not wrap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    pub(crate) now: u64,
    /// The segment's own sequence number.
    pub(crate) seq: u64,
    pub(crate) number: u64,
    /// The window offered, scaled.
    pub(crate) window: u64,
    pub(crate) blocks: &'a [(u64, u64)],
    pub(crate) dsack: Option<(u64, u64)>,
    pub(crate) echo: Option<u32>,
    /// The segment takes sequence numbers: it is no duplicate acknowledgment.
    pub(crate) with_data: bool,
    pub(crate) one_way_delay: Option<i64>,
}

/// What an ACK newly delivered.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Segments acknowledged or SACKed for the first time.
    delivered: usize,
    /// When the first and the last of those sent once were sent.
    first_sent: Option<u64>,
    last_sent: Option<u64>,
    /// Data below the recovery point that was sent once.
    original: bool,
}

impl News {
    fn add(&mut self, sent: &Sent, point: u64) {
        if sent.state == State::Sacked {
            return;
        }
        self.delivered += 1;
        if sent.retransmitted() {
            return;
        }
        self.original |= sent.end <= point;
        let earliest = self
            .first_sent
            .map_or(sent.sent_at, |at| at.min(sent.sent_at));
        self.first_sent = Some(earliest);
        self.last_sent = self.last_sent.max(Some(sent.sent_at));
    }
}

impl Sender {
    /// Takes an ACK in. The caller has checked that it acknowledges nothing
    /// that was not sent.
    pub(crate) fn on_ack(&mut self, ack: &Ack<'_>) {
        let advanced = ack.number > self.una;
        let flight = self.board.pipe();
        let outstanding = self.board.len();
        let waiting = outstanding > 0;
        let window_changed = self.update_window(ack);
        if advanced || window_changed || (ack.number == self.una && !waiting) {
            self.unanswered = 0;
        }
        let news = self.deliver(ack);
        let sacked_news = news.delivered > 0 && !advanced;
        self.measure(ack, &news, advanced, outstanding);
        let spurious = self.judge_retransmissions(ack, advanced);

        let plain = !advanced && !ack.with_data && !window_changed;
        let duplicate = plain && waiting;
        let plain = plain && ack.blocks.is_empty();
        let dsack_end = ack.dsack.map(|(_, end)| end);
        if self.tlp.on_ack(ack.number, dsack_end, plain) {
            self.probe_repaired();
        }

        let before = self.phase;
        let mut lost = 0;
        if self.agreed.sack {
            lost = self.detect(ack.now, advanced, sacked_news);
            self.advance_phase(advanced, spurious, &news);
        } else {
            self.advance_newreno(advanced, duplicate, news.delivered, spurious);
        }

        if self.phase == Phase::Recovery {
            self.let_go(news.delivered, advanced && lost == 0);
        } else if advanced && (self.agreed.sack || before != Phase::Recovery) {
            self.grow(ack, &news, flight);
        }
        self.set_timers(ack.now, advanced, window_changed);
    }

    /// RFC 9293 3.10.7.4: SND.WND, from a segment that is not older than the
    /// last one that told it.
    fn update_window(&mut self, ack: &Ack<'_>) -> bool {
        let from = (ack.seq, ack.number);
        if from < self.edge_from && ack.number <= self.una {
            return false;
        }
        self.edge_from = from;
        self.largest_window = self.largest_window.max(ack.window);
        let edge = ack.number.saturating_add(ack.window);
        // A window must not shrink (RFC 9293 3.8.6): one that does is kept.
        let changed = edge > self.edge;
        self.edge = self.edge.max(edge);
        if changed {
            self.persist_at = None;
        }
        changed
    }

    /// Marks what is acknowledged and SACKed, and tells RACK.
    fn deliver(&mut self, ack: &Ack<'_>) -> News {
        let mut news = News::default();
        let highest = self.board.highest_delivered();
        let acked = Acked {
            now: ack.now,
            min_rtt: self.rtt.min_rtt(),
            echoed: ack.echo.and_then(|echo| self.time_of(echo, ack.now)),
        };
        let (rack, point) = (&mut self.rack, self.point);
        self.board.acknowledge(ack.number, |sent| {
            if sent.state != State::Sacked {
                rack.delivered(sent, highest, &acked);
            }
            news.add(sent, point);
        });
        if self.agreed.sack {
            // The echo is not of what came out of order (RFC 7323 4.3).
            let acked = Acked {
                echoed: None,
                ..acked
            };
            self.board.sack(ack.blocks, |sent| {
                rack.delivered(sent, highest, &acked);
                news.add(sent, point);
            });
        }
        self.una = self.una.max(ack.number);
        news
    }

    /// The latest time at which a segment with this timestamp can have been
    /// sent. None if it is not one of ours.
    pub(super) fn time_of(&self, echo: u32, now: u64) -> Option<u64> {
        const TICK: u64 = 1_000_000;
        let ago = u64::from(self.timestamp(now).wrapping_sub(echo));
        let tick = (now / TICK).checked_sub(ago)?;
        Some(tick * TICK + TICK - 1)
    }

    /// RFC 6298 3 and 5.7; a timestamp measures what was sent twice (RFC 7323 4).
    fn measure(&mut self, ack: &Ack<'_>, news: &News, advanced: bool, outstanding: usize) {
        let by_time = news.first_sent.map(|sent| ack.now.saturating_sub(sent));
        let rtt = by_time.or_else(|| {
            let echoed = ack.echo.filter(|_| advanced && self.agreed.timestamps)?;
            Some(ack.now.saturating_sub(self.time_of(echoed, ack.now)?))
        });
        if let Some(rtt) = rtt {
            self.rtt.sample(ack.now, rtt, outstanding);
            self.rtt.clear_backoff();
        }
    }

    /// True if the ACK shows that the retransmissions were needless.
    fn judge_retransmissions(&mut self, ack: &Ack<'_>, advanced: bool) -> bool {
        let mut spurious = false;
        if let Some((start, end)) = ack.dsack {
            if self.uses_rack() {
                self.rack.dsack(self.una, self.nxt);
            }
            let mss = u64::from(self.agreed.mss);
            let segments = end
                .saturating_sub(start)
                .div_ceil(mss)
                .min(u64::from(u32::MAX));
            spurious |= self.undo.dsack(start, segments as u32);
        }
        if advanced {
            spurious |= self.undo.advanced(ack.echo);
        }
        spurious && self.uses_rack()
    }

    /// Finds what is lost, by time or by count.
    fn detect(&mut self, now: u64, advanced: bool, sacked: bool) -> usize {
        if self.uses_rack() {
            return self.detect_by_time(now);
        }
        let thrice = self.sack.on_ack(advanced, sacked);
        let mut lost = self.sack.detect_loss(&mut self.board);
        // RFC 6675 5 step 2: or DupThresh duplicates.
        if thrice && lost == 0 && self.phase == Phase::Open && self.board.lost() == 0 {
            lost += usize::from(self.board.mark_lost(self.board.first_id()));
        }
        lost
    }

    /// The phase after an ACK, with SACK.
    fn advance_phase(&mut self, advanced: bool, spurious: bool, news: &News) {
        if spurious {
            self.undo_recovery();
        }
        let all = self.una >= self.point;
        match self.phase {
            Phase::Open => {}
            Phase::Recovery => {
                if all {
                    self.leave_recovery();
                }
            }
            Phase::Loss => {
                let answer = self.frto.on_ack(advanced, all, news.original);
                if answer == Answer::Spurious {
                    self.undo_recovery();
                } else if all {
                    self.leave_recovery();
                }
            }
        }
        if self.phase == Phase::Open && self.board.lost() > 0 {
            self.enter_recovery();
        }
    }

    /// RFC 6582 3.2.
    fn advance_newreno(&mut self, advanced: bool, duplicate: bool, acked: usize, spurious: bool) {
        if spurious {
            self.undo_recovery();
        }
        if self.phase == Phase::Loss {
            if self.una >= self.point {
                self.leave_recovery();
            }
            return;
        }
        let point = (self.phase == Phase::Recovery).then_some(self.point);
        let first = self.board.first_id();
        let cwnd = self.window.cwnd();
        match self.newreno.on_ack(self.una, advanced, duplicate, point) {
            Step::Nothing => {}
            Step::Enter => {
                self.enter_recovery();
                self.board.mark_lost(first);
                // Step 2: the segments that the three duplicates stand for.
                self.window.set(self.window.ssthresh.saturating_add(3));
            }
            Step::Inflate => self.window.set(cwnd.saturating_add(1)),
            Step::Partial => {
                // Step 3: deflated by what is acknowledged, but for one.
                let acked = u32::try_from(acked).unwrap_or(u32::MAX);
                self.window
                    .set(cwnd.saturating_sub(acked).saturating_add(1));
                self.board.mark_lost(first);
                self.force = true;
            }
            Step::Full => {
                self.leave_recovery();
                let flight = u32::try_from(self.board.len()).unwrap_or(u32::MAX);
                let cwnd = flight.max(1).saturating_add(1);
                self.window.set(self.window.ssthresh.min(cwnd));
            }
        }
    }

    fn grow(&mut self, ack: &Ack<'_>, news: &News, flight: usize) {
        let sample = AckSample {
            now: ack.now,
            acked: u32::try_from(news.delivered).unwrap_or(u32::MAX),
            per_ack: self.config.growth == Growth::PerAck,
            rtt: news.last_sent.map(|sent| ack.now.saturating_sub(sent)),
            min_rtt: self.rtt.min_rtt(),
            one_way_delay: ack.one_way_delay,
            una: self.una,
            nxt: self.nxt,
            flight: u32::try_from(flight).unwrap_or(u32::MAX),
            limited: self.limited(),
        };
        self.controller.on_ack(&mut self.window, &sample);
    }

    fn set_timers(&mut self, now: u64, advanced: bool, window_changed: bool) {
        if self.board.is_empty() {
            self.stop_timers();
            return;
        }
        if advanced {
            self.restart_rto(now);
        }
        if advanced || window_changed || self.board.sacked() > 0 {
            self.schedule_probe(now);
        }
    }
}
