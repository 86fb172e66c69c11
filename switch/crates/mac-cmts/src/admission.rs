// SPDX-License-Identifier: Apache-2.0
//! Decides which service flows a channel admits.

use mac_wire::{Capacity, FlowConfig, Minislot, Service, Sid};

use crate::asked::Asked;
use crate::flow::{Flow, FlowIndex, Turn, Unsolicited, Waits};
use crate::hearing::is_watched;
use crate::load::{Kind, Load, loads};
use crate::policing::Policing;
use crate::refusal::Refusal;
use crate::reserved::Reservation;
use crate::scheduler::Scheduler;
use crate::sizes::Cutting;
use crate::statistics::FlowStatistics;
use crate::turn::needs_whole;

/// The longest Ethernet frame with its CRC.
pub(crate) const FRAME: u32 = 1522;

/// Minislots of the longest burst that one request of DOCSIS 1.x asks for: it has 8 bits.
const LONGEST_REQUEST: u32 = 255;

impl Scheduler {
    /// Takes a service flow, or another configuration of a known one, whole or not at all. What a
    /// known one asked for stays asked for if it goes on ([`FlowConfig::goes_on_with`]); unsolicited grants and polls that do
    /// not change stay where they are.
    ///
    /// # Errors
    /// A configuration that is wrong in itself, unsolicited grants or polls that could come outside
    /// of their jitter, or reserved rates beyond what the channel has.
    pub fn admit(&mut self, now: u64, config: FlowConfig) -> Result<(), Refusal> {
        let admitted = self.admit_all(now, &[config]);
        admitted.map_err(|(_, refusal)| refusal)
    }

    /// Takes several service flows, one after the other, as [`Self::admit`] does: whoever waits does so
    /// for a bounded time.
    ///
    /// # Errors
    /// The SID of the first that is not taken, and why. Those before it are.
    pub fn admit_all(&mut self, now: u64, flows: &[FlowConfig]) -> Result<(), (Sid, Refusal)> {
        self.admit_within(now, flows, self.budget.capacity())
    }

    /// Takes several service flows as [`Self::admit_all`] does, and from the next MAP on other users
    /// leave another part of the channel ([`Self::set_capacity`]). What is promised then has to fit
    /// that part, whatever they leave now and in whichever order the flows are.
    ///
    /// # Errors
    /// The SID of one that is not taken, or none where it is the capacity, and why. Some are taken, so
    /// the scheduler is of no use any more.
    pub fn admit_with_capacity(
        &mut self,
        now: u64,
        flows: &[FlowConfig],
        capacity: Option<Capacity>,
    ) -> Result<(), (Option<Sid>, Refusal)> {
        let admitted = self.admit_within(now, flows, None);
        admitted.map_err(|(sid, refusal)| (Some(sid), refusal))?;
        let set = self.set_capacity(capacity);
        set.map_err(|refusal| (None, refusal))?;
        // As for one flow, those that were admitted before may be promised more than is left now.
        let promised = flows.iter().rev().find(|flow| self.is_promised(flow));
        promised.map_or(Ok(()), |flow| {
            let checked = self.check_promised(self.promised_share(), flow.sid, capacity);
            checked.map_err(|refusal| (Some(flow.sid), refusal))
        })
    }

    fn admit_within(
        &mut self,
        now: u64,
        flows: &[FlowConfig],
        capacity: Option<Capacity>,
    ) -> Result<(), (Sid, Refusal)> {
        self.now = self.now.max(now);
        self.steps_left = self.parameters.most_steps;
        flows.iter().try_for_each(|flow| {
            let admitted = self.admit_one(*flow, capacity);
            admitted.map_err(|refusal| (flow.sid, refusal))
        })
    }

    fn admit_one(&mut self, config: FlowConfig, capacity: Option<Capacity>) -> Result<(), Refusal> {
        config.check(&self.profile)?;
        let known = self.flows.index(config.sid);
        let mut wanted = loads(
            &config,
            &self.profile,
            &self.sizes,
            &self.parameters,
            self.map_ns,
        )?;
        self.check_shares(&config, known, &wanted, capacity)?;
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
        } else if matches!(config.service, Service::Proactive { .. }) && !is_watched(&config) {
            // Its grants may have been held back.
            self.resume(index);
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
            most => {
                // A request counts whole minislots, which may be more than the burst.
                let most = most.max(FRAME + self.profile.header);
                let minislots = self.sizes.minislots(most.into());
                longest.min(self.sizes.bytes(minislots))
            }
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
            began: self.now,
            policing: Policing::new(self.now, &config, &self.parameters, self.map_ns, whole),
            reservation: self.reservation(&config),
            asked: Asked::Nothing,
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

    /// Gives a known flow another configuration, with what it asked for unless it begins anew.
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
        // The modem begins anew, too. A burst that has to be whole and is longer than it may be now
        // would wait for ever.
        let anew = !flow.config.goes_on_with(&config);
        if anew {
            flow.began = now;
        }
        let cutting = self.sizes.cutting;
        let goes_whole = cutting == Cutting::Whole || needs_whole(config.policy, cutting);
        if anew || goes_whole && flow.asked.bytes(&self.sizes) > whole {
            self.queues.forget(index, flow);
        }
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
        // UGS-AD starts active: grants come, polls do not.
        let with_activity = matches!(flow.config.service, Service::UnsolicitedWithActivity { .. });
        for load in loads {
            let run = load.kind != Kind::Poll || !with_activity;
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
pub(crate) fn reserved_rate(config: &FlowConfig) -> u64 {
    match config.service {
        Service::Unsolicited { .. } | Service::UnsolicitedWithActivity { .. } => 0,
        _ => config.min_reserved_rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::testing;
    use mac_wire::{Periodic, Policy, Profile};

    /// Polls about once in an hour. With another jitter each, they are of as many kinds.
    fn polls(sid: u16, jitter: u64) -> FlowConfig {
        FlowConfig {
            service: Service::RealTimePolling(Periodic {
                interval: 135_000 * 29_000_000,
                jitter,
            }),
            policy: Policy::USUAL_REAL_TIME_POLLING,
            ..testing::best_effort(sid)
        }
    }

    fn scheduler(most_steps: u64) -> Scheduler {
        let parameters = Parameters {
            most_steps,
            ..Parameters::default()
        };
        Scheduler::with_parameters(Profile::docsis_3_1(15), 1, 1, parameters).unwrap()
    }

    #[test]
    fn polls_of_ever_more_kinds_are_refused_before_they_take_long() {
        let kinds: Vec<_> = (1..=2000)
            .map(|sid| polls(sid, 135_000 * u64::from(sid)))
            .collect();
        let (sid, refusal) = scheduler(1_000_000).admit_all(0, &kinds).unwrap_err();
        let words = format!(
            "whether the polls of SID {} fit the channel takes too long",
            sid.0
        );
        assert!(refusal.0.starts_with(&words), "{refusal}");
        // Another request may compute as much again.
        let mut scheduler = scheduler(1_000_000);
        let few = &kinds[..20];
        for _ in 0..100 {
            scheduler.admit_all(0, few).unwrap();
            few.iter()
                .for_each(|flow| assert!(scheduler.remove(0, flow.sid)));
        }
    }

    #[test]
    fn polls_of_one_kind_take_few_steps() {
        let equal: Vec<_> = (1..=200).map(|sid| polls(sid, 2_700_000)).collect();
        let most = Parameters::default().most_steps;
        let mut scheduler = scheduler(most);
        scheduler.admit_all(0, &equal).unwrap();
        let taken = most - scheduler.steps_left;
        assert!(taken < most / 20, "{taken}");
    }
}
