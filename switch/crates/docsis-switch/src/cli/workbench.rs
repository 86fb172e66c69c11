// SPDX-License-Identifier: Apache-2.0
//! The options of `bench` and `sample`.

use super::BenchTimers;
use clap::{Args, Subcommand};
use grpc_services::ServerAddress;
pub use pipeline_bench::Sample;
use pipeline_bench::{BenchManagers, BenchPipeline, BenchPrograms};
use std::path::PathBuf;

/// What `bench` measures.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Nanoseconds a packet takes through ingress, traffic manager and egress.
    Pipeline(BenchPipeline),
    /// The same under each queue manager, and under none.
    Managers(BenchManagers),
    /// The same for four programs: a bridge, a router, a firewall, a modem.
    Programs(BenchPrograms),
    /// The control plane of a P4Runtime server that runs: a program with many
    /// service flows, its registers and tables.
    Control(BenchControl),
    /// How late this machine wakes a thread that sleeps for 1.5 ms, under SCHED_RR
    /// and under the ordinary policy.
    Timers(BenchTimers),
}

/// Options of `bench control`.
#[derive(Debug, Args)]
pub struct BenchControl {
    /// The server.
    #[arg(long, value_name = "ADDRESS:PORT|unix:PATH")]
    pub address: ServerAddress,
    /// P4Runtime's device_id.
    #[arg(long, default_value_t = 0)]
    pub device_id: u64,
    /// The program, without its .json and .p4info.txtpb (p4src/build/cmts).
    #[arg(long, value_name = "PATH")]
    pub program: PathBuf,
    /// The program runs already: do not push it.
    #[arg(long)]
    pub no_push: bool,
    /// Bridge frames to this address to that port; may be repeated.
    #[arg(long, value_name = "MAC@PORT", value_parser = parse_station)]
    pub bridge: Vec<Station>,
    /// Reads and writes of all registers.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A station and the port that it is behind.
#[derive(Debug, Clone, Copy)]
pub struct Station {
    /// Its Ethernet address.
    pub address: [u8; 6],
    /// The port.
    pub port: u8,
}

fn parse_station(text: &str) -> Result<Station, String> {
    let bad = || format!("{text} is not MAC@PORT, as in 02:00:00:00:00:01@2");
    let (address, port) = text.split_once('@').ok_or_else(bad)?;
    let bytes: Vec<u8> = address
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).map_err(|_| bad()))
        .collect::<Result<_, _>>()?;
    Ok(Station {
        address: <[u8; 6]>::try_from(bytes).map_err(|_| bad())?,
        port: port.parse().map_err(|_| bad())?,
    })
}
