// SPDX-License-Identifier: Apache-2.0
//! Devices and the thread that runs them. A thread runs one device, or all those that RF links
//! join.

use crate::clock::Clock;
use crate::control::Control;
use crate::device_core::{self, Core, Rf};
use crate::lock::Lock;
use crate::member::Member;
use crate::port::Time;
use crate::ports::{Opening, Ports};
use crate::privileges;
use crate::process::log_messages;
use crate::record::{Destination, Recording};
use crate::run::Shell;
use crate::scheduling;
use crate::spool::Spools;
use crate::trace::Trace;
use crate::waker::Waker;
use device::{Device, DeviceConfig, handle};
use grpc_services::{PipelineConfig, ServedDevice};
use plant::{CaptureFile, End, Plant, PlantHandle};
use recording::format::{self, Header};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{Builder, JoinHandle};
use tracing::warn;
use v1model::{LoadOptions, Program};

/// The nice value of the threads that forward. It is low because a switch that waits for a
/// processor is late, and lateness costs rate.
pub const NICE: i32 = -20;

/// The settings that all devices are started with.
pub struct Common<'a> {
    /// The clock of all devices.
    pub clock: Clock,
    /// The program that the devices run at first.
    pub program: Option<Arc<Program>>,
    /// How this and later programs are loaded.
    pub load: LoadOptions,
    /// The folder for captures of frames.
    pub pcap: Option<&'a Path>,
    /// How interfaces are opened.
    pub opening: Opening,
    /// Whether `log_msg` writes to the log.
    pub log_messages: bool,
    /// The file that traces of all devices' packets are written to.
    pub trace: Option<Trace>,
    /// The files that traces of single devices' packets are written to.
    pub device_traces: BTreeMap<u64, Trace>,
}

/// How the kernel is to schedule a device's thread.
#[derive(Debug, Clone, Copy)]
pub struct Scheduling {
    /// Nice value; `None` is [`NICE`] where that is permitted.
    pub nice: Option<i32>,
    /// Priority under SCHED_RR.
    pub realtime: Option<i32>,
}

/// A device that is to run.
pub struct Wanted {
    /// The device's settings.
    pub config: DeviceConfig,
    /// The ports with interfaces.
    pub interfaces: Vec<(u16, String)>,
    /// The ports with RF links.
    pub rf_ports: Vec<u16>,
    /// The pipeline that clients are told the device runs.
    pub pipeline: Option<PipelineConfig>,
}

/// Devices that are ready to run on a thread of their own.
pub struct Prepared {
    shell: Shell,
    /// For the server, in the order of the devices.
    pub served: Vec<ServedDevice>,
    /// For the main thread.
    pub control: Control,
    /// The way to the plant that joins the devices.
    pub plant: Option<PlantHandle>,
    loaded_at: u64,
}

/// The file that a device is recorded to, and the program that it runs at first.
pub struct ToRecord {
    /// The recording's file.
    pub destination: Destination,
    /// The content of the program's file and of its P4Info's.
    pub program: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Makes devices with their ports open: one, or several that RF links join, whose ends are named by
/// the devices' places.
///
/// # Errors
/// One sentence that names the interface or file.
pub fn prepare(
    wanted: Vec<Wanted>,
    rf_links: &[[End; 2]],
    common: &Common<'_>,
    spools: &mut Spools,
) -> Result<Prepared, String> {
    let waker = Waker::new().map_err(|error| format!("no event descriptor: {error}"))?;
    let logs = Arc::new(AtomicBool::new(common.log_messages));
    let loaded_at = common.clock.now();
    // This is set below, when there is a core for the handles' requests to go to.
    let entrance: Arc<OnceLock<Weak<Lock<Core>>>> = Arc::default();
    let wake = || {
        let (way, wake) = (Arc::clone(&entrance), waker.clone());
        move || match way.get() {
            Some(core) => device_core::serve(core, &wake),
            None => wake.wake(),
        }
    };
    let seed = wanted.first().map_or(0, |one| one.config.seed);
    let ids: Vec<u64> = wanted.iter().map(|one| one.config.device_id).collect();
    let (mut members, mut served) = (Vec::new(), Vec::new());
    for one in wanted {
        let (member, device) = member(one, loaded_at, &logs, (wake(), &waker), common, spools)?;
        members.push(member);
        served.push(device);
    }
    let mut plant = None;
    let rf = if rf_links.is_empty() {
        None
    } else {
        let (handle, requests) = PlantHandle::new(ids, wake());
        plant = Some(handle);
        let plant = Plant::new(rf_links, seed).map_err(|error| format!("--rf-link: {error}"))?;
        Some(Rf { plant, requests })
    };
    let (control, commands) = Control::new(waker.clone());
    let core = Arc::new(Lock::new(Core {
        members,
        rf,
        clock: common.clock,
        // Until the devices' thread runs, requests wait for it.
        sleeps_until: 0,
    }));
    let _ = entrance.set(Arc::downgrade(&core));
    Ok(Prepared {
        shell: Shell {
            core,
            waker,
            commands,
            logs,
        },
        served,
        control,
        plant,
        loaded_at,
    })
}

/// Makes a device with its ports, and the handle that the server needs. `wake` is called after each
/// request, except those that only the devices' own thread runs, for which `waker` is used.
fn member(
    wanted: Wanted,
    loaded_at: u64,
    logs: &Arc<AtomicBool>,
    (wake, waker): (impl Fn() + Send + Sync + 'static, &Waker),
    common: &Common<'_>,
    spools: &mut Spools,
) -> Result<(Member, ServedDevice), String> {
    let Wanted {
        config,
        interfaces,
        rf_ports,
        pipeline,
    } = wanted;
    let mut device = Device::new(config);
    let attached = Arc::clone(logs);
    device.set_pipeline_hook(move |pipeline| {
        log_messages(pipeline, attached.load(Ordering::Relaxed));
    });
    let own = common.device_traces.get(&config.device_id);
    for trace in common.trace.iter().chain(own) {
        device.add_trace(trace.of_device(config.device_id));
    }
    for (port, _) in &interfaces {
        device.add_port(*port);
    }
    for port in &rf_ports {
        device.add_port(*port);
    }
    if let Some(program) = &common.program {
        device.load(loaded_at, Arc::clone(program));
    }
    let (handle, requests, event_sender, events) =
        handle::channel(config.device_id, config.cpu_port, wake);
    let pcap = common.pcap.map(|directory| (directory, &mut *spools));
    let (opening, clock) = (common.opening, common.clock);
    let mut ports = Ports::open(&interfaces, pcap, opening, clock, event_sender)?;
    if let Some(directory) = common.pcap {
        for port in rf_ports {
            ports.tap_rf(directory, spools, config.device_id, port)?;
        }
    }
    let served = ServedDevice {
        handle: {
            let waker = waker.clone();
            let handle = handle.with_wake_from_afar(move || waker.wake());
            handle.with_load_options(common.load)
        },
        events,
        pipeline,
    };
    let member = Member {
        device,
        ports,
        requests,
    };
    Ok((member, served))
}

/// The parts of devices' thread that [`start`] needs.
pub struct Runnable(Shell);

impl Prepared {
    /// Records everything that the device receives and sends, from the beginning.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn record(&mut self, to: ToRecord, common: &Common<'_>) -> Result<Recording, String> {
        let mut core = self.shell.core.lock();
        // Joined devices are not recorded.
        let Member { device, ports, .. } = &mut core.members[0];
        let config = *device.config();
        let numbers = device.links().map(|link| link.port);
        let header = Header {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            device_id: config.device_id,
            cpu_port: config.cpu_port,
            drop_port: config.drop_port,
            seed: config.seed,
            lateness_bound: config.lateness_bound,
            bmv2_quirks: common.load.bmv2_quirks,
            ports: numbers
                .filter(|&port| Some(port) != config.cpu_port)
                .collect(),
            program: to.program.map(|(json, p4info)| format::Program {
                at: self.loaded_at,
                json,
                p4info,
            }),
        };
        let recording = Recording::begin(to.destination, &header)?;
        ports.record(recording.recorder());
        Ok(recording)
    }

    /// Captures what crosses upstream channels in these files, which are given by the channels'
    /// names.
    ///
    /// # Errors
    /// One sentence: two files are for one channel, or there is no RF link.
    pub fn capture(&mut self, captures: Vec<(String, CaptureFile)>) -> Result<(), String> {
        let mut core = self.shell.core.lock();
        for (channel, file) in captures {
            let rf = core.rf.as_mut();
            let rf = rf.ok_or("--channel-pcap needs --rf-link")?;
            rf.plant
                .capture(&channel, file)
                .map_err(|words| format!("--channel-pcap: {words}"))?;
        }
        Ok(())
    }

    /// The devices' thread, ready to run.
    pub fn runnable(self) -> Runnable {
        Runnable(self.shell)
    }
}

/// Runs devices in a thread of their own, named by the first; `ended` is woken when it has ended.
///
/// # Errors
/// One sentence: it cannot be scheduled as asked for.
pub fn start(
    device_id: u64,
    device: Runnable,
    how: Scheduling,
    ended: Waker,
) -> Result<JoinHandle<()>, String> {
    let (started, scheduled) = sync_channel(1);
    let thread = Builder::new()
        .name(format!("device-{device_id}"))
        .spawn(move || {
            let result = schedule(how);
            privileges::none();
            let runs = result.is_ok();
            let _ = started.send(result);
            if runs {
                device.0.run();
            }
            ended.wake();
        })
        .map_err(|error| format!("no thread for device {device_id}: {error}"))?;
    scheduled
        .recv()
        .map_err(|_| format!("the thread of device {device_id} has ended"))??;
    Ok(thread)
}

fn schedule(how: Scheduling) -> Result<(), String> {
    scheduling::exact_timers();
    match (how.nice, scheduling::nice(how.nice.unwrap_or(NICE))) {
        (Some(value), Err(error)) => {
            return Err(format!("--nice {value}: not permitted: {error}"));
        }
        (None, Err(error)) => warn!("departures may be late under load: no nice {NICE}: {error}"),
        (_, Ok(())) => {}
    }
    if let Some(priority) = how.realtime {
        scheduling::realtime(priority)
            .map_err(|error| format!("--realtime {priority}: not permitted: {error}"))?;
    }
    Ok(())
}
