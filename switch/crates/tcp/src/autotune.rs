// SPDX-License-Identifier: Apache-2.0
//! The receive buffer grows with what arrives in a round trip (Fisk and Feng,
//! "Dynamic right-sizing in TCP", 2001).

/// The buffer is as many times what arrived in a round trip: a sender in slow
/// start doubles in the next one, and the measurement is a round trip old.
const HEADROOM: u64 = 4;

#[derive(Clone, Debug)]
pub(crate) struct Autotune {
    buffer: u64,
    max: u64,
    /// The round trip as the receiver sees it.
    rtt: Option<u64>,
    started: u64,
    arrived: u64,
}

impl Autotune {
    pub(crate) fn new(buffer: u32, max: u32) -> Autotune {
        Autotune {
            buffer: u64::from(buffer),
            max: u64::from(max),
            rtt: None,
            started: 0,
            arrived: 0,
        }
    }

    pub(crate) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// The handshake's round trip, or one that a timestamp tells.
    pub(crate) fn measured(&mut self, rtt: u64) {
        // The least: what waits in a queue needs no buffer here.
        self.rtt = Some(self.rtt.map_or(rtt, |least| least.min(rtt)).max(1));
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
