// SPDX-License-Identifier: Apache-2.0
//! All benchmarks.

mod control;

use super::timers;
use crate::cli::Bench;

pub use pipeline_bench::sample;

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
