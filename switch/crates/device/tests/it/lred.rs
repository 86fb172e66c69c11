// SPDX-License-Identifier: Apache-2.0
//! LRED of p4src/include/lred.p4: the curve of 001, figure 10c.

use crate::common::modem::{Flow, Frame, LRED, Modem, ONE, START};
use crate::common::statistics::assert_rate;

const MIN: u64 = 200_000;
const MAX: u64 = 400_000;
const PMIN: f64 = 0.01;
const PMAX: f64 = 0.05;
const FRAMES: usize = 20_000;

fn modem(curve: &str, min: u64, max: u64, pmin: f64, pmax: f64) -> Modem {
    let mut modem = Modem::new(&Flow {
        manager: LRED,
        ..Flow::default()
    });
    let values = [
        ("min_threshold", min),
        ("max_threshold", max),
        ("min_probability", (pmin * ONE as f64) as u64),
        ("max_probability", (pmax * ONE as f64) as u64),
        ("threshold_reciprocal", (1 << 32) / (max - min)),
    ];
    modem.parameters("lred.parameters", curve, &values);
    modem
}

fn frame(length: usize) -> Frame {
    Frame {
        session: 1,
        number: 0,
        length,
    }
}

/// Counts the dropped frames among frames that all wait for so many microseconds.
fn dropped_after(modem: &mut Modem, wait: u64) -> usize {
    // Behind whatever the modem has been through.
    let now = START + modem.queue(u64::MAX).enqueued.frames * 1_000_000_000;
    modem.block(now);
    let before = modem.queue(now).egress_dropped.frames;
    (0..FRAMES).for_each(|_| modem.receive(now, frame(64)));
    modem.release(now + wait * 1000);
    assert_eq!(modem.queue(now).queued.frames, 0);
    assert_eq!(modem.backlog(), 0);
    modem.out.sent.clear();
    (modem.queue(now).egress_dropped.frames - before) as usize
}

#[test]
fn the_sojourn_time_says_how_many() {
    for (wait, probability) in [
        (MIN, PMIN),
        (MIN + (MAX - MIN) / 4, 0.02),
        (MIN + (MAX - MIN) / 2, 0.03),
        (MAX - 1, PMAX),
        (MAX, PMAX),
        (10 * MAX, PMAX),
    ] {
        let mut modem = modem("set_sojourn_curve", MIN, MAX, PMIN, PMAX);
        let dropped = dropped_after(&mut modem, wait);
        assert_rate(dropped, FRAMES, probability, &format!("{wait} us"));
    }
}

#[test]
fn nothing_is_dropped_below_the_minimum() {
    for curve in [(PMIN, PMAX), (1.0, 1.0)] {
        let mut modem = modem("set_sojourn_curve", MIN, MAX, curve.0, curve.1);
        assert_eq!(dropped_after(&mut modem, 0), 0);
        assert_eq!(dropped_after(&mut modem, MIN - 1), 0);
    }
}

/// The ends of the line to the microsecond: certain drops there, none here.
#[test]
fn the_thresholds_are_exact() {
    // Pmin at MINth itself.
    let mut at_min = modem("set_sojourn_curve", MIN, MAX, 1.0, 1.0);
    assert_eq!(dropped_after(&mut at_min, MIN - 1), 0);
    assert_eq!(dropped_after(&mut at_min, MIN), FRAMES);
    // Pmax at MAXth itself, a little less just below it.
    let mut at_max = modem("set_sojourn_curve", MAX - 2, MAX, 0.0, 1.0);
    assert_eq!(dropped_after(&mut at_max, MAX - 2), 0);
    assert_rate(dropped_after(&mut at_max, MAX - 1), FRAMES, 0.5, "half way");
    assert_eq!(dropped_after(&mut at_max, MAX), FRAMES);
    assert_eq!(dropped_after(&mut at_max, 5 * MAX), FRAMES);
}

/// The form of figure 10a: the bytes queued with the packet, whatever it waited for.
#[test]
fn the_depth_says_how_many() {
    const LENGTH: u64 = 100;
    let mut modem = modem("set_depth_curve", 100_000, 200_000, 0.1, 0.5);
    for (depth, probability) in [
        (LENGTH, 0.0),
        (99_999, 0.0),
        (100_000, 0.1),
        (150_000, 0.3),
        (199_999, 0.5),
        (200_000, 0.5),
        (9_000_000, 0.5),
    ] {
        let drops = |modem: &mut Modem| {
            modem.set_backlog((depth - LENGTH) as u32);
            !modem.passes(START, frame(LENGTH as usize))
        };
        let dropped = (0..5_000).filter(|_| drops(&mut modem)).count();
        assert_rate(dropped, 5_000, probability, &format!("{depth} bytes"));
    }
}

/// With flow queues the depth is the sub-queue's own.
#[test]
fn the_depth_is_the_sub_queues() {
    let mut modem = modem("set_depth_curve", 100_000, 100_002, 1.0, 1.0);
    modem.hashed(64, 1);
    let flow = Flow {
        manager: LRED,
        flow_queuing: true,
        sub_queues: 2,
        ..Flow::default()
    };
    modem.provision(START, &flow);
    for (flow_depth, own_depth, passes) in [
        (500_000, 99_899, true),
        (500_000, 99_900, false),
        (0, 99_900, false),
    ] {
        modem.set_backlog(flow_depth);
        modem.set_depth(64, own_depth);
        assert_eq!(modem.passes(START, frame(100)), passes);
    }
}
