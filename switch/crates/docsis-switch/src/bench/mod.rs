// SPDX-License-Identifier: Apache-2.0
//! `bench`: measures what a packet costs without a network, what load the control plane of a
//! running switch bears, and how late the machine is.

mod control;
mod timers;

use crate::cli::Bench;

/// Measures and prints.
///
/// # Errors
/// One sentence: a program cannot be read or is not what it should be.
pub fn run(what: &Bench) -> Result<(), String> {
    match what {
        Bench::Pipeline(options) => pipeline_bench::pipeline::run(options),
        Bench::Managers(options) => pipeline_bench::managers::run(options),
        Bench::Programs(options) => pipeline_bench::programs::run(options),
        Bench::Control(options) => control::run(options),
        Bench::Timers(options) => timers::run(options),
    }
}
