// SPDX-License-Identifier: Apache-2.0
//! The options of `bench timers`.

use clap::Args;

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
