// SPDX-License-Identifier: Apache-2.0
//! The command line: simple_switch_grpc's, and sub-commands of our own.

mod channel_pcap;
mod ctl;
mod device_address;
mod device_trace;
mod port;
mod rf_link;
mod switch;
mod target;
mod timers;
#[cfg(feature = "workbench")]
mod workbench;
#[cfg(not(feature = "workbench"))]
#[path = "cli/left_out.rs"]
mod workbench;

use crate::replay::ReplayArgs;
use crate::trace::TraceArgs;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use ctl::{Ctl, CtlArgs, FollowArgs};
pub use rf_link::RfLinkArg;
pub use switch::{LogLevel, SwitchArgs};
pub use target::TargetArgs;
pub use timers::BenchTimers;
pub use workbench::{Bench, Sample};
#[cfg(feature = "workbench")]
pub use workbench::{BenchControl, Station};

/// The program that this switch takes the place of.
pub const BMV2: &str = "simple_switch_grpc";

/// A v1model switch with DOCSIS service-flow queues; takes the place of
/// simple_switch_grpc, options behind `--` included.
#[derive(Debug, Parser)]
#[command(
    name = "docsis-switch",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true
)]
#[command(after_help = "Behind `--`, as in simple_switch_grpc: \
                  --grpc-server-addr ADDRESS:PORT, --cpu-port N, --drop-port N, \
                  --priority-queues N; see `docsis-switch -- --help`")]
pub struct Cli {
    /// Print the version.
    #[arg(short = 'V', long, visible_short_alias = 'v', action = clap::ArgAction::Version)]
    version: Option<bool>,
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
    /// Give a modem's pipeline many frames in no time, and say what became of them.
    Sample {
        /// What of them.
        #[command(subcommand)]
        what: Sample,
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
    /// Give new devices what recorded ones were given (`--record`), in virtual time, and compare
    /// all that they give, to the nanosecond; exits 0 when all is the same, 1 when something
    /// differs, 2 when a file cannot be replayed.
    Replay(ReplayArgs),
    /// Ask a running switch, or tell it something.
    Ctl(CtlArgs),
    /// Make DIR/simple_switch_grpc a link to this program, for scripts that
    /// start it by that name: put DIR into PATH, in front.
    InstallAlias {
        /// A folder; made if need be.
        dir: PathBuf,
    },
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
    /// Tracing.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Show what happened to the packets that a failure is about.
    #[arg(long)]
    pub explain: bool,
    /// Do as BMv2 does where that contradicts P4_16.
    #[arg(long)]
    pub bmv2_quirks: bool,
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

/// Parses the whole command line, the program's name in front.
///
/// # Errors
/// clap's, to be printed with [`clap::Error::exit`].
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<(Cli, TargetArgs), clap::Error> {
    let mut front: Vec<OsString> = args.into_iter().collect();
    let name = front.first().and_then(|name| Path::new(name).file_name());
    let name = name.map(|name| name.to_string_lossy().into_owned());
    let back = match front.iter().position(|arg| arg == "--") {
        Some(at) => {
            let back = front.split_off(at + 1);
            front.pop();
            back
        }
        None => Vec::new(),
    };
    let other_side =
        |error, side: &clap::Command, place| misplaced(&error, side, place).unwrap_or(error);
    let mut cli = Cli::try_parse_from(front)
        .map_err(|error| other_side(error, &TargetArgs::command(), "behind"))?;
    cli.switch.invoked_as = name;
    let target = TargetArgs::try_parse_from(back)
        .map_err(|error| other_side(error, &Cli::command(), "in front of"))?;
    Ok((cli, target))
}

/// What to say of an option that is unknown where it stands, and known on the
/// `other` side of `--`; clap's guesses would lead astray.
fn misplaced(error: &clap::Error, other: &clap::Command, place: &str) -> Option<clap::Error> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let long = name.strip_prefix("--")?;
    other
        .get_arguments()
        .any(|arg| arg.get_long() == Some(long))
        .then(|| {
            let words = format!(
                "{name} goes {place} `--`, as with BMv2: simple_switch_grpc -i 0@veth0 \
                 prog.json -- --grpc-server-addr 127.0.0.1:9559\n"
            );
            clap::Error::raw(ErrorKind::UnknownArgument, words)
        })
}

#[cfg(test)]
mod tests;
