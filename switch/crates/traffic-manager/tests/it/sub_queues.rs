// SPDX-License-Identifier: Apache-2.0
//! Sub-queues of a service flow by what they are for: equal bytes or frames, a sparse one
//! that is not held up, and no frame lost or out of order. That each frame is
//! the next, and that every law of the flow holds beside, is told by the plain
//! models in `reshaping.rs` and `sharing.rs`.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Cycle;
use std::slice;
use traffic_manager::{
    Commit, Configuration, MAX_SUB_QUEUES, PEAK_BURST, QueueId, RoundRobin, ServiceFlowConfig,
    TrafficManager,
};

const PORT: u16 = 1;
const QUEUE: QueueId = QueueId {
    port: PORT,
    queue_id: 1,
};

/// A frame on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    sub_queue: u32,
    number: u64,
    len: usize,
}

/// A manager with one flow.
struct Bench {
    tm: TrafficManager<Frame>,
    config: ServiceFlowConfig,
    now: u64,
    numbers: u64,
}

impl Bench {
    fn new(config: ServiceFlowConfig) -> Self {
        let mut tm = TrafficManager::default();
        tm.add_port(PORT);
        let config = ServiceFlowConfig {
            queue: QUEUE,
            ..config
        };
        let mut bench = Self {
            tm,
            config,
            now: 0,
            numbers: 0,
        };
        bench.sub_queues(config.sub_queues, config.round_robin);
        bench
    }

    fn sub_queues(&mut self, sub_queues: u32, round_robin: RoundRobin) {
        self.config.sub_queues = sub_queues;
        self.config.round_robin = round_robin;
        let request = Configuration {
            service_flows: vec![self.config],
            ..Default::default()
        };
        let sink = &mut |frame| panic!("flushed: {frame:?}");
        self.tm.configure(self.now, &request, sink).unwrap();
    }

    fn arrive(&mut self, sub_queue: u32, len: usize) -> Result<Frame, Frame> {
        let slot = self.tm.lookup(QUEUE).unwrap();
        self.numbers += 1;
        let frame = Frame {
            sub_queue,
            number: self.numbers,
            len,
        };
        let accepted = self.tm.enqueue(self.now, slot, sub_queue, len, frame);
        accepted.map(|()| frame)
    }

    /// What may leave next, at the time when it may.
    fn offer(&mut self) -> Option<Frame> {
        while let Some(at) = self.tm.next_deadline() {
            self.now = self.now.max(at);
            if self.tm.offer(self.now).is_some() {
                return self.tm.offered_mut().copied();
            }
        }
        None
    }

    /// The next frame leaves.
    fn depart(&mut self) -> Option<Frame> {
        let offered = self.offer()?;
        match self.tm.commit(offered.len) {
            Some(Commit::Sent(sent)) => assert_eq!(sent, offered),
            other => panic!("offered, but {other:?}"),
        }
        Some(offered)
    }
}

/// Lengths of the frames that come into a sub-queue, over and over, and how many of 8 egress drops.
type Flow = (Vec<usize>, u32);

/// Sub-queues that always have frames.
struct Backlogged<'f> {
    bench: Bench,
    flows: &'f [Flow],
    /// By sub-queue: what comes next.
    lens: Vec<Cycle<slice::Iter<'f, usize>>>,
    /// Bytes that egress adds to each frame.
    longer: usize,
    random: u64,
}

impl<'f> Backlogged<'f> {
    fn new(bench: Bench, flows: &'f [Flow], longer: usize, seed: u64) -> Self {
        let mut new = Self {
            bench,
            flows,
            lens: flows.iter().map(|(lens, _)| lens.iter().cycle()).collect(),
            longer,
            random: seed,
        };
        // All at once: the first would have sent before the others.
        for _ in 0..40 {
            (0..flows.len()).for_each(|n| new.arrive(n));
        }
        new
    }

    fn arrive(&mut self, sub_queue: usize) {
        let len = *self.lens[sub_queue].next().unwrap();
        self.bench.arrive(sub_queue as u32, len).unwrap();
    }

    /// The next frame goes and another comes behind it; `None` if egress dropped it.
    fn step(&mut self) -> Option<Frame> {
        let frame = self.bench.offer().unwrap();
        let n = frame.sub_queue as usize;
        self.random = (self.random.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1);
        let dropped = (self.random >> 61) < u64::from(self.flows[n].1);
        if dropped {
            assert_eq!(self.bench.tm.discard(), Some(frame));
        } else {
            let length = frame.len + self.longer;
            while !matches!(self.bench.tm.commit(length), None | Some(Commit::Sent(_))) {
                assert_eq!(self.bench.offer(), Some(frame), "held at the head");
            }
        }
        self.arrive(n);
        (!dropped).then_some(frame)
    }
}

fn rates() -> impl Strategy<Value = ServiceFlowConfig> {
    prop_oneof![
        Just(ServiceFlowConfig::default()),
        (1_000_000u64..1_000_000_000, 4000u64..100_000).prop_map(|(rate, burst)| {
            ServiceFlowConfig {
                max_sustained_rate: rate,
                max_burst: burst,
                ..Default::default()
            }
        }),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Arrive(u32, usize),
    Depart,
    Drop,
    Withdraw,
    SubQueues(u32, RoundRobin),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        9 => (0u32..600, 14usize..1523).prop_map(|(sub, len)| Step::Arrive(sub, len)),
        4 => Just(Step::Depart),
        2 => Just(Step::Drop),
        1 => Just(Step::Withdraw),
        1 => (prop_oneof![0u32..8, 0u32..=MAX_SUB_QUEUES], round_robin())
            .prop_map(|(number, turns)| Step::SubQueues(number, turns)),
    ]
}

fn round_robin() -> impl Strategy<Value = RoundRobin> {
    prop_oneof![Just(RoundRobin::Deficit), Just(RoundRobin::Packets)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// Sub-queues that always have frames are never further apart than a quantum
    /// and a frame, and over no time than a quantum and two frames, whatever the
    /// lengths, what egress drops and how much longer it makes the others.
    #[test]
    fn backlogged_sub_queues_send_equal_bytes(
        config in rates(),
        sub_queues in 2u32..40,
        flows in prop::collection::vec((prop::collection::vec(60usize..1400, 1..5), 0u32..3), 2..12),
        longer in prop_oneof![Just(0usize), 1usize..100],
        seed in any::<u64>(),
    ) {
        let bench = Bench::new(ServiceFlowConfig { sub_queues, ..config });
        let flows: Vec<_> = flows.into_iter().take(sub_queues as usize).collect();
        let mut backlog = Backlogged::new(bench, &flows, longer, seed);
        let mut sent = vec![0u64; flows.len()];
        // How far each has been ahead of the first: least and most.
        let mut ahead = vec![(0i64, 0i64); flows.len()];
        let longest = flows.iter().flat_map(|(lens, _)| lens).max().unwrap() + longer;
        for _ in 0..3000 {
            if let Some(frame) = backlog.step() {
                sent[frame.sub_queue as usize] += (frame.len + longer) as u64;
            }
            let first = sent[0];
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            prop_assert!(most - least <= PEAK_BURST + longest as u64, "{sent:?}");
            for (&sent, (least, most)) in sent[1..].iter().zip(&mut ahead[1..]) {
                let by = sent as i64 - first as i64;
                (*least, *most) = (by.min(*least), by.max(*most));
                prop_assert!(*most - *least <= PEAK_BURST as i64 + 2 * longest as i64);
            }
        }
    }

    /// Sub-queues that always have frames send one each in every round, whatever the lengths, what
    /// egress drops and how much longer it makes the others.
    #[test]
    fn backlogged_sub_queues_send_a_frame_a_round(
        config in rates(),
        sub_queues in 2u32..40,
        flows in prop::collection::vec((prop::collection::vec(60usize..1523, 1..5), 0u32..3), 2..12),
        longer in prop_oneof![Just(0usize), 1usize..100],
        seed in any::<u64>(),
    ) {
        let round_robin = RoundRobin::Packets;
        let bench = Bench::new(ServiceFlowConfig { sub_queues, round_robin, ..config });
        let flows: Vec<_> = flows.into_iter().take(sub_queues as usize).collect();
        let mut backlog = Backlogged::new(bench, &flows, longer, seed);
        let sent: Vec<_> = (0..1000).filter_map(|_| backlog.step()).collect();
        let sent: Vec<_> = sent.iter().map(|frame| frame.sub_queue as usize).collect();
        for round in sent.chunks_exact(flows.len()) {
            prop_assert!(round.iter().copied().eq(0..flows.len()), "{round:?}");
        }
    }

    /// However many sub-queues there are, one after another: every frame leaves
    /// or is dropped once; those that came into one sub-queue in their order,
    /// wherever they were put since; and always one leaves where there is one.
    #[test]
    fn nothing_is_lost_or_out_of_order(
        config in rates(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let mut bench = Bench::new(config);
        // Where each frame came: since which change, into which sub-queue.
        let mut queued = BTreeMap::new();
        // The last that has left of those.
        let mut last = BTreeMap::new();
        let mut changes = 0;
        for step in steps.into_iter().chain(std::iter::repeat_n(Step::Depart, 400)) {
            let gone = match step {
                Step::Arrive(sub_queue, len) => {
                    let number = bench.arrive(sub_queue, len).unwrap().number;
                    let came = (changes, sub_queue % bench.config.sub_queues.max(1));
                    queued.insert(number, came);
                    None
                }
                Step::SubQueues(sub_queues, round_robin) => {
                    bench.sub_queues(sub_queues, round_robin);
                    changes += 1;
                    None
                }
                Step::Depart => {
                    let gone = bench.depart();
                    prop_assert_eq!(gone.is_none(), queued.is_empty(), "work is conserved");
                    gone
                }
                Step::Drop => bench.offer().and_then(|_| bench.tm.discard()),
                Step::Withdraw => bench.offer().and_then(|_| bench.tm.withdraw()),
            };
            if let Some(frame) = gone {
                let came = queued.remove(&frame.number);
                prop_assert!(came.is_some(), "{frame:?} was not there");
                let before = last.insert(came, frame.number);
                prop_assert!(before < Some(frame.number), "{frame:?} after {before:?}");
            }
        }
        prop_assert!(queued.is_empty() && bench.tm.is_empty());
        let state = bench.tm.service_flows(bench.now)[0];
        prop_assert_eq!(state.queued, Default::default());
        prop_assert_eq!(state.enqueued.bytes, state.dequeued.bytes + state.egress_dropped.bytes);
        prop_assert_eq!(state.config, bench.config);
    }

    /// A sparse sub-queue's frame waits for one turn of each that always has
    /// frames: a quantum, and what a turn before had left, less than a frame.
    #[test]
    fn a_sparse_sub_queue_waits_one_round(
        rate in 1_000_000u64..100_000_000,
        lens in prop::collection::vec(60usize..1523, 1..31),
        gaps in prop::collection::vec(1u32..100, 20),
        len in 60usize..1523,
    ) {
        let mut bench = Bench::new(ServiceFlowConfig {
            max_sustained_rate: rate,
            max_burst: PEAK_BURST,
            sub_queues: 32,
            ..Default::default()
        });
        for (n, &len) in lens.iter().enumerate() {
            // 100 KB, so that a FIFO would hold the frame up for more than a round.
            (0..100_000 / len).for_each(|_| assert!(bench.arrive(n as u32, len).is_ok()));
        }
        let mut most = 0;
        for gap in gaps {
            for _ in 0..gap {
                let frame = bench.depart().unwrap();
                bench.arrive(frame.sub_queue, frame.len).unwrap();
            }
            let came = bench.now;
            let sparse = bench.arrive(31, len).unwrap();
            let mut before = vec![0; lens.len()];
            loop {
                let frame = bench.depart().unwrap();
                if frame == sparse {
                    break;
                }
                before[frame.sub_queue as usize] += frame.len;
                bench.arrive(frame.sub_queue, frame.len).unwrap();
            }
            for (&sent, &len) in before.iter().zip(&lens) {
                prop_assert!(sent < PEAK_BURST as usize + len, "{sent} bytes");
            }
            let bytes = before.iter().sum::<usize>() + len;
            most = most.max(bytes);
            // The bucket may just have been emptied.
            let round = (bytes as u64 + PEAK_BURST) * 8_000_000_000 / rate + 1;
            prop_assert!(bench.now - came <= round);
        }
        prop_assert!(most > len || lens.len() == 1, "it never had to wait");
    }
}

#[test]
fn a_flood_in_one_sub_queue_does_not_hold_up_another() {
    // A frame of 1000 bytes a millisecond.
    let mut bench = Bench::new(ServiceFlowConfig {
        max_sustained_rate: 8_000_000,
        max_burst: 2_000,
        sub_queues: 8,
        ..Default::default()
    });
    (0..1000).for_each(|_| assert!(bench.arrive(3, 1000).is_ok()));
    (0..50).for_each(|_| assert!(bench.depart().is_some()));
    let came = bench.now;
    let sparse = bench.arrive(5, 100).unwrap();
    while bench.depart() != Some(sparse) {}
    let waited = bench.now - came;
    // The head, and what its turn may have left: two frames, not 950.
    assert!(waited <= 2_100_000, "{waited} ns");
}

#[test]
fn the_limit_is_the_whole_flow_s() {
    let mut bench = Bench::new(ServiceFlowConfig {
        queue_limit: 3000,
        sub_queues: 4,
        ..Default::default()
    });
    (0..3).for_each(|n| assert!(bench.arrive(n, 1000).is_ok()));
    assert_eq!(bench.arrive(3, 1).unwrap_err().number, 4);
    let state = bench.tm.service_flows(0)[0];
    assert_eq!((state.queued.bytes, state.overflow.frames), (3000, 1));
    assert_eq!(state.config.sub_queues, 4);
}

#[test]
fn all_are_flushed() {
    let mut bench = Bench::new(ServiceFlowConfig {
        sub_queues: 9,
        ..Default::default()
    });
    (0..20).for_each(|n| assert!(bench.arrive(n, 100).is_ok()));
    let mut flushed = BTreeSet::new();
    bench.tm.flush(0, &mut |frame| {
        flushed.insert(frame.number);
    });
    assert_eq!(flushed, (1..=20).collect());
    assert!(bench.tm.is_empty() && bench.depart().is_none());
    assert!(bench.arrive(2, 100).is_ok() && bench.depart().is_some());
}

#[test]
fn more_than_the_most_are_refused_by_name() {
    let mut bench = Bench::new(ServiceFlowConfig {
        sub_queues: MAX_SUB_QUEUES,
        ..Default::default()
    });
    let config = ServiceFlowConfig {
        sub_queues: MAX_SUB_QUEUES + 1,
        ..bench.config
    };
    let request = Configuration {
        service_flows: vec![config],
        ..Default::default()
    };
    let error = bench.tm.configure(0, &request, &mut |_| ()).unwrap_err();
    let words = "port 1 queue 1: sub_queues is 257, more than 256";
    assert_eq!(error.to_string(), words);
    assert_eq!(bench.tm.service_flows(0)[0].config, bench.config);
}
