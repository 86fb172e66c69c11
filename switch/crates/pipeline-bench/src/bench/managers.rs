// SPDX-License-Identifier: Apache-2.0
//! `bench managers`: what each queue manager adds to a packet's cost, in one run.

use super::options::BenchManagers;
use super::pipeline::measure;
use crate::program;
use crate::queue_manager::QueueManagers;
use serde_json::json;

/// What the figures of the documentation are about: bytes without FCS, in one service flow.
const LENGTH: usize = 200;

/// Measures and prints. The least of all repetitions counts, because other processes only add to
/// it.
///
/// # Errors
/// One sentence: a file cannot be read, or the program is not cm.p4.
pub fn run(options: &BenchManagers) -> Result<(), String> {
    let program = program::load(&options.program)?;
    let managers = QueueManagers::for_program(&options.managers, &options.program)?;
    let managers = managers.all();
    let mut least = vec![(f64::INFINITY, f64::INFINITY); managers.len()];
    for _ in 0..options.measured.repetitions {
        for (least, manager) in least.iter_mut().zip(managers) {
            let measured = measure(&program, options.measured.packets, manager, LENGTH, 1)?;
            least.0 = least.0.min(measured.ingress);
            least.1 = least.1.min(measured.egress);
        }
    }
    let none = least[0].0 + least[0].1;
    let mut results = Vec::new();
    for ((ingress, egress), manager) in least.into_iter().zip(managers) {
        let (name, total) = (&manager.name, ingress + egress);
        if !options.measured.json {
            println!(
                "{name:15} {total:6.0} ns a packet (ingress and enqueue {ingress:.0}, \
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
    if options.measured.json {
        let report = json!({
            "benchmark": "managers",
            "program": options.program.display().to_string(),
            "frame_bytes": LENGTH,
            "packets": options.measured.packets,
            "repetitions": options.measured.repetitions,
            "results": results,
        });
        println!("{report:#}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue_manager::ManagersFile;
    use std::path::Path;

    /// What a drop costs is not what the benchmark is about: frames must go through all of a
    /// manager's code and leave.
    #[test]
    fn every_queue_manager_of_the_file_is_provisioned_and_hardly_drops() {
        let build = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build"));
        let program = program::load(&build.join("cm.json")).unwrap();
        let managers = QueueManagers::load(&ManagersFile::default(), build).unwrap();
        assert_eq!(managers.all()[0].name, "drop-tail");
        for manager in managers.all() {
            let measured = measure(&program, 2_000, manager, LENGTH, 1).unwrap();
            let (forwarded, dropped) = (measured.forwarded, measured.dropped);
            assert!(dropped <= 20, "{}: {dropped} of {forwarded}", manager.name);
        }
    }
}
