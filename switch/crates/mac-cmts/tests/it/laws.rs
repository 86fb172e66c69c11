// SPDX-License-Identifier: Apache-2.0
//! What holds for any flows and any traffic.

use mac_cmts::Scheduler;
use mac_wire::{Amount, Asking, FlowConfig, Packing, Periodic, Policy, Profile, Service, Sid};
use proptest::prelude::*;

use crate::drive::{Drive, best_effort, grants};
use crate::world::{rounding, world};

const MS: u64 = 1_000_000;

pub fn profiles() -> impl Strategy<Value = Profile> {
    let paper = (prop::sample::select(vec![1, 2, 3, 5]), any::<bool>());
    prop_oneof![
        paper.prop_map(|(ms, fragmentation)| Profile {
            fragmentation,
            piggyback: true,
            ..Profile::docsis_1_1_004(ms * MS).unwrap()
        }),
        (0_u32..8, 1_u32..9).prop_map(|(maintenance_minislots, request_minislots)| Profile {
            maintenance_minislots,
            request_minislots,
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
        1 => (1_u64..20, 1_u64..5, prop::option::of(10_u64..60)).prop_map(|(ms, mbps, polls)| {
            Service::Proactive {
                interval: ms * MS,
                rate: mbps * 100_000,
                request_interval: polls.unwrap_or(0) * MS,
                activity_detection: true,
            }
        }),
    ]
}

pub fn flows() -> impl Strategy<Value = Vec<FlowConfig>> {
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
        // As deep as what has to pass at once: the least part, or a burst.
        let whole = profile.phy.minislots(match profile.packing {
            Packing::Continuous => 72,
            _ => 1528,
        });
        let whole = profile.phy.bytes(whole);
        let with_headers = |rate: u64, ns: u64| {
            let bytes = u128::from(rate) * 21 * u128::from(ns) / 20 / 8_000_000_000;
            bytes as u64 + 1
        };
        let peak_depth = with_headers(peak.unwrap_or(0), profile.map_length().max(2 * MS));
        for from in 0..made.len() {
            let (mut granted, mut parts) = (0, 0);
            for &(now, bytes, more) in &made[from..] {
                granted += bytes;
                parts += more;
                let rounded = parts * rounding(&profile);
                let earned = |rate: u64| with_headers(rate, now - made[from].0);
                prop_assert!(granted <= earned(sustained) + max_burst.max(whole) + rounded);
                if let Some(peak) = peak {
                    prop_assert!(granted <= earned(peak) + peak_depth.max(whole) + rounded);
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
