// SPDX-License-Identifier: Apache-2.0
//! One port's flows as plainly as can be: every bucket is a number, every
//! decision a search over all flows.

use crate::turns::Turns;
use traffic_manager::{PEAK_BURST, ServiceFlowConfig};

/// A byte, in bit/s times nanoseconds.
pub const BYTE: i128 = 8_000_000_000;

/// Tokens that come at a rate up to a depth; 0 is no limit.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub rate: u64,
    depth: i128,
    pub held: i128,
    at: u64,
}

impl Tokens {
    pub fn full(rate: u64, depth: u64) -> Self {
        let depth = i128::from(depth) * BYTE;
        Self {
            rate,
            depth,
            held: depth,
            at: 0,
        }
    }

    pub fn pass(&mut self, now: u64) {
        let earned = i128::from(now - self.at) * i128::from(self.rate);
        self.held = (self.held + earned).min(self.depth);
        self.at = now;
    }

    pub fn spend(&mut self, bytes: u64) {
        self.held -= i128::from(bytes) * BYTE;
    }

    pub fn cap(&mut self, bytes: u64) {
        self.held = self.held.min(i128::from(bytes) * BYTE);
    }

    /// When there are tokens for `bytes`.
    pub fn ready_at(&self, bytes: u64) -> u64 {
        let missing = i128::from(bytes) * BYTE - self.held;
        if self.rate == 0 || missing <= 0 {
            return self.at;
        }
        let rate = i128::from(self.rate);
        self.at + ((missing + rate - 1) / rate) as u64
    }

    /// Since when, or from when on, there are tokens for `bytes`.
    fn since(&self, bytes: u64) -> i128 {
        let missing = i128::from(bytes) * BYTE - self.held;
        i128::from(self.at) - (-missing).div_euclid(i128::from(self.rate))
    }
}

/// A service flow; its frames have at most 1522 bytes.
#[derive(Debug)]
pub struct Flow {
    pub config: ServiceFlowConfig,
    pub queued: Turns,
    sustained: Tokens,
    peak: Tokens,
    reservation: Tokens,
    /// Its own rates let the head go.
    pub ready: bool,
    /// Since when it has had frames that its own rates do not hold back.
    pub since: u64,
}

impl Flow {
    pub fn new(config: ServiceFlowConfig) -> Self {
        let mut new = Self {
            config,
            queued: Turns::new(config.sub_queues),
            sustained: Tokens::full(config.max_sustained_rate, config.max_burst),
            peak: Tokens::full(config.peak_rate, PEAK_BURST),
            reservation: Tokens::full(config.min_reserved_rate, 0),
            ready: false,
            since: 0,
        };
        let second = config.min_reserved_rate / 8;
        new.reservation = Tokens::full(config.min_reserved_rate, second.max(2 * new.frame()));
        new.make_idle();
        new
    }

    /// It has saved up one frame.
    pub fn make_idle(&mut self) {
        self.reservation.cap(self.frame());
    }

    /// The longest frame.
    pub fn frame(&self) -> u64 {
        PEAK_BURST.max(self.config.assumed_packet_size.into())
    }

    /// What a frame spends of the reservation.
    pub fn price(&self, len: u64) -> u64 {
        len.max(self.config.assumed_packet_size.into())
    }

    pub fn pass(&mut self, now: u64) {
        self.sustained.pass(now);
        self.peak.pass(now);
        self.reservation.pass(now);
    }

    pub fn shaped_until(&self) -> u64 {
        let head = self.head().unwrap();
        self.sustained.ready_at(head).max(self.peak.ready_at(head))
    }

    /// The length of the frame that is next.
    pub fn head(&self) -> Option<u64> {
        Some(self.queued.head()?.item)
    }

    pub fn arrive(&mut self, now: u64, sub_queue: u32, len: u64) {
        self.queued.push(sub_queue, len, len);
        if self.queued.len() == 1 {
            self.pass(now);
            self.make_idle();
            self.stand(now);
        }
    }

    /// After the head changed.
    fn stand(&mut self, now: u64) {
        self.ready = self.head().is_some() && self.shaped_until() <= now;
        if self.ready {
            self.since = now;
        }
    }

    /// Its own rates may let it go by now.
    pub fn tick(&mut self, now: u64) {
        if self.ready || self.head().is_none() {
            return;
        }
        let at = self.shaped_until();
        if at <= now {
            self.pass(at);
            self.reservation.cap(2 * self.frame());
            self.ready = true;
            self.since = at;
        }
    }

    /// Since when its head is within the minimum reserved rate, if it is by now.
    pub fn entitled(&self, now: u64) -> Option<i128> {
        if !self.ready || self.config.min_reserved_rate == 0 {
            return None;
        }
        let since = self.reservation.since(self.price(self.head()?));
        (since <= i128::from(now)).then_some(since.max(0))
    }

    /// Its head goes, for nothing.
    pub fn discard(&mut self, now: u64) {
        self.pass(now);
        let since = self.since;
        self.queued.pop(0);
        self.stand(now);
        if self.ready {
            self.since = since;
        }
    }

    pub fn flush(&mut self) {
        self.queued.clear();
        self.ready = false;
    }

    /// Takes another reservation, priority and number of sub-queues.
    pub fn reserve(&mut self, now: u64, config: ServiceFlowConfig) {
        self.pass(now);
        if !self.ready && self.head().is_some() {
            self.reservation.cap(2 * self.frame());
        }
        let new = config.min_reserved_rate > 0 && self.config.min_reserved_rate == 0;
        self.config = config;
        self.queued.set_number(config.sub_queues);
        let depth = (config.min_reserved_rate / 8).max(2 * self.frame());
        self.reservation = Tokens {
            rate: config.min_reserved_rate,
            depth: i128::from(depth) * BYTE,
            ..self.reservation
        };
        self.reservation.cap(depth);
        if new {
            self.reservation.held = i128::from(self.frame()) * BYTE;
        }
        self.stand(now);
    }

    pub fn leave(&mut self, now: u64, entitled: bool) {
        self.pass(now);
        let since = self.since;
        let len = self.head().unwrap();
        self.queued.pop(len);
        self.sustained.spend(len);
        self.peak.spend(len);
        if entitled {
            let price = self.price(len);
            self.reservation.spend(price);
        }
        self.stand(now);
        if self.ready {
            self.since = since;
        }
    }
}
