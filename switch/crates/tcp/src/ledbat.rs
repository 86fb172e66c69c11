// SPDX-License-Identifier: Apache-2.0
//! LEDBAT (RFC 6817): yields to others by keeping the queueing delay that it
//! adds at a target.

use std::collections::VecDeque;

use crate::config::Config;
use crate::window::{AckSample, Congestion, CongestionControl, MAX_WINDOW, Window};

/// RFC 6817 2.5: BASE_HISTORY and CURRENT_FILTER.
const BASE_HISTORY: usize = 10;
const CURRENT_FILTER: usize = 4;
const MINUTE: u64 = 60_000_000_000;
/// RFC 6817 2.5: ALLOWED_INCREASE and MIN_CWND, in segments.
const ALLOWED_INCREASE: u32 = 1;
const MIN_CWND: u32 = 2;
/// Segments' fractions are counted in this.
const ONE: i64 = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Ledbat {
    /// TARGET, nanoseconds.
    target: i64,
    /// The least delay of each of the last minutes.
    base: VecDeque<i64>,
    /// When the last of them began.
    minute: u64,
    /// The last delays.
    current: VecDeque<i64>,
    /// The part of a segment by which the window is larger.
    fraction: i64,
}

impl Ledbat {
    /// Without a delay yet.
    pub(crate) fn new(config: &Config) -> Ledbat {
        Ledbat {
            target: i64::try_from(config.ledbat_target)
                .unwrap_or(i64::MAX)
                .max(1),
            base: VecDeque::new(),
            minute: 0,
            current: VecDeque::new(),
            fraction: 0,
        }
    }

    /// RFC 6817 2.4.2, update_base_delay and update_current_delay.
    fn update(&mut self, now: u64, delay: i64) {
        if self.base.is_empty() || now.saturating_sub(self.minute) >= MINUTE {
            self.base.push_back(delay);
            self.minute = now;
            if self.base.len() > BASE_HISTORY {
                self.base.pop_front();
            }
        } else if let Some(last) = self.base.back_mut() {
            *last = (*last).min(delay);
        }
        self.current.push_back(delay);
        if self.current.len() > CURRENT_FILTER {
            self.current.pop_front();
        }
    }

    /// The queueing delay: what the current delay has over the base.
    fn queueing_delay(&self) -> Option<i64> {
        let base = self.base.iter().min()?;
        let current = self.current.iter().min()?;
        Some(current.saturating_sub(*base).max(0))
    }
}

impl CongestionControl for Ledbat {
    /// RFC 6817 2.4.2, "on acknowledgment", with GAIN 1.
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if let Some(delay) = sample.one_way_delay {
            self.update(sample.now, delay);
        }
        let Some(queueing) = self.queueing_delay() else {
            return;
        };
        // In (-inf, 1]; a delay of eight targets pulls no harder than that.
        let target = self.target;
        let off_target = (target - queueing).clamp(-8 * target, target);
        let acked = i64::from(sample.acked.min(MAX_WINDOW));
        let change = i128::from(off_target) * i128::from(acked * ONE)
            / i128::from(target)
            / i128::from(window.cwnd());
        let cwnd = i128::from(window.cwnd()) * i128::from(ONE) + i128::from(self.fraction) + change;
        // RFC 6817 2.4.2: no more than what was used, and a little.
        let most = sample.flight.saturating_add(ALLOWED_INCREASE).max(MIN_CWND);
        let most = i128::from(most) * i128::from(ONE);
        let cwnd = cwnd.min(most).max(i128::from(MIN_CWND) * i128::from(ONE));
        window.set(u32::try_from(cwnd / i128::from(ONE)).unwrap_or(MAX_WINDOW));
        self.fraction = (cwnd % i128::from(ONE)) as i64;
    }

    /// RFC 6817 2.4.2, "on data loss": half of the window, once a round trip
    /// (fast recovery sees to that).
    fn on_congestion(&mut self, window: &Window, _basis: u32, _why: Congestion) -> u32 {
        self.fraction = 0;
        (window.cwnd() / 2).max(MIN_CWND)
    }

    fn on_idle(&mut self, _idle: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::sample;

    const MILLISECOND: i64 = 1_000_000;

    fn ledbat(target_ms: i64) -> Ledbat {
        Ledbat::new(&Config {
            ledbat_target: (target_ms * MILLISECOND) as u64,
            ..Config::linux()
        })
    }

    fn ack(now: u64, delay: i64, flight: u32) -> AckSample {
        AckSample {
            now,
            one_way_delay: Some(delay * MILLISECOND),
            flight,
            ..sample(1)
        }
    }

    /// The window after twenty ACKs with a target and a queue of so many milliseconds.
    fn after_a_round(target: i64, queueing: i64) -> u32 {
        let (mut ledbat, mut window) = (ledbat(target), Window::new(20));
        // A clock of the other end that is far off.
        ledbat.update(0, -77_000 * MILLISECOND);
        ledbat.current.clear();
        for _ in 0..20 {
            ledbat.on_ack(&mut window, &ack(0, queueing - 77_000, 40));
        }
        window.cwnd()
    }

    /// RFC 6817 2.4.2: without a queue a segment more in a round trip, at the
    /// target none, at twice the target one less.
    #[test]
    fn growth_follows_the_delay() {
        for target in [25, 100] {
            assert!((20..=21).contains(&after_a_round(target, 0)));
            assert_eq!(after_a_round(target, target), 20);
            assert_eq!(after_a_round(target, 2 * target), 18);
        }
    }

    /// RFC 6817 2.4.2: the window is at most what is used, and at least MIN_CWND.
    #[test]
    fn bounds() {
        let (mut ledbat, mut window) = (ledbat(100), Window::new(20));
        ledbat.on_ack(&mut window, &ack(0, 0, 5));
        assert_eq!(window.cwnd(), 6);
        for _ in 0..1000 {
            ledbat.on_ack(&mut window, &ack(0, 5000, 5));
        }
        assert_eq!(window.cwnd(), MIN_CWND);
    }

    /// RFC 6817 2.4.2: the base delay is that of the last ten minutes.
    #[test]
    fn the_base_ages() {
        let mut ledbat = ledbat(100);
        ledbat.update(0, 10);
        for minute in 1..=10 {
            ledbat.update(minute * MINUTE, 50);
        }
        assert_eq!(ledbat.base.iter().min(), Some(&50));
    }

    /// RFC 6817 2.4.2: a loss halves the window.
    #[test]
    fn a_loss_halves() {
        let mut ledbat = ledbat(100);
        assert_eq!(
            ledbat.on_congestion(&Window::new(20), 20, Congestion::Loss),
            10
        );
        assert_eq!(
            ledbat.on_congestion(&Window::new(3), 3, Congestion::Loss),
            2
        );
    }
}
