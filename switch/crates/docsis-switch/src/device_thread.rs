// SPDX-License-Identifier: Apache-2.0
//! A device and the thread that runs it.

use crate::clock::Clock;
use crate::control::Control;
use crate::device_core::{self, Core};
use crate::lock::Lock;
use crate::ports::{Opening, Ports};
use crate::process::log_messages;
use crate::record::{Destination, Recording};
use crate::run::Shell;
use crate::scheduling;
use crate::trace::Trace;
use crate::wait::Waker;
use device::{Device, DeviceConfig, handle};
use p4runtime::{PipelineConfig, ServedDevice};
use recording::format::{self, Header};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{Builder, JoinHandle};
use tracing::warn;
use v1model::{LoadOptions, Program};

/// Nice value of the threads that forward: a switch that waits for a processor
/// while others compute is late, and lateness costs rate.
pub const NICE: i32 = -20;

/// What all devices are started with.
pub struct Common<'a> {
    /// Their time.
    pub clock: Clock,
    /// What they run at first.
    pub program: Option<Arc<Program>>,
    /// How that and later programs are to be understood.
    pub load: LoadOptions,
    /// Where frames are captured.
    pub pcap: Option<&'a Path>,
    /// How interfaces are opened.
    pub opening: Opening,
    /// `log_msg` reaches the log.
    pub log_messages: bool,
    /// What happens to packets is written there.
    pub trace: Option<Trace>,
}

/// How the kernel is to schedule a device's thread.
#[derive(Debug, Clone, Copy)]
pub struct Scheduling {
    /// Nice value; `None` is [`NICE`] where that is permitted.
    pub nice: Option<i32>,
    /// Priority under SCHED_RR.
    pub realtime: Option<i32>,
}

/// A device that is ready to run.
pub struct Prepared {
    shell: Shell,
    /// For the server.
    pub served: ServedDevice,
    /// For the main thread.
    pub control: Control,
    loaded_at: u64,
}

/// Where a device is recorded, and what it runs at first, as the files have it.
pub struct ToRecord {
    /// Where.
    pub destination: Destination,
    /// The program, and its P4Info.
    pub program: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Makes a device with its ports open.
///
/// # Errors
/// One sentence that names the interface or file.
pub fn prepare(
    config: DeviceConfig,
    interfaces: &[(u16, String)],
    pipeline: Option<PipelineConfig>,
    common: &Common<'_>,
) -> Result<Prepared, String> {
    let waker = Waker::new().map_err(|error| format!("no event descriptor: {error}"))?;
    let mut device = Device::new(config);
    let logs = Arc::new(AtomicBool::new(common.log_messages));
    let attached = Arc::clone(&logs);
    device.set_pipeline_hook(move |pipeline| {
        log_messages(pipeline, attached.load(Ordering::Relaxed));
    });
    if let Some(trace) = &common.trace {
        device.add_trace(trace.of_device(config.device_id));
    }
    for (port, _) in interfaces {
        device.add_port(*port);
    }
    let loaded_at = common.clock.now();
    if let Some(program) = &common.program {
        device.load(loaded_at, Arc::clone(program));
    }
    // Filled below: the core has what the handle's requests go to.
    let entrance: Arc<OnceLock<Weak<Lock<Core>>>> = Arc::default();
    let (way, wake) = (Arc::clone(&entrance), waker.clone());
    let (handle, requests, event_sender, events) =
        handle::channel(config.device_id, config.cpu_port, move || match way.get() {
            Some(core) => device_core::serve(core, &wake),
            None => wake.wake(),
        });
    let ports = Ports::open(
        interfaces,
        common.pcap,
        common.opening,
        common.clock,
        event_sender,
    )?;
    let (control, commands) = Control::new(waker.clone());
    let core = Arc::new(Lock::new(Core {
        device,
        ports,
        clock: common.clock,
        requests,
        // Until the device's thread runs, requests wait for it.
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
        served: ServedDevice {
            handle: handle.with_load_options(common.load),
            events,
            pipeline,
        },
        control,
        loaded_at,
    })
}

/// A device's shell, for [`start`].
pub struct Runnable(Shell);

impl Prepared {
    /// Writes down what the device is given and gives, from the beginning.
    ///
    /// # Errors
    /// One sentence.
    pub fn record(&mut self, to: ToRecord, common: &Common<'_>) -> Result<Recording, String> {
        let mut core = self.shell.core.lock();
        let config = *core.device.config();
        let ports = core.device.links().map(|link| link.port);
        let header = Header {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            device_id: config.device_id,
            cpu_port: config.cpu_port,
            drop_port: config.drop_port,
            seed: config.seed,
            lateness_bound: config.lateness_bound,
            bmv2_quirks: common.load.bmv2_quirks,
            ports: ports
                .filter(|&port| Some(port) != config.cpu_port)
                .collect(),
            program: to.program.map(|(json, p4info)| format::Program {
                at: self.loaded_at,
                json,
                p4info,
            }),
        };
        let recording = Recording::begin(to.destination, &header)?;
        core.ports.record(recording.recorder());
        Ok(recording)
    }

    /// Parts with what the server needs.
    pub fn split(self) -> (Runnable, ServedDevice, Control) {
        (Runnable(self.shell), self.served, self.control)
    }
}

/// Runs a device in a thread of its own; `ended` is woken when it has ended.
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
