// SPDX-License-Identifier: Apache-2.0
//! Reno: slow start and congestion avoidance (RFC 5681 3.1).

use crate::window::{AckSample, Congestion, CongestionControl, Window};

#[derive(Clone, Debug, Default)]
pub(crate) struct Reno {
    /// Segments acknowledged since the window grew last.
    count: u32,
}

impl Reno {
    /// RFC 5681 3.1, with the bytes counted as it recommends (RFC 3465 2.1):
    /// one segment more for every window that was acknowledged.
    pub(crate) fn congestion_avoidance(&mut self, window: &mut Window, acked: u32) {
        self.count = self.count.saturating_add(acked);
        while self.count >= window.cwnd() {
            self.count -= window.cwnd();
            window.set(window.cwnd() + 1);
        }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        let mut acked = sample.counted();
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0 {
            self.congestion_avoidance(window, acked);
        }
    }

    /// RFC 5681 3.1, equation 4.
    fn on_congestion(&mut self, _window: &Window, basis: u32, _why: Congestion) -> u32 {
        self.count = 0;
        (basis / 2).max(2)
    }

    fn on_idle(&mut self, _idle: u64) {}
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample(acked: u32) -> AckSample {
        AckSample {
            now: 0,
            acked,
            per_ack: false,
            rtt: None,
            min_rtt: None,
            one_way_delay: None,
            una: 0,
            nxt: 0,
            flight: 100,
            limited: true,
        }
    }

    /// RFC 5681 3.1: slow start doubles the window in a round trip.
    #[test]
    fn slow_start() {
        let (mut reno, mut window) = (Reno::default(), Window::new(10));
        for _ in 0..5 {
            reno.on_ack(&mut window, &sample(2));
        }
        assert_eq!(window.cwnd(), 20);
    }

    /// RFC 5681 3.1: congestion avoidance adds a segment in a round trip, and
    /// slow start ends at ssthresh.
    #[test]
    fn congestion_avoidance() {
        let (mut reno, mut window) = (Reno::default(), Window::new(8));
        window.ssthresh = 10;
        reno.on_ack(&mut window, &sample(4));
        assert_eq!(window.cwnd(), 10);
        for _ in 0..8 {
            reno.on_ack(&mut window, &sample(1));
        }
        assert_eq!(window.cwnd(), 11);
        for _ in 0..11 {
            reno.on_ack(&mut window, &sample(1));
        }
        assert_eq!(window.cwnd(), 12);
    }

    /// RFC 5681 3.1, equation 4: half of the flight, at least two segments.
    #[test]
    fn halving() {
        let mut reno = Reno::default();
        let window = Window::new(21);
        assert_eq!(reno.on_congestion(&window, 21, Congestion::Loss), 10);
        assert_eq!(reno.on_congestion(&window, 3, Congestion::Timeout), 2);
    }
}
