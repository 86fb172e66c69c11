// SPDX-License-Identifier: Apache-2.0
//! A port with faults, in front of another port. It loses frames in both directions, and delays and
//! reorders those that it receives, as if the line did so.

use super::world::{FakeClock, FakePoll, FakePort, Frames, Simulated, World};
use crate::port::{BATCH, Inbox, Platform, Port, Received, Time};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The faults of a port, and how frequent they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// How many received frames of a million are lost.
    pub lost: u64,
    /// How many sent frames of a million are lost.
    pub lost_sent: u64,
    /// For how many of a million calls to send there is no room.
    pub refused: u64,
    /// How much a frame that keeps its place is delayed at most, ns.
    pub delay: u64,
    /// How many frames of a million do not keep their place.
    pub reordered: u64,
    /// How much a frame that does not keep its place is delayed at most, ns.
    pub reordered_by: u64,
    /// The most frames that are held back. Further ones are lost, and counted as overflow.
    pub most_held: usize,
}

/// Counts the frames that reached a faulty port, each of them once in each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// The frames that came from the port behind.
    pub came: u64,
    /// The received frames that were lost on purpose.
    pub lost: u64,
    /// The received frames that were lost because too many were held back.
    pub overflow: u64,
    /// The received frames that were handed over to the switch.
    pub delivered: u64,
    /// The sent frames that were lost on purpose, although the switch was told that they were sent.
    pub lost_sent: u64,
    /// The frames that were sent through the port behind.
    pub passed: u64,
    /// The calls to send that were refused.
    pub refused: u64,
    /// The frames that were handed over behind a frame that came later.
    pub overtaken: u64,
    /// The most frames that were held back at one time.
    pub most_held: usize,
}

/// A frame that is held back: the time until then, the order in which it came, and its bytes.
type Held = Reverse<(u64, u64, Vec<u8>)>;

/// A port with faults.
pub struct Faulty<P: Port, T: Time> {
    port: P,
    clock: T,
    faults: Faults,
    random: Xoshiro256StarStar,
    inbox: P::Inbox,
    held: BinaryHeap<Held>,
    /// The error that came with frames that are to be delivered first.
    error: Option<io::Error>,
    /// The time at which the last frame that keeps its place is delivered.
    last: u64,
    counts: FaultCounts,
    /// Whether the next frame that is sent has been drawn to be lost.
    loses_next: bool,
    latest: u64,
}

impl<P: Port, T: Time> Faulty<P, T> {
    /// Puts faults in front of a port.
    pub fn new(port: P, clock: T, faults: Faults) -> Self {
        Self {
            port,
            clock,
            faults,
            random: Xoshiro256StarStar::seed_from_u64(faults.seed),
            inbox: Inbox::new(BATCH),
            held: BinaryHeap::new(),
            error: None,
            last: 0,
            counts: FaultCounts::default(),
            loses_next: false,
            latest: 0,
        }
    }

    /// The counts of the port's frames.
    pub fn counts(&self) -> FaultCounts {
        self.counts
    }

    /// How many frames are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Draws a number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws whether something happens that does so `of_a_million` times in a million.
    fn happens(&mut self, of_a_million: u64) -> bool {
        self.below(1_000_000) < of_a_million
    }

    /// Takes all frames that the port behind has.
    fn take_all(&mut self, ahead: u64) {
        loop {
            let count = match self.port.receive(&mut self.inbox, 0..BATCH) {
                Ok(count) => count,
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            };
            for slot in 0..count {
                let stamp = self.inbox.stamp(slot);
                let came = stamp.map_or_else(|| self.clock.now(), |at| at.saturating_sub(ahead));
                self.take_one(slot, came);
            }
            if count < BATCH {
                return;
            }
        }
    }

    fn take_one(&mut self, slot: usize, came: u64) {
        self.counts.came += 1;
        let number = self.counts.came;
        if self.happens(self.faults.lost) {
            self.counts.lost += 1;
        } else if self.held.len() >= self.faults.most_held {
            self.counts.overflow += 1;
        } else {
            let at = if self.happens(self.faults.reordered) {
                came + self.below(self.faults.reordered_by + 1)
            } else {
                self.last = self.last.max(came + self.below(self.faults.delay + 1));
                self.last
            };
            let frame = match self.inbox.frame(slot) {
                Received::Frame { bytes, .. } => bytes.to_vec(),
                Received::TooLong(len) => vec![0; len],
            };
            self.held.push(Reverse((at, number, frame)));
            self.counts.most_held = self.counts.most_held.max(self.held.len());
        }
    }
}

impl<P: Port, T: Time> Port for Faulty<P, T> {
    type Inbox = Frames;
    type Link = P::Link;

    fn receive(&mut self, inbox: &mut Frames, slots: Range<usize>) -> io::Result<usize> {
        let ahead = self.clock.ahead();
        if self.error.is_none() {
            self.take_all(ahead);
        }
        let now = self.clock.now();
        let mut count = 0;
        for slot in slots {
            let Some(Reverse((at, _, _))) = self.held.peek() else {
                break;
            };
            if *at > now {
                break;
            }
            if let Some(Reverse((at, number, frame))) = self.held.pop() {
                inbox.put(slot, ahead + at, frame);
                self.counts.delivered += 1;
                self.counts.overtaken += u64::from(number < self.latest);
                self.latest = self.latest.max(number);
                count += 1;
            }
        }
        match self.error.take_if(|_| count == 0) {
            Some(error) => Err(error),
            None => Ok(count),
        }
    }

    fn send(&mut self, frames: &mut [Vec<u8>]) -> io::Result<usize> {
        if self.happens(self.faults.refused) {
            self.counts.refused += 1;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if std::mem::take(&mut self.loses_next) || self.happens(self.faults.lost_sent) {
            self.counts.lost_sent += 1;
            return Ok(1);
        }
        // Each frame has a draw of its own. All frames in front of the next one that is lost are
        // sent together.
        let mut together = 1;
        while together < frames.len() {
            if self.happens(self.faults.lost_sent) {
                self.loses_next = true;
                break;
            }
            together += 1;
        }
        let sent = self.port.send(&mut frames[..together])?;
        self.counts.passed += sent as u64;
        Ok(sent)
    }

    fn missed(&mut self) -> u64 {
        self.port.missed()
    }

    fn attach(&mut self, link: P::Link) {
        self.error = None;
        self.port.attach(link);
    }

    fn next_deadline(&self) -> Option<u64> {
        let first = self.held.peek().map(|Reverse((at, _, _))| *at);
        first.into_iter().chain(self.port.next_deadline()).min()
    }
}

impl<P: Simulated, T: Time> Simulated for Faulty<P, T> {
    fn place(&self) -> (&Arc<World>, usize) {
        self.port.place()
    }
}

/// Fake ports with faults.
pub enum Troubled {}

impl Platform for Troubled {
    type Clock = FakeClock;
    type Port = Faulty<FakePort, FakeClock>;
    type Poll = FakePoll;
}
