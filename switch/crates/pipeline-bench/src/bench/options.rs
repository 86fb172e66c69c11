// SPDX-License-Identifier: Apache-2.0
//! The options of `bench` that are about pipelines.

use crate::queue_manager::ManagersFile;
use clap::Args;
use std::path::PathBuf;

/// The options of benchmarks that measure several things in turns.
#[derive(Debug, Args)]
pub struct Repeated {
    /// Packets of each measured thing in each repetition.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// Repetitions, each of which measures everything once.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub repetitions: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `bench programs`.
#[derive(Debug, Args)]
pub struct BenchPrograms {
    /// The folder of the compiled programs (p4src/build).
    #[arg(long, value_name = "DIR")]
    pub build: PathBuf,
    /// How much is measured.
    #[command(flatten)]
    pub measured: Repeated,
}

/// Options of `bench pipeline`.
#[derive(Debug, Args)]
pub struct BenchPipeline {
    /// cm.p4 as p4c compiled it (BMv2 JSON).
    #[arg(long, value_name = "FILE")]
    pub program: PathBuf,
    /// Packets measured, for each length and number of service flows.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// The queue manager of all service flows, by the name of its preset.
    #[arg(long, value_name = "NAME", default_value = "docsis-pie")]
    pub queue_manager: String,
    /// The queue managers.
    #[command(flatten)]
    pub managers: ManagersFile,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `bench managers`.
#[derive(Debug, Args)]
pub struct BenchManagers {
    /// cm.p4 as p4c compiled it (BMv2 JSON).
    #[arg(long, value_name = "FILE")]
    pub program: PathBuf,
    /// The queue managers.
    #[command(flatten)]
    pub managers: ManagersFile,
    /// How much is measured.
    #[command(flatten)]
    pub measured: Repeated,
}
