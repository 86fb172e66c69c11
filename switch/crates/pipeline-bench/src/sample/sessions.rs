// SPDX-License-Identifier: Apache-2.0
//! `sample sessions`: how often sessions that have frames queued at the same time
//! come together in a sub-queue.

use super::Modem;
use super::options::SampleSessions;
use crate::bench::pipeline::frame;
use crate::bench::scenario::Spread;
use crate::provision::Management;
use crate::queue_manager::{FlowQueues, QueueManager, QueueManagers};
use device::RoundRobin;
use serde_json::{Value, json};
use v1model::by_name;

const LENGTH: usize = 64;

pub fn run(options: &SampleSessions) -> Result<Vec<Value>, String> {
    if options.search && options.queues % 4 != 0 {
        return Err("--queues must be a multiple of 4 with --search".into());
    }
    let managers = QueueManagers::for_program(&options.managers, &options.program)?;
    let none = managers.named("drop-tail")?;
    options
        .sessions
        .iter()
        .map(|&sessions| one(options, none, sessions))
        .collect()
}

fn one(options: &SampleSessions, none: &QueueManager, sessions: u32) -> Result<Value, String> {
    let queues = options.queues as usize;
    let flow_queues = Some(FlowQueues {
        queues: options.queues,
        searched: options.search,
        round_robin: RoundRobin::default(),
    });
    let management = Management {
        flow_queues,
        ..none.into()
    };
    let mut modem = Modem::new(&options.program, options.seed, management)?;
    let mut spread = Spread::new(options.seed);
    let mut frame = frame(LENGTH, 1);
    let (mut collisions, mut taken) = (0u64, vec![0; queues]);
    for _ in 0..options.trials {
        for session in 0..sessions {
            let draw = spread.next();
            // Addresses and ports at random; never twice the same session in a trial.
            frame[26..30].copy_from_slice(&((draw >> 32) as u32).to_be_bytes());
            frame[30..34].copy_from_slice(&(draw as u32).to_be_bytes());
            frame[34..36].copy_from_slice(&(session as u16).to_be_bytes());
            modem.receive(&frame);
        }
        let pipeline = modem.device.pipeline().ok_or("no program is loaded")?;
        let now = by_name::registers(pipeline, "queue_enqueued_bytes", queues)?;
        let used = now.iter().zip(&taken).filter(|(now, before)| now != before);
        collisions += u64::from(used.count() < sessions as usize);
        taken = now;
        while modem.send_one() {}
    }
    Ok(json!({
        "sessions": sessions,
        "queues": options.queues,
        "search": options.search,
        "trials": options.trials,
        "collisions": collisions,
    }))
}
