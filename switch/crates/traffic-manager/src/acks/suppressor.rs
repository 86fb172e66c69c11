// SPDX-License-Identifier: Apache-2.0
//! Which frames of a queue a new acknowledgement makes superfluous.
//!
//! A frame keeps its number while it waits, so a connection knows its acknowledgements by number, and
//! bisection finds them. The cost of a frame is bounded: it looks at its own connection, and at no more
//! than [`MOST`] acknowledgements of that.

use super::AckSuppression;
use super::connections::{Connections, NOBODY};
use super::segment::{Content, Segment, is_lower};
use std::collections::VecDeque;

/// Acknowledgements of its connection that a new one looks at; later ones look at the others.
pub const MOST: usize = 64;
/// So far from the nearer end of the queue a frame may stand that is taken out: the others
/// between them move up.
const DEEPEST: usize = 4096;
const NO_CONNECTION: u16 = u16::MAX;

/// What is known of a frame in the queue.
#[derive(Debug, Clone, Copy)]
struct Place {
    number: u64,
    /// Where its connection is, if it is an acknowledgement that may go.
    connection: u16,
    acknowledges: u32,
    /// The next such acknowledgement of its connection.
    behind: u64,
}

/// A frame that comes.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    connection: u16,
    acknowledges: u32,
    /// An acknowledgement that a later one may make superfluous.
    may_go: bool,
    /// The position of the frame whose place it may take.
    pub place: Option<usize>,
}

/// The acknowledgements of one queue, frame by frame as they stand in it.
#[derive(Debug)]
pub struct Suppressor {
    always: bool,
    connections: Connections,
    places: VecDeque<Place>,
    next: u64,
}

impl Suppressor {
    /// For a queue that has so many frames, of which nothing is known; `None` for a rule that
    /// suppresses nothing.
    pub fn new(rule: AckSuppression, frames: u64) -> Option<Self> {
        let always = match rule {
            AckSuppression::Off => return None,
            AckSuppression::Always => true,
            AckSuppression::Safe => false,
        };
        let mut suppressor = Self {
            always,
            connections: Connections::default(),
            places: VecDeque::new(),
            next: 0,
        };
        for _ in 0..frames {
            suppressor.append(NO_CONNECTION, 0);
        }
        Some(suppressor)
    }

    fn position(&self, number: u64) -> Option<usize> {
        self.places
            .binary_search_by_key(&number, |place| place.number)
            .ok()
    }

    /// A frame comes, before it is queued.
    pub fn arrive(&mut self, segment: Option<&Segment>) -> Arrival {
        let mut arrival = Arrival {
            connection: NO_CONNECTION,
            acknowledges: 0,
            may_go: false,
            place: None,
        };
        let Some(segment) = segment else {
            return arrival;
        };
        arrival.connection = self.connections.find(&segment.connection);
        if self.always {
            if let Content::Ack { number, .. } = segment.content {
                arrival.acknowledges = number;
                arrival.may_go = true;
            }
        } else {
            self.arrive_safely(segment.content, &mut arrival);
        }
        arrival
    }

    /// Only what is known to have acknowledged more than all before it is no duplicate, and
    /// takes the place of one that did so too, and that its connection sent just before it.
    fn arrive_safely(&mut self, content: Content, arrival: &mut Arrival) {
        let Some(known) = self.connections.at(arrival.connection) else {
            return;
        };
        let (number, plain) = match content {
            Content::Edge => {
                known.highest = None;
                known.first = NOBODY;
                return;
            }
            Content::Data { number } => (number, false),
            Content::Ack { number, plain } => (number, plain),
        };
        let is_higher = known
            .highest
            .is_some_and(|highest| is_lower(highest, number));
        if is_higher || known.highest.is_none() {
            known.highest = Some(number);
        }
        if is_higher && plain {
            let first = known.first;
            arrival.acknowledges = number;
            arrival.may_go = true;
            arrival.place = self.position(first);
        } else {
            known.first = NOBODY;
        }
    }

    fn append(&mut self, connection: u16, acknowledges: u32) -> u64 {
        let number = self.next;
        self.next += 1;
        self.places.push_back(Place {
            number,
            connection,
            acknowledges,
            behind: NOBODY,
        });
        number
    }

    /// The frame is at the queue's end.
    pub fn appended(&mut self, arrival: Arrival) {
        if !arrival.may_go {
            self.append(NO_CONNECTION, 0);
            return;
        }
        let number = self.append(arrival.connection, arrival.acknowledges);
        let always = self.always;
        let Some(known) = self.connections.at(arrival.connection) else {
            return;
        };
        let last = std::mem::replace(&mut known.last, number);
        if !always || known.first == NOBODY {
            known.first = number;
        } else if let Some(last) = self.position(last) {
            self.places[last].behind = number;
        }
    }

    /// By the rule of paper 004, the acknowledgements of the connection that the new one, which
    /// is queued, makes superfluous: `take` is asked for each, by its position, whether it is
    /// taken out.
    pub fn take_lower(&mut self, arrival: Arrival, mut take: impl FnMut(usize) -> bool) {
        if !self.always || !arrival.may_go {
            return;
        }
        let Some(known) = self.connections.at(arrival.connection) else {
            return;
        };
        let (mut at, newest) = (known.first, known.last);
        let mut before = NOBODY;
        for _ in 0..MOST {
            let Some(position) = self.position(at).filter(|_| at != newest) else {
                return;
            };
            let Place {
                acknowledges,
                behind,
                ..
            } = self.places[position];
            let from_end = position.min(self.places.len() - position);
            if is_lower(acknowledges, arrival.acknowledges) && from_end <= DEEPEST && take(position)
            {
                self.places.remove(position);
                match self.position(before) {
                    Some(before) => self.places[before].behind = behind,
                    None => {
                        if let Some(known) = self.connections.at(arrival.connection) {
                            known.first = behind;
                        }
                    }
                }
            } else {
                before = at;
            }
            at = behind;
        }
    }

    /// The head has left the queue.
    pub fn popped(&mut self) {
        if let Some(place) = self.places.pop_front()
            && let Some(known) = self.connections.at(place.connection)
            && known.first == place.number
        {
            known.first = place.behind;
        }
    }
}
