// SPDX-License-Identifier: Apache-2.0
//! A station on a bench: its queue, the opportunities that it sees, and MAPs by hand.

use std::collections::VecDeque;

use mac_modem::{Eligible, Filled, Frame, Grant, Leaving, News, Opportunities, Queue, Station};
use mac_wire::{FlowConfig, Minislot, Profile, Request, Sid};

/// Frames by length; what egress does to each when it is taken.
#[derive(Default)]
pub struct Frames {
    pub waiting: VecDeque<u32>,
    /// As many heads are dropped by egress.
    pub egress_drops: u32,
    /// Egress makes each frame longer by so much.
    pub egress_adds: u32,
    pub given_up: u32,
    pub abandoned: u32,
    /// How many frames shaping lets go, if it does not let all go.
    pub shaped: Option<u64>,
    pub maps: Vec<(u64, u64)>,
}

impl Queue for Frames {
    type Item = u32;

    fn eligible(&self, _now: u64) -> Eligible {
        let frames = self
            .shaped
            .unwrap_or(u64::MAX)
            .min(self.waiting.len() as u64);
        let bytes = self.waiting.iter().take(frames as usize);
        Eligible {
            frames,
            bytes: bytes.map(|&length| u64::from(length)).sum(),
        }
    }

    fn more_eligible_at(&self, now: u64) -> Option<u64> {
        (self.eligible(now).frames < self.waiting.len() as u64).then_some(now + 1_000_000)
    }

    fn length(&self, place: usize) -> Option<u32> {
        self.waiting.get(place).copied()
    }

    fn take(&mut self, now: u64, at_most: u32) -> Option<Frame<u32>> {
        loop {
            let head = *self.waiting.front()?;
            if head > at_most || self.eligible(now).frames == 0 {
                return None;
            }
            self.waiting.pop_front();
            if self.egress_drops > 0 {
                self.egress_drops -= 1;
                continue;
            }
            return Some(Frame {
                length: head + self.egress_adds,
                item: head,
            });
        }
    }

    fn give_up(&mut self, _now: u64) {
        self.given_up += u32::from(self.waiting.pop_front().is_some());
    }

    fn abandon(&mut self, _now: u64, _frame: Frame<u32>) {
        self.abandoned += 1;
    }

    fn map(&mut self, _now: u64, granted: u64, waiting: u64) {
        self.maps.push((granted, waiting));
    }
}

pub struct Bench {
    pub profile: Profile,
    pub station: Station<u32>,
    pub queue: Frames,
    pub opportunities: Opportunities,
    pub now: u64,
}

pub fn flow() -> FlowConfig {
    FlowConfig::best_effort(Sid(5))
}

pub fn paper_004() -> Profile {
    Profile::docsis_1_1_004(2_000_000).unwrap()
}

impl Bench {
    pub fn new(profile: Profile, flow: FlowConfig) -> Self {
        Self {
            station: Station::new(&profile, &flow, 1),
            queue: Frames::default(),
            opportunities: Opportunities::new(profile.clock, profile.request_minislots),
            now: 0,
            profile,
        }
    }

    /// Frames come, and wake it.
    pub fn come(&mut self, lengths: &[u32]) {
        self.queue.waiting.extend(lengths);
        self.wake();
    }

    pub fn wake(&mut self) {
        self.station
            .wake(self.now, &mut self.queue, &self.opportunities);
    }

    pub fn nothing(&self, ack: u64) -> News {
        News {
            start: Minislot(ack),
            ack: Minislot(ack),
            backoff: self.profile.backoff,
            grants: 0,
            granted: 0,
            polls: 0,
            pending: false,
        }
    }

    pub fn read(&mut self, news: News) {
        self.station.read(
            self.now,
            &news,
            &mut self.queue,
            &self.opportunities,
            |_, _| (),
        );
    }

    /// A MAP grants so many minislots in one grant.
    pub fn grant(&mut self, ack: u64, minislots: u32) {
        let granted = self.station.capacity(minislots);
        self.read(News {
            grants: 1,
            granted,
            ..self.nothing(ack)
        });
    }

    /// Its opportunity comes, at that minislot.
    pub fn contend(&mut self, minislot: u64) -> Option<Request> {
        self.station.contend(
            self.now,
            Minislot(minislot),
            &mut self.queue,
            &self.opportunities,
        )
    }

    pub fn poll(&mut self, minislot: u64) -> Option<Request> {
        self.station.poll(
            self.now,
            Minislot(minislot),
            &mut self.queue,
            &self.opportunities,
        )
    }

    /// It fills a grant; also the frames that leave, with the last minislot of each.
    pub fn fill(&mut self, first: u64, minislots: u32) -> (Filled, Vec<(u32, u64)>) {
        let mut leaving: Vec<Leaving<u32>> = Vec::new();
        let grant = Grant {
            first: Minislot(first),
            minislots,
        };
        let filled = self.station.fill(
            self.now,
            grant,
            &mut self.queue,
            &self.opportunities,
            &mut leaving,
        );
        let leaving = leaving.iter();
        (
            filled,
            leaving.map(|one| (one.frame.item, one.last.0)).collect(),
        )
    }
}
