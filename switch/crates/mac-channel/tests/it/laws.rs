// SPDX-License-Identifier: Apache-2.0
//! What holds for random channels, flows and traffic.

use mac_channel::Heard;
use mac_cmts::Scheduler;
use mac_wire::{Amount, FRAGMENT_OVERHEAD, Map, Minislot, Packing, Request, Service};
use proptest::prelude::*;

use crate::scenario::{Outcome, Scenario, scenarios};

/// MAPs after the last frame in which everything has to be over: the shaped flows' slowest rate, the
/// longest polling interval and 16 tries all end before.
const DRAIN: u64 = 3000;
/// So many take some seconds in a debug build.
const CASES: u32 = 48;

/// Each frame arrived once, in order, or was given up, or is too long for its flow's grants.
fn every_frame_is_accounted_for(outcome: &mut Outcome) -> Result<(), TestCaseError> {
    for flow in outcome.flows.clone() {
        let arrived: Vec<u64> = outcome
            .plant
            .delivered
            .iter()
            .filter(|(_, sid, _)| *sid == flow.sid)
            .map(|(_, _, packet)| packet.number)
            .collect();
        prop_assert!(
            arrived.is_sorted_by(|one, next| one < next),
            "{flow:?} is out of order or doubled"
        );
        let station = outcome.channel.station(flow.sid).unwrap();
        let dropped = station.statistics().given_up + station.statistics().too_long;
        let staged = u64::from(station.staged() > 0);
        // All that is used is headers or frames.
        let bursts = outcome.record.bursts.iter();
        let own = bursts.filter(|burst| burst.1 == flow.sid);
        let headers: u64 = own.map(|burst| burst.3.headers).sum();
        let frames = outcome.plant.delivered.iter();
        let own = frames.filter(|(_, sid, _)| *sid == flow.sid);
        let lengths: u64 = own.map(|(_, _, packet)| u64::from(packet.length)).sum();
        prop_assert_eq!(station.statistics().bytes_used, headers + lengths);
        let queue = outcome.plant.lengths(flow.sid);
        prop_assert_eq!(queue.given_up, dropped);
        prop_assert_eq!(
            queue.numbers,
            arrived.len() as u64 + dropped + staged + queue.frames.len() as u64
        );
        prop_assert_eq!(station.statistics().frames, arrived.len() as u64);
        let (granted, used) = (
            station.statistics().bytes_granted,
            station.statistics().bytes_used,
        );
        prop_assert!(used <= granted, "{used} bytes of {granted} used");
        // Nobody starves.
        prop_assert_eq!(
            (queue.frames.len(), staged),
            (0, 0),
            "{:?} still waits; {:?}",
            flow,
            station.statistics()
        );
    }
    Ok(())
}

/// Bursts lie in minislots that are granted to them, one behind the other; requests elsewhere.
fn no_two_share_minislots(outcome: &Outcome) -> Result<(), TestCaseError> {
    let mut busy: Vec<(u64, u64)> = Vec::new();
    let profile = outcome.channel.profile();
    for (_, _, grant, filled, _) in &outcome.record.bursts {
        let taken = profile.phy.minislots(filled.used);
        prop_assert!(
            taken <= grant.minislots,
            "{filled:?} does not fit {grant:?}"
        );
        busy.push((grant.first.0, grant.first.0 + u64::from(taken)));
    }
    let mut opportunities: Vec<u64> = outcome.record.requests.iter().map(|r| r.1.0).collect();
    opportunities.dedup();
    let each = u64::from(profile.request_minislots);
    busy.extend(opportunities.iter().map(|&first| (first, first + each)));
    busy.sort_unstable();
    for pair in busy.windows(2) {
        prop_assert!(
            pair[0].1 <= pair[1].0 || pair[0] == pair[1],
            "{pair:?} overlap"
        );
    }
    Ok(())
}

/// 000, appendix C, over all pairs of frames.
fn no_flow_is_above_its_buckets(outcome: &mut Outcome) -> Result<(), TestCaseError> {
    for flow in outcome.flows.clone() {
        let queue = outcome.plant.lengths(flow.sid);
        for bucket in &queue.buckets {
            for (n, &(from, _)) in queue.charged.iter().enumerate() {
                let mut bytes = 0;
                for &(to, length) in &queue.charged[n..] {
                    bytes += length;
                    let earned = u128::from(to - from) * u128::from(bucket.rate);
                    let most = earned + u128::from(bucket.depth) * 8_000_000_000;
                    prop_assert!(u128::from(bytes) * 8_000_000_000 <= most, "{flow:?}");
                }
            }
        }
    }
    Ok(())
}

/// What was heard is all that MAPs come from.
fn replayed_requests_make_the_same_maps(
    scenario: &Scenario,
    outcome: &Outcome,
) -> Result<(), TestCaseError> {
    let mut scheduler = Scheduler::new(scenario.profile.clone(), 1, scenario.seed).unwrap();
    for &flow in &scenario.flows {
        // Refused ones too, as they came.
        let _ = scheduler.admit(0, flow);
    }
    let mut heard = outcome.record.heard.iter().peekable();
    for (now, body) in &outcome.record.maps {
        while let Some((at, what)) = heard.next_if(|(at, _)| at <= now) {
            scheduler.heard(*at, *what);
        }
        prop_assert_eq!(scheduler.next_map_at().max(*now), *now);
        let map = scheduler.make_map(*now).encode().unwrap();
        prop_assert_eq!(&map, body);
    }
    Ok(())
}

/// What a flow without unsolicited grants was granted, it has asked for before, and the CMTS has heard
/// it: all but what rounding up to minislots and cutting add.
fn nothing_is_granted_before_it_was_heard(outcome: &Outcome) -> Result<(), TestCaseError> {
    let profile = outcome.channel.profile();
    for flow in &outcome.flows {
        let asks = matches!(
            flow.service,
            Service::BestEffort | Service::NonRealTimePolling(_) | Service::RealTimePolling(_)
        );
        if !asks {
            continue;
        }
        let station = outcome.channel.station(flow.sid).unwrap();
        // What a grant adds where it may have been cut.
        let fragment = match (profile.packing, profile.fragmentation) {
            (Packing::Continuous, _) | (_, false) => 0,
            _ => FRAGMENT_OVERHEAD as u64,
        };
        let carried = |minislots: u32| station.capacity(minislots);
        let mut heard = outcome.record.heard.iter().peekable();
        let (mut asked, mut granted) = (0, 0);
        for (made, body) in &outcome.record.maps {
            while let Some((_, heard)) = heard.next_if(|(at, _)| at <= made) {
                let request = match heard {
                    Heard::Request { request, .. } => Some(*request),
                    Heard::Burst { request, .. } => *request,
                    Heard::Noise { .. } => None,
                };
                asked += match request.filter(|request| request.sid == flow.sid) {
                    Some(Request {
                        amount: Amount::Minislots(minislots),
                        ..
                    }) => carried(minislots),
                    Some(Request {
                        amount: Amount::Bytes(bytes),
                        ..
                    }) => bytes,
                    None => 0,
                };
            }
            let map = Map::decode(body, Minislot(0)).unwrap();
            for element in map
                .elements
                .iter()
                .filter(|element| element.sid == flow.sid)
            {
                if element.usage.is_data() {
                    // So many needed one minislot more.
                    granted += carried(element.minislots - 1).saturating_sub(fragment);
                }
            }
            prop_assert!(
                granted <= asked,
                "{granted} bytes of {flow:?}, and {asked} asked for"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn what_holds_in_every_run(scenario in scenarios()) {
        let mut outcome = scenario.run(DRAIN);
        prop_assert!(outcome.quiet > 0);
        every_frame_is_accounted_for(&mut outcome)?;
        no_two_share_minislots(&outcome)?;
        no_flow_is_above_its_buckets(&mut outcome)?;
        nothing_is_granted_before_it_was_heard(&outcome)?;
        replayed_requests_make_the_same_maps(&scenario, &outcome)?;
        let statistics = outcome.channel.statistics();
        prop_assert_eq!(statistics.maps_lost, 0);
        prop_assert_eq!(statistics.opportunities_collided, outcome.record.collisions);
        prop_assert!(statistics.minislots_used <= statistics.minislots_granted);
    }

    #[test]
    fn the_same_seed_gives_the_same_run(scenario in scenarios()) {
        let (one, other) = (scenario.run(20), scenario.run(20));
        prop_assert_eq!(one.record, other.record);
        prop_assert_eq!(one.plant.delivered, other.plant.delivered);
        prop_assert_eq!(one.channel.statistics(), other.channel.statistics());
    }
}

#[test]
fn a_map_reads_back_as_the_scheduler_made_it() {
    let profile = mac_wire::Profile::docsis_3_0();
    let mut scheduler = Scheduler::new(profile, 1, 1).unwrap();
    let mut before = Minislot(0);
    for _ in 0..10 {
        let map = scheduler.make_map(scheduler.next_map_at()).clone();
        let read = Map::decode(&map.encode().unwrap(), before).unwrap();
        assert_eq!(read, map);
        before = map.end;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    /// Flows leave and come back with all that they had outstanding, and those that stay lose nothing.
    #[test]
    fn flows_come_and_go(
        scenario in scenarios(),
        turns in proptest::collection::vec((1..12_u16, 0..40_u64, any::<bool>()), 1..30),
    ) {
        let Scenario { profile, flows, seed, .. } = &scenario;
        let mut channel = mac_channel::Channel::new(profile.clone(), 1, *seed).unwrap();
        let mut plant = crate::plant::Plant::default();
        let mut record = crate::scenario::Record::default();
        let map = profile.map_length();
        let mut now = 0;
        let mut gone = Vec::new();
        for (sid, later, push) in turns {
            now += later * map / 8;
            channel.step(now, &mut plant, &mut record);
            let Some(&flow) = flows.iter().find(|flow| flow.sid.0 == sid) else {
                continue;
            };
            if push {
                plant.lengths(flow.sid).push(now, 300);
                channel.wake(now, flow.sid, &mut plant);
            } else if channel.remove(now, flow.sid, &mut plant) {
                gone.push(flow.sid);
                prop_assert!(channel.station(flow.sid).is_none());
            } else {
                let _ = channel.add(now, flow);
                channel.wake(now, flow.sid, &mut plant);
            }
        }
        channel.step(now + DRAIN * map, &mut plant, &mut record);
        prop_assert_eq!(channel.statistics().maps_lost, 0);
        for flow in flows {
            let arrived = plant.delivered.iter().filter(|one| one.1 == flow.sid);
            prop_assert!(arrived.map(|one| one.2.number).is_sorted_by(|one, next| one < next));
            if let Some(station) = channel.station(flow.sid)
                && !gone.contains(&flow.sid)
            {
                prop_assert_eq!(station.staged(), 0);
                prop_assert!(plant.lengths(flow.sid).frames.is_empty(), "{flow:?} still waits");
            }
        }
    }
}
