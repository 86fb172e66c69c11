// SPDX-License-Identifier: Apache-2.0
//! The scheduler: what a MAP is made of, and in which order (mac.md, "CMTS scheduler").

use mac_wire::{Capacity, Map, Minislot, Profile, Request, Sid};

use crate::asked::Asked;
use crate::contention;
use crate::draft::Draft;
use crate::flow::{FlowIndex, Flows};
use crate::given::Record;
use crate::load::Kind;
use crate::parameters::Parameters;
use crate::periodic::{Offer, Placed, Timers};
use crate::queues::Queues;
use crate::random::Random;
use crate::refusal::Refusal;
use crate::sizes::{Cutting, Sizes};
use crate::statistics::{FlowStatistics, Granted, Statistics};

/// Information elements that are kept for pending marks, if so many flows wait.
const FOR_PENDING: usize = 80;

/// Pieces of periodic loads that a MAP has. Admission sees to it that no more are due.
pub(crate) const PIECES: usize = 90;

/// MAPs for which a grant is remembered after it is over.
const REMEMBERED_MAPS: u64 = 4;

/// What the CMTS hears upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// A request, in contention or in a poll.
    Request {
        /// What it says.
        request: Request,
        /// The first minislot of its opportunity.
        sent: Minislot,
    },
    /// Noise in a contention opportunity: requests that collided.
    Noise {
        /// The first minislot of the opportunity.
        sent: Minislot,
    },
    /// The end of a grant.
    Burst {
        /// Whose grant it was.
        sid: Sid,
        /// Its first minislot.
        first: Minislot,
        /// MAC bytes of it that were used; 0: it stayed empty.
        used: u64,
        /// The request in its head.
        request: Option<Request>,
        /// The bit of the extended header of an unsolicited service: the queue outgrew the grants.
        queue_indicator: bool,
    },
}

/// When the intervals of a flow's unsolicited grants and polls start, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reference {
    /// The first interval of its unsolicited or proactive grants.
    pub grants: Option<u64>,
    /// The first interval of its polls.
    pub polls: Option<u64>,
}

/// The CMTS's scheduler of one upstream channel: what was heard goes in, MAPs come out. The same
/// calls in the same order make the same MAPs.
#[derive(Debug)]
pub struct Scheduler {
    pub(crate) profile: Profile,
    pub(crate) parameters: Parameters,
    pub(crate) sizes: Sizes,
    /// A MAP's usual length, nanoseconds.
    pub(crate) map_ns: u64,
    pub(crate) random: Random,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) flows: Flows,
    pub(crate) timers: Timers,
    pub(crate) queues: Queues,
    pub(crate) record: Record,
    /// Flows with requests that were neither granted nor marked, in the order in which they came.
    pub(crate) fresh: Vec<FlowIndex>,
    pub(crate) draft: Draft,
    /// Where the last MAP starts.
    pub(crate) previous: u64,
    /// Where the next one starts.
    pub(crate) next: u64,
    pub(crate) now: u64,
    /// Minislots that the MAP may still grant on request.
    pub(crate) grantable: u64,
    /// Minislots that it grants on request.
    pub(crate) solicited: u64,
    /// Whether it was stretched for a burst.
    pub(crate) stretched: bool,
    pub(crate) placed: Vec<Placed>,
    pub(crate) chosen: Vec<FlowIndex>,
    pub(crate) skipped: Vec<FlowIndex>,
    pub(crate) done: Vec<FlowIndex>,
    pub(crate) counted: Statistics,
}

impl Scheduler {
    /// A scheduler with the constants of mac.md.
    ///
    /// # Errors
    /// A profile that no MAP can be made with.
    pub fn new(profile: Profile, channel: u8, seed: u64) -> Result<Self, Refusal> {
        Self::with_parameters(profile, channel, seed, Parameters::default())
    }

    /// A scheduler with its own constants.
    ///
    /// # Errors
    /// A profile that no MAP can be made with.
    pub fn with_parameters(
        profile: Profile,
        channel: u8,
        seed: u64,
        parameters: Parameters,
    ) -> Result<Self, Refusal> {
        profile.check()?;
        let clock = profile.clock;
        let start = clock.at_or_after(profile.timing.map_ahead).0;
        let map_ns = profile.map_length().max(1);
        let previous = start.saturating_sub(profile.map_minislots.into());
        let map = Map {
            channel,
            ucd_count: 0,
            start: Minislot(start),
            end: Minislot(start),
            ack: Minislot(0),
            ranging: profile.backoff,
            data: profile.backoff,
            elements: Vec::with_capacity(Map::MAX_INFORMATION_ELEMENTS),
            pending: Vec::with_capacity(Map::MAX_INFORMATION_ELEMENTS),
        };
        Ok(Self {
            sizes: Sizes::new(&profile, &parameters),
            parameters,
            map_ns,
            random: Random::new(seed),
            capacity: profile.capacity,
            flows: Flows::new(),
            timers: Timers::default(),
            queues: Queues::default(),
            record: Record::default(),
            fresh: Vec::new(),
            draft: Draft::new(map, profile.maintenance_minislots),
            previous,
            next: start,
            now: 0,
            grantable: 0,
            solicited: 0,
            stretched: false,
            placed: Vec::new(),
            chosen: Vec::new(),
            skipped: Vec::new(),
            done: Vec::new(),
            counted: Statistics::default(),
            profile,
        })
    }

    /// When the next MAP is to be made, nanoseconds. What is heard at that moment is heard before.
    #[must_use]
    pub fn next_map_at(&self) -> u64 {
        let (previous, next) = (Minislot(self.previous), Minislot(self.next));
        self.profile.map_made(previous, next)
    }

    /// Makes the next MAP. Successive MAPs tile time whenever they are made.
    pub fn make_map(&mut self, now: u64) -> &Map {
        self.now = self.now.max(now);
        self.begin();
        self.place_periodic(self.draft.start());
        self.offer_contention();
        self.place_extra_grants();
        match self.sizes.cutting {
            Cutting::Whole => self.grant_whole(),
            Cutting::Fragments | Cutting::Stream => self.grant_parts(),
        }
        self.finish();
        &self.draft.map
    }

    fn begin(&mut self) {
        let past = REMEMBERED_MAPS * self.map_ns + self.profile.timing.request_heard;
        let unheard = self
            .record
            .forget_before(self.now.saturating_sub(past), &self.profile.clock);
        self.counted.grants_unheard += unheard;
        self.counted.maps += 1;
        let waiting = self.queues.len().min(FOR_PENDING);
        self.draft
            .begin(self.next, self.profile.map_minislots, waiting);
        self.solicited = 0;
        self.stretched = false;
        self.grantable = self.draw_capacity();
        self.placed.clear();
    }

    /// Minislots that other users leave of this MAP.
    fn draw_capacity(&mut self) -> u64 {
        let Some(capacity) = self.capacity else {
            return u64::MAX;
        };
        let bits = u128::from(capacity.rate) * u128::from(self.map_ns) / 1_000_000_000;
        let mean = bits / u128::from(self.sizes.minislot_bits());
        let mean = u64::try_from(mean)
            .unwrap_or(u64::MAX >> 8)
            .min(u64::MAX >> 8);
        let away = mean / 100 * u64::from(capacity.variation_percent)
            + mean % 100 * u64::from(capacity.variation_percent) / 100;
        mean.saturating_sub(away) + self.random.below(2 * away + 1)
    }

    /// Gives unsolicited grants and polls their places from a minislot on.
    pub(crate) fn place_periodic(&mut self, from: u64) {
        let stretching = from > self.draft.start();
        let contention = if stretching {
            0
        } else {
            self.profile.contention_minislots.into()
        };
        let offer = Offer {
            from,
            limit: self.draft.limit(),
            end: self.draft.end(),
            contention,
            pieces: PIECES,
            stretch_to: if self.profile.stretch {
                self.draft.start() + u64::from(Map::MAX_MINISLOTS)
            } else {
                0
            },
        };
        let before = self.placed.len();
        let end = self
            .timers
            .place(offer, &self.profile.clock, &mut self.placed);
        self.draft.stretch(end);
        self.counted.missed = self.timers.missed;
        for index in before..self.placed.len() {
            self.settle(self.placed[index]);
        }
    }

    /// A piece of a periodic load has its place.
    fn settle(&mut self, placed: Placed) {
        let Some(load) = self.timers.load(placed.slot).copied() else {
            return;
        };
        let Some(flow) = self.flows.get_mut(placed.flow) else {
            return;
        };
        if load.kind == Kind::Poll {
            let sid = flow.config.sid;
            flow.statistics.polls += 1;
            self.counted.polls += 1;
            self.counted.minislots_polls += u64::from(load.cost);
            self.draft
                .give(sid, mac_wire::Usage::Request, placed.first, load.cost);
            return;
        }
        let extra = &mut flow.unsolicited;
        if extra.queue_indicator {
            extra.credit = extra
                .credit
                .saturating_add(self.parameters.queue_indicator_percent);
        }
        self.counted.grants_unsolicited += 1;
        self.grant(placed.flow, placed.first, load.cost, true);
    }

    /// A MAP that may stretch does so where unsolicited grants left too little for contention.
    fn offer_contention(&mut self) {
        let mut given = contention::offer(&mut self.draft, &self.profile, &mut self.random);
        let wanted = self.profile.contention_opportunities();
        let most = self.draft.start() + u64::from(Map::MAX_MINISLOTS);
        while given < wanted && self.profile.stretch {
            let missing = u64::from((wanted - given) * self.profile.request_minislots);
            let (end, limit) = (self.draft.end() + missing, self.draft.limit());
            if end > most || self.draft.left() < 3 {
                break;
            }
            self.draft.stretch(end);
            self.place_periodic(limit);
            given += contention::offer_more(&mut self.draft, &self.profile, wanted - given, 1);
        }
        self.count_opportunities(given);
    }

    fn count_opportunities(&mut self, given: u32) {
        self.counted.opportunities += u64::from(given);
        self.counted.minislots_contention +=
            u64::from(given) * u64::from(self.profile.request_minislots);
    }

    /// A grant more in the same interval for flows whose Queue Indicator earned one, where it fits.
    fn place_extra_grants(&mut self) {
        for index in 0..self.placed.len() {
            let placed = self.placed[index];
            let (Some(load), Some(flow)) = (
                self.timers.load(placed.slot),
                self.flows.get_mut(placed.flow),
            ) else {
                continue;
            };
            if flow.unsolicited.credit < 100 || load.kind != Kind::Grant {
                continue;
            }
            let cost = load.cost;
            let place = self.draft.first_fit(cost, placed.first);
            if let Some(first) = place.filter(|&first| first <= placed.latest)
                && self.draft.has_room()
            {
                flow.unsolicited.credit -= 100;
                self.counted.grants_unsolicited += 1;
                self.grant(placed.flow, first, cost, true);
            }
        }
    }

    /// Gives a flow minislots that are free, and accounts for them.
    pub(crate) fn grant(
        &mut self,
        index: FlowIndex,
        first: u64,
        minislots: u32,
        unsolicited: bool,
    ) -> bool {
        let Some(flow) = self.flows.get_mut(index) else {
            return false;
        };
        let usage = self.sizes.usage(unsolicited);
        if !self.draft.give(flow.config.sid, usage, first, minislots) {
            return false;
        }
        let bytes = self.sizes.bytes(minislots);
        flow.policing.charge(self.now, bytes);
        let single = self.sizes.cutting != Cutting::Stream;
        if let Some(reservation) = &mut flow.reservation {
            reservation.spend(self.now, bytes, single);
        }
        flow.asked = flow.asked.after(minislots, &self.sizes);
        if flow.asked == Asked::Nothing {
            flow.acknowledged = 0;
        }
        flow.granted = flow.granted.saturating_add(bytes);
        flow.granted_in = self.counted.maps;
        flow.unfit = 0;
        flow.statistics.grants += 1;
        flow.statistics.bytes_granted += bytes;
        self.counted.bytes_granted += bytes;
        self.counted.minislots_granted += u64::from(minislots);
        self.grantable = self.grantable.saturating_sub(minislots.into());
        if let Some(asked_at) = flow.asked_at.take() {
            let start = self.profile.clock.start(Minislot(first));
            let delay = start.saturating_sub(asked_at);
            self.counted.access_delays += 1;
            self.counted.access_delay_sum = self.counted.access_delay_sum.saturating_add(delay);
            self.counted.access_delay_max = self.counted.access_delay_max.max(delay);
        }
        if !unsolicited {
            self.solicited += u64::from(minislots);
            self.counted.grants += 1;
        }
        true
    }

    fn finish(&mut self) {
        if self.profile.extra_contention {
            let kept = self.queues.len().min(FOR_PENDING) + 1;
            let given = contention::offer_more(&mut self.draft, &self.profile, u32::MAX, kept);
            self.count_opportunities(given);
        }
        self.acknowledge();
        self.draft.close();
        self.record.extend(&self.draft.map.elements);
        self.previous = self.draft.start();
        self.next = self.draft.end();
        let described = self.next - self.previous;
        self.counted.minislots += described;
        self.counted.minislots_maintenance += u64::from(self.profile.maintenance_minislots);
        if described > self.profile.map_minislots.into() {
            self.counted.maps_stretched += 1;
        }
    }

    /// What other users leave of the channel from the next MAP on.
    pub fn set_capacity(&mut self, capacity: Option<Capacity>) {
        self.capacity = capacity;
    }

    /// What was counted so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counted
    }

    /// What was counted of one flow.
    #[must_use]
    pub fn flow_statistics(&self, sid: Sid) -> Option<FlowStatistics> {
        let flow = self.flows.get(self.flows.index(sid)?)?;
        Some(flow.statistics)
    }

    /// What a flow's queue manager is told (paper 000, appendix A); counts anew from here.
    pub fn take_granted(&mut self, sid: Sid) -> Option<Granted> {
        let flow = self.flows.get_mut(self.flows.index(sid)?)?;
        Some(Granted {
            bytes: std::mem::take(&mut flow.granted),
            acknowledged: flow.acknowledged,
        })
    }

    /// When the intervals of a flow's unsolicited grants and polls start.
    #[must_use]
    pub fn reference(&self, sid: Sid) -> Option<Reference> {
        let unsolicited = &self.flows.get(self.flows.index(sid)?)?.unsolicited;
        let t0 = |slot: Option<u32>| Some(self.timers.load(slot?)?.t0);
        Some(Reference {
            grants: t0(unsolicited.grants),
            polls: t0(unsolicited.polls),
        })
    }
}
