// SPDX-License-Identifier: Apache-2.0
//! Scheduling services (mac.md, "Scheduling services").

use mac_cmts::Parameters;
use mac_wire::{Amount, Element, FlowConfig, Periodic, Policy, Profile, Service, Sid, Usage};

use crate::calls::{call, channel};
use crate::drive::{Drive, best_effort, grants_to};

const MS: u64 = 1_000_000;

/// Polls of a SID in the next MAPs.
fn polls(drive: &mut Drive, sid: u16, maps: usize) -> Vec<Element> {
    let mut polls = Vec::new();
    for _ in 0..maps {
        let map = drive.step();
        let own = |e: &&Element| e.sid == Sid(sid) && e.usage == Usage::Request;
        polls.extend(map.elements.iter().filter(own));
    }
    polls
}

#[test]
fn ugs_with_activity_detection_is_polled_while_it_is_silent() {
    let mut drive = channel();
    let Service::Unsolicited {
        grants,
        size,
        per_interval,
    } = call(1, 0).service
    else {
        unreachable!()
    };
    drive.admit(FlowConfig {
        service: Service::UnsolicitedWithActivity {
            grants,
            size,
            per_interval,
            polls: Periodic {
                interval: 40 * MS,
                jitter: MS,
            },
        },
        ..call(1, 0)
    });
    let reference = drive.scheduler.reference(Sid(1)).unwrap();
    let mut empty = 0;
    while polls(&mut drive, 1, 1).is_empty() {
        let map = drive.maps.last().unwrap().clone();
        for grant in grants_to(&map, 1) {
            empty += 1;
            drive.burst(grant, 0, None, false);
        }
        assert!(empty < 20);
    }
    assert!(empty >= 8, "{empty}");
    let silent = polls(&mut drive, 1, 100);
    assert_eq!(silent.len(), 5);
    for pair in silent.windows(2) {
        let start = |e: &Element| drive.profile.clock.start(e.first);
        let from = (start(&pair[0]) - reference.polls.unwrap()) % (40 * MS);
        assert!(from <= MS);
    }
    let last = drive.maps.len() - 100;
    assert!(
        drive.maps[last..]
            .iter()
            .all(|map| grants_to(map, 1).is_empty())
    );
    drive.request(1, Amount::Minislots(16), silent[4].first);
    let again: Vec<Element> = (0..100).flat_map(|_| grants_to(&drive.step(), 1)).collect();
    // From when it is heard until grants come again it is marked, and not after.
    let marked = |map: &&mac_wire::Map| map.pending == [Sid(1)];
    let marks = drive.maps.iter().filter(marked).count();
    let first = drive.maps.iter().position(|map| marked(&map)).unwrap();
    assert!((1..=10).contains(&marks), "{marks}");
    assert!(grants_to(&drive.maps[first + marks], 1).len() == 1);
    assert!(again.len() >= 9);
    for grant in again {
        let since = drive.profile.clock.start(grant.first) - reference.grants.unwrap();
        assert_eq!(since % (20 * MS), 0);
    }
    assert!(polls(&mut drive, 1, 100).is_empty());
}

#[test]
fn rtps_is_polled_also_while_its_request_waits_and_must_not_contend() {
    let mut drive = channel();
    let video = FlowConfig {
        service: Service::RealTimePolling(Periodic {
            interval: 10 * MS,
            jitter: 2 * MS,
        }),
        policy: Policy::USUAL_REAL_TIME_POLLING,
        max_sustained_rate: 100_000,
        max_burst: 1600,
        max_concatenated_burst: 1528,
        ..best_effort(1)
    };
    drive.admit(video);
    drive.request_soon(1, Amount::Minislots(96));
    assert!((1..=2).contains(&polls(&mut drive, 1, 6).len()));
    assert_eq!(drive.statistics().requests_forbidden, 1);
    let poll = loop {
        if let Some(&poll) = polls(&mut drive, 1, 1).first() {
            break poll;
        }
    };
    drive.request(1, Amount::Minislots(96), poll.first);
    let granted = (0..10).map(|_| grants_to(&drive.step(), 1).len());
    assert_eq!(granted.sum::<usize>(), 1, "{:?}", drive.statistics());
    let poll = loop {
        if let Some(&poll) = polls(&mut drive, 1, 1).first() {
            break poll;
        }
    };
    // The bucket is empty: the request waits, and polls go on.
    drive.request(1, Amount::Minislots(96), poll.first);
    drive.step();
    let waiting = polls(&mut drive, 1, 20);
    assert!(waiting.len() >= 3);
    assert!(drive.maps.last().unwrap().pending.contains(&Sid(1)));
    assert_eq!(drive.statistics().requests_polled, 2);
}

#[test]
fn nrtps_is_polled_and_may_contend() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    drive.admit(FlowConfig {
        service: Service::NonRealTimePolling(Periodic {
            interval: 1000 * MS,
            jitter: 100 * MS,
        }),
        ..best_effort(1)
    });
    drive.request_soon(1, Amount::Bytes(1000));
    let granted = (0..10).map(|_| grants_to(&drive.step(), 1).len());
    assert_eq!(granted.sum::<usize>(), 1);
    assert!((2..=3).contains(&polls(&mut drive, 1, 1000).len()));
}

/// mac.md: 5 Mbps in intervals of a frame are 2 minislots a frame, in intervals of a MAP 28.
#[test]
fn proactive_grants_come_by_themselves_at_one_distance() {
    for (interval, minislots, distance) in [(135_000, 2, 235), (0, 28, 15 * 235)] {
        let mut drive = Drive::new(Profile::docsis_3_1(15));
        let flow = FlowConfig {
            service: Service::Proactive {
                interval,
                rate: 5_000_000,
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
    let parameters = Parameters {
        idle_proactive_grants,
        ..Parameters::default()
    };
    let mut drive = Drive::with_parameters(Profile::docsis_3_1(15), parameters);
    drive.admit(proactive(policy));
    drive
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
