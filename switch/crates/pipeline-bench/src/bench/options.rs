// SPDX-License-Identifier: Apache-2.0
//! The options of `bench` that are about pipelines.

use crate::queue_manager::QueueManager;
use clap::Args;
use std::path::PathBuf;

/// Options of `bench programs`.
#[derive(Debug, Args)]
pub struct BenchPrograms {
    /// Where the compiled programs are (p4src/build).
    #[arg(long, value_name = "DIR")]
    pub build: PathBuf,
    /// Packets of each program and length in each repetition.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// Repetitions, after one to warm up.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub repetitions: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
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
    /// Who decides early drops.
    #[arg(long, value_enum, default_value_t = QueueManager::DocsisPie)]
    pub queue_manager: QueueManager,
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
    /// Packets of each queue manager in each repetition.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: u64,
    /// Turns of all of them; the least of each counts.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pub repetitions: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
