// SPDX-License-Identifier: Apache-2.0
//! The departure rate's estimator, deque() of RFC 8033, appendix B, in exact arithmetic.

const DQ_THRESHOLD: usize = 1 << 14;
/// What the pipeline's average may be off by, in its unit, 1/256 us: each update
/// rounds by less than one, and a quarter of the error goes with the next.
pub const ROUNDING: f64 = 4.0;
pub const UNIT: f64 = 256.0;

#[derive(Debug, Default)]
pub struct DepartureRate {
    in_measurement: bool,
    measurement_start: u64,
    dq_count: usize,
    /// Microseconds; 0 is no estimate.
    pub avg_dq_time: f64,
    pub updates: usize,
}

impl DepartureRate {
    /// A packet of `length` bytes has left `bytes` behind it, at `now` in microseconds.
    pub fn deque(&mut self, length: usize, bytes: usize, now: u64) {
        if self.in_measurement {
            self.dq_count += length;
            if self.dq_count >= DQ_THRESHOLD {
                let dq_time = (now - self.measurement_start) as f64;
                if self.avg_dq_time == 0.0 {
                    self.avg_dq_time = dq_time;
                } else {
                    let weight = DQ_THRESHOLD as f64 / 65536.0;
                    self.avg_dq_time = dq_time * weight + self.avg_dq_time * (1.0 - weight);
                }
                self.updates += 1;
                self.in_measurement = false;
            }
        }
        if bytes >= DQ_THRESHOLD && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0;
        }
    }

    /// Whether the register has this average.
    pub fn agrees(&self, register: u64) -> bool {
        (register as f64 - self.avg_dq_time * UNIT).abs() <= ROUNDING
            && (register == 0) == (self.avg_dq_time == 0.0)
    }
}
