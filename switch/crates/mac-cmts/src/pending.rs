// SPDX-License-Identifier: Apache-2.0
//! Pending marks, and what Ack Time may claim.

use mac_wire::Minislot;

use crate::asked::Asked;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Marks what was asked for and not granted, and sets Ack Time. Requests that were never
    /// answered come first; while one of them finds no room, Ack Time stays at it.
    pub(crate) fn acknowledge(&mut self) {
        let (previous, start) = (Minislot(self.previous), self.draft.map.start);
        let mut ack = self.profile.ack(previous, start).min(start);
        // Whatever timing says: a request is not heard before it arrived.
        let timing = &self.profile.timing;
        let heard = self
            .now
            .checked_sub(timing.request_heard.max(timing.piggyback_heard))
            .map_or(Minislot(0), |until| self.profile.clock.at_or_before(until));
        ack = ack.min(heard);
        let map = self.counted.maps;
        let mut held_back = false;
        let mut unanswered = std::mem::take(&mut self.fresh);
        unanswered.retain(|&index| {
            let Some(flow) = self.flows.get_mut(index) else {
                return false;
            };
            let Some(sent) = flow.fresh else {
                return false;
            };
            let waits = flow.asked != Asked::Nothing || flow.unsolicited.resuming;
            if flow.granted_in != map && waits {
                if self.draft.left() == 0 {
                    ack = ack.min(sent);
                    held_back = true;
                    return true;
                }
                self.draft.map.pending.push(flow.config.sid);
                flow.marked_in = map;
            }
            if flow.unsolicited.resuming {
                // It is in no queue that repeats its mark. It was answered, so nothing waits for it.
                flow.fresh = Some(Minislot(u64::MAX));
                return true;
            }
            flow.fresh = None;
            false
        });
        self.counted.acks_held_back += u64::from(held_back);
        self.fresh = unanswered;
        self.repeat_marks();
        self.counted.pending_marks += self.draft.map.pending.len() as u64;
        self.draft.map.ack = self.draft.map.ack.max(ack);
    }

    /// Marks all others that wait, as far as there is room, so that nobody asks again.
    fn repeat_marks(&mut self) {
        let map = self.counted.maps;
        let Self {
            queues,
            flows,
            draft,
            sizes,
            ..
        } = self;
        for &index in queues.rings.iter().rev().flat_map(|ring| &ring.flows) {
            let Some(flow) = flows.get_mut(index) else {
                continue;
            };
            // Requests after this MAP come on top.
            flow.acknowledged = flow.asked.bytes(sizes);
            if flow.asked != Asked::Nothing && flow.marked_in != map && draft.left() > 0 {
                draft.map.pending.push(flow.config.sid);
                flow.marked_in = map;
            }
        }
    }
}
