// SPDX-License-Identifier: Apache-2.0
//! Options behind `--`, as simple_switch_grpc's target parser has them.

use clap::Parser;
use grpc_services::ServerAddress;
use std::path::PathBuf;

/// Options behind `--`.
#[derive(Debug, Parser)]
#[command(name = "docsis-switch ... --", no_binary_name = true)]
pub struct TargetArgs {
    /// Where the gRPC server listens: a TCP address, or a Unix socket for this user's processes
    /// only, in a folder that nobody else may enter; it is made if need be.
    #[arg(
        long,
        default_value = "127.0.0.1:9559",
        value_name = "ADDRESS:PORT|unix:PATH"
    )]
    pub grpc_server_addr: ServerAddress,
    /// The port of packet-in and packet-out; without it there are none.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=511))]
    pub cpu_port: Option<u16>,
    /// Queues on each port, with strict priority, for --traffic-manager bmv2 [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub priority_queues: Option<u8>,
    /// The egress_spec that means "drop".
    #[arg(long, value_name = "N", default_value_t = 511, value_parser = clap::value_parser!(u16).range(1..=511))]
    pub drop_port: u16,
    /// TLS for gRPC, with the certificate and key below.
    #[arg(long)]
    pub grpc_server_ssl: bool,
    /// As --grpc-tls-client-ca, with --grpc-server-with-client-auth.
    #[arg(long, value_name = "FILE")]
    pub grpc_server_cacert: Option<PathBuf>,
    /// As --grpc-tls-cert.
    #[arg(long, value_name = "FILE")]
    pub grpc_server_cert: Option<PathBuf>,
    /// As --grpc-tls-key.
    #[arg(long, value_name = "FILE")]
    pub grpc_server_key: Option<PathBuf>,
    /// Clients must have a certificate.
    #[arg(long)]
    pub grpc_server_with_client_auth: bool,

    /// BMv2's; without effect: a pipeline config always takes effect at once.
    #[arg(long, hide = true)]
    pub disable_swap: bool,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub dp_grpc_server_addr: Option<String>,
    /// BMv2's; without effect: memory is the limit.
    #[arg(long, hide = true)]
    pub max_mc_groups: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub max_l1_entries: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub max_l2_entries: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub load_modules: Option<String>,
}

impl TargetArgs {
    /// BMv2's options that were given and have no effect, and why.
    pub fn ignored(&self) -> Vec<(&'static str, &'static str)> {
        let sized = "groups and entries are limited by memory only";
        [
            (
                "--disable-swap",
                self.disable_swap,
                "a new pipeline takes effect when P4Runtime says so",
            ),
            (
                "--dp-grpc-server-addr",
                self.dp_grpc_server_addr.is_some(),
                "packets come from interfaces, and from the CPU port over P4Runtime",
            ),
            ("--max-mc-groups", self.max_mc_groups.is_some(), sized),
            ("--max-l1-entries", self.max_l1_entries.is_some(), sized),
            ("--max-l2-entries", self.max_l2_entries.is_some(), sized),
            (
                "--load-modules",
                self.load_modules.is_some(),
                "this switch loads no modules; a program that needs one is refused",
            ),
        ]
        .into_iter()
        .filter_map(|(name, given, why)| given.then_some((name, why)))
        .collect()
    }
}
