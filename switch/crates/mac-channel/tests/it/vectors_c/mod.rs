// SPDX-License-Identifier: Apache-2.0
//! mac.md's vector C: collisions. The rule is in `agreement`; mac.md's own error is 0.003, and half of
//! the last digit where that is more.
//!
//! The channel is paper 004's: 12 opportunities at the head of a MAP of 2 ms, windows of 8 to 128, 16
//! tries. Requests are for frames of five minislots, one each, so that even 12 of them are granted in
//! one MAP, and nothing but collisions delays anybody. When a MAP is made, and when a grant is
//! prepared, sets the lag: a station that is told of a grant takes its frame from the queue before
//! the next region of its lag, and the next frame asks in that region.

mod poisson;

use mac_channel::Channel;
use mac_wire::{FlowConfig, Policy, Profile, Sid, Timing};

use crate::agreement::{SEEDS, agrees};
use crate::plant::{Packet, Plant, Random, with_flows};

const LENGTH: u32 = 64;
const MAP: u64 = 2_000_000;
/// 12 opportunities of 25 us.
const REGION: u64 = 300_000;
/// Half of the last of two digits, and mac.md's own error.
const DIGIT: f64 = 0.005;
const OWN: f64 = 0.003;

/// The outcome of a request is known in the next MAP: that is made when the region is over.
fn lag_1() -> Profile {
    let paper_004 = Profile::docsis_1_1_004(MAP).unwrap();
    Profile {
        timing: Timing {
            map_ahead: MAP - REGION,
            ack_before_start: MAP - REGION,
            burst_preparation: MAP - REGION,
            map_with_previous: false,
            ..paper_004.timing
        },
        ..paper_004
    }
}

/// It is known in the MAP after that: MAPs are made when the one before begins, as in the paper, and
/// are at the modems when that one's region is over.
fn lag_2() -> Profile {
    let paper_004 = Profile::docsis_1_1_004(MAP).unwrap();
    Profile {
        timing: Timing {
            map_to_modem: REGION,
            burst_preparation: MAP - REGION,
            ..paper_004.timing
        },
        ..paper_004
    }
}

fn stations(profile: &Profile, count: u16, eighths: u8, seed: u64) -> (Channel<Packet>, Plant) {
    let flows = (1..=count).map(|sid| FlowConfig {
        policy: Policy(Policy::CONCATENATION),
        backoff_eighths: eighths,
        ..FlowConfig::best_effort(Sid(sid))
    });
    with_flows(profile, flows, seed)
}

/// A nanosecond before MAP `number` begins.
fn before_map(profile: &Profile, number: u64) -> u64 {
    profile.timing.map_ahead + number * MAP - 1
}

fn batches(count: u16, eighths: u8) -> Vec<f64> {
    const BATCHES: u64 = 40;
    let profile = lag_1();
    (0..SEEDS)
        .map(|seed| {
            let mut collided = 0;
            for batch in 0..BATCHES {
                let (mut channel, mut plant) =
                    stations(&profile, count, eighths, seed * BATCHES + batch);
                let at = before_map(&profile, 2);
                channel.step(at, &mut plant, &mut ());
                for sid in 1..=count {
                    plant.lengths(Sid(sid)).push(at, LENGTH);
                    channel.wake(at, Sid(sid), &mut plant);
                }
                channel.step(at + 13 * 25_000, &mut plant, &mut ());
                assert_eq!(channel.statistics().requests, u64::from(count));
                collided += channel.statistics().requests_collided;
            }
            collided as f64 / (u64::from(count) * BATCHES) as f64
        })
        .collect()
}

#[test]
fn a_batch_that_draws_from_8() {
    for (count, share) in [(2, 0.125), (5, 0.414), (10, 0.699), (20, 0.921)] {
        agrees(&format!("{count} of 8"), &batches(count, 8), share, 0.0005);
    }
}

#[test]
fn a_batch_that_draws_from_12() {
    // 12 eighths of 8.
    for (count, share) in [(2, 0.083), (10, 0.543), (20, 0.809), (50, 0.986)] {
        agrees(
            &format!("{count} of 12"),
            &batches(count, 12),
            share,
            0.0005,
        );
    }
}

struct Greedy {
    collided: Vec<f64>,
    successes: Vec<f64>,
    dropped: Vec<f64>,
}

/// Stations that always have a next frame. They begin over 70 MAPs, about as long as 16 tries take,
/// and are looked at after `warm` MAPs.
fn greedy(profile: &Profile, count: u16, warm: u64) -> Greedy {
    const SPREAD: u64 = 70;
    let measured = if count > 100 { 100 } else { 200 };
    let mut result = Greedy {
        collided: Vec::new(),
        successes: Vec::new(),
        dropped: Vec::new(),
    };
    for seed in 0..SEEDS {
        let (mut channel, mut plant) = stations(profile, count, 8, seed);
        let mut random = Random::new(seed);
        let mut starts: Vec<(u64, u16)> =
            (1..=count).map(|sid| (random.below(SPREAD), sid)).collect();
        starts.sort_unstable();
        for (map, sid) in starts {
            let at = before_map(profile, map + 1);
            channel.step(at, &mut plant, &mut ());
            let queue = plant.lengths(Sid(sid));
            queue.endless = Some(LENGTH);
            queue.push(at, LENGTH);
            channel.wake(at, Sid(sid), &mut plant);
        }
        let mut counts = |map: u64| {
            channel.step(before_map(profile, map), &mut plant, &mut ());
            let dropped: u64 = (1..=count)
                .map(|sid| plant.lengths(Sid(sid)).given_up)
                .sum();
            let statistics = channel.statistics();
            (statistics.requests, statistics.requests_collided, dropped)
        };
        let (from, to) = (counts(warm), counts(warm + measured));
        let (requests, collided) = ((to.0 - from.0) as f64, (to.1 - from.1) as f64);
        let (successes, dropped) = (requests - collided, (to.2 - from.2) as f64);
        result.collided.push(collided / requests);
        result.successes.push(successes / measured as f64);
        result.dropped.push(dropped / (dropped + successes));
    }
    result
}

fn check_greedy(lag: &str, profile: &Profile, count: u16, vector: (f64, f64, f64), drops: f64) {
    // Three times as long as 16 tries take.
    let greedy = greedy(profile, count, 200);
    let what = |which: &str| format!("{count} greedy, lag {lag}, {which}");
    agrees(&what("collided"), &greedy.collided, vector.0, OWN);
    agrees(&what("successes"), &greedy.successes, vector.1, DIGIT);
    agrees(&what("dropped"), &greedy.dropped, vector.2, drops);
}

#[test]
#[expect(clippy::approx_constant, reason = "0.318 is a share, and not 1 / pi")]
fn greedy_stations_of_lag_1() {
    let profile = lag_1();
    check_greedy("1", &profile, 2, (0.121, 1.69, 0.0), OWN);
    check_greedy("1", &profile, 5, (0.318, 2.89, 0.0), OWN);
    check_greedy("1", &profile, 10, (0.470, 3.67, 0.0), OWN);
    check_greedy("1", &profile, 20, (0.604, 4.14, 0.0), OWN);
    check_greedy("1", &profile, 50, (0.765, 4.01, 0.010), OWN);
}

#[test]
fn many_greedy_stations_of_lag_1() {
    let profile = lag_1();
    check_greedy("1", &profile, 100, (0.880, 3.06, 0.12), DIGIT);
    check_greedy("1", &profile, 200, (0.972, 1.23, 0.63), DIGIT);
    check_greedy("1", &profile, 500, (1.000, 0.03, 0.996), OWN);
}

#[test]
fn greedy_stations_of_lag_2() {
    let profile = lag_2();
    check_greedy("2", &profile, 5, (0.187, 1.96, 0.0), OWN);
    check_greedy("2", &profile, 10, (0.344, 2.96, 0.0), OWN);
    check_greedy("2", &profile, 20, (0.511, 3.81, 0.0), OWN);
    check_greedy("2", &profile, 50, (0.707, 4.17, 0.002), OWN);
}

#[test]
fn many_greedy_stations_of_lag_2() {
    let profile = lag_2();
    check_greedy("2", &profile, 100, (0.839, 3.52, 0.055), OWN);
    check_greedy("2", &profile, 200, (0.951, 1.78, 0.45), DIGIT);
    check_greedy("2", &profile, 500, (0.999, 0.08, 0.99), DIGIT);
}

#[test]
fn two_greedy_stations_of_lag_2_settle_in_alternate_maps() {
    // They ask in the same MAPs until they collide, one time in eight, and then draw from 16 on
    // different sides of a MAP's end, three times in eight: that two have not settled after 1000 MAPs
    // is one chance in 10^9.
    let greedy = greedy(&lag_2(), 2, 1000);
    assert!(greedy.collided.iter().all(|&share| share == 0.0));
}
