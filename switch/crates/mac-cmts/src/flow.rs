// SPDX-License-Identifier: Apache-2.0
//! What the scheduler knows of a service flow, and the table of all of them.

use mac_wire::{FlowConfig, Minislot, Sid};

use crate::asked::Asked;
use crate::periodic::Slot;
use crate::policing::Policing;
use crate::reserved::Reservation;
use crate::statistics::FlowStatistics;

/// A flow's place in the table.
pub(crate) type FlowIndex = u32;

/// A service flow.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) config: FlowConfig,
    /// Grants from this minislot on are its own; those before were another's of its SID.
    pub(crate) since: Minislot,
    /// When it was admitted or last began anew, nanoseconds: requests from before ask for what its
    /// modem asks for again.
    pub(crate) began: u64,
    pub(crate) policing: Policing,
    pub(crate) reservation: Option<Reservation>,
    pub(crate) asked: Asked,
    /// Since when it waits.
    pub(crate) waits: Waits,
    /// Whether it stands in its priority's queue.
    pub(crate) queued: bool,
    /// Whether it stands in the queue of reserved rates.
    pub(crate) queued_reserved: bool,
    /// Minislots that it may have before its turn ends.
    pub(crate) deficit: u64,
    /// What it gets in the MAP that is being made.
    pub(crate) turn: Turn,
    /// MAPs in a row whose holes were all too short for a burst that has to be whole.
    pub(crate) unfit: u16,
    pub(crate) unsolicited: Unsolicited,
    pub(crate) statistics: FlowStatistics,
}

/// When the requests were sent that are not granted yet. Those behind the first are taken together,
/// so that nothing grows with their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Waits {
    /// The minislot of the first.
    pub(crate) since: Option<u64>,
    /// Bytes of it that are left.
    left: u64,
    /// The minislot of the second.
    later: Option<u64>,
}

impl Waits {
    /// For one request that takes the place of all others.
    pub(crate) fn only(sent: Minislot, bytes: u64) -> Self {
        Self {
            since: Some(sent.0),
            left: bytes,
            later: None,
        }
    }

    /// For one more request.
    pub(crate) fn and(self, sent: Minislot, bytes: u64) -> Self {
        match self.since {
            None => Self::only(sent, bytes),
            Some(_) => Self {
                later: self.later.or(Some(sent.0)),
                ..self
            },
        }
    }

    /// After a grant that carries `bytes` of them and leaves `rest` bytes in all.
    pub(crate) fn after(self, bytes: u64, rest: u64) -> Self {
        match self.later {
            _ if rest == 0 => Self::default(),
            Some(later) if bytes >= self.left => Self::only(Minislot(later), rest),
            _ => Self {
                left: self.left.saturating_sub(bytes).max(1),
                ..self
            },
        }
    }
}

/// What a flow gets in one MAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Turn {
    /// The MAP, counted from 1.
    pub(crate) map: u64,
    /// The most minislots that it may have: what it asked for, as far as its rates allow.
    pub(crate) most: u32,
    /// Minislots that it has so far.
    pub(crate) minislots: u32,
    /// Minislots that its reserved rate entitles it to and that have no place yet.
    pub(crate) reserved: u32,
}

/// A flow's grants and polls that come by themselves.
#[derive(Debug, Default, Clone)]
pub(crate) struct Unsolicited {
    pub(crate) grants: Option<Slot>,
    pub(crate) polls: Option<Slot>,
    /// Whether grants come. Otherwise a UGS-AD flow is polled, and one with proactive grants asks.
    pub(crate) active: bool,
    /// Grants in a row that stayed empty, where the flow's activity is watched.
    pub(crate) empty: u16,
    /// The queue outgrew the grants.
    pub(crate) queue_indicator: bool,
    /// Hundredths of a grant more that it is due.
    pub(crate) credit: u16,
}

/// All service flows of a channel.
#[derive(Debug, Clone)]
pub(crate) struct Flows {
    flows: Vec<Option<Flow>>,
    unused: Vec<FlowIndex>,
    /// By SID: index plus one, or 0.
    by_sid: Vec<u16>,
}

impl Flows {
    pub(crate) fn new() -> Self {
        Self {
            flows: Vec::new(),
            unused: Vec::new(),
            by_sid: vec![0; usize::from(Sid::ALL.0) + 1],
        }
    }

    pub(crate) fn index(&self, sid: Sid) -> Option<FlowIndex> {
        let entry = *self.by_sid.get(usize::from(sid.0))?;
        entry.checked_sub(1).map(FlowIndex::from)
    }

    pub(crate) fn get(&self, index: FlowIndex) -> Option<&Flow> {
        self.flows.get(index as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: FlowIndex) -> Option<&mut Flow> {
        self.flows.get_mut(index as usize)?.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().flatten()
    }

    /// The place that [`Flows::insert`] will use.
    pub(crate) fn next(&self) -> FlowIndex {
        let end = self.flows.len() as FlowIndex;
        self.unused.last().copied().unwrap_or(end)
    }

    /// The SID is in range and new; there are fewer than 2^14 of them.
    pub(crate) fn insert(&mut self, flow: Flow) {
        let index = self.next();
        self.by_sid[usize::from(flow.config.sid.0)] = index as u16 + 1;
        match self.unused.pop() {
            Some(_) => self.flows[index as usize] = Some(flow),
            None => self.flows.push(Some(flow)),
        }
    }

    pub(crate) fn remove(&mut self, sid: Sid) -> Option<(FlowIndex, Flow)> {
        let index = self.index(sid)?;
        let flow = self.flows.get_mut(index as usize)?.take()?;
        self.by_sid[usize::from(sid.0)] = 0;
        self.unused.push(index);
        Some((index, flow))
    }
}
