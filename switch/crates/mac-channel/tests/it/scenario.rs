// SPDX-License-Identifier: Apache-2.0
//! Random channels, flows and traffic, and what was seen of them.

use mac_channel::{Asked, Channel, Filled, Grant, Heard, How, Observer};
use mac_wire::{FlowConfig, Map, Minislot, Periodic, Policy, Profile, Request, Service, Sid};
use proptest::prelude::*;

use crate::bucket::Bucket;
use crate::plant::{Packet, Plant, Random};

/// What is random, before it is made to fit together.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub profile: Profile,
    pub flows: Vec<FlowConfig>,
    pub seed: u64,
    /// Mean gap between frames of a flow, in MAPs.
    pub gap: u64,
    /// MAPs in which frames come.
    pub maps: u64,
}

/// All that crossed, in order.
#[derive(Debug, Default, PartialEq)]
pub struct Record {
    pub maps: Vec<(u64, Vec<u8>)>,
    pub heard: Vec<(u64, Heard)>,
    pub requests: Vec<(u64, Minislot, Request, How)>,
    pub bursts: Vec<(u64, Sid, Grant, Filled, Option<Asked>)>,
    pub collisions: u64,
}

impl Observer for Record {
    fn map(&mut self, now: u64, map: &Map, body: &[u8]) {
        if let Some((_, before)) = self.maps.last() {
            let before = Map::decode(before, map.start).unwrap();
            assert_eq!(before.end, map.start, "MAPs do not tile time");
        }
        self.maps.push((now, body.to_vec()));
    }

    fn request(&mut self, now: u64, first: Minislot, request: &Request, how: How) {
        self.requests.push((now, first, *request, how));
    }

    fn collision(&mut self, _now: u64, _first: Minislot, requests: &[Request]) {
        assert!(requests.len() > 1);
        self.collisions += 1;
    }

    fn burst(&mut self, now: u64, sid: Sid, grant: &Grant, filled: &Filled, asked: Option<Asked>) {
        self.bursts.push((now, sid, *grant, *filled, asked));
    }

    fn heard(&mut self, now: u64, heard: &Heard) {
        self.heard.push((now, *heard));
    }
}

/// What a scenario came to.
pub struct Outcome {
    pub channel: Channel<Packet>,
    pub plant: Plant,
    pub record: Record,
    pub flows: Vec<FlowConfig>,
    /// Until when frames came.
    pub quiet: u64,
}

impl Scenario {
    /// Runs it: frames come for its MAPs, and then none until `drain` MAPs later.
    pub fn run(&self, drain: u64) -> Outcome {
        let mut channel = Channel::new(self.profile.clone(), 1, self.seed).unwrap();
        let mut plant = Plant::default();
        let mut record = Record::default();
        let mut random = Random::new(self.seed);
        let map = self.profile.map_length();
        let mut flows = Vec::new();
        let mut arrivals = Vec::new();
        for &flow in &self.flows {
            // Not every random flow fits.
            if channel.add(0, flow).is_err() {
                continue;
            }
            flows.push(flow);
            let queue = plant.lengths(flow.sid);
            queue.buckets = buckets(&flow);
            queue.pays_requests = flow.sid.0 % 2 == 0;
            let mut at = 0;
            loop {
                at += random.below(2 * self.gap * map) + 1;
                if at > self.maps * map {
                    break;
                }
                let length = 64 + random.below(1455) as u32;
                arrivals.push((at, flow.sid, length));
            }
        }
        arrivals.sort_unstable();
        for (at, sid, length) in arrivals {
            channel.step(at, &mut plant, &mut record);
            plant.lengths(sid).push(at, length);
            channel.wake(at, sid, &mut plant);
        }
        let quiet = self.maps * map;
        channel.step(quiet + drain * map, &mut plant, &mut record);
        Outcome {
            channel,
            plant,
            record,
            flows,
            quiet,
        }
    }
}

/// 000, appendix C: B bytes at R, and 1522 at P.
fn buckets(flow: &FlowConfig) -> Vec<Bucket> {
    let mut buckets = Vec::new();
    if flow.max_sustained_rate > 0 {
        buckets.push(Bucket::new(
            flow.max_sustained_rate,
            flow.max_burst.max(1522),
        ));
    }
    if flow.peak_rate > 0 {
        buckets.push(Bucket::new(flow.peak_rate, 1522));
    }
    buckets
}

fn profiles() -> impl Strategy<Value = Profile> {
    let base = prop_oneof![
        Just(Profile {
            stretch: false,
            ..Profile::docsis_1_1_004(5_000_000).unwrap()
        }),
        Just(Profile::docsis_1_1_004(1_000_000).unwrap()),
        Just(Profile::docsis_1_1_004(2_000_000).unwrap()),
        Just(Profile::docsis_3_0()),
        Just(Profile::docsis_3_1(15)),
        Just(Profile::named("cablelabs-2014").unwrap()),
    ];
    let contention = (0..8_u32, 0..4_u32);
    (base, any::<bool>(), any::<bool>(), contention, 0..4_u16).prop_map(
        |(profile, piggyback, fragmentation, (contention, longer), idle_proactive_grants)| {
            let contention_minislots = profile.contention_minislots + 2 * contention;
            let request_minislots = profile.request_minislots + longer;
            Profile {
                piggyback,
                fragmentation: match profile.fragmentation {
                    true => true,
                    false => fragmentation,
                },
                contention_minislots,
                request_minislots: request_minislots.min(contention_minislots),
                idle_proactive_grants,
                ..profile
            }
        },
    )
}

fn services() -> impl Strategy<Value = (Service, Policy)> {
    let every = |interval: u64, jitter: u64| Periodic { interval, jitter };
    prop_oneof![
        4 => Just((Service::BestEffort, Policy::USUAL)),
        1 => Just((Service::BestEffort, Policy(Policy::PIGGYBACK))),
        1 => Just((Service::BestEffort, Policy(Policy::CONCATENATION))),
        1 => Just((Service::BestEffort, Policy(Policy::FRAGMENTATION))),
        1 => (10..50_u64).prop_map(move |ms| (
            Service::NonRealTimePolling(every(ms * 1_000_000, ms * 1_000_000)),
            Policy::USUAL,
        )),
        1 => (10..50_u64).prop_map(move |ms| (
            Service::RealTimePolling(every(ms * 1_000_000, ms * 500_000)),
            Policy::USUAL_REAL_TIME_POLLING,
        )),
        1 => (20..50_u64, 500..1600_u32).prop_map(move |(ms, size)| (
            Service::Unsolicited {
                grants: every(ms * 1_000_000, 5_000_000),
                size,
                per_interval: 1,
            },
            Policy::USUAL_UNSOLICITED,
        )),
        1 => (20..50_u64, 500..1600_u32).prop_map(move |(ms, size)| (
            Service::UnsolicitedWithActivity {
                grants: every(ms * 1_000_000, 5_000_000),
                size,
                per_interval: 1,
                polls: every(ms * 1_000_000, 5_000_000),
            },
            Policy::USUAL_UNSOLICITED,
        )),
        1 => (0..5_u64, 50_000..200_000_u64, prop::option::of(5..40_u64), any::<bool>()).prop_map(|(ms, rate, polls, piggyback)| (
            Service::Proactive {
                interval: ms * 1_000_000,
                rate,
                request_interval: polls.unwrap_or(0) * 1_000_000,
                activity_detection: true,
            },
            if piggyback { Policy::USUAL } else { Policy(Policy::PIGGYBACK) },
        )),
    ]
}

fn flows() -> impl Strategy<Value = Vec<FlowConfig>> {
    let shaping = prop_oneof![
        2 => Just((0, 0)),
        1 => (100_000..2_000_000_u64).prop_map(|rate| (rate, 0)),
        1 => (100_000..2_000_000_u64).prop_map(|rate| (rate, rate + rate / 4)),
    ];
    let flow = (services(), shaping, 0..8_u8, 1..=16_u8, 4..=16_u8, 0..3_u32);
    proptest::collection::vec(flow, 1..12).prop_map(|flows| {
        let numbered = flows.into_iter().enumerate();
        numbered
            .map(
                |(n, ((service, policy), (rate, peak), priority, unit, eighths, burst))| {
                    let unsolicited = matches!(
                        service,
                        Service::Unsolicited { .. } | Service::UnsolicitedWithActivity { .. }
                    );
                    let (rate, peak) = if unsolicited { (0, 0) } else { (rate, peak) };
                    FlowConfig {
                        service,
                        policy,
                        priority,
                        max_sustained_rate: rate,
                        peak_rate: peak,
                        backoff_eighths: eighths,
                        request_unit: unit,
                        max_concatenated_burst: 1600 * burst,
                        ..FlowConfig::best_effort(Sid(n as u16 + 1))
                    }
                },
            )
            .collect()
    })
}

/// Channels that can carry what their flows have to send.
pub fn scenarios() -> impl Strategy<Value = Scenario> {
    (profiles(), flows(), any::<u64>(), 6..40_u64).prop_map(|(profile, flows, seed, gap)| {
        let gap = gap.max(3 * flows.len() as u64);
        Scenario {
            profile,
            flows,
            seed,
            gap,
            maps: 150,
        }
    })
}
