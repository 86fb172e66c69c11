// SPDX-License-Identifier: Apache-2.0
//! `bench programs`: four programs, from a bridge to a cable modem, through
//! ingress, traffic manager and egress. Repetitions go round all of them, so
//! that what else runs on the machine disturbs all alike.

use super::measure::{CHUNK, Sink, per_packet, quantile};
use super::memory::peak_resident;
use super::options::BenchPrograms;
use super::scenario::{self, INTERVAL, Scenario};
use serde_json::json;
use std::time::Instant;

/// Frame lengths that are measured, bytes without FCS.
const LENGTHS: [usize; 2] = [64, 1514];

/// A scenario on its way.
pub(super) struct Running {
    scenario: Scenario,
    len: usize,
    now: u64,
    next: usize,
    pub(super) sink: Sink,
    given: u64,
    /// Medians over the chunks of each repetition, ns a packet.
    results: Vec<f64>,
}

impl Running {
    pub(super) fn new(scenario: Scenario, len: usize) -> Self {
        let mut running = Self {
            now: scenario.start,
            scenario,
            len,
            next: 0,
            sink: Sink::default(),
            given: 0,
            results: Vec::new(),
        };
        for _ in 0..running.scenario.standing {
            running.give();
        }
        running
    }

    fn give(&mut self) {
        let (port, frames) = (self.scenario.port, &self.scenario.frames);
        self.scenario
            .device
            .receive(self.now, port, &frames[self.next]);
        self.next = (self.next + 1) % frames.len();
        self.given += 1;
    }

    /// So many packets in, and as many out.
    pub(super) fn chunk(&mut self) {
        for _ in 0..CHUNK {
            self.give();
        }
        for _ in 0..CHUNK {
            self.now += INTERVAL;
            self.scenario.device.step(self.now, &mut self.sink);
        }
    }

    /// The median over chunks: another process that takes the processor away
    /// does not count.
    fn repetition(&mut self, chunks: usize) -> f64 {
        let mut costs = Vec::with_capacity(chunks);
        for _ in 0..chunks {
            let start = Instant::now();
            self.chunk();
            costs.push(per_packet(start.elapsed()));
        }
        quantile(&mut costs, 0.5)
    }
}

/// Measures and prints.
///
/// # Errors
/// One sentence: a program cannot be read, or does not forward.
pub fn run(options: &BenchPrograms) -> Result<(), String> {
    let mut running = Vec::new();
    for make in scenario::ALL {
        for len in LENGTHS {
            running.push(Running::new(make(&options.build, len)?, len));
        }
    }
    let chunks = (options.measured.packets as usize).div_ceil(CHUNK);
    for repetition in 0..=options.measured.repetitions {
        for program in &mut running {
            let cost = program.repetition(chunks);
            // The first one warms up.
            if repetition > 0 {
                program.results.push(cost);
            }
        }
    }
    let mut results = Vec::new();
    for program in &mut running {
        let Scenario { name, what, .. } = program.scenario;
        if program.sink.frames < program.given / 2 {
            return Err(format!(
                "{name}.p4 forwarded only {} of {} frames: the program is not as it should be",
                program.sink.frames, program.given
            ));
        }
        let least = quantile(&mut program.results, 0.0);
        let median = quantile(&mut program.results, 0.5);
        if !options.measured.json {
            let len = program.len;
            println!(
                "{name:8} {what:45} {len:5} bytes: {median:6.0} ns a packet (least {least:.0})"
            );
        }
        results.push(json!({
            "program": name,
            "what": what,
            "frame_bytes": program.len,
            "ns_per_packet": median,
            "least_ns": least,
        }));
    }
    if options.measured.json {
        let report = json!({
            "benchmark": "programs",
            "packets": options.measured.packets,
            "repetitions": options.measured.repetitions,
            "peak_resident_bytes": peak_resident(),
            "results": results,
        });
        println!("{report:#}");
    }
    Ok(())
}
