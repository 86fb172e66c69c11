// SPDX-License-Identifier: Apache-2.0
//! Starts a switch: puts its devices, their ports and the gRPC server together.

use crate::cli::{RfLinkArg, SwitchArgs, TargetArgs};
use crate::clock::Clock;
use crate::control::{Command, Control};
use crate::defect;
use crate::device_thread::{self, Common, Scheduling, ToRecord, Wanted};
use crate::ending::Ending;
use crate::link::LinkMonitor;
use crate::logging;
use crate::port::Time;
use crate::ports::Opening;
use crate::privileges;
use crate::process::{Switch, logs_messages};
use crate::server::GrpcServer;
use crate::spool::Spools;
use crate::wait::{PollSet, Signals};
use crate::waker::Waker;
use device::{DeviceConfig, ModelKind};
use grpc_services::journal::Journal;
use grpc_services::{PipelineConfig, ServedDevice, ServerAddress, ServerOptions, TlsOptions};
use plant::End;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use tracing::{info, warn};
use v1model::{LoadOptions, Program};

/// How soon to look again whether a thread that said so has ended, ns.
const LOOK_AGAIN: u64 = 5_000_000;
/// How soon to try again to open an interface that came back, ns.
const OPEN_AGAIN: u64 = 1_000_000_000;

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
fn load_program(path: &Path, options: &LoadOptions) -> Result<(Arc<Program>, Vec<u8>), String> {
    let json = read("program", path)?;
    let program = Program::load_with(&json, options)
        .map_err(|error| format!("program {}: {error}", path.display()))?;
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
    let info = grpc_services::p4info_from_text(&text).map_err(place)?;
    PipelineConfig::new(info, json, Arc::clone(program)).map_err(place)
}

/// TLS, by our flags or by those of simple_switch_grpc.
fn tls(args: &SwitchArgs, target: &TargetArgs) -> Result<Option<TlsOptions>, String> {
    if let (Some(cert), Some(key)) = (&args.grpc_tls_cert, &args.grpc_tls_key) {
        let client_ca = args.grpc_tls_client_ca.as_deref();
        return TlsOptions::from_files(cert, key, client_ca).map(Some);
    }
    if !target.grpc_server_ssl {
        return Ok(None);
    }
    let (Some(cert), Some(key)) = (&target.grpc_server_cert, &target.grpc_server_key) else {
        return Err("--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key".into());
    };
    let client_ca = match (
        &target.grpc_server_cacert,
        target.grpc_server_with_client_auth,
    ) {
        (Some(ca), true) => Some(ca.as_path()),
        (None, true) => {
            return Err("--grpc-server-with-client-auth needs --grpc-server-cacert".into());
        }
        (_, false) => None,
    };
    TlsOptions::from_files(cert, key, client_ca).map(Some)
}

/// Says what has no effect, or not the one that may be expected.
fn warn_of(args: &SwitchArgs, target: &TargetArgs) {
    for (flag, why) in args.ignored().into_iter().chain(target.ignored()) {
        warn!("{flag} has no effect: {why}");
    }
    if target.priority_queues.is_some() && args.model(target) == ModelKind::Docsis {
        warn!(
            "--priority-queues has no effect: every service flow has a queue of its own; see \
             --traffic-manager bmv2"
        );
    }
    if !target.grpc_server_ssl
        && (target.grpc_server_cacert.is_some()
            || target.grpc_server_cert.is_some()
            || target.grpc_server_key.is_some()
            || target.grpc_server_with_client_auth)
    {
        warn!("certificates have no effect without --grpc-server-ssl");
    }
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// One sentence: what is wrong, where, and what to do.
pub fn run(args: &SwitchArgs, target: &TargetArgs) -> Result<(), String> {
    args.check(target)?;
    // Before any thread is started, so that all of them leave signals to this one.
    let signals =
        Signals::block().map_err(|error| format!("signals cannot be received: {error}"))?;
    privileges::gain_no_more()
        .map_err(|error| format!("privileges cannot be given up: {error}"))?;
    let log = logging::start(args.log_file.as_deref(), args.log_level, args.log_console)?;
    if let Some(path) = &args.log_file {
        defect::also_in(path.clone());
    }
    warn_of(args, target);
    let tls = tls(args, target)?;
    let clock = Clock::start();
    let load = LoadOptions {
        bmv2_quirks: args.bmv2_quirks,
        ..LoadOptions::default()
    };
    let program = args.program.as_deref();
    let program = program.map(|path| load_program(path, &load)).transpose()?;
    let (program, json) = program.unzip();
    let opening = Opening {
        offloads_off: args.offloads_off,
        wait_for_room: args.model(target) != ModelKind::Docsis,
        lateness: args.lateness_bound_ms * 1_000_000,
    };
    let mut spools = Spools::default();
    let mut device_traces = BTreeMap::new();
    for one in &args.device_trace {
        let trace = args.trace.open_device(&one.file, &mut spools)?;
        device_traces.insert(one.device, trace);
    }
    let common = Common {
        clock,
        program,
        load,
        pcap: args.pcap.as_deref(),
        opening,
        log_messages: logs_messages(log.level()),
        trace: args
            .trace
            .open_spooled(args.devices().len() > 1, &mut spools)?,
        device_traces,
    };
    let mut links = LinkMonitor::open(opening)
        .map_err(|error| format!("interfaces cannot be watched: {error}"))?;

    let devices = args.devices();
    let (mut runnable, mut served, mut controls) = (Vec::new(), Vec::new(), Vec::new());
    let mut destination = args.record.open()?;
    let mut recording = None;
    let mut plant = None;
    for group in groups(args) {
        let mut wanted = Vec::new();
        for device_id in &group {
            let pipeline = match (&args.p4info, &common.program, &json) {
                (Some(p4info), Some(program), Some(json)) => {
                    Some(pipeline_config(p4info, program, json.clone())?)
                }
                _ => None,
            };
            let ends = args.rf_ends().filter(|(device, _)| device == device_id);
            wanted.push(Wanted {
                config: DeviceConfig {
                    device_id: *device_id,
                    cpu_port: target.cpu_port,
                    drop_port: target.drop_port,
                    seed: args.seed,
                    traffic_manager: args.model(target),
                    lateness_bound: args.lateness_bound_ms * 1_000_000,
                },
                interfaces: devices.get(device_id).cloned().unwrap_or_default(),
                rf_ports: ends.map(|(_, port)| port).collect(),
                pipeline,
            });
        }
        let rf_links = rf_links(args, &group);
        let mut prepared = device_thread::prepare(wanted, &rf_links, &common, &mut spools)?;
        if prepared.plant.is_some() {
            prepared.capture(args.channel_pcap.open(clock.wall(0), &mut spools)?)?;
        }
        if let Some(destination) = destination.take() {
            let p4info = args.p4info.as_deref();
            let p4info = p4info.map(|path| read("P4Info", path)).transpose()?;
            let to = ToRecord {
                destination,
                program: json.clone().map(|json| (json, p4info)),
            };
            recording = Some(prepared.record(to, &common)?);
        }
        // The thread's ports are those of its devices, one device after the other.
        let mut index = 0;
        for device_id in &group {
            for (port, name) in devices.get(device_id).into_iter().flatten() {
                links.watch(*device_id, *port, name, index, prepared.control.clone());
                index += 1;
            }
        }
        served.append(&mut prepared.served);
        controls.push(prepared.control.clone());
        plant = plant.or(prepared.plant.take());
        runnable.push((group[0], prepared.runnable()));
    }

    let process = Switch {
        name: args.invoked_as(),
        clock,
        log,
        devices: shown(args, &devices),
        program: common.program.clone().zip(args.program.clone()),
        controls: controls.clone(),
    };
    let options = ServerOptions {
        tls,
        process: Some(Arc::new(process)),
        journal: recording
            .as_ref()
            .map(|recording| -> Arc<dyn Journal> { recording.recorder() }),
        plant,
        ..Default::default()
    };
    let mut servers = Vec::new();
    for (address, devices) in by_address(args, target, served) {
        if options.tls.is_none() && address.is_beyond_this_machine() {
            warn!(
                "gRPC on {address} is not encrypted, and whoever reaches it drives the switch: use \
                 --grpc-tls-cert with --grpc-tls-client-ca, a loopback address, or unix:PATH"
            );
        }
        servers.push(GrpcServer::start(address, devices, &options)?);
    }

    let ended = Waker::new().map_err(|error| format!("no event descriptor: {error}"))?;
    let how = Scheduling {
        nice: args.nice,
        realtime: args.realtime,
    };
    let mut threads = Vec::new();
    for (device_id, device) in runnable {
        threads.push(device_thread::start(device_id, device, how, ended.clone())?);
    }
    let ending = Ending::watch(signals, ended.clone())?;
    privileges::keep_for_interfaces(!args.interface.is_empty())
        .map_err(|error| format!("privileges cannot be given up: {error}"))?;
    #[cfg(not(test))]
    crate::allocator::tidy_up();
    println!(
        "docsis-switch: ready, {}, gRPC on {}",
        summary(&shown(args, &devices)),
        addresses(&servers)
    );
    let _ = std::io::stdout().flush();
    info!("ready");
    #[cfg(debug_assertions)]
    if args.test_defect {
        defect::provoke();
    }
    supervise(&ending, &ended, &mut links, &controls, &threads, args);
    for thread in threads {
        let _ = thread.join();
    }
    servers.into_iter().for_each(GrpcServer::stop);
    if let Some(recording) = recording {
        recording.close();
    }
    // What they have not written yet is written when nobody traces any more.
    drop(common);
    spools.close();
    info!("stopped");
    Ok(())
}

/// The devices of each thread: those that RF links join have one, each other its own.
fn groups(args: &SwitchArgs) -> Vec<Vec<u64>> {
    let joined: BTreeSet<u64> = args.rf_ends().map(|(device, _)| device).collect();
    let alone = args.devices().into_keys();
    let alone = alone.filter(|device| !joined.contains(device));
    let mut groups: Vec<Vec<u64>> = alone.map(|device| vec![device]).collect();
    if !joined.is_empty() {
        groups.push(joined.into_iter().collect());
    }
    groups
}

/// The RF links between devices of a thread, by their places there.
fn rf_links(args: &SwitchArgs, group: &[u64]) -> Vec<[End; 2]> {
    let end = |(device, port): (u64, u16)| {
        let place = group.iter().position(|id| *id == device)?;
        let node = u32::try_from(place).ok()?;
        Some(End { node, port })
    };
    let both = |link: &RfLinkArg| Some([end(link.0[0])?, end(link.0[1])?]);
    args.rf_link.iter().filter_map(both).collect()
}

/// The devices with what is behind their ports, for people: interfaces, and RF links.
fn shown(
    args: &SwitchArgs,
    devices: &BTreeMap<u64, Vec<(u16, String)>>,
) -> Vec<(u64, Vec<(u16, String)>)> {
    let mut shown = devices.clone();
    for RfLinkArg([one, other]) in &args.rf_link {
        for (near, far) in [(one, other), (other, one)] {
            let words = format!("RF link to port {} of device {}", far.1, far.0);
            shown.entry(near.0).or_default().push((near.1, words));
        }
    }
    shown.into_iter().collect()
}

/// Which devices are served where.
fn by_address(
    args: &SwitchArgs,
    target: &TargetArgs,
    served: Vec<ServedDevice>,
) -> Vec<(ServerAddress, Vec<ServedDevice>)> {
    let mut found: Vec<(ServerAddress, Vec<ServedDevice>)> = Vec::new();
    for device in served {
        let id = device.handle.device_id();
        let mut own = args.device_grpc_addr.iter();
        let own = own.find(|one| one.device == id).map(|one| &one.address);
        let address = own.unwrap_or(&target.grpc_server_addr);
        // Port 0 is another port each time.
        match found.iter_mut().find(|(known, _)| known == address) {
            Some((_, devices)) if !address.is_any_port() || own.is_none() => devices.push(device),
            _ => found.push((address.clone(), vec![device])),
        }
    }
    found
}

/// Where the servers listen, in words.
fn addresses(servers: &[GrpcServer]) -> String {
    let words = servers.iter().map(|server| server.address().to_string());
    words.collect::<Vec<_>>().join(" and ")
}

/// The devices and their ports, in words.
fn summary(devices: &[(u64, Vec<(u16, String)>)]) -> String {
    let words = devices
        .iter()
        .map(|(id, ports)| format!("device {id} with {} ports", ports.len()));
    words.collect::<Vec<_>>().join(", ")
}

/// Watches interfaces until all devices have ended. The first signal lets them.
fn supervise(
    ending: &Ending,
    ended: &Waker,
    links: &mut LinkMonitor,
    controls: &[Control],
    threads: &[JoinHandle<()>],
    args: &SwitchArgs,
) {
    let mut poll = PollSet::of([ended.as_raw_fd(), links.as_raw_fd()]);
    let mut told = false;
    let mut closed = links.check();
    while !threads.iter().all(JoinHandle::is_finished) {
        poll.wait(if told {
            Some(LOOK_AGAIN)
        } else {
            closed.then_some(OPEN_AGAIN)
        });
        if poll.is_ready(0) {
            ended.reset();
        }
        if ending.is_asked() && !told {
            told = true;
            info!("stopping: queues have {} ms to empty", args.drain_ms);
            for control in controls {
                control.send(Command::Stop {
                    drain_ns: args.drain_ms * 1_000_000,
                });
            }
        }
        if poll.is_ready(1) || (closed && !told) {
            closed = links.check();
        }
    }
}
