// SPDX-License-Identifier: Apache-2.0
//! What an application does with its connections, and when.

use crate::host::Role;
use crate::random::Random;
use crate::rate_limit::RateLimitId;

/// Bytes of a transfer without an end.
const ENDLESS: u64 = 1 << 60;

/// How an application hands its data to TCP: a little at each of its turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The rate limit that gives them.
    pub limit: RateLimitId,
    /// Bytes that it hands over at a turn.
    pub chunk: u64,
}

impl Turns {
    /// The turns of a limit that one application has for itself, bit/s. It hands over whole
    /// segments: one, or as many as fit into a millisecond.
    #[must_use]
    pub fn alone(limit: RateLimitId, rate: u64, segment: u16) -> Self {
        let segment = u64::from(segment);
        let chunk = segment * (rate / 8000 / segment).max(1);
        Self { limit, chunk }
    }

    /// The turns of a limit that several applications share: a segment each.
    #[must_use]
    pub fn shared(limit: RateLimitId, segment: u16) -> Self {
        Self {
            limit,
            chunk: u64::from(segment),
        }
    }
}

/// One transfer after the other, on a connection each or on the same one.
#[derive(Clone, Debug)]
pub struct Transfers {
    /// Bytes of each; endless unless given.
    pub size: Option<u64>,
    /// From the end of one to the start of the next; no next unless given.
    pub pause: Option<u64>,
    /// The next one is on the same connection.
    pub kept: bool,
    /// How the data come; at once unless given.
    pub turns: Option<Turns>,
    /// When the next one starts, or the present one has its turn.
    pub next: Option<u64>,
    /// When everything ends.
    pub stop: u64,
    /// Bytes of the present one that TCP has not been given; none between two.
    pub left: Option<u64>,
}

impl Transfers {
    /// Bytes that TCP gets now: of a new transfer, or of the present one, which has its turn.
    pub fn give(&mut self) -> u64 {
        self.next = None;
        let left = self.left.unwrap_or(self.size.unwrap_or(ENDLESS));
        let bytes = match self.turns {
            None => left,
            // A new one has had no turn yet.
            Some(_) if self.left.is_none() => 0,
            Some(turns) => turns.chunk.min(left),
        };
        self.left = Some(left - bytes);
        bytes
    }

    /// The limit to ask for a turn, and for how many bytes. `None` if TCP has everything, if a turn
    /// has been asked for already, or if TCP has a turn's bytes waiting that it cannot send.
    #[must_use]
    pub fn wanted(&self, waiting: u64) -> Option<(RateLimitId, u64)> {
        let turns = self.turns.filter(|turns| waiting < turns.chunk)?;
        let left = self.left.filter(|&left| left > 0 && self.next.is_none())?;
        Some((turns.limit, turns.chunk.min(left)))
    }

    /// Whether TCP has all of the present one.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.left == Some(0) && self.size.is_some()
    }

    /// One has ended.
    pub fn finished(&mut self, now: u64) {
        self.left = None;
        self.next = self.pause.map(|pause| now.saturating_add(pause));
    }
}

/// Messages on one connection.
#[derive(Clone, Debug)]
pub struct Messages {
    /// Bytes of each.
    pub size: u64,
    /// From one to the next.
    pub interval: u64,
    /// When the next one is due.
    pub next: Option<u64>,
    /// When everything ends.
    pub stop: u64,
    /// Messages of connections before.
    pub before: u64,
}

impl Messages {
    /// Whether one is to be sent now.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        self.next.is_some_and(|at| at <= now && at < self.stop)
    }

    /// Bytes of the one that is sent now.
    pub fn send(&mut self) -> u64 {
        self.next = self.next.map(|at| at + self.interval);
        self.size
    }
}

/// Requests and responses on one connection.
#[derive(Clone, Debug)]
pub struct Requests {
    /// Bytes of a request.
    pub request: u64,
    /// Mean bytes of a response.
    pub response: u64,
    /// Mean time from a response to the next request.
    pub think: u64,
    /// When the next request is due.
    pub next: Option<u64>,
    /// When everything ends.
    pub stop: u64,
    /// Requests and responses of this connection and those before.
    pub number: u64,
    /// Bytes asked for and answered on this connection so far.
    pub asked: u64,
    /// Bytes that the client has when all responses are there.
    pub answered: u64,
    /// The server owes a response.
    pub owed: bool,
}

impl Requests {
    /// Whether one is to be sent now.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        self.next.is_some_and(|at| at <= now)
    }

    /// Bytes of the one that is sent now.
    pub fn ask(&mut self) -> u64 {
        self.next = None;
        self.owed = true;
        self.asked += self.request;
        self.number += 1;
        self.request
    }

    /// Whether the server has a request to answer.
    #[must_use]
    pub fn is_asked(&self, delivered: u64) -> bool {
        self.owed && delivered >= self.asked
    }

    /// Bytes of the response.
    pub fn answer(&mut self, random: &mut Random) -> u64 {
        self.owed = false;
        // At least a byte, or nobody would know that it has come; at most 50 means.
        let bytes = random
            .exponential_of(self.response)
            .clamp(1, self.response.saturating_mul(50));
        self.answered += bytes;
        bytes
    }

    /// Whether the client has the response that it waits for.
    #[must_use]
    pub fn is_answered(&self, delivered: u64) -> bool {
        !self.owed && self.next.is_none() && self.asked > 0 && delivered >= self.answered
    }

    /// The client begins to think; how many responses it has had.
    pub fn complete(&mut self, now: u64, random: &mut Random) -> u64 {
        self.next = Some(now + random.exponential_of(self.think));
        self.number
    }
}

/// What is done.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Bytes one way.
    Transfers(Transfers),
    /// Bytes one way, now and then.
    Messages(Messages),
    /// Bytes both ways.
    Requests(Requests),
}

impl Plan {
    /// Who asks thinks before the first request, too.
    pub fn think_first(&mut self, random: &mut Random) {
        if let Plan::Requests(plan) = self {
            let think = random.exponential_of(plan.think);
            plan.next = plan.next.map(|at| at + think);
        }
    }

    fn next(&self) -> (Option<u64>, u64) {
        match self {
            Plan::Transfers(plan) => (plan.next, plan.stop),
            Plan::Messages(plan) => (plan.next, plan.stop),
            Plan::Requests(plan) => (plan.next, plan.stop),
        }
    }

    /// When something is to be done, with a connection or without one.
    #[must_use]
    pub fn due(&self, connected: bool) -> Option<u64> {
        let (next, stop) = self.next();
        let stops = (connected && stop < u64::MAX).then_some(stop);
        next.filter(|&at| at < stop).into_iter().chain(stops).min()
    }

    /// Whether everything has ended.
    #[must_use]
    pub fn is_over(&self, now: u64) -> bool {
        now >= self.next().1
    }

    /// Nothing more is done.
    pub fn end(&mut self) {
        match self {
            Plan::Transfers(plan) => plan.next = None,
            Plan::Messages(plan) => plan.next = None,
            Plan::Requests(plan) => plan.next = None,
        }
    }

    /// Which end sends what is measured.
    #[must_use]
    pub fn sender(&self) -> Role {
        match self {
            Plan::Requests(_) => Role::Server,
            _ => Role::Client,
        }
    }

    /// Whether what is not sent at the end is thrown away.
    #[must_use]
    pub fn ends_with_reset(&self) -> bool {
        !matches!(self, Plan::Requests(_))
    }

    /// A connection was lost; the next one is tried at a time, after so many messages.
    pub fn failed(&mut self, again: u64, messages: u64) {
        match self {
            Plan::Transfers(plan) => {
                plan.left = None;
                plan.next = Some(again);
            }
            Plan::Messages(plan) => {
                plan.before = messages;
                plan.next = plan.next.map(|at| at.max(again));
            }
            Plan::Requests(plan) => {
                plan.next = Some(again);
                plan.owed = false;
                plan.asked = 0;
                plan.answered = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_limit::RateLimit;

    const SECOND: u64 = 1_000_000_000;

    /// A limit, and transfers that have it for themselves.
    fn transfers(size: Option<u64>, rate: u64) -> (RateLimit, Transfers) {
        let transfers = Transfers {
            size,
            pause: Some(5),
            kept: true,
            turns: Some(Turns::alone(RateLimitId(0), rate, 1448)),
            next: Some(0),
            stop: u64::MAX,
            left: None,
        };
        (RateLimit::new(rate), transfers)
    }

    /// Gives what is due, and asks for the next turn. Bytes given, of which TCP sends all.
    fn step(limit: &mut RateLimit, transfers: &mut Transfers, now: u64) -> u64 {
        let bytes = transfers.give();
        if let Some((_, chunk)) = transfers.wanted(0) {
            transfers.next = Some(limit.turn(now, chunk));
        }
        bytes
    }

    #[test]
    fn a_rate_is_what_an_application_gives_at_the_most() {
        for rate in [1, 64_000, 1_000_000, 77_777_777, 10_000_000_000] {
            let (mut limit, mut endless) = transfers(None, rate);
            let (mut given, mut times) = (0, 0_u64);
            while let Some(at) = endless.next.filter(|at| *at < SECOND) {
                given += step(&mut limit, &mut endless, at);
                times += 1;
            }
            let chunk = endless.turns.unwrap().chunk;
            // The first time it only begins, and asks for its first turn.
            assert_eq!((given, chunk % 1448), ((times - 1) * chunk, 0));
            assert!(8 * (given - chunk) <= rate, "{rate}: {given}");
            assert!(8 * given >= rate / 1000 * 999, "{rate}: {given}");
        }
    }

    #[test]
    fn while_tcp_cannot_send_no_turn_is_asked_for() {
        let (_, mut endless) = transfers(None, 1_000_000);
        let chunk = endless.turns.unwrap().chunk;
        assert_eq!((endless.wanted(0), endless.give()), (None, 0));
        assert_eq!(endless.wanted(chunk), None);
        assert_eq!(endless.wanted(chunk - 1), Some((RateLimitId(0), chunk)));
        endless.next = Some(7);
        assert_eq!(endless.wanted(0), None);
        assert_eq!(endless.give(), chunk);
    }

    #[test]
    fn a_file_is_given_whole_and_the_next_one_comes_after_the_pause() {
        let (mut limit, mut files) = transfers(Some(5000), 1_000_000);
        let parts: Vec<u64> = (0..5).map(|_| step(&mut limit, &mut files, 0)).collect();
        assert_eq!(parts, [0, 1448, 1448, 1448, 656]);
        assert!(files.is_given() && files.next.is_none());
        files.finished(100);
        assert!(!files.is_given());
        assert_eq!(
            (files.next, step(&mut limit, &mut files, 105)),
            (Some(105), 0)
        );
        assert_eq!(step(&mut limit, &mut files, 105), 1448);
    }
}
