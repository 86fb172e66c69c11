// SPDX-License-Identifier: Apache-2.0
//! The devices' thread in a world: one device that runs wire.p4, which joins ports 1 and 2.

use super::kept::Kept;
use super::world::{FakeClock, World};
use crate::captures::PortCaptures;
use crate::control::{Command, Control};
use crate::device_core::{Core, serve};
use crate::lock::Lock;
use crate::member::Member;
use crate::port::{Platform, Time};
use crate::ports::{Attached, Ports};
use crate::run::Shell;
use crate::spool::Spools;
use crate::waker::Waker;
use device::handle::{self, DeviceHandle};
use device::{
    Configuration, Device, DeviceConfig, DeviceCounters, Link, ModelKind, PortState, Traffic,
};
use std::pin::pin;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{self, Context};
use v1model::Program;

/// A frame that was captured, with the switch's time.
pub type Captured = (u64, Vec<u8>);

/// How a stand begins.
#[derive(Default)]
pub struct Setup {
    pub config: DeviceConfig,
    pub configuration: Configuration,
    pub captures: bool,
}

/// The thread before it runs.
pub struct Stand<S: Platform> {
    pub world: Arc<World>,
    pub core: Arc<Lock<Core<S>>>,
    pub control: Control<S>,
    pub handle: DeviceHandle,
    shell: Shell<S>,
    spools: Spools,
    kept: Vec<[Kept; 2]>,
}

/// The thread after it has run.
pub struct Outcome<S: Platform> {
    pub world: Arc<World>,
    pub core: Arc<Lock<Core<S>>>,
    captures: Vec<[Vec<u8>; 2]>,
}

/// A program of this crate's tests.
pub fn wire() -> Arc<Program> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/wire.json");
    Arc::new(Program::load(&std::fs::read(path).unwrap()).unwrap())
}

/// A device with ports 1 and 2 that runs wire.p4.
pub fn device(setup: &Setup) -> Device {
    let mut device = Device::new(setup.config);
    (1..=2).for_each(|port| device.add_port(port));
    device.load(0, wire());
    device.configure(0, &setup.configuration).unwrap();
    device
}

/// A frame with a number, which is in none of the fields that programs read.
pub fn frame(number: u64, len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb8];
    frame.extend(number.to_be_bytes());
    frame.resize(len.max(frame.len()), number as u8);
    frame
}

/// The number of a frame, all of whose bytes are as they were made.
pub fn number(bytes: &[u8]) -> u64 {
    let number = u64::from_be_bytes(bytes[14..22].try_into().unwrap());
    assert_eq!(bytes, frame(number, bytes.len()));
    number
}

/// Begins a request that another thread would wait for. The device's own thread does it later, if
/// it is not done at once.
pub fn begin(ask: impl Future) {
    let mut ask = pin!(ask);
    let _ = ask
        .as_mut()
        .poll(&mut Context::from_waker(task::Waker::noop()));
}

impl<S: Platform<Clock = FakeClock>> Stand<S> {
    /// Makes a thread that runs a device with these ports, of which the first is port 1.
    pub fn new(world: &Arc<World>, ports: Vec<S::Port>, setup: &Setup) -> Self {
        let (mut spools, mut kept, mut attached) = (Spools::default(), Vec::new(), Vec::new());
        for (number, port) in (1..).zip(ports) {
            let files = [Kept::default(), Kept::default()];
            let mut own = files.clone().into_iter();
            let captures = setup.captures.then(|| {
                let captures = PortCaptures::with(|direction| {
                    let spool = spools.start(direction.to_owned(), own.next().unwrap())?;
                    Ok((direction.to_owned(), spool))
                });
                captures.unwrap()
            });
            kept.push(files);
            attached.push(Attached {
                number,
                name: format!("fake{number}"),
                port,
                captures,
            });
        }
        let waker = Waker::new().unwrap();
        let entrance: Arc<OnceLock<Weak<Lock<Core<S>>>>> = Arc::default();
        let (way, wake) = (Arc::clone(&entrance), waker.clone());
        let (handle, requests, events, _) =
            handle::channel(0, None, move || serve(way.get().unwrap(), &wake));
        let clock = world.clock();
        let hold = setup.config.traffic_manager != ModelKind::Docsis;
        let core = Arc::new(Lock::new(Core {
            members: vec![Member {
                device: device(setup),
                ports: Ports::new(attached, hold, clock.clone(), events),
                requests,
            }],
            rf: None,
            clock,
            sleeps_until: 0,
        }));
        entrance.set(Arc::downgrade(&core)).unwrap();
        let (control, commands) = Control::new(waker.clone());
        Self {
            world: Arc::clone(world),
            core: Arc::clone(&core),
            control,
            handle,
            shell: Shell {
                core,
                waker,
                commands,
                logs: Arc::default(),
            },
            spools,
            kept,
        }
    }

    /// Has the main thread send a command at a time.
    pub fn command_at(&self, time: u64, command: Command<S>)
    where
        Command<S>: Send,
    {
        let control = self.control.clone();
        self.world.at(time, move |_| control.send(command));
    }

    /// Runs the thread. It is told to end at `stop`, and gets `drain` ns for the frames in its
    /// queues.
    pub fn run(self, stop: u64, drain: u64) -> Outcome<S>
    where
        Command<S>: Send,
    {
        self.command_at(stop, Command::Stop { drain_ns: drain });
        self.shell.run();
        self.spools.close();
        Outcome {
            world: self.world,
            core: self.core,
            captures: self
                .kept
                .iter()
                .map(|both| both.each_ref().map(Kept::bytes))
                .collect(),
        }
    }
}

impl<S: Platform<Clock = FakeClock>> Outcome<S> {
    /// The frames that a port received, with the device's times.
    pub fn came(&self, port: usize) -> Vec<Captured> {
        self.captured(port, 0)
    }

    /// The frames that left through a port, with their due times.
    pub fn left(&self, port: usize) -> Vec<Captured> {
        self.captured(port, 1)
    }

    fn captured(&self, port: usize, direction: usize) -> Vec<Captured> {
        let (_, records) = pcap::records(&self.captures[port - 1][direction]).unwrap();
        let start = self.world.clock().wall(0);
        let records = records.into_iter();
        let own = records.map(|(wall, frame)| (wall - start, frame.to_vec()));
        own.collect()
    }

    /// The state of a port of the device.
    pub fn port(&self, number: u16) -> PortState {
        let core = self.core.lock();
        let device = &core.members[0].device;
        let state = device.traffic_manager_state(device.time());
        let mut ports = state.ports.into_iter();
        ports.find(|port| port.config.port == number).unwrap()
    }

    /// The link of a port.
    pub fn link(&self, number: u16) -> Link {
        let core = self.core.lock();
        let mut links = core.members[0].device.links();
        links.find(|link| link.port == number).unwrap()
    }

    /// The device's counters of drops outside its queues, which must all be 0 under wire.p4.
    pub fn counters(&self) -> DeviceCounters {
        *self.core.lock().members[0].device.counters()
    }

    /// The largest lateness of a departure, ns, and how many departures there were.
    pub fn lateness(&self) -> (u64, u64) {
        let core = self.core.lock();
        let lateness = core.members[0].device.lateness();
        (lateness.most(), lateness.count())
    }

    /// How often time jumped, and how far.
    pub fn jumps(&self) -> (u64, u64) {
        let core = self.core.lock();
        let lateness = core.members[0].device.lateness();
        (lateness.jumps(), lateness.jumped())
    }

    /// Checks that every frame that the device received has left it or is counted as dropped.
    pub fn assert_device_balances(&self) {
        let [one, two] = [self.port(1), self.port(2)];
        let both = |of: fn(&PortState) -> Traffic| of(&one).frames + of(&two).frames;
        let received = both(|port| port.received);
        let gone = both(|port| port.sent)
            + both(|port| port.send_failed)
            + both(|port| port.receive_overflow)
            + both(|port| port.transmit_overflow)
            + both(|port| port.queue_overflow)
            + both(|port| port.queued);
        let inside = self.core.lock().members[0].device.is_empty();
        assert!(inside, "frames are left in the device");
        assert_eq!(received, gone, "{one:?} {two:?}");
        let too_long = self.counters().too_long;
        let expected = DeviceCounters {
            too_long,
            ..DeviceCounters::default()
        };
        assert_eq!(self.counters(), expected);
    }
}
