// SPDX-License-Identifier: Apache-2.0
//! What the channel can promise: reserved rates, and windows of unsolicited grants and polls.

use mac_wire::{Capacity, FlowConfig, Minislot, Sid};

use crate::admission::{FRAME, reserved_rate};
use crate::effort::Effort;
use crate::flow::FlowIndex;
use crate::ground::{Ground, WHOLE};
use crate::load::{Kind, Load};
use crate::refusal::{Refusal, refuse};
use crate::scheduler::{PIECES, Scheduler};

impl Scheduler {
    fn ground(&self) -> Ground {
        let profile = &self.profile;
        Ground {
            clock: profile.clock,
            map: profile.map_minislots.into(),
            grid: (!profile.stretch).then_some(self.next),
            maintenance: profile.maintenance_minislots.into(),
            contention: profile.contention_minislots.into(),
            pieces: PIECES as u64,
            effort: Effort::new(self.steps_left),
        }
    }

    /// All that is promised has to leave something for others, and to fit a capacity.
    pub(crate) fn check_shares(
        &self,
        config: &FlowConfig,
        known: Option<FlowIndex>,
        wanted: &[Load],
        capacity: Option<Capacity>,
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
        let periodic = self.periodic_share(known);
        let sum = own.saturating_add(reserved).saturating_add(periodic);
        self.check_promised(sum, config.sid, capacity)
    }

    /// Whether the channel may promise so many parts of [`WHOLE`], with a service flow.
    pub(crate) fn check_promised(
        &self,
        sum: u128,
        sid: Sid,
        capacity: Option<Capacity>,
    ) -> Result<(), Refusal> {
        let free = u64::from(self.profile.data_minislots());
        let promisable =
            WHOLE * u128::from(free) * u128::from(self.parameters.most_reserved_percent)
                / (100 * u128::from(self.profile.map_minislots));
        let capacity = self.least_share(capacity);
        let most = promisable.min(capacity.unwrap_or(WHOLE));
        if sum <= most {
            return Ok(());
        }
        let percent = |share: u128| share.saturating_mul(100).div_ceil(WHOLE);
        Err(refuse!(
            "unsolicited grants, polls and reserved rates would take {}% of the channel with SID {}, \
             and {}% may be promised; give this flow or others less",
            percent(sum),
            sid.0,
            most * 100 / WHOLE
        ))
    }

    /// Parts of [`WHOLE`] that all that was admitted takes.
    pub(crate) fn promised_share(&self) -> u128 {
        let flows = self.flows.iter();
        let reserved: u128 = flows.map(|flow| self.reserved_share(&flow.config)).sum();
        reserved.saturating_add(self.periodic_share(None))
    }

    /// Whether a service flow that was admitted takes any of it.
    pub(crate) fn is_promised(&self, flow: &FlowConfig) -> bool {
        let index = self.flows.index(flow.sid);
        let known = index.and_then(|index| self.flows.get(index));
        let unsolicited = known.map(|known| &known.unsolicited);
        reserved_rate(flow) > 0
            || unsolicited.is_some_and(|own| own.grants.is_some() || own.polls.is_some())
    }

    /// Parts of [`WHOLE`] that unsolicited grants and polls take, but those of one flow.
    fn periodic_share(&self, without: Option<FlowIndex>) -> u128 {
        let ground = self.ground();
        let loads = self.timers.loads_without(without);
        loads.map(|load| ground.share(&load)).sum()
    }

    /// Parts of [`WHOLE`] that a capacity leaves at the least.
    fn least_share(&self, capacity: Option<Capacity>) -> Option<u128> {
        let least = self.budget.least(capacity, self.map_ns)?;
        Some(WHOLE * u128::from(least) / u128::from(self.profile.map_minislots.max(1)))
    }

    /// Changes what other users leave of the channel, from the next MAP on; MAPs that were made stay as
    /// they are. What was admitted keeps its windows: reserved rates may be missed.
    ///
    /// # Errors
    /// A rate or a variation that cannot be, or less than unsolicited grants and polls take.
    pub fn set_capacity(&mut self, capacity: Option<Capacity>) -> Result<(), Refusal> {
        if let Some(capacity) = capacity {
            capacity.check()?;
        }
        let promised = self.periodic_share(None);
        if let Some(least) = self.least_share(capacity)
            && promised > least
        {
            let line = u128::from(self.sizes.minislot_bits())
                * u128::from(self.profile.map_minislots)
                * 1_000_000_000
                / u128::from(self.map_ns);
            return Err(refuse!(
                "a capacity of {} bit/s, varied by {}%, is less than what unsolicited grants and polls \
                 take, {} bit/s; leave more, or remove service flows",
                capacity.map_or(0, |capacity| capacity.rate),
                capacity.map_or(0, |capacity| capacity.variation_percent),
                promised.saturating_mul(line) / WHOLE
            ));
        }
        self.budget.set(capacity);
        Ok(())
    }

    /// Parts of [`WHOLE`] that a Minimum Reserved Traffic Rate takes, in frames of the assumed
    /// size.
    fn reserved_share(&self, config: &FlowConfig) -> u128 {
        let rate = reserved_rate(config);
        if rate == 0 {
            return 0;
        }
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

    /// Finds a time for each load such that all loads keep their windows.
    pub(crate) fn place_loads(
        &mut self,
        config: &FlowConfig,
        known: Option<FlowIndex>,
        wanted: &mut [Load],
    ) -> Result<(), Refusal> {
        if wanted.is_empty() {
            return Ok(());
        }
        let ground = self.ground();
        let others = self.timers.loads_without(known).count() as u64;
        let mut all = self.timers.together_without(known);
        for (others, load) in (others..).zip(wanted) {
            let found = self.candidates(load, others, all.loads().len()).any(|t0| {
                load.t0 = t0;
                let before = all.clone();
                all.add(*load);
                let holds = ground.holds(all.loads());
                if !holds {
                    all = before;
                }
                holds
            });
            self.steps_left = ground.effort.left();
            if !found {
                let what = match load.kind {
                    Kind::Grant => "unsolicited grants",
                    Kind::Poll => "polls",
                    Kind::Proactive => "proactive grants",
                };
                if self.steps_left == 0 {
                    return Err(refuse!(
                        "whether the {what} of SID {} fit the channel takes too long to find out, as \
                         its grants and polls are of {} kinds; give flows equal intervals and jitters, \
                         or admit fewer at once",
                        config.sid.0,
                        all.loads().len()
                    ));
                }
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
    /// quarters, then all over its interval. Fewer are tried where loads are of many kinds.
    ///
    /// The phases are always the same, however late a load is admitted: those of one kind that share
    /// a phase are one to the test.
    fn candidates(
        &self,
        load: &Load,
        others: u64,
        kinds: usize,
    ) -> impl Iterator<Item = u64> + use<> {
        let clock = self.profile.clock;
        let base = clock.start(Minislot(self.next));
        let (interval, map) = (load.interval, self.map_ns);
        let origin = if self.profile.stretch { 0 } else { base % map };
        let most = (200_000 / (kinds * kinds + 1)).clamp(16, 96);
        // One load in each MAP, then a second: the first try is mostly right.
        let maps = interval.div_ceil(map).clamp(1, 16);
        let near = (0..4).flat_map(move |quarter| {
            (0..maps).map(move |index| (index + others) % maps * map + quarter * (map / 4))
        });
        // Bits reversed: halves, quarters, eighths.
        let far = (1..64_u64).map(move |number| {
            let part = u128::from(number.reverse_bits());
            ((part * u128::from(interval)) >> 64) as u64
        });
        near.chain(far)
            .filter(move |&offset| offset < interval)
            .take(most)
            .map(move |offset| {
                let phase = clock.start(clock.at_or_after(origin.saturating_add(offset)));
                let (phase, now) = (phase % interval, base % interval);
                base.saturating_add((phase + interval - now) % interval)
            })
    }
}
