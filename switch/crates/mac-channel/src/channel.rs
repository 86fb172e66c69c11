// SPDX-License-Identifier: Apache-2.0
//! The channel: who is on it, and what is due when.

use std::collections::{BTreeSet, VecDeque};

use mac_cmts::{Refusal, Scheduler};
use mac_modem::{Frame, Grant, Leaving, Opportunities, Station};
use mac_wire::{Capacity, FlowConfig, Minislot, Profile, Sid};

use crate::air::Air;
use crate::calendar::{Due, Next};
use crate::ends::Ends;
use crate::hearing::Hearing;
use crate::seats::{Seat, Seats};
use crate::statistics::Statistics;

/// A grant or a poll that a MAP gave a station.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned {
    /// When it is prepared, nanoseconds.
    pub at: u64,
    pub sid: Sid,
    pub grant: Grant,
}

/// A frame that was sent to its last byte.
#[derive(Debug)]
pub(crate) struct Arrival<I> {
    /// When it arrives, nanoseconds.
    pub at: u64,
    pub sid: Sid,
    pub frame: Frame<I>,
    pub grant: Grant,
}

/// An upstream channel. Times are nanoseconds; what the same calls in the same order do is always
/// the same.
#[derive(Debug)]
pub struct Channel<I> {
    pub(crate) profile: Profile,
    pub(crate) scheduler: Scheduler,
    pub(crate) seed: u64,
    pub(crate) now: u64,
    pub(crate) seats: Seats<I>,
    pub(crate) opportunities: Opportunities,
    /// Stations that wait for a contention opportunity, by its number.
    pub(crate) deferring: BTreeSet<(u64, Sid)>,
    /// When the first of those begins, if it is in a MAP that was read.
    pub(crate) contend_at: Option<u64>,
    /// Stations that wait for what becomes of a request, by its minislot.
    pub(crate) awaiting: BTreeSet<(Minislot, Sid)>,
    /// Stations that rate shaping lets ask for more, by the time.
    pub(crate) alarms: BTreeSet<(u64, Sid)>,
    /// MAPs on their way to the modems.
    pub(crate) maps: VecDeque<(u64, Vec<u8>)>,
    /// The end of the last MAP that was read.
    pub(crate) described: Minislot,
    pub(crate) grants: VecDeque<Planned>,
    pub(crate) polls: VecDeque<Planned>,
    pub(crate) air: Air,
    pub(crate) hearing: Hearing,
    pub(crate) deliveries: VecDeque<Arrival<I>>,
    pub(crate) leaving: Vec<Leaving<I>>,
    pub(crate) statistics: Statistics,
}

impl<I> Channel<I> {
    /// A channel of a number, without service flows. All that is drawn comes from the seed.
    ///
    /// # Errors
    /// A profile that the scheduler refuses.
    pub fn new(profile: Profile, number: u8, seed: u64) -> Result<Self, Refusal> {
        Ok(Self::with_scheduler(
            Scheduler::new(profile.clone(), number, seed)?,
            profile,
            seed,
        ))
    }

    /// A channel with a scheduler of that profile, which was not used yet.
    #[must_use]
    pub fn with_scheduler(scheduler: Scheduler, profile: Profile, seed: u64) -> Self {
        Self {
            opportunities: Opportunities::new(profile.clock, profile.request_minislots),
            scheduler,
            profile,
            seed,
            now: 0,
            seats: Seats::new(),
            deferring: BTreeSet::new(),
            contend_at: None,
            awaiting: BTreeSet::new(),
            alarms: BTreeSet::new(),
            maps: VecDeque::new(),
            described: Minislot(0),
            grants: VecDeque::new(),
            polls: VecDeque::new(),
            air: Air::default(),
            hearing: Hearing::default(),
            deliveries: VecDeque::new(),
            leaving: Vec::new(),
            statistics: Statistics::default(),
        }
    }

    /// Adds a service flow. If data waits already, call [`Channel::wake`] too.
    ///
    /// # Errors
    /// A flow that the scheduler refuses, or a SID that is on the channel already.
    pub fn add(&mut self, now: u64, flow: FlowConfig) -> Result<(), Refusal> {
        if self.seats.get(flow.sid).is_some() {
            return Err(Refusal(format!(
                "SID {} is on the channel already; remove it first or use another one",
                flow.sid.0
            )));
        }
        self.now = self.now.max(now);
        self.scheduler.admit(self.now, flow)?;
        let station = Station::new(&self.profile, &flow, self.seed);
        self.seats.put(flow.sid, Seat::new(station, flow));
        Ok(())
    }

    /// Takes a service flow's seat away, wherever it is entered.
    pub(crate) fn leave(&mut self, sid: Sid) -> Option<Box<Seat<I>>> {
        let seat = self.seats.take(sid)?;
        if let Some(number) = seat.deferring {
            self.deferring.remove(&(number, sid));
            self.find_contention();
        }
        if let Some(sent) = seat.awaiting {
            self.awaiting.remove(&(sent, sid));
        }
        if let Some(at) = seat.alarm {
            self.alarms.remove(&(at, sid));
        }
        self.grants.retain(|planned| planned.sid != sid);
        self.polls.retain(|planned| planned.sid != sid);
        Some(seat)
    }

    /// Data became eligible in the queue of a flow: its station asks for it, if it has to. Frames
    /// that come while it is not idle need no call, but do no harm. Call [`Channel::step`] up to
    /// `now` before, and look at [`Channel::next_deadline`] again after it.
    pub fn wake<E: Ends<Item = I>>(&mut self, now: u64, sid: Sid, ends: &mut E) {
        self.now = self.now.max(now);
        if let (Some(seat), Some(mut queue)) = (self.seats.get_mut(sid), ends.queue(sid)) {
            seat.station.wake(self.now, &mut queue, &self.opportunities);
            self.enter(sid);
        }
    }

    /// Changes what other users leave of the channel, from the next MAP on that is made.
    ///
    /// # Errors
    /// What the scheduler refuses of it: less than it has promised.
    pub fn set_capacity(&mut self, now: u64, capacity: Option<Capacity>) -> Result<(), Refusal> {
        self.now = self.now.max(now);
        self.scheduler.set_capacity(capacity)
    }

    /// When something is due next: there is always a MAP to come.
    #[must_use]
    pub fn next_deadline(&self) -> u64 {
        self.next().0
    }

    /// What is due next.
    pub(crate) fn next(&self) -> Next {
        Next(u64::MAX, Due::MakeMap)
            .or(self.air.next(), Due::AskingEnds)
            .or(self.hearing.next(), Due::Hear)
            .or(Some(self.scheduler.next_map_at()), Due::MakeMap)
            .or(self.maps.front().map(|map| map.0), Due::ReadMap)
            .or(self.deliveries.front().map(|one| one.at), Due::Deliver)
            .or(self.alarms.first().map(|alarm| alarm.0), Due::Alarm)
            .or(self.grants.front().map(|planned| planned.at), Due::Fill)
            .or(self.polls.front().map(|planned| planned.at), Due::Poll)
            .or(self.contend_at, Due::Contend)
    }

    /// Enters a station where it waits now.
    pub(crate) fn enter(&mut self, sid: Sid) {
        let Some(seat) = self.seats.get_mut(sid) else {
            return;
        };
        let number = seat.station.deferring();
        let moved = number != seat.deferring;
        reenter(&mut self.deferring, &mut seat.deferring, number, sid);
        reenter(
            &mut self.awaiting,
            &mut seat.awaiting,
            seat.station.oldest(),
            sid,
        );
        reenter(&mut self.alarms, &mut seat.alarm, seat.station.alarm(), sid);
        if moved {
            self.find_contention();
        }
    }

    /// Finds when the first opportunity begins at which somebody deferred to.
    pub(crate) fn find_contention(&mut self) {
        let first = self.deferring.first();
        let minislot = first.and_then(|&(number, _)| self.opportunities.minislot(number));
        self.contend_at = minislot.map(|minislot| self.profile.clock.start(minislot));
    }

    /// What it counted.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Its scheduler, to look at.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Its numbers.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The stations of all service flows, by SID.
    pub fn stations(&self) -> impl Iterator<Item = (Sid, &Station<I>)> {
        self.seats.iter()
    }

    /// A service flow's station, to look at.
    #[must_use]
    pub fn station(&self, sid: Sid) -> Option<&Station<I>> {
        self.seats.get(sid).map(|seat| &seat.station)
    }
}

fn reenter<K: Ord + Copy>(
    set: &mut BTreeSet<(K, Sid)>,
    entered: &mut Option<K>,
    now: Option<K>,
    sid: Sid,
) {
    if *entered == now {
        return;
    }
    if let Some(key) = *entered {
        set.remove(&(key, sid));
    }
    if let Some(key) = now {
        set.insert((key, sid));
    }
    *entered = now;
}
