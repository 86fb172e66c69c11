// SPDX-License-Identifier: Apache-2.0
//! Which service flows a channel takes.

use mac_wire::{FlowConfig, Minislot, Service, Sid};

use crate::asked::Asked;
use crate::flow::{Flow, FlowIndex, Turn, Unsolicited, Waits};
use crate::load::{Kind, Load, loads};
use crate::policing::Policing;
use crate::refusal::{Refusal, refuse};
use crate::reserved::Reservation;
use crate::schedulable::{Ground, WHOLE};
use crate::scheduler::{PIECES, Scheduler};
use crate::sizes::Cutting;
use crate::statistics::FlowStatistics;
use crate::turn::needs_whole;

/// The longest Ethernet frame with its CRC.
const FRAME: u32 = 1522;

/// Minislots of the longest burst that one request of DOCSIS 1.x asks for: it has 8 bits.
const LONGEST_REQUEST: u32 = 255;

impl Scheduler {
    /// Takes a service flow, or another configuration of a known one, whole or not at all. What a
    /// known one asked for stays asked for; unsolicited grants and polls that do not change stay
    /// where they are.
    ///
    /// # Errors
    /// A configuration that is wrong in itself, unsolicited grants or polls that could come outside
    /// of their jitter, or reserved rates beyond what the channel has.
    pub fn admit(&mut self, now: u64, config: FlowConfig) -> Result<(), Refusal> {
        self.now = self.now.max(now);
        config.check(&self.profile)?;
        let known = self.flows.index(config.sid);
        let mut wanted = loads(
            &config,
            &self.profile,
            &self.sizes,
            &self.parameters,
            self.map_ns,
        )?;
        self.check_shares(&config, known, &wanted)?;
        let kept = known.is_some_and(|index| self.has_loads(index, &wanted));
        if !kept {
            self.place_loads(&config, known, &mut wanted)?;
        }
        let index = known.unwrap_or_else(|| self.flows.next());
        match known {
            Some(index) => self.change(index, config),
            None => self.insert(config),
        }
        if !kept {
            self.start_loads(index, &wanted);
        }
        Ok(())
    }

    /// Removes a service flow; false where there was none.
    pub fn remove(&mut self, now: u64, sid: Sid) -> bool {
        self.now = self.now.max(now);
        let Some((index, mut flow)) = self.flows.remove(sid) else {
            return false;
        };
        self.queues.leave(index, &mut flow);
        self.queues.wait(index, &mut flow, Waits::default());
        let unsolicited = flow.unsolicited;
        for slot in [unsolicited.grants, unsolicited.polls]
            .into_iter()
            .flatten()
        {
            self.timers.remove(slot);
        }
        true
    }

    fn ground(&self) -> Ground {
        let profile = &self.profile;
        Ground {
            clock: profile.clock,
            map: profile.map_minislots.into(),
            grid: (!profile.stretch).then_some(self.next),
            maintenance: profile.maintenance_minislots.into(),
            contention: profile.contention_minislots.into(),
            pieces: PIECES as u64,
        }
    }

    /// All that is promised has to leave something for others.
    fn check_shares(
        &self,
        config: &FlowConfig,
        known: Option<FlowIndex>,
        wanted: &[Load],
    ) -> Result<(), Refusal> {
        let ground = self.ground();
        let own: u128 = wanted.iter().map(|load| ground.share(load)).sum();
        let own = own.saturating_add(self.reserved_share(config));
        if own == 0 {
            return Ok(());
        }
        let known = known.and_then(|index| self.flows.get(index));
        let others = self
            .flows
            .iter()
            .filter(|flow| known.is_none_or(|known| known.config.sid != flow.config.sid));
        let reserved: u128 = others.map(|flow| self.reserved_share(&flow.config)).sum();
        let known = known.and_then(|known| self.flows.index(known.config.sid));
        let periodic: u128 = self
            .timers
            .loads_without(known)
            .map(|load| ground.share(&load))
            .sum();
        let free = self.profile.data_minislots();
        let most = WHOLE * u128::from(free) * u128::from(self.parameters.most_reserved_percent)
            / (100 * u128::from(ground.map));
        let sum = own.saturating_add(reserved).saturating_add(periodic);
        if sum <= most {
            return Ok(());
        }
        let percent = |share: u128| share.saturating_mul(100).div_ceil(WHOLE);
        Err(refuse!(
            "unsolicited grants, polls and reserved rates would take {}% of the channel with SID {}, \
             and {}% may be promised; give this flow or others less",
            percent(sum),
            config.sid.0,
            most * 100 / WHOLE
        ))
    }

    /// Parts of [`WHOLE`] that a Minimum Reserved Traffic Rate takes, in frames of the assumed
    /// size.
    fn reserved_share(&self, config: &FlowConfig) -> u128 {
        let rate = reserved_rate(config);
        let frame = match config.assumed_packet_size {
            0 => FRAME,
            size => size,
        };
        let bytes = u64::from(frame) + u64::from(self.profile.header) + self.sizes.segment_header;
        let minislots = u128::from(self.sizes.minislots(bytes));
        let clock = &self.profile.clock;
        // Frames a second, times minislots, times seconds of a minislot.
        u128::from(rate)
            .saturating_mul(minislots * u128::from(clock.frame_ps))
            .saturating_mul(WHOLE / 1_000_000)
            .div_ceil(8_000_000 * u128::from(frame) * u128::from(clock.per_frame.max(1)))
    }

    fn has_loads(&self, index: FlowIndex, wanted: &[Load]) -> bool {
        let Some(flow) = self.flows.get(index) else {
            return false;
        };
        let slots = [flow.unsolicited.grants, flow.unsolicited.polls];
        let mut has = slots
            .into_iter()
            .flatten()
            .map(|slot| self.timers.load(slot));
        wanted.iter().all(|wanted| {
            has.next()
                .flatten()
                .is_some_and(|has| Load { t0: 0, ..*has } == *wanted)
        }) && has.next().is_none()
    }

    /// Finds a time for each load such that all loads keep their windows.
    fn place_loads(
        &self,
        config: &FlowConfig,
        known: Option<FlowIndex>,
        wanted: &mut [Load],
    ) -> Result<(), Refusal> {
        if wanted.is_empty() {
            return Ok(());
        }
        let ground = self.ground();
        let mut all: Vec<Load> = self.timers.loads_without(known).collect();
        for load in wanted {
            let found = self.candidates(load, all.len()).any(|t0| {
                load.t0 = t0;
                all.push(*load);
                let holds = ground.holds(&all);
                if !holds {
                    all.pop();
                }
                holds
            });
            if !found {
                let what = match load.kind {
                    Kind::Grant => "unsolicited grants",
                    Kind::Poll => "polls",
                    Kind::Proactive => "proactive grants",
                };
                return Err(refuse!(
                    "the {what} of SID {}, {} of {} minislots every {} ns, do not fit the channel \
                     within their jitter of {} ns; give them more jitter, a longer interval, or other \
                     flows less",
                    config.sid.0,
                    load.count,
                    load.cost,
                    load.interval,
                    load.jitter
                ));
            }
        }
        Ok(())
    }

    /// When a load might start: in the first MAPs from the next one on, at their starts and
    /// quarters, then all over its interval. Fewer are tried where there are many loads.
    fn candidates(&self, load: &Load, others: usize) -> impl Iterator<Item = u64> + use<> {
        let clock = self.profile.clock;
        let base = clock.start(Minislot(self.next));
        let (interval, map) = (load.interval, self.map_ns);
        let most = (1_000_000 / (others * others + 1)).clamp(16, 96);
        // One load in each MAP, then a second: the first try is mostly right.
        let turn = others as u64;
        let maps = interval.div_ceil(map).clamp(1, 16);
        let near = (0..4).flat_map(move |quarter| {
            (0..maps).map(move |index| (index + turn) % maps * map + quarter * (map / 4))
        });
        // Bits reversed: halves, quarters, eighths.
        let far = (1..64_u64).map(move |number| {
            let part = u128::from(number.reverse_bits());
            ((part * u128::from(interval)) >> 64) as u64
        });
        near.chain(far)
            .filter(move |&offset| offset < interval)
            .take(most)
            .map(move |offset| clock.start(clock.at_or_after(base.saturating_add(offset))))
    }

    /// Bytes that a flow's buckets must let pass at once.
    fn whole_bytes(&self, config: &FlowConfig) -> u64 {
        let cutting = self.sizes.cutting;
        if cutting != Cutting::Whole && !needs_whole(config.policy, cutting) {
            return self.sizes.bytes(self.sizes.least_part);
        }
        let longest = self.profile.longest_grant().min(LONGEST_REQUEST);
        let longest = self.sizes.bytes(longest);
        match config.max_concatenated_burst {
            0 => longest,
            most => longest.min(u64::from(most.max(FRAME + self.profile.header))),
        }
    }

    fn reservation(&self, config: &FlowConfig) -> Option<Reservation> {
        let rate = self.parameters.with_headers(reserved_rate(config));
        (rate > 0).then(|| Reservation::new(self.now, rate, config.assumed_packet_size))
    }

    fn insert(&mut self, config: FlowConfig) {
        let whole = self.whole_bytes(&config);
        let flow = Flow {
            since: Minislot(self.next),
            policing: Policing::new(self.now, &config, &self.parameters, self.map_ns, whole),
            reservation: self.reservation(&config),
            asked: Asked::Nothing,
            asked_at: None,
            acknowledged: 0,
            granted: 0,
            waits: Waits::default(),
            queued: false,
            queued_reserved: false,
            deficit: 0,
            turn: Turn::default(),
            unfit: 0,
            unsolicited: Unsolicited::default(),
            statistics: FlowStatistics::default(),
            config,
        };
        self.flows.insert(flow);
    }

    /// Gives a known flow another configuration, with what it asked for.
    fn change(&mut self, index: FlowIndex, config: FlowConfig) {
        let whole = self.whole_bytes(&config);
        let reservation = self.reservation(&config);
        let (now, map_ns) = (self.now, self.map_ns);
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        flow.policing = flow
            .policing
            .changed(now, &config, &self.parameters, map_ns, whole);
        if reserved_rate(&flow.config) != reserved_rate(&config)
            || flow.config.assumed_packet_size != config.assumed_packet_size
        {
            flow.reservation = reservation;
        }
        self.queues.leave(index, flow);
        flow.config = config;
        flow.deficit = 0;
        if flow.asked != Asked::Nothing {
            self.queues.join(now, index, flow);
        }
    }

    /// Puts a flow's loads in the place of those that it had.
    fn start_loads(&mut self, index: FlowIndex, loads: &[Load]) {
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        let old = std::mem::take(&mut flow.unsolicited);
        for slot in [old.grants, old.polls].into_iter().flatten() {
            self.timers.remove(slot);
        }
        flow.unsolicited.active = true;
        let paused = loads.len() > 1;
        for load in loads {
            // UGS-AD starts active: grants come, polls do not.
            let run = load.kind != Kind::Poll || !paused;
            let clock = &self.profile.clock;
            let slot = Some(self.timers.add(index, *load, self.next, run, clock));
            match load.kind {
                Kind::Poll => flow.unsolicited.polls = slot,
                Kind::Grant | Kind::Proactive => flow.unsolicited.grants = slot,
            }
        }
    }
}

/// The Minimum Reserved Traffic Rate; unsolicited grants are what they are.
fn reserved_rate(config: &FlowConfig) -> u64 {
    match config.service {
        Service::Unsolicited { .. } | Service::UnsolicitedWithActivity { .. } => 0,
        _ => config.min_reserved_rate,
    }
}
