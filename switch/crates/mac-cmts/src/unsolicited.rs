// SPDX-License-Identifier: Apache-2.0
//! Unsolicited grants, polls and proactive grants of one MAP.

use mac_wire::{Map, Usage};

use crate::load::Kind;
use crate::periodic::{Offer, Placed};
use crate::scheduler::{PIECES, Scheduler};

impl Scheduler {
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
                .give(sid, Usage::Request, placed.first, load.cost);
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

    /// A grant more in the same interval for flows whose Queue Indicator earned one, where it fits.
    pub(crate) fn place_extra_grants(&mut self) {
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
}
