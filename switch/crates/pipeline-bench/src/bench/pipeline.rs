// SPDX-License-Identifier: Apache-2.0
//! `bench pipeline`: what a packet costs in this process, without a network.

use super::measure::{CHUNK, Sink, per_packet, quantile};
use super::memory::{peak_resident, resident_code};
use super::options::BenchPipeline;
use crate::program;
use crate::provision::{CPE_PORT, FIRST_UDP_PORT, RF_PORT, SERVER_MAC, cable_modem};
use crate::queue_manager::{QueueManager, QueueManagers};
use device::{Device, DeviceConfig};
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
use v1model::Program;

/// Frame lengths that are measured, bytes without FCS.
const LENGTHS: [usize; 3] = [64, 200, 1514];
/// Numbers of service flows, each with a classifier of its own.
const FLOWS: [u32; 2] = [1, 32];
/// Bytes that stay queued in each flow: more than two mean packets, or AQM
/// suppresses itself.
pub const STANDING: usize = 3_000;
/// Device time between two packets, ns: below every service flow's rate.
pub const INTERVAL: u64 = 2_000;

/// An upstream UDP frame of `len` bytes to a service flow's port.
pub fn frame(len: usize, flow: u32) -> Vec<u8> {
    let mut frame = vec![0u8; len];
    frame[..6].copy_from_slice(&SERVER_MAC.to_be_bytes()[2..]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 1, 1]);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14] = 0x45;
    let total = (len - 14) as u16;
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    frame[22] = 64;
    frame[23] = 17;
    frame[26..30].copy_from_slice(&[10, 0, 0, 11]);
    frame[30..34].copy_from_slice(&[10, 0, 0, 101]);
    frame[34..36].copy_from_slice(&40_000u16.to_be_bytes());
    frame[36..38].copy_from_slice(&(FIRST_UDP_PORT + flow as u16).to_be_bytes());
    frame[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    frame
}

/// One configuration's result, ns a packet.
#[derive(Debug)]
pub struct Measured {
    /// Medians over chunks: another process that takes the processor away
    /// does not count.
    pub ingress: f64,
    /// The same of the way out.
    pub egress: f64,
    mean: f64,
    p99: f64,
    /// Packets that left.
    pub forwarded: u64,
    /// Packets that did not.
    pub dropped: u64,
}

/// So many packets of `len` bytes through `flows` service flows under a queue manager.
///
/// # Errors
/// One sentence: the program is not cm.p4.
pub fn measure(
    program: &Arc<Program>,
    packets: u64,
    manager: &QueueManager,
    len: usize,
    flows: u32,
) -> Result<Measured, String> {
    let mut device = Device::new(DeviceConfig::default());
    device.add_port(RF_PORT);
    device.add_port(CPE_PORT);
    device.load(0, Arc::clone(program));
    let mut now = 1_000_000_000;
    cable_modem(&mut device, now, flows, manager.into())?;
    let frames: Vec<Vec<u8>> = (1..=flows).map(|flow| frame(len, flow)).collect();
    let mut sink = Sink::default();
    let mut next = frames.iter().cycle();
    let mut give = |device: &mut Device, now: u64| {
        if let Some(frame) = next.next() {
            device.receive(now, CPE_PORT, frame);
        }
    };
    for _ in 0..(STANDING / len + 1) * flows as usize {
        give(&mut device, now);
    }
    let chunks = (packets as usize).div_ceil(CHUNK);
    let warm = (chunks / 10).max(10);
    let (mut ingress, mut egress, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    let mut steps = 0;
    for chunk in 0..warm + chunks {
        let before = sink.frames;
        let start = Instant::now();
        for _ in 0..CHUNK {
            give(&mut device, now);
        }
        let middle = Instant::now();
        for _ in 0..CHUNK {
            now += INTERVAL;
            device.step(now, &mut sink);
        }
        let end = Instant::now();
        if chunk >= warm {
            ingress.push(per_packet(middle - start));
            egress.push(per_packet(end - middle));
            costs.push(per_packet(end - start));
            steps += sink.frames - before;
        }
    }
    let packets = (chunks * CHUNK) as u64;
    if steps < packets / 2 {
        return Err(format!(
            "only {steps} of {packets} packets were forwarded: the program is not cm.p4 as it should be"
        ));
    }
    Ok(Measured {
        ingress: quantile(&mut ingress, 0.5),
        egress: quantile(&mut egress, 0.5),
        mean: costs.iter().sum::<f64>() / costs.len() as f64,
        p99: quantile(&mut costs, 0.99),
        forwarded: steps,
        dropped: packets - steps.min(packets),
    })
}

/// Measures and prints.
///
/// # Errors
/// One sentence: the program cannot be read or is not cm.p4.
pub fn run(options: &BenchPipeline) -> Result<(), String> {
    let program = program::load(&options.program)?;
    let managers = QueueManagers::for_program(&options.managers, &options.program)?;
    let manager = managers.named(&options.queue_manager)?;
    let mut results = Vec::new();
    for flows in FLOWS {
        for len in LENGTHS {
            let measured = measure(&program, options.packets, manager, len, flows)?;
            let total = measured.ingress + measured.egress;
            if !options.json {
                println!(
                    "{len:5} bytes, {flows:2} service flows: {total:6.0} ns a packet \
                     (ingress and enqueue {:.0}, dequeue and egress {:.0}; mean {:.0}, p99 {:.0})",
                    measured.ingress, measured.egress, measured.mean, measured.p99
                );
            }
            results.push(json!({
                "frame_bytes": len,
                "service_flows": flows,
                "ns_per_packet": total,
                "ingress_ns": measured.ingress,
                "egress_ns": measured.egress,
                "mean_ns": measured.mean,
                "p99_ns": measured.p99,
                "forwarded": measured.forwarded,
                "aqm_dropped": measured.dropped,
            }));
        }
    }
    if options.json {
        let report = json!({
            "benchmark": "pipeline",
            "program": options.program.display().to_string(),
            "packets": options.packets,
            "peak_resident_bytes": peak_resident(),
            "resident_code_bytes": resident_code(),
            "results": results,
        });
        println!("{report:#}");
    }
    Ok(())
}
