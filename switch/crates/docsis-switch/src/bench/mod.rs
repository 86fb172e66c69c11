// SPDX-License-Identifier: Apache-2.0
//! `bench`: measures what a packet costs without a network, what load the control plane of a
//! running switch bears, and how late the machine is.

#[cfg(feature = "workbench")]
mod control;
mod timers;

use crate::cli::Bench;
#[cfg(feature = "workbench")]
use crate::cli::Workbench;
#[cfg(not(feature = "workbench"))]
use std::ffi::OsString;

/// What a switch says that is asked for something of the workbench, and has none.
#[cfg(not(feature = "workbench"))]
fn left_out(command: &str) -> String {
    format!(
        "this switch was built without `{command}`, which the demo does not need; `make switch` builds one that has it"
    )
}

/// Measures and prints.
///
/// # Errors
/// One sentence: a program cannot be read or is not what it should be.
pub fn run(what: &Bench) -> Result<(), String> {
    match what {
        #[cfg(feature = "workbench")]
        Bench::Workbench(what) => match what {
            Workbench::Pipeline(options) => pipeline_bench::pipeline::run(options),
            Workbench::Managers(options) => pipeline_bench::managers::run(options),
            Workbench::Programs(options) => pipeline_bench::programs::run(options),
            Workbench::Control(options) => control::run(options),
        },
        #[cfg(not(feature = "workbench"))]
        Bench::LeftOut(words) => Err(left_out(&format!("bench {}", words[0].to_string_lossy()))),
        Bench::Timers(options) => timers::run(options),
    }
}

#[cfg(feature = "workbench")]
pub use pipeline_bench::sample;

/// Refuses.
///
/// # Errors
/// This switch was built without it.
#[cfg(not(feature = "workbench"))]
pub fn sample(_: &[OsString]) -> Result<(), String> {
    Err(left_out("sample"))
}
