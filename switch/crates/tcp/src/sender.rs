// SPDX-License-Identifier: Apache-2.0
//! The sending half of a connection. It keeps what is queued and what is on its
//! way, and decides what is sent next, and when.

mod acks;
mod recovery;
mod timers;
mod transmit;

use crate::config::{Config, LossRecovery};
use crate::controller::Controller;
use crate::frto::Frto;
use crate::newreno::NewReno;
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rtt::RttEstimator;
use crate::sack::Sack;
use crate::scoreboard::Scoreboard;
use crate::tlp::Tlp;
use crate::undo::Undo;
use crate::window::Window;

pub(crate) use acks::Ack;

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No loss is being repaired.
    Open,
    /// Fast recovery (RFC 5681 3.2).
    Recovery,
    /// Recovery after a retransmission timeout (RFC 5681 3.1).
    Loss,
}

/// What was agreed upon in the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// Bytes of data in a full segment.
    pub(crate) mss: u32,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
}

/// Something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transmit {
    /// Sequence numbers from `start` to `end`, of which the last is the FIN
    /// if `fin`.
    Data { start: u64, end: u64, fin: bool },
    /// An empty segment from before the window, which asks for an ACK.
    WindowProbe,
}

/// Events since the connection was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Recoveries that proved needless.
    pub undone: u64,
}

/// How much of the window was in use (RFC 7661 4.3).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    limited: bool,
    /// The most segments in flight in this round trip.
    most: usize,
    /// The round trip ends when this is acknowledged.
    until: u64,
    /// Something was sent since it was noted.
    sent: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    config: Config,
    agreed: Agreed,
    /// SND.UNA and SND.NXT of RFC 9293 3.3.1.
    una: u64,
    nxt: u64,
    /// Behind the last byte that the application has queued.
    end: u64,
    /// The application has closed; the FIN has the number `end`.
    closing: bool,
    /// The right edge of the other end's window, and what told it last
    /// (SND.WL1 and SND.WL2).
    edge: u64,
    edge_from: (u64, u64),
    /// The largest window that the other end has offered.
    largest_window: u64,
    /// Behind the last segment that was not full.
    small_end: u64,
    board: Scoreboard,
    rtt: RttEstimator,
    window: Window,
    controller: Controller,
    phase: Phase,
    /// Until this is acknowledged the recovery is not over.
    point: u64,
    prr: Prr,
    rack: Rack,
    sack: Sack,
    newreno: NewReno,
    tlp: Tlp,
    frto: Frto,
    undo: Undo,
    usage: Usage,
    /// The first lost segment is sent again whatever the window.
    force: bool,
    probe_wanted: bool,
    window_probe_wanted: bool,
    rto_at: Option<u64>,
    probe_at: Option<u64>,
    reorder_at: Option<u64>,
    persist_at: Option<u64>,
    /// Timeouts or window probes since anything was heard.
    unanswered: u32,
    last_sent: u64,
    /// A segment that ends behind this has PSH, and how far it is to the next.
    push_at: u64,
    push_step: u64,
    /// What is added to the clock for timestamps.
    timestamp_offset: u32,
    counts: Counts,
}

impl Sender {
    pub(crate) fn new(config: &Config, timestamp_offset: u32) -> Sender {
        Sender {
            config: config.clone(),
            agreed: Agreed {
                mss: u32::from(config.mss),
                sack: false,
                timestamps: false,
            },
            una: 1,
            nxt: 1,
            end: 1,
            closing: false,
            edge: 1,
            edge_from: (0, 0),
            largest_window: 0,
            small_end: 1,
            board: Scoreboard::default(),
            rtt: RttEstimator::new(config.rto),
            window: Window::new(config.initial_window),
            controller: Controller::new(config),
            phase: Phase::Open,
            point: 1,
            prr: Prr::default(),
            rack: Rack::default(),
            sack: Sack::default(),
            newreno: NewReno::default(),
            tlp: Tlp::default(),
            frto: Frto::default(),
            undo: Undo::default(),
            usage: Usage::default(),
            force: false,
            probe_wanted: false,
            window_probe_wanted: false,
            rto_at: None,
            probe_at: None,
            reorder_at: None,
            persist_at: None,
            unanswered: 0,
            last_sent: 0,
            push_at: u64::MAX,
            push_step: u64::MAX,
            timestamp_offset,
            counts: Counts::default(),
        }
    }

    /// The handshake is over: `window` is what the other end offers.
    pub(crate) fn establish(&mut self, agreed: Agreed, window: u64, seq: u64, now: u64) {
        self.agreed = agreed;
        self.edge = self.una + window;
        self.edge_from = (seq, self.una);
        self.largest_window = window;
        self.last_sent = now;
        self.push_step = window / 2;
        self.push_at = self.una + self.push_step;
    }

    /// Whether the data up to `end` is to be handed on (PSH, RFC 9293 3.9.1.2):
    /// the last of what there is, and what fills half of the first window.
    pub(crate) fn pushes(&mut self, end: u64) -> bool {
        let full = end > self.push_at;
        if full {
            self.push_at = end.saturating_add(self.push_step);
        }
        full || end >= self.end
    }

    /// What the handshake has shown: the round trip of the SYN if it was sent
    /// once (RFC 6298 3), else what the timestamp tells (RFC 7323 4); and if it
    /// was lost, that the window starts at one segment (RFC 5681 3.1; RFC 6928
    /// 2: if it was lost more than once).
    pub(crate) fn handshake(&mut self, now: u64, sent_at: u64, sent: u32, echo: Option<u32>) {
        let echoed = || self.time_of(echo.filter(|_| self.agreed.timestamps)?, now);
        let sent_at = if sent <= 1 { Some(sent_at) } else { echoed() };
        match sent_at {
            Some(sent_at) => self.rtt.sample(now, now.saturating_sub(sent_at), 1),
            None => self.rtt.syn_was_lost(),
        }
        self.rtt.clear_backoff();
        let tolerated = match self.config.recovery {
            LossRecovery::Rack => 2,
            LossRecovery::Sack => 1,
        };
        if sent > tolerated {
            self.window.set(1);
        }
    }

    pub(crate) fn queue(&mut self, bytes: u64) {
        if !self.closing {
            self.end = self.end.saturating_add(bytes.min(u64::MAX >> 2));
        }
    }

    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Bytes that the application has queued and the other end has not
    /// acknowledged.
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.end.saturating_sub(self.una.min(self.end))
    }

    /// Bytes queued that were never sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.end.saturating_sub(self.nxt)
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn mss(&self) -> u32 {
        self.agreed.mss
    }

    pub(crate) fn edge(&self) -> u64 {
        self.edge
    }

    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.closing && self.una > self.end
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    pub(crate) fn board(&self) -> &Scoreboard {
        &self.board
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The timestamp clock: milliseconds (RFC 7323 4.1).
    pub(crate) fn timestamp(&self, now: u64) -> u32 {
        ((now / 1_000_000) as u32).wrapping_add(self.timestamp_offset)
    }

    fn uses_rack(&self) -> bool {
        self.agreed.sack && self.config.recovery == LossRecovery::Rack
    }
}
