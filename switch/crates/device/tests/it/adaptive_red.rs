// SPDX-License-Identifier: Apache-2.0
//! Adaptive RED of p4src/include/adaptive_red.p4 against the arrival of a packet in 002's
//! appendix, in exact arithmetic.

use crate::common::modem::{ADAPTIVE_RED, Flow, Frame, Modem, ONE, START};
use crate::common::statistics::{assert_distribution, assert_rate};
use proptest::prelude::*;

const MINTH: u64 = 50_000;
const MAXTH: u64 = 500_000;
/// 0.002 in Q0.16.
const WQ: u64 = 131;
/// What the average may be off by, in its unit, 2^-16 byte: each arrival rounds by less
/// than one, and WQ / 2^16 of the error goes with the next.
const ROUNDING: f64 = 65536.0 / WQ as f64;
const UNIT: f64 = 65536.0;

fn flow() -> Flow {
    Flow {
        manager: ADAPTIVE_RED,
        ..Flow::default()
    }
}

fn modem(minth: u64, maxth: u64, weight: u64, maxp: f64) -> Modem {
    let mut modem = Modem::new(&flow());
    let values = [
        ("min_threshold", minth),
        ("max_threshold", maxth),
        ("weight", weight),
        ("threshold_reciprocal", (1 << 32) / (maxth - minth)),
    ];
    modem.parameters("adaptive_red.parameters", "set_red", &values);
    modem.set_state("aqm_drop_prob", (maxp * ONE as f64) as u64);
    modem.set_register("controller_heartbeat", 0, 1);
    modem
}

const FRAME: Frame = Frame {
    session: 1,
    number: 0,
    length: 100,
};

/// 002's variables. Of avgQ >= maxth Floyd and Jacobson (1993) say "drop the packet,
/// count = 0", where 002 leaves count as it is.
struct Red {
    avg_q: f64,
    count: i64,
    maxp: f64,
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Pass,
    Drop,
    Random,
}

impl Red {
    /// The arrival up to dropDecision(), where the channel is busy: frames wait.
    fn arrival(&mut self, cur_size: f64) -> Verdict {
        if cur_size == 0.0 {
            return Verdict::Pass;
        }
        let wq = WQ as f64 / 65536.0;
        self.avg_q = (1.0 - wq) * self.avg_q + wq * cur_size;
        // The pipeline compares whole bytes.
        let avg_q = self.avg_q.floor();
        if avg_q >= MAXTH as f64 {
            return Verdict::Drop;
        }
        if avg_q < MINTH as f64 {
            self.count = -1;
            return Verdict::Pass;
        }
        self.count += 1;
        let pb = self.maxp * (avg_q - MINTH as f64) / (MAXTH - MINTH) as f64;
        let left = 1.0 - self.count as f64 * pb;
        // What the reciprocal's rounding may do to it: see ramp.p4.
        let slack = 1e-4;
        if pb > 0.0 && pb > left + slack {
            Verdict::Drop
        } else if pb == 0.0 {
            Verdict::Pass
        } else {
            Verdict::Random
        }
    }
}

/// Bytes that are queued, for so many arrivals each.
fn depths() -> impl Strategy<Value = Vec<(u32, usize)>> {
    let depth = prop_oneof![
        1 => Just(0u32),
        1 => 0u32..100_000,
        2 => 0u32..1_000_000,
        1 => 900_000u32..4_000_000,
    ];
    prop::collection::vec((depth, 1usize..300), 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_arrival_is_002s(depths in depths(), maxp in 0.0f64..0.9) {
        let mut modem = modem(MINTH, MAXTH, WQ, maxp);
        let maxp = modem.state("aqm_drop_prob") as f64 / ONE as f64;
        let mut red = Red { avg_q: 0.0, count: -1, maxp };
        for (depth, arrivals) in depths {
            for _ in 0..arrivals {
                modem.set_backlog(depth);
                let verdict = red.arrival(f64::from(depth));
                let passed = modem.passes(START, FRAME);
                let avg = modem.state("red_avg") as f64;
                prop_assert!((avg - red.avg_q * UNIT).abs() <= ROUNDING, "{avg}, {}", red.avg_q);
                // Within the rounding of a threshold either side is right.
                let near = depth != 0 && [MINTH, MAXTH].iter().any(|&t| {
                    (red.avg_q - t as f64).abs() * UNIT <= ROUNDING
                });
                if !near {
                    match verdict {
                        Verdict::Pass => prop_assert!(passed),
                        Verdict::Drop => prop_assert!(!passed),
                        Verdict::Random => (),
                    }
                }
                if !passed {
                    red.count = 0;
                }
                // Where the sides differ the model follows the register.
                if near {
                    red.count = modem.state("red_count") as i64 - 1;
                }
                prop_assert_eq!(modem.state("red_count") as i64, red.count + 1);
            }
        }
    }
}

/// An average that stays where it is: as many bytes are queued.
fn standing(modem: &mut Modem, bytes: u64) {
    modem.set_state("red_avg", bytes << 16);
    modem.set_backlog(bytes as u32);
}

/// The distances from one drop to the next at a standing average.
fn distances(modem: &mut Modem, bytes: u64, drops: usize) -> Vec<usize> {
    let (mut found, mut distance) = (Vec::new(), 0);
    while found.len() <= drops {
        standing(modem, bytes);
        distance += 1;
        if !modem.passes(START, FRAME) {
            found.push(distance);
            distance = 0;
        }
    }
    // Before the first one nothing had been dropped.
    found.split_off(1)
}

/// With count from 0 after a drop the distance is uniform over 1 ... 1 / pb - 1: the first
/// packet is dropped by pb / (1 - pb), the last for certain.
#[test]
fn drops_are_spread_evenly() {
    const DROPS: usize = 4_000;
    for (maxp, bytes, inverse) in [
        (0.1, (MINTH + MAXTH) / 2, 20),
        (0.2, (MINTH + MAXTH) / 2, 10),
        (0.5, MINTH + (MAXTH - MINTH) / 25, 50),
    ] {
        let mut modem = modem(MINTH, MAXTH, WQ, maxp);
        let found = distances(&mut modem, bytes, DROPS);
        let mut counts = vec![0; inverse - 1];
        for distance in found {
            // Rounded down, the probability leaves a trace of one more.
            counts[distance.min(inverse - 1) - 1] += 1;
        }
        let each = DROPS as f64 / (inverse - 1) as f64;
        assert_distribution(&counts, &vec![each; inverse - 1], &format!("1/{inverse}"));
    }
}

/// The first packet behind a low average: count is 0, the probability pb itself.
#[test]
fn the_first_decision_has_the_ramps_probability() {
    const TRIALS: usize = 10_000;
    for (maxp, share) in [(0.1, 0.5), (0.5, 0.25), (0.5, 0.9), (0.01, 1.0)] {
        let mut modem = modem(MINTH, MAXTH, WQ, maxp);
        let bytes = MINTH + ((MAXTH - MINTH) as f64 * share) as u64 - 1;
        let drops = |modem: &mut Modem| {
            standing(modem, bytes);
            modem.set_state("red_count", 0);
            !modem.passes(START, FRAME)
        };
        let dropped = (0..TRIALS).filter(|_| drops(&mut modem)).count();
        assert_rate(dropped, TRIALS, maxp * share, &format!("{maxp} * {share}"));
    }
}

/// Below minth the count is forgotten: 002's -1.
#[test]
fn a_low_average_forgets_the_count() {
    let mut modem = modem(MINTH, MAXTH, WQ, 0.01);
    modem.set_state("red_count", 7);
    for (bytes, count) in [(MINTH + 1, 8), (MINTH - 1, 0), (MINTH, 1)] {
        standing(&mut modem, bytes);
        assert!(modem.passes(START, FRAME));
        assert_eq!(modem.state("red_count"), count, "{bytes}");
    }
}

#[test]
fn nothing_is_random_outside_of_the_thresholds() {
    let mut modem = modem(MINTH, MAXTH, WQ, 0.5);
    for (bytes, passes) in [(MINTH - 1, true), (MAXTH, false), (MAXTH * 9, false)] {
        for _ in 0..1_000 {
            standing(&mut modem, bytes);
            assert_eq!(modem.passes(START, FRAME), passes, "{bytes}");
        }
    }
}

/// The largest that can be: a line of 2^32 bytes, a queue of half of that, which is as
/// long as a backlog can be told from less than none.
#[test]
fn nothing_overflows() {
    let mut modem = modem(1, u64::from(u32::MAX), 0xffff, 15.9);
    modem.provision(
        START,
        &Flow {
            buffer_size: u32::MAX,
            ..flow()
        },
    );
    let bytes = (1u32 << 31) - 1;
    for avg in [0, 1 << 47, u64::from(bytes) << 16] {
        modem.set_backlog(bytes);
        modem.set_state("red_avg", avg);
        modem.set_state("red_count", u64::from(u32::MAX));
        let exact = avg as f64 + (f64::from(bytes) * UNIT - avg as f64) * (65535.0 / 65536.0);
        assert!(!modem.passes(START, FRAME));
        assert!((modem.state("red_avg") as f64 - exact).abs() <= UNIT);
    }
}

/// Another generation: the average and the count of another manager's time are gone.
#[test]
fn another_generation_starts_afresh() {
    let mut modem = modem(MINTH, MAXTH, WQ, 0.5);
    modem.set_state("red_avg", MAXTH << 16);
    modem.set_state("red_count", 1000);
    modem.set_backlog(100_000);
    let frame = FRAME;
    modem.provision(
        START,
        &Flow {
            generation: 7,
            ..flow()
        },
    );
    assert!(modem.passes(START, frame));
    assert_eq!(modem.state("red_avg"), 100_000 * WQ);
    assert_eq!(modem.state("red_count"), 0);
    // And goes on from there.
    modem.set_state("red_avg", MAXTH << 16);
    modem.set_backlog(MAXTH as u32);
    assert!(!modem.passes(START, frame));
}

/// 002 runs it "on packet arrival to a system where all channels are busy": a frame that finds
/// nothing queued passes whatever the average was, and is in none.
#[test]
fn an_empty_queue_drops_nothing() {
    let mut modem = modem(MINTH, MAXTH, WQ, 0.5);
    for avg in [MINTH, MAXTH, 9 * MAXTH] {
        modem.set_state("red_avg", avg << 16);
        modem.set_state("red_count", 1_000_000);
        modem.set_backlog(0);
        assert!(modem.passes(START, FRAME), "{avg}");
        assert_eq!(modem.state("red_avg"), avg << 16);
        assert_eq!(modem.state("red_count"), 1_000_000);
    }
    // One byte is a queue.
    modem.set_backlog(1);
    assert!(!modem.passes(START, FRAME));
}

/// The average is of the queue alone: it follows it while nobody adapts maxp. Count and
/// maxp wait for the controller.
#[test]
fn the_average_goes_on_while_the_controller_is_silent() {
    let mut modem = modem(MINTH, MAXTH, WQ, 15.9);
    modem.set_register("controller_heartbeat", 0, 0);
    modem.set_state("red_count", 5);
    let mut avg = 0;
    let long = MAXTH * 200;
    for depth in [MAXTH * 3, MAXTH * 3, 10_000, MINTH, long, long, long] {
        modem.set_backlog(depth as u32);
        assert!(modem.passes(START, FRAME), "{depth}");
        let sample = depth << 16;
        if sample >= avg {
            avg += ((sample - avg) * WQ) >> 16;
        } else {
            avg -= ((avg - sample) * WQ) >> 16;
        }
        assert_eq!(modem.state("red_avg"), avg);
        assert_eq!(modem.state("red_count"), 5);
    }
    // One that is back decides on the average as it is now.
    modem.set_register("controller_heartbeat", 0, 1);
    modem.set_backlog(MAXTH as u32);
    assert!(avg >> 16 >= MAXTH);
    assert!(!modem.passes(START, FRAME));
}
