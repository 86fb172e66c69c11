// SPDX-License-Identifier: Apache-2.0
//! The receive buffer grows with what arrives in a round trip (Fisk and Feng,
//! "Dynamic right-sizing in TCP", 2001).

/// The buffer is as many times what arrived in a round trip: a sender in slow
/// start doubles in the next one, and the measurement is a round trip old.
const HEADROOM: u64 = 4;
/// The timestamp clock's tick (RFC 7323 4.1).
const TICK: u64 = 1_000_000;
const MAX_RTT: u64 = 1 << 40;

#[derive(Clone, Debug)]
pub(crate) struct Autotune {
    buffer: u64,
    max: u64,
    /// The round trip as the receiver sees it.
    rtt: Option<u64>,
    /// The timestamp of ours that was echoed last.
    last_echo: Option<u32>,
    started: u64,
    arrived: u64,
}

impl Autotune {
    pub(crate) fn new(buffer: u32, max: u32) -> Autotune {
        Autotune {
            buffer: u64::from(buffer),
            max: u64::from(max),
            rtt: None,
            last_echo: None,
            started: 0,
            arrived: 0,
        }
    }

    pub(crate) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// A round trip, with what waits in queues: the buffer has to hold that, too.
    pub(crate) fn measured(&mut self, rtt: u64) {
        let rtt = rtt.clamp(1, MAX_RTT);
        self.rtt = Some(self.rtt.map_or(rtt, |smooth| (7 * smooth + rtt) / 8));
    }

    /// Data echoes a timestamp of ours: the first such tells how long it took
    /// from our ACK to the data that this let go.
    pub(crate) fn echoed(&mut self, clock: u32, echo: u32) {
        let passed = clock.wrapping_sub(echo);
        if self.last_echo == Some(echo) || passed as i32 <= 0 {
            return;
        }
        if self.last_echo.is_some() {
            self.measured(u64::from(passed) * TICK);
        }
        self.last_echo = Some(echo);
    }

    /// Data arrives in order.
    pub(crate) fn on_data(&mut self, now: u64, length: u64) {
        self.arrived = self.arrived.saturating_add(length);
        let Some(rtt) = self.rtt else {
            return;
        };
        if now.saturating_sub(self.started) < rtt {
            return;
        }
        let wanted = self.arrived.saturating_mul(HEADROOM).min(self.max);
        self.buffer = self.buffer.max(wanted);
        self.started = now;
        self.arrived = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_trip_has_the_queue_in_it() {
        let mut tune = Autotune::new(1000, 10_000);
        for clock in 0..100 {
            tune.echoed(clock + 30, clock);
            tune.echoed(clock + 31, clock);
        }
        assert_eq!(tune.rtt, Some(30 * TICK));
    }

    #[test]
    fn grows_with_what_arrives() {
        let mut tune = Autotune::new(1000, 10_000);
        tune.measured(100);
        tune.on_data(100, 400);
        assert_eq!(tune.buffer(), 1600);
        tune.on_data(150, 10_000);
        assert_eq!(tune.buffer(), 1600);
        tune.on_data(200, 10);
        assert_eq!(tune.buffer(), 10_000);
        tune.on_data(300, 10);
        assert_eq!(tune.buffer(), 10_000);
    }
}
