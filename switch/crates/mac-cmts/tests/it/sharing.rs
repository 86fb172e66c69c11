// SPDX-License-Identifier: Apache-2.0
//! Rates, priorities and turns.

use mac_wire::{Amount, FlowConfig, Minislot, Policy, Profile, Sid};

use crate::drive::{Drive, best_effort, grants, grants_to};

const MS: u64 = 1_000_000;

/// Bytes granted to each flow in some MAPs, all asking for as much as there is.
fn granted(drive: &mut Drive, flows: u16, maps: usize) -> Vec<u64> {
    let mut bytes = vec![0; usize::from(flows) + 1];
    for _ in 0..maps {
        let map = drive.step();
        for grant in grants(&map) {
            bytes[usize::from(grant.sid.0)] += drive.bytes(&grant);
            let all = drive.bytes(&grant);
            drive.burst(grant, all, Some(Amount::Bytes(all)), false);
        }
    }
    bytes.remove(0);
    bytes
}

fn greedy(flows: impl IntoIterator<Item = FlowConfig>) -> Drive {
    let mut drive = Drive::new(Profile::docsis_3_0());
    for flow in flows {
        drive.admit(flow);
        drive.request_soon(flow.sid.0, Amount::Bytes(400_000));
    }
    for _ in 0..4 {
        drive.step_used();
    }
    drive
}

#[test]
fn equals_share_by_bytes() {
    let mut drive = greedy((1..=7).map(best_effort));
    let bytes = granted(&mut drive, 7, 500);
    let mean = bytes.iter().sum::<u64>() / 7;
    assert!(
        bytes.iter().all(|b| b.abs_diff(mean) < mean / 50),
        "{bytes:?}"
    );
}

/// Bursts granted to each flow in some MAPs, where bursts are whole and each flow always asks for one
/// of its length.
fn bursts(lengths: &[u32], maps: usize) -> Vec<u64> {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap());
    let start = drive.step().start;
    for (sid, &minislots) in (1..).zip(lengths) {
        drive.admit(best_effort(sid));
        let sent = Minislot(start.0 + u64::from(sid));
        drive.request(sid, Amount::Minislots(minislots), sent);
    }
    let mut bursts = vec![0; lengths.len()];
    for _ in 0..maps {
        let map = drive.step();
        for grant in grants(&map) {
            let place = usize::from(grant.sid.0) - 1;
            assert_eq!(grant.minislots, lengths[place]);
            bursts[place] += 1;
            let all = drive.bytes(&grant);
            let again = Some(Amount::Minislots(lengths[place]));
            drive.burst(grant, all, again, false);
        }
    }
    bursts
}

/// Two flows leave most of the channel empty: nobody waits for the other.
#[test]
fn a_short_and_a_long_burst_are_granted_in_each_cycle() {
    let bursts = bursts(&[20, 60], 2000);
    assert!(bursts.iter().all(|&count| count > 600), "{bursts:?}");
}

/// On a full channel they take turns, a burst each, among those that fit a MAP and among those that one
/// has to stretch for: who asks for more has more.
#[test]
fn short_and_long_bursts_take_turns_where_bursts_are_whole() {
    for lengths in [[20, 20, 20, 60, 60, 60], [97, 97, 97, 194, 194, 194]] {
        let bursts = bursts(&lengths, 2000);
        let mean = bursts.iter().sum::<u64>() / 6;
        assert!(
            mean > 100 && bursts.iter().all(|count| count.abs_diff(mean) <= 1),
            "{bursts:?}"
        );
    }
}

#[test]
fn priority_orders_and_starves_nobody() {
    let high = FlowConfig {
        priority: 7,
        ..best_effort(1)
    };
    let mut drive = greedy([high, best_effort(2), best_effort(3)]);
    let bytes = granted(&mut drive, 3, 5000);
    for low in &bytes[1..] {
        assert!(*low > 0 && *low * 50 < bytes[0], "{bytes:?}");
    }
}

/// The same where bursts are whole: those of high priority would fill the channel.
#[test]
fn priority_starves_nobody_whose_bursts_are_whole() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap());
    let amount = Amount::Minislots(60);
    let start = drive.step().start;
    for sid in 1..=6 {
        drive.admit(FlowConfig {
            priority: if sid <= 4 { 7 } else { 0 },
            ..best_effort(sid)
        });
        drive.request(sid, amount, Minislot(start.0 + u64::from(sid)));
    }
    let mut count = [0; 7];
    for _ in 0..5000 {
        let map = drive.step();
        for grant in grants(&map) {
            count[usize::from(grant.sid.0)] += 1;
            let all = drive.bytes(&grant);
            drive.burst(grant, all, Some(amount), false);
        }
    }
    assert!(count[5] > 2 && count[6] > 2, "{count:?}");
    assert!(
        count[5] * 50 < count[1] && count[6] * 50 < count[4],
        "{count:?}"
    );
}

#[test]
fn priority_does_not_override_rates() {
    let high = FlowConfig {
        priority: 7,
        max_sustained_rate: 4_000_000,
        ..best_effort(1)
    };
    let reserved = FlowConfig {
        min_reserved_rate: 3_000_000,
        ..best_effort(2)
    };
    let above = FlowConfig {
        priority: 5,
        ..best_effort(3)
    };
    let mut drive = greedy([high, reserved, above]);
    let bytes = granted(&mut drive, 3, 1000);
    // Two seconds, and 5% of headers. A grant a MAP is rounded up to minislots of 48 bytes.
    let least = |rate: u64| rate / 8 * 2 * 104 / 100;
    let most = |rate: u64| rate / 8 * 2 * 105 / 100 + 1000 * 48 + 3044;
    assert!(
        (least(4_000_000)..most(4_000_000)).contains(&bytes[0]),
        "{bytes:?}"
    );
    assert!(
        (least(3_000_000)..most(3_000_000)).contains(&bytes[1]),
        "{bytes:?}"
    );
    assert!(bytes[2] > bytes[0] + bytes[1]);
}

#[test]
fn reserved_rates_beyond_the_channel_are_refused() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    let reserved = |sid| FlowConfig {
        min_reserved_rate: 10_000_000,
        ..best_effort(sid)
    };
    drive.admit(reserved(1));
    drive.admit(reserved(2));
    let refusal = drive.scheduler.admit(0, reserved(3)).unwrap_err();
    assert!(
        refusal
            .0
            .contains("118% of the channel with SID 3, and 85%"),
        "{refusal}"
    );
    // A known flow's own rate does not count twice.
    drive.admit(reserved(2));
}

/// A request counts whole minislots, which may be more than the Maximum Concatenated Burst: the
/// buckets are as deep as that, whatever the length.
#[test]
fn the_longest_concatenated_burst_that_a_flow_may_ask_for_passes_its_buckets() {
    let profile = Profile::docsis_1_1_004(2 * MS).unwrap();
    for fragmentation in [false, true] {
        for most in 1530..=4070 {
            let mut drive = Drive::new(Profile {
                fragmentation,
                ..profile.clone()
            });
            drive.admit(FlowConfig {
                max_sustained_rate: 4_000_000,
                max_burst: 1522,
                peak_rate: 5_000_000,
                max_concatenated_burst: most,
                policy: Policy(Policy::FRAGMENTATION),
                ..best_effort(1)
            });
            let minislots = profile.phy.minislots(most.into());
            drive.request_soon(1, Amount::Minislots(minislots));
            // The peak bucket begins empty, and has a burst after 6 ms.
            let granted = (0..8).any(|_| !grants_to(&drive.step(), 1).is_empty());
            assert!(granted, "{minislots} minislots for {most} bytes");
        }
    }
}

/// With a shorter Maximum Concatenated Burst the buckets are shallower: a longer burst that was asked for
/// before would never pass them.
#[test]
fn a_burst_that_is_longer_than_a_flow_may_have_from_now_on_is_forgotten() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap());
    let mut flow = FlowConfig {
        max_sustained_rate: 4_000_000,
        max_burst: 1522,
        peak_rate: 5_000_000,
        max_concatenated_burst: 3044,
        ..best_effort(1)
    };
    drive.admit(flow);
    drive.request_soon(1, Amount::Minislots(191));
    assert!(drive.step().pending.is_empty());
    assert_eq!(drive.step().pending, [Sid(1)]);
    flow.max_concatenated_burst = 1600;
    drive.admit(flow);
    assert!(drive.step().pending.is_empty());
    drive.request_soon(1, Amount::Minislots(96));
    assert!((0..8).any(|_| !grants_to(&drive.step(), 1).is_empty()));
}

/// What stays empty returns to the sustained bucket, and not to the peak bucket.
#[test]
fn unused_bytes_return_to_the_sustained_bucket() {
    let flow = |peak_rate| FlowConfig {
        max_sustained_rate: 100_000,
        max_burst: 4000,
        peak_rate,
        ..best_effort(1)
    };
    for (peak_rate, again) in [(0, true), (100_000, false)] {
        let mut drive = Drive::new(Profile::docsis_3_0());
        drive.admit(flow(peak_rate));
        // The peak bucket fills first, with 2 ms, or with the least part.
        for _ in 0..200 {
            drive.step();
        }
        let mut most = 0;
        for _ in 0..20 {
            drive.request_soon(1, Amount::Bytes(3000));
            for _ in 0..2 {
                let map = drive.step();
                for grant in grants_to(&map, 1) {
                    most += drive.bytes(&grant);
                    drive.burst(grant, 0, None, false);
                }
            }
        }
        // 60 MAPs of 2 ms at 105 kbit/s are 1575 bytes.
        assert_eq!(most > 20_000, again, "{most}");
    }
}

/// The rate counts frames: what bursts have of headers returns to its bucket.
#[test]
fn headers_return_to_the_sustained_bucket() {
    for (eighths, most) in [(0, 1_050_000), (2, 1_400_000)] {
        let mut drive = Drive::new(Profile::docsis_3_0());
        drive.admit(FlowConfig {
            max_sustained_rate: 1_000_000,
            max_burst: 4000,
            ..best_effort(1)
        });
        drive.request_soon(1, Amount::Bytes(1_000_000));
        let mut bytes = 0;
        for _ in 0..1000 {
            let map = drive.step();
            for grant in grants_to(&map, 1) {
                let used = drive.bytes(&grant);
                bytes += used;
                drive.burst_with_headers(grant, (used, used * eighths / 8), None, false);
            }
        }
        // Two seconds. A grant a MAP is rounded up, by half a minislot of 48 bytes in the mean.
        let rate = bytes * 8 / 2;
        assert!(
            (most * 98 / 100..most * 115 / 100).contains(&rate),
            "{rate} of {most} bit/s"
        );
    }
}
