// SPDX-License-Identifier: Apache-2.0
//! What holds for any flows and any traffic.

use std::collections::BTreeMap;

use mac_cmts::Scheduler;
use mac_wire::{
    Amount, Asking, Element, FlowConfig, Map, Minislot, Packing, Periodic, Policy, Profile,
    Service, Sid, Usage,
};
use proptest::prelude::*;

use crate::drive::{Drive, best_effort, grants};

const MS: u64 = 1_000_000;

fn profiles() -> impl Strategy<Value = Profile> {
    let paper = (prop::sample::select(vec![1, 2, 3, 5]), any::<bool>());
    prop_oneof![
        paper.prop_map(|(ms, fragmentation)| Profile {
            fragmentation,
            piggyback: true,
            ..Profile::docsis_1_1_004(ms * MS).unwrap()
        }),
        (0_u32..8).prop_map(|maintenance_minislots| Profile {
            maintenance_minislots,
            ..Profile::docsis_3_0()
        }),
        (7_u32..16).prop_map(Profile::docsis_3_1),
        Just(Profile::named("cablelabs-2014").unwrap()),
    ]
}

fn periodic() -> impl Strategy<Value = Periodic> {
    let interval = prop_oneof![
        prop::sample::select(vec![10 * MS, 20 * MS, 30 * MS]),
        5 * MS..60 * MS,
    ];
    (interval, prop_oneof![0..2 * MS, 0..20 * MS])
        .prop_map(|(interval, jitter)| Periodic { interval, jitter })
}

fn services() -> impl Strategy<Value = Service> {
    prop_oneof![
        4 => Just(Service::BestEffort),
        1 => periodic().prop_map(Service::NonRealTimePolling),
        1 => periodic().prop_map(Service::RealTimePolling),
        3 => (periodic(), 60_u32..400, 1_u8..3).prop_map(|(grants, size, per_interval)| {
            Service::Unsolicited { grants, size, per_interval }
        }),
        1 => (periodic(), 60_u32..400, periodic()).prop_map(|(grants, size, polls)| {
            Service::UnsolicitedWithActivity { grants, size, per_interval: 1, polls }
        }),
        1 => (1_u64..20, 1_u64..5).prop_map(|(ms, mbps)| Service::Proactive {
            interval: ms * MS,
            rate: mbps * 100_000,
        }),
    ]
}

fn flows() -> impl Strategy<Value = Vec<FlowConfig>> {
    let rates = (
        prop::option::of(200_000_u64..20_000_000),
        prop::option::of(500_000_u64..20_000_000),
        prop::option::weighted(0.2, 50_000_u64..150_000),
    );
    let flow = (services(), 0_u8..8, rates).prop_map(|(service, priority, rates)| {
        let (sustained, peak, reserved) = rates;
        FlowConfig {
            service,
            priority,
            policy: match service {
                Service::Unsolicited { .. } | Service::UnsolicitedWithActivity { .. } => {
                    Policy::USUAL_UNSOLICITED
                }
                _ => Policy::USUAL,
            },
            max_sustained_rate: sustained.unwrap_or(0),
            peak_rate: peak.unwrap_or(0),
            min_reserved_rate: reserved.unwrap_or(0),
            ..best_effort(0)
        }
    });
    prop::collection::vec(flow, 1..25).prop_map(|mut flows| {
        for (sid, flow) in (1..).zip(&mut flows) {
            flow.sid = Sid(sid);
        }
        flows
    })
}

/// A source of choices that shrinks with the bytes it was given.
struct Choices {
    bytes: Vec<u8>,
    at: usize,
}

impl Choices {
    fn next(&mut self) -> u64 {
        let byte = self.bytes[self.at % self.bytes.len()];
        let round = self.at / self.bytes.len();
        self.at += 1;
        u64::from(byte.wrapping_add((37 * round) as u8))
    }
}

/// What a test knows of each flow.
#[derive(Default)]
struct Known {
    /// Bytes (or minislots of bursts) that were asked for and heard, and bytes granted.
    asked: u64,
    carried: u64,
    /// When each grant or poll started.
    grants: Vec<u64>,
    polls: Vec<u64>,
}

/// Sends requests and bursts at random, and looks at what is granted.
struct World {
    drive: Drive,
    flows: Vec<FlowConfig>,
    known: BTreeMap<u16, Known>,
    choices: Choices,
    /// Requests on their way, by the time at which they are heard.
    coming: Vec<(u64, u16, Amount)>,
}

impl World {
    fn amount(&mut self) -> Amount {
        let more = self.choices.next();
        match self.drive.profile.asking {
            Asking::OneBurst => Amount::Minislots(5 + (more % 95) as u32),
            Asking::QueueDepth => Amount::Bytes(64 + 60 * more),
        }
    }

    fn note(&mut self, time: u64, sid: u16, amount: Amount) {
        self.coming.push((time, sid, amount));
    }

    fn may_ask(&self, sid: u16, polled: bool) -> bool {
        let flow = self.flows.iter().find(|flow| flow.sid.0 == sid);
        match flow.map(|flow| flow.service) {
            Some(Service::BestEffort | Service::NonRealTimePolling(_)) => true,
            Some(Service::Proactive { .. }) => true,
            Some(Service::RealTimePolling(_)) => polled,
            _ => false,
        }
    }

    fn ask(&mut self, sid: u16, sent: Minislot) {
        let amount = self.amount();
        self.drive.request(sid, amount, sent);
        let profile = &self.drive.profile;
        let time = profile.clock.end(sent) + profile.timing.request_heard;
        self.note(time, sid, amount);
    }

    /// One MAP; `traffic` is how often requests are made, of 256.
    fn step(&mut self, traffic: u64) {
        let map = self.drive.step();
        let heard = self
            .coming
            .iter()
            .filter(|(time, ..)| *time <= self.drive.now);
        for &(_, sid, amount) in heard {
            let known = self.known.entry(sid).or_default();
            let phy = &self.drive.profile.phy;
            known.asked += match amount {
                Amount::Minislots(minislots) => phy.bytes(minislots),
                Amount::Bytes(bytes) => bytes,
            };
        }
        let now = self.drive.now;
        self.coming.retain(|(time, ..)| *time > now);
        for element in &map.elements {
            self.element(*element, &map, traffic);
        }
    }

    fn element(&mut self, element: Element, map: &Map, traffic: u64) {
        let sid = element.sid.0;
        let start = self.drive.profile.clock.start(element.first);
        if element.usage == Usage::Request && element.sid == Sid::ALL {
            if self.choices.next() < traffic {
                let sids = self.flows.len() as u64;
                let sid = (1 + self.choices.next() % sids) as u16;
                if self.may_ask(sid, false) {
                    self.ask(sid, element.first);
                }
            }
        } else if element.usage == Usage::Request {
            self.known.entry(sid).or_default().polls.push(start);
            if self.may_ask(sid, true) && self.choices.next() < traffic {
                self.ask(sid, element.first);
            }
        } else if element.usage.is_data() {
            assert!(element.first >= map.start);
            let bytes = self.drive.bytes(&element);
            let known = self.known.entry(sid).or_default();
            known.grants.push(start);
            known.carried += bytes;
            let used = match self.choices.next() % 4 {
                0 => 0,
                1 => bytes / 2,
                _ => bytes,
            };
            let ask = self.may_ask(sid, false) && self.choices.next() < traffic;
            let request = ask.then(|| self.amount());
            if let Some(amount) = request {
                let profile = &self.drive.profile;
                let last = Minislot(element.end().0 - 1);
                let time = profile.clock.end(last) + profile.timing.piggyback_heard;
                self.note(time, sid, amount);
            }
            let more = self.choices.next() < 20;
            self.drive.burst(element, used, request, more);
        }
    }

    /// Every grant and poll of interval i is in its window, and none is missing, unless the flow
    /// pauses one or the other (UGS-AD).
    fn check_windows(&self) {
        let end = self.drive.maps.last().unwrap().end;
        let end = self.drive.profile.clock.start(end);
        for flow in &self.flows {
            let Some(reference) = self.drive.scheduler.reference(flow.sid) else {
                continue;
            };
            let empty = Known::default();
            let known = self.known.get(&flow.sid.0).unwrap_or(&empty);
            match flow.service {
                Service::Unsolicited {
                    grants,
                    per_interval,
                    ..
                } => {
                    let t0 = reference.grants.unwrap();
                    check_windows(t0, grants, per_interval.into(), 1, &known.grants, end, true);
                }
                Service::UnsolicitedWithActivity { grants, polls, .. } => {
                    let t0 = reference.grants.unwrap();
                    check_windows(t0, grants, 1, 1, &known.grants, end, false);
                    let t0 = reference.polls.unwrap();
                    check_windows(t0, polls, 1, 0, &known.polls, end, false);
                }
                Service::NonRealTimePolling(polls) | Service::RealTimePolling(polls) => {
                    let t0 = reference.polls.unwrap();
                    check_windows(t0, polls, 1, 0, &known.polls, end, true);
                }
                Service::BestEffort | Service::Proactive { .. } => {}
            }
        }
        assert_eq!(self.drive.statistics().missed, 0);
    }

    /// Nothing is granted that was not asked for, but what rounding and parts add.
    fn check_asked(&self) {
        let profile = &self.drive.profile;
        for flow in &self.flows {
            let may_ask = self.may_ask(flow.sid.0, true);
            if !may_ask || matches!(flow.service, Service::Proactive { .. }) {
                continue;
            }
            if let Some(known) = self.known.get(&flow.sid.0) {
                // A minislot of rounding, a code word's filling, and a header each.
                let each = rounding(profile) + 16;
                let most = known.asked + known.grants.len() as u64 * each;
                assert!(known.carried <= most, "{} of {most}", known.carried);
            }
        }
    }
}

/// The most bytes that one minislot more adds to a grant.
fn rounding(profile: &Profile) -> u64 {
    let steps = (0..400).map(|n| profile.phy.bytes(n + 1) - profile.phy.bytes(n));
    steps.max().unwrap()
}

/// Pieces of each interval started in its window, none is missing (`all`), and none is too much.
pub fn check_windows(
    t0: u64,
    periodic: Periodic,
    count: u64,
    extra: u64,
    starts: &[u64],
    end: u64,
    all: bool,
) {
    let Periodic { interval, jitter } = periodic;
    let jitter = jitter.min(interval);
    let mut seen = BTreeMap::new();
    for &start in starts {
        assert!(start >= t0, "{start} is before {t0}");
        // Of two windows that touch, the one that still lacks a piece.
        let mut number = (start - t0) / interval;
        if number > 0
            && (start - t0) - (number - 1) * interval <= jitter
            && seen.get(&(number - 1)).is_none_or(|&n| n < count)
        {
            number -= 1;
        }
        let late = start - t0 - number * interval;
        assert!(late <= jitter, "{late} ns late, and {jitter} may be");
        *seen.entry(number).or_insert(0_u64) += 1;
    }
    for number in 0.. {
        let from = t0 + number * interval;
        if from + jitter >= end {
            break;
        }
        let seen = seen.get(&number).copied().unwrap_or(0);
        assert!(seen <= count + extra, "{seen} in interval {number}");
        assert!(!all || seen >= count, "{seen} in interval {number}");
    }
}

fn world(profile: Profile, flows: &[FlowConfig], bytes: Vec<u8>) -> World {
    let mut drive = Drive::new(profile);
    let mut admitted = Vec::new();
    for flow in flows {
        match drive.scheduler.admit(0, *flow) {
            Ok(()) => admitted.push(*flow),
            Err(refusal) => assert!(refusal.to_string().len() > 20),
        }
    }
    World {
        drive,
        flows: admitted,
        known: BTreeMap::new(),
        choices: Choices { bytes, at: 0 },
        coming: Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn maps_tile_nothing_overlaps_and_everything_comes_in_its_window(
        profile in profiles(),
        flows in flows(),
        bytes in prop::collection::vec(any::<u8>(), 16..64),
        traffic in 0_u64..256,
    ) {
        let mut world = world(profile, &flows, bytes);
        if world.flows.is_empty() {
            return Ok(());
        }
        for _ in 0..150 {
            world.step(traffic);
        }
        world.check_windows();
        world.check_asked();
    }

    /// Once nobody asks any more, all that was asked for is granted, in the time that the channel
    /// and the rates need for it.
    #[test]
    fn what_is_asked_for_is_granted(
        profile in profiles(),
        flows in flows(),
        bytes in prop::collection::vec(any::<u8>(), 16..64),
    ) {
        let mut world = world(profile, &flows, bytes);
        if world.flows.is_empty() {
            return Ok(());
        }
        for _ in 0..40 {
            world.step(60);
        }
        // At the least rate, 200 kbit/s, and in the least channel.
        let asked: u64 = world.flows.len() as u64 * 40 * 16_000 + 3044;
        let seconds = 2 + asked / 200_000;
        let maps = seconds * 1000 * MS / world.drive.profile.map_length();
        let mut quiet = 0;
        for _ in 0..maps {
            world.step(0);
            quiet = if world.drive.maps.last().unwrap().pending.is_empty() { quiet + 1 } else { 0 };
            if quiet > 10 {
                break;
            }
        }
        prop_assert!(quiet > 0, "{:?}", world.drive.statistics());
        for flow in &world.flows {
            let granted = world.drive.scheduler.take_granted(flow.sid).unwrap();
            prop_assert_eq!(granted.acknowledged, 0);
        }
        prop_assert_eq!(world.drive.statistics().missed, 0);
    }

    /// For all t1 < t2, grants are within both buckets, and a rounding each.
    #[test]
    fn no_flow_is_above_its_buckets(
        profile in profiles(),
        sustained in 200_000_u64..30_000_000,
        peak in prop::option::of(500_000_u64..30_000_000),
        max_burst in 1522_u64..40_000,
        priority in 0_u8..8,
    ) {
        let mut drive = Drive::new(profile.clone());
        let flow = FlowConfig {
            max_sustained_rate: sustained,
            peak_rate: peak.unwrap_or(0),
            max_burst,
            priority,
            max_concatenated_burst: 1528,
            ..best_effort(1)
        };
        drive.admit(flow);
        let amount = match profile.asking {
            Asking::OneBurst => Amount::Minislots(96),
            Asking::QueueDepth => Amount::Bytes(100_000),
        };
        let mut made = Vec::new();
        for _ in 0..120 {
            let map = drive.step();
            let mut bytes = 0;
            let mut parts = 0;
            for grant in grants(&map) {
                let all = drive.bytes(&grant);
                drive.burst(grant, all, None, false);
                bytes += all;
                parts += 1;
            }
            made.push((drive.now, bytes, parts));
            let contention = map.elements.iter().find(|e| e.sid == Sid::ALL).unwrap();
            drive.request(1, amount, contention.first);
        }
        let whole = match profile.packing {
            Packing::Continuous => 400,
            _ => 1528,
        };
        let peak_depth = peak.map(|peak| (peak * 21 / 20 * 2.max(profile.map_length() / MS) / 8000).max(whole));
        for from in 0..made.len() {
            let (mut granted, mut parts) = (0, 0);
            for &(now, bytes, more) in &made[from..] {
                granted += bytes;
                parts += more;
                let rounded = parts * rounding(&profile);
                let earned = |rate: u64| (now - made[from].0) * (rate / 1000 * 1050) / 8_000_000_000;
                let slack = 2000;
                prop_assert!(granted <= earned(sustained + 1000) + max_burst.max(whole) + rounded + slack);
                if let (Some(peak), Some(depth)) = (peak, peak_depth) {
                    prop_assert!(granted <= earned(peak + 1000) + depth + rounded + slack);
                }
            }
        }
    }

    /// The same calls make the same MAPs.
    #[test]
    fn what_was_heard_decides_the_maps(
        profile in profiles(),
        flows in flows(),
        bytes in prop::collection::vec(any::<u8>(), 16..64),
    ) {
        let mut world = world(profile.clone(), &flows, bytes);
        if world.flows.is_empty() {
            return Ok(());
        }
        for _ in 0..60 {
            world.step(80);
        }
        let mut again = Scheduler::new(profile, 3, 7).unwrap();
        for flow in &flows {
            let _ = again.admit(0, *flow);
        }
        let mut heard = world.drive.heard.iter().peekable();
        for map in &world.drive.maps {
            let at = again.next_map_at();
            while let Some(&(time, what)) = heard.next_if(|(time, _)| *time <= at) {
                again.heard(time, what);
            }
            prop_assert_eq!(again.make_map(at), map);
        }
        prop_assert_eq!(again.statistics(), world.drive.statistics());
    }
}
