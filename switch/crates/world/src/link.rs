// SPDX-License-Identifier: Apache-2.0
//! One direction of a link: frames leave at its rate, take its delay and some
//! jitter, and keep their order.

use std::collections::VecDeque;

use crate::random::Random;
use crate::wire::frame_length;

/// Preamble, start delimiter and gap of an Ethernet frame, bytes.
const AROUND: usize = 20;
/// Bytes of frames that wait for one direction of a link, or are on it.
pub const MOST_BYTES: usize = 64 << 20;

/// A frame on its way, with what is known of its bytes.
#[derive(Debug, Default)]
pub struct Frame {
    /// The bytes, without CRC.
    pub bytes: Vec<u8>,
    /// The hash of these bytes.
    pub hash: u64,
    /// All bytes from here on are zeros.
    pub filled: usize,
}

/// Where a link ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A device's port, the device by its index.
    Device(u32, u16),
    /// A host, by its index.
    Host(u32),
}

/// Whether a link carries frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkState {
    /// It does.
    #[default]
    Up,
    /// Frames wait on it until it is up again.
    Held,
    /// What is sent is lost.
    Cut,
}

/// Rate, delay and jitter of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkConfig {
    /// bit/s of each direction, of frames with preamble and gap; 0 is no limit.
    pub rate: u64,
    /// Propagation delay, nanoseconds.
    pub delay: u64,
    /// A frame is delayed by up to so much more, nanoseconds.
    pub jitter: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    state: LinkState,
    random: Random,
    /// Where it leads.
    pub to: End,
    /// Its source of events: the next arrival.
    pub source: u32,
    /// The end of the last frame's first bit to last bit at the sender.
    busy_until: u64,
    last_arrival: u64,
    /// A frame's length, and how long it takes: the last one's, as most are as long.
    last_time: (usize, u64),
    on_the_way: VecDeque<(u64, Frame)>,
    bytes: usize,
    /// Frames that there was no room for.
    pub dropped: u64,
}

impl Link {
    /// An empty link.
    #[must_use]
    pub fn new(config: LinkConfig, random: Random, to: End, source: u32) -> Self {
        Self {
            config,
            state: LinkState::Up,
            random,
            to,
            source,
            busy_until: 0,
            last_arrival: 0,
            last_time: (0, 0),
            on_the_way: VecDeque::new(),
            bytes: 0,
            dropped: 0,
        }
    }

    /// When a frame's last bit reaches the other end; the frame back where there is no
    /// room for it.
    pub fn send(&mut self, now: u64, frame: Frame) -> Result<u64, Frame> {
        let length = frame.bytes.len();
        if self.bytes + length > MOST_BYTES {
            self.dropped += 1;
            return Err(frame);
        }
        let start = now.max(self.busy_until);
        self.busy_until = start + self.time_of(length);
        let mut arrival = self.busy_until + self.config.delay;
        if self.config.jitter > 0 {
            arrival += self.random.below(self.config.jitter + 1);
        }
        self.last_arrival = self.last_arrival.max(arrival);
        self.bytes += length;
        self.on_the_way.push_back((self.last_arrival, frame));
        Ok(self.last_arrival)
    }

    /// Takes the frame that arrives next.
    pub fn receive(&mut self) -> Option<Frame> {
        let (_, frame) = self.on_the_way.pop_front()?;
        if self.on_the_way.is_empty() {
            // The next one is written where this one was, which the cache has.
            self.on_the_way.clear();
        }
        self.bytes -= frame.bytes.len();
        Some(frame)
    }

    /// When the next frame arrives; `None` while frames wait on the link.
    #[must_use]
    pub fn next_arrival(&self) -> Option<u64> {
        if self.state != LinkState::Up {
            return None;
        }
        self.on_the_way.front().map(|(arrival, _)| *arrival)
    }

    /// Whether it carries frames.
    #[must_use]
    pub fn state(&self) -> LinkState {
        self.state
    }

    /// It carries frames from now on, or not. What is on a link that is cut is lost, and given
    /// back.
    pub fn set_state(&mut self, state: LinkState) -> VecDeque<(u64, Frame)> {
        self.state = state;
        if state != LinkState::Cut {
            return VecDeque::new();
        }
        self.bytes = 0;
        std::mem::take(&mut self.on_the_way)
    }

    /// Its rate, delay and jitter.
    #[must_use]
    pub fn config(&self) -> LinkConfig {
        self.config
    }

    /// Frames have another rate, delay and jitter from now on, and still overtake none.
    pub fn set_config(&mut self, config: LinkConfig) {
        self.config = config;
        self.last_time = (0, 0);
    }

    /// How long a frame takes, from its first bit to its last, rounded up.
    fn time_of(&mut self, captured: usize) -> u64 {
        let length = frame_length(captured);
        if self.config.rate != 0 && self.last_time.0 != length {
            let bits = (length + AROUND) as u64 * 8;
            self.last_time = (length, (bits * 1_000_000_000).div_ceil(self.config.rate));
        }
        self.last_time.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(length: usize) -> Frame {
        Frame {
            bytes: vec![0; length],
            hash: 0,
            filled: 0,
        }
    }

    fn link(rate: u64, delay: u64, jitter: u64) -> Link {
        let config = LinkConfig {
            rate,
            delay,
            jitter,
        };
        Link::new(config, Random::stream(1, "link", "", 0), End::Host(0), 0)
    }

    #[test]
    fn a_frame_takes_its_length_with_crc_preamble_and_gap() {
        let mut link = link(1_000_000_000, 1000, 0);
        assert_eq!(link.send(0, frame(1514)).unwrap(), 1538 * 8 + 1000);
        // The next one waits for it; a short one is padded.
        assert_eq!(link.send(5, frame(20)).unwrap(), (1538 + 84) * 8 + 1000);
        assert_eq!(link.next_arrival(), Some(1538 * 8 + 1000));
        assert_eq!(link.receive().unwrap().bytes.len(), 1514);
        assert_eq!(link.receive().unwrap().bytes.len(), 20);
        assert!(link.receive().is_none());
    }

    #[test]
    fn a_link_without_rate_or_delay_is_a_wire() {
        assert_eq!(link(0, 0, 0).send(7, frame(1514)).unwrap(), 7);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut link = link(1, 0, 0);
        let mut sent = 0;
        while link.send(0, frame(1 << 20)).is_ok() {
            sent += 1;
        }
        assert_eq!((sent, link.dropped), (64, 1));
    }

    #[test]
    fn what_is_held_comes_when_the_link_is_up_and_what_is_cut_is_given_back() {
        let mut link = link(1_000_000_000, 1000, 0);
        link.send(0, frame(1514)).unwrap();
        assert!(link.set_state(LinkState::Held).is_empty());
        link.send(5, frame(20)).unwrap();
        assert_eq!(link.next_arrival(), None);
        assert!(link.set_state(LinkState::Up).is_empty());
        assert_eq!(link.next_arrival(), Some(1538 * 8 + 1000));
        assert_eq!(link.set_state(LinkState::Cut).len(), 2);
        link.set_state(LinkState::Up);
        assert_eq!((link.next_arrival(), link.bytes), (None, 0));
    }

    #[test]
    fn another_rate_and_delay_are_of_the_frames_behind_and_change_no_order() {
        let mut link = link(1_000_000, 50_000_000, 0);
        let first = link.send(0, frame(100)).unwrap();
        link.set_config(LinkConfig::default());
        assert_eq!(link.send(1, frame(100)).unwrap(), first);
    }

    proptest! {
        #[test]
        fn jitter_never_changes_the_order(times in prop::collection::vec(0..10_000u64, 1..50)) {
            let mut link = link(1_000_000_000, 500, 5_000);
            let mut last = 0;
            let mut now = 0;
            for gap in times {
                now += gap;
                let arrival = link.send(now, frame(100)).unwrap();
                prop_assert!(arrival >= last && arrival >= now + 500 + 124 * 8);
                prop_assert!(arrival <= link.busy_until + 5_500 || arrival == last);
                last = arrival;
            }
        }
    }
}
