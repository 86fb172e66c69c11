// SPDX-License-Identifier: Apache-2.0
//! The departure of PIE as the slides of 002 have it, in floating point. Times in
//! microseconds, rates in packets a second.

/// More than that the pipeline does not count, packets a second.
const FASTEST: f64 = 16_777_216.0;

#[derive(Debug)]
pub struct Pie002 {
    /// What the slides print as target_delay where they compare numbers of packets.
    pub dq_threshold: i64,
    pub max_burst: i64,
    pub dq_count: i64,
    dq_start: u64,
    /// 0 is not measured yet: the first measurement is taken as it is.
    pub departure_rate: f64,
    pub burst_allowance: i64,
    pub measurements: usize,
}

impl Pie002 {
    pub fn new(dq_threshold: i64, max_burst: i64) -> Self {
        Self {
            dq_threshold,
            max_burst,
            dq_count: -1,
            dq_start: 0,
            departure_rate: 0.0,
            burst_allowance: max_burst,
            measurements: 0,
        }
    }

    /// What an update does when all is quiet.
    pub fn reset(&mut self) {
        self.dq_count = -1;
        self.departure_rate = 0.0;
        self.burst_allowance = self.max_burst;
    }

    /// A packet has left `level` packets behind it.
    pub fn departure(&mut self, cur_time: u64, level: i64) {
        if level >= self.dq_threshold && self.dq_count == -1 {
            self.dq_start = cur_time;
            self.dq_count = 0;
        }
        // In a measurement cycle.
        if self.dq_count != -1 {
            self.dq_count += 1;
            // Done with a measurement cycle.
            if self.dq_count >= self.dq_threshold {
                let tmp = cur_time - self.dq_start;
                let rate = self.dq_count as f64 / (tmp.max(1) as f64 / 1e6);
                let rate = rate.min(FASTEST);
                self.departure_rate = if self.departure_rate == 0.0 {
                    rate
                } else {
                    0.9 * self.departure_rate + 0.1 * rate
                };
                self.measurements += 1;
                if level > self.dq_threshold {
                    self.dq_start = cur_time;
                    self.dq_count = 0;
                } else {
                    self.dq_count = -1;
                }
                // Update burst allowance.
                if self.burst_allowance > 0 {
                    self.burst_allowance -= tmp.max(1) as i64;
                }
            }
        }
    }
}
