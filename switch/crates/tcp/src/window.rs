// SPDX-License-Identifier: Apache-2.0
//! The congestion window, and what a congestion controller does to it. It
//! counts segments, as the simulators of the papers do and as Linux does.

/// The most segments of a congestion window: more than any path here holds.
pub(crate) const MAX_WINDOW: u32 = 1 << 24;

/// The congestion window and the slow start threshold (RFC 5681 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    cwnd: u32,
    /// RFC 5681 3.1: at first arbitrarily high.
    pub(crate) ssthresh: u32,
}

impl Window {
    pub(crate) fn new(initial: u32) -> Window {
        Window {
            cwnd: initial.clamp(1, MAX_WINDOW),
            ssthresh: u32::MAX,
        }
    }

    pub(crate) fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// Sets the window, never below one segment.
    pub(crate) fn set(&mut self, cwnd: u32) {
        self.cwnd = cwnd.clamp(1, MAX_WINDOW);
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: a segment for a segment, up to ssthresh (RFC 5681 3.1; RFC
    /// 3465 2.2 with L unbounded, since no ACK covers a burst of lost ones).
    /// Returns the segments that are left for congestion avoidance.
    pub(crate) fn slow_start(&mut self, acked: u32) -> u32 {
        let room = self.ssthresh.saturating_sub(self.cwnd);
        let growth = acked.min(room);
        self.set(self.cwnd.saturating_add(growth));
        acked - growth
    }
}

/// What an ACK tells a controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSample {
    pub(crate) now: u64,
    /// Segments that it acknowledged cumulatively.
    pub(crate) acked: u32,
    /// However many they are, slow start and Reno grow as for one (RFC 5681 3.1).
    pub(crate) per_ack: bool,
    /// The round trip of the segment sent last, without the receiver's delay.
    pub(crate) rtt: Option<u64>,
    pub(crate) min_rtt: Option<u64>,
    /// The one-way delay with any constant offset, in nanoseconds.
    pub(crate) one_way_delay: Option<i64>,
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// Segments in the network before the ACK.
    pub(crate) flight: u32,
    /// What held the sender back was the congestion window (RFC 7661 4.3).
    pub(crate) limited: bool,
}

impl AckSample {
    /// The segments for which slow start and Reno grow.
    pub(crate) fn counted(&self) -> u32 {
        if self.per_ack {
            self.acked.min(1)
        } else {
            self.acked
        }
    }
}

/// Why the window is to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Congestion {
    /// A loss that fast recovery repairs (RFC 5681 3.2).
    Loss,
    /// The retransmission timer has expired (RFC 5681 3.1).
    Timeout,
}

/// A congestion controller.
pub(crate) trait CongestionControl {
    /// Grows the window. Called for ACKs of new data outside of fast recovery.
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample);

    /// The slow start threshold after congestion, of a window or a flight of
    /// `basis` segments. ECN's reaction would come in here (RFC 3168 6.1.2).
    fn on_congestion(&mut self, window: &Window, basis: u32, why: Congestion) -> u32;

    /// The sender was idle for so many nanoseconds.
    fn on_idle(&mut self, idle: u64);
}
