// SPDX-License-Identifier: Apache-2.0
//! The options of `bench`.

#[cfg(feature = "workbench")]
use super::workbench::Workbench;
use clap::{Args, Subcommand};
#[cfg(not(feature = "workbench"))]
use std::ffi::OsString;

/// What `bench` measures.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// A part that the demo does without.
    #[cfg(feature = "workbench")]
    #[command(flatten)]
    Workbench(Workbench),
    /// How late this machine wakes a thread that sleeps for 1.5 ms, under SCHED_RR
    /// and under the ordinary policy.
    Timers(BenchTimers),
    /// This switch was built without the others.
    #[cfg(not(feature = "workbench"))]
    #[command(external_subcommand)]
    LeftOut(Vec<OsString>),
}

/// Options of `bench timers`.
#[derive(Debug, Args)]
pub struct BenchTimers {
    /// How long to measure, seconds, 0.1 to 60.
    #[arg(long, default_value_t = 3.0, value_parser = parse_seconds)]
    pub seconds: f64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds| (0.1..=60.0).contains(seconds));
    seconds.ok_or_else(|| format!("{text} is not a number of seconds within 0.1 to 60"))
}
