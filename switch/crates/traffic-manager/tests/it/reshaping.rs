// SPDX-License-Identifier: Apache-2.0
//! The shaper's inequalities over every t1 < t2, while rates and bursts change,
//! queues are removed and made anew, sub-queues come and go, and egress makes
//! frames longer or shorter; and no frame that was not the next.

use crate::turns::Turns;
use proptest::prelude::*;
use traffic_manager::{
    Commit, Configuration, PortConfig, QueueId, ServiceFlowConfig, TrafficManager,
};

const PORT: u16 = 3;
/// A byte, in bit/s times nanoseconds.
const BYTE: i128 = 8_000_000_000;

/// A bound on what leaves: for all t1 < t2, bytes <= the integral of rate / 8
/// from t1 to t2, plus the depth that held at t1.
#[derive(Debug)]
struct Bound {
    rate: u64,
    depth: u64,
    /// Since when the rate holds, and what it has allowed until then.
    since: u64,
    earned: i128,
    sum: i128,
    /// Least of "sum before - earned + depth" over all beginnings of windows.
    least: i128,
}

impl Bound {
    fn new(now: u64, rate: u64, depth: u64) -> Self {
        Self {
            rate,
            depth,
            since: now,
            earned: 0,
            sum: 0,
            least: i128::MAX,
        }
    }

    fn earned(&self, now: u64) -> i128 {
        self.earned + i128::from(now - self.since) * i128::from(self.rate)
    }

    /// Windows do not begin before now: somebody gave tokens away.
    fn restart(&mut self) {
        self.least = i128::MAX;
    }

    fn change(&mut self, now: u64, rate: u64, depth: u64) {
        if self.rate == 0 || rate == 0 {
            self.restart();
        }
        self.earned = self.earned(now);
        (self.since, self.rate, self.depth) = (now, rate, depth);
    }

    /// `overdrawn`: bytes by which the last frame may pass the bound.
    fn send(&mut self, now: u64, len: u64, overdrawn: u64) -> Result<(), TestCaseError> {
        let begins = self.sum - self.earned(now) + i128::from(self.depth) * BYTE;
        self.least = self.least.min(begins);
        self.sum += i128::from(len) * BYTE;
        if self.rate > 0 {
            let overdrawn = i128::from(overdrawn) * BYTE;
            let excess = self.sum - self.earned(now) - self.least - overdrawn;
            prop_assert!(
                excess <= 0,
                "at {} ns: {} bytes too many",
                now,
                excess / BYTE + 1
            );
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// Time passes, in ns.
    Wait(u64),
    /// To the deadline, and so much beyond.
    Deadline(u64),
    /// In this sub-queue.
    Arrive(u32, u32, usize),
    /// At most so many offers; egress changes lengths by so many bytes.
    Poll(u8, i32),
    /// The egress pipeline drops what is offered.
    Discard,
    /// Another rate, burst and peak rate; other tokens, perhaps.
    Reshape(u32, u64, u64, u64, Option<u8>),
    /// Another minimum reserved rate, as far as the sustained rate allows, and
    /// another priority.
    Reserve(u32, u64, u32, u8),
    SubQueues(u32, u32),
    PortRate(u64),
    /// Removed, and made anew as it was.
    Renew(u32),
}

fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => Just(0u64),
        4 => 1_000u64..1_000_000_000,
        1 => 1_000_000_000u64..1_000_000_000_000,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let queue = 1u32..3;
    let tokens = prop_oneof![Just(None), any::<u8>().prop_map(Some)];
    prop_oneof![
        2 => (0u64..3_000_000).prop_map(Step::Wait),
        6 => prop_oneof![Just(0u64), 0u64..100_000].prop_map(Step::Deadline),
        8 => (queue.clone(), 0u32..9, 14usize..1523)
            .prop_map(|(q, sub, len)| Step::Arrive(q, sub, len)),
        6 => (1u8..6, prop_oneof![Just(0), -100i32..1600]).prop_map(|(n, by)| Step::Poll(n, by)),
        1 => Just(Step::Discard),
        1 => (queue.clone(), rate(), 1522u64..20_000, rate(), tokens)
            .prop_map(|(q, r, b, p, t)| Step::Reshape(q, r, b, p, t)),
        1 => (queue.clone(), rate(), 0u32..3000, 0u8..8)
            .prop_map(|(q, r, a, p)| Step::Reserve(q, r, a, p)),
        1 => (queue.clone(), prop_oneof![4 => 0u32..7, 1 => 0u32..257])
            .prop_map(|(q, n)| Step::SubQueues(q, n)),
        1 => rate().prop_map(Step::PortRate),
        1 => queue.prop_map(Step::Renew),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Frame {
    number: u64,
    /// After egress, once that has run.
    out: Option<usize>,
    len: usize,
}

struct Flow {
    config: ServiceFlowConfig,
    sustained: Bound,
    peak: Bound,
    queued: Turns,
}

fn apply(tm: &mut TrafficManager<Frame>, now: u64, request: Configuration) -> Vec<u64> {
    let mut flushed = Vec::new();
    tm.configure(now, &request, &mut |frame| flushed.push(frame.number))
        .unwrap();
    flushed
}

/// The part of a minimum reserved rate that a sustained rate allows.
fn within(min: u64, max: u64) -> u64 {
    if max == 0 { min } else { min.min(max) }
}

fn one(flow: ServiceFlowConfig) -> Configuration {
    Configuration {
        service_flows: vec![flow],
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn the_inequalities_hold_while_everything_changes(
        rates in prop::collection::vec((rate(), 1522u64..20_000, rate()), 2),
        port_rate in rate(),
        steps in prop::collection::vec(step(), 1..250),
    ) {
        let mut tm = TrafficManager::<Frame>::default();
        tm.add_port(PORT);
        let mut now = 0;
        let port = |rate| Configuration {
            ports: vec![PortConfig { port: PORT, rate, ..Default::default() }],
            ..Default::default()
        };
        apply(&mut tm, now, port(port_rate));
        let mut port_bound = Bound::new(now, port_rate, 1522);
        let mut flows: Vec<Flow> = Vec::new();
        for (n, &(rate, burst, peak)) in rates.iter().enumerate() {
            let config = ServiceFlowConfig {
                queue: QueueId { port: PORT, queue_id: n as u32 + 1 },
                max_sustained_rate: rate,
                max_burst: burst,
                peak_rate: peak,
                ..Default::default()
            };
            apply(&mut tm, now, one(config));
            flows.push(Flow {
                config,
                sustained: Bound::new(now, rate, burst),
                peak: Bound::new(now, peak, 1522),
                queued: Turns::new(0),
            });
        }
        let mut numbers = 0;
        for step in steps {
            match step {
                Step::Wait(ns) => now += ns,
                Step::Deadline(late) => {
                    if let Some(at) = tm.next_deadline().filter(|&at| at < now + 10_000_000_000) {
                        if at > now + 1 {
                            prop_assert!(tm.offer(at - 1).is_none());
                        }
                        now = now.max(at) + late;
                    }
                }
                Step::Arrive(queue, sub_queue, len) => {
                    let flow = &mut flows[queue as usize - 1];
                    let slot = tm.lookup(flow.config.queue).unwrap();
                    numbers += 1;
                    let frame = Frame { number: numbers, out: None, len };
                    prop_assert!(tm.enqueue(now, slot, sub_queue, len, frame).is_ok());
                    flow.queued.push(sub_queue, numbers, len as u64);
                }
                Step::Poll(offers, by) => {
                    for _ in 0..offers {
                        let Some(offer) = tm.offer(now) else { break };
                        let flow = &mut flows[offer.queue.queue_id as usize - 1];
                        let frame = tm.offered_mut().unwrap();
                        prop_assert_eq!(flow.queued.head().map(|f| f.item), Some(frame.number));
                        let out = frame.out.unwrap_or((frame.len as i32 + by).max(1) as usize);
                        match tm.commit(out).unwrap() {
                            Commit::Sent(_) => {
                                flow.queued.pop(out as u64);
                                flow.sustained.send(now, out as u64, 0)?;
                                flow.peak.send(now, out as u64, 0)?;
                                // One that is longer than the port's bucket overdraws it.
                                let overdrawn = (out as u64).saturating_sub(1522);
                                port_bound.send(now, out as u64, overdrawn)?;
                            }
                            Commit::Held(frame) => {
                                frame.out = Some(out);
                                flow.queued.lengthen(out as u64);
                            }
                            Commit::TooLong(_) => {
                                let deep = |rate: u64, depth| rate == 0 || out as u64 <= depth;
                                let config = &flow.config;
                                prop_assert!(
                                    !deep(config.max_sustained_rate, config.max_burst)
                                        || !deep(config.peak_rate, 1522)
                                );
                                flow.queued.pop(0);
                            }
                        }
                    }
                }
                Step::Discard => {
                    if let Some(offer) = tm.offer(now) {
                        let flow = &mut flows[offer.queue.queue_id as usize - 1];
                        let dropped = tm.discard().map(|frame| frame.number);
                        prop_assert_eq!(dropped, flow.queued.pop(0).map(|f| f.item));
                    }
                }
                Step::Reshape(queue, rate, burst, peak, tokens) => {
                    let flow = &mut flows[queue as usize - 1];
                    flow.config = ServiceFlowConfig {
                        max_sustained_rate: rate,
                        max_burst: burst,
                        peak_rate: peak,
                        min_reserved_rate: within(flow.config.min_reserved_rate, rate),
                        ..flow.config
                    };
                    let initial_tokens = tokens.map(|part| burst * u64::from(part) / 255);
                    let config = ServiceFlowConfig { initial_tokens, ..flow.config };
                    apply(&mut tm, now, one(config));
                    if initial_tokens.is_some() {
                        flow.sustained.restart();
                    }
                    flow.sustained.change(now, rate, burst);
                    flow.peak.change(now, peak, 1522);
                }
                Step::Reserve(queue, rate, assumed_packet_size, traffic_priority) => {
                    let config = &mut flows[queue as usize - 1].config;
                    config.min_reserved_rate = within(rate, config.max_sustained_rate);
                    config.assumed_packet_size = assumed_packet_size;
                    config.traffic_priority = traffic_priority;
                    apply(&mut tm, now, one(*config));
                }
                Step::SubQueues(queue, sub_queues) => {
                    let flow = &mut flows[queue as usize - 1];
                    flow.config.sub_queues = sub_queues;
                    apply(&mut tm, now, one(flow.config));
                    flow.queued.set_number(sub_queues);
                }
                Step::PortRate(rate) => {
                    apply(&mut tm, now, port(rate));
                    port_bound.change(now, rate, 1522);
                }
                Step::Renew(queue) => {
                    let flow = &mut flows[queue as usize - 1];
                    let removed = Configuration {
                        removed: vec![flow.config.queue],
                        ..Default::default()
                    };
                    let mut flushed = apply(&mut tm, now, removed);
                    let mut queued = flow.queued.clear();
                    flushed.sort_unstable();
                    queued.sort_unstable();
                    prop_assert_eq!(queued, flushed);
                    apply(&mut tm, now, one(flow.config));
                    flow.sustained.restart();
                    flow.peak.restart();
                }
            }
        }
        for (flow, state) in flows.iter().zip(tm.service_flows(now)) {
            prop_assert_eq!(state.queued.frames, flow.queued.len() as u64);
        }
        prop_assert_eq!(tm.is_empty(), flows.iter().all(|flow| flow.queued.len() == 0));
    }
}
