// SPDX-License-Identifier: Apache-2.0
//! Random traffic, and what a test knows of it.

use std::collections::BTreeMap;

use mac_wire::{
    Amount, Asking, Element, FlowConfig, Map, Minislot, Periodic, Profile, Service, Sid, Usage,
};

use crate::drive::Drive;

/// A source of choices that shrinks with the bytes it was given.
pub struct Choices {
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
pub struct Known {
    /// Bytes (or minislots of bursts) that were asked for and heard, and bytes granted.
    asked: u64,
    carried: u64,
    /// When each grant or poll started.
    grants: Vec<u64>,
    polls: Vec<u64>,
}

/// Sends requests and bursts at random, and looks at what is granted.
pub struct World {
    pub drive: Drive,
    pub flows: Vec<FlowConfig>,
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
        let time = self.drive.request(sid, amount, sent);
        self.note(time, sid, amount);
    }

    /// One MAP; `traffic` is how often requests are made, of 256.
    pub fn step(&mut self, traffic: u64) {
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
                let time = profile.clock.end(element.first) + profile.timing.piggyback_heard;
                self.note(time, sid, amount);
            }
            let more = self.choices.next() < 20;
            self.drive.burst(element, used, request, more);
        }
    }

    /// Every grant and poll of interval i is in its window, and none is missing, unless the flow
    /// pauses one or the other (UGS-AD).
    pub fn check_windows(&self) {
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
                Service::Proactive { .. } => {
                    if let Some(polls) = flow.service.guaranteed_polls() {
                        let t0 = reference.polls.unwrap();
                        check_windows(t0, polls, 1, 0, &known.polls, end, true);
                    }
                }
                Service::BestEffort => {}
            }
        }
        assert_eq!(self.drive.statistics().missed, 0);
    }

    /// Nothing is granted that was not asked for, but what rounding and parts add.
    pub fn check_asked(&self) {
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
pub fn rounding(profile: &Profile) -> u64 {
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

pub fn world(profile: Profile, flows: &[FlowConfig], bytes: Vec<u8>) -> World {
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
