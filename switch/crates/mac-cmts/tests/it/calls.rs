// SPDX-License-Identifier: Apache-2.0
//! Unsolicited grants: in their windows, or refused.

use mac_wire::{Amount, FlowConfig, Periodic, Policy, Profile, Service, Sid};

use crate::drive::{Drive, best_effort, grants_to};

const MS: u64 = 1_000_000;

/// A call of G.711: 232 bytes every 20 ms.
pub fn call(sid: u16, jitter: u64) -> FlowConfig {
    FlowConfig {
        service: Service::Unsolicited {
            grants: Periodic {
                interval: 20 * MS,
                jitter,
            },
            size: 232,
            per_interval: 1,
        },
        policy: Policy::USUAL_UNSOLICITED,
        ..best_effort(sid)
    }
}

pub fn channel() -> Drive {
    Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap())
}

#[test]
fn a_call_has_a_grant_in_every_interval_and_its_jitter_never_adds_up() {
    let mut drive = channel();
    drive.admit(call(1, 0));
    drive.admit(best_effort(2));
    let t0 = drive.scheduler.reference(Sid(1)).unwrap().grants.unwrap();
    let mut starts = Vec::new();
    for _ in 0..500 {
        // Stretched MAPs all the time.
        drive.request_soon(2, Amount::Minislots(96));
        for grant in grants_to(&drive.maps[drive.maps.len() - 1], 1) {
            // 232 bytes and 10 of preamble.
            assert_eq!(grant.minislots, 16);
            starts.push(drive.profile.clock.start(grant.first));
        }
    }
    assert!(starts.len() > 40);
    for (interval, start) in (0..).zip(starts) {
        assert_eq!(start, t0 + interval * 20 * MS);
    }
    assert_eq!(drive.statistics().missed, 0);
}

#[test]
fn calls_share_the_channel_until_one_more_does_not_fit() {
    let mut drive = channel();
    let mut sids = 0;
    let refusal = loop {
        match drive.scheduler.admit(0, call(sids + 1, 800_000)) {
            Ok(()) => sids += 1,
            Err(refusal) => break refusal,
        }
    };
    // Two of 16 minislots in each of ten MAPs leave half of the channel; a third does not fit
    // everywhere behind contention without a place of its own.
    assert!(sids >= 20, "{sids}: {refusal}");
    assert!(refusal.to_string().contains(&format!("SID {}", sids + 1)));
    let t0 = |drive: &Drive, sid| drive.scheduler.reference(Sid(sid)).unwrap().grants;
    let t0: Vec<u64> = (1..=sids).map(|sid| t0(&drive, sid).unwrap()).collect();
    let mut given = vec![0; usize::from(sids)];
    for _ in 0..1000 {
        let map = drive.step();
        for sid in 1..=sids {
            for grant in grants_to(&map, sid) {
                let n = usize::from(sid) - 1;
                let due = t0[n] + given[n] * 20 * MS;
                let start = drive.profile.clock.start(grant.first);
                assert!((due..=due + 800_000).contains(&start));
                given[n] += 1;
            }
        }
    }
    assert!(given.iter().all(|&n| n >= 98));
    assert_eq!(drive.statistics().missed, 0);
}

#[test]
fn a_change_that_is_refused_changes_nothing() {
    let mut drive = channel();
    drive.admit(call(1, 0));
    let reference = drive.scheduler.reference(Sid(1));
    let mut worse = call(1, 0);
    worse.service = Service::Unsolicited {
        grants: Periodic {
            interval: 2 * MS,
            jitter: 0,
        },
        size: 1000,
        per_interval: 2,
    };
    assert!(drive.scheduler.admit(0, worse).is_err());
    assert_eq!(drive.scheduler.reference(Sid(1)), reference);
    let grants: usize = (0..100).map(|_| grants_to(&drive.step(), 1).len()).sum();
    assert_eq!(grants, 10);
    // What stays the same stays in its place.
    let mut other = call(1, 0);
    other.priority = 3;
    drive.admit(other);
    assert_eq!(drive.scheduler.reference(Sid(1)), reference);
    assert!(drive.scheduler.remove(drive.now, Sid(1)));
    assert!(!drive.scheduler.remove(drive.now, Sid(1)));
    assert!((0..50).all(|_| grants_to(&drive.step(), 1).is_empty()));
}

#[test]
fn a_queue_indicator_earns_one_percent_more() {
    let mut drive = channel();
    drive.admit(call(1, 800_000));
    let count = |drive: &mut Drive, more| {
        let mut count = 0;
        for _ in 0..5000 {
            let map = drive.step();
            for grant in grants_to(&map, 1) {
                count += 1;
                let bytes = drive.bytes(&grant);
                drive.burst(grant, bytes, None, more);
            }
        }
        count
    };
    assert_eq!(count(&mut drive, false), 500);
    // 5 more, less one for the start.
    let more = count(&mut drive, true);
    assert!((504..=505).contains(&more), "{more}");
    assert!(count(&mut drive, false) <= 501);
}

/// Hundreds of calls on an OFDMA channel: information elements are few too, and all keep their windows.
#[test]
fn hundreds_of_calls_are_placed_or_refused() {
    let mut drive = Drive::new(Profile::docsis_3_1(7));
    let admitted: Vec<u16> = (1..=250)
        .filter(|&sid| drive.scheduler.admit(0, call(sid, 2 * MS)).is_ok())
        .collect();
    assert!(admitted.len() > 200, "{}", admitted.len());
    let t0: Vec<u64> = admitted
        .iter()
        .map(|&sid| drive.scheduler.reference(Sid(sid)).unwrap().grants.unwrap())
        .collect();
    let mut given = vec![0; admitted.len()];
    for _ in 0..500 {
        let map = drive.step();
        for grant in crate::drive::grants(&map) {
            let n = admitted
                .iter()
                .position(|&sid| Sid(sid) == grant.sid)
                .unwrap();
            let due = t0[n] + given[n] * 20 * MS;
            let start = drive.profile.clock.start(grant.first);
            assert!((due..=due + 2 * MS).contains(&start));
            given[n] += 1;
        }
    }
    assert!(given.iter().all(|&n| n >= 22));
    assert_eq!(drive.statistics().missed, 0);
}
