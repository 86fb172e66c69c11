// SPDX-License-Identifier: Apache-2.0
//! A channel of a plant, and its ends in the plant's devices.

use std::cell::RefCell;

use device::{Device, Pool, QueueId, Taken};
use mac_channel::{
    Asked, Channel, Ends, Filled, Frame, Grant, Histogram, Leaving, Observer, Watch,
};
use mac_wire::{Clock, Map, Sid};

use crate::channel_capture::{ChannelCapture, Tap};
use crate::map_traffic::{MapTraffic, MapsMade};
use crate::members::{Carrier, DeviceQueue, Member, Members, trace_burst};
use crate::node::Node;

/// Frames that entered bursts and have not arrived, and buffers for more.
#[derive(Debug, Default)]
pub struct Frames {
    /// How many frames are on channels.
    pub on_channels: u64,
    /// How many were given up between the modem and the CMTS: their service flow, or their channel,
    /// was removed while they were under way.
    pub abandoned: u64,
    spare: Pool<Vec<u8>>,
}

impl Frames {
    /// A buffer with anything in it, or none yet.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.take()
    }

    /// Gives back a buffer with anything in it.
    pub fn reuse(&mut self, bytes: Vec<u8>) {
        self.spare.give(bytes);
    }
}

/// An upstream channel of a plant.
#[derive(Debug)]
pub struct Upstream {
    pub name: String,
    pub number: u8,
    pub channel: Channel<Vec<u8>>,
    pub members: Members,
    /// How far its time is behind the plant's: when it began, and what time jumped over since.
    pub behind: u64,
    /// How late its MAPs were made, by the clock of the machine.
    pub maps_late: Histogram,
    /// Its last MAPs.
    pub watch: Watch,
    /// Has its frames, where somebody wants them.
    pub capture: Option<RefCell<ChannelCapture>>,
    /// What its MAPs take of the downstream, if anything.
    pub map_traffic: Option<MapTraffic>,
    /// The ports of CMTSs that its MAPs leave, each once.
    pub downstream: Vec<(u32, u16)>,
    /// Stations whose queues had been empty and are not.
    pub woken: Vec<Sid>,
}

impl Upstream {
    /// When it has something to do next, on the plant's clock.
    pub fn next_deadline(&self, now: u64) -> u64 {
        let next = self.channel.next_deadline().saturating_add(self.behind);
        if self.woken.is_empty() {
            next
        } else {
            next.min(now)
        }
    }

    /// Does all that is due at `now`, and wakes the stations that are to be woken. `looked` is what
    /// the machine's clock has said last.
    pub fn step<N: Node>(
        &mut self,
        now: u64,
        looked: u64,
        nodes: &mut [N],
        frames: &mut Frames,
        touched: &mut Vec<u32>,
    ) {
        let at = now.saturating_sub(self.behind);
        let mut ends = RfEnds {
            nodes,
            frames,
            members: &self.members,
            behind: self.behind,
            number: self.number,
            clock: self.channel.profile().clock,
            capture: self.capture.as_ref(),
            touched,
        };
        let late = MapsLate {
            late: &mut self.maps_late,
            behind: self.behind,
            looked,
        };
        let watched = (&mut self.watch, Tap(self.capture.as_ref()));
        let mut seen = (MapsMade::default(), (late, watched));
        self.channel.step(at, &mut ends, &mut seen);
        for sid in self.woken.drain(..) {
            self.channel.wake(at, sid, &mut ends);
        }
        let (made, _) = seen;
        if let Some(capture) = &mut self.capture {
            capture.get_mut().write(at, self.behind);
        }
        if let Some(each) = self.map_traffic.filter(|_| made.maps > 0) {
            let bytes = each.bytes(&made);
            for &(device, port) in &self.downstream {
                if let Some(node) = nodes.get_mut(device as usize) {
                    node.device_mut().occupy(now, port, bytes);
                    touched.push(device);
                }
            }
        }
    }
}

/// Notes how late MAPs are made.
struct MapsLate<'a> {
    late: &'a mut Histogram,
    behind: u64,
    looked: u64,
}

impl Observer for MapsLate<'_> {
    fn map(&mut self, now: u64, _map: &Map, _body: &[u8]) {
        let due = now.saturating_add(self.behind);
        self.late.add(self.looked.saturating_sub(due));
    }
}

/// Both ends of a channel.
pub struct RfEnds<'a, N> {
    pub nodes: &'a mut [N],
    pub frames: &'a mut Frames,
    pub members: &'a Members,
    pub behind: u64,
    pub number: u8,
    pub clock: Clock,
    pub capture: Option<&'a RefCell<ChannelCapture>>,
    /// Devices that may have something to do, or to tell.
    pub touched: &'a mut Vec<u32>,
}

impl<N: Node> Ends for RfEnds<'_, N> {
    type Item = Vec<u8>;
    type Queue<'q>
        = DeviceQueue<Carried<'q, N>>
    where
        Self: 'q;

    fn queue(&mut self, sid: Sid) -> Option<Self::Queue<'_>> {
        let member = self.members.active(sid)?;
        let node = self.nodes.get_mut(member.device as usize)?;
        Some(DeviceQueue {
            carrier: Carried {
                node,
                index: member.device,
                frames: self.frames,
                touched: self.touched,
            },
            queue: member.queue,
            behind: self.behind,
        })
    }

    fn fill(&mut self, _now: u64, sid: Sid, grant: &Grant, asked: Option<Asked>) {
        let node = self.members.active(sid).map(|member| member.device);
        let node = node.and_then(|node| self.nodes.get_mut(node as usize));
        if let Some(node) = node.filter(|node| node.device().is_traced()) {
            let burst = trace_burst(self.number, &self.clock, self.behind, grant, asked);
            node.device_mut().enter_burst(burst);
        }
    }

    fn filled(&mut self, sid: Sid, grant: &Grant, filled: &Filled, leaving: &[Leaving<Vec<u8>>]) {
        if let Some(capture) = self.capture {
            let frames = leaving.iter().map(|one| (&*one.frame.item, one.last));
            capture.borrow_mut().burst(sid, grant, filled, frames);
        }
    }

    fn deliver(&mut self, now: u64, sid: Sid, frame: Frame<Vec<u8>>, _grant: &Grant) {
        let mut bytes = frame.item;
        self.frames.on_channels -= 1;
        // Nothing is taken of a SID that never was.
        if let Some(Member { to, .. }) = self.members.get(sid)
            && let Some(node) = self.nodes.get_mut(to.0 as usize)
        {
            let now = now.saturating_add(self.behind);
            node.arrives(now, to.1, &bytes);
            node.device_mut()
                .receive_buffer(now, to.1, &mut bytes, None);
            self.touched.push(to.0);
        }
        self.frames.reuse(bytes);
    }
}

/// A modem's device, as a channel carries from it.
pub struct Carried<'a, N> {
    node: &'a mut N,
    index: u32,
    frames: &'a mut Frames,
    touched: &'a mut Vec<u32>,
}

impl<N: Node> Carrier for Carried<'_, N> {
    type Item = Vec<u8>;

    fn device(&self) -> &Device {
        self.node.device()
    }

    fn device_mut(&mut self) -> &mut Device {
        self.node.device_mut()
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.frames.buffer()
    }

    fn carry(&mut self, now: u64, queue: QueueId, bytes: Vec<u8>, _taken: Taken) -> Vec<u8> {
        self.frames.on_channels += 1;
        self.node.left(now, queue.port, &bytes);
        bytes
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        self.frames.reuse(bytes);
    }

    fn abandon(&mut self, _queue: QueueId, bytes: Vec<u8>) {
        self.frames.on_channels -= 1;
        self.frames.abandoned += 1;
        self.frames.reuse(bytes);
    }

    fn touched(&mut self) {
        self.touched.push(self.index);
    }
}
