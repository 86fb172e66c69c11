// SPDX-License-Identifier: Apache-2.0
//! Ends of a channel without frames: lengths, numbered and stamped.

use std::collections::VecDeque;

use mac_channel::{Channel, Eligible, Ends, Frame, Grant, Queue};
use mac_wire::{FlowConfig, Profile, Sid};

use crate::bucket::Bucket;

/// SplitMix64: what a test draws.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(bound)) >> 64) as u64
    }
}

/// A frame: its number in its flow, and when it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    pub number: u64,
    pub born: u64,
    pub length: u32,
}

/// A queue, shaped by its buckets if it has any. One that is `endless` always has a frame of that
/// length.
#[derive(Default)]
pub struct Lengths {
    pub buckets: Vec<Bucket>,
    /// Tokens pay for requests, not for departures.
    pub pays_requests: bool,
    /// Frames from the head on that are paid for.
    paid: usize,
    /// When tokens were taken, and for how many bytes.
    pub charged: Vec<(u64, u64)>,
    pub frames: VecDeque<Packet>,
    pub bytes: u64,
    pub endless: Option<u32>,
    pub numbers: u64,
    pub given_up: u64,
    pub abandoned: u64,
}

impl Lengths {
    pub fn push(&mut self, now: u64, length: u32) {
        let number = self.numbers;
        self.numbers += 1;
        self.bytes += u64::from(length);
        self.frames.push_back(Packet {
            number,
            born: now,
            length,
        });
    }

    /// When all buckets have so many bytes.
    fn ready_at(&self, bytes: u64) -> u64 {
        let times = self.buckets.iter().map(|bucket| bucket.ready_at(bytes));
        times.max().unwrap_or(0)
    }

    fn pay(&mut self, now: u64, bytes: u64) {
        for bucket in &mut self.buckets {
            bucket.take(now, bytes);
        }
        self.charged.push((now, bytes));
    }

    fn pop(&mut self, now: u64) -> Option<Packet> {
        let packet = self.frames.pop_front()?;
        self.paid = self.paid.saturating_sub(1);
        self.bytes -= u64::from(packet.length);
        if let Some(length) = self.endless {
            self.push(now, length);
        }
        Some(packet)
    }
}

impl Queue for Lengths {
    type Item = Packet;

    fn eligible(&self, now: u64) -> Eligible {
        if self.buckets.is_empty() {
            return Eligible {
                frames: self.frames.len() as u64,
                bytes: self.bytes,
            };
        }
        let mut eligible = Eligible::default();
        let mut unpaid = 0;
        for (place, frame) in self.frames.iter().enumerate() {
            let length = u64::from(frame.length);
            if place >= self.paid {
                unpaid += length;
                if self.ready_at(unpaid) > now {
                    break;
                }
            }
            eligible.bytes += length;
            eligible.frames += 1;
        }
        eligible
    }

    fn more_eligible_at(&self, now: u64) -> Option<u64> {
        let next = self.eligible(now).frames as usize + 1;
        let unpaid = self.frames.range(self.paid..).take(next - self.paid);
        let bytes = unpaid.map(|frame| u64::from(frame.length)).sum();
        (next <= self.frames.len()).then(|| self.ready_at(bytes))
    }

    fn length(&self, place: usize) -> Option<u32> {
        self.frames.get(place).map(|packet| packet.length)
    }

    fn asked(&mut self, now: u64, frames: u64) {
        while self.pays_requests && (self.paid as u64) < frames {
            let bytes = u64::from(self.frames[self.paid].length);
            self.pay(now, bytes);
            self.paid += 1;
        }
    }

    fn take(&mut self, now: u64, at_most: u32) -> Option<Frame<Packet>> {
        let head = *self.frames.front()?;
        let bytes = u64::from(head.length);
        if head.length > at_most || self.paid == 0 && self.ready_at(bytes) > now {
            return None;
        }
        if self.paid == 0 {
            self.pay(now, bytes);
        }
        let item = self.pop(now)?;
        Some(Frame {
            length: item.length,
            item,
        })
    }

    fn abandon(&mut self, _now: u64, _frame: Frame<Packet>) {
        self.abandoned += 1;
    }

    fn give_up(&mut self, now: u64) {
        self.given_up += u64::from(self.pop(now).is_some());
    }
}

/// All queues, by SID, and what arrived.
#[derive(Default)]
pub struct Plant {
    queues: Vec<Lengths>,
    /// How often a station's queue was asked for.
    pub looks: u64,
    pub delivered: Vec<(u64, Sid, Packet)>,
}

impl Plant {
    /// Frames of all queues that were sent in part and never will be whole.
    pub fn abandoned(&self) -> u64 {
        self.queues.iter().map(|queue| queue.abandoned).sum()
    }
}

impl Plant {
    pub fn lengths(&mut self, sid: Sid) -> &mut Lengths {
        let index = usize::from(sid.0);
        if self.queues.len() <= index {
            self.queues.resize_with(index + 1, Lengths::default);
        }
        &mut self.queues[index]
    }
}

impl Ends for Plant {
    type Item = Packet;
    type Queue<'a> = &'a mut Lengths;

    fn queue(&mut self, sid: Sid) -> Option<&mut Lengths> {
        self.looks += 1;
        self.queues.get_mut(usize::from(sid.0))
    }

    fn deliver(&mut self, now: u64, sid: Sid, frame: Frame<Packet>, _grant: &Grant) {
        assert_eq!(frame.length, frame.item.length);
        self.delivered.push((now, sid, frame.item));
    }
}

/// A channel with flows.
pub fn with_flows(
    profile: &Profile,
    flows: impl Iterator<Item = FlowConfig>,
    seed: u64,
) -> (Channel<Packet>, Plant) {
    let mut channel = Channel::new(profile.clone(), 1, seed).unwrap();
    let mut plant = Plant::default();
    for flow in flows {
        channel.add(0, flow).unwrap();
        plant.lengths(flow.sid);
    }
    (channel, plant)
}

/// Delays of `packets` frames of `length`, each alone on a channel of one modem: they come at times
/// that are uniform within MAPs, when the one before has long gone. Nanoseconds.
pub fn lone_delays(
    profile: &Profile,
    flow: FlowConfig,
    length: u32,
    packets: usize,
    seed: u64,
) -> Vec<u64> {
    let (mut channel, mut plant) = with_flows(profile, [flow].into_iter(), seed);
    let sid = flow.sid;
    let mut random = Random::new(seed);
    let map = profile.map_length();
    let mut at = 8 * map;
    while plant.delivered.len() < packets {
        let arrival = at + random.below(map);
        channel.step(arrival, &mut plant, &mut ());
        plant.lengths(sid).push(arrival, length);
        channel.wake(arrival, sid, &mut plant);
        let before = plant.delivered.len();
        while plant.delivered.len() == before {
            let next = channel.next_deadline();
            assert!(next < arrival + 100 * map, "a lone frame never arrived");
            channel.step(next, &mut plant, &mut ());
        }
        at = channel.next_deadline() + 3 * map;
    }
    let delays = plant.delivered.iter();
    delays.map(|(now, _, packet)| now - packet.born).collect()
}
