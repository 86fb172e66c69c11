// SPDX-License-Identifier: Apache-2.0
//! Every request that was heard ends in a grant, and until then in a mark, or before Ack Time.

use std::collections::{BTreeMap, VecDeque};

use mac_wire::{Amount, Map, Minislot, Profile, Sid};

use crate::drive::{Drive, best_effort, grants, grants_to};

/// What a modem knows of its requests: when each was sent, and bytes that are not granted.
#[derive(Default)]
struct Modem {
    requests: VecDeque<(Minislot, u64)>,
}

impl Modem {
    /// Takes a MAP's grants off; false if a request is lost that the scheduler heard.
    fn read(&mut self, map: &Map, sid: u16, mut carried: u64) -> bool {
        while let Some(first) = self.requests.front_mut() {
            let taken = first.1.min(carried);
            first.1 -= taken;
            carried -= taken;
            if first.1 > 0 {
                break;
            }
            self.requests.pop_front();
        }
        let marked = map.pending.contains(&Sid(sid));
        marked || self.requests.iter().all(|request| request.0 >= map.ack)
    }
}

/// `flows` modems ask for `bytes` again and again, `ahead` requests at a time.
fn greedy(profile: Profile, flows: u16, bytes: u64, ahead: u16) -> Drive {
    let mut drive = Drive::new(profile);
    let header = u64::from(drive.profile.segment_header);
    let mut modems: BTreeMap<u16, Modem> = BTreeMap::new();
    let first = drive.step().start;
    for sid in 1..=flows {
        drive.admit(best_effort(sid));
        for request in 0..ahead {
            let sent = Minislot(first.0 + u64::from(request));
            drive.request(sid, Amount::Bytes(bytes), sent);
            let modem = modems.entry(sid).or_default();
            modem.requests.push_back((sent, bytes));
        }
    }
    for _ in 0..300 {
        let map = drive.step();
        for (&sid, modem) in &mut modems {
            let own = grants_to(&map, sid);
            let carried = own.iter().map(|grant| drive.bytes(grant) - header).sum();
            assert!(modem.read(&map, sid, carried), "SID {sid} is not marked");
        }
        for grant in grants(&map) {
            let sid = grant.sid.0;
            let used = drive.bytes(&grant);
            let modem = modems.get_mut(&sid).unwrap();
            let asks = modem.requests.len() < usize::from(ahead);
            if asks {
                modem.requests.push_back((grant.first, bytes));
            }
            drive.burst(grant, used, asks.then_some(Amount::Bytes(bytes)), false);
        }
    }
    assert_eq!(drive.statistics().marks_without_room, 0);
    drive
}

#[test]
fn all_that_waits_is_marked_in_every_map() {
    let drive = greedy(Profile::docsis_3_0(), 60, 3000, 1);
    assert_eq!(drive.statistics().acks_held_back, 0);
    greedy(Profile::docsis_3_0(), 60, 1000, 4);
}

/// 500 flows wait, and a MAP has 240 information elements: Ack Time stays at those without a mark,
/// and does not stay for ever.
#[test]
fn ack_time_waits_for_marks_that_find_no_room() {
    for (profile, bytes, ahead) in [
        (Profile::docsis_3_0(), 3000, 1),
        (Profile::docsis_3_0(), 600, 4),
        (Profile::docsis_3_1(7), 6000, 2),
    ] {
        let drive = greedy(profile, 500, bytes, ahead);
        assert!(drive.statistics().acks_held_back > 0);
        let last = drive.maps.last().unwrap();
        let per_map = u64::from(drive.profile.map_minislots);
        let behind = last.start.0 - last.ack.0;
        // All of them are served once in 500 * bytes; twice that, and a few MAPs.
        let round = 500 * u64::from(drive.profile.phy.minislots(bytes * u64::from(ahead)));
        assert!(behind < 2 * round + 10 * per_map, "{behind} minislots");
        let requests =
            |drive: &Drive, sid| drive.scheduler.flow_statistics(Sid(sid)).unwrap().requests;
        assert!((1..=500).all(|sid| requests(&drive, sid) > u64::from(ahead)));
    }
}
