// SPDX-License-Identifier: Apache-2.0
//! mac.md's vector C, Poisson arrivals.

use mac_channel::{Heard, Observer};
use mac_wire::{Profile, Sid};

use super::{DIGIT, LENGTH, OWN, before_map, lag_1, lag_2, stations};
use crate::agreement::{SEEDS, agrees};
use crate::plant::Random;

const MAP_MINISLOTS: u64 = 80;

/// Counts MAPs from a station's arrival to the request that is heard.
struct Extra {
    arrived: Vec<u64>,
    first_minislot: u64,
    from: u64,
    sum: u64,
    count: u64,
}

impl Observer for Extra {
    fn heard(&mut self, _now: u64, heard: &Heard) {
        let Heard::Request { request, sent } = heard else {
            return;
        };
        let arrived = self.arrived[usize::from(request.sid.0)];
        if arrived >= self.from {
            let map = (sent.0 - self.first_minislot) / MAP_MINISLOTS;
            self.sum += map - arrived;
            self.count += 1;
        }
    }
}

/// Frames of modems that were idle, in Poisson numbers at the start of each MAP: the share of
/// requests that collide, and the mean of MAPs more than the one in which a frame came.
fn poisson(profile: &Profile, mean: f64) -> (Vec<f64>, Vec<f64>) {
    const POOL: u16 = 120;
    const WARM: u64 = 100;
    const MEASURED: u64 = 500;
    let mut shares = Vec::new();
    let mut extras = Vec::new();
    for seed in 0..SEEDS {
        let (mut channel, mut plant) = stations(profile, POOL, 8, seed);
        let mut random = Random::new(seed);
        let mut extra = Extra {
            arrived: vec![0; usize::from(POOL) + 1],
            first_minislot: profile.timing.map_ahead / 25_000,
            from: WARM,
            sum: 0,
            count: 0,
        };
        let mut before = (0, 0);
        let mut turn = 0;
        for map in 0..WARM + MEASURED {
            let at = before_map(profile, map);
            channel.step(at, &mut plant, &mut extra);
            if map == WARM {
                let statistics = channel.statistics();
                before = (statistics.requests, statistics.requests_collided);
            }
            for _ in 0..poisson_number(mean, &mut random) {
                let idle = (0..POOL).map(|n| Sid(1 + (turn + n) % POOL)).find(|&sid| {
                    let station = channel.station(sid).unwrap();
                    let waits = station.deferring().is_some() || station.oldest().is_some();
                    !waits && plant.lengths(sid).frames.is_empty()
                });
                let sid = idle.expect("more modems wait than the pool has");
                turn = sid.0;
                extra.arrived[usize::from(sid.0)] = map;
                plant.lengths(sid).push(at, LENGTH);
                channel.wake(at, sid, &mut plant);
            }
        }
        let statistics = channel.statistics();
        let requests = statistics.requests - before.0;
        shares.push((statistics.requests_collided - before.1) as f64 / requests as f64);
        extras.push(extra.sum as f64 / extra.count as f64);
    }
    (shares, extras)
}

/// Knuth's: how many uniform numbers have a product above e^-mean.
fn poisson_number(mean: f64, random: &mut Random) -> u32 {
    let mut product = 1.0;
    let mut number = 0;
    loop {
        product *= (random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
        if product <= (-mean).exp() {
            return number;
        }
        number += 1;
    }
}

fn check_poisson(lag: &str, profile: &Profile, mean: f64, share: (f64, f64), extra: (f64, f64)) {
    let (shares, extras) = poisson(profile, mean);
    let what = format!("{mean} a MAP, lag {lag}");
    agrees(&format!("{what}, collided"), &shares, share.0, share.1);
    agrees(&format!("{what}, extra MAPs"), &extras, extra.0, extra.1);
}

#[test]
fn poisson_arrivals_of_lag_1() {
    let profile = lag_1();
    check_poisson("1", &profile, 0.5, (0.066, OWN), (0.09, DIGIT));
    check_poisson("1", &profile, 1.0, (0.134, OWN), (0.22, DIGIT));
    check_poisson("1", &profile, 2.0, (0.272, OWN), (0.58, DIGIT));
    check_poisson("1", &profile, 3.0, (0.422, OWN), (1.37, DIGIT));
    check_poisson("1", &profile, 3.5, (0.51, DIGIT), (2.26, DIGIT));
}

#[test]
fn poisson_arrivals_of_lag_2() {
    let profile = lag_2();
    check_poisson("2", &profile, 1.0, (0.135, OWN), (0.37, DIGIT));
    check_poisson("2", &profile, 2.0, (0.270, OWN), (0.94, DIGIT));
    check_poisson("2", &profile, 3.0, (0.413, OWN), (2.0, 0.05));
}
