// SPDX-License-Identifier: Apache-2.0
//! CoDel of p4src/include/codel.p4 at the head of the queue, against RFC 8289's own words,
//! frame for frame.

use crate::common::codel::{Codel, Head};
use crate::common::modem::{
    CODEL, Flow, Frame, MAX_PACKET, MULTIPLIER, Modem, SERVICE_FLOWS, START, number,
};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

const RATE: u64 = 8_000_000; // a frame a millisecond
const FRAME: usize = 1000;
const TARGET: u64 = 5_000;
const INTERVAL: u64 = 50_000;
const COUNTS: u128 = 500;

/// A frame in the reference's queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: u64,
    generation: u8,
    number: u32,
}

/// The RFC's queue of one session. A frame of another generation begins a new one: for
/// the old one the queue ends there.
struct Queue {
    waiting: VecDeque<Waiting>,
    codel: Codel,
    generation: u8,
    dropped: Vec<u32>,
}

impl Queue {
    fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            codel: Codel::new(TARGET, INTERVAL),
            generation: 0,
            dropped: Vec::new(),
        }
    }

    fn deque(&mut self, now: u64) -> Option<u32> {
        loop {
            let (waiting, generation) = (&mut self.waiting, self.generation);
            let packet = self.codel.deque(|| {
                let head = *waiting
                    .front()
                    .filter(|head| head.generation == generation)?;
                waiting.pop_front();
                Some(Head {
                    packet: head.number,
                    now,
                    sojourn: now - head.since,
                    bytes: waiting.len() * FRAME,
                })
            });
            assert!(self.codel.count <= COUNTS as u64, "the table ends there");
            self.dropped.append(&mut self.codel.dropped);
            match self.waiting.front() {
                Some(head) if packet.is_none() => self.generation = head.generation,
                _ => return packet,
            }
            self.codel = Codel::new(TARGET, INTERVAL);
        }
    }
}

/// A device and the RFC's queues of its sessions side by side.
struct Pair {
    modem: Modem,
    flow: Flow,
    queues: Vec<Queue>,
    /// The session of each frame.
    sessions: Vec<usize>,
    sent: usize,
}

impl Pair {
    fn new(sessions: usize) -> Self {
        let flow = Flow {
            manager: CODEL,
            rate: RATE,
            ..Flow::default()
        };
        let mut modem = Modem::new(&flow);
        modem.inverse_square_roots("FrameEgress.codel.inv_sqrt", COUNTS);
        let parameters = [("latency_target", TARGET), ("control_interval", INTERVAL)];
        modem.parameters("FrameEgress.codel.parameters", "set_codel", &parameters);
        Self {
            modem,
            flow,
            queues: (0..sessions).map(|_| Queue::new()).collect(),
            sessions: Vec::new(),
            sent: 0,
        }
    }

    /// Lets the device send until `now`; the RFC's queues send whenever it does.
    fn run(&mut self, now: u64) {
        let (queues, sessions) = (&mut self.queues, &self.sessions);
        self.modem.run(now, |_, at, frame| {
            let number = number(frame);
            let queue = &mut queues[sessions[number as usize]];
            assert_eq!(queue.deque(at / 1000), Some(number));
            self.sent += 1;
        });
    }

    fn receive(&mut self, now: u64, session: usize) {
        let frame = Frame {
            session: session as u32,
            number: self.sessions.len() as u32,
            length: FRAME,
        };
        self.sessions.push(session);
        self.queues[session].waiting.push_back(Waiting {
            since: now / 1000,
            generation: self.flow.generation,
            number: frame.number,
        });
        self.modem.receive(now, frame);
    }

    fn dropped(&self) -> usize {
        self.queues.iter().map(|queue| queue.dropped.len()).sum()
    }

    /// That every frame was sent or dropped, and none of either for the other.
    fn finish(&mut self, now: u64) {
        let frames = self.sessions.len();
        self.run(now + frames as u64 * 2_000_000);
        let queue = self.modem.queue(u64::MAX);
        assert_eq!(queue.egress_dropped.frames as usize, self.dropped());
        assert_eq!(self.sent + self.dropped(), frames);
        assert_eq!(self.modem.backlog(), 0);
    }
}

/// Bursts of frames and the pauses before them, microseconds, with an end long enough
/// for the queue to empty. As many as the table of square roots is long enough for.
fn load(bursts: usize) -> impl Strategy<Value = Vec<(u64, usize)>> {
    let burst = prop_oneof![
        4 => (0u64..3_000, 1usize..4),
        2 => (0u64..40_000, 10usize..60),
        1 => (20_000u64..1_000_000, 1usize..150),
    ];
    prop::collection::vec(burst, 1..bursts)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_frame_has_the_rfcs_fate(load in load(200)) {
        let mut pair = Pair::new(1);
        let mut now = START;
        for (pause, burst) in load {
            now += pause * 1000;
            pair.run(now);
            (0..burst).for_each(|_| pair.receive(now, 0));
        }
        pair.finish(now);
    }

    /// Another generation while frames wait: those have the old one's state, and with the
    /// first that was queued behind them everything is as on the first day.
    #[test]
    fn another_generation_starts_afresh(load in load(200), every in 1usize..20) {
        let mut pair = Pair::new(1);
        let mut now = START;
        for (n, (pause, burst)) in load.into_iter().enumerate() {
            now += pause * 1000;
            pair.run(now);
            if n % every == 0 {
                pair.flow.generation = pair.flow.generation.wrapping_add(1);
                pair.modem.provision(now, &pair.flow);
            }
            (0..burst).for_each(|_| pair.receive(now, 0));
        }
        pair.finish(now);
    }

    /// With flow queues each session has a queue and a state of its own (SFQ-CoDel).
    #[test]
    fn every_session_has_a_state_of_its_own(
        load in prop::collection::vec((load(80), 0usize..4), 1..4),
    ) {
        const QUEUES: u32 = 32;
        let mut pair = Pair::new(4);
        pair.flow = Flow {
            flow_queuing: true,
            sub_queues: QUEUES,
            rate: 3 * RATE,
            ..pair.flow
        };
        pair.modem.hashed(100, QUEUES);
        pair.modem.provision(START, &pair.flow);
        let frame = |session| Frame { session, number: 0, length: FRAME };
        let places: BTreeSet<u32> = (0..4).map(|n| frame(n).place(QUEUES, MULTIPLIER)).collect();
        prop_assert_eq!(places.len(), 4, "sessions that do not collide");
        // The loads of all sessions in the order of their times.
        let mut bursts = Vec::new();
        for (load, session) in load {
            let mut now = START;
            for (pause, burst) in load {
                now += pause * 1000;
                bursts.push((now, burst, session));
            }
        }
        bursts.sort_unstable();
        for &(now, burst, session) in &bursts {
            pair.run(now);
            (0..burst).for_each(|_| pair.receive(now, session));
        }
        pair.finish(bursts.last().unwrap().0);
    }
}

/// No frame goes that leaves no more than the largest packet behind it, to the byte.
#[test]
fn a_packet_is_left() {
    for (backlog, sent) in [(MAX_PACKET as u32, 1), (MAX_PACKET as u32 + 1, 0)] {
        let mut modem = Pair::new(1).modem;
        modem.block(START);
        modem.receive(
            START,
            Frame {
                session: 1,
                number: 0,
                length: FRAME,
            },
        );
        modem.set_state("FrameEgress.codel.first_above_time_", 1);
        modem.set_backlog(backlog + FRAME as u32);
        modem.release(START + 2 * TARGET * 1000);
        assert_eq!(modem.out.sent.len(), sent, "{backlog}");
    }
}

/// With flow queues that is counted in the session's own sub-queue.
#[test]
fn the_packets_left_are_the_sessions_own() {
    let mut pair = Pair::new(1);
    let frame = Frame {
        session: 1,
        number: 0,
        length: FRAME,
    };
    let flow = Flow {
        flow_queuing: true,
        sub_queues: 32,
        ..pair.flow
    };
    pair.modem.hashed(100, 32);
    pair.modem.provision(START, &flow);
    pair.modem.block(START);
    pair.modem.receive(START, frame);
    let cell = SERVICE_FLOWS + 100 + frame.place(32, MULTIPLIER) as usize;
    let modem = &mut pair.modem;
    modem.set_register("FrameEgress.codel.first_above_time_", cell, 1);
    modem.set_backlog(1_000_000);
    modem.release(START + 2 * TARGET * 1000);
    assert_eq!(modem.out.sent.len(), 1);
}

/// An upload that never ends is held at the target: one frame in some hundred goes, more
/// and more often, until the queue stands no higher.
#[test]
fn a_standing_queue_is_worked_off() {
    let mut pair = Pair::new(1);
    let mut now = START;
    // 100 ms of it stand; what comes is as much as goes.
    for n in 0..20_000u32 {
        if n >= 100 {
            now += 1_000_000;
        }
        pair.run(now);
        pair.receive(now, 0);
    }
    assert!(pair.dropped() > 90);
    let queued = pair.modem.queue(now).queued;
    assert!(queued.frames <= 10, "{queued:?}");
}

/// Sub-queues that are others than before: frames of the old generation leave among those of
/// the new one that have the same cell. The state begins afresh once.
#[test]
fn a_generation_begins_once() {
    const CELL: usize = SERVICE_FLOWS + 101;
    let mut pair = Pair::new(1);
    let of = |session, number| Frame {
        session,
        number,
        length: FRAME,
    };
    // The second of two, and then the only one: the same cell.
    let session = (0..).find(|&n| of(n, 0).place(2, MULTIPLIER) == 1).unwrap();
    let frame = |number| of(session, number);
    let flow = Flow {
        flow_queuing: true,
        sub_queues: 2,
        ..pair.flow
    };
    let modem = &mut pair.modem;
    modem.provision(START, &flow);
    modem.hashed(100, 2);
    modem.block(START);
    (0..50).for_each(|n| modem.receive(START, frame(n)));
    modem.hashed(101, 1);
    let flow = Flow {
        generation: 1,
        ..flow
    };
    modem.provision(START, &flow);
    modem.block(START);
    (50..100).for_each(|n| modem.receive(START, frame(n)));
    modem.provision(START, &flow);
    let (mut sent, mut turns, mut generation) = (0, 0, 0);
    modem.run(u64::MAX, |modem, _, frame| {
        turns += usize::from((number(frame) < 50) != (sent % 2 == 0));
        sent += 1;
        let seen = modem.register("FrameEgress.codel.generation_", CELL);
        assert!(seen >= generation, "back from {generation} to {seen}");
        generation = seen;
    });
    assert!(turns > 0, "old and new ones took turns");
    assert_eq!(generation, 1);
}
