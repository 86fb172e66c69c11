// SPDX-License-Identifier: Apache-2.0
//! A channel that delivers what was sent in due time, and looks at every MAP.

use std::collections::BTreeMap;

use mac_cmts::{Heard, Parameters, Scheduler, Statistics};
use mac_wire::{
    Amount, Element, FlowConfig, Map, Minislot, Policy, Profile, Request, Service, Sid, Usage,
};

/// A best-effort flow without rates.
pub fn best_effort(sid: u16) -> FlowConfig {
    FlowConfig {
        sid: Sid(sid),
        service: Service::BestEffort,
        policy: Policy::USUAL,
        priority: 0,
        max_sustained_rate: 0,
        max_burst: 3044,
        peak_rate: 0,
        min_reserved_rate: 0,
        assumed_packet_size: 0,
        max_concatenated_burst: 0,
        backoff_eighths: 8,
        request_unit: 4,
    }
}

/// The stage of a test.
pub struct Drive {
    pub scheduler: Scheduler,
    pub profile: Profile,
    /// By the time at which it is heard, and by the order in which it was sent.
    coming: BTreeMap<(u64, u64), Heard>,
    sent: u64,
    pub maps: Vec<Map>,
    /// All that was heard, and the MAP that was made then, for a replay.
    pub heard: Vec<(u64, Heard)>,
    pub now: u64,
}

impl Drive {
    pub fn new(profile: Profile) -> Self {
        Self::with_parameters(profile, Parameters::default())
    }

    pub fn with_parameters(profile: Profile, parameters: Parameters) -> Self {
        Self {
            scheduler: Scheduler::with_parameters(profile.clone(), 3, 7, parameters).unwrap(),
            profile,
            coming: BTreeMap::new(),
            sent: 0,
            maps: Vec::new(),
            heard: Vec::new(),
            now: 0,
        }
    }

    pub fn admit(&mut self, flow: FlowConfig) {
        self.scheduler.admit(self.now, flow).unwrap();
    }

    pub fn at(&mut self, time: u64, heard: Heard) {
        self.sent += 1;
        self.coming.insert((time, self.sent), heard);
    }

    /// A request that begins in a minislot; returns when it is heard, as the profile has it.
    pub fn request(&mut self, sid: u16, amount: Amount, sent: Minislot) -> u64 {
        let request = Request {
            sid: Sid(sid),
            amount,
        };
        let last = Minislot(sent.0 + u64::from(self.profile.request_minislots) - 1);
        let time = self.profile.clock.end(last) + self.profile.timing.request_heard;
        self.at(time, Heard::Request { request, sent });
        time
    }

    /// A request in the first contention opportunity of the next MAP that has one.
    pub fn request_soon(&mut self, sid: u16, amount: Amount) -> Minislot {
        let contention = |map: &Map| {
            let mut elements = map.elements.iter();
            elements
                .find(|e| e.usage == Usage::Request && e.sid == Sid::ALL)
                .copied()
        };
        let element = loop {
            if let Some(element) = contention(&self.step()) {
                break element;
            }
        };
        self.request(sid, amount, element.first);
        element.first
    }

    /// How a grant was used; `request` goes in its head.
    pub fn burst(&mut self, grant: Element, used: u64, request: Option<Amount>, more: bool) {
        self.burst_with_headers(grant, (used, 0), request, more);
    }

    /// The same with bytes of headers among those that were used.
    pub fn burst_with_headers(
        &mut self,
        grant: Element,
        (used, headers): (u64, u64),
        request: Option<Amount>,
        more: bool,
    ) {
        let sid = grant.sid;
        let time = self.profile.clock.end(grant.first) + self.profile.timing.piggyback_heard;
        let heard = Heard::Burst {
            sid,
            first: grant.first,
            used,
            headers,
            request: request.map(|amount| Request { sid, amount }),
            queue_indicator: more,
        };
        self.at(time, heard);
    }

    /// Bytes of a grant.
    pub fn bytes(&self, grant: &Element) -> u64 {
        self.profile.phy.bytes(grant.minislots)
    }

    /// Delivers what is due, makes the next MAP and looks at it.
    pub fn step(&mut self) -> Map {
        let at = self.scheduler.next_map_at();
        assert!(at >= self.now);
        self.now = at;
        while let Some(entry) = self.coming.first_entry() {
            let (time, _) = *entry.key();
            if time > at {
                break;
            }
            let heard = entry.remove();
            self.heard.push((time, heard));
            self.scheduler.heard(time, heard);
        }
        let map = self.scheduler.make_map(at).clone();
        self.check(&map);
        self.maps.push(map.clone());
        map
    }

    /// Steps; all grants are reported as wholly used.
    pub fn step_used(&mut self) -> Map {
        let map = self.step();
        for grant in grants(&map) {
            let bytes = self.bytes(&grant);
            self.burst(grant, bytes, None, false);
        }
        map
    }

    fn check(&self, map: &Map) {
        map.encode().unwrap();
        assert!(map.information_elements() <= Map::MAX_INFORMATION_ELEMENTS);
        let length = map.end.0 - map.start.0;
        let usual = u64::from(self.profile.map_minislots);
        assert!(length >= usual && length <= u64::from(Map::MAX_MINISLOTS));
        assert!(length == usual || self.profile.stretch, "{length}");
        assert_eq!(map.channel, 3);
        if let Some(before) = self.maps.last() {
            assert_eq!(map.start, before.end, "MAPs tile time");
            assert!(map.ack >= before.ack);
        }
        let mut at = map.start;
        for element in &map.elements {
            assert!(element.first >= at, "elements overlap");
            assert!(element.minislots > 0);
            at = element.end();
        }
        assert!(at <= map.end);
        // At `now` a request was heard whose first minislot is the last before Ack Time.
        if map.ack.0 > 0 {
            let last = map.ack.0 + u64::from(self.profile.request_minislots) - 2;
            let last = self.profile.clock.end(Minislot(last));
            assert!(last + self.profile.timing.request_heard <= self.now);
        }
        let contention = total(map, |e| e.usage == Usage::Request && e.sid == Sid::ALL);
        let request = self.profile.request_minislots;
        let least = self.profile.contention_minislots / request * request;
        assert!(contention >= u64::from(least), "{contention}: {map:?}");
        let maintenance = total(map, |e| e.usage == Usage::InitialMaintenance);
        assert_eq!(maintenance, u64::from(self.profile.maintenance_minislots));
    }

    pub fn statistics(&self) -> Statistics {
        self.scheduler.statistics()
    }
}

/// Minislots of some elements.
pub fn total(map: &Map, which: impl Fn(&Element) -> bool) -> u64 {
    let chosen = map.elements.iter().filter(|&e| which(e));
    chosen.map(|e| u64::from(e.minislots)).sum()
}

/// Data grants of a MAP.
pub fn grants(map: &Map) -> Vec<Element> {
    let grants = map.elements.iter().filter(|e| e.usage.is_data());
    grants.copied().collect()
}

/// Data grants of a MAP to one SID.
pub fn grants_to(map: &Map, sid: u16) -> Vec<Element> {
    let mut grants = grants(map);
    grants.retain(|grant| grant.sid == Sid(sid));
    grants
}
