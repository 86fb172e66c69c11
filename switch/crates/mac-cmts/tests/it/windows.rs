// SPDX-License-Identifier: Apache-2.0
//! Whatever is admitted keeps its jitter windows, however full the channel and whoever comes and goes.

use std::collections::BTreeMap;

use mac_wire::{Amount, FlowConfig, Minislot, Periodic, Policy, Profile, Service, Sid, Usage};
use proptest::prelude::*;

use crate::drive::{Drive, best_effort};
use crate::world::check_windows;

const MS: u64 = 1_000_000;

fn profiles() -> impl Strategy<Value = Profile> {
    prop_oneof![
        (1_u64..6, any::<bool>(), 0_u32..6, 0_u32..15).prop_map(
            |(ms, stretch, maintenance_minislots, contention_minislots)| Profile {
                stretch,
                maintenance_minislots,
                contention_minislots,
                extra_contention: true,
                // Frames may be cut, so that short MAPs hold the longest.
                fragmentation: !stretch,
                ..Profile::docsis_1_1_004(ms * MS).unwrap()
            }
        ),
        Just(Profile::docsis_3_0()),
        (7_u32..16).prop_map(Profile::docsis_3_1),
    ]
}

fn periodic() -> impl Strategy<Value = Periodic> {
    let interval = prop_oneof![
        3 => prop::sample::select(vec![10 * MS, 20 * MS, 40 * MS]),
        1 => 5 * MS..60 * MS,
        1 => (200_u64..2400).prop_map(|slots| slots * 25_000),
    ];
    let jitter = prop_oneof![Just(0), 0..MS, 0..4 * MS, 0..60 * MS];
    (interval, jitter).prop_map(|(interval, jitter)| Periodic { interval, jitter })
}

fn flow() -> impl Strategy<Value = FlowConfig> {
    let service = prop_oneof![
        1 => periodic().prop_map(Service::RealTimePolling),
        4 => (periodic(), 20_u32..600, 1_u8..3).prop_map(|(grants, size, per_interval)| {
            Service::Unsolicited { grants, size, per_interval }
        }),
    ];
    service.prop_map(|service| FlowConfig {
        service,
        policy: Policy::USUAL_UNSOLICITED,
        ..best_effort(0)
    })
}

/// A flow as it was admitted: when its windows begin, and what came in them.
struct Seen {
    periodic: Periodic,
    count: u64,
    t0: u64,
    starts: Vec<u64>,
}

fn seen(drive: &Drive, flow: &FlowConfig) -> Seen {
    let reference = drive.scheduler.reference(flow.sid).unwrap();
    let (periodic, count, t0) = match flow.service {
        Service::RealTimePolling(polls) => (polls, 1, reference.polls),
        Service::Unsolicited {
            grants,
            per_interval,
            ..
        } => (grants, per_interval.into(), reference.grants),
        _ => unreachable!(),
    };
    Seen {
        periodic,
        count,
        t0: t0.unwrap(),
        starts: Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn whatever_is_admitted_keeps_its_windows(
        profile in profiles(),
        flows in prop::collection::vec((flow(), 0_u32..60, prop::option::of(1_u32..80)), 1..50),
        asked in prop::collection::vec(5_u32..96, 1..8),
    ) {
        prop_assume!(profile.check().is_ok());
        let mut drive = Drive::new(profile);
        drive.admit(best_effort(1000));
        let mut present: BTreeMap<u16, Seen> = BTreeMap::new();
        for round in 0..140_u32 {
            for (sid, (flow, comes, stays)) in (1..).zip(&flows) {
                let flow = FlowConfig { sid: Sid(sid), ..*flow };
                if *comes == round && drive.scheduler.admit(drive.now, flow).is_ok() {
                    present.insert(sid, seen(&drive, &flow));
                }
                if stays.is_some_and(|stays| comes + stays == round)
                    && drive.scheduler.remove(drive.now, Sid(sid))
                {
                    let seen = present.remove(&sid).unwrap();
                    let until = drive.maps.last().map_or(Minislot(0), |map| map.end);
                    check(&seen, drive.profile.clock.start(until));
                }
            }
            let map = drive.step();
            for element in &map.elements {
                let start = drive.profile.clock.start(element.first);
                let sid = element.sid.0;
                if let Some(seen) = present.get_mut(&sid) {
                    seen.starts.push(start);
                } else if element.usage == Usage::Request && sid == Sid::ALL.0 && round % 3 == 0 {
                    let wanted = asked[round as usize % asked.len()];
                    let amount = match drive.profile.asking {
                        mac_wire::Asking::OneBurst => Amount::Minislots(wanted),
                        mac_wire::Asking::QueueDepth => Amount::Bytes(u64::from(wanted) * 100),
                    };
                    drive.request(1000, amount, element.first);
                }
            }
        }
        prop_assert_eq!(drive.statistics().missed, 0);
        let until = drive.profile.clock.start(drive.maps.last().unwrap().end);
        for seen in present.values() {
            check(seen, until);
        }
    }
}

fn check(seen: &Seen, until: u64) {
    check_windows(
        seen.t0,
        seen.periodic,
        seen.count,
        0,
        &seen.starts,
        until,
        true,
    );
}
