// SPDX-License-Identifier: Apache-2.0
//! The departure rate of p4src/include/departure_rate.p4, value by value.

use crate::common::departure_rate::DepartureRate;
use crate::common::modem::{
    CODEL, CODEL_DT, DOCSIS_PIE, DROP_TAIL, Flow, Frame, MAX_PACKET, Modem, PIE, SHORTEST, START,
    number,
};
use proptest::prelude::*;

/// A device and the RFC's estimator side by side.
struct Pair {
    modem: Modem,
    flow: Flow,
    rate: DepartureRate,
    /// Length and generation of each frame.
    frames: Vec<(usize, u8)>,
    sessions: u32,
    generation: u8,
    queued: usize,
    updates: usize,
}

impl Pair {
    fn new(manager: u8, rate: u64) -> Self {
        let flow = Flow {
            manager,
            rate,
            max_burst: 20_000,
            ..Flow::default()
        };
        Self {
            modem: Modem::new(&flow),
            flow,
            rate: DepartureRate::default(),
            frames: Vec::new(),
            sessions: 1,
            generation: 0,
            queued: 0,
            updates: 0,
        }
    }

    fn run(&mut self, now: u64) {
        let (frames, rate) = (&self.frames, &mut self.rate);
        self.modem.run(now, |modem, at, frame| {
            let (length, generation) = frames[number(frame) as usize];
            // Never back to one that was before.
            let ahead = generation.wrapping_sub(self.generation);
            if ahead != 0 && ahead < 128 {
                self.generation = generation;
                self.updates += rate.updates;
                *rate = DepartureRate::default();
            }
            self.queued -= length;
            rate.deque(length, self.queued, at / 1000);
            let register = modem.state("pie_avg_dq_time");
            assert!(rate.agrees(register), "{register} for {rate:?}");
        });
    }

    fn receive(&mut self, now: u64, length: usize) {
        let number = self.frames.len() as u32;
        self.frames.push((length, self.flow.generation));
        self.queued += length;
        self.modem.receive(
            now,
            Frame {
                session: number % self.sessions,
                number,
                length,
            },
        );
    }

    fn restart(&mut self, now: u64) {
        self.flow.generation = self.flow.generation.wrapping_add(1);
        self.modem.provision(now, &self.flow);
    }
}

/// Pauses in microseconds and the lengths of the frames behind them.
fn load() -> impl Strategy<Value = Vec<(u64, Vec<usize>)>> {
    let lengths = prop::collection::vec(SHORTEST..=MAX_PACKET, 1..40);
    prop::collection::vec((0u64..30_000, lengths), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_average_is_the_rfcs(
        load in load(),
        dt in any::<bool>(),
        rate in 1_000_000u64..100_000_000,
        restart in 5usize..100,
    ) {
        let mut pair = Pair::new(if dt { CODEL_DT } else { PIE }, rate);
        let mut now = START;
        for (n, (pause, lengths)) in load.into_iter().enumerate() {
            now += pause * 1000;
            pair.run(now);
            // While frames wait: the first of the new generation begins afresh.
            if n % restart == restart - 1 {
                pair.restart(now);
            }
            for length in lengths {
                pair.receive(now, length);
            }
        }
        pair.run(u64::MAX);
        prop_assert_eq!(pair.queued, 0);
    }

    /// With flow queues the frames of a generation leave among those of the next: the
    /// state begins afresh once.
    #[test]
    fn a_generation_begins_once(load in load(), restart in 2usize..20, from in any::<u8>()) {
        let mut pair = Pair::new(PIE, 8_000_000);
        pair.sessions = 16;
        pair.flow.flow_queuing = true;
        pair.flow.sub_queues = 32;
        pair.flow.generation = from;
        pair.generation = from;
        pair.modem.set_state("pie_generation", u64::from(from));
        pair.modem.hashed(100, 32);
        pair.modem.provision(START, &pair.flow);
        let mut now = START;
        for (n, (pause, lengths)) in load.into_iter().enumerate() {
            now += pause * 1000;
            pair.run(now);
            if n % restart == restart - 1 {
                pair.restart(now);
            }
            for length in lengths {
                pair.receive(now, length);
            }
        }
        pair.run(u64::MAX);
        prop_assert_eq!(pair.queued, 0);
    }
}

/// What an old and a new generation of 16 sessions leave behind when they take turns.
#[test]
fn generations_that_take_turns_are_measured() {
    let mut pair = Pair::new(PIE, 8_000_000);
    pair.sessions = 16;
    pair.flow.flow_queuing = true;
    pair.flow.sub_queues = 32;
    pair.modem.hashed(100, 32);
    pair.modem.provision(START, &pair.flow);
    pair.modem.block(START);
    (0..200).for_each(|_| pair.receive(START, 1000));
    pair.restart(START);
    pair.modem.block(START);
    // Those of the new generation are of other sessions.
    pair.sessions = 5;
    (0..200).for_each(|_| pair.receive(START, 1000));
    pair.modem.provision(START, &pair.flow);
    pair.run(u64::MAX);
    assert_eq!(pair.modem.state("pie_generation"), 1);
    assert!(pair.modem.state("pie_avg_dq_time") > 0);
}

/// A number that has gone round while no frame came is new, however far it looks behind.
#[test]
fn a_generation_of_long_ago_is_not_a_later_one() {
    for later in [1, 127, 128, 200, 255] {
        let mut pair = Pair::new(PIE, 8_000_000);
        (0..100).for_each(|_| pair.receive(START, 1000));
        pair.run(u64::MAX);
        assert!(pair.modem.state("pie_avg_dq_time") > 0);
        pair.flow.generation = later;
        let now = START + 3_600_000_000_000;
        pair.modem.provision(now, &pair.flow);
        let frame = Frame {
            session: 1,
            number: 0,
            length: 1000,
        };
        assert!(pair.modem.passes(now, frame));
        assert_eq!(pair.modem.state("pie_avg_dq_time"), 0, "{later}");
        assert_eq!(pair.modem.state("pie_generation"), u64::from(later));
    }
}

/// A load that ends in the same average as the rate tells.
#[test]
fn a_steady_rate_is_found() {
    let mut pair = Pair::new(PIE, 20_000_000);
    let mut now = START;
    for n in 0..4_000 {
        pair.receive(now, 1000);
        if n >= 100 {
            now += 400_000;
            pair.run(now);
        }
    }
    assert!(pair.rate.updates > 200);
    // 17 frames of 1000 bytes are the first 16384: 6800 us.
    let found = pair.modem.state("pie_avg_dq_time") as f64 / 256.0;
    assert!((found - 6800.0).abs() < 10.0, "{found}");
}

/// The time in a measurement is bounded, so that the product with a backlog is.
#[test]
fn a_rate_of_almost_nothing_is_found() {
    let mut pair = Pair::new(PIE, 0);
    pair.modem.block(START);
    (0..40).for_each(|_| pair.receive(START, 1000));
    let later = START + 600_000_000_000;
    pair.modem.release(START + 1_000_000);
    assert_eq!(
        pair.modem.state("pie_avg_dq_time"),
        0,
        "all in one microsecond"
    );
    for _ in 0..40 {
        pair.receive(START + 2_000_000, 1000);
    }
    pair.modem.run(START + 2_000_000, |_, _, _| {});
    // In a measurement since long ago.
    pair.modem.set_state("pie_measurement_start", 1);
    pair.modem.set_state("pie_dq_count", 1 << 14);
    pair.receive(later, 100);
    pair.modem.run(later, |_, _, _| {});
    assert_eq!(pair.modem.state("pie_avg_dq_time"), ((1 << 28) - 1) << 8);
}

/// Who does not need it leaves it alone.
#[test]
fn other_managers_do_not_measure() {
    for manager in [DROP_TAIL, DOCSIS_PIE, CODEL] {
        let mut pair = Pair::new(manager, 8_000_000);
        (0..100).for_each(|_| pair.receive(START, 1000));
        pair.modem.run(u64::MAX, |_, _, _| {});
        assert_eq!(pair.modem.state("pie_avg_dq_time"), 0);
        assert_eq!(pair.modem.state("pie_measurement_start"), 0);
    }
}
