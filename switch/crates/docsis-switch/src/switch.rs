// SPDX-License-Identifier: Apache-2.0
//! Being a switch: puts the device, its ports and the gRPC server together.

use crate::cli::{SwitchArgs, TargetArgs};
use crate::clock::Clock;
use crate::logging;
use crate::ports::Ports;
use crate::run::Shell;
use crate::scheduling;
use crate::server::GrpcServer;
use crate::wait::{Signals, Waker};
use device::{Device, DeviceConfig, handle};
use p4runtime::{PipelineConfig, ServedDevice};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tracing::{debug, info, warn};
use v1model::Program;

/// Nice value of the thread that forwards: a switch that waits for a processor
/// while others compute is late, and lateness costs rate.
pub const NICE: i32 = -20;

/// A file of the command line: its bytes.
///
/// # Errors
/// One sentence that names it.
fn read(what: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path)
        .map_err(|error| format!("{what} {} cannot be read: {error}", path.display()))
}

/// Reads a compiled program; gives the JSON, too.
///
/// # Errors
/// One sentence that names the file, and the P4 source position where known.
pub fn load_program(path: &Path) -> Result<(Arc<Program>, Vec<u8>), String> {
    let json = read("program", path)?;
    let program =
        Program::load(&json).map_err(|error| format!("program {}: {error}", path.display()))?;
    Ok((Arc::new(program), json))
}

/// The P4Info that goes with a program.
fn pipeline_config(
    p4info: &Path,
    program: &Arc<Program>,
    json: Vec<u8>,
) -> Result<PipelineConfig, String> {
    let place = |error: String| format!("P4Info {}: {error}", p4info.display());
    let text = String::from_utf8(read("P4Info", p4info)?)
        .map_err(|_| place("is not text; give p4c's .txtpb file".into()))?;
    let info = p4runtime::p4info_from_text(&text).map_err(place)?;
    PipelineConfig::new(info, json, Arc::clone(program)).map_err(place)
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// One sentence: what is wrong, where, and what to do.
pub fn run(args: &SwitchArgs, target: &TargetArgs) -> Result<(), String> {
    args.check(target)?;
    logging::start(args.log_file.as_deref(), args.log_level, args.log_console)?;
    for flag in args.ignored() {
        warn!("{flag} has no effect: this switch has no such interface");
    }
    if target.priority_queues.is_some() {
        warn!("--priority-queues has no effect: every service flow has a queue of its own");
    }
    // Before any thread is started, so that all of them leave signals to this one.
    let signals =
        Signals::block().map_err(|error| format!("signals cannot be received: {error}"))?;
    let clock = Clock::start();
    let waker = Waker::new().map_err(|error| format!("no event descriptor: {error}"))?;
    let program = args.program.as_deref().map(load_program).transpose()?;
    let (program, json) = program.unzip();
    let pipeline = match (&args.p4info, &program, json) {
        (Some(p4info), Some(program), Some(json)) => Some(pipeline_config(p4info, program, json)?),
        _ => None,
    };

    let mut device = Device::new(DeviceConfig {
        device_id: args.device_id,
        cpu_port: target.cpu_port,
        drop_port: target.drop_port,
        seed: args.seed,
        ..Default::default()
    });
    if tracing::enabled!(tracing::Level::DEBUG) {
        device.set_pipeline_hook(|pipeline| {
            pipeline.set_log(Some(Box::new(|text: &str| debug!("{text}"))));
        });
    }
    for (port, _) in &args.interface {
        device.add_port(*port);
    }
    if let Some(program) = program {
        device.load(clock.now(), program);
    }

    let wake = waker.clone();
    let (handle, requests, event_sender, events) =
        handle::channel(args.device_id, target.cpu_port, move || wake.wake());
    let ports = Ports::open(&args.interface, args.pcap.as_deref(), clock, event_sender)?;

    let served = ServedDevice {
        handle,
        events,
        pipeline,
    };
    // Before this thread's priority is raised, which others would inherit.
    let server = GrpcServer::start(target.grpc_server_addr, served)?;

    scheduling::exact_timers();
    match (args.nice, scheduling::nice(args.nice.unwrap_or(NICE))) {
        (Some(value), Err(error)) => {
            return Err(format!("--nice {value}: not permitted: {error}"));
        }
        (None, Err(error)) => warn!("departures may be late under load: no nice {NICE}: {error}"),
        (_, Ok(())) => {}
    }
    if let Some(priority) = args.realtime {
        scheduling::realtime(priority)
            .map_err(|error| format!("--realtime {priority}: not permitted: {error}"))?;
    }

    println!(
        "docsis-switch: ready, device {} with {} ports, gRPC on {}",
        args.device_id,
        args.interface.len(),
        server.address()
    );
    let _ = std::io::stdout().flush();
    info!("ready");
    Shell {
        device,
        ports,
        requests,
        waker,
        signals,
        clock,
    }
    .run();
    server.stop();
    info!("stopped");
    Ok(())
}
