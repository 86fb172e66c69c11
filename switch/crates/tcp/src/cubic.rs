// SPDX-License-Identifier: Apache-2.0
//! CUBIC (RFC 9438) in integers. Windows are in 2^-20 segments, times in
//! milliseconds.

use crate::hystart::HyStart;
use crate::window::{AckSample, Congestion, CongestionControl, MAX_WINDOW, Window};

const FRACTION: u32 = 20;
const ONE: u64 = 1 << FRACTION;
const MILLISECOND: u64 = 1_000_000;

/// beta_cubic is 0.7 (RFC 9438 4.6).
const BETA: (u64, u64) = (7, 10);
/// C is 0.4 segments per cubic second (RFC 9438 5.1): 4 in 10^10 per cubic
/// millisecond.
const C: (u64, u64) = (4, 10_000_000_000);
/// alpha_cubic is 3 (1 - beta) / (1 + beta) = 9/17 (RFC 9438 4.3). It stays
/// that beyond the old window, where the RFC would have 1: Linux's trace
/// tests/linux/traces/flight-cubic.txt shows no more.
const ALPHA: (u64, u64) = (9, 17);
/// Before there was a loss Linux grows at least by a segment for so many, as
/// its traces show (tests/linux/traces/hystart-*): a twentieth a round trip. It
/// does so after a timeout, too, which forgets the loss before (RFC 9438 4.8).
/// The RFC has no such growth.
const FIRST_GROWTH: u64 = 20;
/// The longest time from the plateau that is told apart: 17 minutes.
const MAX_TIME: i64 = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    hystart: Option<HyStart>,
    /// Grows as Linux does before the first loss.
    first_growth: bool,
    /// Where the window was when it was last reduced, for fast convergence.
    w_max: u64,
    epoch: Option<Epoch>,
    /// The part of a segment by which the window is larger.
    fraction: u64,
}

/// A stage of congestion avoidance (RFC 9438 4.1).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When it began.
    start: u64,
    /// The plateau, W_max of this stage.
    origin: u64,
    /// When the plateau is reached, in milliseconds from the start.
    k: i64,
    /// W_est: what Reno's window would be.
    w_est: u64,
}

impl Cubic {
    pub(crate) fn new(hystart: Option<HyStart>, first_growth: bool) -> Cubic {
        Cubic {
            hystart,
            first_growth,
            w_max: 0,
            epoch: None,
            fraction: 0,
        }
    }

    /// Begins a stage of congestion avoidance (RFC 9438 4.2).
    fn begin(&self, now: u64, cwnd: u64) -> Epoch {
        let (origin, k) = if self.w_max > cwnd {
            (self.w_max, time_to(self.w_max - cwnd))
        } else {
            (cwnd, 0)
        };
        Epoch {
            start: now,
            origin,
            k,
            w_est: cwnd,
        }
    }

    /// RFC 9438 4.2 to 4.5: the growth for `acked` segments.
    fn congestion_avoidance(&mut self, window: &mut Window, acked: u32, sample: &AckSample) {
        let cwnd = u64::from(window.cwnd()) << FRACTION;
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(sample.now, cwnd));
        let acked = u64::from(acked);
        // RFC 9438 4.2: the target is W_cubic a round trip ahead.
        let ahead = sample.now.saturating_sub(epoch.start) + sample.min_rtt.unwrap_or(0);
        let time = i64::try_from(ahead / MILLISECOND).unwrap_or(MAX_TIME);
        // RFC 9438 4.3: never below what Reno would have.
        epoch.w_est += per_window(ONE * ALPHA.0 / ALPHA.1, acked, cwnd);
        let w_est = epoch.w_est / ONE * ONE;
        let target = epoch.w_cubic(time).max(w_est).clamp(cwnd, cwnd + cwnd / 2);
        let fine = cwnd + self.fraction;
        let mut grown = fine + per_window(target - cwnd, acked, cwnd);
        if self.first_growth && self.w_max == 0 {
            grown = grown.max(fine + acked * ONE / FIRST_GROWTH);
        }
        window.set(u32::try_from(grown >> FRACTION).unwrap_or(MAX_WINDOW));
        self.fraction = grown % ONE;
        self.epoch = Some(epoch);
    }
}

impl Epoch {
    /// W_cubic(t) of RFC 9438 4.2, equation 1.
    fn w_cubic(&self, time: i64) -> u64 {
        let distance = (time - self.k).clamp(-MAX_TIME, MAX_TIME);
        // At most 2^60.
        let cube = distance.unsigned_abs().pow(3);
        // In whole segments, as Linux's trace tests/linux/traces/long-cubic.txt
        // shows: rounded up before the plateau and down behind it.
        let change = cube * C.0 / C.1 * ONE;
        if distance < 0 {
            self.origin.saturating_sub(change)
        } else {
            self.origin.saturating_add(change)
        }
    }
}

/// What `growth` a window is for `acked` segments of a window of `cwnd`.
fn per_window(growth: u64, acked: u64, cwnd: u64) -> u64 {
    let cwnd = cwnd.max(ONE);
    if let Some(total) = growth.checked_mul(acked * ONE) {
        return total / cwnd;
    }
    let total = u128::from(growth) * u128::from(acked * ONE) / u128::from(cwnd);
    u64::try_from(total).unwrap_or(u64::from(MAX_WINDOW) << FRACTION)
}

/// K of RFC 9438 4.2, equation 2: the cube root of `distance` over C.
fn time_to(distance: u64) -> i64 {
    let cube = u128::from(distance) * u128::from(C.1) / u128::from(C.0 * ONE);
    cube_root(cube) as i64
}

/// The largest number whose cube is at most `value`, bit by bit.
fn cube_root(value: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..42).rev() {
        let candidate = root | 1 << bit;
        if candidate * candidate * candidate <= value {
            root = candidate;
        }
    }
    root as u64
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        if let Some(hystart) = &mut self.hystart {
            hystart.on_ack(window, sample);
        }
        if !sample.limited {
            return;
        }
        // RFC 9438 4.3 counts segments, however they are acknowledged.
        let mut acked = sample.acked;
        if window.in_slow_start() {
            acked = window.slow_start(sample.counted());
        }
        if acked > 0 {
            self.congestion_avoidance(window, acked, sample);
        }
    }

    /// RFC 9438 4.6 to 4.8.
    fn on_congestion(&mut self, _window: &Window, basis: u32, why: Congestion) -> u32 {
        let cwnd = u64::from(basis) << FRACTION;
        // RFC 9438 4.7: fast convergence gives room to new flows.
        self.w_max = if cwnd < self.w_max {
            cwnd * (BETA.0 + BETA.1) / (2 * BETA.1)
        } else {
            cwnd
        };
        self.epoch = None;
        self.fraction = 0;
        if why == Congestion::Timeout {
            // RFC 9438 4.8: after a timeout the plateau is where slow start ends.
            self.w_max = 0;
            if let Some(hystart) = &mut self.hystart {
                hystart.restart();
            }
        }
        let reduced = u64::from(basis) * BETA.0 / BETA.1;
        u32::try_from(reduced).unwrap_or(MAX_WINDOW).max(2)
    }

    /// RFC 9438 5.8: time without data does not count.
    fn on_idle(&mut self, idle: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::sample;

    const RTT: u64 = 100 * MILLISECOND;

    /// A round trip in which every segment is acknowledged on its own.
    fn round(cubic: &mut Cubic, window: &mut Window, now: u64) {
        let acks = window.cwnd();
        for ack in 0..acks {
            let sample = AckSample {
                now: now + RTT * u64::from(ack) / u64::from(acks),
                min_rtt: Some(RTT),
                ..sample(1)
            };
            cubic.on_ack(window, &sample);
        }
    }

    /// RFC 9438 4.3 counts segments, RFC 5681 3.1 in slow start ACKs.
    #[test]
    fn an_ack_for_two() {
        let grown = |ssthresh, per_ack| {
            let (mut cubic, mut window) = reduced(100);
            window.ssthresh = ssthresh;
            for ack in 0..1000 {
                let sample = AckSample {
                    now: ack * MILLISECOND,
                    per_ack,
                    ..sample(2)
                };
                cubic.on_ack(&mut window, &sample);
            }
            window.cwnd()
        };
        assert_eq!(grown(10, true), grown(10, false));
        assert_eq!(grown(u32::MAX, true), 70 + 1000);
        assert_eq!(grown(u32::MAX, false), 70 + 2000);
    }

    fn reduced(cwnd: u32) -> (Cubic, Window) {
        let (mut cubic, mut window) = (Cubic::new(None, true), Window::new(cwnd));
        window.ssthresh = cubic.on_congestion(&window, cwnd, Congestion::Loss);
        window.set(window.ssthresh);
        (cubic, window)
    }

    #[test]
    fn the_cube_root_is_exact() {
        for root in [0u128, 1, 2, 7, 1000, 123_456, (1 << 42) - 1] {
            let cube = root * root * root;
            assert_eq!(u128::from(cube_root(cube)), root);
            if root > 0 {
                assert_eq!(u128::from(cube_root(cube - 1)), root - 1);
            }
        }
    }

    /// RFC 9438 4.6: the window is reduced to 0.7 of it.
    #[test]
    fn multiplicative_decrease() {
        assert_eq!(reduced(1000).1.cwnd(), 700);
    }

    /// RFC 9438 4.2: the plateau is reached after K = cbrt(W_max (1 - beta) / C),
    /// 9.08 s for 1000 segments, concave before and convex behind.
    #[test]
    fn the_cubic_function() {
        let (mut cubic, mut window) = reduced(1000);
        let mut at_plateau = None;
        let mut history = Vec::new();
        for count in 0..150 {
            let now = count * RTT;
            round(&mut cubic, &mut window, now);
            history.push(window.cwnd());
            if window.cwnd() >= 999 && at_plateau.is_none() {
                at_plateau = Some(now);
            }
        }
        let k = cubic.epoch.unwrap().k;
        assert!((9085..=9086).contains(&k), "{k}");
        // W_cubic at 5 s is 1000 - 0.4 * 4.086^3 = 973, reached a round trip ahead.
        assert!(history[49].abs_diff(973) <= 2, "{}", history[49]);
        // At 15 s: 1000 + 0.4 * 5.914^3 = 1083.
        assert!(history[149].abs_diff(1083) <= 3, "{}", history[149]);
        assert!(at_plateau.unwrap() > 7 * RTT * 10);
    }

    /// RFC 9438 4.3: on a short path it is as fast as Reno.
    #[test]
    fn reno_friendly() {
        let (mut cubic, mut window) = reduced(20);
        assert_eq!(window.cwnd(), 14);
        let rtt = 5 * MILLISECOND;
        let mut now = 0;
        for _ in 0..34 {
            for _ in 0..window.cwnd() {
                let ack = AckSample {
                    now,
                    min_rtt: Some(rtt),
                    ..sample(1)
                };
                cubic.on_ack(&mut window, &ack);
            }
            now += rtt;
        }
        // 9/17 of a segment a round.
        assert!((31..=32).contains(&window.cwnd()), "{}", window.cwnd());
    }

    /// RFC 9438 4.4 and 4.5: at most half of a window more in a round trip.
    #[test]
    fn growth_is_bounded() {
        let (mut cubic, mut window) = reduced(10);
        round(&mut cubic, &mut window, 0);
        let before = window.cwnd();
        // Long after the plateau.
        round(&mut cubic, &mut window, 900_000 * MILLISECOND);
        assert!(window.cwnd() <= before + before, "{}", window.cwnd());
    }

    /// RFC 9438 4.7: fast convergence.
    #[test]
    fn fast_convergence() {
        let (mut cubic, window) = reduced(1000);
        cubic.on_congestion(&window, 700, Congestion::Loss);
        assert_eq!(cubic.w_max >> FRACTION, 595);
    }

    /// RFC 9438 4.8: after a timeout K is 0 and the window where it is.
    #[test]
    fn after_a_timeout() {
        let (mut cubic, mut window) = (Cubic::new(None, true), Window::new(100));
        window.ssthresh = cubic.on_congestion(&window, 100, Congestion::Timeout);
        window.set(70);
        round(&mut cubic, &mut window, 0);
        let epoch = cubic.epoch.unwrap();
        assert_eq!((epoch.k, epoch.origin >> FRACTION), (0, 70));
    }

    /// RFC 9438 4.8: ten round trips of 0.3 s after a timeout, 0.4 (3.3 s)^3 = 14 segments more. Linux
    /// has a twentieth a round trip.
    #[test]
    fn growth_after_a_timeout() {
        let grown = |first_growth| {
            let (mut cubic, mut window) = (Cubic::new(None, first_growth), Window::new(900));
            window.ssthresh = cubic.on_congestion(&window, 900, Congestion::Timeout);
            window.set(window.ssthresh);
            for count in 0..10 {
                for _ in 0..window.cwnd() {
                    let ack = AckSample {
                        now: count * 300 * MILLISECOND,
                        min_rtt: Some(300 * MILLISECOND),
                        ..sample(1)
                    };
                    cubic.on_ack(&mut window, &ack);
                }
            }
            window.cwnd() - 630
        };
        assert!((8..=14).contains(&grown(false)), "{}", grown(false));
        assert!((380..=400).contains(&grown(true)), "{}", grown(true));
    }

    /// RFC 9438 5.8: an idle sender's window does not jump.
    #[test]
    fn idle_time_does_not_count() {
        let (mut cubic, mut window) = reduced(100);
        round(&mut cubic, &mut window, 0);
        let start = cubic.epoch.unwrap().start;
        cubic.on_idle(5000 * MILLISECOND);
        assert_eq!(cubic.epoch.unwrap().start, start + 5000 * MILLISECOND);
    }
}
