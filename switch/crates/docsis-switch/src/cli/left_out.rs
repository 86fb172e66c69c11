// SPDX-License-Identifier: Apache-2.0
//! The options of `bench` and `sample` where the feature `workbench` is off: the runs of a demo ask
//! for the machine's timers, and all other words are refused.

use super::BenchTimers;
use clap::Subcommand;
use std::ffi::OsString;

/// What `bench` measures.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// How late this machine wakes a thread that sleeps for 1.5 ms, under SCHED_RR
    /// and under the ordinary policy.
    Timers(BenchTimers),
    /// Another benchmark's name and its options.
    #[command(external_subcommand)]
    LeftOut(Vec<OsString>),
}

/// What follows `sample`.
#[derive(Debug, Subcommand)]
pub enum Sample {
    /// A name and its options.
    #[command(external_subcommand)]
    LeftOut(Vec<OsString>),
}
