// SPDX-License-Identifier: Apache-2.0
//! mac.md's vector A: paper 004's clock. The profile as it is named; the rows of a fixed window set
//! its exponents, those of short frames their length. The rule is in `agreement`.

use mac_wire::{Backoff, FlowConfig, Policy, Profile, Sid};

use crate::agreement::{SEEDS, Vector, agrees, distribution};
use crate::plant::{lone_delays, with_flows};

const PACKETS: usize = 250;
/// An Ethernet frame of a packet of 1500 bytes, CRC included.
const FULL: u32 = 1518;
/// The shortest: 70 bytes with its header, five minislots.
const SHORT: u32 = 64;

fn milliseconds(profile: &Profile, length: u32) -> Vec<Vec<f64>> {
    (0..SEEDS)
        .map(|seed| {
            let delays = lone_delays(
                profile,
                FlowConfig::best_effort(Sid(1)),
                length,
                PACKETS,
                seed,
            );
            delays.iter().map(|&delay| delay as f64 / 1e6).collect()
        })
        .collect()
}

fn paper_004(map_ms: u64) -> Profile {
    Profile::docsis_1_1_004(map_ms * 1_000_000).unwrap()
}

fn check(map_ms: u64, mean: f64, sd: f64, range: (f64, f64), quantiles: &'static [(f64, f64)]) {
    let vector = Vector {
        mean,
        sd: Some(sd),
        least: range.0,
        greatest: range.1,
        quantiles,
        digit: 0.0005,
        range_digit: 0.0005,
        quantile_error: 0.0005,
    };
    let samples = milliseconds(&paper_004(map_ms), FULL);
    distribution(
        &format!("a lone frame, MAPs of {map_ms} ms"),
        &samples,
        &vector,
    );
}

#[test]
fn a_lone_frame_at_maps_of_1_ms() {
    let quantiles = &[(0.05, 4.554), (0.5, 5.013), (0.95, 5.471), (0.99, 5.548)];
    check(1, 5.0125, 0.294, (4.425, 5.600), quantiles);
}

#[test]
fn a_lone_frame_at_maps_of_2_ms() {
    let quantiles = &[(0.05, 6.612), (0.5, 7.512), (0.95, 8.412), (0.99, 8.522)];
    check(2, 7.5125, 0.580, (6.425, 8.600), quantiles);
}

#[test]
fn a_lone_frame_at_maps_of_5_ms() {
    let quantiles = &[
        (0.05, 12.763),
        (0.5, 15.013),
        (0.95, 17.263),
        (0.99, 17.471),
    ];
    check(5, 15.0125, 1.444, (12.425, 17.600), quantiles);
}

#[test]
fn a_lone_frame_at_maps_of_10_ms() {
    let quantiles = &[
        (0.05, 23.013),
        (0.5, 27.513),
        (0.95, 32.012),
        (0.99, 32.412),
    ];
    check(10, 27.5125, 2.887, (22.425, 32.600), quantiles);
}

#[test]
fn a_window_of_one_saves_the_mean_of_the_draw() {
    let profile = Profile {
        backoff: Backoff { start: 0, end: 0 },
        ..paper_004(2)
    };
    let vector = Vector {
        mean: 7.425,
        sd: None,
        least: 6.425,
        greatest: 8.425,
        quantiles: &[],
        digit: 0.0005,
        range_digit: 0.0005,
        quantile_error: 0.0,
    };
    distribution("window 1", &milliseconds(&profile, FULL), &vector);
}

#[test]
fn a_short_frame_arrives_91_minislots_earlier() {
    let samples = milliseconds(&paper_004(2), SHORT);
    let means: Vec<f64> = samples
        .iter()
        .map(|delays| delays.iter().sum::<f64>() / delays.len() as f64)
        .collect();
    agrees("5 minislots, mean", &means, 5.2375, 0.00005);
}

#[test]
fn a_lone_frame_of_the_authors_of_paper_000() {
    // The usual (U + 2 + U') MAPs and the transmission, which mac.md has at 004's 2.4 ms and here is
    // 13 minislots of a microsecond. A burst and the request's minislot have to fit into the MAP
    // beside U', so it ends 14 us earlier: the error that this placement has of its own.
    const TRANSMISSION: f64 = 0.013;
    const PLACEMENT: f64 = 0.014;
    let profile = Profile::named("cablelabs-2014").unwrap();
    let shift = TRANSMISSION - 2.4;
    let vector = Vector {
        mean: 8.4 + shift,
        sd: Some(0.816),
        least: 4.0 + TRANSMISSION,
        greatest: 8.0 + TRANSMISSION,
        quantiles: &[
            (0.05, 7.03 - 2.4 + TRANSMISSION),
            (0.95, 9.77 - 2.4 + TRANSMISSION),
        ],
        digit: PLACEMENT,
        range_digit: 0.0005,
        // Two digits.
        quantile_error: PLACEMENT + 0.005,
    };
    distribution("(U + 2 + U')T + tx", &milliseconds(&profile, FULL), &vector);
}

/// Mbit/s of 1500-byte packets of one modem that always has the next.
fn saturated(map_ms: u64, policy: u32, piggyback: bool) -> Vec<f64> {
    let profile = Profile {
        piggyback,
        ..paper_004(map_ms)
    };
    (0..SEEDS)
        .map(|seed| {
            let flow = FlowConfig {
                policy: Policy(policy),
                ..FlowConfig::best_effort(Sid(1))
            };
            let (mut channel, mut plant) = with_flows(&profile, [flow].into_iter(), seed);
            let queue = plant.lengths(Sid(1));
            queue.endless = Some(FULL);
            for _ in 0..4 {
                queue.push(0, FULL);
            }
            channel.wake(0, Sid(1), &mut plant);
            // What comes before the first burst is no part of the cycle.
            while plant.delivered.len() < 81 {
                channel.step(channel.next_deadline(), &mut plant, &mut ());
            }
            let at = |frame: usize| plant.delivered[frame].0;
            // Frames of a burst arrive apart: from one burst's last to another's.
            80.0 * 12_000.0 * 1e3 / (at(80) - at(0)) as f64
        })
        .collect()
}

const MAP_TIMES: [u64; 5] = [1, 2, 3, 5, 10];

#[test]
fn one_frame_a_request_with_contention_each_time() {
    for (map_ms, vector) in MAP_TIMES.into_iter().zip([2.513, 1.771, 1.333, 0.8, 0.4]) {
        // 2 MAPs and the one with the grant: the request's place in its MAP does not matter.
        let mbps = saturated(map_ms, Policy::CONCATENATION, false);
        agrees(&format!("contention, {map_ms} ms"), &mbps, vector, 0.0005);
    }
}

#[test]
fn one_frame_a_request_piggybacked() {
    for (map_ms, vector) in MAP_TIMES.into_iter().zip([3.179, 2.513, 2.0, 1.2, 0.6]) {
        let mbps = saturated(map_ms, Policy::CONCATENATION, true);
        agrees(&format!("piggyback, {map_ms} ms"), &mbps, vector, 0.0005);
    }
}

#[test]
fn two_frames_concatenated_take_the_cycle_of_a_longer_map() {
    // mac.md's 2.727 is the paper's formula, 24000 / (2T + tx). Aligned to MAPs, as its other rows
    // are, the cycle is 2T and a MAP of 12 + 192 + 3 minislots.
    let cycle_us = 4000.0 + (12.0 + 192.0 + 3.0) * 25.0;
    let mbps = saturated(2, 0, false);
    agrees("two concatenated, 2 ms", &mbps, 24_000.0 / cycle_us, 0.0005);
}
