// SPDX-License-Identifier: Apache-2.0
//! The round trip and the retransmission timeout (RFC 6298), and the least
//! round trip of the last minutes (RFC 8985 5.3).

/// The window over which the least round trip is taken: between one and two
/// halves of five minutes.
const MIN_RTT_HALF: u64 = 150_000_000_000;
/// RFC 6298 5.7: the timeout after a lost SYN.
const AFTER_LOST_SYN: u64 = 3_000_000_000;
/// The longest round trip that counts as it is.
const MAX_SAMPLE: u64 = 1 << 40;
/// RFC 7323 appendix G expects a measurement for every two segments of a flight.
const SEGMENTS_A_SAMPLE: u64 = 2;
/// More measurements of a round trip than that weigh no less: 2^40 times eight of these fits.
const MAX_EXPECTED: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<u64>,
    rttvar: u64,
    min_rtt: MinRtt,
    config: RtoConfig,
    backoff: u32,
}

/// What the timeout is bound by, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// The timeout before there is a measurement (RFC 6298 2.1): 1 s.
    pub initial: u64,
    /// The clock granularity G of RFC 6298 2.2 and 2.3: what the variation
    /// adds at least.
    pub granularity: u64,
    /// The least timeout (RFC 6298 2.4).
    pub min: u64,
    /// The longest timeout, backed off or not (RFC 6298 2.5).
    pub max: u64,
    /// All measurements of a round trip together weigh as much as the one of RFC 6298 (RFC 7323
    /// appendix G). If not, each weighs as much, and a flight of ten forgets how the round trip varies.
    pub by_flight: bool,
}

#[derive(Clone, Debug, Default)]
struct MinRtt {
    started: u64,
    current: Option<u64>,
    previous: Option<u64>,
}

impl RttEstimator {
    pub(crate) fn new(config: RtoConfig) -> RttEstimator {
        RttEstimator {
            srtt: None,
            rttvar: 0,
            min_rtt: MinRtt::default(),
            config,
            backoff: 0,
        }
    }

    /// Takes a measurement in, of a segment that was sent once (RFC 6298 3,
    /// Karn) or told by a timestamp. `flight` segments were outstanding.
    pub(crate) fn sample(&mut self, now: u64, rtt: u64, flight: usize) {
        let rtt = rtt.clamp(1, MAX_SAMPLE);
        let expected = if self.config.by_flight {
            (flight as u64)
                .div_ceil(SEGMENTS_A_SAMPLE)
                .clamp(1, MAX_EXPECTED)
        } else {
            1
        };
        self.min_rtt.sample(now, rtt);
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = rtt / 2;
            }
            Some(srtt) => {
                self.rttvar = weighed(self.rttvar, srtt.abs_diff(rtt), 4 * expected);
                self.srtt = Some(weighed(srtt, rtt, 8 * expected));
            }
        }
    }

    /// A new round trip is taken as if it were the first, as after a timeout
    /// that was none (RFC 5682 and RFC 4015 3.4 restore, RFC 6298 5.5 clears).
    pub(crate) fn clear_backoff(&mut self) {
        self.backoff = 0;
    }

    /// RFC 6298 5.7: the SYN was lost, and data begins without a measurement.
    pub(crate) fn syn_was_lost(&mut self) {
        self.config.initial = self.config.initial.max(AFTER_LOST_SYN);
    }

    /// RFC 6298 5.5: the timer has expired.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }

    pub(crate) fn srtt(&self) -> Option<u64> {
        self.srtt
    }

    pub(crate) fn rttvar(&self) -> u64 {
        self.rttvar
    }

    pub(crate) fn min_rtt(&self) -> Option<u64> {
        self.min_rtt.get()
    }

    /// The timeout as it stands, backed off.
    pub(crate) fn rto(&self) -> u64 {
        let RtoConfig { min, max, .. } = self.config;
        let base = self.base_rto().clamp(min, max);
        base.saturating_mul(1 << self.backoff).min(max)
    }

    fn base_rto(&self) -> u64 {
        match self.srtt {
            None => self.config.initial,
            Some(srtt) => srtt + (4 * self.rttvar).max(self.config.granularity),
        }
    }
}

/// The average with a new value, which has the weight 1 / `divisor`.
fn weighed(average: u64, new: u64, divisor: u64) -> u64 {
    ((divisor - 1) * average + new) / divisor
}

impl MinRtt {
    fn sample(&mut self, now: u64, rtt: u64) {
        if now.saturating_sub(self.started) >= MIN_RTT_HALF {
            self.previous = self.current.take();
            self.started = now;
        }
        self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
    }

    fn get(&self) -> Option<u64> {
        match (self.current, self.previous) {
            (Some(current), Some(previous)) => Some(current.min(previous)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn estimator(granularity: u64, min: u64) -> RttEstimator {
        RttEstimator::new(RtoConfig {
            initial: 1000 * MS,
            granularity,
            min,
            max: 60_000 * MS,
            by_flight: false,
        })
    }

    /// RFC 6298 2.1: one second before there is a measurement.
    #[test]
    fn before_a_measurement() {
        assert_eq!(estimator(MS, 1000 * MS).rto(), 1000 * MS);
    }

    /// RFC 6298 2.2 and 2.3: SRTT and RTTVAR.
    #[test]
    fn measurements() {
        let mut rtt = estimator(MS, 0);
        rtt.sample(0, 100 * MS, 1);
        assert_eq!(rtt.rto(), 300 * MS);
        rtt.sample(0, 180 * MS, 1);
        // RTTVAR = 3/4 * 50 + 1/4 * 80, SRTT = 7/8 * 100 + 1/8 * 180
        assert_eq!(rtt.srtt(), Some(110 * MS));
        assert_eq!(rtt.rto(), (110 + 4 * 57) * MS + 2 * MS);
        for _ in 0..200 {
            rtt.sample(0, 100 * MS, 1);
        }
        // The variation is gone; the granularity remains.
        assert!(rtt.rto().abs_diff(101 * MS) < MS / 10, "{}", rtt.rto());
    }

    /// RFC 6298 2.4 and 2.5: bounds below and above; 5.5: backing off.
    #[test]
    fn bounds_and_backing_off() {
        let mut rtt = estimator(MS, 1000 * MS);
        rtt.sample(0, 20 * MS, 1);
        assert_eq!(rtt.rto(), 1000 * MS);
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), 4000 * MS);
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), 60_000 * MS);
        rtt.clear_backoff();
        assert_eq!(rtt.rto(), 1000 * MS);
    }

    /// RFC 7323 appendix G: the measurements of a flight forget as much as the one of RFC 6298.
    #[test]
    fn a_flight_of_measurements() {
        let by_flight = |by_flight| {
            let mut rtt = RttEstimator::new(RtoConfig {
                by_flight,
                ..estimator(MS, 0).config
            });
            rtt.sample(0, 100 * MS, 1);
            // A flight of 40 segments, of which every second is acknowledged.
            for _ in 0..20 {
                rtt.sample(0, 100 * MS, 40);
            }
            rtt.rto()
        };
        // The variation was half of the first measurement: (3/4)^20 of it are left, or (79/80)^20.
        assert_eq!(by_flight(false), 101 * MS);
        let left = 200.0 * (79.0_f64 / 80.0).powi(20);
        assert!(by_flight(true).abs_diff(100 * MS + (left * 1e6) as u64) < 1000);
    }

    /// However long the flight and the round trip, nothing overflows.
    #[test]
    fn a_flight_without_end() {
        let mut rtt = RttEstimator::new(RtoConfig {
            by_flight: true,
            ..estimator(MS, 0).config
        });
        for _ in 0..3 {
            rtt.sample(0, u64::MAX, usize::MAX);
        }
        assert_eq!(rtt.srtt(), Some(MAX_SAMPLE));
    }

    /// RFC 8985 5.3: the least round trip, of the last minutes only.
    #[test]
    fn the_least_round_trip_ages() {
        let mut rtt = estimator(MS, 0);
        rtt.sample(0, 10 * MS, 1);
        rtt.sample(MIN_RTT_HALF, 30 * MS, 1);
        assert_eq!(rtt.min_rtt(), Some(10 * MS));
        rtt.sample(2 * MIN_RTT_HALF, 20 * MS, 1);
        assert_eq!(rtt.min_rtt(), Some(20 * MS));
    }
}
