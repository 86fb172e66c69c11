// SPDX-License-Identifier: Apache-2.0
//! CoDel as the slides of 002 have it, word for word. Times in microseconds.

use super::codel::inverse;

/// The slides' configured parameters and state variables. `switch_to_dropping` and
/// `switch_to_not_dropping` are not on the slides: what they do follows from what the state
/// variables are said to be.
#[derive(Debug, Default)]
pub struct Codel002 {
    pub target: u64,
    pub interval: u64,
    pub dropping: bool,
    pub drop_now: bool,
    pub drop_next: u64,
    /// "The number of drops since entering the last drop state".
    pub count: u64,
    pub first_above_time: u64,
    /// How often it went to the dropping state.
    pub episodes: usize,
}

impl Codel002 {
    pub fn new(target: u64, interval: u64) -> Self {
        Self {
            target,
            interval,
            ..Self::default()
        }
    }

    fn control_law(&self, t: u64) -> u64 {
        let root = inverse(u128::from(self.count));
        t + ((u128::from(self.interval) * root) >> 31) as u64
    }

    /// On packet arrival to a system where all channels are busy: whether it is dropped.
    pub fn arrival(&mut self, cur_time: u64) -> bool {
        let mut drop_flag = false;
        if self.dropping {
            if self.drop_now {
                drop_flag = true;
                self.drop_now = false;
            } else if self.drop_next == 0 {
                self.count += 1;
                self.drop_next = self.control_law(cur_time);
            } else if cur_time > self.drop_next {
                drop_flag = true;
            }
        }
        if drop_flag {
            self.count += 1;
            self.drop_next = self.control_law(cur_time);
        }
        drop_flag
    }

    /// When a channel is available, and a packet that waited `d_exp` leaves.
    pub fn departure(&mut self, cur_time: u64, d_exp: u64) {
        if self.dropping {
            if d_exp < self.target {
                self.switch_to_not_dropping();
            }
        } else if d_exp > self.target {
            if self.first_above_time == 0 {
                self.first_above_time = cur_time + self.interval;
            } else if cur_time >= self.first_above_time {
                self.switch_to_dropping();
            }
        } else {
            self.first_above_time = 0;
        }
    }

    fn switch_to_dropping(&mut self) {
        self.dropping = true;
        self.drop_now = true;
        self.drop_next = 0;
        self.count = 0;
        self.episodes += 1;
    }

    fn switch_to_not_dropping(&mut self) {
        self.dropping = false;
        self.first_above_time = 0;
    }
}
