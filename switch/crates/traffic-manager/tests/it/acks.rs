// SPDX-License-Identifier: Apache-2.0
//! TCP acknowledgements that later ones make superfluous: what whoever hears the queue's frames
//! knows in the end, what is left in the queue, and that all of it adds up.

use proptest::prelude::*;
use std::collections::BTreeMap;
use traffic_manager::{
    AckSuppression, Commit, Configuration, Connection, Content, QueueId, Segment, SegmentArrival,
    ServiceFlowConfig, Slot, Traffic, TrafficManager,
};

const QUEUE: QueueId = QueueId {
    port: 1,
    queue_id: 1,
};
const ACK: usize = 70;
const RATE: u64 = 8_000_000;

/// A frame with its number, and the time at which its place in the queue was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    number: usize,
    /// Which connection, and what it carries; no segment at all.
    segment: Option<(u16, Content)>,
    since: u64,
}

fn connection(port: u16) -> Connection {
    Connection {
        stations: [2; 12],
        vlans: [0; 2],
        is_ipv6: false,
        addresses: [[10; 16], [203; 16]],
        ports: [port, 443],
    }
}

fn plain(number: u32) -> Content {
    Content::Ack {
        number,
        plain: true,
    }
}

struct Bench {
    tm: TrafficManager<Frame>,
    arrived: Vec<(u64, Frame)>,
    sent: Vec<Frame>,
    suppressed: Vec<Frame>,
}

impl Bench {
    fn new(rule: AckSuppression, granted: bool) -> Self {
        let mut tm = TrafficManager::default();
        tm.add_port(1);
        if granted {
            tm.set_granted(0, 1, 1).unwrap();
        }
        let mut bench = Self {
            tm,
            arrived: Vec::new(),
            sent: Vec::new(),
            suppressed: Vec::new(),
        };
        bench.configure(0, rule);
        bench
    }

    fn configure(&mut self, now: u64, ack_suppression: AckSuppression) {
        let flow = ServiceFlowConfig {
            queue: QUEUE,
            max_sustained_rate: RATE,
            max_burst: 1522,
            ack_suppression,
            ..Default::default()
        };
        let request = Configuration {
            service_flows: vec![flow],
            ..Default::default()
        };
        self.tm.configure(now, &request, &mut |_| ()).unwrap();
    }

    fn slot(&self) -> Slot {
        self.tm.lookup(QUEUE).unwrap()
    }

    fn arrive(&mut self, now: u64, len: usize, segment: Option<(u16, Content)>) {
        let frame = Frame {
            number: self.arrived.len(),
            segment,
            since: now,
        };
        self.arrived.push((len as u64, frame));
        let segment = segment.map(|(port, content)| Segment {
            connection: connection(port),
            content,
        });
        let slot = self.slot();
        if self.tm.suppresses_acks(slot) {
            let arrival = SegmentArrival {
                segment: segment.as_ref(),
                inherit: |new: &mut Frame, old| new.since = old.since,
                gone: &mut self.suppressed,
            };
            let enqueued = self.tm.enqueue_segment(now, slot, len, frame, arrival);
            enqueued.unwrap();
        } else {
            self.tm.enqueue(now, slot, 0, len, frame).unwrap();
        }
    }

    fn ack(&mut self, now: u64, port: u16, number: u32) {
        self.arrive(now, ACK, Some((port, plain(number))));
    }

    /// Lets go what may leave at `now`, at its own rate or by so many grants.
    fn leave(&mut self, now: u64, grants: usize) {
        if self.tm.is_granted(1) {
            let slot = self.slot();
            for _ in 0..grants {
                if self.tm.grant(now, slot, u32::MAX).is_some() {
                    self.commit();
                }
            }
            return;
        }
        while self.tm.offer(now).is_some() {
            self.commit();
        }
    }

    fn commit(&mut self) {
        let number = self.tm.offered_mut().unwrap().number;
        let len = self.arrived[number].0 as usize;
        match self.tm.commit(len) {
            Some(Commit::Sent(frame)) => self.sent.push(frame),
            other => panic!("{other:?}"),
        }
    }

    fn leave_all(&mut self) {
        for now in (1..).map(|n| 1_000_000_000 * n) {
            if self.tm.is_empty() {
                return;
            }
            self.leave(now, 100);
        }
    }

    fn numbers(frames: &[Frame]) -> Vec<usize> {
        frames.iter().map(|frame| frame.number).collect()
    }
}

#[test]
fn always_drops_what_is_lower_and_the_new_one_is_last() {
    for granted in [false, true] {
        let mut bench = Bench::new(AckSuppression::Always, granted);
        bench.arrive(0, 1522, None);
        bench.ack(0, 1, 100);
        bench.ack(0, 2, 500);
        bench.arrive(0, 1522, Some((1, Content::Data { number: 100 })));
        bench.ack(0, 1, 90); // late: it makes nothing superfluous
        bench.ack(0, 1, 100); // a duplicate
        let sack = Content::Ack {
            number: 100,
            plain: false,
        };
        bench.arrive(0, 82, Some((1, sack)));
        assert_eq!(
            bench.suppressed.len(),
            1,
            "the late one is lower than the duplicate"
        );
        bench.ack(0, 1, 101);
        assert_eq!(Bench::numbers(&bench.suppressed), [4, 1, 5, 6]);
        bench.leave_all();
        assert_eq!(Bench::numbers(&bench.sent), [0, 2, 3, 7]);
        assert_eq!(bench.sent[3].since, 0);
    }
}

#[test]
fn safe_takes_the_place_of_the_one_before() {
    for granted in [false, true] {
        let mut bench = Bench::new(AckSuppression::Safe, granted);
        bench.arrive(0, 1522, None);
        bench.ack(1, 1, 100); // perhaps a duplicate of one that came before
        bench.ack(2, 1, 200);
        bench.arrive(3, 1522, None);
        bench.ack(4, 1, 300);
        bench.ack(5, 2, 900);
        bench.ack(6, 1, 400);
        assert_eq!(Bench::numbers(&bench.suppressed), [2, 4]);
        bench.leave_all();
        assert_eq!(Bench::numbers(&bench.sent), [0, 1, 6, 3, 5]);
        // The place has waited since the first one took it.
        assert_eq!(bench.sent[2].since, 2);
    }
}

#[test]
fn safe_keeps_duplicates_and_whatever_says_more() {
    let sack = |number| Content::Ack {
        number,
        plain: false,
    };
    for between in [
        plain(200),
        plain(150),
        sack(200),
        sack(250),
        Content::Data { number: 200 },
        Content::Edge,
    ] {
        let mut bench = Bench::new(AckSuppression::Safe, false);
        bench.arrive(0, 1522, None);
        bench.ack(0, 1, 100);
        bench.ack(0, 1, 200);
        bench.arrive(0, ACK, Some((1, between)));
        bench.ack(0, 1, 300);
        assert_eq!(bench.suppressed, [], "{between:?}");
        bench.leave_all();
        assert_eq!(Bench::numbers(&bench.sent), [0, 1, 2, 3, 4]);
    }
}

#[test]
fn an_acknowledgement_of_another_length_has_a_place_of_its_own() {
    let mut bench = Bench::new(AckSuppression::Safe, false);
    bench.arrive(0, 1522, None);
    bench.ack(0, 1, 100);
    bench.ack(0, 1, 200);
    bench.arrive(0, ACK + 12, Some((1, plain(300))));
    assert_eq!(bench.suppressed, []);
    bench.arrive(0, ACK + 12, Some((1, plain(400))));
    assert_eq!(Bench::numbers(&bench.suppressed), [3]);
}

#[test]
fn one_that_comes_looks_at_64() {
    let mut bench = Bench::new(AckSuppression::Always, false);
    bench.arrive(0, 1522, None);
    bench.ack(0, 1, 100);
    (0..100).for_each(|_| bench.ack(0, 1, 100));
    assert_eq!(bench.suppressed, []);
    bench.ack(0, 1, 101);
    assert_eq!(bench.suppressed.len(), 64);
    bench.ack(0, 1, 101);
    assert_eq!(bench.suppressed.len(), 101);
}

#[test]
fn a_rule_may_come_and_go_while_frames_wait() {
    let mut bench = Bench::new(AckSuppression::Off, false);
    bench.arrive(0, 1522, None);
    (1..4).for_each(|n| bench.ack(0, 1, n));
    bench.configure(0, AckSuppression::Always);
    bench.ack(0, 1, 10);
    assert_eq!(
        bench.suppressed,
        [],
        "of frames that came before nothing is known"
    );
    bench.ack(0, 1, 11);
    bench.configure(0, AckSuppression::Safe);
    bench.ack(0, 1, 12);
    bench.configure(0, AckSuppression::Off);
    bench.ack(0, 1, 13);
    assert_eq!(Bench::numbers(&bench.suppressed), [4]);
    bench.leave_all();
    assert_eq!(bench.sent.len(), 7);
}

#[test]
fn sub_queues_have_none() {
    let mut tm: TrafficManager<u8> = TrafficManager::default();
    tm.add_port(1);
    let flow = ServiceFlowConfig {
        queue: QUEUE,
        sub_queues: 2,
        ack_suppression: AckSuppression::Safe,
        ..Default::default()
    };
    let request = Configuration {
        service_flows: vec![flow],
        ..Default::default()
    };
    let refused = tm.configure(0, &request, &mut |_| ()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "port 1 queue 1: ack_suppression needs one queue, but sub_queues is 2"
    );
}

#[derive(Debug, Clone)]
enum Step {
    /// A segment of a connection: bytes more that it acknowledges, and of what kind.
    Segment(u16, u32, u8),
    Other(usize),
    Wait(u64),
    Leave(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let segment = (0u16..4, 0u32..4, 0u8..12);
    prop_oneof![
        6 => segment.prop_map(|(port, more, kind)| Step::Segment(port, more * 1448, kind)),
        1 => (64usize..1522).prop_map(Step::Other),
        1 => (0u64..2_000_000).prop_map(Step::Wait),
        1 => (0usize..4).prop_map(Step::Leave),
    ]
}

/// What hears the queue's frames: the highest number of each connection.
fn highest<'f>(frames: impl Iterator<Item = &'f Frame>) -> BTreeMap<u16, u32> {
    let mut highest = BTreeMap::new();
    for (port, content) in frames.filter_map(|frame| frame.segment) {
        if let Content::Ack { number, .. } | Content::Data { number } = content {
            let known = highest.entry(port).or_insert(number);
            *known = number.max(*known);
        }
    }
    highest
}

/// Frames whose acknowledgement repeats one that was there before, or that
/// says more than its number.
fn telling(arrived: &[(u64, Frame)]) -> Vec<usize> {
    let mut known: BTreeMap<u16, u32> = BTreeMap::new();
    let mut telling = Vec::new();
    for (_, frame) in arrived {
        let Some((port, content)) = frame.segment else {
            continue;
        };
        let (Content::Ack { number, .. } | Content::Data { number }) = content else {
            // A connection's numbers begin anew.
            known.remove(&port);
            continue;
        };
        let is_new = known.get(&port).is_none_or(|&before| number > before);
        if !is_new || !matches!(content, Content::Ack { plain: true, .. }) {
            telling.push(frame.number);
        }
        known.insert(port, number.max(known.get(&port).copied().unwrap_or(0)));
    }
    telling
}

fn run(rule: AckSuppression, granted: bool, steps: &[Step]) -> Result<Bench, TestCaseError> {
    let mut bench = Bench::new(rule, granted);
    let mut now = 0;
    let mut numbers = [1000u32; 4];
    for step in steps {
        match *step {
            Step::Segment(port, more, kind) => {
                let number = &mut numbers[usize::from(port)];
                *number += more;
                let number = *number;
                let (len, content) = match kind {
                    0 => (1000, Content::Data { number }),
                    1 => (
                        82,
                        Content::Ack {
                            number,
                            plain: false,
                        },
                    ),
                    2 => (ACK, plain(number - 500)),
                    3 => (82, plain(number)),
                    4 => (ACK, Content::Edge),
                    _ => (ACK, plain(number)),
                };
                bench.arrive(now, len, Some((port, content)));
            }
            Step::Other(len) => bench.arrive(now, len, None),
            Step::Wait(time) => now += time,
            Step::Leave(grants) => bench.leave(now, grants),
        }
        let state = bench.tm.service_flows(now)[0];
        let bytes = |frames: &[Frame]| frames.iter().map(|f| bench.arrived[f.number].0).sum();
        let counted = |frames: &[Frame]| Traffic {
            frames: frames.len() as u64,
            bytes: bytes(frames),
        };
        prop_assert_eq!(state.suppressed, counted(&bench.suppressed));
        prop_assert_eq!(state.dequeued, counted(&bench.sent));
        let gone = state.suppressed.bytes + state.dequeued.bytes + state.queued.bytes;
        prop_assert_eq!(state.enqueued.bytes, gone);
        if granted {
            let backlog = bench.tm.backlog(now, bench.slot());
            let mut bytes = 0;
            for place in 0..backlog.eligible.frames {
                bytes += u64::from(bench.tm.length_at(bench.slot(), place as usize).unwrap());
            }
            prop_assert_eq!(backlog.eligible.bytes, bytes);
            prop_assert_eq!(backlog.waiting, state.queued);
        }
    }
    bench.leave_all();
    Ok(bench)
}

proptest! {
    /// With either rule every frame leaves once or is suppressed once, no data is lost, and who
    /// hears the rest knows the same highest number of each connection.
    #[test]
    fn nobody_knows_less(
        steps in prop::collection::vec(step(), 1..200),
        is_safe in any::<bool>(),
        granted in any::<bool>(),
    ) {
        let rule = if is_safe { AckSuppression::Safe } else { AckSuppression::Always };
        let bench = run(rule, granted, &steps)?;
        let mut seen = Bench::numbers(&bench.sent);
        seen.extend(Bench::numbers(&bench.suppressed));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..bench.arrived.len()).collect::<Vec<_>>());
        for frame in &bench.suppressed {
            let is_ack = matches!(frame.segment, Some((_, Content::Ack { .. })));
            prop_assert!(is_ack, "{:?}", frame);
        }
        let arrived = bench.arrived.iter().map(|(_, frame)| frame);
        prop_assert_eq!(highest(bench.sent.iter()), highest(arrived));
    }

    /// The safe rule suppresses nothing that tells more than a higher number, and each
    /// connection's frames leave in the order in which they came.
    #[test]
    fn safe_loses_no_duplicate_and_no_order(
        steps in prop::collection::vec(step(), 1..200),
        granted in any::<bool>(),
    ) {
        let bench = run(AckSuppression::Safe, granted, &steps)?;
        let suppressed = Bench::numbers(&bench.suppressed);
        for number in telling(&bench.arrived) {
            prop_assert!(!suppressed.contains(&number), "{:?}", bench.arrived[number]);
        }
        for port in 0..4 {
            let of_port = bench.sent.iter().filter(|f| f.segment.is_some_and(|s| s.0 == port));
            prop_assert!(of_port.map(|frame| frame.number).is_sorted());
        }
        // What is kept in an old place waits no longer than that place.
        let alone = run(AckSuppression::Off, granted, &steps)?;
        prop_assert_eq!(alone.sent.len(), bench.arrived.len());
    }
}
