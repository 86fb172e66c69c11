// SPDX-License-Identifier: Apache-2.0
//! The data path of PIE, drop_early() of RFC 8033, and SFQ-PIE's scaling (000, section 4.6),
//! with the control path's registers forced.

use crate::common::modem::{Flow, Frame, MULTIPLIER, Modem, ONE, PIE, SERVICE_FLOWS, START};
use crate::common::statistics::{assert_geometric, assert_rate};
use proptest::prelude::*;

const TARGET: u32 = 15_000;
const SLOW: u64 = TARGET as u64 / 2;
/// Above 2 * MEAN_PKTSIZE.
const LONG: u32 = 10_000;
const FIFTH: u64 = 53_687_091;
const QUEUES: u32 = 32;
/// The first of the service flow's sub-queues in the pool.
const FIRST: u32 = 96;

const FRAME: Frame = Frame {
    session: 1,
    number: 0,
    length: 100,
};

fn flow(flow_queuing: bool) -> Flow {
    Flow {
        manager: PIE,
        latency_target: TARGET,
        flow_queuing,
        sub_queues: if flow_queuing { QUEUES } else { 0 },
        ..Flow::default()
    }
}

fn modem(flow_queuing: bool, drop_prob: u64) -> Modem {
    let mut modem = Modem::new(&flow(flow_queuing));
    if flow_queuing {
        modem.hashed(FIRST, QUEUES);
    }
    modem.set_register("controller_heartbeat", 0, 1);
    modem.set_state("aqm_drop_prob", drop_prob);
    modem.set_state("aqm_qdelay_old", SLOW);
    modem
}

/// Whether a frame passes a queue of so many bytes.
fn passes(modem: &mut Modem, backlog: u32) -> bool {
    modem.set_backlog(backlog);
    modem.passes(START, FRAME)
}

fn share(probability: f64) -> u64 {
    (probability * ONE as f64) as u64
}

#[test]
fn frames_are_dropped_at_drop_prob() {
    for probability in [0.01, 0.1, 0.5, 0.85] {
        const FRAMES: usize = 50_000;
        let mut modem = modem(false, share(probability));
        let dropped = (0..FRAMES).filter(|_| !passes(&mut modem, LONG)).count();
        assert_rate(dropped, FRAMES, probability, &format!("{probability}"));
    }
    for (drop_prob, passed) in [(0, 1000), (ONE, 0), (u64::from(u32::MAX), 0)] {
        let mut modem = modem(false, drop_prob);
        let found = (0..1000).filter(|_| passes(&mut modem, LONG)).count();
        assert_eq!(found, passed, "{drop_prob}");
    }
}

/// Bernoulli's, not de-randomised: runs of 1 are the most frequent (000, figure 7).
#[test]
fn drops_are_independent() {
    const DROPS: usize = 3_000;
    for probability in [0.1, 0.01] {
        let mut modem = modem(false, share(probability));
        let (mut runs, mut run) = (Vec::new(), 0);
        while runs.len() < DROPS {
            run += 1;
            if !passes(&mut modem, LONG) {
                runs.push(run);
                run = 0;
            }
        }
        assert_geometric(&runs, probability, &format!("{probability}"));
    }
}

/// Whatever its length: without drops by size.
#[test]
fn the_length_does_not_matter() {
    for length in [64, 1500] {
        const FRAMES: usize = 20_000;
        let mut modem = modem(false, share(0.2));
        let frame = Frame { length, ..FRAME };
        let drops = |modem: &mut Modem| {
            modem.set_backlog(LONG);
            !modem.passes(START, frame)
        };
        let dropped = (0..FRAMES).filter(|_| drops(&mut modem)).count();
        assert_rate(dropped, FRAMES, 0.2, &format!("{length} bytes"));
    }
}

#[test]
fn a_short_delay_suppresses_a_small_probability() {
    for (qdelay_old, drop_prob, suppressed) in [
        (SLOW - 1, FIFTH - 1, true),
        (SLOW, FIFTH - 1, false),
        (SLOW - 1, FIFTH, false),
        (0, FIFTH - 1, true),
        (0, FIFTH, false),
    ] {
        let mut modem = modem(false, drop_prob);
        modem.set_state("aqm_qdelay_old", qdelay_old);
        let dropped = (0..2000).filter(|_| !passes(&mut modem, LONG)).count();
        // By chance none of 2000 would be: 0.8^2000.
        assert_eq!(dropped == 0, suppressed, "{qdelay_old} {drop_prob}");
    }
}

#[test]
fn a_short_queue_suppresses_any_probability() {
    let mut modem = modem(false, ONE);
    for (backlog, passed) in [(0, true), (2048, true), (2049, false)] {
        assert_eq!(passes(&mut modem, backlog), passed, "{backlog}");
    }
}

#[test]
fn a_burst_is_allowed() {
    let mut modem = modem(false, ONE);
    for (burst_allowance, passed) in [(150_000, true), (1, true), (0, false)] {
        modem.set_state("aqm_burst_allowance", burst_allowance);
        assert_eq!(passes(&mut modem, LONG), passed, "{burst_allowance}");
    }
}

#[test]
fn a_silent_controller_drops_nothing() {
    let mut modem = modem(false, ONE);
    modem.set_register("controller_heartbeat", 0, 0);
    assert!(passes(&mut modem, LONG));
}

/// The own sub-queue's depth, and another's that is the longest so far.
fn set_depths(modem: &mut Modem, own: u32, longest: u32) {
    let place = FIRST + FRAME.place(QUEUES, MULTIPLIER);
    let other = if place == FIRST { FIRST + 1 } else { FIRST };
    modem.set_backlog((own + longest).max(LONG));
    modem.set_depth(place, own);
    modem.set_depth(other, longest);
    modem.set_state(
        "flow_queue_longest",
        SERVICE_FLOWS as u64 + u64::from(other),
    );
}

#[test]
fn the_own_share_of_the_longest_scales_it() {
    const FRAMES: usize = 20_000;
    for (own, longest, drop_prob, expected) in [
        (10_000, 40_000, 0.8, 0.2),
        (20_000, 40_000, 0.8, 0.4),
        (39_999, 40_000, 0.5, 0.5),
        (40_000, 40_000, 0.5, 0.5),
        (50_000, 40_000, 0.5, 0.5),
        (100, 10_000_000, 1.0, 1e-5),
        // More than certain for the longest, a share of that for a shorter one.
        (10_000, 40_000, 2.0, 0.5),
    ] {
        let mut modem = modem(true, share(drop_prob));
        let drops = |modem: &mut Modem| {
            set_depths(modem, own, longest);
            !modem.passes(START, FRAME)
        };
        let dropped = (0..FRAMES).filter(|_| drops(&mut modem)).count();
        assert_rate(dropped, FRAMES, expected, &format!("{own} of {longest}"));
    }
}

#[test]
fn an_empty_sub_queue_is_immune() {
    for longest in [0, 1, 40_000, 1 << 26] {
        let mut modem = modem(true, u64::from(u32::MAX));
        for _ in 0..1000 {
            set_depths(&mut modem, 0, longest);
            assert!(modem.passes(START, FRAME));
        }
    }
}

/// The longest of another generation says nothing.
#[test]
fn another_generation_has_no_longest() {
    let mut modem = modem(true, ONE);
    set_depths(&mut modem, 100, 100_000);
    modem.provision(
        START,
        &Flow {
            generation: 1,
            ..flow(true)
        },
    );
    assert!(!modem.passes(START, FRAME), "the own one is the longest");
    let place = FRAME.place(QUEUES, MULTIPLIER);
    let own = SERVICE_FLOWS as u64 + u64::from(FIRST + place);
    assert_eq!(modem.state("flow_queue_longest"), 1 << 16 | own);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    /// One session alone: frame for frame what PIE does without flow queues.
    #[test]
    fn a_single_sub_queue_is_plain_pie(
        seed in any::<u64>(),
        frames in prop::collection::vec((0u64..3_000, 64usize..1500, 0u64..ONE), 1..400),
    ) {
        let fates = |flow_queuing| {
            let mut modem = Modem::with_seed(&Flow { rate: 8_000_000, ..flow(flow_queuing) }, seed);
            modem.hashed(FIRST, QUEUES);
            modem.set_register("controller_heartbeat", 0, 1);
            modem.set_state("aqm_qdelay_old", SLOW);
            let mut now = START;
            frames.iter().map(|&(pause, length, drop_prob)| {
                now += pause * 1000;
                modem.run(now, |_, _, _| {});
                modem.set_state("aqm_drop_prob", drop_prob);
                modem.receive(now, Frame { length, ..FRAME });
                modem.state("sf_enqueued_bytes")
            }).collect::<Vec<_>>()
        };
        prop_assert_eq!(fates(true), fates(false));
    }

    /// While nothing leaves, the longest is the longest of all.
    #[test]
    fn the_longest_is_found(sessions in prop::collection::vec((0u32..40, 64usize..1500), 1..300)) {
        let mut modem = modem(true, 0);
        modem.block(START);
        for (session, length) in sessions {
            // Depths in front of the frame are what it is told.
            let depths: Vec<u32> = (FIRST..FIRST + QUEUES).map(|q| modem.depth(q)).collect();
            let frame = Frame { session, length, number: 0 };
            let own = depths[frame.place(QUEUES, MULTIPLIER) as usize];
            modem.receive(START, frame);
            let index = modem.state("flow_queue_longest") & 0xffff;
            let chosen = depths[index as usize - SERVICE_FLOWS - FIRST as usize];
            prop_assert!(chosen >= own);
        }
        // Two frames more for each, then all are known, but for those frames themselves.
        for session in (0..40).chain(0..40) {
            modem.receive(START, Frame { session, length: 64, number: 0 });
        }
        let index = (modem.state("flow_queue_longest") & 0xffff) as u32 - SERVICE_FLOWS as u32;
        let longest = (FIRST..FIRST + QUEUES).map(|q| modem.depth(q)).max().unwrap();
        prop_assert!(modem.depth(index) + 2 * 40 * 64 >= longest);
    }
}
