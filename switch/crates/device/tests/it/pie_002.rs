// SPDX-License-Identifier: Apache-2.0
//! PIE as 002 has it, p4src/include/pie_002.p4: the departure against the slides' own words,
//! value by value, and the decision with the control path's registers forced.

use crate::common::modem::{
    CODEL_DT, Flow, Frame, MAX_PACKET, Modem, ONE, PIE, PIE_002, SHORTEST, START, number,
};
use crate::common::pie_002::Pie002;
use crate::common::statistics::{assert_geometric, assert_rate};
use proptest::prelude::*;

const THRESHOLD: u64 = 16;
const MAX_BURST: u64 = 142_000;
/// What 1 / tmp may be too small by, 17^-4, which is 1.2e-5; and its rounding.
const RECIPROCAL: f64 = 1.3e-5;
const FRAME: Frame = Frame {
    session: 1,
    number: 0,
    length: 100,
};

fn flow(rate: u64) -> Flow {
    Flow {
        manager: PIE_002,
        rate,
        max_burst: 20_000,
        ..Flow::default()
    }
}

fn parameters(modem: &mut Modem, threshold: u64, max_burst: u64) {
    let values = [("dq_threshold", threshold), ("max_burst", max_burst)];
    modem.parameters("FrameEgress.pie_002.parameters", "set_pie_002", &values);
}

/// Packets a second, and the reset that they are from.
fn departure_rate(modem: &Modem) -> (f64, u64) {
    let register = modem.state("pie_002_departure_rate");
    (
        (register & ((1 << 40) - 1)) as f64 / 65536.0,
        register >> 40,
    )
}

/// A device and the slides' departure side by side.
struct Pair {
    modem: Modem,
    pie: Pie002,
    resets: u64,
    /// The controller decided on one, and no frame left since.
    pending: bool,
    frames: u32,
    queued: i64,
    measurements: usize,
}

impl Pair {
    fn new(rate: u64, threshold: u64) -> Self {
        let mut modem = Modem::new(&flow(rate));
        parameters(&mut modem, threshold, MAX_BURST);
        let mut pair = Self {
            modem,
            pie: Pie002::new(threshold as i64, MAX_BURST as i64),
            resets: 0,
            pending: false,
            frames: 0,
            queued: 0,
            measurements: 0,
        };
        pair.reset();
        pair
    }

    /// As the controller does: of its register the state before the number may be anything.
    fn reset(&mut self) {
        self.resets = (self.resets + 1) % 4;
        self.modem
            .set_state("aqm_control_state", 77 << 2 | self.resets);
        self.pending = true;
    }

    fn run(&mut self, now: u64) {
        let pie = &mut self.pie;
        self.modem.run(now, |modem, at, _| {
            self.queued -= 1;
            if std::mem::take(&mut self.pending) {
                self.measurements += pie.measurements;
                pie.reset();
            }
            pie.departure(at / 1000, self.queued);
            let (rate, resets) = departure_rate(modem);
            assert_eq!(resets, self.resets);
            // The reciprocal's error, a weight of 0.1 in 27 bits, and each one's rounding.
            let error = (rate - pie.departure_rate).abs();
            assert!(
                error <= RECIPROCAL * pie.departure_rate + 1e-3,
                "{rate} for {pie:?}"
            );
            assert_eq!((rate == 0.0), (pie.departure_rate == 0.0));
            let allowance = modem.state("pie_002_burst_allowance") as i64;
            assert_eq!(allowance, pie.burst_allowance.max(0));
            assert_eq!(modem.state("pie_002_dq_count") as i64, pie.dq_count + 1);
        });
    }

    fn receive(&mut self, now: u64, length: usize) {
        let frame = Frame {
            session: 1,
            number: self.frames,
            length,
        };
        self.frames += 1;
        self.queued += 1;
        self.modem.receive(now, frame);
        assert_eq!(self.level(), self.queued);
    }

    fn level(&self) -> i64 {
        let cell = |name| self.modem.state(name) as i64;
        cell("pie_002_enqueued") - cell("pie_002_dequeued")
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
    fn rate_and_allowance_are_the_slides(
        load in load(),
        rate in 1_000_000u64..1_000_000_000,
        threshold in 2u64..40,
        resets in prop::collection::vec(any::<bool>(), 60),
    ) {
        let mut pair = Pair::new(rate, threshold);
        let mut now = START;
        for (n, (pause, lengths)) in load.into_iter().enumerate() {
            now += pause * 1000;
            pair.run(now);
            // One that is not done yet is not decided on again.
            if resets[n] && !pair.pending {
                pair.reset();
            }
            for length in lengths {
                pair.receive(now, length);
            }
        }
        pair.run(u64::MAX);
        prop_assert_eq!(pair.queued, 0);
        prop_assert_eq!(pair.level(), 0);
    }
}

/// A load that ends in the rate that it leaves with, and the allowance used up by then.
#[test]
fn a_steady_rate_is_found() {
    let mut pair = Pair::new(20_000_000, THRESHOLD);
    let mut now = START;
    for n in 0..4_000 {
        pair.receive(now, 1000);
        if n >= 100 {
            now += 400_000;
            pair.run(now);
        }
    }
    assert!(pair.pie.measurements > 200);
    let (rate, _) = departure_rate(&pair.modem);
    assert!((rate - 2_500.0).abs() < 0.1, "{rate}");
    assert_eq!(pair.modem.state("pie_002_burst_allowance"), 0);
}

/// Frames that leave within a microsecond, and one that took longer than is counted.
#[test]
fn the_fastest_and_the_slowest_rate() {
    let mut pair = Pair::new(0, THRESHOLD);
    pair.modem.block(START);
    (0..40).for_each(|_| pair.receive(START, 1000));
    pair.modem.release(START + 1_000_000);
    let (rate, _) = departure_rate(&pair.modem);
    assert!((rate / 16e6 - 1.0).abs() < RECIPROCAL, "{rate}");

    let mut pair = Pair::new(0, THRESHOLD);
    pair.modem.block(START);
    (0..40).for_each(|_| pair.receive(START, 1000));
    pair.modem.set_state("pie_002_dq_start", 1);
    pair.modem.set_state("pie_002_dq_count", THRESHOLD);
    // The first frame that leaves starts afresh, unless it knows the number.
    let resets = pair.resets;
    pair.modem.set_state("pie_002_departure_rate", resets << 40);
    pair.modem.set_state("pie_002_burst_allowance", MAX_BURST);
    let config = device::ServiceFlowConfig {
        max_sustained_rate: 8_000,
        initial_tokens: Some(0),
        ..pair.modem.queue(START).config
    };
    let request = device::Configuration {
        service_flows: vec![config],
        ..device::Configuration::default()
    };
    let later = START + 600_000_000_000;
    pair.modem.device.configure(later, &request).unwrap();
    let mut first = None;
    pair.modem.run(later + 3_000_000_000, |modem, _, _| {
        first.get_or_insert_with(|| departure_rate(modem).0);
    });
    // 16 packets in 2^28 us.
    assert!(
        (first.unwrap() - 16e6 / f64::from(1 << 28)).abs() < 1e-4,
        "{first:?}"
    );
}

/// What left between the halves' readings, and what was lost between the halves.
#[test]
fn the_count_of_packets_heals() {
    let mut pair = Pair::new(0, 2);
    pair.modem.set_state("pie_002_dequeued", 5);
    assert!(pair.modem.passes(START, FRAME));
    assert_eq!(pair.modem.state("pie_002_dequeued"), 1);
    // Ahead of what came, with bytes that wait: nothing is queued, and nothing measured.
    pair.modem.set_backlog(10_000);
    pair.modem.set_state("pie_002_dequeued", 90);
    assert!(pair.modem.passes(START, FRAME));
    assert_eq!(pair.modem.state("pie_002_dequeued"), 91);
    assert_eq!(pair.modem.state("pie_002_dq_count"), 0);
}

/// A modem whose controller has decided on a probability, with a queue that stands.
fn forced(drop_prob: u64) -> Modem {
    let mut modem = Modem::new(&flow(0));
    modem.set_register("controller_heartbeat", 0, 1);
    modem.set_state("aqm_drop_prob", drop_prob);
    modem
}

/// Whether a frame passes a queue of so many bytes.
fn passes(modem: &mut Modem, backlog: u32) -> bool {
    modem.set_backlog(backlog);
    modem.passes(START, FRAME)
}

#[test]
fn frames_are_dropped_at_drop_prob() {
    for probability in [0.01, 0.1, 0.5, 0.85] {
        const FRAMES: usize = 50_000;
        let mut modem = forced((probability * ONE as f64) as u64);
        // qdelay_old and short queues are nothing to 002.
        let dropped = (0..FRAMES).filter(|_| !passes(&mut modem, 1)).count();
        assert_rate(dropped, FRAMES, probability, &format!("{probability}"));
    }
    for (drop_prob, passed) in [(0, 1000), (ONE, 0)] {
        let mut modem = forced(drop_prob);
        let found = (0..1000).filter(|_| passes(&mut modem, 10_000)).count();
        assert_eq!(found, passed, "{drop_prob}");
    }
}

#[test]
fn drops_are_independent() {
    const DROPS: usize = 3_000;
    let mut modem = forced(ONE / 10);
    let (mut runs, mut run) = (Vec::new(), 0);
    while runs.len() < DROPS {
        run += 1;
        if !passes(&mut modem, 10_000) {
            runs.push(run);
            run = 0;
        }
    }
    assert_geometric(&runs, (ONE / 10) as f64 / ONE as f64, "0.1");
}

/// Only arrivals that find others waiting are dropped, or wake the update.
#[test]
fn an_empty_queue_drops_nothing() {
    let mut modem = forced(ONE);
    for (backlog, passed) in [(0, true), (1, false)] {
        assert_eq!(passes(&mut modem, backlog), passed, "{backlog}");
        assert_eq!(modem.state("pie_002_arrivals"), u64::from(backlog));
    }
    // One of the two was handed on.
    assert_eq!(modem.state("pie_002_enqueued"), 1);
}

#[test]
fn a_burst_is_allowed() {
    let mut modem = forced(ONE);
    for (burst_allowance, passed) in [(142_000, true), (1, true), (0, false)] {
        modem.set_state("pie_002_burst_allowance", burst_allowance);
        assert_eq!(passes(&mut modem, 10_000), passed, "{burst_allowance}");
    }
}

#[test]
fn a_silent_controller_drops_nothing() {
    let mut modem = forced(ONE);
    modem.set_register("controller_heartbeat", 0, 0);
    assert!(passes(&mut modem, 10_000));
    assert_eq!(modem.state("pie_002_enqueued"), 1);
}

/// Without parameters nothing is measured; who does not need it leaves it alone.
#[test]
fn others_do_not_measure() {
    for manager in [PIE, CODEL_DT, PIE_002] {
        let flow = Flow {
            manager,
            ..flow(8_000_000)
        };
        let mut modem = Modem::new(&flow);
        if manager != PIE_002 {
            parameters(&mut modem, 2, MAX_BURST);
        }
        modem.set_state("aqm_control_state", 1);
        for number in 0..100 {
            modem.receive(START, Frame { number, ..FRAME });
        }
        modem.run(u64::MAX, |_, _, frame| assert!(number(frame) < 100));
        assert_eq!(modem.state("pie_002_departure_rate"), 0);
        assert_eq!(modem.state("pie_002_dq_count"), 0);
    }
}
