// SPDX-License-Identifier: Apache-2.0
//! Scheduling services (mac.md, "Scheduling services").

use mac_cmts::Heard;
use mac_wire::{
    Amount, Element, FlowConfig, Minislot, Periodic, Policy, Profile, Request, Service, Sid, Usage,
};

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

#[test]
fn what_was_asked_for_is_forgotten_with_the_service_and_with_the_policy() {
    let other_priority = FlowConfig {
        priority: 3,
        ..best_effort(1)
    };
    let other_policy = FlowConfig {
        policy: Policy(Policy::PIGGYBACK),
        ..best_effort(1)
    };
    // 5 minislots of a request, and 16 of each unsolicited grant.
    for (config, least) in [
        (other_priority, Some(5)),
        (other_policy, None),
        (call(1, 0), Some(16)),
    ] {
        let mut drive = channel();
        drive.admit(best_effort(1));
        drive.step();
        let request = Request {
            sid: Sid(1),
            amount: Amount::Minislots(5),
        };
        let sent = Minislot(0);
        let now = drive.now;
        drive.scheduler.heard(now, Heard::Request { request, sent });
        drive.admit(config);
        let grants: Vec<Element> = (0..20).flat_map(|_| grants_to(&drive.step(), 1)).collect();
        let lengths = grants.iter().map(|grant| grant.minislots);
        assert_eq!(lengths.min(), least);
    }
}
