// SPDX-License-Identifier: Apache-2.0
//! Pending marks, and what Ack Time may claim.
//!
//! A modem takes a request for lost that Ack Time passed and that a MAP neither grants nor marks. So
//! every MAP marks all that waits, the oldest requests first, and where marks find no room Ack Time
//! stays at the first request without one: its modem waits on.

use mac_wire::Minislot;

use crate::scheduler::{MOST_MARKS, Scheduler};

impl Scheduler {
    /// Marks what was asked for and not granted, and sets Ack Time.
    pub(crate) fn acknowledge(&mut self) {
        let (previous, start) = (Minislot(self.previous), self.draft.map.start);
        let mut ack = self.profile.ack(previous, start).min(start);
        // Whatever timing says: a request is not heard before its last minislot arrived, and Ack Time
        // goes by its first.
        let timing = &self.profile.timing;
        let before = |heard| {
            let until = self.now.checked_sub(heard);
            until.map_or(Minislot(0), |until| self.profile.clock.at_or_before(until))
        };
        let behind = u64::from(self.profile.request_minislots.saturating_sub(1));
        let asked = Minislot(before(timing.request_heard).0.saturating_sub(behind));
        ack = ack.min(asked).min(before(timing.piggyback_heard));
        let Self {
            queues,
            flows,
            draft,
            ..
        } = self;
        for &(since, index) in &queues.waiting {
            let Some(flow) = flows.get(index) else {
                continue;
            };
            if draft.map.pending.len() >= MOST_MARKS || draft.left() == 0 {
                self.counted.acks_held_back += u64::from(Minislot(since) < ack);
                self.counted.marks_without_room += u64::from(Minislot(since) < draft.map.ack);
                ack = ack.min(Minislot(since));
                break;
            }
            draft.map.pending.push(flow.config.sid);
        }
        self.counted.pending_marks += draft.map.pending.len() as u64;
        draft.map.ack = draft.map.ack.max(ack);
    }
}
