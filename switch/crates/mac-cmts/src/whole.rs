// SPDX-License-Identifier: Apache-2.0
//! Grants requests whole or not at all, where they may not be cut. A MAP may stretch for one that
//! is longer than its room.

use mac_wire::{GrantPlace, Map};

use crate::flow::FlowIndex;
use crate::scheduler::Scheduler;

/// Flows of a priority that did not fit a MAP: then no others are tried in it.
const MOST_MISSES: u32 = 8;

impl Scheduler {
    /// Flows below their reserved rates, then by priority, round robin among equals.
    pub(crate) fn grant_whole(&mut self) {
        for _ in 0..self.queues.reserved.len() {
            let Some((index, entitled)) = self.next_reserved() else {
                continue;
            };
            if entitled > 0 {
                self.reserve(index, u32::MAX);
                self.grant_burst(index);
                self.reserve(index, 0);
            }
            self.queues.reserved.push_back(index);
        }
        if let Some(priority) = self.to_rescue()
            && let Some(&index) = self.queues.rings[priority].flows.front()
            && self.turn(index).is_some()
        {
            self.grant_burst(index);
            // The next rescue is another's.
            self.queues.rings[priority].flows.rotate_left(1);
        }
        for priority in (0..self.queues.rings.len()).rev() {
            self.grant_ring(priority);
        }
    }

    /// Deficit round robin in minislots; who could not be served keeps its place.
    fn grant_ring(&mut self, priority: usize) {
        let quantum = self.quantum();
        let mut skipped = std::mem::take(&mut self.skipped);
        let mut misses = 0;
        while let Some(index) = self.queues.rings[priority].flows.pop_front() {
            if misses >= MOST_MISSES || (self.draft.free() == 0 && !self.profile.stretch) {
                self.queues.rings[priority].flows.push_front(index);
                break;
            }
            let Some(turn) = self.turn(index) else {
                if let Some(flow) = self.flows.get_mut(index) {
                    flow.queued = false;
                    flow.deficit = 0;
                }
                continue;
            };
            let Some(flow) = self.flows.get_mut(index) else {
                continue;
            };
            if turn.most == 0 {
                skipped.push(index);
                continue;
            }
            let wanted = u64::from(turn.most);
            flow.deficit = (flow.deficit + quantum).min(wanted);
            if flow.deficit < wanted {
                self.queues.rings[priority].flows.push_back(index);
            } else if !self.grant_burst(index) {
                misses += 1;
                skipped.push(index);
            } else if let Some(flow) = self.flows.get_mut(index) {
                // Granted whole: it asks again, and queues again.
                flow.deficit = 0;
                flow.queued = false;
            }
        }
        let ring = &mut self.queues.rings[priority];
        for &index in skipped.iter().rev() {
            ring.flows.push_front(index);
        }
        skipped.clear();
        self.skipped = skipped;
    }

    /// Grants a flow's burst, whole, if its rates allow it and there is a place.
    pub(crate) fn grant_burst(&mut self, index: FlowIndex) -> bool {
        let Some(turn) = self.turn(index).filter(|turn| turn.most > 0) else {
            return false;
        };
        let wanted = turn.most;
        if !self.draft.has_room() {
            return false;
        }
        if let Some(first) = self.place_for(index, wanted)
            && self.grant(index, first, wanted, false)
        {
            if let Some(flow) = self.flows.get(index) {
                let priority = usize::from(flow.config.priority) % self.queues.rings.len();
                self.queues.rings[priority].served = self.now;
            }
            return true;
        }
        let fits = self.draft.first_fit(wanted, self.draft.start()).is_some();
        let wanted = u64::from(wanted);
        if wanted + self.promised > self.grantable && wanted <= self.budget.longest() {
            // The channel's capacity falls short of it, now: what is left is saved for it, or
            // shorter bursts would take that for ever.
            self.grantable = self.grantable.min(self.promised);
            if fits && let Some(flow) = self.flows.get_mut(index) {
                flow.unfit = 0;
            }
            // A MAP stretches only for what may be granted.
            if fits || self.profile.stretch {
                return false;
            }
        }
        if self.solicited == 0 && (!fits || wanted > self.grantable) {
            self.note_unfit(index);
        }
        false
    }

    /// It did not fit, although nothing was granted on request before; at some time that is enough.
    fn note_unfit(&mut self, index: FlowIndex) {
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        flow.unfit = flow.unfit.saturating_add(1);
        if flow.unfit > self.parameters.unfit_maps {
            self.queues.forget(index, flow);
            self.counted.requests_impossible += 1;
        }
    }

    /// A place that leaves what was promised to others.
    fn place_for(&mut self, index: FlowIndex, wanted: u32) -> Option<u64> {
        let start = self.draft.start();
        let needed = u64::from(wanted) + self.promised;
        if needed > self.grantable {
            return None;
        }
        if let Some(slack) = self.draft.free().checked_sub(needed) {
            if self.profile.grant_place == GrantPlace::Random {
                let from = start + self.random.below(slack + 1);
                if let Some(first) = self.draft.first_fit(wanted, from) {
                    return Some(first);
                }
            }
            if let Some(first) = self.draft.first_fit(wanted, start) {
                return Some(first);
            }
        }
        if !self.profile.stretch {
            return None;
        }
        // For one burst a MAP, and only for what would not fit the next one either.
        let room = self.profile.data_minislots();
        let unfit = self.flows.get(index).is_some_and(|flow| flow.unfit > 0);
        (!self.stretched && (wanted > room || unfit))
            .then(|| self.stretch_for(wanted))
            .flatten()
    }

    /// Stretches the MAP until the burst fits behind what is in it, and behind what is promised.
    /// Unsolicited grants that come due meanwhile find their places first.
    fn stretch_for(&mut self, wanted: u32) -> Option<u64> {
        let start = self.draft.start();
        let most = start + u64::from(Map::MAX_MINISLOTS);
        let from = if self.promised > 0 {
            self.draft.limit()
        } else {
            start
        };
        self.stretched = true;
        for _ in 0..8 {
            let (end, limit) = (self.draft.end(), self.draft.limit());
            let tail = self.draft.holes().last().filter(|hole| hole.1 == limit);
            let tail = tail.map_or(limit, |hole| hole.0.max(from));
            let new = tail + u64::from(wanted) + (end - limit);
            if new > most || new <= end || !self.draft.has_room() {
                return None;
            }
            self.draft.stretch(new);
            self.place_periodic(limit);
            let place = self.draft.first_fit(wanted, from);
            if place.is_some() {
                return place;
            }
        }
        None
    }
}
