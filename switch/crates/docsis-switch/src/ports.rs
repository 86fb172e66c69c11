// SPDX-License-Identifier: Apache-2.0
//! The ports of a device: opening, receiving, sending and capturing.

use crate::captures::PortCaptures;
use crate::clock::Clock;
use crate::interface::{Interface, mend_command};
use crate::linux::Linux;
use crate::outbox::Outbox;
use crate::packet_socket::PacketSocket;
use crate::port::{BATCH, Inbox, LONGEST_FRAME, Platform, Poll, Port, Received, Time};
use crate::record::Recorder;
use crate::spool::Spools;
use device::events::{Event, EventSender};
use device::{Device, DeviceConfig, Output, Traffic};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use tracing::warn;

/// The length of the longest Ethernet header, which the MTU does not count: addresses, VLAN tag,
/// type.
const HEADER: u32 = 18;

/// How many bytes may wait for a port's socket to have room. Further frames are lost.
pub const BACKLOG: usize = 16 << 20;
/// The due time of a frame whose lateness does not count.
const UNKNOWN: u64 = u64::MAX;

/// How interfaces are opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// Whether the interfaces' offloads are switched off.
    pub offloads_off: bool,
    /// Whether packets wait in a port's queues while its interface takes none because it is shaped,
    /// as with BMv2, whose threads wait in the system call. Otherwise they leave their queues when
    /// they are due, and wait behind them.
    pub wait_for_room: bool,
    /// How long the kernel must be able to keep frames that nobody receives, ns.
    pub lateness: u64,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            offloads_off: false,
            wait_for_room: false,
            lateness: DeviceConfig::default().lateness_bound,
        }
    }
}

/// Opens an interface and says what about it will disturb.
///
/// # Errors
/// One sentence: there is no such interface, or no permission.
pub fn open(name: &str, how: Opening) -> Result<PacketSocket, String> {
    let interface = Interface::find(name).map_err(|_| {
        format!("interface {name} does not exist in this network namespace; create it first")
    })?;
    let opened = PacketSocket::open(&interface, how.lateness).and_then(|socket| {
        if !how.wait_for_room {
            socket.enlarge_send_buffer()?;
        }
        Ok(socket)
    });
    let socket = opened.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "no permission to open interface {name}; run as root (CAP_NET_RAW and CAP_NET_ADMIN)"
        ),
        _ => format!("interface {name} cannot be opened as a packet socket: {error}"),
    })?;
    let fd = socket.as_raw_fd();
    let mut offloads = interface.offloads(fd);
    if how.offloads_off && !offloads.is_empty() {
        interface.switch_off(fd, &offloads);
        offloads = interface.offloads(fd);
        if !offloads.is_empty() {
            warn!(
                "interface {name}: its driver keeps these offloads on: {}",
                offloads.join(" ")
            );
        }
    } else if !offloads.is_empty() {
        warn!(
            "interface {name} has offloads on: frames would differ from those on a wire; switch \
             them off with --offloads-off or: {}",
            mend_command(name, &offloads)
        );
    }
    if let Ok(mtu) = interface.mtu(fd)
        && (mtu + HEADER) as usize > LONGEST_FRAME
    {
        warn!(
            "interface {name} has MTU {mtu}; frames longer than {LONGEST_FRAME} bytes will be dropped"
        );
    }
    if let Ok(false) = interface.is_up(fd) {
        warn!("interface {name} is down; bring it up with: ip link set {name} up");
    }
    Ok(socket)
}

/// A port with its number, its name and its captures.
pub struct Attached<P> {
    /// The port's number in the device.
    pub number: u16,
    /// The name of the interface behind the port, for messages.
    pub name: String,
    /// The port itself.
    pub port: P,
    /// The port's captures, if its frames are captured.
    pub captures: Option<PortCaptures>,
}

/// A port with the frames that wait to leave through it.
struct Way<P> {
    number: u16,
    name: String,
    port: P,
    batch: Outbox,
    /// The due times of the frames in the batch, which are [`UNKNOWN`] for those that waited for
    /// room.
    due: Vec<u64>,
    /// The frames that wait behind the batch for the socket to have room.
    backlog: VecDeque<Vec<u8>>,
    backlog_bytes: usize,
    captures: Option<PortCaptures>,
    /// Whether frames were received since the kernel was asked how many it dropped.
    received: bool,
    /// Whether the socket has no room, so that the frames in the batch wait.
    full: bool,
    failed: Traffic,
    warned_checksum: bool,
    warned_too_long: bool,
    warned_send: bool,
}

impl<P: Port> Way<P> {
    fn new(attached: Attached<P>) -> Self {
        let Attached {
            number,
            name,
            port,
            captures,
        } = attached;
        Self {
            number,
            name,
            port,
            batch: Outbox::default(),
            due: Vec::with_capacity(BATCH),
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            captures,
            received: false,
            full: false,
            failed: Traffic::default(),
            warned_checksum: false,
            warned_too_long: false,
            warned_send: false,
        }
    }

    fn send_failed(
        failed: &mut Traffic,
        warned: &mut bool,
        name: &str,
        len: usize,
        error: &io::Error,
    ) {
        failed.count(len);
        if !*warned {
            *warned = true;
            warn!(
                "interface {name} did not take a frame of {len} bytes: {error}; counted as send_failed"
            );
        }
    }

    /// Sends the frames that wait. Without `wait`, frames for which the socket has no room are
    /// lost. `late` gets how late each frame was, except those that waited for room.
    fn flush(&mut self, wait: bool, clock: &impl Time, late: &mut Vec<u64>) {
        loop {
            let (failed, warned, name) = (&mut self.failed, &mut self.warned_send, &self.name);
            self.full = self.batch.flush(&mut self.port, wait, |len, error| {
                Self::send_failed(failed, warned, name, len, error);
            });
            let left = self.due.len() - self.batch.len();
            let now = clock.now();
            let due = self.due.drain(..left).filter(|&due| due != UNKNOWN);
            late.extend(due.map(|due| now.saturating_sub(due)));
            if self.full {
                // If these frames are late, it is because of the link, and not of this thread.
                self.due.fill(UNKNOWN);
            }
            if self.full || self.backlog.is_empty() {
                return;
            }
            while !self.batch.is_full()
                && let Some(mut frame) = self.backlog.pop_front()
            {
                self.backlog_bytes -= frame.len();
                self.batch.push_buffer(&mut frame);
                self.due.push(UNKNOWN);
            }
        }
    }

    /// Puts a frame behind those for which the socket has no room.
    fn wait(&mut self, frame: &mut Vec<u8>) {
        if self.backlog_bytes + frame.len() <= BACKLOG {
            self.backlog_bytes += frame.len();
            self.backlog.push_back(std::mem::take(frame));
        } else {
            let error = io::Error::from_raw_os_error(libc::EAGAIN);
            let (failed, warned) = (&mut self.failed, &mut self.warned_send);
            Self::send_failed(failed, warned, &self.name, frame.len(), &error);
        }
    }
}

/// The captures of an RF link, with the number of its port.
struct RfTap {
    port: u16,
    captures: PortCaptures,
}

/// All ports of a device.
pub struct Ports<S: Platform = Linux> {
    ports: Vec<Way<S::Port>>,
    /// The captures of ports that have no interface but an RF link.
    rf_taps: Vec<RfTap>,
    /// The place in `ports` of each port, by its number.
    index: Vec<usize>,
    clock: S::Clock,
    events: EventSender,
    /// The ports whose batch is not empty.
    pending: Vec<usize>,
    /// Whether a port's queues are held while its socket has no room.
    hold: bool,
    /// Whether frames wait for room in a socket. They do until the end, when they are lost instead.
    wait: bool,
    /// Whether the socket of any port has no room.
    full: bool,
    /// How late the frames were that left since the last [`Self::flush`].
    late: Vec<u64>,
    /// Tells whether frames wait in the sockets.
    waiting: S::Poll,
    /// Writes down the frames that come and go.
    recorder: Option<Arc<Recorder>>,
}

impl Ports {
    /// Opens every interface, or none if one fails.
    ///
    /// # Errors
    /// One sentence that names the interface or the file.
    pub fn open(
        interfaces: &[(u16, String)],
        mut pcap: Option<(&Path, &mut Spools)>,
        how: Opening,
        clock: Clock,
        events: EventSender,
    ) -> Result<Self, String> {
        let mut attached = Vec::with_capacity(interfaces.len());
        for (number, name) in interfaces {
            let port = open(name, how)?;
            let captures = pcap.as_mut();
            let captures = captures.map(|(dir, spools)| PortCaptures::create(dir, name, spools));
            attached.push(Attached {
                number: *number,
                name: name.clone(),
                port,
                captures: captures.transpose()?,
            });
        }
        Ok(Self::new(attached, how.wait_for_room, clock, events))
    }
}

impl<S: Platform> Ports<S> {
    /// A device's ports. With `hold`, packets wait in its queues while a port has no room for
    /// them; otherwise they leave their queues when they are due and wait behind them.
    pub fn new(
        attached: Vec<Attached<S::Port>>,
        hold: bool,
        clock: S::Clock,
        events: EventSender,
    ) -> Self {
        let ports: Vec<_> = attached.into_iter().map(Way::new).collect();
        let mut index = Vec::new();
        for (place, port) in ports.iter().enumerate() {
            let slot = usize::from(port.number);
            if index.len() <= slot {
                index.resize(slot + 1, usize::MAX);
            }
            index[slot] = place;
        }
        Self {
            waiting: Poll::new(ports.iter().map(|way| &way.port), None),
            rf_taps: Vec::new(),
            recorder: None,
            pending: Vec::with_capacity(ports.len()),
            hold,
            wait: true,
            full: false,
            late: Vec::new(),
            ports,
            index,
            clock,
            events,
        }
    }

    /// Captures the frames of a port that has an RF link instead of an interface.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn tap_rf(
        &mut self,
        directory: &Path,
        spools: &mut Spools,
        device_id: u64,
        port: u16,
    ) -> Result<(), String> {
        let captures = PortCaptures::create(directory, &format!("rf-{device_id}-{port}"), spools)?;
        self.rf_taps.push(RfTap { port, captures });
        Ok(())
    }

    /// Captures a frame that reaches a port with an RF link, or leaves it.
    pub fn captured_rf(&mut self, now: u64, port: u16, frame: &[u8], leaves: bool) {
        let wall = self.clock.wall(now);
        if let Some(tap) = self.rf_taps.iter_mut().find(|tap| tap.port == port) {
            tap.captures.note(wall, frame, leaves);
        }
    }

    /// Has a recorder write down the frames that come and go from now on.
    pub fn record(&mut self, recorder: Arc<Recorder>) {
        self.recorder = Some(recorder);
    }

    /// Lets the device do the next thing that is due by `until`, if any.
    pub fn step(&mut self, device: &mut Device, until: u64) -> bool {
        let has_done = device.step(until, self);
        if has_done && let Some(recorder) = &self.recorder {
            recorder.stepped(until, device);
        }
        has_done
    }

    /// Lets the device do everything that is due by `until`.
    pub fn run_due(&mut self, device: &mut Device, until: u64) {
        while self.step(device, until) {}
    }

    /// Tells the device what the clock says, before it runs what is due.
    pub fn wake(&self, device: &mut Device, now: u64, arrived: Option<u64>) {
        let jumps = device.lateness().jumps();
        device.wake(now, arrived);
        if let Some(recorder) = &self.recorder
            && device.lateness().jumps() != jumps
        {
            recorder.jumped(now, arrived);
        }
    }

    /// Tells the device that the interface of the port with this index went down or came up.
    pub fn set_up(&self, device: &mut Device, index: usize, up: bool) {
        let port = self.number(index);
        device.set_port_up(port, up);
        if let Some(recorder) = &self.recorder {
            recorder.link(port, up);
        }
    }

    /// Records what the device dropped because of a request that has run.
    pub fn look_at_drops(&self, device: &Device) {
        if let Some(recorder) = &self.recorder {
            recorder.look_at_drops(device);
        }
    }

    /// Ends the recording, because the device has ended.
    pub fn end_recording(&mut self, device: &Device) {
        if let Some(recorder) = self.recorder.take() {
            recorder.finish(device, self.clock.now());
        }
    }

    /// Number of ports.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// The ports, in the order of their indexes.
    pub fn ports(&self) -> impl Iterator<Item = &S::Port> + '_ {
        self.ports.iter().map(|way| &way.port)
    }

    /// The port with this index.
    pub fn port(&self, index: usize) -> &S::Port {
        &self.ports[index].port
    }

    /// The time at which the port with this index will have a frame that it holds back itself.
    pub fn held_by(&self, index: usize) -> Option<u64> {
        self.ports[index].port.next_deadline()
    }

    /// The earliest time at which any port will have a frame that it holds back itself.
    pub fn next_held(&self) -> Option<u64> {
        self.ports().filter_map(S::Port::next_deadline).min()
    }

    /// The number of the port with this index.
    pub fn number(&self, index: usize) -> u16 {
        self.ports[index].number
    }

    /// Attaches a port to another interface of the same name.
    pub fn attach(&mut self, index: usize, link: <S::Port as Port>::Link) {
        let way = &mut self.ports[index];
        // Failures are warned of again, because they are about another interface.
        way.warned_send = false;
        way.port.attach(link);
        self.waiting.replace(index, &way.port);
    }

    /// Whether frames that nobody has received wait in a socket, or its interface is gone.
    pub fn have_frames(&mut self) -> bool {
        self.waiting.wait(Some(0));
        (0..self.ports.len()).any(|index| self.waiting.is_ready(index))
    }

    /// Receives frames from a port into these slots, and returns how many; `None` if the interface
    /// is gone.
    pub fn receive(
        &mut self,
        index: usize,
        inbox: &mut <S::Port as Port>::Inbox,
        slots: Range<usize>,
    ) -> Option<usize> {
        let port = &mut self.ports[index];
        match port.port.receive(inbox, slots) {
            Ok(count) => {
                port.received |= count > 0;
                Some(count)
            }
            // The socket works again when the interface is up again, which the link monitor tells.
            Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Some(0),
            Err(error) => {
                warn!(
                    "interface {} cannot be read until it comes back: {error}",
                    port.name
                );
                None
            }
        }
    }

    /// Gives the frame in slot `n`, received from port `index` at `now`, to the device.
    pub fn deliver(
        &mut self,
        index: usize,
        inbox: &mut <S::Port as Port>::Inbox,
        n: usize,
        now: u64,
        device: &mut Device,
    ) {
        let port = &mut self.ports[index];
        match inbox.frame(n) {
            Received::Frame {
                bytes,
                checksum_missing,
            } => {
                if checksum_missing && !port.warned_checksum {
                    port.warned_checksum = true;
                    warn!(
                        "frames on {} lack their checksum, so receivers will drop them; run at its \
                         other end: {}",
                        port.name,
                        mend_command("PEER", &["tx", "tso", "gso"])
                    );
                }
                if let Some(captures) = &mut port.captures {
                    captures.note(self.clock.wall(now), bytes, false);
                }
                if let Some(recorder) = &self.recorder {
                    recorder.arrived(now, port.number, bytes);
                    device.receive(now, port.number, bytes);
                    recorder.look_at_drops(device);
                } else {
                    device.receive(now, port.number, bytes);
                }
            }
            Received::TooLong(len) => {
                if !port.warned_too_long {
                    port.warned_too_long = true;
                    warn!(
                        "a frame of {len} bytes on {} was dropped: the switch takes {LONGEST_FRAME}",
                        port.name
                    );
                }
                device.receive_too_long(len);
                if let Some(recorder) = &self.recorder {
                    recorder.too_long(len);
                }
            }
        }
    }

    /// Sends the frames in the batches, and tells the device which failed and how late they were.
    pub fn flush(&mut self, device: &mut Device) {
        let (ports, hold, wait) = (&mut self.ports, self.hold, self.wait);
        let (clock, late) = (&self.clock, &mut self.late);
        self.full = false;
        let full = &mut self.full;
        self.pending.retain(|&index| {
            let port = &mut ports[index];
            port.flush(wait, clock, late);
            if hold {
                device.set_port_full(port.number, port.full);
            }
            *full |= port.full;
            port.full
        });
        let lateness = device.lateness_mut();
        self.late.drain(..).for_each(|late| lateness.note(late));
        for port in &mut self.ports {
            if port.failed.frames > 0 {
                let failed = std::mem::take(&mut port.failed);
                if let Some(recorder) = &self.recorder {
                    recorder.not_sent(port.number, failed);
                }
                device.send_failed(port.number, failed);
            }
        }
    }

    /// Whether frames wait for room in the socket of the port with this index.
    pub fn is_waiting(&self, index: usize) -> bool {
        self.ports[index].full
    }

    /// Whether frames wait for room in any socket.
    pub fn any_waiting(&self) -> bool {
        self.full
    }

    /// How many bytes wait behind each port for room, in the order of the ports' indexes.
    #[cfg(test)]
    pub fn backlogs(&self) -> impl Iterator<Item = usize> + '_ {
        self.ports.iter().map(|way| way.backlog_bytes)
    }

    /// Sends the frames that wait for room, or counts them as failed, because there is no more
    /// time.
    pub fn give_up(&mut self, device: &mut Device) {
        self.wait = false;
        self.flush(device);
    }

    /// Tells the device how many frames the kernel dropped in front of it. The kernel drops frames
    /// only behind others that wait, so only ports that have received since the last call are
    /// asked.
    pub fn count_missed(&mut self, device: &mut Device) {
        for port in &mut self.ports {
            if std::mem::take(&mut port.received) {
                let missed = port.port.missed();
                device.missed(port.number, missed);
                if let Some(recorder) = &self.recorder
                    && missed > 0
                {
                    recorder.missed(port.number, missed);
                }
            }
        }
    }
}

impl<S: Platform> Output for Ports<S> {
    fn transmit(&mut self, now: u64, port: u16, frame: &[u8], paced: bool) {
        self.transmit_buffer(now, port, &mut frame.to_vec(), paced);
    }

    fn transmit_buffer(&mut self, now: u64, port: u16, frame: &mut Vec<u8>, paced: bool) {
        let Some(&index) = self.index.get(usize::from(port)) else {
            return;
        };
        let Some(port) = self.ports.get_mut(index) else {
            return;
        };
        if let Some(recorder) = &self.recorder {
            recorder.sent(now, port.number, frame, paced);
        }
        if let Some(captures) = &mut port.captures {
            captures.note(self.clock.wall(now), frame, true);
        }
        if port.full && !self.hold {
            port.wait(frame);
            return;
        }
        if port.batch.is_full() {
            port.flush(self.wait, &self.clock, &mut self.late);
        }
        if port.batch.is_full() {
            // The socket has no room. If queues are held, this frame comes from a delay line.
            port.wait(frame);
            return;
        }
        if port.batch.is_empty() && !self.pending.contains(&index) {
            self.pending.push(index);
        }
        port.batch.push_buffer(frame);
        port.due.push(now);
        // A paced frame leaves at once, behind the frames that were to leave before it.
        if paced || (self.hold && port.batch.is_full()) {
            port.flush(self.wait, &self.clock, &mut self.late);
        }
    }

    fn is_full(&self, port: u16) -> bool {
        self.hold
            && self
                .index
                .get(usize::from(port))
                .and_then(|&index| self.ports.get(index))
                .is_some_and(|port| port.full)
    }

    fn packet_in(&mut self, now: u64, frame: &[u8]) -> bool {
        let taken = self.events.packet_in(frame);
        if let Some(recorder) = &self.recorder {
            recorder.packet_in(now, frame, taken);
        }
        taken
    }

    fn event(&mut self, now: u64, event: Event) -> bool {
        let Some(recorder) = &self.recorder else {
            return self.events.send(event);
        };
        let hash = Recorder::hash_of(&event);
        let taken = self.events.send(event);
        recorder.event(now, hash, taken);
        taken
    }
}
