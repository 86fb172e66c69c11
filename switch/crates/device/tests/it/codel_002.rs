// SPDX-License-Identifier: Apache-2.0
//! CoDel as 002 has it, p4src/include/codel_002.p4, against the slides' own words, frame for
//! frame: measured at the head, dropped at the tail.

use crate::common::codel_002::Codel002;
use crate::common::modem::{CODEL_002, Flow, Frame, Modem, START, number};
use proptest::prelude::*;
use std::collections::VecDeque;

const RATE: u64 = 8_000_000; // a frame a millisecond
const FRAME: usize = 1000;
const TARGET: u64 = 5_000;
const INTERVAL: u64 = 50_000;
const COUNTS: u128 = 500;
const ARRIVAL: &str = "FrameIngress.codel_002";
const DEPARTURE: &str = "FrameEgress.codel_002";

fn flow() -> Flow {
    Flow {
        manager: CODEL_002,
        rate: RATE,
        ..Flow::default()
    }
}

fn modem(flow: &Flow) -> Modem {
    let mut modem = Modem::new(flow);
    modem.inverse_square_roots(&format!("{ARRIVAL}.inv_sqrt"), COUNTS);
    let interval = ("control_interval", INTERVAL);
    let table = format!("{ARRIVAL}.parameters");
    modem.parameters(&table, "set_interval", &[interval]);
    let values = [("latency_target", TARGET), interval];
    let table = format!("{DEPARTURE}.parameters");
    modem.parameters(&table, "set_codel_002", &values);
    modem
}

/// A device and the slides' queue side by side.
struct Pair {
    modem: Modem,
    flow: Flow,
    codel: Codel002,
    /// When each that waits came, with its number and its generation.
    waiting: VecDeque<(u64, u32, u8)>,
    generation: u8,
    frames: u32,
    dropped: usize,
    sent: usize,
    episodes: usize,
}

impl Pair {
    fn new() -> Self {
        let flow = flow();
        Self {
            modem: modem(&flow),
            flow,
            codel: Codel002::new(TARGET, INTERVAL),
            waiting: VecDeque::new(),
            generation: 0,
            frames: 0,
            dropped: 0,
            sent: 0,
            episodes: 0,
        }
    }

    fn run(&mut self, now: u64) {
        let (waiting, codel) = (&mut self.waiting, &mut self.codel);
        self.modem.run(now, |_, at, frame| {
            let (since, expected, generation) = waiting.pop_front().expect("it was dropped");
            assert_eq!(number(frame), expected);
            if generation != self.generation {
                self.generation = generation;
                self.episodes += codel.episodes;
                *codel = Codel002::new(TARGET, INTERVAL);
            }
            codel.departure(at / 1000, at / 1000 - since);
            self.sent += 1;
        });
    }

    fn receive(&mut self, now: u64) {
        let number = self.frames;
        self.frames += 1;
        // What dropping is was decided by frames of this generation, or it is not yet.
        let knows = self.generation == self.flow.generation;
        let dropped = !self.waiting.is_empty() && knows && self.codel.arrival(now / 1000);
        assert!(self.codel.count <= COUNTS as u64, "the table ends there");
        let before = self.modem.backlog();
        let frame = Frame {
            session: 1,
            number,
            length: FRAME,
        };
        self.modem.receive(now, frame);
        let passed = self.modem.backlog() != before;
        assert_eq!(
            passed, !dropped,
            "frame {number} at {now}: {:?}",
            self.codel
        );
        if passed {
            let waits = (now / 1000, number, self.flow.generation);
            self.waiting.push_back(waits);
        } else {
            self.dropped += 1;
        }
    }

    /// That every frame was sent or dropped.
    fn finish(&mut self) {
        self.run(u64::MAX);
        assert!(self.waiting.is_empty());
        assert_eq!(self.sent + self.dropped, self.frames as usize);
        assert_eq!(self.modem.backlog(), 0);
        self.episodes += self.codel.episodes;
    }
}

/// Pauses in microseconds and the frames behind them: mostly about as many as the rate
/// takes, so that queues stand.
fn load() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let burst = prop_oneof![
        6 => (0u64..3_000, 1usize..4),
        2 => (0u64..40_000, 10usize..60),
        1 => (20_000u64..1_000_000, 1usize..150),
    ];
    prop::collection::vec(burst, 1..250)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_frame_has_the_slides_fate(load in load()) {
        let mut pair = Pair::new();
        let mut now = START;
        for (pause, burst) in load {
            now += pause * 1000;
            pair.run(now);
            (0..burst).for_each(|_| pair.receive(now));
        }
        pair.finish();
    }

    /// Another generation while frames wait: the first of it that leaves begins afresh, and
    /// until then none of it is dropped.
    #[test]
    fn another_generation_starts_afresh(load in load(), every in 1usize..40) {
        let mut pair = Pair::new();
        let mut now = START;
        for (n, (pause, burst)) in load.into_iter().enumerate() {
            now += pause * 1000;
            pair.run(now);
            if n % every == 0 {
                pair.flow.generation = pair.flow.generation.wrapping_add(1);
                pair.modem.provision(now, &pair.flow);
            }
            (0..burst).for_each(|_| pair.receive(now));
        }
        pair.finish();
    }
}

/// An upload that never ends: it drops, leaves the dropping state, and comes back to it.
#[test]
fn a_standing_queue_is_worked_off() {
    let mut pair = Pair::new();
    let mut now = START;
    for n in 0..20_000 {
        // A little more than the rate takes, with a pause now and then.
        now += if n % 4_000 == 3_999 {
            100_000_000
        } else {
            970_000
        };
        pair.run(now);
        pair.receive(now);
    }
    let queued = pair.modem.queue(now).queued;
    assert!(queued.frames <= 40, "{queued:?}");
    pair.finish();
    assert!(pair.episodes > 3, "{}", pair.episodes);
    assert!(pair.dropped > 300, "{}", pair.dropped);
}

/// A frame of a device whose state is forced.
const LONE: Frame = Frame {
    session: 1,
    number: 0,
    length: 100,
};
const DROPPING: &str = "codel_002_dropping";
const SERVED: &str = "codel_002_dropped_now";

/// Frames pass where nothing waits, and where the flag is down, of another generation, or
/// without parameters.
#[test]
fn what_is_not_dropped() {
    for (dropping, backlog, passes) in [
        (1, 1000, false),
        (1, 0, true),
        (2, 1000, true),
        (1 << 24 | 1, 1000, true),
    ] {
        let mut modem = modem(&flow());
        modem.set_state(DROPPING, dropping);
        modem.set_backlog(backlog);
        assert_eq!(modem.passes(START, LONE), passes, "{dropping:#x} {backlog}");
    }
    let mut modem = Modem::new(&flow());
    modem.set_state(DROPPING, 1);
    modem.set_backlog(1000);
    assert!(modem.passes(START, LONE));
}

/// What leaves after exactly the target is neither above it nor below; at exactly the time
/// that first_above_time names the interval is over.
#[test]
fn the_target_to_the_microsecond() {
    let left = START / 1000 + TARGET;
    for (waited, above, dropping, then_above, then) in [
        (TARGET + 1, 0, 0, left + 1 + INTERVAL, 0),
        (TARGET, 1, 0, 0, 0),
        (TARGET + 1, left + 1, 0, left + 1, 1),
        (TARGET + 1, left + 2, 0, left + 2, 0),
        (TARGET, 1, 3, 1, 3),
        (TARGET - 1, 1, 3, 0, 4),
    ] {
        let mut modem = modem(&flow());
        modem.block(START);
        modem.receive(START, LONE);
        modem.set_state("codel_002_first_above_time", above);
        modem.set_state(DROPPING, dropping);
        modem.release(START + waited * 1000);
        let found = ["codel_002_first_above_time", DROPPING].map(|name| modem.state(name));
        assert_eq!(found, [then_above, then], "{waited} {above} {dropping}");
    }
}

/// One frame goes for drop_now, whatever drop_next is; then those after drop_next.
#[test]
fn drop_now_is_carried_out_once() {
    let mut modem = modem(&flow());
    let later = START / 1000 + INTERVAL;
    modem.block(START);
    modem.set_backlog(10_000);
    modem.set_state(DROPPING, 7);
    modem.set_state(SERVED, 5);
    modem.set_state("codel_002_drop_next", later * 10);
    modem.set_state("codel_002_count", 90);
    let dropped = |modem: &mut Modem, now: u64| {
        let before = modem.backlog();
        modem.receive(now * 1000, LONE);
        modem.backlog() == before
    };
    let begin = START / 1000;
    assert!(dropped(&mut modem, begin));
    assert_eq!(modem.state("codel_002_count"), 1);
    assert_eq!(modem.state("codel_002_drop_next"), later);
    assert_eq!(modem.state(SERVED), 7);
    // At drop_next not yet, and behind it.
    assert!(!dropped(&mut modem, later));
    assert!(dropped(&mut modem, later + 1));
    assert_eq!(modem.state("codel_002_count"), 2);
    // 50 ms / sqrt(2).
    assert_eq!(modem.state("codel_002_drop_next"), later + 1 + 35_355);
}

/// Who does not need it leaves it alone.
#[test]
fn other_managers_do_not_measure() {
    let mut modem = modem(&Flow {
        manager: crate::common::modem::CODEL,
        ..flow()
    });
    for number in 0..200 {
        modem.receive(START, Frame { number, ..LONE });
    }
    modem.run(u64::MAX, |_, _, _| {});
    assert_eq!(modem.state("codel_002_first_above_time"), 0);
    assert_eq!(modem.state(DROPPING), 0);
}
