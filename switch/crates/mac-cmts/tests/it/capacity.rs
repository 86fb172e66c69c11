// SPDX-License-Identifier: Apache-2.0
//! RF congestion: what other users leave of a channel changes while it runs.

use mac_wire::{Amount, Capacity, FlowConfig, Minislot, Packing, Periodic, Profile, Service, Sid};
use proptest::prelude::*;

use crate::calls::call;
use crate::drive::{Drive, best_effort, total};
use crate::laws::{flows, profiles};
use crate::world::world;

const MS: u64 = 1_000_000;

fn capacity(rate: u64, variation_percent: u8) -> Option<Capacity> {
    Some(Capacity {
        rate,
        variation_percent,
    })
}

/// Bits of a minislot, overhead included.
fn minislot_bits(profile: &Profile) -> u64 {
    match profile.phy {
        mac_wire::Phy::ScQam { minislot_bits, .. } => minislot_bits.into(),
        mac_wire::Phy::Flat { minislot_bytes, .. } | mac_wire::Phy::Ofdma { minislot_bytes } => {
            8 * u64::from(minislot_bytes)
        }
    }
}

#[test]
fn the_next_map_has_the_new_rate() {
    let mut drive = Drive::new(Profile::named("cablelabs-2014").unwrap());
    drive.admit(best_effort(1));
    drive.request_soon(1, Amount::Bytes(60_000_000));
    drive.step();
    drive.step();
    // 2000 minislots a MAP of 2 ms are 1 Gbit/s.
    for (rate, minislots) in [(100_000_000, 200), (250_000_000, 500), (60_000_000, 120)] {
        drive.scheduler.set_capacity(capacity(rate, 0)).unwrap();
        for _ in 0..3 {
            let granted = total(&drive.step_used(), |e| e.usage.is_data());
            assert_eq!(granted, minislots, "{rate} bit/s");
        }
    }
    drive.scheduler.set_capacity(None).unwrap();
    let granted = total(&drive.step_used(), |e| e.usage.is_data());
    assert_eq!(granted, 1999, "all but contention");
}

/// What each flow of a channel of whole bursts gets in 1000 MAPs of 1 Mbit/s, minislots, while it
/// always asks for one of its length. 1 Mbit/s are 15.6 minislots of a MAP.
fn whole_bursts(lengths: &[u32]) -> Vec<u64> {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap());
    drive
        .scheduler
        .set_capacity(capacity(1_000_000, 0))
        .unwrap();
    for sid in (1..).take(lengths.len()) {
        drive.admit(best_effort(sid));
    }
    let mut granted = vec![0; lengths.len()];
    for number in 0..1020 {
        let map = drive.step();
        let contention = map.elements.iter().find(|e| e.sid == Sid::ALL).unwrap();
        for (place, &minislots) in lengths.iter().enumerate() {
            let sid = place as u16 + 1;
            if !map.pending.contains(&Sid(sid)) {
                let sent = Minislot(contention.first.0 + u64::from(sid));
                drive.request(sid, Amount::Minislots(minislots), sent);
            }
            // A steady load of more than the channel has.
            if number >= 20 {
                granted[place] += total(&map, |e| e.usage.is_data() && e.sid == Sid(sid));
            }
        }
    }
    let maps = &drive.maps[20..];
    let bits = 128 * granted.iter().sum::<u64>();
    let described = maps[999].end.0 - maps[0].start.0;
    let earned = described * 25_000 / 1000;
    // What was saved at first is a burst of 255 minislots at the most.
    assert!(bits <= earned + 255 * 128, "{bits} of {earned}");
    assert!(bits >= earned * 95 / 100, "{bits} of {earned}");
    assert_eq!(drive.statistics().requests_impossible, 0);
    granted
}

/// A frame takes 96 minislots that must not be cut, and two in a concatenation 192.
#[test]
fn a_whole_burst_goes_when_enough_was_left_for_it() {
    whole_bursts(&[96]);
    // Each waits for nine others, for more than 64 MAPs.
    let granted = whole_bursts(&[192; 10]);
    let each = granted.iter().sum::<u64>() / 10;
    assert!(
        granted.iter().all(|one| one.abs_diff(each) <= 192),
        "{granted:?}"
    );
}

/// Short bursts do not take what a long one waits for.
#[test]
fn what_is_left_is_saved_for_the_burst_whose_turn_it_is() {
    let granted = whole_bursts(&[20, 20, 20, 20, 192]);
    assert!(granted.iter().all(|&one| one > 500), "{granted:?}");
}

/// A call of 16 minislots in each MAP leaves no room for a frame, however much it stretches, and
/// whatever is left by others.
#[test]
fn a_burst_for_which_no_map_has_room_is_given_up() {
    for capacity in [None, capacity(2_000_000, 0)] {
        let mut drive = Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap());
        drive.admit(FlowConfig {
            service: Service::Unsolicited {
                grants: Periodic {
                    interval: 2 * MS,
                    jitter: 0,
                },
                size: 218,
                per_interval: 1,
            },
            ..call(1, 0)
        });
        drive.scheduler.set_capacity(capacity).unwrap();
        drive.admit(best_effort(2));
        drive.request_soon(2, Amount::Minislots(96));
        for _ in 0..2000 {
            drive.step_used();
        }
        assert_eq!(drive.statistics().requests_impossible, 1, "{capacity:?}");
        assert!(!drive.maps.last().unwrap().pending.contains(&Sid(2)));
    }
}

#[test]
fn a_capacity_below_what_was_promised_is_refused() {
    let mut drive = Drive::new(Profile::docsis_1_1_004(2 * MS).unwrap());
    // 16 minislots every 20 ms: 2% of the channel, 102.4 kbit/s.
    drive.admit(call(1, MS));
    let refusal = drive
        .scheduler
        .set_capacity(capacity(100_000, 0))
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "a capacity of 100000 bit/s, varied by 0%, is less than what unsolicited grants and polls take, \
         102400 bit/s; leave more, or remove service flows"
    );
    drive.scheduler.set_capacity(capacity(150_000, 0)).unwrap();
    assert!(drive.scheduler.set_capacity(capacity(0, 0)).is_err());
    assert!(
        drive
            .scheduler
            .set_capacity(capacity(1_000_000, 101))
            .is_err()
    );
    // And a call more than what is left is refused, too.
    assert!(drive.scheduler.admit(0, call(2, MS)).is_err());
    drive.scheduler.set_capacity(None).unwrap();
    drive.admit(call(2, MS));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// In whichever run of MAPs, the channel grants no more than its capacity, what was saved for a
    /// burst that must be whole, and the unsolicited grants of one MAP.
    #[test]
    fn a_channel_never_sends_more_than_its_capacity(
        profile in profiles(),
        flows in flows(),
        bytes in prop::collection::vec(any::<u8>(), 16..64),
        traffic in 0_u64..256,
        capacities in prop::collection::vec((300_000_u64..60_000_000, 0_u8..=40, 1_usize..30), 1..6),
    ) {
        let (bits, usual) = (minislot_bits(&profile), u64::from(profile.map_minislots));
        let keep = match profile.packing {
            Packing::Continuous => bits,
            _ => 255 * bits,
        };
        let map_ns = profile.map_length();
        let mut world = world(profile, &flows, bytes);
        if world.flows.is_empty() {
            return Ok(());
        }
        let unsolicited: Vec<Sid> = (world.flows.iter())
            .filter(|flow| !matches!(
                flow.service,
                Service::BestEffort | Service::NonRealTimePolling(_) | Service::RealTimePolling(_)
            ))
            .map(|flow| flow.sid)
            .collect();
        let mut per_map = None;
        let mut maps = Vec::new();
        for (rate, variation, count) in capacities {
            if world.drive.scheduler.set_capacity(capacity(rate, variation)).is_ok() {
                let mean = u128::from(rate) * u128::from(map_ns) / 1_000_000_000;
                per_map = Some(mean as u64 * u64::from(100 + variation) / 100 + 1);
            }
            for _ in 0..count {
                world.step(traffic);
                let Some(per_map) = per_map else {
                    continue;
                };
                let map = world.drive.maps.last().unwrap();
                let more = per_map * (map.end.0 - map.start.0 - usual) / usual + 1;
                let granted = bits * total(map, |e| e.usage.is_data());
                let due = |sid| unsolicited.contains(&sid);
                let due = bits * total(map, |e| e.usage.is_data() && due(e.sid));
                maps.push((granted, per_map, more, due));
            }
        }
        for from in 0..maps.len() {
            let mut earned = from.checked_sub(1).map_or(0, |before| maps[before].2);
            let (mut granted, mut most) = (0, 0);
            for &(bits, per_map, more, due) in &maps[from..] {
                granted += bits;
                earned += per_map;
                most = most.max(due);
                prop_assert!(granted <= earned + keep + most, "{granted} of {earned}");
                earned += more;
            }
        }
        world.check_windows();
    }
}
