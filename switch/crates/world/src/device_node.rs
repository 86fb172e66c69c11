// SPDX-License-Identifier: Apache-2.0
//! A device in a world: its server, its process, and where its ports lead.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use device::events::EventSender;
use device::handle::{self, Requests};
use device::{Device, DeviceConfig, Event, ModelKind, Note, Output, QueueId};
use grpc_services::in_process::{self, InProcess};
use grpc_services::{Limits, ServedDevice};
use mac_wire::Sid;
use prefetch::fetch;
use std::time::Duration;
use tokio::runtime::Runtime;

use crate::departures::{Departure, Departures};
use crate::digest::Happened;
use crate::frame::Frame;
use crate::lateness::Gate;
use crate::net::Net;

/// A port that leads nowhere.
const NOWHERE: u32 = u32::MAX;
/// How many updates one atomic Write may have. It may have many, because no packet waits for it in
/// virtual time.
const ATOMIC_UPDATES: usize = 1 << 17;
/// How many bytes of a frame its next node is likely to read.
const HEADERS: usize = 128;

/// How many bytes of frames may wait in front of a stopped process.
const MOST_IN_FRONT: usize = 8 << 20;

/// The state of a device's process.
#[derive(Debug, Default)]
enum Process {
    #[default]
    Running,
    /// The process is stopped. Frames wait in front of it, each with its time and port.
    Stopped {
        waiting: Vec<(u64, u16, Frame)>,
        bytes: usize,
    },
    /// There is no process.
    Dead,
}

/// A device with its server, its process and its links.
#[derive(Debug)]
pub struct DeviceNode {
    /// The name of the device in messages.
    pub name: String,
    /// The hash of the name, for the digest.
    pub hash: u64,
    /// The device's source of events.
    pub source: u32,
    /// The source of events of the device's process, which may be late.
    pub process: u32,
    /// The device.
    pub device: Device,
    /// P4Runtime and the traffic manager's service.
    pub server: InProcess,
    requests: Requests,
    events: EventSender,
    told: bool,
    epoch: Arc<AtomicI64>,
    /// The link behind each port, by the port's number.
    links: Vec<u32>,
    /// Frames that leave wait here for the process.
    gate: Gate<(u16, Frame)>,
    /// The ports whose frames wait for grants. Each has the index of the device and the port at
    /// which its frames arrive.
    granted: BTreeMap<u16, (u32, u16)>,
    doing: Process,
    /// The departures, if somebody has asked for them.
    departures: Option<Departures>,
    /// The queues of such ports that an upstream channel carries, with the channel and the SID.
    upstreams: BTreeMap<QueueId, (u32, Sid)>,
}

impl DeviceNode {
    /// A device without a pipeline.
    #[must_use]
    pub fn new(
        name: &str,
        hash: u64,
        config: DeviceConfig,
        ports: &[u16],
        sources: [u32; 2],
        gate: Gate<(u16, Frame)>,
    ) -> Self {
        let config = DeviceConfig {
            traffic_manager: ModelKind::Docsis,
            ..config
        };
        let mut device = Device::new(config);
        for &port in ports {
            device.add_port(port);
        }
        let (server, requests, events, epoch) = served(&config);
        Self {
            name: name.to_owned(),
            hash,
            source: sources[0],
            process: sources[1],
            device,
            server,
            requests,
            events,
            told: false,
            epoch,
            links: vec![NOWHERE; ports.iter().max().map_or(0, |&port| usize::from(port) + 1)],
            gate,
            granted: BTreeMap::new(),
            doing: Process::Running,
            departures: None,
            upstreams: BTreeMap::new(),
        }
    }

    /// Whether it has a port, which is not that of the CPU.
    #[must_use]
    pub fn has_port(&self, port: u16) -> bool {
        Some(port) != self.device.config().cpu_port
            && self.device.links().any(|link| link.port == port)
    }

    /// The link behind a port.
    #[must_use]
    pub fn link(&self, port: u16) -> Option<u32> {
        self.links
            .get(usize::from(port))
            .copied()
            .filter(|&link| link != NOWHERE)
    }

    /// Puts a link behind a port.
    pub fn set_link(&mut self, port: u16, link: u32) {
        let port = usize::from(port);
        // The device may have got a port after it was made, as a port that loops back.
        if self.links.len() <= port {
            self.links.resize(port + 1, NOWHERE);
        }
        self.links[port] = link;
    }

    /// The device and the port at which the frames of a granted port arrive; `None` for other
    /// ports.
    #[must_use]
    pub fn granted(&self, port: u16) -> Option<(u32, u16)> {
        self.granted.get(&port).copied()
    }

    /// Makes the frames of a port wait for grants, and arrive at another device's port.
    pub fn set_granted(&mut self, port: u16, to: (u32, u16)) {
        self.granted.insert(port, to);
    }

    /// The channel that carries a queue, and the queue's SID in it.
    #[must_use]
    pub fn upstream(&self, queue: QueueId) -> Option<(u32, Sid)> {
        self.upstreams.get(&queue).copied()
    }

    /// Has a channel carry a queue from now on, or no channel.
    pub fn set_upstream(&mut self, queue: QueueId, upstream: Option<(u32, Sid)>) {
        match upstream {
            Some(upstream) => self.upstreams.insert(queue, upstream),
            None => self.upstreams.remove(&queue),
        };
    }

    /// Tells the channels which queues were empty and are not empty any more.
    #[inline]
    fn tell_channels(&mut self, net: &mut Net) {
        if self.granted.is_empty() {
            return;
        }
        while let Some(notice) = self.device.next_notice() {
            if let Some((channel, sid)) = self.upstream(notice.queue) {
                net.wake(channel, sid);
            }
        }
    }

    /// Runs a future of the server at the present time, with the requests that it makes of the
    /// device.
    pub fn ask<T>(
        &mut self,
        runtime: &Runtime,
        now: u64,
        future: impl AsyncFnOnce(&mut InProcess) -> T,
    ) -> T {
        self.epoch.store(now as i64, Ordering::Relaxed);
        let (device, requests) = (&mut self.device, &mut self.requests);
        in_process::drive(runtime, future(&mut self.server), || {
            requests.run_one(device, now)
        })
    }

    /// As [`Self::ask`], for a stream.
    pub fn drive<T>(&mut self, runtime: &Runtime, now: u64, future: impl Future<Output = T>) -> T {
        self.epoch.store(now as i64, Ordering::Relaxed);
        let (device, requests) = (&mut self.device, &mut self.requests);
        in_process::drive(runtime, future, || requests.run_one(device, now))
    }

    /// Receives a frame at a port now, and does what the device can do at once because of it.
    /// Nothing else of the same time comes in between.
    pub fn receive(&mut self, runtime: &Runtime, net: &mut Net, port: u16, mut frame: Frame) {
        if !self.is_running() {
            self.miss(net, port, frame);
            return;
        }
        net.note(Happened::DeviceReceived, self.hash, port, frame.hash);
        let note = [frame.hash, frame.filled as u64];
        self.device
            .receive_buffer(net.now, port, &mut frame.bytes, Some(note));
        net.give_spare(frame.bytes);
        match self.device.next_deadline() {
            Some(at) if at <= net.now => self.step(runtime, net),
            deadline => {
                net.schedule.set(self.source, deadline);
                self.tell_channels(net);
            }
        }
    }

    /// The device and its way out.
    fn parts<'a>(&'a mut self, net: &'a mut Net) -> (&'a mut Device, Wires<'a>) {
        let wires = Wires {
            net,
            hash: self.hash,
            links: &self.links,
            gate: &mut self.gate,
            process: self.process,
            events: &self.events,
            told: &mut self.told,
        };
        (&mut self.device, wires)
    }

    /// Does everything that is due now.
    pub fn step(&mut self, runtime: &Runtime, net: &mut Net) {
        let until = net.now;
        let (device, mut wires) = self.parts(net);
        // The deadline is exact, so no further step needs to be tried if it is later.
        let deadline = loop {
            let more = device.step(until, &mut wires);
            let deadline = device.next_deadline();
            if !more || deadline.is_none_or(|at| at > until) {
                break deadline;
            }
        };
        net.schedule
            .set(self.source, deadline.map(|at| at.max(until)));
        self.tell_channels(net);
        if std::mem::take(&mut self.told) {
            self.ask(runtime, until, async |server| server.deliver_events().await);
            self.reschedule(net);
        }
    }

    /// Schedules the device anew, because the time at which it next has something to do may have
    /// changed.
    pub fn reschedule(&mut self, net: &mut Net) {
        if !self.is_running() {
            net.schedule.set(self.source, None);
            return;
        }
        let deadline = self.device.next_deadline();
        let time = deadline.map(|at| at.max(net.now));
        net.schedule.set(self.source, time);
        self.tell_channels(net);
    }

    /// Lets the process run, so that frames that have left the device go onto the links.
    pub fn release(&mut self, net: &mut Net) {
        while let Some((port, frame)) = self.gate.pass() {
            net.release(frame.bytes.len());
            put(net, &self.links, self.hash, port, frame);
        }
    }
}

/// The process of a device, which may be stopped, killed and started again.
impl DeviceNode {
    /// Whether the process is neither stopped nor dead.
    #[inline]
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.doing, Process::Running)
    }

    /// The reason why the process does not answer; `None` if it runs.
    #[must_use]
    pub fn silent(&self) -> Option<&'static str> {
        match self.doing {
            Process::Running => None,
            Process::Stopped { .. } => Some("is stopped"),
            Process::Dead => Some("is dead"),
        }
    }

    /// Handles a frame that comes to a process that does not run: it waits, or is lost.
    #[cold]
    fn miss(&mut self, net: &mut Net, port: u16, frame: Frame) {
        let now = net.now;
        if let Process::Stopped { waiting, bytes } = &mut self.doing
            && *bytes + frame.bytes.len() <= MOST_IN_FRONT
        {
            *bytes += frame.bytes.len();
            net.hold(frame.bytes.len());
            waiting.push((now, port, frame));
            return;
        }
        self.device.missed(port, 1);
        net.lose(frame, self.hash, port);
    }

    /// Stops the process until it goes on.
    pub fn stop(&mut self, net: &mut Net) {
        self.doing = Process::Stopped {
            waiting: Vec::new(),
            bytes: 0,
        };
        net.schedule.set(self.source, None);
        net.schedule.set(self.process, None);
    }

    /// Lets a stopped process go on. It takes the frames that wait in front of it at the times at
    /// which they came, unless time jumps (see [`Device::wake`]).
    pub fn go_on(&mut self, runtime: &Runtime, net: &mut Net) {
        let Process::Stopped { waiting, .. } = std::mem::take(&mut self.doing) else {
            return;
        };
        let now = net.now;
        self.device.wake(now, waiting.first().map(|first| first.0));
        for (came, port, mut frame) in waiting {
            let at = came.max(self.device.time());
            self.run(net, at);
            net.release(frame.bytes.len());
            net.note(Happened::DeviceReceived, self.hash, port, frame.hash);
            let note = [frame.hash, frame.filled as u64];
            self.device
                .receive_buffer(at, port, &mut frame.bytes, Some(note));
            net.give_spare(frame.bytes);
        }
        self.step(runtime, net);
        if self.gate.waiting() > 0 {
            net.schedule.set(self.process, Some(now));
        }
    }

    /// Does everything that is due by a time, which is not after now. Frames that leave go onto
    /// their links now.
    fn run(&mut self, net: &mut Net, until: u64) {
        let (device, mut wires) = self.parts(net);
        while device.step(until, &mut wires) {}
    }

    /// Kills the process with everything that it holds. Returns how many frames that were,
    /// including those in front of a stopped process.
    pub fn die(&mut self, net: &mut Net) -> u64 {
        let lost_before = net.totals.lost;
        if let Process::Stopped { waiting, .. } = std::mem::replace(&mut self.doing, Process::Dead)
        {
            for (_, port, frame) in waiting {
                net.release(frame.bytes.len());
                net.lose(frame, self.hash, port);
            }
        }
        while let Some((port, frame)) = self.gate.pass() {
            net.release(frame.bytes.len());
            net.lose(frame, self.hash, port);
        }
        net.schedule.set(self.source, None);
        net.schedule.set(self.process, None);
        let held = self.device.books().held;
        net.totals.lost_inside += held;
        held + (net.totals.lost - lost_before)
    }

    /// Starts a dead process again, as a device without a pipeline and without clients.
    pub fn start(&mut self) {
        let config = *self.device.config();
        let mut device = Device::new(config);
        for link in self.device.links() {
            if Some(link.port) != config.cpu_port {
                device.add_port(link.port);
                device.set_port_up(link.port, link.up);
            }
        }
        if let Some(departures) = &self.departures {
            device.add_trace(departures.sink());
        }
        let (server, requests, events, epoch) = served(&config);
        self.device = device;
        self.server = server;
        self.requests = requests;
        self.events = events;
        self.epoch = epoch;
        self.told = false;
        self.doing = Process::Running;
    }

    /// Whether departures are recorded.
    #[must_use]
    pub fn records_departures(&self) -> bool {
        self.departures.is_some()
    }

    /// The departures since the last call. `None` if there were more than are kept, or if this is
    /// the first call, which makes the device record them.
    pub fn take_departures(&mut self) -> Option<Vec<Departure>> {
        if let Some(departures) = &self.departures {
            return departures.take();
        }
        let departures = Departures::default();
        self.device.add_trace(departures.sink())?;
        self.departures = Some(departures);
        None
    }
}

/// Makes a device's server, the requests that it makes of the device, the sender of the device's
/// events, and its clock.
fn served(config: &DeviceConfig) -> (InProcess, Requests, EventSender, Arc<AtomicI64>) {
    // The caller runs each request at once, so there is no thread to be woken.
    let (handle, requests, events, told) =
        handle::channel(config.device_id, config.cpu_port, || {});
    // Lists may grow, because nobody waits meanwhile, and memory that is not reserved takes no
    // large pages.
    let mut load = handle.load_options();
    load.grow = true;
    let served = ServedDevice {
        handle: handle.with_load_options(load),
        events: told,
        pipeline: None,
    };
    let limits = Limits {
        slice: Duration::MAX,
        atomic_updates: ATOMIC_UPDATES,
        ..Limits::default()
    };
    let epoch = Arc::new(AtomicI64::new(0));
    let server = InProcess::in_virtual_time(served, limits, Arc::clone(&epoch));
    (server, requests, events, epoch)
}

/// Puts a frame onto the link behind a port.
fn put(net: &mut Net, links: &[u32], hash: u64, port: u16, frame: Frame) {
    net.note(Happened::DeviceSent, hash, port, frame.hash);
    match links.get(usize::from(port)) {
        Some(&link) if link != NOWHERE => {
            net.send(link, frame, hash, port);
        }
        _ => {
            net.totals.unconnected += 1;
            net.collect(hash, port, &frame.bytes);
            net.reuse(frame);
        }
    }
}

/// A device's way out.
struct Wires<'a> {
    net: &'a mut Net,
    hash: u64,
    links: &'a [u32],
    gate: &'a mut Gate<(u16, Frame)>,
    process: u32,
    events: &'a EventSender,
    told: &'a mut bool,
}

impl Wires<'_> {
    fn leave(&mut self, port: u16, frame: Frame) {
        // The next node reads the headers, which may have left the cache while the frame waited.
        fetch(&frame.bytes[..frame.filled.min(HEADERS)]);
        if self.gate.is_open() {
            put(self.net, self.links, self.hash, port, frame);
            return;
        }
        self.net.hold(frame.bytes.len());
        if let Some(runs) = self.gate.wait(self.net.now, (port, frame)) {
            self.net.schedule.set(self.process, Some(runs));
        }
    }
}

impl Output for Wires<'_> {
    fn transmit(&mut self, _now_ns: u64, port: u16, frame: &[u8], _paced: bool) {
        let mut buffer = self.net.spare();
        buffer.clear();
        buffer.extend_from_slice(frame);
        self.leave(port, Net::frame(buffer));
    }

    fn transmit_noted(
        &mut self,
        _now_ns: u64,
        port: u16,
        frame: &mut Vec<u8>,
        _paced: bool,
        note: Option<Note>,
    ) {
        let bytes = std::mem::replace(frame, self.net.spare());
        self.leave(port, Net::noted(bytes, note));
    }

    fn packet_in(&mut self, _now_ns: u64, frame: &[u8]) -> bool {
        *self.told = true;
        self.events.packet_in(frame)
    }

    fn event(&mut self, _now_ns: u64, event: Event) -> bool {
        *self.told = true;
        self.events.send(event)
    }
}
