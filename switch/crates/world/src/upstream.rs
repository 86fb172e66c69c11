// SPDX-License-Identifier: Apache-2.0
//! Upstream channels: devices' queues on one end, the CMTS's port on the other, and a request/grant
//! MAC between them.
//!
//! A channel's scheduler and stations are one source of the schedule. Devices do what is due, and
//! frames reach them, before the channel acts at that time: a frame that comes when a minislot
//! begins can be asked for in it. The lateness of a device's process does not delay bursts, as the
//! MAC of a modem is not its.

use std::cell::RefCell;

use device::{Device, QueueId, Taken};
use grpc_services::channel_state::{ChannelView, FlowPlace};
use grpc_services::proto::docsis::mac::v1::ChannelState;
use mac_channel::{Asked, Channel, Ends, Filled, Frame as Burst, Grant, Leaving, Observer, Watch};
use mac_wire::{Capacity, Clock, FlowConfig, Map, Profile, Sid};
use plant::{
    CaptureFile, CaptureOutput, Captured, Carrier, ChannelCapture, DeviceQueue, MapTraffic,
    MapsMade, Member, Members, Tap, trace_burst,
};
use tokio::runtime::Runtime;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::device_node::DeviceNode;
use crate::digest::Happened;
use crate::error::{WorldError, invalid};
use crate::frame::Frame;
use crate::net::Net;

/// An upstream channel.
#[derive(Debug)]
pub struct Upstream {
    /// The hash of its name, for the digest.
    hash: u64,
    /// As its MAPs have it.
    number: u8,
    /// Its source of events.
    source: u32,
    channel: Channel<Frame>,
    /// Keeps its last MAPs, where somebody wants to look at them.
    watch: Option<Watch>,
    members: Members,
    /// Has its frames, where somebody wants them.
    capture: Option<RefCell<ChannelCapture>>,
    /// What its MAPs take of the downstream, if anything.
    map_traffic: Option<MapTraffic>,
    /// The ports of CMTSs that hear this channel, each once.
    downstream: Vec<(u32, u16)>,
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
            members: Members::default(),
            capture: None,
            map_traffic: None,
            downstream: Vec::new(),
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
        let file = CaptureFile::new(out, bytes, 0).map_err(cannot_capture)?;
        let profile = self.channel.profile().clone();
        let flows = self.channel.scheduler().flows();
        let capture = ChannelCapture::new(profile, flows, file);
        self.capture = Some(RefCell::new(capture));
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
        let mut capture = capture.into_inner();
        capture.write(now, 0);
        capture.into_file().end().map_err(cannot_capture)
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
            let member = self.members.get(sid)?;
            let device = &devices.get(member.device as usize)?.device;
            Some(FlowPlace {
                device_id: device.config().device_id,
                port: member.queue.port,
                queue_id: member.queue.queue_id,
            })
        })
    }

    /// From now on its MAPs go before what the CMTS's ports, which frames of the channel arrive
    /// at, send to modems.
    pub fn set_map_traffic(&mut self, map_traffic: MapTraffic) {
        self.map_traffic = Some(map_traffic);
    }

    /// MAPs have been sent downstream.
    fn send_maps(&self, made: &MapsMade, net: &mut Net, devices: &mut [DeviceNode]) {
        let Some(each) = self.map_traffic else {
            return;
        };
        let bytes = each.bytes(made);
        for &(device, port) in &self.downstream {
            if let Some(node) = devices.get_mut(device as usize) {
                node.device.occupy(net.now, port, bytes);
                node.reschedule(net);
            }
        }
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
        let member = Member {
            device,
            queue,
            to,
            active: true,
        };
        self.members.put(flow.sid, member);
        self.downstream = self.members.downstream();
        Ok(())
    }

    /// Changes what other users leave of it, from the next MAP on that is made.
    ///
    /// # Errors
    /// What the scheduler refuses of it.
    pub fn set_capacity(&mut self, now: u64, capacity: Option<Capacity>) -> Result<(), WorldError> {
        let changed = self.channel.set_capacity(now, capacity);
        changed.map_err(|refused| invalid(refused.0))
    }

    /// Removes a service flow; which queue it had.
    pub fn remove(
        &mut self,
        runtime: &Runtime,
        net: &mut Net,
        devices: &mut [DeviceNode],
        sid: Sid,
    ) -> Option<(u32, QueueId)> {
        let now = net.now;
        let (channel, _, mut ends) = self.with_ends(runtime, net, devices);
        if !channel.remove(now, sid, &mut ends) {
            return None;
        }
        let member = self.members.remove(sid)?;
        self.downstream = self.members.downstream();
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
        let (channel, watch, mut ends) = self.with_ends(runtime, net, devices);
        let mut seen = (
            (Maps::default(), MapsMade::default()),
            (watch, Tap(ends.capture)),
        );
        channel.step(now, &mut ends, &mut seen);
        for sid in woken.drain(..) {
            channel.wake(now, sid, &mut ends);
        }
        let ((Maps(hash), made), _) = seen;
        if let Some(capture) = &mut self.capture {
            capture.get_mut().write(now, 0);
        }
        if made.maps > 0 {
            net.note(Happened::Map, self.hash, 0, hash);
            self.send_maps(&made, net, devices);
        }
        self.schedule(net);
    }

    /// The channel, who watches it, and its two ends.
    fn with_ends<'a>(
        &'a mut self,
        runtime: &'a Runtime,
        net: &'a mut Net,
        devices: &'a mut [DeviceNode],
    ) -> (&'a mut Channel<Frame>, &'a mut Option<Watch>, RfEnds<'a>) {
        let ends = RfEnds {
            number: self.number,
            clock: self.channel.profile().clock,
            runtime,
            net,
            devices,
            members: &self.members,
            capture: self.capture.as_ref(),
        };
        (&mut self.channel, &mut self.watch, ends)
    }
}

/// Hashes MAPs.
#[derive(Default)]
struct Maps(u64);

impl Observer for Maps {
    fn map(&mut self, _now: u64, _map: &Map, body: &[u8]) {
        self.0 = xxh3_64_with_seed(body, self.0);
    }
}

/// Both ends of a channel.
struct RfEnds<'a> {
    number: u8,
    clock: Clock,
    runtime: &'a Runtime,
    net: &'a mut Net,
    devices: &'a mut [DeviceNode],
    members: &'a Members,
    capture: Option<&'a RefCell<ChannelCapture>>,
}

impl Ends for RfEnds<'_> {
    type Item = Frame;
    type Queue<'q>
        = DeviceQueue<FromDevice<'q>>
    where
        Self: 'q;

    fn queue(&mut self, sid: Sid) -> Option<Self::Queue<'_>> {
        let member = self.members.active(sid)?;
        Some(DeviceQueue {
            carrier: FromDevice {
                net: self.net,
                node: self.devices.get_mut(member.device as usize)?,
            },
            queue: member.queue,
            // All of a world has one time.
            behind: 0,
        })
    }

    fn fill(&mut self, _now: u64, sid: Sid, grant: &Grant, asked: Option<Asked>) {
        let node = self.members.active(sid).map(|member| member.device);
        let node = node.and_then(|device| self.devices.get_mut(device as usize));
        if let Some(node) = node.filter(|node| node.device.is_traced()) {
            node.device
                .enter_burst(trace_burst(self.number, &self.clock, 0, grant, asked));
        }
    }

    fn filled(&mut self, sid: Sid, grant: &Grant, filled: &Filled, leaving: &[Leaving<Frame>]) {
        if let Some(capture) = self.capture {
            let frames = leaving.iter().map(|one| (&*one.frame.item.bytes, one.last));
            capture.borrow_mut().burst(sid, grant, filled, frames);
        }
    }

    fn deliver(&mut self, now: u64, sid: Sid, frame: Burst<Frame>, _grant: &Grant) {
        debug_assert_eq!(now, self.net.now, "in due time");
        let frame = frame.item;
        self.net.release(frame.bytes.len());
        let to = self.members.get(sid).map(|member| member.to);
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

/// A modem's device, as a channel carries from it.
pub struct FromDevice<'a> {
    net: &'a mut Net,
    node: &'a mut DeviceNode,
}

impl Carrier for FromDevice<'_> {
    type Item = Frame;

    fn device(&self) -> &Device {
        &self.node.device
    }

    fn device_mut(&mut self) -> &mut Device {
        &mut self.node.device
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.net.spare()
    }

    fn carry(&mut self, _now: u64, queue: QueueId, bytes: Vec<u8>, taken: Taken) -> Frame {
        let item = Net::noted(bytes, taken.note);
        let (node, port) = (self.node.hash, queue.port);
        self.net.note(Happened::DeviceSent, node, port, item.hash);
        self.net.hold(item.bytes.len());
        item
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        self.net.give_spare(bytes);
    }

    fn abandon(&mut self, queue: QueueId, frame: Frame) {
        let (node, port) = (self.node.hash, queue.port);
        self.net.release(frame.bytes.len());
        self.net.totals.link_dropped += 1;
        self.net.note(Happened::Dropped, node, port, frame.hash);
        self.net.reuse(frame);
    }

    fn touched(&mut self) {
        // Egress may have made a clone, or sent a frame back to ingress.
        self.node.reschedule(self.net);
    }
}
