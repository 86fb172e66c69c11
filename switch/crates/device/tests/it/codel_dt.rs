// SPDX-License-Identifier: Apache-2.0
//! CoDel-DT (000, section 4.3): "the identical drop decision logic as CoDel, but applied at
//! enqueue", with the delay that the departure rate predicts, frame for frame.

use crate::common::codel::{Codel, Head};
use crate::common::departure_rate::DepartureRate;
use crate::common::modem::{
    CODEL_DT, Flow, Frame, MAX_PACKET, Modem, PIE, SHORTEST, START, number,
};
use proptest::prelude::*;

const RATE: u64 = 8_000_000;
const TARGET: u64 = 5_000;
const INTERVAL: u64 = 50_000;
const COUNTS: u128 = 500;

/// A device, and what the RFC's logic is to be told of each arrival.
struct Trial {
    modem: Modem,
    rate: DepartureRate,
    arrivals: Vec<Head>,
    lengths: Vec<usize>,
    queued: usize,
    sent: Vec<u32>,
}

fn modem(flow: &Flow) -> Modem {
    let mut modem = Modem::new(flow);
    modem.inverse_square_roots("FrameIngress.codel_dt.inv_sqrt", COUNTS);
    let parameters = [("latency_target", TARGET), ("control_interval", INTERVAL)];
    modem.parameters("FrameIngress.codel_dt.parameters", "set_codel", &parameters);
    modem
}

impl Trial {
    fn new() -> Self {
        let flow = Flow {
            manager: CODEL_DT,
            rate: RATE,
            ..Flow::default()
        };
        Self {
            modem: modem(&flow),
            rate: DepartureRate::default(),
            arrivals: Vec::new(),
            lengths: Vec::new(),
            queued: 0,
            sent: Vec::new(),
        }
    }

    fn run(&mut self, now: u64) {
        let lengths = &self.lengths;
        self.modem.run(now, |modem, at, frame| {
            let number = number(frame);
            let length = lengths[number as usize];
            self.sent.push(number);
            self.queued -= length;
            self.rate.deque(length, self.queued, at / 1000);
            assert!(self.rate.agrees(modem.state("pie_avg_dq_time")));
        });
    }

    fn receive(&mut self, now: u64, length: usize) {
        let number = self.lengths.len() as u32;
        // The average in the register is the RFC's within its rounding: that is asserted
        // whenever it changes.
        let average = self.modem.state("pie_avg_dq_time");
        let predicted = (u128::from(average) * self.queued as u128) >> (14 + 8);
        self.arrivals.push(Head {
            packet: number,
            now: now / 1000,
            sojourn: predicted as u64,
            bytes: self.queued,
        });
        self.lengths.push(length);
        let before = self.modem.backlog() as usize;
        assert_eq!(before, self.queued);
        self.modem.receive(
            now,
            Frame {
                session: 1,
                number,
                length,
            },
        );
        self.queued = self.modem.backlog() as usize;
        assert!(self.queued == before || self.queued == before + length);
    }

    /// The frames that the RFC's logic drops of the arrivals so far.
    fn dropped(&self) -> Vec<u32> {
        let mut codel = Codel::new(TARGET, INTERVAL);
        let mut arrivals = self.arrivals.iter().copied();
        while arrivals.len() > 0 {
            codel.deque(|| arrivals.next());
        }
        assert!(codel.count < COUNTS as u64);
        codel.dropped
    }

    fn assert_fates(&self) -> usize {
        let dropped = self.dropped();
        let all = 0..self.lengths.len() as u32;
        let expected: Vec<u32> = all.filter(|n| dropped.binary_search(n).is_err()).collect();
        assert_eq!(self.sent, expected);
        dropped.len()
    }
}

/// Pauses in microseconds and the lengths of the frames behind them: mostly about as much
/// as the rate takes, so that queues stand.
fn load() -> impl Strategy<Value = Vec<(u64, Vec<usize>)>> {
    let lengths = |n| prop::collection::vec(SHORTEST..=MAX_PACKET, n);
    let burst = prop_oneof![
        6 => (0u64..3_000, lengths(1..4)),
        2 => (0u64..40_000, lengths(10..60)),
        1 => (20_000u64..1_000_000, lengths(1..150)),
    ];
    prop::collection::vec(burst, 1..250)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_frame_has_the_rfcs_fate(load in load()) {
        let mut trial = Trial::new();
        let mut now = START;
        for (pause, lengths) in load {
            now += pause * 1000;
            trial.run(now);
            for length in lengths {
                trial.receive(now, length);
            }
        }
        trial.run(u64::MAX);
        trial.assert_fates();
        prop_assert_eq!(trial.queued, 0);
    }
}

/// An upload that never ends is held near the target.
#[test]
fn a_standing_queue_is_worked_off() {
    let mut trial = Trial::new();
    let mut now = START;
    for n in 0..20_000 {
        if n >= 100 {
            now += 1_000_000;
        }
        trial.run(now);
        trial.receive(now, 1000);
    }
    let queued = trial.modem.queue(now).queued;
    assert!(queued.frames <= 25, "{queued:?}");
    trial.run(u64::MAX);
    assert!(trial.assert_fates() > 70);
}

/// No frame goes that leaves no more than the largest packet behind it, to the byte.
#[test]
fn a_packet_is_left() {
    for (backlog, passes) in [(MAX_PACKET as u32, true), (MAX_PACKET as u32 + 1, false)] {
        let mut modem = modem(&Flow {
            manager: CODEL_DT,
            ..Flow::default()
        });
        modem.set_state("pie_avg_dq_time", 1_000_000 << 8);
        modem.set_state("FrameIngress.codel_dt.first_above_time_", 1);
        modem.set_backlog(backlog);
        let frame = Frame {
            session: 1,
            number: 0,
            length: 100,
        };
        assert_eq!(modem.passes(START, frame), passes, "{backlog}");
    }
}

/// A delay that 32 bits cannot hold is longer than any target.
#[test]
fn the_longest_delay_is_no_short_one() {
    let flow = Flow {
        manager: CODEL_DT,
        ..Flow::default()
    };
    let mut modem = modem(&flow);
    modem.set_state("pie_avg_dq_time", (1 << 26) << 8);
    // 2^32 us: cut to 32 bits it would be below the target.
    modem.set_backlog(1 << 20);
    modem.set_state("FrameIngress.codel_dt.first_above_time_", 1);
    let frame = Frame {
        session: 1,
        number: 0,
        length: 100,
    };
    assert!(!modem.passes(START, frame));
}

/// Another generation while a queue stands above the target: an interval begins again, and
/// what another manager measured long ago predicts nothing.
#[test]
fn another_generation_starts_afresh() {
    let frame = Frame {
        session: 1,
        number: 0,
        length: 1000,
    };
    let flow = Flow {
        manager: CODEL_DT,
        ..Flow::default()
    };
    let mut modem = modem(&flow);
    let late = START + 1_000_000_000;
    // About to drop, but of generation 0.
    let armed = |modem: &mut Modem| {
        modem.set_backlog(100_000);
        modem.set_state("pie_avg_dq_time", 10_000 << 8);
        modem.set_state("pie_generation", 1);
        modem.set_state("FrameIngress.codel_dt.first_above_time_", 1);
        modem.set_state("FrameIngress.codel_dt.phase_", 1);
        modem.set_state("FrameIngress.codel_dt.count_", 9);
        modem.set_state("FrameIngress.codel_dt.generation_", 0);
    };
    modem.set_state("pie_generation", 0);
    armed(&mut modem);
    modem.set_state("pie_generation", 0);
    assert!(!modem.passes(late, frame), "it was armed");
    armed(&mut modem);
    modem.provision(
        late,
        &Flow {
            generation: 1,
            ..flow
        },
    );
    assert!(modem.passes(late, frame));
    let above = modem.state("FrameIngress.codel_dt.first_above_time_");
    assert_eq!(above, late / 1000 + INTERVAL);
    assert_eq!(modem.state("FrameIngress.codel_dt.count_"), 0);
    assert_eq!(modem.state("FrameIngress.codel_dt.phase_"), 0);
    // The same with an average of PIE's, of a generation before: not above the target.
    let flow = Flow {
        manager: PIE,
        ..flow
    };
    modem.provision(
        late,
        &Flow {
            generation: 2,
            ..flow
        },
    );
    armed(&mut modem);
    modem.provision(
        late,
        &Flow {
            manager: CODEL_DT,
            generation: 3,
            ..flow
        },
    );
    assert!(modem.passes(late, frame));
    assert_eq!(modem.state("FrameIngress.codel_dt.first_above_time_"), 0);
}
