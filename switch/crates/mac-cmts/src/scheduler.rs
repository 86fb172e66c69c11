// SPDX-License-Identifier: Apache-2.0
//! The scheduler: what a MAP is made of, and in which order (mac.md, "CMTS scheduler").

use mac_wire::{Amount, FlowConfig, Map, Minislot, Profile, Request, Sid};

use crate::budget::Budget;
use crate::draft::Draft;
use crate::flow::{FlowIndex, Flows};
use crate::given::Record;
use crate::opportunities::offer_more;
use crate::parameters::Parameters;
use crate::periodic::{Placed, Timers};
use crate::queues::Queues;
use crate::random::Random;
use crate::refusal::Refusal;
use crate::sizes::{Cutting, Sizes};
use crate::statistics::Statistics;

/// Pending marks that a MAP has at the most: the rest of its information elements is for grants.
/// Ack Time stays at the first request that waits without a mark.
pub(crate) const MOST_MARKS: usize = 120;

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
    /// A grant, heard when its head is.
    Burst {
        /// Whose grant it was.
        sid: Sid,
        /// Its first minislot.
        first: Minislot,
        /// MAC bytes of it that were used; 0: it stayed empty.
        used: u64,
        /// Bytes of headers, which rates do not count.
        headers: u64,
        /// The request in its head.
        request: Option<Request>,
        /// The bit of the extended header of an unsolicited service: the queue outgrew the grants.
        queue_indicator: bool,
    },
}

/// The CMTS's scheduler of one upstream channel: what was heard goes in, MAPs come out. The same
/// calls in the same order make the same MAPs.
#[derive(Debug, Clone)]
pub struct Scheduler {
    pub(crate) profile: Profile,
    pub(crate) parameters: Parameters,
    pub(crate) sizes: Sizes,
    /// A MAP's usual length, nanoseconds.
    pub(crate) map_ns: u64,
    pub(crate) random: Random,
    pub(crate) budget: Budget,
    pub(crate) flows: Flows,
    pub(crate) timers: Timers,
    pub(crate) queues: Queues,
    pub(crate) record: Record,
    pub(crate) draft: Draft,
    /// Where the last MAP starts.
    pub(crate) previous: u64,
    /// Where the next one starts.
    pub(crate) next: u64,
    pub(crate) now: u64,
    /// What admission may still compute.
    pub(crate) steps_left: u64,
    /// Minislots that the MAP may still grant on request.
    pub(crate) grantable: u64,
    /// Minislots that all MAPs before it granted.
    pub(crate) granted_before: u64,
    /// Minislots that are shared and have no place yet.
    pub(crate) promised: u64,
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
        let sizes = Sizes::new(&profile, &parameters);
        let whole = match sizes.cutting {
            Cutting::Stream => 0,
            Cutting::Whole | Cutting::Fragments => {
                profile.longest_grant().min(Amount::MOST_MINISLOTS)
            }
        };
        Ok(Self {
            parameters,
            map_ns,
            random: Random::new(seed),
            budget: Budget::new(profile.capacity, sizes.minislot_bits(), whole),
            sizes,
            flows: Flows::new(),
            timers: Timers::default(),
            queues: Queues::default(),
            record: Record::default(),
            draft: Draft::new(map, profile.maintenance_minislots),
            previous,
            next: start,
            now: 0,
            steps_left: parameters.most_steps,
            grantable: 0,
            granted_before: 0,
            promised: 0,
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

    /// The service flows that were admitted, as they were.
    pub fn flows(&self) -> impl Iterator<Item = &FlowConfig> {
        self.flows.iter().map(|flow| &flow.config)
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
        let timing = &self.profile.timing;
        let heard = timing.request_heard.max(timing.piggyback_heard);
        let past = REMEMBERED_MAPS * self.map_ns + heard;
        let unheard = self
            .record
            .forget_before(self.now.saturating_sub(past), &self.profile.clock);
        self.counted.grants_unheard += unheard;
        self.counted.maps += 1;
        let marks = self.queues.waiting.len().min(MOST_MARKS);
        self.draft
            .begin(self.next, self.profile.map_minislots, marks);
        self.solicited = 0;
        self.promised = 0;
        self.stretched = false;
        self.granted_before = self.counted.minislots_granted;
        self.grantable = self.budget.draw(self.map_ns, &mut self.random);
        self.placed.clear();
    }

    fn finish(&mut self) {
        if self.profile.extra_contention {
            let kept = self.queues.waiting.len().min(MOST_MARKS) + 1;
            let given = offer_more(&mut self.draft, &self.profile, u32::MAX, kept);
            self.count_opportunities(given);
        }
        self.acknowledge();
        self.draft.close();
        self.record.extend(&self.draft.map.elements);
        self.previous = self.draft.start();
        self.next = self.draft.end();
        let described = self.next - self.previous;
        let granted = self.counted.minislots_granted - self.granted_before;
        self.budget
            .spend(granted, described, self.profile.map_minislots.into());
        self.counted.minislots += described;
        self.counted.minislots_maintenance += u64::from(self.profile.maintenance_minislots);
        if described > self.profile.map_minislots.into() {
            self.counted.maps_stretched += 1;
        }
    }
}
