// SPDX-License-Identifier: Apache-2.0
//! Properties of the shaper: the two inequalities, the rates under load,
//! fairness, work conservation and exact deadlines, with explicit time.

use proptest::prelude::*;
use traffic_manager::{
    Commit, Configuration, PortConfig, QueueId, ServiceFlowConfig, TrafficManager,
};

const PORT: u16 = 1;

fn id(queue_id: u32) -> QueueId {
    QueueId {
        port: PORT,
        queue_id,
    }
}

fn manager(ports: Vec<PortConfig>, service_flows: Vec<ServiceFlowConfig>) -> TrafficManager<u64> {
    let mut tm = TrafficManager::default();
    tm.add_port(PORT);
    let request = Configuration {
        ports,
        service_flows,
        ..Default::default()
    };
    tm.configure(0, &request, &mut |_| ()).unwrap();
    tm
}

fn enqueue(tm: &mut TrafficManager<u64>, now: u64, queue_id: u32, len: usize) -> bool {
    let slot = tm.lookup(id(queue_id)).unwrap();
    tm.enqueue(now, slot, 0, len, len as u64).is_ok()
}

/// Lets one frame leave; its queue and length.
fn depart(tm: &mut TrafficManager<u64>, now: u64) -> Option<(u32, u64)> {
    let offer = tm.offer(now)?;
    let len = *tm.offered_mut().unwrap();
    match tm.commit(len as usize).unwrap() {
        Commit::Sent(sent) => assert_eq!(sent, len),
        other => panic!("offered, but {other:?}"),
    }
    Some((offer.queue.queue_id, len))
}

/// Asserts bytes <= dt * rate / 8 + burst over every window between departures.
fn assert_bounded(departures: &[(u64, u64)], rate: u64, burst: u64) {
    if rate == 0 {
        return;
    }
    // Exact: sum - earned so far, in 1/8e9 byte; its rise over any window is bounded.
    let limit = i128::from(burst) * 8_000_000_000;
    let mut lowest = i128::MAX;
    let mut sum = 0i128;
    for &(at, len) in departures {
        let earned = i128::from(at) * i128::from(rate);
        lowest = lowest.min(sum - earned);
        sum += i128::from(len) * 8_000_000_000;
        assert!(
            sum - earned - lowest <= limit,
            "violated at {at} ns: {} bytes too many",
            (sum - earned - lowest - limit) / 8_000_000_000
        );
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Time passes, in ns.
    Wait(u64),
    /// To the deadline, and so much beyond.
    Deadline(u64),
    Arrive(u32, usize),
    /// At most so many departures.
    Poll(u8),
    /// The egress pipeline drops what is offered.
    Discard,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..3_000_000).prop_map(Step::Wait),
        prop_oneof![Just(0u64), 0u64..100_000].prop_map(Step::Deadline),
        (1u32..4, 60usize..1523).prop_map(|(queue, len)| Step::Arrive(queue, len)),
        (1u32..4, 60usize..1523).prop_map(|(queue, len)| Step::Arrive(queue, len)),
        any::<u8>().prop_map(Step::Poll),
        Just(Step::Discard),
    ]
}

fn flow() -> impl Strategy<Value = ServiceFlowConfig> {
    (
        prop_oneof![Just(0u64), 1_000u64..1_000_000_000],
        1522u64..100_000,
        prop_oneof![Just(0u64), 1_000u64..1_000_000_000],
        0u8..8,
        any::<bool>(),
        prop_oneof![Just(0u64), 1_000u64..1_000_000_000],
        prop_oneof![Just(0u32), 0u32..3000],
    )
        .prop_map(
            |(rate, burst, peak, priority, full, min, assumed)| ServiceFlowConfig {
                max_sustained_rate: rate,
                max_burst: burst,
                peak_rate: peak,
                initial_tokens: (!full).then_some(0),
                traffic_priority: priority,
                min_reserved_rate: if rate == 0 { min } else { min.min(rate) },
                assumed_packet_size: assumed,
                ..Default::default()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Whatever arrives whenever, and whenever it is polled: no violation, no
    /// frame lost, order kept, counters balanced.
    #[test]
    fn both_inequalities_hold(
        flows in prop::collection::vec(flow(), 3),
        port_rate in prop_oneof![Just(0u64), 1_000u64..1_000_000_000],
        burst in prop_oneof![Just(0u64), 1522u64..50_000],
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let configs: Vec<_> = flows
            .iter()
            .enumerate()
            .map(|(n, flow)| ServiceFlowConfig { queue: id(n as u32 + 1), ..*flow })
            .collect();
        let port = PortConfig { port: PORT, rate: port_rate, burst, ..Default::default() };
        let mut tm = manager(vec![port], configs.clone());
        let mut now = 0;
        let mut departures = vec![Vec::new(); 4];
        let mut arrived = vec![std::collections::VecDeque::new(); 4];
        for step in steps {
            match step {
                Step::Wait(ns) => now += ns,
                Step::Deadline(late) => {
                    if let Some(at) = tm.next_deadline() {
                        // Exact: nothing to do one nanosecond earlier.
                        if at > now + 1 && at < now + 10_000_000_000 {
                            prop_assert!(tm.offer(at - 1).is_none());
                        }
                        let horizon = now + 10_000_000_000;
                        now = now.max(at.min(horizon));
                        // A flow's tokens may come before its port's: then
                        // there is another deadline, for each flow at most.
                        let mut tries = 0;
                        while now >= at && tm.offer(now).is_none() {
                            let later = tm.next_deadline().unwrap();
                            prop_assert!(later > now && tries < 4);
                            if later > horizon {
                                break;
                            }
                            tries += 1;
                            now = later;
                        }
                        now += late;
                    }
                }
                Step::Arrive(queue, len) => {
                    prop_assert!(enqueue(&mut tm, now, queue, len));
                    arrived[queue as usize].push_back(len as u64);
                }
                Step::Poll(most) => {
                    for _ in 0..most {
                        let Some((queue, len)) = depart(&mut tm, now) else { break };
                        prop_assert_eq!(arrived[queue as usize].pop_front(), Some(len));
                        departures[queue as usize].push((now, len));
                    }
                }
                Step::Discard => {
                    if let Some(offer) = tm.offer(now) {
                        let dropped = tm.discard();
                        prop_assert!(dropped.is_some());
                        prop_assert_eq!(arrived[offer.queue.queue_id as usize].pop_front(), dropped);
                    }
                }
            }
        }
        let mut all: Vec<_> = departures.concat();
        all.sort_by_key(|&(at, _)| at);
        assert_bounded(&all, port_rate, burst.max(1522));
        for (config, state) in configs.iter().zip(tm.service_flows(now)) {
            let sent = &departures[config.queue.queue_id as usize];
            assert_bounded(sent, config.max_sustained_rate, config.max_burst);
            assert_bounded(sent, config.peak_rate, 1522);
            prop_assert_eq!(state.dequeued.frames, sent.len() as u64);
            prop_assert_eq!(state.dequeued.bytes, sent.iter().map(|d| d.1).sum::<u64>());
            prop_assert_eq!(
                state.enqueued.bytes,
                state.dequeued.bytes + state.egress_dropped.bytes + state.queued.bytes
            );
            prop_assert_eq!(state.queued.frames, arrived[config.queue.queue_id as usize].len() as u64);
        }
    }

    /// A backlogged flow sends its sustained rate to within one frame, even
    /// when every poll is late by less than the peak rate can make up for.
    #[test]
    fn the_sustained_rate_is_met(
        rate in 1_000_000u64..500_000_000,
        burst in 3044u64..500_000,
        lens in prop::collection::vec(60usize..1515, 1..20),
        seed in any::<u32>(),
    ) {
        let mut tm = manager(vec![], vec![ServiceFlowConfig {
            queue: id(1),
            max_sustained_rate: rate,
            max_burst: burst,
            peak_rate: rate + rate / 4,
            initial_tokens: Some(0),
            ..Default::default()
        }]);
        let mut lens = lens.iter().cycle();
        let (mut now, mut sent, mut random) = (0u64, 0u64, seed);
        let end = 200_000_000;
        loop {
            for _ in 0..3 {
                enqueue(&mut tm, now, 1, *lens.next().unwrap());
            }
            let at = tm.next_deadline().unwrap();
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Late by up to a tenth of a 60-byte frame's time.
            let late = u64::from(random >> 16) * (48_000_000_000 / rate) / 65_536;
            now = now.max(at) + late;
            if now > end {
                break;
            }
            while let Some((_, len)) = depart(&mut tm, now) {
                sent += len;
            }
        }
        let due = rate / 5 / 8;
        prop_assert!(sent <= due + burst);
        prop_assert!(sent + 1522 + 2 * 1514 >= due - due / 1000, "{sent} of {due} bytes");
    }

    /// Backlogged flows of equal priority share a port's rate within a quantum
    /// and a frame of each other, whatever their frames' lengths.
    #[test]
    fn equals_share_by_deficit_round_robin(
        lens in prop::collection::vec(60usize..1523, 2..6),
        rate in 1_000_000u64..1_000_000_000,
    ) {
        let flows = (1..=lens.len() as u32)
            .map(|n| ServiceFlowConfig { queue: id(n), ..Default::default() })
            .collect();
        let port = PortConfig { port: PORT, rate, ..Default::default() };
        let mut tm = manager(vec![port], flows);
        let mut sent = vec![0u64; lens.len()];
        for (n, &len) in lens.iter().enumerate() {
            for _ in 0..(300_000 / len) {
                enqueue(&mut tm, 0, n as u32 + 1, len);
            }
        }
        let mut now = 0;
        // Until the first queue could be empty.
        while sent.iter().max().unwrap() < &250_000 {
            now = tm.next_deadline().unwrap().max(now);
            let (queue, len) = depart(&mut tm, now).unwrap();
            sent[queue as usize - 1] += len;
        }
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        prop_assert!(most - least <= 2 * 1522 + 1522, "{sent:?}");
        // Work conserving: the port never idled.
        let carried = sent.iter().sum::<u64>();
        prop_assert!(u128::from(carried) * 8_000_000_000 >= u128::from(now) * u128::from(rate));
    }
}

#[test]
fn priority_goes_first_and_does_not_share() {
    let flow = |n, priority| ServiceFlowConfig {
        queue: id(n),
        traffic_priority: priority,
        ..Default::default()
    };
    let port = PortConfig {
        port: PORT,
        rate: 8_000_000_000,
        ..Default::default()
    };
    let mut tm = manager(vec![port], vec![flow(1, 0), flow(2, 7), flow(3, 3)]);
    for queue in 1..=3 {
        for _ in 0..3 {
            assert!(enqueue(&mut tm, 0, queue, 1500));
        }
    }
    let mut order = Vec::new();
    let mut now = 0;
    while let Some(at) = tm.next_deadline() {
        now = now.max(at);
        order.push(depart(&mut tm, now).unwrap().0);
    }
    assert_eq!(order, [2, 2, 2, 3, 3, 3, 1, 1, 1]);
    // Three times three frames less the bucket, at a byte a nanosecond.
    assert_eq!(now, 9 * 1500 - 1522);
}

#[test]
fn a_shaped_flow_leaves_the_rest_to_the_others() {
    let shaped = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 1_000_000,
        max_burst: 1522,
        traffic_priority: 7,
        ..Default::default()
    };
    let free = ServiceFlowConfig {
        queue: id(2),
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![shaped, free]);
    for _ in 0..10 {
        assert!(enqueue(&mut tm, 0, 1, 1500) && enqueue(&mut tm, 0, 2, 1500));
    }
    let mut first = 0;
    while let Some((queue, _)) = depart(&mut tm, 0) {
        first += u32::from(queue == 1);
    }
    assert_eq!(first, 1);
    // 1478 bytes short at 1 Mbit/s.
    assert_eq!(tm.next_deadline(), Some(1478 * 8 * 1000));
}

#[test]
fn thousands_of_flows_and_each_gets_its_rate() {
    let flows = (1..=4096)
        .map(|n| ServiceFlowConfig {
            queue: id(n),
            max_sustained_rate: 1_000_000 + u64::from(n),
            max_burst: 1522,
            initial_tokens: Some(0),
            ..Default::default()
        })
        .collect();
    let mut tm = manager(vec![], flows);
    for queue in 1..=4096 {
        for _ in 0..20 {
            assert!(enqueue(&mut tm, 0, queue, 1500));
        }
    }
    let mut now = 0;
    while let Some(at) = tm.next_deadline().filter(|&at| at <= 120_000_000) {
        now = now.max(at);
        depart(&mut tm, now).unwrap();
    }
    for state in tm.service_flows(120_000_000) {
        // 15,000 bytes in 120 ms at 1 Mbit/s and a little.
        assert_eq!(state.dequeued.frames, 10, "{}", state.config.queue);
    }
}

#[test]
fn what_egress_makes_longer_waits_for_its_tokens() {
    let flow = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 8_000_000_000,
        max_burst: 2000,
        initial_tokens: Some(1000),
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![flow]);
    for _ in 0..2 {
        assert!(enqueue(&mut tm, 0, 1, 1000));
    }
    assert!(tm.offer(0).is_some());
    assert!(matches!(tm.commit(1100), Some(Commit::Held(_))));
    assert_eq!(tm.next_deadline(), Some(100));
    assert!(tm.offer(99).is_none());
    assert!(tm.offer(100).is_some());
    assert!(matches!(tm.commit(1100), Some(Commit::Sent(1000))));
    // More than the bucket holds can never leave.
    assert!(tm.offer(3000).is_some());
    assert!(matches!(tm.commit(2001), Some(Commit::TooLong(1000))));
    let state = tm.service_flows(3000)[0];
    assert_eq!((state.dequeued.frames, state.overflow.frames), (1, 1));
    assert_eq!(state.sustained_tokens, 2000 * 8_000_000);
}

#[test]
fn a_drop_in_egress_spends_nothing() {
    let flow = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 1_000,
        max_burst: 1522,
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![flow]);
    for _ in 0..3 {
        assert!(enqueue(&mut tm, 0, 1, 1522));
    }
    assert!(tm.offer(0).is_some());
    assert_eq!(tm.discard(), Some(1522));
    assert!(depart(&mut tm, 0).is_some());
    assert!(tm.offer(0).is_none());
    assert_eq!(tm.service_flows(0)[0].egress_dropped.frames, 1);
}

#[test]
fn limits_drop_and_count() {
    let flow = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 8_000,
        max_burst: 1522,
        queue_limit: 3000,
        ..Default::default()
    };
    let port = PortConfig {
        port: PORT,
        rate: 1,
        queue_limit: 1500,
        ..Default::default()
    };
    let mut tm = manager(vec![port], vec![flow]);
    assert!(enqueue(&mut tm, 0, 1, 1500) && enqueue(&mut tm, 0, 1, 1500));
    assert!(!enqueue(&mut tm, 0, 1, 60));
    // Longer than the bucket is deep: would block the queue for good.
    let slot = tm.lookup(id(1)).unwrap();
    assert_eq!(tm.enqueue(0, slot, 0, 1523, 7), Err(7));
    assert_eq!(tm.service_flows(0)[0].overflow.frames, 2);
    assert!(enqueue(&mut tm, 0, 0, 1500) && !enqueue(&mut tm, 0, 0, 1));
    let (_, overflow, queued) = tm.port_state(PORT).unwrap();
    assert_eq!((overflow.frames, queued.bytes), (1, 1500));
}

#[test]
fn reconfiguring_keeps_frames_and_tokens() {
    let slow = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 8,
        max_burst: 10_000,
        initial_tokens: Some(0),
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![slow]);
    assert!(enqueue(&mut tm, 0, 1, 1000));
    assert_eq!(tm.next_deadline(), Some(1_000_000_000_000));
    let change = |flow: ServiceFlowConfig| Configuration {
        service_flows: vec![flow],
        ..Default::default()
    };
    // 500 bytes earned at 1 byte/s, then 500 to come at a byte a nanosecond.
    let fast = ServiceFlowConfig {
        max_sustained_rate: 8_000_000_000,
        initial_tokens: None,
        ..slow
    };
    let half = 500_000_000_000;
    tm.configure(half, &change(fast), &mut |_| ()).unwrap();
    assert_eq!(tm.next_deadline(), Some(half + 500));
    // New tokens at once.
    let full = ServiceFlowConfig {
        initial_tokens: Some(1000),
        ..fast
    };
    tm.configure(half, &change(full), &mut |_| ()).unwrap();
    assert_eq!(depart(&mut tm, half), Some((1, 1000)));
    // Removed with what is in it.
    assert!(enqueue(&mut tm, half, 1, 1000));
    let mut flushed = Vec::new();
    let removal = Configuration {
        removed: vec![id(1)],
        ..Default::default()
    };
    tm.configure(half, &removal, &mut |len| flushed.push(len))
        .unwrap();
    assert_eq!(flushed, [1000]);
    assert!(tm.lookup(id(1)).is_none() && tm.next_deadline().is_none());
    // Its slot serves another flow.
    let next = ServiceFlowConfig {
        queue: id(9),
        ..full
    };
    tm.configure(half, &change(next), &mut |_| ()).unwrap();
    assert!(enqueue(&mut tm, half, 9, 1000));
    assert_eq!(depart(&mut tm, half), Some((9, 1000)));
}

#[test]
fn a_bad_request_changes_nothing() {
    let good = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 1000,
        max_burst: 1522,
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![good]);
    let flows = |flow| Configuration {
        service_flows: vec![
            ServiceFlowConfig {
                queue: id(2),
                ..good
            },
            flow,
        ],
        ..Default::default()
    };
    let removal = |queue| Configuration {
        removed: vec![queue],
        ..Default::default()
    };
    let other_port = QueueId {
        port: 5,
        queue_id: 1,
    };
    let bad = [
        (
            flows(ServiceFlowConfig {
                queue: id(0),
                ..good
            }),
            "queue_id 0",
        ),
        (
            flows(ServiceFlowConfig {
                queue: id(70_000),
                ..good
            }),
            "queue_id",
        ),
        (
            flows(ServiceFlowConfig {
                max_burst: 1521,
                ..good
            }),
            "max_burst",
        ),
        (
            flows(ServiceFlowConfig {
                traffic_priority: 8,
                ..good
            }),
            "traffic_priority",
        ),
        (
            flows(ServiceFlowConfig {
                initial_tokens: Some(1523),
                ..good
            }),
            "initial_tokens",
        ),
        (
            flows(ServiceFlowConfig {
                peak_rate: u64::MAX,
                ..good
            }),
            "peak_rate",
        ),
        (
            flows(ServiceFlowConfig {
                queue: other_port,
                ..good
            }),
            "port 5",
        ),
        (
            flows(ServiceFlowConfig {
                queue: id(2),
                ..good
            }),
            "twice",
        ),
        (
            flows(ServiceFlowConfig {
                min_reserved_rate: 1001,
                ..good
            }),
            "min_reserved_rate is 1001 bit/s, more than max_sustained_rate, 1000",
        ),
        (
            flows(ServiceFlowConfig {
                max_sustained_rate: 0,
                min_reserved_rate: u64::MAX,
                ..good
            }),
            "min_reserved_rate",
        ),
        (
            flows(ServiceFlowConfig {
                assumed_packet_size: 65_536,
                ..good
            }),
            "assumed_packet_size",
        ),
        (removal(id(3)), "no such service flow"),
        (removal(id(0)), "no such service flow"),
    ];
    for (request, words) in bad {
        let error = tm.configure(0, &request, &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let states = tm.service_flows(0);
    assert_eq!(states.len(), 1);
    assert_eq!(states[0].config, good);
}

#[test]
fn a_new_pipeline_flushes_all_queues() {
    let flow = ServiceFlowConfig {
        queue: id(1),
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![flow]);
    assert!(enqueue(&mut tm, 0, 1, 100) && enqueue(&mut tm, 0, 0, 100));
    assert!(tm.offer(0).is_some());
    let mut count = 0;
    tm.flush(0, &mut |_| count += 1);
    assert_eq!(count, 2);
    assert!(tm.offer(0).is_none() && tm.next_deadline().is_none());
    assert!(enqueue(&mut tm, 0, 1, 100));
    assert_eq!(depart(&mut tm, 0), Some((1, 100)));
    assert_eq!(tm.service_flows(0)[0].flushed.frames, 1);
}

/// A port whose polls are late carries its rate if it saves up what comes meanwhile.
#[test]
fn late_polls_cost_no_rate_within_the_burst() {
    let rate = 100_000_000;
    for burst in [0, 12_500] {
        let port = PortConfig {
            port: PORT,
            rate,
            burst,
            ..Default::default()
        };
        let flow = ServiceFlowConfig {
            queue: id(1),
            ..Default::default()
        };
        let mut tm = manager(vec![port], vec![flow]);
        for _ in 0..10_000 {
            enqueue(&mut tm, 0, 1, 1514);
        }
        let (mut now, mut sent) = (0, 0u64);
        while now < 1_000_000_000 {
            // 20 us after it was asked for.
            now = tm.next_deadline().unwrap().max(now) + 20_000;
            while let Some((_, len)) = depart(&mut tm, now) {
                sent += len;
            }
        }
        let carried = sent as f64 * 8e9 / (now as f64 * rate as f64);
        assert_eq!(carried > 0.999, burst != 0, "{carried} with {burst}");
        assert!(carried < 1.002, "{carried} with {burst}");
    }
}

#[test]
fn a_port_s_burst_is_checked() {
    for burst in [1, 1521, 1 << 32] {
        let port = PortConfig {
            port: PORT,
            burst,
            ..Default::default()
        };
        let words = port.check().unwrap_err().to_string();
        assert!(words.contains("burst"), "{words}");
    }
}

#[test]
fn frames_that_had_to_wait_for_tokens_are_counted() {
    // 1000 bytes a millisecond; the bucket holds two frames.
    let flow = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 8_000_000,
        max_burst: 2_000,
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![flow]);
    let delayed = |tm: &TrafficManager<u64>, now| tm.service_flows(now)[0].delayed;
    for _ in 0..4 {
        assert!(enqueue(&mut tm, 0, 1, 1_000));
    }
    let mut now = 0;
    let mut departures = Vec::new();
    while departures.len() < 4 {
        match depart(&mut tm, now) {
            Some(_) => departures.push(now),
            None => now = tm.next_deadline().unwrap(),
        }
    }
    assert_eq!(departures, [0, 0, 1_000_000, 2_000_000]);
    let count = delayed(&tm, now);
    assert_eq!((count.frames, count.bytes), (2, 2_000));
    // The queue has been empty since, and there are tokens again.
    now += 2_000_000;
    assert!(enqueue(&mut tm, now, 1, 1_000));
    assert_eq!(depart(&mut tm, now), Some((1, 1_000)));
    assert_eq!(delayed(&tm, now).frames, 2);
}

/// What a new pipeline takes out of a queue leaves no wait behind.
#[test]
fn a_frame_behind_a_flush_has_not_waited() {
    let flow = ServiceFlowConfig {
        queue: id(1),
        max_sustained_rate: 8_000_000,
        max_burst: 2_000,
        ..Default::default()
    };
    let mut tm = manager(vec![], vec![flow]);
    for _ in 0..4 {
        assert!(enqueue(&mut tm, 0, 1, 1_000));
    }
    while depart(&mut tm, 0).is_some() {}
    tm.flush(0, &mut |_| {});
    // The bucket is full again.
    let now = 2_000_000;
    assert!(enqueue(&mut tm, now, 1, 1_000));
    assert_eq!(depart(&mut tm, now), Some((1, 1_000)));
    assert_eq!(tm.service_flows(now)[0].delayed.frames, 0);
}
