// SPDX-License-Identifier: Apache-2.0
//! The receive window grows with what arrives in a round trip (Fisk and Feng,
//! "Dynamic right-sizing in TCP", 2001), in the steps that Linux's traces show
//! (tests/linux/traces/hystart-delay.txt).

/// The timestamp clock's tick (RFC 7323 4.1).
const TICK: u64 = 1_000_000;
const MAX_RTT: u64 = 1 << 40;
/// What a sender is taken to send in the first round trip, in segments.
const FIRST_ROUND: u64 = 10;
/// The window at first, as far as it can be told without a scale.
const FIRST_WINDOW: u64 = 65_535;
/// By how much the window grows for each segment, in its lengths.
const STEP: u64 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Autotune {
    /// Up to where the window may grow now.
    buffer: u64,
    max: u64,
    /// The window as it is.
    window: u64,
    /// The round trip as the receiver sees it.
    rtt: Option<u64>,
    /// The timestamp of ours that was echoed last.
    last_echo: Option<u32>,
    started: u64,
    arrived: u64,
    /// What arrived in the largest round trip so far.
    before: u64,
}

impl Autotune {
    pub(crate) fn new(buffer: u32, max: u32, mss: u64) -> Autotune {
        let (buffer, max) = (u64::from(buffer), u64::from(max));
        let window = if buffer < max {
            (FIRST_WINDOW / mss * mss).min(buffer)
        } else {
            buffer
        };
        Autotune {
            buffer,
            max,
            window,
            rtt: None,
            last_echo: None,
            started: 0,
            arrived: 0,
            before: FIRST_ROUND * mss,
        }
    }

    /// How much may wait to be read.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// A round trip, with what waits in queues: the window has to hold that, too.
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
        // What it took at least: both ticks are cut off.
        self.measured(u64::from(passed.max(2) - 1) * TICK);
        self.last_echo = Some(echo);
    }

    pub(crate) fn rtt(&self) -> u64 {
        self.rtt.unwrap_or(0)
    }

    /// New data arrives, in order or not. True if the window grows with it.
    pub(crate) fn grow(&mut self, length: u64) -> bool {
        let grown = (self.window + STEP * length).min(self.buffer);
        let grows = grown > self.window;
        self.window = self.window.max(grown);
        grows
    }

    /// Data can be read.
    pub(crate) fn on_read(&mut self, now: u64, length: u64) {
        self.arrived = self.arrived.saturating_add(length);
        let round = self
            .rtt
            .is_some_and(|rtt| now.saturating_sub(self.started) >= rtt);
        if round {
            self.finish_round();
            self.started = now;
        }
    }

    /// A round trip is over: room for twice of what arrived, and for the
    /// growth from the last round trip to go on twice.
    fn finish_round(&mut self) {
        let arrived = std::mem::take(&mut self.arrived);
        if arrived <= self.before {
            return;
        }
        let wanted = u128::from(2 * arrived);
        let growth = 2 * wanted * u128::from(arrived - self.before) / u128::from(self.before);
        let wanted = u64::try_from(wanted + growth).unwrap_or(self.max);
        self.buffer = self.buffer.max(wanted.min(self.max));
        self.before = arrived;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_trip_has_the_queue_in_it() {
        let mut tune = Autotune::new(1000, 10_000, 100);
        for clock in 0..100 {
            tune.echoed(clock + 30, clock);
            tune.echoed(clock + 31, clock);
        }
        assert_eq!(tune.rtt, Some(29 * TICK));
    }

    /// Fisk and Feng: twice of what arrives in a round trip, and more while
    /// that grows; two segments for one, up to the bound.
    #[test]
    fn grows_with_what_arrives() {
        let mut tune = Autotune::new(1000, 20_000, 100);
        tune.measured(50);
        tune.on_read(40, 1500);
        assert_eq!(tune.buffer, 1000);
        // 1600 in this round trip, 1000 in the last.
        assert!(!tune.grow(100));
        tune.on_read(50, 100);
        assert_eq!(tune.buffer, 3200 + 3840);
        assert_eq!(tune.window(), 1000);
        assert!(tune.grow(100));
        assert_eq!(tune.window(), 1200);
        tune.on_read(99, 9000);
        tune.on_read(100, 9000);
        assert_eq!(tune.buffer, 20_000);
    }

    #[test]
    fn a_fixed_window_is_there_at_once() {
        let mut tune = Autotune::new(1 << 26, 1 << 26, 1448);
        assert_eq!(tune.window(), 1 << 26);
        assert!(!tune.grow(1000));
    }
}
