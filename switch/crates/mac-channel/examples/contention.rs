// SPDX-License-Identifier: Apache-2.0
//! Modems on one channel in virtual time: what the channel counted, and how much faster than real
//! time it went.
//!
//!     cargo run --release -p mac-channel --example contention -- \
//!         [PROFILE] [MODEMS] [SECONDS] [BITS_PER_SECOND] [FRAME_BYTES] [IDLE_MODEMS] [MAP_US] \
//!         [SEED]
//!
//! Each modem sends frames of one length with exponential gaps; idle modems are on the channel and
//! send nothing. MAP_US sets the MAP time of `docsis-1.1-004`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Instant;

use mac_channel::{Channel, Eligible, Ends, Frame, Grant, Queue};
use mac_wire::{FlowConfig, Profile, Sid};

/// Frames of one length, by when they came.
struct Lengths {
    frames: VecDeque<u64>,
    length: u32,
    given_up: u64,
}

/// Frames that a queue holds at the most.
const LIMIT: usize = 50;

impl Queue for Lengths {
    type Item = u64;

    fn eligible(&self, _now: u64) -> Eligible {
        let frames = self.frames.len() as u64;
        Eligible {
            frames,
            bytes: frames * u64::from(self.length),
        }
    }

    fn more_eligible_at(&self, _now: u64) -> Option<u64> {
        None
    }

    fn length(&self, place: usize) -> Option<u32> {
        self.frames.get(place).map(|_| self.length)
    }

    fn take(&mut self, _now: u64, at_most: u32) -> Option<Frame<u64>> {
        if self.length > at_most {
            return None;
        }
        let item = self.frames.pop_front()?;
        Some(Frame {
            length: self.length,
            item,
        })
    }

    fn give_up(&mut self, _now: u64) {
        self.given_up += u64::from(self.frames.pop_front().is_some());
    }
}

struct Plant {
    queues: Vec<Lengths>,
    delivered: u64,
    delay: u128,
}

impl Ends for Plant {
    type Item = u64;
    type Queue<'a> = &'a mut Lengths;

    fn queue(&mut self, sid: Sid) -> Option<&mut Lengths> {
        self.queues.get_mut(usize::from(sid.0).checked_sub(1)?)
    }

    fn deliver(&mut self, now: u64, _sid: Sid, frame: Frame<u64>, _grant: &Grant) {
        self.delivered += 1;
        self.delay += u128::from(now - frame.item);
    }
}

/// xorshift64*, which is enough for gaps.
struct Random(u64);

impl Random {
    fn exponential(&mut self, mean: f64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        let uniform = (bits + 1) as f64 / (1_u64 << 53) as f64;
        (-uniform.ln() * mean) as u64 + 1
    }
}

fn argument(arguments: &[String], place: usize, default: u64) -> Result<u64, String> {
    arguments.get(place).map_or(Ok(default), |text| {
        text.parse()
            .map_err(|_| format!("argument {} is {text}; it has to be a number", place + 1))
    })
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("docsis-3.0", String::as_str);
    let modems = argument(&arguments, 1, 500)?;
    let seconds = argument(&arguments, 2, 10)?;
    let rate = argument(&arguments, 3, 20_000)?.max(1);
    let length = u32::try_from(argument(&arguments, 4, 218)?).map_err(|why| why.to_string())?;
    let idle = argument(&arguments, 5, 0)?;
    let map_us = argument(&arguments, 6, 1000)?;
    let seed = argument(&arguments, 7, 7)?;
    let profile = match name {
        "docsis-1.1-004" => {
            Profile::docsis_1_1_004(map_us * 1000).map_err(|why| why.to_string())?
        }
        name => Profile::named(name)
            .ok_or_else(|| format!("profile {name} is none of {:?}", Profile::NAMES))?,
    };
    let mut channel = Channel::new(profile, 1, seed).map_err(|why| why.0)?;
    let mut plant = Plant {
        queues: Vec::new(),
        delivered: 0,
        delay: 0,
    };
    let mut random = Random(0x1234_5678_9abc_def1_u64.wrapping_mul(2 * seed + 1));
    let gap = f64::from(length) * 8e9 / rate as f64;
    let mut arrivals = BinaryHeap::new();
    for modem in 1..=modems + idle {
        let sid = Sid(u16::try_from(modem).map_err(|_| "too many modems".to_owned())?);
        channel
            .add(0, FlowConfig::best_effort(sid))
            .map_err(|why| why.0)?;
        plant.queues.push(Lengths {
            frames: VecDeque::new(),
            length,
            given_up: 0,
        });
        if modem <= modems {
            arrivals.push(Reverse((random.exponential(gap), sid)));
        }
    }
    let (mut offered, mut full) = (0_u64, 0_u64);
    let end = seconds * 1_000_000_000;
    let begun = Instant::now();
    while let Some(&Reverse((at, sid))) = arrivals.peek() {
        let next = channel.next_deadline();
        if at.min(next) > end {
            break;
        }
        if next <= at {
            channel.step(next, &mut plant, &mut ());
            continue;
        }
        arrivals.pop();
        arrivals.push(Reverse((at + random.exponential(gap), sid)));
        offered += 1;
        let queue = &mut plant.queues[usize::from(sid.0) - 1];
        if queue.frames.len() < LIMIT {
            queue.frames.push_back(at);
            channel.wake(at, sid, &mut plant);
        } else {
            full += 1;
        }
    }
    channel.step(end, &mut plant, &mut ());
    let took = begun.elapsed();
    report(
        &channel,
        &plant,
        offered,
        full,
        seconds as f64 / took.as_secs_f64(),
    );
    let maps = channel.statistics().maps.max(1);
    println!(
        "{:.1} us a MAP, {:.0} ns a frame, all of the run counted to each",
        took.as_secs_f64() * 1e6 / maps as f64,
        took.as_secs_f64() * 1e9 / plant.delivered.max(1) as f64
    );
    Ok(())
}

fn report(channel: &Channel<u64>, plant: &Plant, offered: u64, full: u64, times: f64) {
    let counted = channel.statistics();
    let given_up: u64 = plant.queues.iter().map(|queue| queue.given_up).sum();
    let mean = plant.delay as f64 / 1e6 / plant.delivered.max(1) as f64;
    println!(
        "{offered} frames offered, {} delivered after {mean:.2} ms on average, {full} met a full queue, \
         {given_up} given up",
        plant.delivered
    );
    println!(
        "{} MAPs, {:.0} bytes each; {} opportunities, {} used, {} with a collision; {} requests, {} \
         collided",
        counted.maps,
        counted.map_bytes as f64 / counted.maps.max(1) as f64,
        counted.opportunities,
        counted.opportunities_used,
        counted.opportunities_collided,
        counted.requests,
        counted.requests_collided
    );
    println!(
        "{} grants of {} minislots, {} of them wasted",
        counted.grants,
        counted.minislots_granted,
        counted.minislots_wasted()
    );
    let delay = &counted.request_to_grant;
    let quantile = |thousandths| delay.quantile(thousandths).unwrap_or(0) as f64 / 1e6;
    println!(
        "request to grant: {} answers, mean {:.2} ms, 50% {:.2} ms, 90% {:.2} ms, 99% {:.2} ms",
        delay.count(),
        delay.mean().unwrap_or(0) as f64 / 1e6,
        quantile(500),
        quantile(900),
        quantile(990)
    );
    println!("{times:.1} times faster than real time");
}
