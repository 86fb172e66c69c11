// SPDX-License-Identifier: Apache-2.0
//! Minimum Reserved Traffic Rates while contenders come and go.

use mac_wire::{Amount, FlowConfig, Minislot, Profile, Service};

use crate::drive::{Drive, best_effort, grants};

const MS: u64 = 1_000_000;

fn reserved(rate: u64) -> FlowConfig {
    FlowConfig {
        min_reserved_rate: rate,
        ..best_effort(1)
    }
}

/// A flow of the highest priority.
fn urgent(sid: u16) -> FlowConfig {
    FlowConfig {
        priority: 7,
        ..best_effort(sid)
    }
}

/// Bytes that SID 1 gets in each of some times of as many MAPs, while everybody asks again for what
/// was granted.
fn windows(drive: &mut Drive, windows: usize, maps: usize) -> Vec<u64> {
    let mut bytes = vec![0; windows];
    for window in &mut bytes {
        for _ in 0..maps {
            let map = drive.step();
            for grant in grants(&map) {
                let all = drive.bytes(&grant);
                if grant.sid.0 == 1 {
                    *window += all;
                }
                let again = match drive.profile.asking {
                    mac_wire::Asking::OneBurst => Amount::Minislots(grant.minislots),
                    mac_wire::Asking::QueueDepth => Amount::Bytes(all),
                };
                drive.burst(grant, all, Some(again), false);
            }
        }
    }
    bytes
}

/// A flow that had all of the channel has its reserved rate at once when another fills it.
#[test]
fn who_had_more_than_its_reserved_rate_still_has_that_when_others_come() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    drive.admit(reserved(5_000_000));
    drive.request_soon(1, Amount::Bytes(400_000));
    // Two seconds alone, and a MAP is 2 ms.
    let alone = windows(&mut drive, 1, 1000)[0];
    assert!(alone > 4_000_000, "{alone}");
    drive.admit(urgent(2));
    drive.request_soon(2, Amount::Bytes(400_000));
    for (number, bytes) in windows(&mut drive, 20, 50).into_iter().enumerate() {
        // 62,500 bytes in 100 ms, and 5% of headers. What it was last granted of all is in the first.
        let most = if number == 0 { u64::MAX } else { 70_000 };
        assert!((62_000..most).contains(&bytes), "{bytes} in {number}");
    }
}

/// The same where bursts are whole: one may be more than its flow is entitled to, and is owed.
#[test]
fn whole_bursts_beyond_a_reserved_rate_are_not_owed_when_others_come() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap());
    drive.admit(reserved(1_000_000));
    let start = drive.step().start;
    drive.request(1, Amount::Minislots(60), Minislot(start.0 + 1));
    let alone = windows(&mut drive, 1, 1000)[0];
    assert!(alone > 300_000, "{alone}");
    let start = drive.maps.last().unwrap().start;
    for sid in 2..=6 {
        drive.admit(urgent(sid));
        drive.request(
            sid,
            Amount::Minislots(60),
            Minislot(start.0 + u64::from(sid)),
        );
    }
    for (number, bytes) in windows(&mut drive, 10, 100).into_iter().enumerate() {
        // 25,000 bytes in 200 ms, 5% of headers, and a burst more or less.
        let most = if number == 0 { u64::MAX } else { 26_250 + 950 };
        assert!((24_000..most).contains(&bytes), "{bytes} in {number}");
    }
}

/// Grants without a request serve the reserved rate: beside them a flow has no more of it.
#[test]
fn proactive_grants_serve_the_reserved_rate() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    // 2,100 bytes every 4 ms: more than the reserved rate, which covers the requests of neither.
    drive.admit(FlowConfig {
        service: Service::Proactive {
            interval: 4 * MS,
            rate: 4_000_000,
            request_interval: 0,
            activity_detection: false,
        },
        ..reserved(2_000_000)
    });
    drive.admit(urgent(2));
    drive.request_soon(1, Amount::Bytes(400_000));
    drive.request_soon(2, Amount::Bytes(400_000));
    windows(&mut drive, 1, 500);
    let beside = windows(&mut drive, 1, 500)[0];
    assert!((525_000..600_000).contains(&beside), "{beside}");
}
