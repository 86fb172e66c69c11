// SPDX-License-Identifier: Apache-2.0
//! `bench`: what a packet costs in this process, without a network, and what
//! the control plane of a running switch bears.

#[cfg(test)]
mod allocation_tests;
mod control;
mod managers;
mod measure;
mod memory;
mod pipeline;
mod programs;
mod scenario;
mod timers;

use crate::cli::Bench;

pub use measure::Sink;
pub use pipeline::frame;
pub use scenario::Spread;

/// Measures and prints.
///
/// # Errors
/// One sentence: a program cannot be read or is not what it should be.
pub fn run(what: &Bench) -> Result<(), String> {
    match what {
        Bench::Pipeline(options) => pipeline::run(options),
        Bench::Managers(options) => managers::run(options),
        Bench::Programs(options) => programs::run(options),
        Bench::Control(options) => control::run(options),
        Bench::Timers(options) => timers::run(options),
    }
}
