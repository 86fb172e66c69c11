// SPDX-License-Identifier: Apache-2.0
//! The flows that have something to be granted, in the order of their turns.

use std::collections::{BTreeSet, VecDeque};

use crate::asked::Asked;
use crate::flow::{Flow, FlowIndex, Waits};

/// Traffic priorities.
pub(crate) const PRIORITIES: usize = 8;

/// One queue of a traffic priority.
#[derive(Debug, Default, Clone)]
pub(crate) struct Ring {
    pub(crate) flows: VecDeque<FlowIndex>,
    /// When one of them was granted something, or when they came to be in it.
    pub(crate) served: u64,
}

/// All queues. A flow that asked for something is in one of its priority, and, if it has a
/// reserved rate, in that of reserved rates.
#[derive(Debug, Default, Clone)]
pub(crate) struct Queues {
    pub(crate) rings: [Ring; PRIORITIES],
    pub(crate) reserved: VecDeque<FlowIndex>,
    /// By the minislot of the first request that is not granted: all flows that have one.
    pub(crate) waiting: BTreeSet<(u64, FlowIndex)>,
}

impl Queues {
    /// The flow has something to be granted.
    pub(crate) fn join(&mut self, now: u64, index: FlowIndex, flow: &mut Flow) {
        let ring = &mut self.rings[usize::from(flow.config.priority) % PRIORITIES];
        if !flow.queued {
            if ring.flows.is_empty() {
                ring.served = now;
            }
            ring.flows.push_back(index);
            flow.queued = true;
        }
        if !flow.queued_reserved
            && let Some(reservation) = &mut flow.reservation
        {
            reservation.resume(now);
            self.reserved.push_back(index);
            flow.queued_reserved = true;
        }
    }

    /// The flow's first request is another, or there is none any more.
    pub(crate) fn wait(&mut self, index: FlowIndex, flow: &mut Flow, waits: Waits) {
        if flow.waits.since != waits.since {
            if let Some(since) = flow.waits.since {
                self.waiting.remove(&(since, index));
            }
            if let Some(since) = waits.since {
                self.waiting.insert((since, index));
            }
        }
        flow.waits = waits;
    }

    /// What the flow asked for is not asked for any more.
    pub(crate) fn forget(&mut self, index: FlowIndex, flow: &mut Flow) {
        flow.asked = Asked::Nothing;
        flow.unfit = 0;
        self.wait(index, flow, Waits::default());
    }

    /// The flow is removed, or changes its place.
    pub(crate) fn leave(&mut self, index: FlowIndex, flow: &mut Flow) {
        if std::mem::take(&mut flow.queued) {
            for ring in &mut self.rings {
                ring.flows.retain(|&other| other != index);
            }
        }
        if std::mem::take(&mut flow.queued_reserved) {
            self.reserved.retain(|&other| other != index);
        }
    }
}
