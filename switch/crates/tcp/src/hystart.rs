// SPDX-License-Identifier: Apache-2.0
//! HyStart: leaves slow start before the queue overflows, as Linux's CUBIC
//! does: by the delay, with the thresholds of RFC 9406 4.2, and by the length
//! of a train of ACKs (Ha and Rhee, "Taming the elephants", 2011). There is no
//! Conservative Slow Start: the exit is final.

use crate::window::{AckSample, Window};

const MILLISECOND: u64 = 1_000_000;
/// RFC 9406 4.2, MIN_RTT_THRESH and MAX_RTT_THRESH, with divisor 8.
const MIN_RTT_THRESH: u64 = 4 * MILLISECOND;
const MAX_RTT_THRESH: u64 = 16 * MILLISECOND;
/// RFC 9406 4.2, N_RTT_SAMPLE.
const N_RTT_SAMPLE: u32 = 8;
/// ACKs that follow each other within this belong to one train.
const TRAIN_GAP: u64 = 2 * MILLISECOND;
/// How much longer than half of the round trip a train has to be: between 356
/// and 561 us by Linux's trace tests/linux/traces/hystart-train.txt.
const TRAIN_SLACK: u64 = MILLISECOND / 2;
/// Below this window nothing is looked for.
const LOW_WINDOW: u32 = 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct HyStart {
    /// The least round trip seen.
    delay_min: Option<u64>,
    round: Option<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// SND.NXT when the round began: it ends when that is acknowledged.
    end: u64,
    start: u64,
    last_ack: u64,
    least: u64,
    samples: u32,
}

impl HyStart {
    /// Looks at an ACK; sets ssthresh to the window when slow start is to end.
    pub(crate) fn on_ack(&mut self, window: &mut Window, sample: &AckSample) {
        let Some(rtt) = sample.rtt else {
            return;
        };
        let delay_min = self.delay_min.map_or(rtt, |least| least.min(rtt));
        self.delay_min = Some(delay_min);
        if !window.in_slow_start() {
            return;
        }
        let round = match &mut self.round {
            Some(round) if sample.una <= round.end => round,
            round => round.insert(Round {
                end: sample.nxt,
                start: sample.now,
                last_ack: sample.now,
                least: u64::MAX,
                samples: 0,
            }),
        };
        let full = window.cwnd() >= LOW_WINDOW;
        if full && round.found(sample.now, rtt, delay_min) {
            window.ssthresh = window.cwnd();
        }
    }

    /// Slow start begins anew.
    pub(crate) fn restart(&mut self) {
        self.round = None;
    }
}

impl Round {
    fn found(&mut self, now: u64, rtt: u64, delay_min: u64) -> bool {
        // A train as long as the way there is says that the path is full.
        if now.saturating_sub(self.last_ack) <= TRAIN_GAP {
            self.last_ack = now;
            if now.saturating_sub(self.start) > delay_min / 2 + TRAIN_SLACK {
                return true;
            }
        }
        // RFC 9406 4.2: the least of the first samples of the round.
        self.least = self.least.min(rtt);
        if self.samples < N_RTT_SAMPLE {
            self.samples += 1;
            return false;
        }
        let threshold = (delay_min / 8).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
        self.least > delay_min + threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::sample;

    fn ack(now: u64, rtt: u64, una: u64, nxt: u64) -> AckSample {
        AckSample {
            now: now * MILLISECOND,
            rtt: Some(rtt * MILLISECOND),
            una,
            nxt,
            ..sample(1)
        }
    }

    /// RFC 9406 4.2: eight samples of a round that are all an eighth of the
    /// round trip later than the least.
    #[test]
    fn delay() {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(20));
        hystart.on_ack(&mut window, &ack(0, 80, 1, 100));
        for count in 0..9 {
            hystart.on_ack(&mut window, &ack(100 + 5 * count, 91, 101 + count, 300));
        }
        assert_eq!(window.ssthresh, 20);
    }

    #[test]
    fn a_single_late_sample_is_nothing() {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(20));
        for count in 0..30 {
            let rtt = if count % 5 == 0 { 81 } else { 95 };
            hystart.on_ack(&mut window, &ack(5 * count, rtt, 1 + count, 100));
        }
        assert!(window.in_slow_start());
    }

    /// Ha and Rhee, section 4.1: a train of ACKs as long as half of the round trip.
    #[test]
    fn train() {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(40));
        for count in 0..=20 {
            hystart.on_ack(&mut window, &ack(2 * count, 80, 1 + count, 100));
            assert!(window.in_slow_start());
        }
        hystart.on_ack(&mut window, &ack(42, 80, 30, 100));
        assert_eq!(window.ssthresh, 40);
    }

    #[test]
    fn gaps_break_a_train() {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(40));
        for count in 0..50 {
            hystart.on_ack(&mut window, &ack(3 * count, 80, 1 + count, 100));
        }
        assert!(window.in_slow_start());
    }

    /// RFC 9406 4.2 looks at windows of 16 segments and more.
    #[test]
    fn small_windows_are_left_alone() {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(15));
        for count in 0..50 {
            hystart.on_ack(&mut window, &ack(2 * count, 80 + count, 1 + count, 100));
        }
        assert!(window.in_slow_start());
    }
}
