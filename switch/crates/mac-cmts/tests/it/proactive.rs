// SPDX-License-Identifier: Apache-2.0
//! Proactive grants (PGS), activity detection, and the polls beside them.

use mac_wire::{Amount, Element, FlowConfig, Map, Policy, Profile, Service, Sid, Usage};

use crate::drive::{Drive, best_effort, grants_to};

/// mac.md: 5 Mbps in intervals of a frame are 2 minislots a frame, in intervals of a MAP 28.
#[test]
fn proactive_grants_come_by_themselves_at_one_distance() {
    for (interval, minislots, distance) in [(135_000, 2, 235), (0, 28, 15 * 235)] {
        let mut drive = Drive::new(Profile::docsis_3_1(15));
        let flow = FlowConfig {
            service: Service::Proactive {
                interval,
                rate: 5_000_000,
                request_interval: 0,
                activity_detection: true,
            },
            ..best_effort(1)
        };
        // Tokens do not hold them back.
        drive.admit(FlowConfig {
            max_sustained_rate: 1_000_000,
            ..flow
        });
        let mut grants = Vec::new();
        for _ in 0..20 {
            let map = drive.step();
            for grant in grants_to(&map, 1) {
                assert_eq!(grant.minislots, minislots);
                grants.push(grant.first.0 / 235);
                drive.burst(grant, 0, None, false);
            }
        }
        let pairs = grants.windows(2);
        assert!(
            pairs
                .clone()
                .all(|pair| pair[1] - pair[0] == distance / 235)
        );
        assert!(grants.len() as u64 >= 20 * 15 * 235 / distance - 15);
        // It also asks; what it gets by itself is taken off.
        drive.admit(flow);
        drive.request_soon(1, Amount::Bytes(2000));
        let asked: u32 = (0..4)
            .flat_map(|_| grants_to(&drive.step(), 1))
            .filter(|grant| grant.minislots != minislots)
            .map(|grant| grant.minislots)
            .sum();
        assert!(asked > 0 && asked < 42, "{asked}");
    }
}

/// Proactive grants of 5 Mbps in intervals of a MAP.
fn proactive(policy: Policy) -> FlowConfig {
    FlowConfig {
        service: Service::Proactive {
            interval: 0,
            rate: 5_000_000,
            request_interval: 0,
            activity_detection: true,
        },
        policy,
        ..best_effort(1)
    }
}

/// Grants of the next MAPs, all left empty.
fn left_empty(drive: &mut Drive, maps: usize) -> Vec<Element> {
    let mut grants = Vec::new();
    for _ in 0..maps {
        let map = drive.step();
        for grant in grants_to(&map, 1) {
            drive.burst(grant, 0, None, false);
            grants.push(grant);
        }
    }
    grants
}

fn watching(policy: Policy, idle_proactive_grants: u16) -> Drive {
    watching_flow(proactive(policy), idle_proactive_grants)
}

fn watching_flow(flow: FlowConfig, idle_proactive_grants: u16) -> Drive {
    let profile = Profile {
        idle_proactive_grants,
        ..Profile::docsis_3_1(15)
    };
    let mut drive = Drive::new(profile);
    drive.admit(flow);
    drive
}

/// The same flow, with a poll in each interval of so many ns, or without activity detection.
fn proactive_with(policy: Policy, request_interval: u64, activity_detection: bool) -> FlowConfig {
    FlowConfig {
        service: Service::Proactive {
            interval: 0,
            rate: 5_000_000,
            request_interval,
            activity_detection,
        },
        ..proactive(policy)
    }
}

/// Polls of a MAP to SID 1.
fn polls_in(map: &Map) -> usize {
    let elements = map.elements.iter();
    elements
        .filter(|element| element.sid == Sid(1) && element.usage == Usage::Request)
        .count()
}

#[test]
fn activity_detection_may_be_disabled_also_while_it_holds_grants_back() {
    let disabled = proactive_with(Policy::USUAL, 0, false);
    assert!(left_empty(&mut watching_flow(disabled, 4), 100).len() >= 99);
    let mut drive = watching(Policy::USUAL, 4);
    assert!(left_empty(&mut drive, 50).len() <= 8);
    drive.admit(disabled);
    assert!(left_empty(&mut drive, 50).len() >= 48);
    assert_eq!(drive.statistics().missed, 0);
}

/// A Guaranteed Request Interval: a poll in each, whether grants come or not; who is polled may lose
/// its grants without asking in contention.
#[test]
fn proactive_grants_have_polls_beside_them() {
    let map_time = Profile::docsis_3_1(15).map_length();
    let silent = Policy(Policy::BROADCAST_REQUESTS);
    let flow = proactive_with(silent, 4 * map_time, true);
    let mut drive = watching_flow(flow, 4);
    let (mut polls, mut grants) = (0, 0);
    for _ in 0..100 {
        let map = drive.step();
        polls += polls_in(&map);
        for grant in grants_to(&map, 1) {
            grants += 1;
            drive.burst(grant, 0, None, false);
        }
    }
    assert!((24..=26).contains(&polls), "{polls}");
    assert!((4..=8).contains(&grants), "{grants}");
    // In a poll it asks, and all of it comes back; polls go on.
    let polled = loop {
        let map = drive.step();
        if let Some(poll) = (map.elements.iter())
            .find(|element| element.sid == Sid(1) && element.usage == Usage::Request)
        {
            break poll.first;
        }
    };
    drive.request(1, Amount::Bytes(500), polled);
    let (mut polls, mut grants) = (0, 0);
    for _ in 0..100 {
        let map = drive.step();
        polls += polls_in(&map);
        for grant in grants_to(&map, 1) {
            grants += 1;
            let bytes = drive.bytes(&grant);
            drive.burst(grant, bytes, None, false);
        }
    }
    assert!((24..=26).contains(&polls), "{polls}");
    assert!(grants >= 95, "{grants}");
    assert_eq!(drive.statistics().missed, 0);
    assert_eq!(drive.statistics().requests_polled, 1);
}

#[test]
fn polls_beside_proactive_grants_are_admitted_as_others_are() {
    let map_time = Profile::docsis_3_1(15).map_length();
    let mut drive = Drive::new(Profile::docsis_3_1(15));
    let refused = drive
        .scheduler
        .admit(drive.now, proactive_with(Policy::USUAL, map_time - 1, true));
    let words = refused.unwrap_err().0;
    assert!(
        words.contains("polls") && words.contains("less than a MAP"),
        "{words}"
    );
}

#[test]
fn proactive_grants_come_for_ever_unless_activity_is_watched() {
    let mut drive = watching(Policy::USUAL, 0);
    assert!(left_empty(&mut drive, 100).len() >= 99);
    // Who may not ask would never have them back.
    let silent = Policy(Policy::BROADCAST_REQUESTS);
    assert!(left_empty(&mut watching(silent, 4), 100).len() >= 99);
}

#[test]
fn an_idle_flow_loses_its_proactive_grants_until_it_asks() {
    let mut drive = watching(Policy::USUAL, 4);
    let before = left_empty(&mut drive, 50);
    // Four in a row, and those of MAPs that were made before the fourth was heard.
    assert!((4..=8).contains(&before.len()), "{}", before.len());
    let asked = drive.maps.len();
    drive.request_soon(1, Amount::Bytes(500));
    let mut after = Vec::new();
    for _ in 0..50 {
        let map = drive.step();
        for grant in grants_to(&map, 1) {
            let bytes = drive.bytes(&grant);
            drive.burst(grant, bytes, None, false);
            after.push(grant);
        }
    }
    // They come for ever while they are used, at the distance that they always had.
    assert!(after.len() >= 45, "{}", after.len());
    let reference = drive.scheduler.reference(Sid(1)).unwrap().grants.unwrap();
    let interval = drive.profile.map_length();
    for grant in after.iter().filter(|grant| grant.minislots == 28) {
        let since = drive.profile.clock.start(grant.first) - reference;
        assert!(since % interval <= interval / 8);
    }
    // What was asked for is granted, too.
    let granted: u64 = (drive.maps[asked..].iter())
        .flat_map(|map| grants_to(map, 1))
        .map(|grant| drive.bytes(&grant))
        .sum();
    assert!(granted >= 500 + 45 * 1344);
    assert_eq!(drive.statistics().missed, 0);
}

#[test]
fn a_grant_that_is_used_keeps_the_others() {
    let mut drive = watching(Policy::USUAL, 4);
    let mut count = 0;
    for _ in 0..60 {
        let map = drive.step();
        for grant in grants_to(&map, 1) {
            count += 1;
            let used = if count % 4 == 0 { 100 } else { 0 };
            drive.burst(grant, used, None, false);
        }
    }
    assert!(count >= 59, "{count}");
}
