// SPDX-License-Identifier: Apache-2.0
//! A MAP, and how its grants and opportunities were used.

use mac_modem::{Asked, How};
use mac_wire::{Backoff, Element, Map, Minislot, Request, Sid};

/// Requests of one MAP's minislots that are kept, each; more are counted.
pub const MOST_REQUESTS: usize = 1024;

/// What a station sent in a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedBurst {
    /// Minislots that it used, of those of the grant; the others are wasted.
    pub minislots: u32,
    /// MAC bytes, with all headers; 0: it stayed empty.
    pub bytes: u64,
    /// What it asked for in its head.
    pub request: Option<Request>,
    /// The request that the grant answered; `None`: nobody asked for it.
    pub asked: Option<Asked>,
}

/// An information element, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedElement {
    /// Who got which minislots, and what for.
    pub element: Element,
    /// What was sent in a grant; `None` before its time, or when its flow is gone.
    pub burst: Option<WatchedBurst>,
}

impl WatchedElement {
    /// Minislots of a grant whose time has come that carry nothing.
    #[must_use]
    pub fn wasted(&self) -> u32 {
        let used = self.burst.map(|burst| burst.minislots);
        used.map_or(0, |used| self.element.minislots.saturating_sub(used))
    }
}

/// A request in an opportunity or in a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedRequest {
    /// The first minislot of its opportunity, or of its poll.
    pub first: Minislot,
    /// Who asked, and for how much.
    pub request: Request,
    /// In contention or in a poll.
    pub how: How,
    /// Others asked in the same opportunity, and nobody was heard.
    pub collided: bool,
}

/// A MAP, and what became of what it gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedMap {
    /// How many were made before it, as far as the watch knows: see [`super::Watch::after`].
    pub number: u64,
    /// When it was made, nanoseconds.
    pub made: u64,
    /// The first minislot that it describes.
    pub start: Minislot,
    /// The first minislot that it does not describe.
    pub end: Minislot,
    /// Every request before that minislot has been dealt with.
    pub ack: Minislot,
    /// Its windows for requests.
    pub backoff: Backoff,
    /// Bytes of its message's body.
    pub body: usize,
    /// Its information elements, in order of their minislots.
    pub elements: Vec<WatchedElement>,
    /// Whose requests were heard and not granted.
    pub pending: Vec<Sid>,
    /// Requests in its minislots, those in bursts aside, in order of their minislots: the first
    /// [`MOST_REQUESTS`] of them.
    pub requests: Vec<WatchedRequest>,
    /// How many there were.
    pub requests_sent: u64,
    /// Requests that collided.
    pub requests_collided: u64,
}

impl WatchedMap {
    /// Fills it in with a MAP, in the place of what was there.
    pub(super) fn set(&mut self, number: u64, made: u64, map: &Map, body: usize) {
        self.number = number;
        self.made = made;
        self.start = map.start;
        self.end = map.end;
        self.ack = map.ack;
        self.backoff = map.data;
        self.body = body;
        self.elements.clear();
        let elements = map.elements.iter().take(Map::MAX_INFORMATION_ELEMENTS);
        self.elements
            .extend(elements.map(|&element| WatchedElement {
                element,
                burst: None,
            }));
        self.pending.clear();
        let pending = map.pending.iter().take(Map::MAX_INFORMATION_ELEMENTS);
        self.pending.extend(pending);
        self.requests.clear();
        self.requests_sent = 0;
        self.requests_collided = 0;
    }

    pub(super) fn empty() -> Self {
        Self {
            number: 0,
            made: 0,
            start: Minislot(0),
            end: Minislot(0),
            ack: Minislot(0),
            backoff: Backoff { start: 0, end: 0 },
            body: 0,
            elements: Vec::new(),
            pending: Vec::new(),
            requests: Vec::new(),
            requests_sent: 0,
            requests_collided: 0,
        }
    }

    /// The grant of a SID that begins there.
    pub(super) fn grant(&mut self, sid: Sid, first: Minislot) -> Option<&mut WatchedElement> {
        let at = self
            .elements
            .partition_point(|one| one.element.first < first);
        let found = self.elements.get_mut(at)?;
        let element = found.element;
        (element.first == first && element.sid == sid && element.usage.is_data()).then_some(found)
    }

    pub(super) fn ask(&mut self, first: Minislot, request: Request, how: How) {
        self.requests_sent += 1;
        if self.requests.len() < MOST_REQUESTS {
            let at = self.requests.partition_point(|one| one.first <= first);
            self.requests.insert(
                at,
                WatchedRequest {
                    first,
                    request,
                    how,
                    collided: false,
                },
            );
        }
    }

    pub(super) fn collide(&mut self, first: Minislot, requests: usize) {
        self.requests_collided += requests as u64;
        let from = self.requests.partition_point(|one| one.first < first);
        let there = self.requests[from..].iter_mut();
        for one in there.take_while(|one| one.first == first) {
            one.collided = true;
        }
    }
}
