// SPDX-License-Identifier: Apache-2.0
//! One service flow's state machine (mac.md, "Contention requests: the CM's state machine").

use mac_wire::{Amount, Asking, Backoff, FlowConfig, Minislot, Packing, Profile, Request};

use crate::amount::one_burst;
use crate::asked::{Answer, Fate, Outstanding};
use crate::backoff::Window;
use crate::burst::{Burst, Filled, Grant, Leaving};
use crate::opportunities::Opportunities;
use crate::queue::Queue;
use crate::random::Random;
use crate::rules::Rules;
use crate::staged::Staged;
use crate::statistics::Statistics;

/// What a MAP says of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
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
    /// Of the last MAP that it read.
    backoff: Backoff,
    asked: Outstanding,
    staged: Option<Staged<I>>,
    /// Grants that it was told of and has not filled.
    grants: u32,
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
    /// Of a flow on a channel. Its random draws are a stream of its own under the seed.
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
            grants: 0,
            scheduled: 0,
            too_small: false,
            polls: 0,
            alarm: None,
            statistics: Statistics::default(),
        }
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
        if self.state != State::Idle || self.has_opportunities() || !self.rules.contention {
            return;
        }
        if self.amount(now, queue).is_some() {
            self.window = Window::new(self.backoff);
            self.defer(now, opportunities);
        } else if !self.asks_once() {
            // A step ahead at least, so that a queue cannot hold up time.
            let more = queue.more_eligible_at(now);
            self.alarm = more.map(|at| at.max(now.saturating_add(1)));
        }
    }

    /// Reads what a MAP says of it: its grants and polls, and the end of its requests.
    /// `first_grant` is told when each request was sent that is granted now, wholly or in part.
    pub fn read<Q>(
        &mut self,
        now: u64,
        news: &News,
        queue: &mut Q,
        opportunities: &Opportunities,
        first_grant: impl FnMut(Minislot),
    ) where
        Q: Queue<Item = I>,
    {
        self.backoff = news.backoff;
        self.grants = self.grants.saturating_add(news.grants);
        self.scheduled = self.scheduled.saturating_add(news.granted);
        self.polls = self.polls.saturating_add(news.polls);
        self.statistics.grants += u64::from(news.grants);
        self.statistics.bytes_granted = self.statistics.bytes_granted.saturating_add(news.granted);
        self.statistics.polls += u64::from(news.polls);
        let answer = Answer {
            ack: news.ack,
            grants: news.grants,
            granted: news.granted,
            pending: news.pending,
        };
        let whole = self.rules.asking == Asking::OneBurst;
        let fate = self.asked.read(&answer, whole, first_grant);
        let waiting = self.asked.waiting();
        if news.granted > 0 || waiting > 0 {
            queue.map(now, news.granted, waiting);
        }
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
        if self.has_opportunities() {
            // A poll or a grant ends contention; it asks there.
            if self.deferring().is_some() {
                self.state = State::Idle;
            }
        } else if lost && self.amount(now, queue).is_some() {
            self.defer(now, opportunities);
        } else {
            self.wake(now, queue, opportunities);
        }
    }

    /// The contention opportunity for which it deferred begins at `first`: what it asks for in it.
    pub fn contend<Q>(
        &mut self,
        now: u64,
        first: Minislot,
        queue: &mut Q,
        opportunities: &Opportunities,
    ) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        self.deferring()?;
        self.state = State::Idle;
        let request = self.ask(now, first, queue, true);
        if request.is_some() {
            self.state = State::Sent;
            self.window.tried();
            self.statistics.requests_contention += 1;
        } else {
            self.wake(now, queue, opportunities);
        }
        request
    }

    /// A poll begins at `first`: what it asks for in it.
    pub fn poll<Q>(
        &mut self,
        now: u64,
        first: Minislot,
        queue: &mut Q,
        opportunities: &Opportunities,
    ) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        self.polls = self.polls.saturating_sub(1);
        let request = self.ask(now, first, queue, false);
        match request {
            Some(_) => self.statistics.requests_polled += 1,
            None => self.statistics.polls_unused += 1,
        }
        self.wake(now, queue, opportunities);
        request
    }

    /// A grant is prepared: what it sends in it. Frames whose last byte is in it are added to
    /// `leaving`, in order.
    pub fn fill<Q>(
        &mut self,
        now: u64,
        grant: Grant,
        queue: &mut Q,
        opportunities: &Opportunities,
        leaving: &mut Vec<Leaving<I>>,
    ) -> Filled
    where
        Q: Queue<Item = I>,
    {
        self.grants = self.grants.saturating_sub(1);
        self.scheduled = match self.grants {
            0 => 0,
            _ => self
                .scheduled
                .saturating_sub(self.capacity(grant.minislots)),
        };
        let mut used = Burst {
            rules: &self.rules,
            now,
            grant,
            queue: &mut *queue,
            staged: &mut self.staged,
            leaving,
            statistics: &mut self.statistics,
        }
        .fill();
        self.too_small = used == 0 && self.waits(now, queue);
        let request = self.piggyback(now, grant, used, queue);
        if used == 0 && request.is_some() {
            used = self.rules.segment_header;
        }
        self.statistics.grants_unused += u64::from(used == 0);
        self.statistics.grants_too_small += u64::from(self.too_small);
        self.statistics.bytes_used = self.statistics.bytes_used.saturating_add(used);
        let queue_indicator = self
            .rules
            .unsolicited
            .is_some_and(|grants| queue.eligible(now).frames >= u64::from(grants.max(1)));
        self.wake(now, queue, opportunities);
        Filled {
            used,
            request,
            queue_indicator,
        }
    }

    /// What it asks for in the head of a burst of `used` bytes. A segment header can ask without
    /// any; other requests need a frame's header.
    fn piggyback<Q>(&mut self, now: u64, grant: Grant, used: u64, queue: &mut Q) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        let has_head = used > 0
            || self.rules.segment_header > 0
                && self.rules.phy.bytes(grant.minislots) >= self.rules.segment_header;
        if !self.rules.piggyback || !has_head {
            return None;
        }
        let request = self.ask(now, grant.first, queue, false)?;
        self.statistics.requests_piggybacked += 1;
        Some(request)
    }

    /// Asks, in minislot `sent`, for what there is to ask for.
    fn ask<Q>(&mut self, now: u64, sent: Minislot, queue: &mut Q, contends: bool) -> Option<Request>
    where
        Q: Queue<Item = I>,
    {
        let request = Request {
            sid: self.rules.sid,
            amount: self.amount(now, queue)?,
        }
        .on_wire(self.rules.unit);
        let bytes = match request.amount {
            Amount::Minislots(minislots) => self.rules.capacity(minislots),
            Amount::Bytes(bytes) => bytes,
        };
        self.asked.add(sent, bytes, contends);
        Some(request)
    }

    /// How much it may ask for now; `None` for nothing.
    fn amount<Q>(&mut self, now: u64, queue: &mut Q) -> Option<Amount>
    where
        Q: Queue<Item = I>,
    {
        if !self.rules.asks || self.asked.is_full() {
            return None;
        }
        match self.rules.asking {
            Asking::OneBurst => {
                if !self.asked.is_empty() || self.has_grants() {
                    return None;
                }
                self.drop_too_long(now, queue);
                let eligible = queue.eligible(now);
                let bytes = one_burst(&self.rules, self.staged.as_ref(), eligible, queue);
                match self.rules.phy.minislots(bytes).min(Amount::MOST_MINISLOTS) {
                    0 => None,
                    minislots => Some(Amount::Minislots(minislots)),
                }
            }
            Asking::QueueDepth => {
                let covered = self.asked.bytes().saturating_add(self.scheduled);
                let waiting = queue.eligible(now).mac_bytes(self.rules.header);
                match waiting
                    .saturating_add(self.staged())
                    .saturating_sub(covered)
                {
                    0 => None,
                    bytes => Some(Amount::Bytes(bytes)),
                }
            }
        }
    }

    /// Drops what no request for one burst can ask for, where frames go whole.
    fn drop_too_long<Q>(&mut self, now: u64, queue: &mut Q)
    where
        Q: Queue<Item = I>,
    {
        if self.rules.fragmentation || self.rules.packing == Packing::Continuous {
            return;
        }
        let phy = self.rules.phy;
        let too_long = |bytes| phy.minislots(bytes) > Amount::MOST_MINISLOTS;
        if let Some(staged) = self.staged.take_if(|staged| too_long(staged.left)) {
            queue.abandon(now, staged.frame);
            self.statistics.too_long += 1;
        }
        for _ in 0..queue.eligible(now).frames {
            match queue.length(0) {
                Some(length) if too_long(self.rules.mac_bytes(length)) => queue.give_up(now),
                _ => break,
            }
            self.statistics.too_long += 1;
        }
    }

    /// All tries were lost: the frame that waits longest is dropped.
    fn give_up<Q>(&mut self, now: u64, queue: &mut Q)
    where
        Q: Queue<Item = I>,
    {
        match self.staged.take() {
            Some(staged) => queue.abandon(now, staged.frame),
            None if queue.eligible(now).frames > 0 => queue.give_up(now),
            None => return,
        }
        self.statistics.given_up += 1;
    }

    fn defer(&mut self, now: u64, opportunities: &Opportunities) {
        let skip = self.window.draw(self.rules.eighths, &mut self.random);
        self.state = State::Deferring(opportunities.next(now).saturating_add(skip));
    }

    /// Whether it has grants or polls, in which it can ask.
    fn has_opportunities(&self) -> bool {
        self.has_grants() || self.polls > 0
    }

    /// Whether it has grants that may carry something.
    fn has_grants(&self) -> bool {
        self.grants > 0 && !self.too_small
    }

    /// Whether the end of its request is all that it waits for.
    fn asks_once(&self) -> bool {
        self.rules.asking == Asking::OneBurst && !self.asked.is_empty()
    }

    fn waits<Q>(&self, now: u64, queue: &Q) -> bool
    where
        Q: Queue<Item = I>,
    {
        self.staged.is_some() || queue.eligible(now).frames > 0
    }
}
