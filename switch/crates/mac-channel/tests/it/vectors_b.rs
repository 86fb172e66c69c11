// SPDX-License-Identifier: Apache-2.0
//! mac.md's vector B: the defaults of docsis-ns3, a lone modem. The profile as it is named. The rule is
//! in `agreement`; mac.md says that means and ranges are exact and quantiles right to 15 us.

use mac_wire::{FlowConfig, Profile, Sid};

use crate::agreement::{SEEDS, Vector, distribution};
use crate::plant::lone_delays;

const PACKETS: usize = 250;
/// 1528 bytes with 10 of MAC header.
const FULL: u32 = 1518;
/// 92 bytes with it.
const SHORT: u32 = 82;

fn microseconds(frames: u32, length: u32) -> Vec<Vec<f64>> {
    let profile = Profile::docsis_3_1(frames);
    (0..SEEDS)
        .map(|seed| {
            let delays = lone_delays(
                &profile,
                FlowConfig::best_effort(Sid(1)),
                length,
                PACKETS,
                seed,
            );
            delays.iter().map(|&delay| delay as f64 / 1e3).collect()
        })
        .collect()
}

fn check(frames: u32, length: u32, mean: f64, range: (f64, f64), quantiles: &'static [(f64, f64)]) {
    let vector = Vector {
        mean,
        sd: None,
        least: range.0,
        greatest: range.1,
        quantiles,
        digit: 0.05,
        range_digit: 0.5,
        quantile_error: 15.0,
    };
    let what = format!("{length} bytes, {frames} frames a MAP");
    distribution(&what, &microseconds(frames, length), &vector);
}

#[test]
fn a_lone_frame_at_15_frames_a_map() {
    let quantiles = &[
        (0.05, 3194.0),
        (0.5, 5033.0),
        (0.95, 6910.0),
        (0.99, 7539.0),
    ];
    check(15, FULL, 5038.9, (1930.0, 8275.0), quantiles);
}

#[test]
fn a_lone_frame_at_7_frames_a_map() {
    let quantiles = &[
        (0.05, 2448.0),
        (0.5, 3321.0),
        (0.95, 4278.0),
        (0.99, 4590.0),
    ];
    check(7, FULL, 3336.0, (1930.0, 4900.0), quantiles);
}

#[test]
fn a_frame_of_two_minislots_reaches_into_the_next_frame_less_often() {
    check(15, SHORT, 5030.8, (1930.0, 8275.0), &[]);
    check(7, SHORT, 3328.5, (1930.0, 4900.0), &[]);
}
