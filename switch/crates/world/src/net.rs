// SPDX-License-Identifier: Apache-2.0
//! The parts that everything in a world shares: the clock, the order of events,
//! links, the digest and buffers.

use device::{Note, Pool};
use mac_wire::Sid;

use crate::collected::{Collected, MOST_BYTES as MOST_BYTES_COLLECTED};
use crate::digest::{Digest, Happened, of_content, of_frame};
use crate::error::{WorldError, limit};
use crate::frame::Frame;
use crate::link::{Link, LinkState};
use crate::rate_limit::RateLimit;
use crate::schedule::Schedule;

/// Bytes of frames that all links of a world may hold.
pub const MOST_BYTES_ON_LINKS: usize = 512 << 20;
/// Numbers that a world may record, 8 bytes each.
pub const MOST_VALUES: usize = 1 << 25;
/// Room in a buffer: the longest frame.
const ROOM: usize = 1536;
/// Frames from this length on are kept apart from shorter ones, to be used again.
const LONG: usize = 512;

/// Frames of the whole world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Steps that the world has made.
    pub events: u64,
    /// By hosts, and injected.
    pub sent: u64,
    /// By hosts.
    pub received: u64,
    /// Links had no room for them.
    pub link_dropped: u64,
    /// Left a device through a port without a link.
    pub unconnected: u64,
    /// Lost to a fault: a link was cut, or a device's process was dead, or stopped for too long.
    pub lost: u64,
    /// Died with a device's process, in whose queues they were.
    pub lost_inside: u64,
    /// On links, waiting for a device's process that is late or stopped, or to be injected.
    pub on_links: u64,
}

/// What nodes and applications share.
#[derive(Debug, Default)]
pub struct Net {
    /// The time of the event in hand.
    pub now: u64,
    /// What happens next.
    pub schedule: Schedule,
    /// One entry for each direction.
    pub links: Vec<Link>,
    /// Over all events.
    pub digest: Digest,
    /// Frames; `on_links` is counted as they come and go.
    pub totals: Totals,
    /// Bytes of frames on links, and of those that wait for processes.
    pub bytes: usize,
    /// Numbers recorded.
    pub values: usize,
    /// Frames that hosts have read, the short ones and the long ones.
    read: [Pool<Frame>; 2],
    /// Buffers with anything in them.
    spare: Pool<Vec<u8>>,
    /// What left through ports without a link, where somebody asked for it.
    pub collected: Collected,
    /// The rates that applications keep to.
    pub rate_limits: Vec<RateLimit>,
    /// Upstream channels, by index: the source of each, and stations that are to be woken.
    channels: Vec<(u32, Vec<Sid>)>,
    /// Why the world cannot go on.
    pub failure: Option<WorldError>,
}

impl Net {
    /// So many zeros. Most frames are as long as others, and nobody has written behind
    /// their content: then it need not be cleared again.
    pub fn blank(&mut self, length: usize) -> Vec<u8> {
        let Frame {
            mut bytes, filled, ..
        } = self.read[usize::from(length >= LONG)].take();
        if bytes.capacity() == 0 {
            bytes = self.spare.take();
        }
        if bytes.len() == length && filled > 0 {
            bytes[..filled].fill(0);
            debug_assert!(bytes.iter().all(|byte| *byte == 0));
        } else {
            bytes.clear();
            // Once and for all: it carries frames of any length.
            bytes.reserve_exact(ROOM);
            bytes.resize(length, 0);
        }
        bytes
    }

    /// Gives back a frame that nobody needs any more.
    pub fn reuse(&mut self, frame: Frame) {
        self.read[usize::from(frame.bytes.len() >= LONG)].give(frame);
    }

    /// A buffer with anything in it, or none yet.
    pub fn spare(&mut self) -> Vec<u8> {
        self.spare.take()
    }

    /// Gives back a buffer with anything in it.
    pub fn give_spare(&mut self, buffer: Vec<u8>) {
        self.spare.give(buffer);
    }

    /// A frame, with what is known of its bytes.
    pub fn frame(bytes: Vec<u8>) -> Frame {
        let (hash, filled) = of_frame(&bytes);
        Frame {
            bytes,
            hash,
            filled,
        }
    }

    /// The same of a frame that is zeros from `content` on.
    pub fn frame_of(bytes: Vec<u8>, content: usize) -> Frame {
        let (hash, filled) = of_content(&bytes, content);
        Frame {
            bytes,
            hash,
            filled,
        }
    }

    /// The same of a frame that has left a device, which may have brought its note.
    pub fn noted(bytes: Vec<u8>, note: Option<Note>) -> Frame {
        let Some([hash, filled]) = note else {
            return Self::frame(bytes);
        };
        let filled = filled as usize;
        debug_assert_eq!((hash, filled), of_frame(&bytes), "not as it came");
        Frame {
            bytes,
            hash,
            filled,
        }
    }

    /// Something happened to a frame now.
    pub fn note(&mut self, what: Happened, node: u64, port: u16, hash: u64) {
        self.digest.add(what, node, port, self.now, hash);
    }

    /// A fault takes a frame, which nobody holds any more.
    pub fn lose(&mut self, frame: Frame, node: u64, port: u16) {
        self.totals.lost += 1;
        self.note(Happened::Lost, node, port, frame.hash);
        self.reuse(frame);
    }

    /// A link carries frames from now on, or not. `node` and `port` are where it begins.
    pub fn set_link_state(&mut self, link: u32, state: LinkState, node: u64, port: u16) {
        let link = &mut self.links[link as usize];
        let gone = link.set_state(state);
        let (source, next) = (link.source, link.next_arrival());
        self.schedule.set(source, next.map(|at| at.max(self.now)));
        for (_, frame) in gone {
            self.release(frame.bytes.len());
            self.lose(frame, node, port);
        }
    }

    /// A frame goes onto a link. `node` and `port` are where, for the digest. Whether there
    /// was room, or a cut link lost it.
    pub fn send(&mut self, link: u32, frame: Frame, node: u64, port: u16) -> bool {
        let length = frame.bytes.len();
        let link = &mut self.links[link as usize];
        if link.state() == LinkState::Cut {
            self.lose(frame, node, port);
            return true;
        }
        let first = link.next_arrival().is_none();
        match link.send(self.now, frame) {
            Ok(arrival) => {
                if first && link.state() == LinkState::Up {
                    let source = link.source;
                    self.schedule.set(source, Some(arrival));
                }
                self.hold(length);
                true
            }
            Err(frame) => {
                self.totals.link_dropped += 1;
                self.note(Happened::Dropped, node, port, frame.hash);
                self.reuse(frame);
                false
            }
        }
    }

    /// The frame that arrives from a link now.
    pub fn receive(&mut self, link: u32) -> Option<Frame> {
        let link = &mut self.links[link as usize];
        let frame = link.receive()?;
        let (source, next) = (link.source, link.next_arrival());
        // What a link held back is overdue.
        self.schedule.set(source, next.map(|at| at.max(self.now)));
        self.release(frame.bytes.len());
        Some(frame)
    }

    /// A frame is between nodes, or waits there.
    pub fn hold(&mut self, length: usize) {
        self.totals.on_links += 1;
        self.keep(length);
    }

    /// A frame is between nodes no more.
    pub fn release(&mut self, length: usize) {
        self.totals.on_links -= 1;
        self.bytes -= length;
    }

    /// A frame has left a device through a port without a link.
    pub fn collect(&mut self, device: u64, port: u16, frame: &[u8]) {
        if !self.collected.add(device, port, self.now, frame) {
            self.fail(format!(
                "at {} ns more than {} MiB of frames are collected: take them more often",
                self.now,
                MOST_BYTES_COLLECTED >> 20
            ));
        }
    }

    /// A frame that has been received waits for its host's processes.
    pub fn keep(&mut self, length: usize) {
        self.bytes += length;
        if self.bytes > MOST_BYTES_ON_LINKS {
            self.fail(format!(
                "at {} ns links and hosts hold more than {} MiB of frames: what is sent is more \
                 than they carry; send less, or give hosts a smaller link rate",
                self.now,
                MOST_BYTES_ON_LINKS >> 20
            ));
        }
    }

    /// It waits no more.
    pub fn unkeep(&mut self, length: usize) {
        self.bytes -= length;
    }

    /// Another upstream channel, with its source of events.
    pub fn add_channel(&mut self, source: u32) {
        self.channels.push((source, Vec::new()));
    }

    /// A station's queue was empty, and is not: its channel has to see to that now.
    pub fn wake(&mut self, channel: u32, sid: Sid) {
        let (source, woken) = &mut self.channels[channel as usize];
        woken.push(sid);
        self.schedule.set_earlier(*source, self.now);
    }

    /// The stations of a channel that are to be woken; an empty list in their place.
    pub fn take_woken(&mut self, channel: u32) -> Vec<Sid> {
        std::mem::take(&mut self.channels[channel as usize].1)
    }

    /// The list back, emptied, to be used again; more may have come to its place meanwhile.
    pub fn give_woken(&mut self, channel: u32, mut list: Vec<Sid>) {
        let (source, woken) = &mut self.channels[channel as usize];
        list.append(woken);
        *woken = list;
        if !woken.is_empty() {
            self.schedule.set_earlier(*source, self.now);
        }
    }

    /// So many more numbers are recorded; whether they may be.
    pub fn record(&mut self, values: usize) -> bool {
        if self.values + values > MOST_VALUES {
            self.fail(format!(
                "at {} ns the world has recorded {MOST_VALUES} numbers, and keeps no more: record \
                 fewer packets (one_in), probes or samples",
                self.now
            ));
            return false;
        }
        self.values += values;
        true
    }

    fn fail(&mut self, words: String) {
        self.failure.get_or_insert_with(|| limit(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_frames_go_round_as_have_been_in_use_and_are_zeros_again() {
        // 250 ms at 200 Mbit/s, and no power of two.
        let frames = 4_130;
        let mut net = Net::default();
        let blanks: Vec<_> = (0..frames).map(|_| net.blank(1514)).collect();
        for mut bytes in blanks {
            bytes.reserve_exact(2 * ROOM);
            bytes[..66].fill(7);
            net.reuse(Net::frame_of(bytes, 66));
        }
        for length in [1514, 600] {
            for _ in 0..frames / 2 {
                let bytes = net.blank(length);
                assert_eq!(bytes, vec![0; length]);
                assert!(bytes.capacity() >= 2 * ROOM, "made anew");
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_reason_is_said_once() {
        let mut net = Net {
            values: MOST_VALUES - 2,
            now: 7,
            ..Net::default()
        };
        assert!(net.record(2) && !net.record(1));
        net.hold(MOST_BYTES_ON_LINKS + 1);
        let failure = net.failure.unwrap().to_string();
        assert!(
            failure.starts_with("at 7 ns the world has recorded 33554432 numbers"),
            "{failure}"
        );
        let mut net = Net::default();
        net.hold(MOST_BYTES_ON_LINKS);
        assert!(net.failure.is_none());
        net.keep(1);
        let failure = net.failure.unwrap().to_string();
        assert!(failure.contains("more than 512 MiB"), "{failure}");
    }
}
