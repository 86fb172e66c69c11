// SPDX-License-Identifier: Apache-2.0
//! The part that a flow may have of the MAP that is being made.

use crate::asked::Asked;
use crate::flow::{FlowIndex, Turn};
use crate::queues::PRIORITIES;
use crate::scheduler::Scheduler;
use crate::sizes::Cutting;

impl Scheduler {
    /// A flow's turn in this MAP, worked out when it is first looked at; `None` for a flow that
    /// has nothing to be granted and leaves its queues.
    pub(crate) fn turn(&mut self, index: FlowIndex) -> Option<Turn> {
        let sizes = self.sizes;
        let flow = self.flows.get_mut(index)?;
        if flow.asked == Asked::Nothing {
            return None;
        }
        if flow.turn.map != self.counted.maps {
            let wanted = flow.asked.minislots(&sizes);
            let bytes = sizes.bytes(wanted);
            let allowed = flow.policing.allowed(self.now);
            let whole =
                sizes.cutting == Cutting::Whole || needs_whole(flow.config.policy, sizes.cutting);
            let most = if bytes <= allowed {
                wanted
            } else if whole || allowed < sizes.bytes(sizes.least_part) {
                0
            } else {
                sizes.minislots(allowed).min(wanted)
            };
            flow.turn = Turn {
                map: self.counted.maps,
                most,
                minislots: 0,
                reserved: 0,
            };
        }
        Some(flow.turn)
    }

    /// Takes the first flow out of the line for reserved rates, with the bytes that it is entitled
    /// to; `None` where it has nothing to be granted and does not come back.
    pub(crate) fn next_reserved(&mut self) -> Option<(FlowIndex, u64)> {
        let index = self.queues.reserved.pop_front()?;
        let waits = self.turn(index).is_some();
        let flow = self.flows.get_mut(index)?;
        if let Some(reservation) = flow.reservation.as_mut().filter(|_| waits) {
            return Some((index, reservation.entitled(self.now)));
        }
        flow.queued_reserved = false;
        None
    }

    /// What the next grants of this MAP give the flow, up to so many minislots, is within its
    /// reserved rate.
    pub(crate) fn reserve(&mut self, index: FlowIndex, minislots: u32) {
        if let Some(flow) = self.flows.get_mut(index) {
            flow.turn.reserved = minislots;
        }
    }

    /// The least priority of which nobody was served for too long, if it is time for a rescue.
    /// Its first flow gets a turn before all others.
    pub(crate) fn to_rescue(&self) -> Option<usize> {
        if self.counted.maps % self.parameters.rescue_maps.max(1) != 0 {
            return None;
        }
        (0..PRIORITIES).find(|&priority| {
            let ring = &self.queues.rings[priority];
            let waited = self.now.saturating_sub(ring.served);
            !ring.flows.is_empty() && waited > self.parameters.patience
        })
    }

    /// Minislots of a turn of round robin.
    pub(crate) fn quantum(&self) -> u64 {
        u64::from(self.sizes.minislots(self.parameters.quantum)).max(1)
    }
}

/// Whether a flow must not be granted parts although the channel has them.
pub(crate) fn needs_whole(policy: mac_wire::Policy, cutting: Cutting) -> bool {
    cutting == Cutting::Fragments && !policy.allows_fragmentation()
}
