// SPDX-License-Identifier: Apache-2.0
//! The command line: simple_switch_grpc's, and sub-commands of our own.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A v1model switch with DOCSIS service-flow queues; takes the place of
/// simple_switch_grpc, options behind `--` included.
#[derive(Debug, Parser)]
#[command(
    name = "docsis-switch",
    version,
    args_conflicts_with_subcommands = true
)]
#[command(
    after_help = "Behind `--`: --grpc-server-addr ADDRESS:PORT, --cpu-port N, \
                        --priority-queues N, --drop-port N"
)]
pub struct Cli {
    /// What to do instead of being a switch.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Being a switch.
    #[command(flatten)]
    pub switch: SwitchArgs,
}

/// Sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure without a network.
    Bench {
        /// What to measure.
        #[command(subcommand)]
        what: Bench,
    },
    /// Forward frames between two interfaces without a pipeline, for comparison.
    Forward {
        /// One interface.
        first: String,
        /// The other.
        second: String,
    },
    /// Run tests in p4c's simple test format, without interfaces and in no time;
    /// exits 0 when all pass, 1 when one does not, 2 when a file cannot be read.
    Stf(StfArgs),
}

/// Options of `stf`.
#[derive(Debug, Args)]
pub struct StfArgs {
    /// A program as p4c compiled it and its test, again and again; or folders
    /// in which both have the same name.
    #[arg(required = true, value_name = "PROGRAM.json TEST.stf")]
    pub files: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The port of packet-in and packet-out; a port like others in a test.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=511))]
    pub cpu_port: Option<u16>,
    /// The egress_spec that means "drop".
    #[arg(long, default_value_t = 511, value_parser = clap::value_parser!(u16).range(1..=511))]
    pub drop_port: u16,
    /// Determines what programs draw at random.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// What `bench` measures.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Nanoseconds a packet takes through ingress, traffic manager and egress.
    Pipeline(BenchPipeline),
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
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The traffic manager between ingress and egress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrafficManagerKind {
    /// Service-flow queues with dual token buckets.
    Docsis,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    /// Everything.
    Trace,
    /// Also what log_msg says.
    Debug,
    /// Normal events.
    Info,
    /// What needs attention.
    #[value(alias = "warning")]
    Warn,
    /// Failures.
    #[value(alias = "critical")]
    Error,
    /// Nothing.
    Off,
}

/// Options of the switch.
#[derive(Debug, Args)]
pub struct SwitchArgs {
    /// The program, as p4c compiled it (BMv2 JSON).
    #[arg(value_name = "PIPELINE.json")]
    pub program: Option<PathBuf>,
    /// Attach a network interface to a port; may be repeated.
    #[arg(short, long = "interface", value_name = "PORT@INTERFACE", value_parser = parse_interface)]
    pub interface: Vec<(u16, String)>,
    /// P4Runtime's device_id.
    #[arg(long, default_value_t = 0)]
    pub device_id: u64,
    /// Start without a program; a P4Runtime client pushes one.
    #[arg(long)]
    pub no_p4: bool,
    /// The program's P4Info (text protobuf), so that P4Runtime clients need not push it.
    #[arg(long, value_name = "FILE")]
    pub p4info: Option<PathBuf>,
    /// The traffic manager between ingress and egress.
    #[arg(long, value_enum, default_value = "docsis")]
    pub traffic_manager: TrafficManagerKind,
    /// Determines what programs draw at random.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Capture frames into DIR/INTERFACE_in.pcap and DIR/INTERFACE_out.pcap.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// Log normal events to standard error, not warnings only.
    #[arg(long)]
    pub log_console: bool,
    /// Log to a file instead.
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// How much to log.
    #[arg(short = 'L', long, value_enum)]
    pub log_level: Option<LogLevel>,
    /// Nice value of the thread that forwards, -20 to 19 [default: -20 where permitted].
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// Run the thread that forwards under SCHED_RR with this priority. It waits
    /// awake for departures: give it a processor of its own.
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(i32).range(1..=99))]
    pub realtime: Option<i32>,

    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub thrift_port: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub nanolog: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub notifications_addr: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "")]
    pub debugger: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub dump_packet_data: Option<String>,
    /// BMv2's; without effect.
    #[arg(long, hide = true)]
    pub max_port_count: Option<String>,
    /// BMv2's; without effect: logs are not buffered.
    #[arg(long, hide = true)]
    pub log_flush: bool,
}

impl SwitchArgs {
    /// BMv2's options that were given and have no effect.
    pub fn ignored(&self) -> Vec<&'static str> {
        [
            ("--thrift-port", self.thrift_port.is_some()),
            ("--nanolog", self.nanolog.is_some()),
            ("--notifications-addr", self.notifications_addr.is_some()),
            ("--debugger", self.debugger.is_some()),
            ("--dump-packet-data", self.dump_packet_data.is_some()),
            ("--max-port-count", self.max_port_count.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect()
    }

    /// Checks what clap cannot.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self, target: &TargetArgs) -> Result<(), String> {
        if self.program.is_none() && !self.no_p4 {
            return Err("no program: give PIPELINE.json, or --no-p4 to wait for one".into());
        }
        if self.program.is_some() && self.no_p4 {
            return Err("both PIPELINE.json and --no-p4 are given; leave one out".into());
        }
        if self.p4info.is_some() && self.program.is_none() {
            return Err("--p4info needs PIPELINE.json".into());
        }
        for (n, (port, name)) in self.interface.iter().enumerate() {
            let before = &self.interface[..n];
            if before.iter().any(|(other, _)| other == port) {
                return Err(format!("port {port} is given two interfaces"));
            }
            if before.iter().any(|(_, other)| other == name) {
                return Err(format!("interface {name} is given two ports"));
            }
            if Some(*port) == target.cpu_port {
                return Err(format!(
                    "port {port} is the CPU port and cannot have interface {name}"
                ));
            }
            if *port == target.drop_port {
                return Err(format!(
                    "port {port} means \"drop\" and cannot have interface {name}"
                ));
            }
        }
        if target.cpu_port == Some(target.drop_port) {
            return Err(format!(
                "port {} cannot be both CPU port and drop port",
                target.drop_port
            ));
        }
        Ok(())
    }
}

/// Options behind `--`, as simple_switch_grpc's target parser has them.
#[derive(Debug, Parser)]
#[command(name = "docsis-switch ... --", no_binary_name = true)]
pub struct TargetArgs {
    /// Where the gRPC server listens.
    #[arg(long, default_value = "127.0.0.1:9559")]
    pub grpc_server_addr: SocketAddr,
    /// The port of packet-in and packet-out; without it there are none.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=511))]
    pub cpu_port: Option<u16>,
    /// BMv2's; here every service flow has a queue.
    #[arg(long)]
    pub priority_queues: Option<u32>,
    /// The egress_spec that means "drop".
    #[arg(long, default_value_t = 511, value_parser = clap::value_parser!(u16).range(1..=511))]
    pub drop_port: u16,
}

fn parse_interface(text: &str) -> Result<(u16, String), String> {
    let bad = || format!("`{text}` is not PORT@INTERFACE, as in 1@veth0");
    let (port, name) = text.split_once('@').ok_or_else(bad)?;
    let port: u16 = port.parse().map_err(|_| bad())?;
    if port > 510 {
        return Err(format!("port {port} is more than 510, the last of v1model"));
    }
    if name.is_empty() {
        return Err(bad());
    }
    Ok((port, name.to_owned()))
}

/// Parses the whole command line, the program's name in front.
///
/// # Errors
/// clap's, to be printed with [`clap::Error::exit`].
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<(Cli, TargetArgs), clap::Error> {
    let mut front: Vec<OsString> = args.into_iter().collect();
    let back = match front.iter().position(|arg| arg == "--") {
        Some(at) => {
            let back = front.split_off(at + 1);
            front.pop();
            back
        }
        None => Vec::new(),
    };
    Ok((
        Cli::try_parse_from(front)?,
        TargetArgs::try_parse_from(back)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<(Cli, TargetArgs), clap::Error> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn takes_what_mininet_scripts_pass() {
        let (cli, target) = parsed(
            "simple_switch_grpc -i 1@s1-eth1 -i 2@s1-eth2 --pcap /tmp/pcaps --nanolog \
             ipc:///tmp/bm-0-log.ipc --device-id 0 build/basic.json --log-console \
             --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255",
        )
        .unwrap();
        let switch = cli.switch;
        switch.check(&target).unwrap();
        assert_eq!(
            switch.interface,
            [(1, "s1-eth1".into()), (2, "s1-eth2".into())]
        );
        assert_eq!(switch.program.as_deref(), Some("build/basic.json".as_ref()));
        assert_eq!(switch.ignored(), ["--thrift-port", "--nanolog"]);
        assert_eq!(target.cpu_port, Some(255));
        assert_eq!(target.grpc_server_addr.port(), 50051);
    }

    #[test]
    fn takes_interfaces_with_an_equals_sign_and_no_program() {
        let (cli, target) =
            parsed("docsis-switch --interface=3@eth0 --no-p4 --log-level warning").unwrap();
        cli.switch.check(&target).unwrap();
        assert_eq!(cli.switch.interface, [(3, "eth0".into())]);
        assert_eq!(cli.switch.log_level, Some(LogLevel::Warn));
        assert_eq!((target.drop_port, target.cpu_port), (511, None));
    }

    #[test]
    fn sub_commands_are_not_programs() {
        let (cli, _) = parsed("docsis-switch forward a b").unwrap();
        assert!(matches!(cli.command, Some(Command::Forward { .. })));
        let (cli, _) = parsed("docsis-switch bench pipeline --program cm.json --json").unwrap();
        assert!(matches!(cli.command, Some(Command::Bench { .. })));
    }

    #[test]
    fn refuses_what_cannot_be() {
        for line in [
            "x",
            "x a.json --no-p4",
            "x --no-p4 --p4info f",
            "x --no-p4 -i 1@a -i 1@b",
            "x --no-p4 -i 1@a -i 2@a",
            "x --no-p4 -i 255@a -- --cpu-port 255",
            "x --no-p4 -i 5@a -- --drop-port 5",
        ] {
            let (cli, target) = parsed(line).unwrap();
            assert!(cli.switch.check(&target).is_err(), "{line}");
        }
        for line in [
            "x --no-p4 -i 1",
            "x --no-p4 -i @a",
            "x --no-p4 -i 511@a",
            "x --no-p4 -- --cpu-port 0",
            "x --no-p4 -- --grpc-server-addr nonsense",
            "x --no-p4 --traffic-manager bmv2",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
