// SPDX-License-Identifier: Apache-2.0
//! The switch as a process.

mod bench;
mod cli;
mod clock;
mod forward;
mod interface;
mod lateness;
mod logging;
mod packet_socket;
mod pcap;
mod ports;
mod provision;
mod run;
mod scheduling;
mod server;
mod stf;
mod switch;
#[cfg(test)]
mod veth_tests;
mod wait;

use cli::{Bench, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (cli, target) = match cli::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => error.exit(),
    };
    let result = match cli.command {
        Some(Command::Stf(options)) => return stf::run(&options),
        Some(Command::Forward { first, second }) => {
            logging::start(None, None, false).and_then(|()| forward::run(&first, &second))
        }
        Some(Command::Bench {
            what: Bench::Pipeline(options),
        }) => bench::run(&options),
        None => switch::run(&cli.switch, &target),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("docsis-switch: {sentence}");
            ExitCode::FAILURE
        }
    }
}
