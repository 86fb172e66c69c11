// SPDX-License-Identifier: Apache-2.0
//! Whatever is heard is counted, bounded or refused.

use mac_cmts::{Heard, Parameters};
use mac_wire::{
    Amount, Element, FlowConfig, Minislot, Periodic, Policy, Profile, Request, Service, Sid,
};

use proptest::prelude::*;

use crate::drive::{Drive, best_effort, grants, grants_to};
use crate::laws::{flows, profiles};
use crate::world::rounding;

fn ask(sid: u16, amount: Amount) -> Heard {
    Heard::Request {
        request: Request {
            sid: Sid(sid),
            amount,
        },
        sent: Minislot(0),
    }
}

fn burst(sid: u16, first: u64, used: u64) -> Heard {
    Heard::Burst {
        sid: Sid(sid),
        first: Minislot(first),
        used,
        headers: used / 2,
        request: None,
        queue_indicator: true,
    }
}

#[test]
fn strangers_are_counted() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    for sid in [0, 1, 0x3dff, 0x3fff, 0xffff] {
        drive.at(0, ask(sid, Amount::Bytes(100)));
        drive.at(0, burst(sid, u64::MAX, u64::MAX));
    }
    for _ in 0..5 {
        assert!(grants(&drive.step()).is_empty());
    }
    assert_eq!(drive.statistics().requests_unknown, 5);
    assert_eq!(drive.statistics().bursts_unknown, 5);
}

#[test]
fn a_flow_has_so_much_outstanding_and_no_more() {
    let parameters = Parameters {
        most_outstanding: 10_000,
        ..Parameters::default()
    };
    let mut drive = Drive::with_parameters(Profile::docsis_3_0(), parameters);
    drive.admit(best_effort(1));
    for _ in 0..3 {
        drive.at(0, ask(1, Amount::Bytes(u64::MAX)));
    }
    let all: Vec<Element> = (0..20).flat_map(|_| grants(&drive.step())).collect();
    assert_eq!(drive.statistics().requests_trimmed, 3);
    let bytes: u64 = all.iter().map(|grant| drive.bytes(grant)).sum();
    // A segment header each, and a minislot's rounding at the end.
    let most = 10_000 + 8 * all.len() as u64 + rounding(&drive.profile);
    assert!((10_000..=most).contains(&bytes), "{bytes} of {most}");
}

#[test]
fn what_no_map_can_hold_is_not_kept() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2_000_000).unwrap());
    drive.admit(best_effort(1));
    drive.at(0, ask(1, Amount::Minislots(u32::MAX)));
    for _ in 0..5 {
        let map = drive.step();
        assert!(map.pending.is_empty() && grants(&map).is_empty());
    }
    assert_eq!(drive.statistics().requests_impossible, 1);
}

#[test]
fn amounts_of_another_kind_and_of_nothing_are_refused() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    drive.admit(best_effort(1));
    drive.at(0, ask(1, Amount::Minislots(10)));
    drive.at(0, ask(1, Amount::Bytes(0)));
    assert!(grants(&drive.step()).is_empty());
    assert_eq!(drive.statistics().requests_malformed, 2);
}

#[test]
fn who_must_not_ask_is_not_heard() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    let grants = Periodic {
        interval: 20_000_000,
        jitter: 1_000_000,
    };
    drive.admit(FlowConfig {
        service: Service::Unsolicited {
            grants,
            size: 200,
            per_interval: 1,
        },
        ..best_effort(1)
    });
    drive.admit(FlowConfig {
        service: Service::NonRealTimePolling(grants),
        policy: Policy(Policy::BROADCAST_REQUESTS),
        ..best_effort(2)
    });
    for sid in [1, 2] {
        drive.at(0, ask(sid, Amount::Bytes(1000)));
    }
    drive.step();
    assert_eq!(drive.statistics().requests_forbidden, 2);
}

#[test]
fn a_burst_counts_once_and_never_for_more_than_its_grant() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    drive.admit(best_effort(1));
    drive.request_soon(1, Amount::Bytes(1000));
    let grant = loop {
        if let Some(&grant) = grants_to(&drive.step(), 1).first() {
            break grant;
        }
    };
    drive.burst(grant, u64::MAX, None, true);
    drive.burst(grant, u64::MAX, None, true);
    for _ in 0..4 {
        drive.step();
    }
    let statistics = drive.statistics();
    assert_eq!(statistics.bytes_used, drive.bytes(&grant));
    assert_eq!(statistics.minislots_used, u64::from(grant.minislots));
    assert_eq!(
        (statistics.minislots_wasted, statistics.bursts_unknown),
        (0, 1)
    );
}

#[test]
fn grants_of_which_nothing_is_heard_are_forgotten() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    drive.admit(best_effort(1));
    drive.request_soon(1, Amount::Bytes(1000));
    for _ in 0..20 {
        drive.step();
    }
    assert_eq!(drive.statistics().grants_unheard, 1);
}

/// Ack Time never claims minislots that were not heard, even if MAPs are made before their time.
#[test]
fn maps_that_are_made_too_early_acknowledge_nothing() {
    let mut scheduler = mac_cmts::Scheduler::new(Profile::docsis_3_0(), 1, 1).unwrap();
    for _ in 0..10 {
        assert_eq!(scheduler.make_map(0).ack, Minislot(0));
    }
    let at = scheduler.next_map_at();
    assert!(scheduler.make_map(at).ack > Minislot(0));
}

#[test]
fn a_profile_that_cannot_be_is_refused() {
    let mut profile = Profile::docsis_3_0();
    profile.contention_minislots = profile.map_minislots;
    let refusal = mac_cmts::Scheduler::new(profile, 1, 1).unwrap_err();
    assert!(refusal.to_string().contains("contention_minislots"));
}

fn anything() -> impl Strategy<Value = Heard> {
    let slot = || prop_oneof![4 => 0_u64..4000, 1 => any::<u64>()].prop_map(Minislot);
    let sid = || prop_oneof![4 => 1_u16..30, 1 => any::<u16>()].prop_map(Sid);
    let amount = || {
        prop_oneof![
            (0_u32..300).prop_map(Amount::Minislots),
            any::<u32>().prop_map(Amount::Minislots),
            (0_u64..100_000).prop_map(Amount::Bytes),
            any::<u64>().prop_map(Amount::Bytes),
        ]
    };
    let request = move || (sid(), amount()).prop_map(|(sid, amount)| Request { sid, amount });
    prop_oneof![
        (request(), slot()).prop_map(|(request, sent)| Heard::Request { request, sent }),
        slot().prop_map(|sent| Heard::Noise { sent }),
        (
            sid(),
            slot(),
            any::<(u64, u64)>(),
            prop::option::of(request()),
            any::<bool>()
        )
            .prop_map(|(sid, first, (used, headers), request, queue_indicator)| {
                Heard::Burst {
                    sid,
                    first,
                    used,
                    headers,
                    request,
                    queue_indicator,
                }
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Whatever is heard, in bursts that were granted too, MAPs stay valid (`Drive` looks at each).
    #[test]
    fn anything_may_be_heard(
        profile in profiles(),
        flows in flows(),
        events in prop::collection::vec((anything(), 0_u8..6), 1..200),
    ) {
        let mut drive = Drive::new(profile);
        for flow in flows {
            let _ = drive.scheduler.admit(0, flow);
        }
        for (heard, steps) in events {
            drive.at(drive.now, heard);
            for _ in 0..steps / 5 {
                let map = drive.step();
                if let Heard::Burst { used, request, queue_indicator, .. } = heard {
                    for grant in grants(&map) {
                        let amount = request.map(|request| request.amount);
                        drive.burst(grant, used, amount, queue_indicator);
                    }
                }
            }
        }
        drive.step();
        let counted = drive.statistics();
        prop_assert!(counted.minislots_used + counted.minislots_wasted <= counted.minislots_granted);
        prop_assert!(counted.bytes_used <= counted.bytes_granted);
    }
}
