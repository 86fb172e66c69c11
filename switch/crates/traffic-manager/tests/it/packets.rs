// SPDX-License-Identifier: Apache-2.0
//! Properties of the queues that BMv2 has: pace, priority, limits, order, with
//! explicit time.

use proptest::prelude::*;
use std::collections::VecDeque;
use traffic_manager::{
    Commit, ConfigError, Configuration, DEFAULT_DEPTH, Destination, MAX_CHANGED, Model, ModelKind,
    PacketQueueChange, PacketQueueConfig, PacketQueues, Place, PortConfig, QueueId,
    ServiceFlowConfig,
};

const PRIORITIES: u8 = 3;
const PORTS: [u16; 2] = [0, 5];

fn queues() -> PacketQueues<u64> {
    let mut queues = PacketQueues::new(PRIORITIES);
    for port in PORTS {
        queues.add_port(port);
    }
    queues
}

fn enqueue(queues: &mut PacketQueues<u64>, now: u64, port: u16, priority: u8, id: u64) -> bool {
    let slot = queues.queue(port, priority).unwrap();
    queues.enqueue(now, slot, 100, id).is_ok()
}

/// Lets one packet leave; its queue and number, and what it left behind.
fn depart(queues: &mut PacketQueues<u64>, now: u64) -> Option<(QueueId, u64, u64)> {
    let offer = queues.offer(now)?;
    match queues.commit() {
        Some(Commit::Sent(id)) => Some((offer.queue, id, offer.left.frames)),
        other => panic!("offered, but {other:?}"),
    }
}

fn change(change: PacketQueueChange) -> Configuration {
    Configuration {
        packet_queues: vec![change],
        ..Default::default()
    }
}

fn rate(rate: u64) -> PacketQueueChange {
    PacketQueueChange {
        rate: Some(rate),
        ..Default::default()
    }
}

fn id(port: u16, queue_id: u32) -> QueueId {
    QueueId { port, queue_id }
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    /// To the deadline and so much beyond.
    Deadline(u64),
    Arrive(usize, u8),
    /// At most so many departures.
    Poll(u8),
    /// The egress pipeline drops what is offered.
    Discard,
    Rate(u16, u8, u64),
    Depth(u16, u8, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let port = prop_oneof![Just(PORTS[0]), Just(PORTS[1])];
    let rates = prop_oneof![Just(0u64), 1u64..10, 1_000u64..1_000_000_000];
    prop_oneof![
        2 => (0u64..3_000_000).prop_map(Step::Wait),
        4 => prop_oneof![Just(0u64), 0u64..100_000].prop_map(Step::Deadline),
        8 => (0usize..2, 0..PRIORITIES).prop_map(|(port, pri)| Step::Arrive(port, pri)),
        4 => (1u8..8).prop_map(Step::Poll),
        1 => Just(Step::Discard),
        1 => (port.clone(), 0..PRIORITIES, rates).prop_map(|(p, q, r)| Step::Rate(p, q, r)),
        1 => (port, 0..PRIORITIES, 0u32..8).prop_map(|(p, q, d)| Step::Depth(p, q, d)),
    ]
}

/// A queue as BMv2's queueing.h describes it, in the plainest way.
#[derive(Debug, Default)]
struct Reference {
    depth: usize,
    interval: u64,
    last: Option<u64>,
    /// Time to leave and number.
    fifo: VecDeque<(u64, u64)>,
}

impl Reference {
    fn push(&mut self, now: u64, id: u64) -> bool {
        if self.fifo.len() >= self.depth {
            return false;
        }
        let at = self.last.map_or(now, |last| now.max(last + self.interval));
        self.last = Some(at);
        self.fifo.push_back((at, id));
        true
    }
}

/// Which of all heads is to leave at `now`: priority, time, arrival.
fn expected(all: &[[Reference; 3]; 2], now: u64) -> Option<(usize, usize)> {
    (0..3).rev().find_map(|priority| {
        (0..2)
            .filter_map(|port| Some((*all[port][priority].fifo.front()?, port)))
            .filter(|((at, _), _)| *at <= now)
            .min()
            .map(|(_, port)| (port, priority))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// Whatever arrives whenever, however it is configured in between and
    /// whenever it is polled: the same packets leave as from the reference, in
    /// the same order, none before its time, and the deadline is exact.
    #[test]
    fn as_the_reference(steps in prop::collection::vec(step(), 1..300)) {
        let mut tm = queues();
        let mut all: [[Reference; 3]; 2] = Default::default();
        for queue in all.iter_mut().flatten() {
            queue.depth = DEFAULT_DEPTH as usize;
        }
        let index = |port: u16| usize::from(port == PORTS[1]);
        let (mut now, mut next) = (0, 0);
        let mut refused = 0;
        for step in steps {
            match step {
                Step::Wait(ns) => now += ns,
                Step::Deadline(late) => {
                    let heads = all.iter().flatten().filter_map(|q| q.fifo.front());
                    let due = heads.map(|&(at, _)| at.max(now)).min();
                    // The deadline is of the time of the last call.
                    let at = tm.next_deadline().map(|at| at.max(now));
                    prop_assert_eq!(at, due);
                    if let Some(at) = at {
                        if at > now {
                            prop_assert!(tm.offer(at - 1).is_none());
                        }
                        now = at + late;
                    }
                }
                Step::Arrive(port, priority) => {
                    next += 1;
                    let accepted = all[port][usize::from(priority)].push(now, next);
                    prop_assert_eq!(enqueue(&mut tm, now, PORTS[port], priority, next), accepted);
                    refused += u64::from(!accepted);
                }
                Step::Poll(most) => {
                    for _ in 0..most {
                        let due = expected(&all, now).map(|(port, priority)| {
                            let fifo = &mut all[port][priority].fifo;
                            let (_, id) = fifo.pop_front().unwrap();
                            (PORTS[port], priority as u32, id, fifo.len() as u64)
                        });
                        let left = depart(&mut tm, now);
                        let left = left.map(|(queue, id, left)| (queue.port, queue.queue_id, id, left));
                        prop_assert_eq!(left, due);
                        if left.is_none() {
                            break;
                        }
                    }
                }
                Step::Discard => {
                    let due = expected(&all, now)
                        .and_then(|(port, priority)| all[port][priority].fifo.pop_front());
                    prop_assert_eq!(tm.offer(now).is_some(), due.is_some());
                    prop_assert_eq!(tm.discard(), due.map(|(_, id)| id));
                }
                Step::Rate(port, priority, packets) => {
                    all[index(port)][usize::from(priority)].interval =
                        1_000_000_000u64.checked_div(packets).unwrap_or(0);
                    let request = change(PacketQueueChange {
                        port: Some(port),
                        priority: Some(priority),
                        ..rate(packets)
                    });
                    tm.configure(now, &request).unwrap();
                }
                Step::Depth(port, priority, depth) => {
                    all[index(port)][usize::from(priority)].depth = depth as usize;
                    let request = change(PacketQueueChange {
                        port: Some(port),
                        priority: Some(priority),
                        depth: Some(depth),
                        rate: None,
                    });
                    tm.configure(now, &request).unwrap();
                }
            }
        }
        let states = tm.packet_queues();
        let sum = |of: fn(&traffic_manager::PacketQueueState) -> u64| -> u64 {
            states.iter().map(of).sum()
        };
        prop_assert_eq!(sum(|s| s.overflow.frames), refused);
        prop_assert_eq!(
            sum(|s| s.enqueued.frames),
            sum(|s| s.dequeued.frames + s.egress_dropped.frames + s.queued.frames)
        );
        let queued: usize = all.iter().flatten().map(|q| q.fifo.len()).sum();
        prop_assert_eq!(sum(|s| s.queued.frames), queued as u64);
        prop_assert_eq!(tm.is_empty(), queued == 0);
    }

    /// Polled at every deadline, no two packets of a queue are closer than its
    /// rate allows: over all t1 < t2, packets <= (t2 - t1) * rate + 1.
    #[test]
    fn the_pace_holds_over_every_window(
        packets in 1u64..2_000_000,
        gaps in prop::collection::vec(prop_oneof![Just(0u64), 0u64..5_000_000], 1..100),
    ) {
        let mut tm = queues();
        tm.configure(0, &change(rate(packets))).unwrap();
        let (mut now, mut times) = (0, Vec::new());
        for gap in gaps {
            let until = now + gap;
            while let Some(at) = tm.next_deadline().filter(|&at| at <= until) {
                now = now.max(at);
                depart(&mut tm, now).unwrap();
                times.push(now);
            }
            now = until;
            enqueue(&mut tm, now, 0, 1, 0);
        }
        while let Some(at) = tm.next_deadline() {
            now = now.max(at);
            depart(&mut tm, now).unwrap();
            times.push(now);
        }
        let interval = 1_000_000_000 / packets;
        prop_assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= interval));
    }
}

#[test]
fn a_queue_holds_64_packets_and_tells_how_many() {
    let mut tm = queues();
    for n in 0..u64::from(DEFAULT_DEPTH) {
        let slot = tm.queue(0, 0).unwrap();
        assert_eq!(tm.depth(slot).frames, n, "enq_qdepth excludes the packet");
        assert!(enqueue(&mut tm, 0, 0, 0, n));
    }
    assert!(!enqueue(&mut tm, 0, 0, 0, 64));
    // The other queues have room of their own.
    assert!(enqueue(&mut tm, 0, 0, 1, 65) && enqueue(&mut tm, 0, 5, 0, 66));
    assert_eq!(depart(&mut tm, 0), Some((id(0, 1), 65, 0)));
    assert_eq!(depart(&mut tm, 0), Some((id(0, 0), 0, 63)));
    let (_, overflow, queued) = tm.port_state(0).unwrap();
    assert_eq!((overflow.frames, queued.frames), (1, 63));
}

#[test]
fn a_new_rate_is_for_packets_to_come() {
    let mut tm = queues();
    tm.configure(0, &change(rate(1000))).unwrap();
    for n in 0..3 {
        assert!(enqueue(&mut tm, 0, 0, 0, n));
    }
    tm.configure(0, &change(rate(0))).unwrap();
    assert!(enqueue(&mut tm, 0, 0, 0, 3));
    let mut times = Vec::new();
    while let Some(at) = tm.next_deadline() {
        depart(&mut tm, at).unwrap();
        times.push(at);
    }
    // The last one without a limit, but behind the others.
    assert_eq!(times, [0, 1_000_000, 2_000_000, 2_000_000]);
}

#[test]
fn a_high_priority_that_waits_for_its_rate_lets_the_others_pass() {
    let mut tm = queues();
    let slow = PacketQueueChange {
        priority: Some(2),
        ..rate(10)
    };
    tm.configure(0, &change(slow)).unwrap();
    for n in 0..2 {
        assert!(enqueue(&mut tm, 0, 0, 2, n) && enqueue(&mut tm, 0, 0, 0, 10 + n));
    }
    let order: Vec<_> = std::iter::from_fn(|| depart(&mut tm, 0).map(|(_, id, _)| id)).collect();
    assert_eq!(order, [0, 10, 11]);
    assert_eq!(tm.next_deadline(), Some(100_000_000));
    assert!(tm.offer(100_000_000).is_some_and(|offer| offer.paced));
}

#[test]
fn any_port_has_queues_and_global_settings_reach_them() {
    let mut tm = queues();
    let all = PacketQueueChange {
        depth: Some(1),
        ..rate(5)
    };
    tm.configure(0, &change(all)).unwrap();
    assert!(enqueue(&mut tm, 0, 99, 0, 1));
    assert!(!enqueue(&mut tm, 0, 99, 0, 2));
    assert_eq!(depart(&mut tm, 0).map(|(queue, ..)| queue), Some(id(99, 0)));
    assert!(tm.port_state(99).is_none());
    assert!(tm.queue(0, PRIORITIES).is_none());
}

#[test]
fn a_change_is_for_the_queues_that_it_names() {
    for port in [None, Some(0), Some(5)] {
        for priority in [None, Some(0), Some(2)] {
            let mut tm = queues();
            tm.queue(7, 1).unwrap();
            let named = PacketQueueChange {
                port,
                priority,
                ..rate(5)
            };
            tm.configure(0, &change(named)).unwrap();
            let states = tm.packet_queues();
            assert_eq!(states.len(), 9);
            for PacketQueueConfig { queue, rate, .. } in states.iter().map(|s| s.config) {
                let of_port = port.is_none_or(|port| port == queue.port);
                let of_priority = priority.is_none_or(|p| u32::from(p) == queue.queue_id);
                let expected = if of_port && of_priority { 5 } else { 0 };
                assert_eq!(rate, expected, "{queue:?}");
            }
        }
    }
}

/// Packets wait for a request as a whole.
#[test]
fn the_changes_of_a_request_are_bounded_by_the_queues_that_they_name() {
    let mut tm = queues();
    let request = |changes: usize, change| Configuration {
        packet_queues: vec![change; changes],
        ..Default::default()
    };
    let one = PacketQueueChange {
        port: Some(5),
        priority: Some(1),
        ..rate(5)
    };
    let of_port = PacketQueueChange {
        priority: None,
        ..one
    };
    let of_priority = PacketQueueChange { port: None, ..one };
    for (named, queues) in [(one, 1), (of_priority, 2), (of_port, 3), (rate(5), 6)] {
        let most = MAX_CHANGED / queues;
        tm.configure(0, &request(most, named)).unwrap();
        let error = tm.configure(0, &request(most + 1, named)).unwrap_err();
        assert!(matches!(error, ConfigError::Invalid(_)), "{error}");
        assert!(
            error.to_string().contains("65536 queues are to change"),
            "{error}"
        );
    }
}

#[test]
fn a_new_pipeline_flushes_all_queues() {
    let mut tm = queues();
    tm.configure(0, &change(rate(1))).unwrap();
    for n in 0..3 {
        assert!(enqueue(&mut tm, 0, 0, 0, n));
    }
    assert!(tm.offer(0).is_some());
    let mut flushed = Vec::new();
    tm.flush(0, &mut |id| flushed.push(id));
    assert_eq!(flushed, [0, 1, 2]);
    assert!(tm.is_empty() && tm.next_deadline().is_none() && tm.offer(0).is_none());
    assert_eq!(tm.packet_queues()[0].flushed.frames, 3);
    // Nothing is owed for what did not leave.
    assert!(enqueue(&mut tm, 0, 0, 0, 9));
    assert_eq!(tm.next_deadline(), Some(0));
}

#[test]
fn what_the_other_model_has_is_refused_and_changes_nothing() {
    let mut tm = queues();
    let port = PortConfig {
        port: 5,
        ..Default::default()
    };
    let ports = |port| Configuration {
        ports: vec![port],
        ..Default::default()
    };
    let flow = Configuration {
        service_flows: vec![ServiceFlowConfig::default()],
        ..Default::default()
    };
    let other = [
        flow,
        ports(PortConfig { rate: 1, ..port }),
        ports(PortConfig {
            burst: 9000,
            ..port
        }),
        ports(PortConfig {
            queue_limit: 1,
            ..port
        }),
        ports(PortConfig {
            loop_back: true,
            ..port
        }),
    ];
    for request in other {
        let error = tm.configure(0, &request).unwrap_err();
        assert!(matches!(error, ConfigError::OtherModel(_)), "{error}");
    }
    let invalid = [
        (ports(PortConfig { port: 7, ..port }), "port 7"),
        (
            ports(PortConfig {
                receive_loss_ppm: 1_000_001,
                ..port
            }),
            "receive_loss_ppm is 1000001, more than all of a million",
        ),
        (
            ports(PortConfig {
                transmit_jitter_ns: 60_000_000_001,
                ..port
            }),
            "transmit_jitter_ns is 60000000001, more than a minute",
        ),
        (
            change(PacketQueueChange {
                port: Some(7),
                ..rate(1)
            }),
            "port 7",
        ),
        (
            change(PacketQueueChange {
                priority: Some(PRIORITIES),
                ..rate(1)
            }),
            "priority 3",
        ),
        (change(rate(u64::MAX)), "rate"),
        (
            change(PacketQueueChange {
                depth: Some(u32::MAX),
                ..Default::default()
            }),
            "depth",
        ),
        (
            change(PacketQueueChange::default()),
            "all queues: nothing is to change",
        ),
        (
            change(PacketQueueChange {
                port: Some(5),
                priority: Some(1),
                ..Default::default()
            }),
            "port 5 priority 1: nothing is to change",
        ),
    ];
    for (request, words) in invalid {
        let error = tm.configure(0, &request).unwrap_err();
        assert!(matches!(error, ConfigError::Invalid(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    let delay = ports(PortConfig {
        transmit_delay_ns: 5,
        ..port
    });
    tm.configure(0, &delay).unwrap();
    assert_eq!(tm.port_state(5).unwrap().0.transmit_delay_ns, 5);
    let states = tm.packet_queues();
    assert_eq!(states.len(), 6);
    assert!(
        states
            .iter()
            .all(|s| s.config.rate == 0 && s.config.depth == 64)
    );
}

#[test]
fn a_held_port_keeps_its_packets_and_others_pass() {
    let mut queues = queues();
    enqueue(&mut queues, 0, 0, 0, 1);
    enqueue(&mut queues, 0, 0, 1, 2);
    queues.set_held(0, true);
    // Also what comes while it is held, into queues that were empty or not.
    for (priority, id) in [(0, 3), (2, 4)] {
        assert!(enqueue(&mut queues, 1, 0, priority, id));
    }
    enqueue(&mut queues, 1, 5, 0, 5);
    assert_eq!(depart(&mut queues, 1), Some((id(5, 0), 5, 0)));
    assert_eq!(queues.next_deadline(), None);
    assert_eq!(depart(&mut queues, 2), None);
    assert!(!queues.is_empty());
    // Twice said is once said, and a port that has no queues may be held.
    queues.set_held(0, true);
    queues.set_held(77, true);
    queues.set_held(0, false);
    queues.set_held(0, false);
    assert_eq!(queues.next_deadline(), Some(2));
    let order: Vec<_> = std::iter::from_fn(|| depart(&mut queues, 3)).collect();
    let expected = [
        (id(0, 2), 4, 0),
        (id(0, 1), 2, 0),
        (id(0, 0), 1, 1),
        (id(0, 0), 3, 0),
    ];
    assert_eq!(order, expected);
    assert!(queues.is_empty());
}

#[test]
fn a_port_is_held_while_its_packet_is_on_offer() {
    let mut queues = queues();
    enqueue(&mut queues, 0, 0, 0, 1);
    enqueue(&mut queues, 0, 0, 0, 2);
    assert!(queues.offer(0).is_some());
    queues.set_held(0, true);
    assert_eq!(depart(&mut queues, 0), None);
    queues.set_held(0, false);
    assert!(queues.offer(0).is_some());
    assert!(matches!(queues.commit(), Some(Commit::Sent(1))));
    // It filled its link: the next one waits.
    queues.set_held(0, true);
    assert_eq!(depart(&mut queues, 0), None);
    // A held queue still overflows at its depth.
    for n in 0..u64::from(DEFAULT_DEPTH) {
        assert_eq!(
            enqueue(&mut queues, 0, 0, 0, n),
            n + 1 < u64::from(DEFAULT_DEPTH)
        );
    }
    let mut flushed = 0;
    queues.flush(1, &mut |_| flushed += 1);
    assert_eq!(flushed, DEFAULT_DEPTH);
    queues.set_held(0, false);
    assert!(queues.is_empty() && depart(&mut queues, 1).is_none());
}

/// A frame's segment costs time to find, and the queues that BMv2 has leave every frame in its place.
#[test]
fn frames_need_not_come_with_their_segments() {
    let mut model = Model::<u64>::new(ModelKind::Bmv2 {
        priorities: PRIORITIES,
    });
    model.add_port(5);
    let Place::Queue(slot) = model.place(Destination {
        port: 5,
        priority: 0,
        queue_id: 1,
    }) else {
        panic!("no queue");
    };
    assert!(!model.suppresses_acks(slot));
}
