// SPDX-License-Identifier: Apache-2.0
//! Tells others about the scheduler.

use mac_wire::Sid;

use crate::scheduler::Scheduler;
use crate::statistics::{FlowStatistics, Statistics};

/// When the intervals of a flow's unsolicited grants and polls start, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reference {
    /// The first interval of its unsolicited or proactive grants.
    pub grants: Option<u64>,
    /// The first interval of its polls.
    pub polls: Option<u64>,
}

impl Scheduler {
    /// What was counted so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counted
    }

    /// What was counted of one flow.
    #[must_use]
    pub fn flow_statistics(&self, sid: Sid) -> Option<FlowStatistics> {
        let flow = self.flows.get(self.flows.index(sid)?)?;
        Some(flow.statistics)
    }

    /// When the intervals of a flow's unsolicited grants and polls start.
    #[must_use]
    pub fn reference(&self, sid: Sid) -> Option<Reference> {
        let unsolicited = &self.flows.get(self.flows.index(sid)?)?.unsolicited;
        let t0 = |slot: Option<u32>| Some(self.timers.load(slot?)?.t0);
        Some(Reference {
            grants: t0(unsolicited.grants),
            polls: t0(unsolicited.polls),
        })
    }
}
