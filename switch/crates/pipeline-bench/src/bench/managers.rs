// SPDX-License-Identifier: Apache-2.0
//! `bench managers`: what each queue manager adds to a packet's cost, in one run.

use super::options::BenchManagers;
use super::pipeline::measure;
use crate::program;
use crate::queue_manager::QueueManager;
use clap::ValueEnum;
use serde_json::json;

/// What the figures of the documentation are about: bytes without FCS, in one service flow.
const LENGTH: usize = 200;

/// Measures and prints. The least of all turns: what other processes take away does not count.
///
/// # Errors
/// One sentence: the program cannot be read or is not cm.p4.
pub fn run(options: &BenchManagers) -> Result<(), String> {
    let program = program::load(&options.program)?;
    let managers = QueueManager::value_variants();
    let mut least = vec![(f64::INFINITY, f64::INFINITY); managers.len()];
    for _ in 0..options.repetitions {
        for (least, manager) in least.iter_mut().zip(managers) {
            let measured = measure(&program, options.packets, *manager, LENGTH, 1)?;
            least.0 = least.0.min(measured.ingress);
            least.1 = least.1.min(measured.egress);
        }
    }
    let none = least[0].0 + least[0].1;
    let mut results = Vec::new();
    for ((ingress, egress), manager) in least.into_iter().zip(managers) {
        let name = manager
            .to_possible_value()
            .map(|value| value.get_name().to_owned());
        let (name, total) = (name.unwrap_or_default(), ingress + egress);
        if !options.json {
            println!(
                "{name:13} {total:6.0} ns a packet (ingress and enqueue {ingress:.0}, \
                 dequeue and egress {egress:.0}), {:.2} times none",
                total / none
            );
        }
        results.push(json!({
            "queue_manager": name,
            "ns_per_packet": total,
            "ingress_ns": ingress,
            "egress_ns": egress,
            "ratio_to_none": total / none,
        }));
    }
    if options.json {
        let report = json!({
            "benchmark": "managers",
            "program": options.program.display().to_string(),
            "frame_bytes": LENGTH,
            "packets": options.packets,
            "repetitions": options.repetitions,
            "results": results,
        });
        println!("{report:#}");
    }
    Ok(())
}
