// SPDX-License-Identifier: Apache-2.0
//! Upstream channels: devices' queues on one end, the CMTS's port on the other, and a request/grant
//! MAC between them.
//!
//! A channel's scheduler and stations are one source of the schedule. Devices do what is due, and
//! frames reach them, before the channel acts at that time: a frame that comes when a minislot
//! begins can be asked for in it. The lateness of a device's process does not delay bursts, as the
//! MAC of a modem is not its.

use std::cell::RefCell;

use device::{QueueId, RequestKind, TraceBurst};
use mac_channel::{
    Asked, Channel, Eligible, Ends, Filled, Frame as Burst, Grant, How, Leaving, Observer, Queue,
    Watch,
};
use mac_wire::{Clock, FlowConfig, Map, Minislot, Profile, Sid};
use p4runtime::channel_state::{ChannelView, FlowPlace};
use p4runtime::proto::docsis::mac::v1::ChannelState;
use tokio::runtime::Runtime;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::channel_capture::{CaptureOutput, Captured, ChannelCapture, Tap};
use crate::device_node::DeviceNode;
use crate::digest::Happened;
use crate::error::{WorldError, invalid};
use crate::link::Frame;
use crate::net::Net;

/// A service flow of a channel: where its frames wait, and where they arrive.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// The modem's device, by its index.
    device: u32,
    queue: QueueId,
    flow: FlowConfig,
    /// The CMTS's device, by its index, and its port.
    to: (u32, u16),
    /// False of one that was removed: what it has sent still arrives.
    active: bool,
}

/// An upstream channel.
#[derive(Debug)]
pub struct Upstream {
    /// Of its name, for the digest.
    hash: u64,
    /// As its MAPs have it.
    number: u8,
    /// Its source of events.
    source: u32,
    channel: Channel<Frame>,
    /// Keeps its last MAPs, where somebody wants to look at them.
    watch: Option<Watch>,
    /// By SID.
    members: Vec<Option<Member>>,
    /// Has its frames, where somebody wants them.
    capture: Option<RefCell<ChannelCapture>>,
}

impl Upstream {
    /// A channel of a number, without service flows.
    ///
    /// # Errors
    /// What the scheduler refuses of the profile.
    pub fn new(
        profile: Profile,
        number: u8,
        seed: u64,
        hash: u64,
        source: u32,
    ) -> Result<Self, WorldError> {
        let channel = Channel::new(profile, number, seed).map_err(|refused| invalid(refused.0))?;
        Ok(Self {
            hash,
            number,
            source,
            channel,
            watch: None,
            members: Vec::new(),
            capture: None,
        })
    }

    /// The channel, to look at.
    #[must_use]
    pub fn channel(&self) -> &Channel<Frame> {
        &self.channel
    }

    /// Keeps its last `maps` MAPs from now on; 0: none.
    pub fn watch(&mut self, maps: usize) {
        let made = self.channel.statistics().maps;
        self.watch = (maps > 0).then(|| Watch::after(made, maps));
    }

    /// Writes its frames to `out` from now on, at most so many bytes.
    ///
    /// # Errors
    /// It is written already, or cannot be.
    pub fn capture(&mut self, out: CaptureOutput, bytes: u64) -> Result<(), WorldError> {
        if self.capture.is_some() {
            return Err(invalid("its frames are captured already"));
        }
        let profile = self.channel.profile().clone();
        let capture = ChannelCapture::new(profile, out, bytes).map_err(cannot_capture)?;
        let capture = self.capture.insert(RefCell::new(capture)).get_mut();
        for member in self.members.iter().flatten() {
            capture.flow(&member.flow);
        }
        Ok(())
    }

    /// Ends that; what became of it.
    ///
    /// # Errors
    /// It was not begun, or could not be written.
    pub fn end_capture(&mut self, now: u64) -> Result<Captured, WorldError> {
        let Some(capture) = self.capture.take() else {
            return Err(invalid("its frames are not captured"));
        };
        capture.into_inner().end(now).map_err(cannot_capture)
    }

    /// Its state, as a message.
    pub fn state(&self, name: &str, now: u64, devices: &[DeviceNode]) -> ChannelState {
        let view = ChannelView {
            name,
            number: self.number,
            now,
            channel: &self.channel,
            watch: self.watch.as_ref(),
            maps: usize::MAX,
        };
        view.state(|sid| {
            let member = self.members.get(usize::from(sid.0)).copied().flatten()?;
            let device = &devices.get(member.device as usize)?.device;
            Some(FlowPlace {
                device_id: device.config().device_id,
                port: member.queue.port,
                queue_id: member.queue.queue_id,
            })
        })
    }

    /// The MAC has nothing to do before that time.
    pub fn schedule(&self, net: &mut Net) {
        let next = self.channel.next_deadline().max(net.now);
        net.schedule.set(self.source, Some(next));
    }

    /// Adds a service flow of a device's queue, whose frames arrive at `to`.
    ///
    /// # Errors
    /// What the scheduler refuses of it.
    pub fn add(
        &mut self,
        now: u64,
        flow: FlowConfig,
        (device, queue): (u32, QueueId),
        to: (u32, u16),
    ) -> Result<(), WorldError> {
        let added = self.channel.add(now, flow);
        added.map_err(|refused| invalid(refused.0))?;
        if let Some(capture) = &mut self.capture {
            capture.get_mut().flow(&flow);
        }
        let index = usize::from(flow.sid.0);
        if self.members.len() <= index {
            self.members.resize(index + 1, None);
        }
        self.members[index] = Some(Member {
            device,
            queue,
            flow,
            to,
            active: true,
        });
        Ok(())
    }

    /// Removes a service flow; which queue it had.
    pub fn remove(&mut self, now: u64, sid: Sid) -> Option<(u32, QueueId)> {
        if !self.channel.remove(now, sid) {
            return None;
        }
        let member = self.members.get_mut(usize::from(sid.0))?.as_mut()?;
        member.active = false;
        Some((member.device, member.queue))
    }

    /// Does all that is due now, and wakes the stations of `woken`, whose queues had been empty.
    pub fn step(
        &mut self,
        runtime: &Runtime,
        net: &mut Net,
        devices: &mut [DeviceNode],
        woken: &mut Vec<Sid>,
    ) {
        let now = net.now;
        let mut seen = (
            Maps::default(),
            (&mut self.watch, Tap(self.capture.as_ref())),
        );
        let mut ends = RfEnds {
            number: self.number,
            clock: self.channel.profile().clock,
            runtime,
            net,
            devices,
            members: &self.members,
            capture: self.capture.as_ref(),
        };
        self.channel.step(now, &mut ends, &mut seen);
        for sid in woken.drain(..) {
            self.channel.wake(now, sid, &mut ends);
        }
        let (maps, _) = seen;
        if let Some(capture) = &mut self.capture {
            capture.get_mut().write(now);
        }
        if maps.made {
            net.note(Happened::Map, self.hash, 0, maps.hash);
        }
        self.schedule(net);
    }
}

/// Hashes MAPs.
#[derive(Default)]
struct Maps {
    hash: u64,
    made: bool,
}

impl Observer for Maps {
    fn map(&mut self, _now: u64, _map: &Map, body: &[u8]) {
        self.hash = xxh3_64_with_seed(body, self.hash);
        self.made = true;
    }
}

/// Both ends of a channel.
struct RfEnds<'a> {
    number: u8,
    clock: Clock,
    runtime: &'a Runtime,
    net: &'a mut Net,
    devices: &'a mut [DeviceNode],
    members: &'a [Option<Member>],
    capture: Option<&'a RefCell<ChannelCapture>>,
}

impl RfEnds<'_> {
    fn member(&self, sid: Sid) -> Option<Member> {
        self.members.get(usize::from(sid.0)).copied().flatten()
    }
}

impl Ends for RfEnds<'_> {
    type Item = Frame;
    type Queue<'q>
        = FlowQueue<'q>
    where
        Self: 'q;

    fn queue(&mut self, sid: Sid) -> Option<FlowQueue<'_>> {
        let member = self.member(sid).filter(|member| member.active)?;
        Some(FlowQueue {
            net: self.net,
            node: self.devices.get_mut(member.device as usize)?,
            queue: member.queue,
        })
    }

    fn fill(&mut self, _now: u64, sid: Sid, grant: &Grant, asked: Option<Asked>) {
        let node = self.member(sid).map(|member| member.device);
        let node = node.and_then(|device| self.devices.get_mut(device as usize));
        if let Some(node) = node.filter(|node| node.device.is_traced()) {
            node.device
                .enter_burst(trace_burst(self.number, &self.clock, grant, asked));
        }
    }

    fn filled(&mut self, sid: Sid, grant: &Grant, filled: &Filled, leaving: &[Leaving<Frame>]) {
        if let Some(capture) = self.capture {
            capture.borrow_mut().burst(sid, grant, filled, leaving);
        }
    }

    fn deliver(&mut self, now: u64, sid: Sid, frame: Burst<Frame>, _grant: &Grant) {
        debug_assert_eq!(now, self.net.now, "in due time");
        let frame = frame.item;
        self.net.release(frame.bytes.len());
        let to = self.member(sid).map(|member| member.to);
        let node =
            to.and_then(|(device, port)| Some((self.devices.get_mut(device as usize)?, port)));
        match node {
            Some((node, port)) => node.receive(self.runtime, self.net, port, frame),
            // Nothing is taken of a SID that never was.
            None => self.net.reuse(frame),
        }
    }
}

fn cannot_capture(error: std::io::Error) -> WorldError {
    invalid(format!("the capture cannot be written: {error}"))
}

/// What a trace tells of a grant.
fn trace_burst(channel: u8, clock: &Clock, grant: &Grant, asked: Option<Asked>) -> TraceBurst {
    let last = grant
        .first
        .0
        .saturating_add(grant.minislots.saturating_sub(1).into());
    TraceBurst {
        channel,
        requested: asked.map(|asked| {
            let kind = match asked.how {
                How::Contention => RequestKind::Contention,
                How::Poll => RequestKind::Poll,
                How::Burst => RequestKind::Burst,
            };
            (kind, clock.start(asked.sent))
        }),
        first_minislot: grant.first.0,
        minislots: grant.minislots,
        start_ns: clock.start(grant.first),
        end_ns: clock.end(Minislot(last)),
    }
}

/// A service flow's queue in its device.
struct FlowQueue<'a> {
    net: &'a mut Net,
    node: &'a mut DeviceNode,
    queue: QueueId,
}

impl Queue for FlowQueue<'_> {
    type Item = Frame;

    fn eligible(&self, now: u64) -> Eligible {
        let eligible = self.node.device.backlog(now, self.queue).eligible;
        Eligible {
            frames: eligible.frames,
            bytes: eligible.bytes,
        }
    }

    fn more_eligible_at(&self, now: u64) -> Option<u64> {
        self.node.device.backlog(now, self.queue).more_at
    }

    fn length(&self, place: usize) -> Option<u32> {
        self.node.device.length_at(self.queue, place)
    }

    fn take(&mut self, now: u64, at_most: u32) -> Option<Burst<Frame>> {
        let mut bytes = self.net.spare();
        let taken = self.node.device.take(now, self.queue, at_most, &mut bytes);
        // Egress may have made a clone, or sent a frame back to ingress.
        self.node.reschedule(self.net);
        let Some(taken) = taken else {
            self.net.give_spare(bytes);
            return None;
        };
        let item = Net::noted(bytes, taken.note);
        let (node, port) = (self.node.hash, self.queue.port);
        self.net.note(Happened::DeviceSent, node, port, item.hash);
        self.net.hold(item.bytes.len());
        Some(Burst {
            length: taken.length,
            item,
        })
    }

    fn give_up(&mut self, now: u64) {
        self.node.device.give_up(now, self.queue);
        self.node.reschedule(self.net);
    }

    fn abandon(&mut self, _now: u64, frame: Burst<Frame>) {
        let (node, port) = (self.node.hash, self.queue.port);
        self.net.release(frame.item.bytes.len());
        self.net.totals.link_dropped += 1;
        self.net
            .note(Happened::Dropped, node, port, frame.item.hash);
        self.net.reuse(frame.item);
    }
}
