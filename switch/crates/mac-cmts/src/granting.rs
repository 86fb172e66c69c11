// SPDX-License-Identifier: Apache-2.0
//! Makes a grant, and books what it changes.

use crate::flow::FlowIndex;
use crate::scheduler::Scheduler;
use crate::sizes::Cutting;

impl Scheduler {
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
            let within = minislots.min(flow.turn.reserved);
            if unsolicited {
                reservation.serve(self.now, bytes);
            } else if within > 0 {
                flow.turn.reserved -= within;
                reservation.spend(self.now, self.sizes.bytes(within), single);
            }
        }
        let before = flow.asked.bytes(&self.sizes);
        flow.asked = flow.asked.after(minislots, &self.sizes);
        let rest = flow.asked.bytes(&self.sizes);
        let waits = flow.waits.after(before.saturating_sub(rest), rest);
        self.queues.wait(index, flow, waits);
        flow.unfit = 0;
        flow.statistics.grants += 1;
        flow.statistics.bytes_granted += bytes;
        self.counted.bytes_granted += bytes;
        self.counted.minislots_granted += u64::from(minislots);
        self.grantable = self.grantable.saturating_sub(minislots.into());
        if !unsolicited {
            self.solicited += u64::from(minislots);
            self.counted.grants += 1;
        }
        true
    }
}
