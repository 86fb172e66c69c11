// SPDX-License-Identifier: Apache-2.0
//! The options of `sample`.

use crate::queue_manager::ManagersFile;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What `sample` looks at. It prints JSON.
#[derive(Debug, Subcommand)]
pub enum Sample {
    /// How far apart drops are at a probability that stays as it is.
    Drops(SampleDrops),
    /// How often sessions come together in a sub-queue.
    Sessions(SampleSessions),
}

/// The queue managers whose drops follow from drop_prob alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dropping {
    /// DOCSIS-PIE, which accumulates the probability.
    DocsisPie,
    /// PIE of RFC 8033, which draws for each frame.
    Pie,
}

impl Dropping {
    /// The name of its preset.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DocsisPie => "docsis-pie",
            Self::Pie => "pie",
        }
    }
}

/// Options of `sample drops`.
#[derive(Debug, Args)]
pub struct SampleDrops {
    /// cm.p4 as p4c compiled it (BMv2 JSON).
    #[arg(long, value_name = "FILE")]
    pub program: PathBuf,
    /// The queue manager, one of those that drop with drop_prob.
    #[arg(long, value_enum, default_value_t = Dropping::DocsisPie)]
    pub queue_manager: Dropping,
    /// The queue managers.
    #[command(flatten)]
    pub managers: ManagersFile,
    /// drop_prob, from 0 to 13.6; may be repeated.
    #[arg(long, required = true, value_name = "P", value_parser = parse_drop_prob)]
    pub drop_prob: Vec<f64>,
    /// Frames of 1024 bytes for each probability.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: u64,
    /// Determines what the pipeline draws.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `sample sessions`.
#[derive(Debug, Args)]
pub struct SampleSessions {
    /// cm.p4 as p4c compiled it (BMv2 JSON).
    #[arg(long, value_name = "FILE")]
    pub program: PathBuf,
    /// Sessions that have frames queued at the same time; may be repeated.
    #[arg(long, required = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub sessions: Vec<u32>,
    /// Sub-queues.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(2..=256))]
    pub queues: u32,
    /// In groups of 4, by serial search.
    #[arg(long)]
    pub search: bool,
    /// Times that other sessions are drawn.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub trials: u64,
    /// Determines which.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The queue managers.
    #[command(flatten)]
    pub managers: ManagersFile,
}

fn parse_drop_prob(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if (0.0..=13.6).contains(&p) => Ok(p),
        _ => Err("must be a number from 0 to 13.6".into()),
    }
}
