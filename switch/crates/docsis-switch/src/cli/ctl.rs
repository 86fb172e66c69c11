// SPDX-License-Identifier: Apache-2.0
//! Options of `docsis-switch ctl`.

use super::LogLevel;
use clap::{Args, Subcommand};
use grpc_services::ServerAddress;
use std::path::PathBuf;

/// Options of `ctl`.
#[derive(Debug, Args)]
pub struct CtlArgs {
    /// Where its gRPC server listens.
    #[arg(
        long,
        global = true,
        default_value = "127.0.0.1:9559",
        value_name = "ADDRESS:PORT|unix:PATH"
    )]
    pub address: ServerAddress,
    /// With TLS: the certificate authority of the server's certificate (PEM).
    #[arg(long, global = true, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// With TLS: the name in the server's certificate [default: the address].
    #[arg(long, global = true, value_name = "NAME")]
    pub tls_name: Option<String>,
    /// With TLS: this client's certificate (PEM).
    #[arg(long, global = true, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// With TLS: this client's key (PEM).
    #[arg(long, global = true, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to ask.
    #[command(subcommand)]
    pub what: Ctl,
}

/// What `ctl` does.
#[derive(Debug, Subcommand)]
pub enum Ctl {
    /// Every counter, by device, port and queue.
    Counters {
        /// Only this device's.
        #[arg(long)]
        device_id: Option<u64>,
        /// Also those that are 0.
        #[arg(long)]
        all: bool,
    },
    /// How much is logged, or from now on.
    LogLevel {
        /// The new level.
        #[arg(value_enum)]
        level: Option<LogLevel>,
    },
    /// What happens to packets from now on, until Ctrl-C. Packets never wait for
    /// it: when there are too many, some are passed over, which is told on
    /// standard error. With --json an object on a line for each event.
    Trace(FollowArgs),
    /// How late devices ran what was due, and whether what was measured is valid.
    Lateness {
        /// Only this device's.
        #[arg(long)]
        device_id: Option<u64>,
    },
    /// Programs, devices, ports, time and memory.
    Info,
}

/// Options of `ctl trace`.
#[derive(Debug, Args)]
pub struct FollowArgs {
    /// Only this device's packets.
    #[arg(long)]
    pub device_id: Option<u64>,
    /// Only packets that come in from this port; may be repeated.
    #[arg(long)]
    pub port: Vec<u16>,
    /// End after so many packets; their copies come on top.
    #[arg(long, value_name = "PACKETS")]
    pub count: Option<u64>,
    /// At most so many packets a second and device [default: 1000].
    #[arg(long, value_name = "PACKETS")]
    pub rate: Option<u64>,
}
