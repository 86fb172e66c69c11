// SPDX-License-Identifier: Apache-2.0
//! The service flows of a channel, and their queues in devices.

use device::{Device, QueueId, RequestKind, Taken, TraceBurst};
use mac_channel::{Asked, Eligible, Frame, Grant, How, Queue};
use mac_wire::{Clock, Minislot, Sid};

/// A service flow of a channel: where its frames wait, and where they arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The modem's device, by its index.
    pub device: u32,
    /// The queue, of a granted port.
    pub queue: QueueId,
    /// The CMTS's device, by its index, and its port.
    pub to: (u32, u16),
    /// False of one that was removed: what it has sent still arrives.
    pub active: bool,
}

/// The service flows of a channel, by SID.
#[derive(Debug, Clone, Default)]
pub struct Members(Vec<Option<Member>>);

impl Members {
    /// A SID's service flow, be it removed or not.
    #[must_use]
    pub fn get(&self, sid: Sid) -> Option<Member> {
        self.0.get(usize::from(sid.0)).copied().flatten()
    }

    /// A SID's service flow that is on the channel.
    #[must_use]
    pub fn active(&self, sid: Sid) -> Option<Member> {
        self.get(sid).filter(|member| member.active)
    }

    /// A SID has a service flow from now on.
    pub fn put(&mut self, sid: Sid, member: Member) {
        let index = usize::from(sid.0);
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index] = Some(member);
    }

    /// A service flow is removed; what it was.
    pub fn remove(&mut self, sid: Sid) -> Option<Member> {
        let member = self.0.get_mut(usize::from(sid.0))?.as_mut()?;
        member.active = false;
        Some(*member)
    }

    /// Those that are on the channel.
    pub fn iter(&self) -> impl Iterator<Item = (Sid, Member)> + '_ {
        let members = self.0.iter().enumerate();
        members.filter_map(|(sid, member)| {
            let member = member.filter(|member| member.active)?;
            Some((Sid(u16::try_from(sid).ok()?), member))
        })
    }
}

/// What a trace tells of a grant, which a request brought if anybody asked. The channel's time is
/// `behind` the device's by so much, ns.
#[must_use]
pub fn trace_burst(
    channel: u8,
    clock: &Clock,
    behind: u64,
    grant: &Grant,
    asked: Option<Asked>,
) -> TraceBurst {
    let at = |ns: u64| ns.saturating_add(behind);
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
            (kind, at(clock.start(asked.sent)))
        }),
        first_minislot: grant.first.0,
        minislots: grant.minislots,
        start_ns: at(clock.start(grant.first)),
        end_ns: at(clock.end(Minislot(last))),
    }
}

/// Who has a device, and carries the frames that grants let go from it.
pub trait Carrier {
    /// A frame, however it is carried.
    type Item;

    /// The device.
    fn device(&self) -> &Device;

    /// The device, to take something from it.
    fn device_mut(&mut self) -> &mut Device;

    /// A buffer with anything in it, for a frame.
    fn buffer(&mut self) -> Vec<u8>;

    /// A frame in a buffer has left a queue, at that time.
    fn carry(&mut self, now: u64, queue: QueueId, bytes: Vec<u8>, taken: Taken) -> Self::Item;

    /// No frame could leave, and nobody needs the buffer.
    fn keep(&mut self, bytes: Vec<u8>);

    /// A frame that left a queue is not sent after all.
    fn abandon(&mut self, queue: QueueId, item: Self::Item);

    /// Frames have left a queue: egress may have made others, and the device may have something to do.
    fn touched(&mut self);
}

/// A service flow's queue in a device, as a channel's station works with it.
#[derive(Debug)]
pub struct DeviceQueue<C> {
    /// Who has the device.
    pub carrier: C,
    /// Which queue.
    pub queue: QueueId,
    /// How far the channel's time is behind the device's, ns.
    pub behind: u64,
}

impl<C: Carrier> Queue for DeviceQueue<C> {
    type Item = C::Item;

    fn eligible(&self, now: u64) -> Eligible {
        let now = now.saturating_add(self.behind);
        let eligible = self.carrier.device().backlog(now, self.queue).eligible;
        Eligible {
            frames: eligible.frames,
            bytes: eligible.bytes,
        }
    }

    fn more_eligible_at(&self, now: u64) -> Option<u64> {
        let now = now.saturating_add(self.behind);
        let more_at = self.carrier.device().backlog(now, self.queue).more_at;
        more_at.map(|at| at.saturating_sub(self.behind))
    }

    fn length(&self, place: usize) -> Option<u32> {
        self.carrier.device().length_at(self.queue, place)
    }

    fn take(&mut self, now: u64, at_most: u32) -> Option<Frame<C::Item>> {
        let now = now.saturating_add(self.behind);
        let mut bytes = self.carrier.buffer();
        let device = self.carrier.device_mut();
        let taken = device.take(now, self.queue, at_most, &mut bytes);
        self.carrier.touched();
        let Some(taken) = taken else {
            self.carrier.keep(bytes);
            return None;
        };
        Some(Frame {
            length: taken.length,
            item: self.carrier.carry(now, self.queue, bytes, taken),
        })
    }

    fn give_up(&mut self, now: u64) {
        let now = now.saturating_add(self.behind);
        self.carrier.device_mut().give_up(now, self.queue);
        self.carrier.touched();
    }

    fn abandon(&mut self, _now: u64, frame: Frame<C::Item>) {
        self.carrier.abandon(self.queue, frame.item);
    }

    fn map(&mut self, _now: u64, granted: u64, waiting: u64) {
        let device = self.carrier.device_mut();
        device.read_map(self.queue, granted, waiting);
    }
}
