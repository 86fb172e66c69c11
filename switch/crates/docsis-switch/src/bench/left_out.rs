// SPDX-License-Identifier: Apache-2.0
//! The machine's timers alone: all other benchmarks, and `sample`, are refused.

use super::timers;
use crate::cli::{Bench, Sample};
use std::ffi::OsString;

/// Measures how late the machine's timers are, and prints it.
///
/// # Errors
/// One sentence: they cannot be measured, or the switch was built without what is asked for.
pub fn run(what: &Bench) -> Result<(), String> {
    match what {
        Bench::Timers(options) => timers::run(options),
        Bench::LeftOut(words) => refused("bench", words),
    }
}

/// Refuses draws.
///
/// # Errors
/// The switch was built without them, always.
pub fn sample(what: &Sample) -> Result<(), String> {
    let Sample::LeftOut(words) = what;
    refused("sample", words)
}

fn refused(command: &str, words: &[OsString]) -> Result<(), String> {
    Err(format!(
        "this switch was built without `{command} {}`, which the demo does not need; `make switch` \
         builds one that has it",
        words[0].to_string_lossy()
    ))
}
