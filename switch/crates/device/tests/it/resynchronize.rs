// SPDX-License-Identifier: Apache-2.0
//! The books of p4src/include/resynchronize.p4: frames that are lost between ingress and
//! egress are not backlog for good.

use crate::common::modem::{
    ADAPTIVE_RED, CODEL, DOCSIS_PIE, DROP_TAIL, Flow, Frame, MAX_PACKET, MULTIPLIER, Modem, ONE,
    PIE, PIE_002, SERVICE_FLOWS, SHORTEST, START, number,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// The tables' defaults: so long frames of one generation must have left alone, and so
/// long nothing must have left.
const LONGEST_WAIT: u64 = 1 << 22;
/// Behind the first `LONGEST_WAIT` of the clock.
const SETTLED: u64 = 10 * SECOND;
const QUEUES: u32 = 8;
const FIRST: u32 = 300;

fn frame(session: u32, number: u32, length: usize) -> Frame {
    Frame {
        session,
        number,
        length,
    }
}

/// Counters near the end of their 32 bits.
fn near_wrap(modem: &mut Modem, dequeued: u32) {
    modem.set_state("sf_enqueued_bytes", dequeued.into());
    modem.set_state("sf_dequeued_bytes", dequeued.into());
}

/// A modem on BMv2's queues, the frames that it was given and those that left.
struct Lossy {
    modem: Modem,
    lengths: Vec<usize>,
    sent: Vec<u32>,
    accepted: u64,
}

impl Lossy {
    fn new(flow: &Flow, depth: u32, rate: u64) -> Self {
        Self {
            modem: Modem::with_packet_queues(flow, depth, rate),
            lengths: Vec::new(),
            sent: Vec::new(),
            accepted: 0,
        }
    }

    fn receive(&mut self, now: u64, length: usize) {
        let number = self.lengths.len() as u32;
        self.lengths.push(length);
        let before = self.modem.state("sf_enqueued_bytes");
        self.modem.receive(now, frame(1, number, length));
        if self.modem.state("sf_enqueued_bytes") != before {
            self.accepted += length as u64;
        }
    }

    fn run(&mut self, now: u64) {
        let sent = &mut self.sent;
        self.modem.run(now, |_, _, frame| sent.push(number(frame)));
    }

    /// Bytes that the pipeline took and that neither left nor can leave any more.
    fn lost(&self) -> u64 {
        let length = |&n: &u32| self.lengths[n as usize] as u64;
        self.accepted - self.sent.iter().map(length).sum::<u64>()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// BMv2's queues overflow now and then: whatever was lost, the backlog is the truth with
    /// the next frame that gets through, and what was lost is counted.
    #[test]
    fn losses_heal_with_the_next_frame(
        manager in prop::sample::select(&[DROP_TAIL, DOCSIS_PIE, CODEL, PIE][..]),
        depth in 1u32..20,
        wrap in any::<u32>(),
        load in prop::collection::vec(
            (0u64..100, prop::collection::vec(SHORTEST..=MAX_PACKET, 1..60)), 1..40),
    ) {
        let flow = Flow { manager, buffer_size: 60_000, ..Flow::default() };
        let mut lossy = Lossy::new(&flow, depth, 1_000);
        near_wrap(&mut lossy.modem, wrap);
        let mut now = SETTLED;
        for (pause, lengths) in load {
            now += pause * MS;
            lossy.run(now);
            for length in lengths {
                lossy.receive(now, length);
            }
        }
        now += 10 * SECOND;
        lossy.run(now);
        // Alone on its way, and as short as fits behind what is taken for queued.
        lossy.receive(now, SHORTEST);
        lossy.run(now + SECOND);
        prop_assert_eq!(lossy.modem.backlog(), 0);
        prop_assert_eq!(lossy.modem.state("sf_lost_bytes"), lossy.lost());
        prop_assert_eq!(lossy.modem.count("sf_resynchronized") > 0, lossy.lost() > 0);
        // And nothing is lost or found where nothing overflows.
        let counted = lossy.modem.count("sf_resynchronized");
        for _ in 0..20 {
            now += 10 * SECOND;
            lossy.receive(now, 1_000);
            lossy.run(now + SECOND);
            prop_assert_eq!(lossy.modem.backlog(), 0);
        }
        prop_assert_eq!(lossy.modem.count("sf_resynchronized"), counted);
    }

    /// The same where the traffic manager's own limit drops of sub-queues that take turns.
    #[test]
    fn losses_of_sub_queues_heal_with_their_next_frame(
        load in prop::collection::vec(
            (0u64..30, prop::collection::vec((0u32..20, SHORTEST..=MAX_PACKET), 1..60)), 1..40),
    ) {
        let flow = Flow {
            flow_queuing: true,
            sub_queues: QUEUES,
            rate: 8_000_000,
            buffer_size: 60_000,
            queue_limit: 20_000,
            ..Flow::default()
        };
        let mut modem = Modem::new(&flow);
        modem.hashed(FIRST, QUEUES);
        let mut now = SETTLED;
        for (pause, frames) in load {
            now += pause * MS;
            modem.run(now, |_, _, _| {});
            for (session, length) in frames {
                modem.receive(now, frame(session, 0, length));
            }
        }
        modem.run(u64::MAX, |_, _, _| {});
        now += 100 * SECOND;
        for session in 0..20 {
            modem.receive(now, frame(session, 0, SHORTEST));
            modem.run(now + SECOND, |_, _, _| {});
        }
        let depths: Vec<u32> = (FIRST..FIRST + QUEUES).map(|n| modem.depth(n)).collect();
        prop_assert_eq!(depths, [0; QUEUES as usize]);
        prop_assert_eq!(modem.backlog(), 0);
        let overflow = modem.queue(now).overflow;
        prop_assert_eq!(modem.state("sf_lost_bytes"), overflow.bytes);
        prop_assert_eq!(modem.count("sf_resynchronized") > 0, overflow.frames > 0);
    }
}

/// A queue of one packet loses all that comes behind the first, and then nothing fits: a
/// frame is let through when nothing has left for four seconds.
#[test]
fn a_full_buffer_without_a_frame_in_it_heals() {
    let flow = Flow {
        buffer_size: 9_500,
        ..Flow::default()
    };
    let mut lossy = Lossy::new(&flow, 1, 1_000);
    for _ in 0..9 {
        lossy.receive(SETTLED, 1_000);
    }
    let mut now = SETTLED + SECOND;
    lossy.run(now);
    assert_eq!((lossy.sent.len(), lossy.modem.backlog()), (1, 8_000));
    let since = now;
    while lossy.sent.len() == 1 {
        now += 100 * MS;
        assert!(now - since < 2 * LONGEST_WAIT * 1_000, "it heals some time");
        // Two that do not fit: the first of them is the probe.
        lossy.receive(now, MAX_PACKET);
        lossy.run(now + 50 * MS);
    }
    assert!(now - since >= LONGEST_WAIT * 1_000);
    assert_eq!(lossy.modem.backlog(), 0);
    assert_eq!(lossy.modem.state("sf_lost_bytes"), 8_000);
    assert_eq!(lossy.modem.count("sf_resynchronized"), 1);
}

/// A queue manager that drops for certain does not keep lost frames alive either.
#[test]
fn certain_drops_do_not_keep_a_loss() {
    for manager in [DOCSIS_PIE, PIE, ADAPTIVE_RED] {
        let flow = Flow {
            manager,
            buffer_size: 30_000,
            ..Flow::default()
        };
        let mut lossy = Lossy::new(&flow, 1, 1_000);
        let red = [
            ("min_threshold", 1_000),
            ("max_threshold", 3_000),
            ("weight", 0xffff),
            ("threshold_reciprocal", (1 << 32) / 2_000),
        ];
        let modem = &mut lossy.modem;
        modem.parameters("adaptive_red.parameters", "set_red", &red);
        for _ in 0..20 {
            lossy.receive(SETTLED, 1_000);
        }
        lossy.run(SETTLED + SECOND);
        assert_eq!(lossy.modem.backlog(), 19_000);
        let modem = &mut lossy.modem;
        modem.set_register("controller_heartbeat", 0, 1);
        modem.set_state("aqm_drop_prob", 15 * ONE);
        modem.set_state("aqm_qdelay_old", 15_000);
        modem.set_state("aqm_control_state", 2);
        let mut now = SETTLED + 2 * SECOND;
        while lossy.modem.backlog() != 0 {
            now += 100 * MS;
            assert!(now < SETTLED + 20 * SECOND, "manager {manager}");
            lossy.modem.set_state("aqm_accu_prob", u64::from(u32::MAX));
            lossy.receive(now, 500);
            lossy.run(now + 50 * MS);
        }
    }
}

/// A queue that only stands is believed: one frame more when nothing has left for four
/// seconds, and another each time that this has taken twice as long.
#[test]
fn a_queue_that_stands_is_not_lost() {
    for flow_queuing in [false, true] {
        let flow = Flow {
            flow_queuing,
            sub_queues: if flow_queuing { QUEUES } else { 0 },
            buffer_size: 20_000,
            ..Flow::default()
        };
        let mut modem = Modem::new(&flow);
        modem.hashed(FIRST, QUEUES);
        modem.block(SETTLED);
        let mut now = SETTLED;
        for n in 0..25 {
            modem.receive(now, frame(n % 3, n, 1_000));
        }
        assert_eq!(modem.backlog(), 20_000);
        let mut more = 0;
        // An hour: 850 times as long.
        for n in 0..36_000u32 {
            now += 100 * MS;
            modem.receive(now, frame(n % 3, 100 + n, 1_000));
            more = modem.backlog() - 20_000;
            assert_eq!(u64::from(modem.backlog()), modem.queue(now).queued.bytes);
        }
        // Of each of the three sub-queues at the most.
        let most = if flow_queuing { 30_000 } else { 10_000 };
        assert!((9_000..=most).contains(&more), "{more} bytes more");
        modem.release(now);
        assert_eq!(modem.backlog(), 0);
        assert_eq!(modem.count("sf_resynchronized"), 0);
    }
}

/// A slow queue whose frames leave has no standstill.
#[test]
fn a_full_queue_that_moves_keeps_its_limit() {
    let flow = Flow {
        rate: 8_000,
        buffer_size: 20_000,
        ..Flow::default()
    };
    let mut modem = Modem::new(&flow);
    let mut now = SETTLED;
    for n in 0..2_000 {
        now += 100 * MS;
        modem.run(now, |_, _, _| {});
        modem.receive(now, frame(1, n, 1_000));
        assert!(modem.backlog() <= 20_000);
        assert_eq!(u64::from(modem.backlog()), modem.queue(now).queued.bytes);
    }
    assert_eq!(modem.count("sf_resynchronized"), 0);
}

/// Sessions whose sub-queue's frames were lost may be silent for ever: other sessions'
/// frames find it.
#[test]
fn what_silent_sessions_lost_heals() {
    let flow = Flow {
        flow_queuing: true,
        sub_queues: QUEUES,
        buffer_size: 16_000,
        queue_limit: 1_000,
        ..Flow::default()
    };
    let mut modem = Modem::new(&flow);
    modem.hashed(FIRST, QUEUES);
    modem.block(SETTLED);
    (0..16).for_each(|n| modem.receive(SETTLED, frame(1, n, 1_000)));
    modem.release(SETTLED + MS);
    assert_eq!(modem.backlog(), 15_000);
    let lost = FIRST + frame(1, 0, 100).place(QUEUES, MULTIPLIER);
    assert_eq!(modem.depth(lost), 15_000);
    let other = (2..)
        .find(|&n| FIRST + frame(n, 0, 100).place(QUEUES, MULTIPLIER) != lost)
        .unwrap();
    modem.provision(
        SETTLED + MS,
        &Flow {
            queue_limit: 0,
            ..flow
        },
    );
    let mut now = SETTLED + SECOND;
    while modem.backlog() != 0 {
        now += 100 * MS;
        assert!(now < SETTLED + 20 * SECOND);
        modem.receive(now, frame(other, 0, MAX_PACKET));
        modem.run(now + 50 * MS, |_, _, _| {});
    }
    assert_eq!(modem.depth(lost), 0);
    assert_eq!(modem.state("sf_lost_bytes"), 15_000);
}

/// The traffic manager's queue goes with all that waits and comes again: of one kind, the
/// other, or with other sub-queues.
#[test]
fn a_flushed_queue_heals() {
    let shapes = [(0, FIRST), (QUEUES, FIRST), (QUEUES, 700)];
    for (before, after) in shapes
        .iter()
        .flat_map(|b| shapes.iter().map(move |a| (b, a)))
    {
        let shaped = |&(sub_queues, first): &(u32, u32), generation, modem: Option<&mut Modem>| {
            if let Some(modem) = modem {
                modem.hashed(first, QUEUES);
            }
            Flow {
                flow_queuing: sub_queues > 0,
                sub_queues,
                generation,
                buffer_size: 20_000,
                ..Flow::default()
            }
        };
        let mut modem = Modem::new(&shaped(before, 0, None));
        shaped(before, 0, Some(&mut modem));
        modem.block(SETTLED);
        (0..20).for_each(|n| modem.receive(SETTLED, frame(n % 5, n, 1_000)));
        modem.remove_queue(SETTLED + MS);
        let flow = shaped(after, u8::from(before != after), Some(&mut modem));
        modem.provision(SETTLED + MS, &flow);
        assert_eq!(modem.backlog(), 20_000);
        let (mut now, mut passed) = (SETTLED + SECOND, 0);
        for n in 0..400 {
            now += 100 * MS;
            modem.receive(now, frame(n % 5, n, 1_000));
            modem.run(now + 50 * MS, |_, _, _| passed += 1);
        }
        // 40 seconds: most of them with room.
        assert!(passed > 250, "{before:?} {after:?}: {passed}");
        assert_eq!(modem.backlog(), 0, "{before:?} {after:?}");
        assert!(modem.count("sf_resynchronized") > 0);
        modem.receive(now, frame(1, 0, 1_000));
        assert!(modem.backlog() <= 1_000);
    }
}

/// A service flow whose frames do not keep their order can be left alone.
#[test]
fn without_order_nothing_is_believed() {
    let mut modem = Modem::new(&Flow::default());
    let never = [("settling_time", (1 << 48) - 1)];
    modem.parameters("resynchronize.order", "set_settling_time", &never);
    modem.set_backlog(5_000);
    for n in 0..10 {
        assert!(modem.passes(SETTLED + n * SECOND, frame(1, 0, 1_000)));
        assert_eq!(modem.backlog(), 5_000);
    }
    assert_eq!(modem.count("sf_resynchronized"), 0);
}

/// More left than came, as after a change of sub-queues that took longer than four seconds:
/// that is no full buffer, and no queue of 4 GB to whatever manages it.
#[test]
fn a_negative_backlog_is_an_empty_queue() {
    for (manager, too_many) in [(DROP_TAIL, 9_000), (DROP_TAIL, 64), (ADAPTIVE_RED, 64)] {
        let flow = Flow {
            manager,
            ..Flow::default()
        };
        let mut modem = Modem::new(&flow);
        let red = [
            ("min_threshold", 1_000),
            ("max_threshold", 3_000),
            ("weight", 0xffff),
            ("threshold_reciprocal", (1 << 32) / 2_000),
        ];
        modem.parameters("adaptive_red.parameters", "set_red", &red);
        assert!(modem.passes(START, frame(1, 0, 1_000)));
        modem.set_state("sf_dequeued_bytes", 1_000 + too_many);
        modem.block(SETTLED);
        for n in 1..=2 {
            modem.receive(SETTLED, frame(1, n, 1_000));
            assert_eq!(modem.backlog(), n * 1_000, "manager {manager}");
        }
        modem.release(SETTLED);
        assert_eq!(modem.backlog(), 0);
        assert_eq!(modem.count("sf_resynchronized"), 1);
    }
}

/// The same of a sub-queue: its first frame starts the count afresh.
#[test]
fn a_negative_depth_is_an_empty_sub_queue() {
    let flow = Flow {
        flow_queuing: true,
        sub_queues: QUEUES,
        ..Flow::default()
    };
    let mut modem = Modem::new(&flow);
    modem.hashed(FIRST, QUEUES);
    modem.queue_limit = 20_000;
    let place = frame(1, 0, 1_000).place(QUEUES, MULTIPLIER);
    modem.set_register("queue_dequeued_bytes", (FIRST + place) as usize, 64);
    modem.block(SETTLED);
    modem.receive(SETTLED, frame(1, 0, 1_000));
    assert_eq!(modem.depth(FIRST + place), 1_000);
}

/// Nor is it the longest, beside which a longer one would count for little.
#[test]
fn a_negative_depth_is_not_the_longest() {
    let flow = Flow {
        manager: PIE,
        flow_queuing: true,
        sub_queues: QUEUES,
        ..Flow::default()
    };
    let mut modem = Modem::new(&flow);
    modem.hashed(FIRST, QUEUES);
    let places: Vec<u32> = (0..9)
        .map(|session| frame(session, 0, 1_000).place(QUEUES, MULTIPLIER))
        .collect();
    let other = *places.iter().find(|&&place| place != places[0]).unwrap();
    modem.set_register("queue_dequeued_bytes", (FIRST + other) as usize, 64);
    let queue = |place: u32| SERVICE_FLOWS as u64 + u64::from(FIRST + place);
    modem.set_state("flow_queue_longest", queue(other));
    modem.set_register("controller_heartbeat", 0, 1);
    modem.block(SETTLED);
    modem.receive(SETTLED, frame(0, 0, 1_000));
    modem.receive(SETTLED, frame(0, 1, 1_000));
    assert_eq!(modem.state("flow_queue_longest"), queue(places[0]));
}

/// The books are put right by a frame that is dropped, too, and once.
#[test]
fn a_dropped_frame_puts_a_negative_backlog_right() {
    let flow = Flow {
        buffer_size: 500,
        ..Flow::default()
    };
    let mut modem = Modem::new(&flow);
    modem.set_state("sf_dequeued_bytes", 64);
    for n in 0..3 {
        assert!(!modem.passes(SETTLED, frame(1, n, 1_000)));
        assert_eq!(modem.backlog(), 0);
    }
    assert_eq!(modem.count("sf_drop_buffer_full"), 3);
    assert_eq!(modem.count("sf_resynchronized"), 1);
}

/// 002's PIE counts packets: one that is let through although it should be dropped is one, too.
#[test]
fn a_frame_that_is_let_through_counts_as_a_packet() {
    let flow = Flow {
        manager: PIE_002,
        ..Flow::default()
    };
    let mut modem = Modem::new(&flow);
    modem.block(SETTLED);
    modem.set_register("controller_heartbeat", 0, 1);
    modem.set_state("aqm_drop_prob", ONE);
    for n in 0..100 {
        modem.receive(SETTLED + u64::from(n) * SECOND, frame(1, n, 1_000));
    }
    let queued = modem.queue(SETTLED + 100 * SECOND).queued.frames;
    assert!((2..10).contains(&queued), "{queued}");
    assert_eq!(modem.state("pie_002_enqueued"), queued);
}
