// SPDX-License-Identifier: Apache-2.0
//! Runs the switch as a process.

mod alias;
// Tests take the system's.
#[cfg(not(test))]
mod allocator;
mod arrivals;
mod awake;
mod bench;
mod captures;
mod cli;
mod clock;
mod control;
mod ctl;
mod defect;
mod device_core;
mod device_thread;
mod ending;
mod forward;
mod interface;
mod last_words;
mod link;
mod linux;
mod lock;
mod logging;
mod member;
mod outbox;
mod output_file;
mod packet_socket;
mod port;
mod ports;
mod privileges;
mod process;
mod record;
mod replay;
mod run;
mod scheduling;
mod server;
mod slack;
mod spool;
mod standard_error;
mod stf;
mod switch;
#[cfg(test)]
mod testing;
mod trace;
#[cfg(test)]
mod veth_tests;
mod wait;
mod waker;

use cli::Command;
use std::process::ExitCode;

/// The version of BMv2's JSON format that is read.
const JSON_VERSION: &str = "2.23";

fn main() -> ExitCode {
    defect::install();
    let (cli, target) = match cli::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => error.exit(),
    };
    #[cfg(not(test))]
    if cli.command.is_some() {
        // A switch does so when it has given up its privileges.
        allocator::tidy_up();
    }
    let result = match cli.command {
        Some(Command::Stf(options)) => return stf::run(&options),
        Some(Command::Replay(options)) => return replay::run(&options),
        Some(Command::Forward { first, second }) => forward::run(&first, &second),
        Some(Command::Bench { what }) => bench::run(&what),
        Some(Command::Sample { what }) => bench::sample(&what),
        Some(Command::Ctl(options)) => ctl::run(&options),
        Some(Command::InstallAlias { dir }) => alias::install(&dir),
        None if cli.switch.json_version => {
            println!("{JSON_VERSION}");
            Ok(())
        }
        None => switch::run(&cli.switch, &target),
    };
    logging::finish();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("docsis-switch: {sentence}");
            ExitCode::FAILURE
        }
    }
}
