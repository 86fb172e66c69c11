// SPDX-License-Identifier: Apache-2.0
//! Fills a grant with frames, or with parts of them.

use mac_wire::{FRAGMENT_OVERHEAD, Minislot, Packing, Request};

use crate::queue::{Frame, Queue};
use crate::rules::{CONCATENATION, Rules};
use crate::staged::Staged;
use crate::statistics::Statistics;

/// A grant that a MAP gave a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Its first minislot.
    pub first: Minislot,
    /// How many it has.
    pub minislots: u32,
}

/// A frame whose last byte is in a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaving<I> {
    /// The frame.
    pub frame: Frame<I>,
    /// The minislot that carries its last byte.
    pub last: Minislot,
}

/// What a station put into a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    /// MAC bytes, with all headers; 0 if the grant stays empty.
    pub used: u64,
    /// Bytes of those that are headers, of the burst and of frames whose last byte is in it: rates do
    /// not count them.
    pub headers: u64,
    /// Minislots of the grant that carry them, with all that the PHY adds.
    pub minislots: u32,
    /// What it asks for in the burst's head.
    pub request: Option<Request>,
    /// In an unsolicited grant: more waits than the grants of an interval carry.
    pub queue_indicator: bool,
}

/// A grant being filled.
pub(crate) struct Burst<'a, Q: Queue> {
    pub rules: &'a Rules,
    pub now: u64,
    pub grant: Grant,
    pub queue: &'a mut Q,
    pub staged: &'a mut Option<Staged<Q::Item>>,
    pub leaving: &'a mut Vec<Leaving<Q::Item>>,
    pub statistics: &'a mut Statistics,
    /// Bytes of headers so far.
    pub headers: u64,
}

impl<Q: Queue> Burst<'_, Q> {
    /// Fills it; its MAC bytes, 0 if it stays empty, and bytes of headers among them.
    pub fn fill(mut self) -> (u64, u64) {
        let room = self.rules.phy.bytes(self.grant.minislots);
        let used = match self.rules.packing {
            Packing::Continuous if self.rules.unsolicited.is_none() => self.stream(room),
            _ => self.frames(room),
        };
        (used, self.headers)
    }

    /// A stream of bytes, cut where the grant ends.
    fn stream(&mut self, room: u64) -> u64 {
        let mut used = self.rules.segment_header;
        while used < room && self.stage(u64::MAX) {
            let Some(staged) = self.staged.as_mut() else {
                break;
            };
            let part = staged.left.min(room - used);
            staged.left -= part;
            staged.cut = true;
            used += part;
            if staged.left == 0 {
                self.leave(used);
            }
        }
        if used > self.rules.segment_header {
            self.headers += self.rules.segment_header;
            used
        } else {
            0
        }
    }

    /// Whole frames, or a fragment of one.
    fn frames(&mut self, room: u64) -> u64 {
        if let Some(grants) = self.rules.unsolicited {
            self.drop_too_long(grants.room);
        }
        let (most, room, headers) = match self.rules.packing {
            Packing::Continuous => (u64::MAX, room, self.rules.segment_header),
            Packing::Concatenated if self.concatenates(room) => (
                self.rules.most_concatenated,
                room.min(self.rules.longest_concatenation),
                CONCATENATION,
            ),
            _ => (1, room, 0),
        };
        let mut used = headers;
        let mut sent = 0;
        while sent < most && self.stage(room.saturating_sub(used)) {
            let Some(staged) = self.staged.as_ref() else {
                break;
            };
            if staged.cut || staged.left > room.saturating_sub(used) {
                break;
            }
            used += staged.left;
            sent += 1;
            self.leave(used);
        }
        match sent {
            0 if self.rules.fragmentation => self.fragment(room),
            0 => 0,
            _ => {
                self.headers += headers;
                used
            }
        }
    }

    /// One fragment: what fits of the head.
    fn fragment(&mut self, room: u64) -> u64 {
        let room = room.saturating_sub(FRAGMENT_OVERHEAD as u64);
        if room == 0 || !self.stage(u64::MAX) {
            return 0;
        }
        let Some(staged) = self.staged.as_mut() else {
            return 0;
        };
        let part = staged.left.min(room);
        staged.left -= part;
        staged.cut = true;
        let used = part + FRAGMENT_OVERHEAD as u64;
        if staged.left == 0 {
            self.leave(used);
        }
        self.statistics.fragments += 1;
        self.headers += FRAGMENT_OVERHEAD as u64;
        used
    }

    /// Whether two frames at least fit behind a concatenation header.
    fn concatenates(&self, room: u64) -> bool {
        if self.staged.is_some() || self.queue.eligible(self.now).frames < 2 {
            return false;
        }
        let (Some(first), Some(second)) = (self.queue.length(0), self.queue.length(1)) else {
            return false;
        };
        let both = self.rules.mac_bytes(first) + self.rules.mac_bytes(second) + CONCATENATION;
        both <= room.min(self.rules.longest_concatenation)
    }

    /// Sees to it that there is a frame to send, one of at most so many MAC bytes if it has to come
    /// from the queue. Egress may make it longer than that.
    fn stage(&mut self, at_most: u64) -> bool {
        if self.staged.is_some() {
            return true;
        }
        let Some(length) = at_most.checked_sub(self.rules.header.into()) else {
            return false;
        };
        let at_most = u32::try_from(length).unwrap_or(u32::MAX);
        let Some(frame) = self.queue.take(self.now, at_most) else {
            return false;
        };
        let mac_bytes = self.rules.mac_bytes(frame.length);
        *self.staged = Some(Staged::new(frame, mac_bytes));
        true
    }

    /// The staged frame's last byte is the burst's byte `used`.
    fn leave(&mut self, used: u64) {
        if let Some(staged) = self.staged.take() {
            let Grant { first, minislots } = self.grant;
            self.statistics.frames += 1;
            self.headers += u64::from(self.rules.header);
            self.leaving.push(Leaving {
                frame: staged.frame,
                last: self.rules.minislot_of(first, minislots, used),
            });
        }
    }

    /// Drops heads that none of the flow's unsolicited grants will ever carry (TLV 24.16, bit 8).
    /// Without the bit too: such a flow cannot ask for more, and everything behind it would wait for
    /// ever. A shorter grant drops nothing: it was asked for before the flow got its service.
    fn drop_too_long(&mut self, room: u64) {
        if self
            .staged
            .as_ref()
            .is_some_and(|staged| staged.left > room)
            && let Some(staged) = self.staged.take()
        {
            self.queue.abandon(self.now, staged.frame);
            self.statistics.too_long += 1;
        }
        if self.staged.is_some() {
            return;
        }
        for _ in 0..self.queue.eligible(self.now).frames {
            match self.queue.length(0) {
                Some(length) if self.rules.mac_bytes(length) > room => {
                    self.queue.give_up(self.now);
                    self.statistics.too_long += 1;
                }
                _ => break,
            }
        }
    }
}
