// SPDX-License-Identifier: Apache-2.0
//! The programs of `bench programs`, their entries and their traffic: all made
//! up from fixed seeds, so that every run does the same.

use super::pipeline::{self, STANDING};
use crate::program;
use crate::provision::{CPE_PORT, RF_PORT, cable_modem};
use crate::queue_manager::{ManagersFile, QueueManagers};
use device::{Device, DeviceConfig};
use std::path::Path;
use v1model::{EntryAction, EntryKey, EntryOptions, Match, by_name};

/// Device time between two packets, ns: below every service flow's rate.
pub const INTERVAL: u64 = pipeline::INTERVAL;
const START: u64 = 1_000_000_000;
/// Frames that the traffic repeats.
const FRAMES: usize = 256;
const STATIONS: u64 = 64;
const ROUTES: usize = 10_000;
const RULES: usize = 500;
const FLOWS: u32 = 32;

/// A device, ready, and what it is given.
pub struct Scenario {
    /// The program.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// It, provisioned.
    pub device: Device,
    /// The port that frames come from.
    pub port: u16,
    /// Frames, given in turn.
    pub frames: Vec<Vec<u8>>,
    /// Frames that stay queued.
    pub standing: usize,
    /// The device's time so far, ns.
    pub start: u64,
}

/// Makes a scenario from p4src/build/ and a frame length.
pub type Make = fn(&Path, usize) -> Result<Scenario, String>;

/// All of them, from the least to the most work.
pub const ALL: [Make; 4] = [bridge, router, firewall, modem];

/// Marsaglia's xorshift: enough to spread entries and traffic.
pub struct Spread(u64);

impl Spread {
    /// From a seed; 0 would stay 0.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1 << 63)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn device(build: &Path, program: &str) -> Result<Device, String> {
    let program = program::load(&build.join(program))?;
    let mut device = Device::new(DeviceConfig::default());
    device.add_port(RF_PORT);
    device.add_port(CPE_PORT);
    device.load(0, program);
    Ok(device)
}

fn insert(
    device: &mut Device,
    table: &str,
    key: &EntryKey,
    action: &str,
    values: &[(&str, u128)],
) -> Result<(), String> {
    let pipeline = device.pipeline_mut().ok_or("no program is loaded")?;
    let id = by_name::table(pipeline, table)?;
    let call = EntryAction::from(by_name::action(pipeline, id, action, values)?);
    pipeline
        .insert(START, id, key, &call, &EntryOptions::default())
        .map_err(|error| format!("table {table}: {error}"))
}

fn station(n: u64) -> u64 {
    0x0200_0000_0000 | n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff
}

/// An upstream UDP frame with other addresses.
fn frame(len: usize, dst_mac: u64, src: u32, dst: u32, dst_port: u16) -> Vec<u8> {
    let mut frame = pipeline::frame(len, 1);
    frame[..6].copy_from_slice(&dst_mac.to_be_bytes()[2..]);
    frame[26..30].copy_from_slice(&src.to_be_bytes());
    frame[30..34].copy_from_slice(&dst.to_be_bytes());
    frame[36..38].copy_from_slice(&dst_port.to_be_bytes());
    let sum: u32 = frame[14..34]
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    frame[24..26].copy_from_slice(&(!folded as u16).to_be_bytes());
    frame
}

fn bridge(build: &Path, len: usize) -> Result<Scenario, String> {
    let mut device = device(build, "bench/l2.json")?;
    for n in 0..STATIONS {
        let key = EntryKey {
            matches: vec![Match::Exact(u128::from(station(n)))],
            priority: 0,
        };
        insert(
            &mut device,
            "station",
            &key,
            "forward",
            &[("port", u128::from(RF_PORT))],
        )?;
    }
    let mut spread = Spread(1);
    let frames = (0..FRAMES)
        .map(|_| frame(len, station(spread.below(STATIONS)), 1, 2, 3))
        .collect();
    Ok(Scenario {
        name: "l2",
        what: "bridge, 64 stations",
        device,
        port: CPE_PORT,
        frames,
        standing: 0,
        start: START,
    })
}

/// A prefix as they are in the Internet's tables: most have 24 bits.
fn prefix(spread: &mut Spread) -> (u32, u16) {
    let length = match spread.below(100) {
        0..=59 => 24,
        60..=69 => 22,
        70..=77 => 23,
        78..=84 => 20,
        85..=89 => 21,
        90..=93 => 19,
        94..=96 => 16,
        97..=98 => 32,
        _ => 12,
    };
    let address = spread.next() as u32 & (u32::MAX << (32 - length));
    (address, length as u16)
}

fn router(build: &Path, len: usize) -> Result<Scenario, String> {
    let mut device = device(build, "bench/l3_lpm.json")?;
    let mut spread = Spread(2);
    let mut routes = Vec::new();
    let mut seen = std::collections::HashSet::new();
    while routes.len() < ROUTES {
        let (address, length) = prefix(&mut spread);
        if !seen.insert((address, length)) {
            continue;
        }
        let key = EntryKey {
            matches: vec![Match::Lpm {
                value: u128::from(address),
                prefix_len: length,
            }],
            priority: 0,
        };
        let values = [
            ("next_hop", u128::from(station(spread.below(STATIONS)))),
            ("port", u128::from(RF_PORT)),
        ];
        insert(&mut device, "routes", &key, "route", &values)?;
        routes.push((address, length));
    }
    let frames = (0..FRAMES)
        .map(|_| {
            let (address, length) = routes[spread.below(ROUTES as u64) as usize];
            let host = spread.next() as u32 & u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
            frame(len, station(0), 0x0a00_0001, address | host, 3)
        })
        .collect();
    Ok(Scenario {
        name: "l3_lpm",
        what: "router with both checksums, 10,000 routes",
        device,
        port: CPE_PORT,
        frames,
        standing: 0,
        start: START,
    })
}

fn firewall(build: &Path, len: usize) -> Result<Scenario, String> {
    let mut device = device(build, "bench/acl.json")?;
    let mut spread = Spread(3);
    let mut rules = Vec::new();
    for n in 0..RULES {
        let (src, src_length) = prefix(&mut spread);
        let (dst, dst_length) = prefix(&mut spread);
        let port = (spread.next() as u16, spread.below(2) == 0);
        let ternary = |value: u128, mask: u128| Match::Ternary {
            value: value & mask,
            mask,
        };
        let cut = |length: u16| u128::from(u32::MAX << (32 - length));
        // One rule in four looks at the source, too.
        let src_mask = if spread.below(4) == 0 {
            cut(src_length)
        } else {
            0
        };
        let key = EntryKey {
            matches: vec![
                ternary(u128::from(src), src_mask),
                ternary(u128::from(dst), cut(dst_length)),
                ternary(17, 0xff),
                ternary(0, 0),
                ternary(u128::from(port.0), if port.1 { 0xffff } else { 0 }),
            ],
            priority: (RULES - n) as i32,
        };
        insert(
            &mut device,
            "rules",
            &key,
            "forward",
            &[("port", u128::from(RF_PORT))],
        )?;
        rules.push((src, dst, port.0));
    }
    let frames = (0..FRAMES)
        .map(|_| {
            let (src, dst, port) = rules[spread.below(RULES as u64) as usize];
            frame(len, station(0), src, dst, port)
        })
        .collect();
    Ok(Scenario {
        name: "acl",
        what: "firewall, 500 ternary rules of five fields",
        device,
        port: CPE_PORT,
        frames,
        standing: 0,
        start: START,
    })
}

fn modem(build: &Path, len: usize) -> Result<Scenario, String> {
    let mut device = device(build, "cm.json")?;
    let managers = QueueManagers::load(&ManagersFile::default(), build)?;
    let manager = managers.named("docsis-pie")?;
    cable_modem(&mut device, START, FLOWS, manager.into())?;
    Ok(Scenario {
        name: "cm",
        what: "cable modem, 32 service flows, DOCSIS-PIE",
        device,
        port: CPE_PORT,
        frames: (1..=FLOWS).map(|flow| pipeline::frame(len, flow)).collect(),
        standing: (STANDING / len + 1) * FLOWS as usize,
        start: START,
    })
}
