// SPDX-License-Identifier: Apache-2.0
//! The stations of a channel, by SID, each with what it waits for.

use mac_modem::{News, Station};
use mac_wire::{FlowConfig, Map, Minislot, Sid};

use crate::serving::Serving;

/// A station, and where it is entered.
#[derive(Debug)]
pub(crate) struct Seat<I> {
    pub station: Station<I>,
    /// What it was last told of its flow.
    pub flow: FlowConfig,
    /// The opportunity at which it is entered among those that defer.
    pub deferring: Option<u64>,
    /// The request with which it is entered among those that wait for an answer.
    pub awaiting: Option<Minislot>,
    /// The time at which it is entered among those that shaping lets ask for more.
    pub alarm: Option<u64>,
    /// What the MAP that is being read says of it.
    pub news: Option<News>,
    /// Where the first grant of that MAP is.
    pub first_grant: Option<Minislot>,
    /// What its grants are for.
    pub serving: Serving,
}

impl<I> Seat<I> {
    pub fn new(station: Station<I>, flow: FlowConfig) -> Self {
        Self {
            station,
            flow,
            deferring: None,
            awaiting: None,
            alarm: None,
            news: None,
            first_grant: None,
            serving: Serving::default(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Seats<I> {
    by_sid: Vec<Option<Box<Seat<I>>>>,
    /// Those that the MAP which is being read concerns.
    pub concerned: Vec<Sid>,
}

impl<I> Seats<I> {
    pub fn new() -> Self {
        Self {
            by_sid: Vec::new(),
            concerned: Vec::new(),
        }
    }

    /// The SIDs of all, and their stations, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Sid, &Station<I>)> {
        // A SID has 14 bits.
        let places = (0..).map(Sid).zip(&self.by_sid);
        places.filter_map(|(sid, seat)| Some((sid, &seat.as_deref()?.station)))
    }

    pub fn get(&self, sid: Sid) -> Option<&Seat<I>> {
        self.by_sid.get(usize::from(sid.0))?.as_deref()
    }

    pub fn get_mut(&mut self, sid: Sid) -> Option<&mut Seat<I>> {
        self.by_sid.get_mut(usize::from(sid.0))?.as_deref_mut()
    }

    pub fn put(&mut self, sid: Sid, seat: Seat<I>) {
        let index = usize::from(sid.0);
        if self.by_sid.len() <= index {
            self.by_sid.resize_with(index + 1, || None);
        }
        self.by_sid[index] = Some(Box::new(seat));
    }

    pub fn take(&mut self, sid: Sid) -> Option<Box<Seat<I>>> {
        self.by_sid.get_mut(usize::from(sid.0))?.take()
    }

    /// A station that a MAP concerns, with what the MAP says of it so far.
    pub fn concern(&mut self, sid: Sid, map: &Map) -> Option<Concerned<'_, I>> {
        let Seat {
            station,
            news,
            first_grant,
            ..
        } = self.by_sid.get_mut(usize::from(sid.0))?.as_deref_mut()?;
        if news.is_none() {
            self.concerned.push(sid);
            *first_grant = None;
        }
        let news = news.get_or_insert(News {
            start: map.start,
            ack: map.ack,
            backoff: map.data,
            grants: 0,
            granted: 0,
            polls: 0,
            pending: false,
        });
        Some(Concerned {
            station,
            news,
            first_grant,
        })
    }
}

/// A station that a MAP concerns.
pub(crate) struct Concerned<'a, I> {
    pub station: &'a Station<I>,
    pub news: &'a mut News,
    pub first_grant: &'a mut Option<Minislot>,
}
