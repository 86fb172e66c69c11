// SPDX-License-Identifier: Apache-2.0
//! Devices and channels in due order.

use std::collections::BTreeMap;

use device::QueueId;
use mac_channel::{Channel, Histogram, Watch};
use mac_wire::Sid;

use crate::channel::{Frames, Upstream};
use crate::channel_capture::CaptureFile;
use crate::members::Members;
use crate::node::{End, Node};
use crate::rf::{Crossing, Links, Ways};

/// What devices have in common that belong together: RF links, and upstream channels.
#[derive(Debug)]
pub struct Plant {
    links: Links,
    pub(crate) seed: u64,
    /// Granted ports, each with its primary queue.
    pub(crate) granted: BTreeMap<End, u32>,
    pub(crate) channels: Vec<Upstream>,
    /// Queues that a channel carries: its number, and their SID there.
    pub(crate) carried: BTreeMap<(u32, QueueId), (u8, Sid)>,
    pub(crate) frames: Frames,
    /// Captures of channels that are not there, by the channels' names.
    pub(crate) captures: BTreeMap<String, CaptureFile>,
    crossing: Vec<Crossing>,
    pub(crate) touched: Vec<u32>,
    /// Everything before it has happened, ns.
    pub(crate) time: u64,
    /// What the machine's clock has said last, ns.
    pub(crate) looked: u64,
}

/// A channel of a plant, to look at.
#[derive(Debug)]
pub struct Look<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its number in MAPs.
    pub number: u8,
    /// The moment on the channel's own clock, which began when it was made and leaves out what time
    /// jumped over, ns.
    pub now: u64,
    /// What runs it.
    pub channel: &'a Channel<Vec<u8>>,
    /// Its service flows.
    pub members: &'a Members,
    /// Its last MAPs.
    pub watch: &'a Watch,
    /// How long after their due time its MAPs were made, by the machine's clock, ns.
    pub maps_late: &'a Histogram,
}

/// What is due next.
#[derive(Clone, Copy)]
enum Due {
    Device(usize),
    Channel(usize),
}

impl Plant {
    /// A plant without channels. All that its channels draw comes from the seed.
    ///
    /// # Errors
    /// A link that cannot be; one sentence.
    pub fn new(rf_links: &[[End; 2]], seed: u64) -> Result<Self, String> {
        let mut links = Links::default();
        rf_links.iter().try_for_each(|ends| links.join(*ends))?;
        Ok(Self {
            links,
            seed,
            granted: BTreeMap::new(),
            channels: Vec::new(),
            carried: BTreeMap::new(),
            frames: Frames::default(),
            captures: BTreeMap::new(),
            crossing: Vec::new(),
            touched: Vec::new(),
            time: 0,
            looked: 0,
        })
    }

    /// Its time: everything before it has happened.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The other end of a port's RF link.
    #[must_use]
    pub fn far(&self, end: End) -> Option<End> {
        self.links.far(end)
    }

    /// Its channels, by number, to look at.
    pub fn channels(&self) -> impl Iterator<Item = Look<'_>> + '_ {
        self.channels.iter().map(|one| Look {
            name: &one.name,
            number: one.number,
            now: self.time.saturating_sub(one.behind),
            channel: &one.channel,
            members: &one.members,
            watch: &one.watch,
            maps_late: &one.maps_late,
        })
    }

    /// Frames that were given up between modem and CMTS, because their service flow or their channel
    /// was removed while they were under way.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.frames.abandoned
    }

    /// Whether no frame is in a device or on a channel.
    #[must_use]
    pub fn is_empty<N: Node>(&self, nodes: &[N]) -> bool {
        self.frames.on_channels == 0 && nodes.iter().all(|node| node.device().is_empty())
    }

    /// When something is due next; a time that is over is "at once", `None` is "when a frame comes".
    pub fn next_deadline<N: Node>(&self, nodes: &mut [N]) -> Option<u64> {
        self.next(nodes).map(|(at, _)| at)
    }

    /// What is due next: of one time, devices before channels, and the first of each kind first.
    fn next<N: Node>(&self, nodes: &mut [N]) -> Option<(u64, Due)> {
        let mut next: Option<(u64, Due)> = None;
        for (index, node) in nodes.iter_mut().enumerate() {
            if let Some(at) = node.device_mut().next_deadline()
                && next.is_none_or(|(first, _)| at < first)
            {
                next = Some((at, Due::Device(index)));
            }
        }
        for (index, channel) in self.channels.iter().enumerate() {
            let at = channel.next_deadline(self.time);
            // What is due at once in a device has an earlier time, or none that counts.
            let before = |(first, _): (u64, Due)| at < first.max(self.time);
            if next.is_none_or(before) {
                next = Some((at, Due::Channel(index)));
            }
        }
        next
    }

    /// Does all that is due by `until`, each thing at its own time, in due order.
    pub fn run<N: Node>(&mut self, nodes: &mut [N], until: u64) {
        self.run_to(nodes, until, until);
        self.time = self.time.max(until);
    }

    /// Does all that is due before a frame reaches a device at `at`, and says at what time it does:
    /// channels that act at that time do it later. To be followed by [`Plant::received`].
    pub fn run_before<N: Node>(&mut self, nodes: &mut [N], at: u64) -> u64 {
        let at = at.max(self.time);
        self.run_to(nodes, at, at.saturating_sub(1));
        self.time = self.time.max(at);
        self.time
    }

    /// Somebody gave a device something, or changed something in it.
    pub fn received<N: Node>(&mut self, nodes: &mut [N], node: usize) {
        if let Some(node) = nodes.get_mut(node) {
            self.time = self.time.max(node.device().time());
        }
        self.notice(nodes, node);
    }

    fn run_to<N: Node>(&mut self, nodes: &mut [N], devices: u64, channels: u64) {
        loop {
            match self.next(nodes) {
                Some((at, Due::Device(index))) if at <= devices => {
                    self.time = self.time.max(at);
                    if !self.step_device(nodes, index) {
                        // Deadlines are exact; if one were not, time would stand still here.
                        break;
                    }
                }
                Some((at, Due::Channel(index))) if at <= channels => {
                    self.time = self.time.max(at);
                    self.step_channel(nodes, index);
                }
                _ => break,
            }
        }
    }

    /// A device does the next thing that is due now, and what leaves it through an RF link is at the
    /// other end. Whether there was something to do.
    fn step_device<N: Node>(&mut self, nodes: &mut [N], index: usize) -> bool {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let (device, out) = nodes[index].parts();
        let mut ways = Ways {
            far: self.links.ports(number),
            crossing: &mut self.crossing,
            frames: &mut self.frames,
            out,
        };
        let has_done = device.step(self.time, &mut ways);
        self.notice(nodes, index);
        let mut crossing = std::mem::take(&mut self.crossing);
        for crossed in crossing.drain(..) {
            let Crossing {
                from,
                to,
                at,
                mut frame,
            } = crossed;
            nodes[index].left(at, from, &frame);
            if let Some(node) = nodes.get_mut(to.node as usize) {
                node.arrives(at, to.port, &frame);
                node.device_mut()
                    .receive_buffer(at, to.port, &mut frame, None);
            }
            self.notice(nodes, to.node as usize);
            self.frames.reuse(frame);
        }
        self.crossing = crossing;
        has_done
    }

    fn step_channel<N: Node>(&mut self, nodes: &mut [N], index: usize) {
        let mut touched = std::mem::take(&mut self.touched);
        let channel = &mut self.channels[index];
        channel.step(
            self.time,
            self.looked,
            nodes,
            &mut self.frames,
            &mut touched,
        );
        for node in touched.drain(..) {
            self.notice(nodes, node as usize);
        }
        self.touched = touched;
    }

    /// Tells channels of a device's queues that had been empty and are not.
    fn notice<N: Node>(&mut self, nodes: &mut [N], index: usize) {
        if self.granted.is_empty() {
            return;
        }
        let Some(node) = nodes.get_mut(index) else {
            return;
        };
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        while let Some(notice) = node.device_mut().next_notice() {
            if let Some(&(channel, sid)) = self.carried.get(&(number, notice.queue)) {
                self.wake_station(channel, sid);
            }
        }
    }

    /// A station's queue may have something: its channel sees to that as soon as devices have done
    /// what is due.
    pub(crate) fn wake_station(&mut self, channel: u8, sid: Sid) {
        let mut channels = self.channels.iter_mut();
        if let Some(channel) = channels.find(|one| one.number == channel) {
            channel.woken.push(sid);
        }
    }

    /// The machine's clock says `now`, before what is due is run; `arrived` is when the first frame
    /// came that no device has been given. Where the plant is further behind than the devices'
    /// bound its time jumps, for all of them and for its channels: see [`device::Device::wake`].
    /// Nothing is earned for the gap, and channels make no MAPs for it.
    pub fn wake<N: Node>(&mut self, nodes: &mut [N], now: u64, arrived: Option<u64>) {
        self.looked = now;
        let due = self.next_deadline(nodes);
        let (Some(due), Some(first)) = (due.into_iter().chain(arrived).min(), nodes.first()) else {
            return;
        };
        let bound = first.device().config().lateness_bound;
        let behind = now.saturating_sub(due.max(self.time));
        if behind <= bound {
            return;
        }
        let (to, gap) = (now - bound, behind - bound);
        for node in nodes {
            node.device_mut().jump(to, gap);
        }
        for channel in &mut self.channels {
            channel.behind = channel.behind.saturating_add(gap);
        }
        self.time = to;
    }
}
