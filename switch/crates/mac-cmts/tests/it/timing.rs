// SPDX-License-Identifier: Apache-2.0
//! When grants come, on the channels of mac.md's vectors.

use mac_wire::{Amount, Asking, Minislot, Profile, Sid};

use crate::drive::{Drive, best_effort, grants_to, total};

/// mac.md, vector A: a request in interval j is granted in j + 2, right after its contention region,
/// and the MAP lasts max(T, 2.775 ms).
#[test]
fn paper_004_grants_in_the_second_interval_behind_and_stretches() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2_000_000).unwrap());
    drive.admit(best_effort(1));
    let first = drive.step();
    assert_eq!(first.start, Minislot(80));
    // In the last of its twelve opportunities.
    drive.request(1, Amount::Minislots(96), Minislot(91));
    assert!(grants_to(&drive.step(), 1).is_empty());
    let map = drive.step();
    assert_eq!((map.start, map.end), (Minislot(240), Minislot(240 + 111)));
    let grant = grants_to(&map, 1)[0];
    assert_eq!((grant.first, grant.minislots), (Minislot(252), 96));
    assert_eq!(map.ack, Minislot(160));
    // The next MAP is as long as ever, and made when this one starts.
    assert_eq!(drive.scheduler.next_map_at(), 240 * 25_000);
    let next = drive.step();
    assert_eq!((next.start, next.end), (Minislot(351), Minislot(431)));
    assert_eq!(drive.statistics().maps_stretched, 1);
}

#[test]
fn a_short_burst_does_not_stretch_a_map() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2_000_000).unwrap());
    drive.admit(best_effort(1));
    drive.step();
    drive.request(1, Amount::Minislots(5), Minislot(80));
    drive.step();
    let map = drive.step();
    assert_eq!(map.end.0 - map.start.0, 80);
    assert_eq!(grants_to(&map, 1)[0].first, Minislot(252));
}

#[test]
fn what_does_not_fit_is_pending_until_it_is_granted() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2_000_000).unwrap());
    for sid in 1..=3 {
        drive.admit(best_effort(sid));
    }
    drive.step();
    for sid in 1..=3 {
        drive.request(sid, Amount::Minislots(96), Minislot(80 + u64::from(sid)));
    }
    drive.step();
    for round in 1..=3_u16 {
        let map = drive.step();
        let granted: Vec<u16> = (1..=3)
            .filter(|&s| !grants_to(&map, s).is_empty())
            .collect();
        assert_eq!(granted, [round]);
        let pending: Vec<Sid> = (round + 1..=3).map(Sid).collect();
        assert_eq!(map.pending, pending);
    }
}

/// Where frames may be cut, a MAP grants what it has, and the rest stays pending: 65 of 96 minislots
/// carry 1030 bytes, 16 of them a fragment's, so 512 are left, and 16.
#[test]
fn a_burst_is_cut_where_fragmentation_is_on() {
    let mut drive = Drive::new(Profile {
        fragmentation: true,
        stretch: false,
        ..Profile::docsis_1_1_004(2_000_000).unwrap()
    });
    drive.admit(best_effort(1));
    drive.step();
    drive.request(1, Amount::Minislots(96), Minislot(80));
    drive.step();
    let map = drive.step();
    assert_eq!(grants_to(&map, 1)[0].minislots, 65);
    assert_eq!(map.pending, [Sid(1)]);
    let map = drive.step();
    let rest = drive.profile.phy.minislots(1526 - (1030 - 16) + 16);
    assert_eq!(grants_to(&map, 1)[0].minislots, rest);
    assert!(map.pending.is_empty());
}

/// mac.md, vector B: MAPs are made 1110 us ahead; a request that is known then is granted.
#[test]
fn docsis_3_1_grants_what_is_known_when_a_map_is_made() {
    let mut drive = Drive::new(Profile::docsis_3_1(15));
    drive.admit(best_effort(1));
    let map = drive.step();
    let made = drive.now;
    assert_eq!(drive.profile.clock.start(map.start) - made, 1_110_000);
    // Frame 3 of an interval makes the next MAP, frame 4 the one after.
    for (frame, later) in [(3, 1), (4, 2)] {
        let start = drive.step().start;
        drive.request(1, Amount::Bytes(1528), Minislot(start.0 + frame * 235));
        for map in 1..=2 {
            let grants = grants_to(&drive.step(), 1);
            assert_eq!(grants.len(), usize::from(map == later), "frame {frame}");
            assert!(grants.iter().all(|grant| grant.minislots == 32));
        }
        drive.step();
    }
}

/// A lone grant is as likely in any frame of a MAP: a fifteenth each, within four standard errors.
#[test]
fn docsis_3_1_grants_at_a_random_minislot() {
    let mut drive = Drive::new(Profile::docsis_3_1(15));
    drive.admit(best_effort(1));
    let mut frames = [0_u32; 15];
    for _ in 0..3000 {
        drive.request_soon(1, Amount::Bytes(1528));
        for _ in 0..2 {
            let map = drive.step();
            for grant in grants_to(&map, 1) {
                frames[((grant.first.0 - map.start.0) / 235) as usize] += 1;
            }
        }
    }
    let all: u32 = frames.iter().sum();
    assert_eq!(all, 3000);
    let (mean, error) = (200, 14);
    assert!(
        frames.iter().all(|&n| n.abs_diff(mean) < 4 * error),
        "{frames:?}"
    );
}

#[test]
fn contention_moves_from_frame_to_frame_where_the_profile_says_so() {
    let mut drive = Drive::new(Profile::docsis_3_1(15));
    let mut frames = [0_u32; 15];
    for _ in 0..1500 {
        let map = drive.step();
        let contention = map.elements[0];
        assert_eq!((contention.sid, map.elements.len()), (Sid::ALL, 1));
        frames[((contention.first.0 - map.start.0) / 235) as usize] += 1;
    }
    assert!(frames.iter().all(|&n| n.abs_diff(100) < 40), "{frames:?}");
}

#[test]
fn the_rest_of_a_map_is_contention_where_the_profile_says_so() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    let map = drive.step();
    assert_eq!(total(&map, |e| e.sid == Sid::ALL), 160);
    assert_eq!(drive.statistics().opportunities, 80);
}

#[test]
fn a_stream_is_cut_where_the_map_ends() {
    let mut drive = Drive::new(Profile::docsis_3_0());
    drive.admit(best_effort(1));
    drive.request_soon(1, Amount::Bytes(20_000));
    let mut carried = 0;
    for _ in 0..10 {
        let map = drive.step();
        for grant in grants_to(&map, 1) {
            carried += drive.bytes(&grant) - 8;
        }
        assert_eq!(map.pending.is_empty(), carried == 0 || carried >= 20_000);
    }
    let spare = drive.profile.phy.bytes(4);
    assert!((20_000..20_000 + spare).contains(&carried), "{carried}");
}

/// The capacity's draw bounds what a MAP grants: here a tenth, varied by 20%.
#[test]
fn other_users_leave_what_the_capacity_says() {
    let mut drive = Drive::new(Profile::named("cablelabs-2014").unwrap());
    let per_map = u64::from(drive.profile.map_minislots);
    let capacity = mac_wire::Capacity {
        rate: 100_000_000,
        variation_percent: 20,
    };
    assert_eq!(drive.profile.asking, Asking::QueueDepth);
    drive.scheduler.set_capacity(Some(capacity)).unwrap();
    drive.admit(best_effort(1));
    drive.request_soon(1, Amount::Bytes(60_000_000));
    drive.step();
    drive.step();
    let (mut least, mut most, mut sum) = (u64::MAX, 0, 0);
    for _ in 0..1000 {
        let granted = total(&drive.step_used(), |e| e.usage.is_data());
        (least, most, sum) = (least.min(granted), most.max(granted), sum + granted);
    }
    let tenth = per_map / 10;
    assert!(
        least >= tenth * 8 / 10 && least < tenth * 82 / 100,
        "{least}"
    );
    assert!(
        most <= tenth * 12 / 10 && most > tenth * 118 / 100,
        "{most}"
    );
    // The mean of 1000 uniform draws: four standard errors are 1.5% of it.
    assert!(
        sum.abs_diff(1000 * tenth) < 1000 * tenth * 15 / 1000,
        "{sum}"
    );
}

/// Paper 004's channel with frames that may be cut, and flows that forbid it.
fn cutting(map_ms: u64, stretch: bool) -> (Drive, mac_wire::FlowConfig) {
    let profile = Profile {
        fragmentation: true,
        stretch,
        ..Profile::docsis_1_1_004(map_ms * 1_000_000).unwrap()
    };
    let rigid = mac_wire::FlowConfig {
        policy: mac_wire::Policy(mac_wire::Policy::FRAGMENTATION),
        ..best_effort(1)
    };
    (Drive::new(profile), rigid)
}

/// A burst that must not be cut goes whole among those that are: the MAP stretches for it.
#[test]
fn a_map_stretches_for_a_burst_that_must_not_be_cut() {
    let (mut drive, rigid) = cutting(2, true);
    drive.admit(rigid);
    for sid in 2..=4 {
        drive.admit(best_effort(sid));
    }
    for _ in 0..20 {
        drive.request_soon(1, Amount::Minislots(96));
        for sid in 2..=4 {
            drive.request_soon(sid, Amount::Minislots(50));
        }
    }
    let granted: Vec<u32> = (drive.maps.iter())
        .flat_map(|map| grants_to(map, 1))
        .map(|grant| grant.minislots)
        .collect();
    // All but the last, which may still wait.
    assert!(granted.len() >= 19, "{} of 20", granted.len());
    assert!(granted.iter().all(|&minislots| minislots == 96));
    assert_eq!(drive.statistics().requests_impossible, 0);
}

/// Unsolicited grants leave no hole for the burst in any MAP.
#[test]
fn a_burst_that_fits_no_map_between_unsolicited_grants_is_given_up() {
    let (mut drive, rigid) = cutting(5, false);
    drive.admit(rigid);
    // 90 of 185 minislots of every MAP, so 95 are left.
    let mut half = crate::calls::call(2, 0);
    half.service = mac_wire::Service::Unsolicited {
        grants: mac_wire::Periodic {
            interval: 5_000_000,
            jitter: 0,
        },
        size: 1430,
        per_interval: 1,
    };
    drive.admit(half);
    drive.step();
    drive.request(1, Amount::Minislots(96), Minislot(200));
    for _ in 0..100 {
        let map = drive.step();
        assert!(grants_to(&map, 1).is_empty());
    }
    assert_eq!(drive.statistics().requests_impossible, 1);
    assert!(drive.maps.last().unwrap().pending.is_empty());
    // A shorter one finds a place.
    drive.request_soon(1, Amount::Minislots(50));
    drive.step();
    drive.step();
    assert!(drive.maps.iter().any(|map| !grants_to(map, 1).is_empty()));
}
