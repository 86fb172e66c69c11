// SPDX-License-Identifier: Apache-2.0
//! The last MAPs of a channel, to look at: who got which minislots, and what became of them.
//!
//! A program that wants to look passes a [`Watch`] to [`crate::Channel::step`] as its observer.
//! Whatever the channel does, it keeps a bounded number of MAPs, and of requests in each.

mod map;

use std::collections::VecDeque;

use mac_modem::{Asked, Filled, Grant, How};
use mac_wire::{Map, Minislot, Request, Sid};

pub use map::{MOST_REQUESTS, WatchedBurst, WatchedElement, WatchedMap, WatchedRequest};

use crate::observer::Observer;

/// MAPs that a watch keeps at the most.
pub const MOST_MAPS: usize = 128;

/// Keeps the last MAPs of a channel.
#[derive(Debug)]
pub struct Watch {
    maps: VecDeque<WatchedMap>,
    most: usize,
    made: u64,
    unplaced: u64,
}

impl Watch {
    /// Keeps the last `maps` MAPs from now on, [`MOST_MAPS`] at the most and 1 at the least. A
    /// channel's MAPs are made some MAPs ahead of their time, so that keeps a few fewer of which the
    /// end is known.
    #[must_use]
    pub fn new(maps: usize) -> Self {
        Self {
            maps: VecDeque::new(),
            most: maps.clamp(1, MOST_MAPS),
            made: 0,
            unplaced: 0,
        }
    }

    /// The same of a channel that has made so many MAPs already, for their numbers.
    #[must_use]
    pub fn after(made: u64, maps: usize) -> Self {
        Self {
            made,
            ..Self::new(maps)
        }
    }

    /// The MAPs that it keeps, oldest first. The last ones are of minislots still to come.
    pub fn maps(&self) -> impl ExactSizeIterator<Item = &WatchedMap> {
        self.maps.iter()
    }

    /// Bursts, requests and collisions in minislots of no MAP that it keeps.
    #[must_use]
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// Does something with the MAP that describes a minislot.
    fn at<T>(&mut self, slot: Minislot, does: impl FnOnce(&mut WatchedMap) -> Option<T>) {
        // MAPs tile time: each starts where the one before ends.
        let at = self.maps.partition_point(|map| map.end <= slot);
        let map = self.maps.get_mut(at).filter(|map| map.start <= slot);
        if map.and_then(does).is_none() {
            self.unplaced += 1;
        }
    }
}

impl Observer for Watch {
    fn map(&mut self, now: u64, map: &Map, body: &[u8]) {
        let mut kept = match self.maps.len() < self.most {
            true => WatchedMap::empty(),
            false => self.maps.pop_front().unwrap_or_else(WatchedMap::empty),
        };
        kept.set(self.made, now, map, body.len());
        self.maps.push_back(kept);
        self.made += 1;
    }

    fn request(&mut self, _now: u64, first: Minislot, request: &Request, how: How) {
        self.at(first, |map| {
            map.ask(first, *request, how);
            Some(())
        });
    }

    fn collision(&mut self, _now: u64, first: Minislot, requests: &[Request]) {
        self.at(first, |map| {
            map.collide(first, requests.len());
            Some(())
        });
    }

    fn burst(&mut self, _now: u64, sid: Sid, grant: &Grant, filled: &Filled, asked: Option<Asked>) {
        self.at(grant.first, |map| {
            map.grant(sid, grant.first)?.burst = Some(WatchedBurst {
                minislots: filled.minislots,
                bytes: filled.used,
                request: filled.request,
                asked,
            });
            Some(())
        });
    }
}
