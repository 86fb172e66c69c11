// SPDX-License-Identifier: Apache-2.0
//! The model of paper 000's authors asks in every MAP: "a packet waits for the next MAP, its request is
//! granted two MAPs later" (mac.md, K1), whatever grants are still to come.

use mac_wire::{FlowConfig, Profile, Sid};

use crate::agreement::SEEDS;
use crate::plant::{Random, with_flows};

const MAP: u64 = 2_000_000;
const FULL: u32 = 1518;

/// When frames came and when they arrived, of one modem to which they come at those times.
fn arrivals(profile: &Profile, times: &[u64], seed: u64) -> Vec<(u64, u64)> {
    let flow = FlowConfig::best_effort(Sid(1));
    let (mut channel, mut plant) = with_flows(profile, [flow].into_iter(), seed);
    for &at in times {
        while channel.next_deadline() < at {
            channel.step(channel.next_deadline(), &mut plant, &mut ());
        }
        plant.lengths(Sid(1)).push(at, FULL);
        channel.wake(at, Sid(1), &mut plant);
    }
    while plant.delivered.len() < times.len() {
        channel.step(channel.next_deadline(), &mut plant, &mut ());
    }
    plant
        .delivered
        .iter()
        .map(|&(at, _, packet)| (packet.born, at))
        .collect()
}

#[test]
fn a_grant_that_is_to_come_keeps_nobody_from_asking_in_the_next_map() {
    let profile = Profile::named("cablelabs-2014").unwrap();
    for seed in 0..SEEDS {
        // The first is asked for in MAP 1 and granted in 3, as MAP 3 says when MAP 2 begins. The second
        // comes in MAP 1, is asked for in 2, and granted in 4.
        let found = arrivals(&profile, &[MAP / 2, MAP * 3 / 2], seed);
        let maps: Vec<u64> = found.iter().map(|(_, at)| (at - 1) / MAP).collect();
        assert_eq!(maps, [3, 4], "seed {seed}");
    }
}

#[test]
fn every_frame_is_granted_at_the_latest_two_maps_after_the_next() {
    let profile = Profile::named("cablelabs-2014").unwrap();
    for mbps in [5, 20, 100] {
        // Exponential gaps, of which a MAP's capacity takes any burst.
        let mut random = Random::new(mbps);
        let mean = f64::from(FULL) * 8e3 / mbps as f64;
        let mut now = 0.0;
        let times: Vec<u64> = (0..3000)
            .map(|_| {
                let uniform = (random.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
                now -= mean * f64::ln(uniform);
                now as u64
            })
            .collect();
        let found = arrivals(&profile, &times, mbps);
        let late = found
            .iter()
            .filter(|(came, at)| (at - 1) / MAP > came / MAP + 3)
            .count();
        assert_eq!(late, 0, "{mbps} Mbit/s");
    }
}
