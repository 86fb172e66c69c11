// SPDX-License-Identifier: Apache-2.0
//! One service flow's state machine (mac.md, "Contention requests: the CM's state machine"): what
//! wakes it, and what it reads in MAPs.

mod asking;
mod using;

use mac_wire::{Asking, Backoff, FlowConfig, Minislot, Profile};

use crate::asked::{Answer, Asked, Fate, Outstanding};
use crate::backoff::Window;
use crate::booked::Booked;
use crate::opportunities::Opportunities;
use crate::queue::{Frame, Queue};
use crate::random::Random;
use crate::rules::Rules;
use crate::staged::Staged;
use crate::statistics::Statistics;

/// What a MAP says of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// The first minislot that the MAP describes.
    pub start: Minislot,
    /// The MAP's Ack Time.
    pub ack: Minislot,
    /// The MAP's windows for requests.
    pub backoff: Backoff,
    /// How many grants it has for the station.
    pub grants: u32,
    /// Bytes of frames that they carry: the sum of [`Station::capacity`].
    pub granted: u64,
    /// How many polls it has for the station.
    pub polls: u32,
    /// Whether it says that a grant is pending.
    pub pending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has nothing to ask for in contention.
    Idle,
    /// It asks in the opportunity of that number.
    Deferring(u64),
    /// It has asked, and does not know what became of it.
    Sent,
}

/// A service flow's part of the MAC. It has no clock: times are nanoseconds, and never decrease.
///
/// After each call, [`Station::deferring`], [`Station::oldest`] and [`Station::alarm`] say what it
/// waits for, beside the grants and polls that it was told of.
#[derive(Debug, Clone)]
pub struct Station<I> {
    rules: Rules,
    random: Random,
    state: State,
    window: Window,
    /// The backoff window of the last MAP that it read.
    backoff: Backoff,
    asked: Outstanding,
    staged: Option<Staged<I>>,
    /// Grants that it was told of and has not filled.
    booked: Booked,
    /// Bytes of frames that they carry.
    scheduled: u64,
    /// The last of them was too small for the frame that waits, and carried nothing: grants that
    /// nobody asked for may be so for ever, and do not keep it from asking.
    too_small: bool,
    /// Polls that it was told of and has not used.
    polls: u32,
    alarm: Option<u64>,
    statistics: Statistics,
}

impl<I> Station<I> {
    /// Makes the station of a flow on a channel. Its random draws are a stream of its own under the
    /// seed.
    #[must_use]
    pub fn new(profile: &Profile, flow: &FlowConfig, seed: u64) -> Self {
        Self {
            rules: Rules::new(profile, flow),
            random: Random::new(seed, flow.sid.0.into()),
            state: State::Idle,
            window: Window::new(profile.backoff),
            backoff: profile.backoff,
            asked: Outstanding::default(),
            staged: None,
            booked: Booked::default(),
            scheduled: 0,
            too_small: false,
            polls: 0,
            alarm: None,
            statistics: Statistics::default(),
        }
    }

    /// Goes on as another configuration of its flow says, which has the same service and policy.
    pub fn configure(&mut self, profile: &Profile, flow: &FlowConfig) {
        self.rules = Rules::new(profile, flow);
    }

    /// Takes the frame away of which a part was sent.
    pub fn take_staged(&mut self) -> Option<Frame<I>> {
        self.staged.take().map(|staged| staged.frame)
    }

    /// Bytes of frames that a grant of so many minislots carries.
    #[must_use]
    pub fn capacity(&self, minislots: u32) -> u64 {
        self.rules.capacity(minislots)
    }

    /// The number of the contention opportunity in which it asks: call [`Station::contend`] then.
    #[must_use]
    pub fn deferring(&self) -> Option<u64> {
        match self.state {
            State::Deferring(number) => Some(number),
            State::Idle | State::Sent => None,
        }
    }

    /// When its oldest request was sent of which the end is not known: it reads every MAP with a
    /// later Ack Time.
    #[must_use]
    pub fn oldest(&self) -> Option<Minislot> {
        self.asked.oldest()
    }

    /// When rate shaping lets it ask for more: call [`Station::wake`] then.
    #[must_use]
    pub fn alarm(&self) -> Option<u64> {
        self.alarm
    }

    /// MAC bytes of a frame of which a part was sent, that are still to be sent.
    #[must_use]
    pub fn staged(&self) -> u64 {
        self.staged.as_ref().map_or(0, |staged| staged.left)
    }

    /// What it counted.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Data may have become eligible: begins to ask for it if nothing else will.
    pub fn wake<Q>(&mut self, now: u64, queue: &mut Q, opportunities: &Opportunities)
    where
        Q: Queue<Item = I>,
    {
        self.alarm = None;
        if self.state != State::Idle
            || !self.rules.contention
            || self.has_opportunities(now, opportunities)
        {
            return;
        }
        if self.wish(now, queue).is_some() {
            self.window = Window::new(self.backoff);
            self.defer(now, opportunities);
        } else if !self.asks_once() {
            // A step ahead at least, so that a queue cannot hold up time.
            let more = queue.more_eligible_at(now);
            self.alarm = more.map(|at| at.max(now.saturating_add(1)));
        }
    }

    /// Reads what a MAP says of it: its grants and polls, and the end of its requests.
    /// `granted` is told of each request that is granted now, wholly or in part, oldest first, and
    /// whether it is for the first time.
    pub fn read<Q>(
        &mut self,
        now: u64,
        news: &News,
        queue: &mut Q,
        opportunities: &Opportunities,
        granted: impl FnMut(Asked, bool),
    ) where
        Q: Queue<Item = I>,
    {
        self.backoff = news.backoff;
        self.booked.add(news.start, news.grants);
        self.scheduled = self.scheduled.saturating_add(news.granted);
        self.polls = self.polls.saturating_add(news.polls);
        self.statistics.grants += u64::from(news.grants);
        // Counted as used bytes are: with the segment headers.
        let headers = u64::from(news.grants).saturating_mul(self.rules.segment_header);
        let bytes = news.granted.saturating_add(headers);
        self.statistics.bytes_granted = self.statistics.bytes_granted.saturating_add(bytes);
        self.statistics.polls += u64::from(news.polls);
        let answer = Answer {
            ack: news.ack,
            grants: news.grants,
            granted: news.granted,
            proactive: self.rules.proactive,
            pending: news.pending,
        };
        let whole = self.rules.asking == Asking::OneBurst;
        let fate = self.asked.read(&answer, whole, granted);
        queue.map(now, news.granted, self.asked.waiting());
        let lost = fate == Fate::Lost;
        if self.state == State::Sent && fate != Fate::Unknown {
            self.state = State::Idle;
        }
        if lost {
            self.statistics.requests_lost += 1;
            if self.window.lost(self.backoff, self.rules.tries) {
                self.give_up(now, queue);
                return self.wake(now, queue, opportunities);
            }
        }
        if self.has_opportunities(now, opportunities) {
            // A poll or a grant ends contention; it asks there.
            if self.deferring().is_some() {
                self.state = State::Idle;
            }
        } else if lost && self.wish(now, queue).is_some() {
            self.defer(now, opportunities);
        } else {
            self.wake(now, queue, opportunities);
        }
    }

    fn defer(&mut self, now: u64, opportunities: &Opportunities) {
        let skip = self.window.draw(self.rules.eighths, &mut self.random);
        self.state = State::Deferring(opportunities.next(now).saturating_add(skip));
    }

    /// Whether it has grants or polls that keep it from contention: it asks in them, or when it has used
    /// them. Proactive grants never end, so where it may not ask in them it contends beside them. Where
    /// requests do not collide, grants of later MAPs than that of its opportunity do not keep it: a
    /// packet waits for the next MAP (mac.md, `cablelabs-2014`).
    fn has_opportunities(&self, now: u64, opportunities: &Opportunities) -> bool {
        let ends = self.rules.piggyback || !self.rules.proactive;
        let has = self.polls > 0 || ends && self.has_grants();
        if !has || self.polls > 0 || self.rules.waits_for_grants {
            return has;
        }
        let number = self.deferring().unwrap_or_else(|| opportunities.next(now));
        let opportunity = opportunities.minislot(number);
        opportunity.is_none_or(|minislot| self.booked.by(minislot))
    }

    /// Whether it has grants that may carry something.
    fn has_grants(&self) -> bool {
        !self.booked.is_empty() && !self.too_small
    }

    /// Whether the end of its request is all that it waits for.
    fn asks_once(&self) -> bool {
        self.rules.asking == Asking::OneBurst && !self.asked.is_empty()
    }
}
