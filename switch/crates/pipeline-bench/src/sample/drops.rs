// SPDX-License-Identifier: Apache-2.0
//! `sample drops`: distances between drops at a probability that stays as it is.

use super::Modem;
use super::options::SampleDrops;
use crate::bench::pipeline::frame;
use crate::provision::Management;
use crate::queue_manager::{QueueManager, QueueManagers};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use v1model::by_name;

/// A frame that is MEAN_PKTSIZE, 1024 bytes, with its CRC, which interfaces do not show: its
/// probability is drop_prob itself.
const LENGTH: usize = 1024 - 4;
/// Frames that stay queued, so that nothing suppresses a drop.
const STANDING: usize = 4;
/// Frames whose drops are counted together.
const WINDOW: u64 = 1000;
const ONE: f64 = 268_435_456.0;

pub fn run(options: &SampleDrops) -> Result<Vec<Value>, String> {
    let managers = QueueManagers::for_program(&options.managers, &options.program)?;
    let manager = managers.named(options.queue_manager.name())?;
    options
        .drop_prob
        .iter()
        .map(|&drop_prob| one(options, manager, drop_prob))
        .collect()
}

fn one(options: &SampleDrops, manager: &QueueManager, drop_prob: f64) -> Result<Value, String> {
    let management = Management {
        drop_prob: (drop_prob * ONE).round() as u128,
        ..manager.into()
    };
    let mut modem = Modem::new(&options.program, options.seed, management)?;
    let frame = frame(LENGTH, 1);
    // While they come the queue is too short for drops.
    for _ in 0..STANDING {
        modem.receive(&frame);
    }
    let enqueued = |modem: &Modem| -> Result<u128, String> {
        let pipeline = modem.device.pipeline().ok_or("no program is loaded")?;
        Ok(by_name::registers(pipeline, "sf_enqueued_bytes", 2)?[1])
    };
    let mut runs: BTreeMap<u64, u64> = BTreeMap::new();
    let mut windows: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut run, mut in_window, mut dropped) = (0, 0, 0);
    // The first run began before the first frame: it does not count.
    let mut begun = false;
    let mut before = enqueued(&modem)?;
    for number in 1..=options.frames {
        modem.receive(&frame);
        run += 1;
        let after = enqueued(&modem)?;
        if after == before {
            dropped += 1;
            in_window += 1;
            if begun {
                *runs.entry(run).or_default() += 1;
            }
            begun = true;
            run = 0;
        } else if !modem.send_one() {
            return Err("a frame did not leave: the program is not cm.p4 as it should be".into());
        }
        before = after;
        if number % WINDOW == 0 {
            *windows.entry(in_window).or_default() += 1;
            in_window = 0;
        }
    }
    Ok(json!({
        "drop_prob": drop_prob,
        "frames": options.frames,
        "dropped": dropped,
        // Frames from one drop to the next, that one included: how often.
        "run_lengths": runs.into_iter().collect::<Vec<_>>(),
        // Drops in a thousand frames in a row: how often.
        "drops_in_1000": windows.into_iter().collect::<Vec<_>>(),
    }))
}
