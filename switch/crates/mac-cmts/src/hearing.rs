// SPDX-License-Identifier: Apache-2.0
//! Hears requests, noise, and the ends of grants, and trusts none of them.

use mac_wire::{Amount, Asking, FlowConfig, Map, Minislot, Request, Service, Sid};

use crate::asked::Asked;
use crate::flow::{Flow, FlowIndex, Waits};
use crate::scheduler::{Heard, Scheduler};
use crate::sizes::Cutting;

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Contention,
    Poll,
    Piggyback,
}

impl Scheduler {
    /// The channel was heard; calls come in order of time.
    pub fn heard(&mut self, now: u64, what: Heard) {
        self.now = self.now.max(now);
        match what {
            Heard::Noise { .. } => self.counted.collisions += 1,
            Heard::Request { request, sent } => {
                let way = if self.record.is_poll(request.sid, sent) {
                    Way::Poll
                } else {
                    Way::Contention
                };
                let written = self.profile.clock.start(sent);
                self.request(request, sent, written, way);
            }
            Heard::Burst {
                sid,
                first,
                used,
                headers,
                request,
                queue_indicator,
            } => {
                if !self.burst(sid, first, (used, headers), queue_indicator) {
                    self.counted.bursts_unknown += 1;
                } else if let Some(request) = request {
                    let start = self.profile.clock.start(first);
                    let written = start.saturating_sub(self.profile.timing.burst_preparation);
                    self.request(request, first, written, Way::Piggyback);
                }
            }
        }
    }

    /// A request that was written at a time, nanoseconds, and sent from a minislot on.
    fn request(&mut self, request: Request, sent: Minislot, written: u64, way: Way) {
        let Some(index) = self.flows.index(request.sid) else {
            self.counted.requests_unknown += 1;
            return;
        };
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        if written < flow.began {
            self.counted.requests_outdated += 1;
            return;
        }
        if !may_ask(flow, way) {
            self.counted.requests_forbidden += 1;
            return;
        }
        let asked = match (self.profile.asking, request.amount) {
            (Asking::OneBurst, Amount::Minislots(minislots)) if minislots > 0 => {
                Asked::Burst(minislots)
            }
            (Asking::QueueDepth, Amount::Bytes(bytes)) if bytes > 0 => Asked::Bytes(bytes),
            _ => {
                self.counted.requests_malformed += 1;
                return;
            }
        };
        match way {
            Way::Contention => self.counted.requests_contention += 1,
            Way::Poll => self.counted.requests_polled += 1,
            Way::Piggyback => self.counted.requests_piggybacked += 1,
        }
        flow.statistics.requests += 1;
        if let Service::UnsolicitedWithActivity { .. } = flow.config.service {
            if !flow.unsolicited.active {
                // Its request is answered by the first grant.
                self.queues.wait(index, flow, Waits::only(sent, 0));
            }
            self.resume(index);
            return;
        }
        if let Service::Proactive { .. } = flow.config.service {
            self.resume(index);
        }
        self.ask(index, asked, sent);
    }

    /// A flow asks for more, or, where one burst is asked for at a time, for another.
    fn ask(&mut self, index: FlowIndex, asked: Asked, sent: Minislot) {
        let whole = self.sizes.cutting == Cutting::Whole;
        let longest = if whole {
            self.profile.longest_grant()
        } else {
            Map::MAX_MINISLOTS
        };
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        let before = flow.asked;
        let most = self.parameters.most_outstanding.max(1);
        flow.asked = match (asked, before) {
            (Asked::Burst(minislots), _) if minislots > longest => {
                if whole {
                    self.counted.requests_impossible += 1;
                    return;
                }
                self.counted.requests_trimmed += 1;
                Asked::Burst(longest)
            }
            (Asked::Bytes(more), Asked::Bytes(before)) if before.saturating_add(more) > most => {
                self.counted.requests_trimmed += 1;
                Asked::Bytes(most)
            }
            (Asked::Bytes(more), Asked::Bytes(before)) => Asked::Bytes(before + more),
            (Asked::Bytes(more), _) if more > most => {
                self.counted.requests_trimmed += 1;
                Asked::Bytes(most)
            }
            (asked, _) => asked,
        };
        let bytes = asked.bytes(&self.sizes);
        let waits = match asked {
            Asked::Burst(_) => Waits::only(sent, bytes),
            _ => flow.waits.and(sent, bytes),
        };
        self.queues.wait(index, flow, waits);
        if before == Asked::Nothing {
            flow.unfit = 0;
        } else if matches!(asked, Asked::Burst(_)) {
            self.counted.requests_replaced += 1;
        }
        self.queues.join(self.now, index, flow);
    }

    /// The end of a grant, with the bytes that were used and those of them that are headers; false
    /// where there was none.
    fn burst(
        &mut self,
        sid: Sid,
        first: Minislot,
        (used, headers): (u64, u64),
        queue_indicator: bool,
    ) -> bool {
        let Some(element) = self.record.take_grant(sid, first) else {
            return false;
        };
        let bytes = self.sizes.bytes(element.minislots);
        let used = used.min(bytes);
        let used_minislots = self.sizes.minislots(used).min(element.minislots);
        self.counted.bytes_used += used;
        self.counted.minislots_used += u64::from(used_minislots);
        self.counted.minislots_wasted += u64::from(element.minislots - used_minislots);
        let index = self.flows.index(sid);
        let Some((index, flow)) = index.and_then(|index| Some((index, self.flows.get_mut(index)?)))
        else {
            return true;
        };
        if first < flow.since {
            return true;
        }
        flow.policing.give_back(bytes - used + headers.min(used));
        flow.statistics.bytes_used += used;
        flow.statistics.grants_empty += u64::from(used == 0);
        flow.unsolicited.queue_indicator = queue_indicator;
        if !queue_indicator {
            flow.unsolicited.credit = 0;
        }
        let most_empty = match flow.config.service {
            Service::UnsolicitedWithActivity { .. } => self.parameters.empty_grants,
            _ if is_watched(&flow.config) => self.profile.idle_proactive_grants,
            _ => 0,
        };
        if most_empty > 0 {
            self.note_activity(index, used > 0, most_empty);
        }
        true
    }

    /// Some empty grants in a row, and no more come; a UGS-AD flow is polled instead.
    fn note_activity(&mut self, index: FlowIndex, used: bool, most_empty: u16) {
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        let alternates = alternates(flow);
        let unsolicited = &mut flow.unsolicited;
        unsolicited.empty = if used {
            0
        } else {
            unsolicited.empty.saturating_add(1)
        };
        if !unsolicited.active || unsolicited.empty < most_empty {
            return;
        }
        unsolicited.active = false;
        if let Some(slot) = unsolicited.grants {
            self.timers.stop(slot);
        }
        if let Some(slot) = unsolicited.polls.filter(|_| alternates) {
            self.timers.run(slot, self.next, &self.profile.clock);
        }
    }

    /// A request, and grants come again, where they always were.
    pub(crate) fn resume(&mut self, index: FlowIndex) {
        let Some(flow) = self.flows.get_mut(index) else {
            return;
        };
        let alternates = alternates(flow);
        let unsolicited = &mut flow.unsolicited;
        unsolicited.active = true;
        unsolicited.empty = 0;
        if let Some(slot) = unsolicited.polls.filter(|_| alternates) {
            self.timers.stop(slot);
        }
        if let Some(slot) = unsolicited.grants {
            self.timers.run(slot, self.next, &self.profile.clock);
        }
    }
}

/// Whether a flow has proactive grants that may be taken from it while it is idle: it has another way
/// to ask then.
pub(crate) fn is_watched(config: &FlowConfig) -> bool {
    let polls = config.service.guaranteed_polls();
    let asks = config.policy.allows_broadcast_requests() || polls.is_some();
    match config.service {
        Service::Proactive {
            activity_detection, ..
        } => activity_detection && asks,
        _ => false,
    }
}

/// Whether polls come while grants do not, and the other way round.
fn alternates(flow: &Flow) -> bool {
    matches!(flow.config.service, Service::UnsolicitedWithActivity { .. })
}

/// Whether service and request/transmission policy let the flow ask that way.
fn may_ask(flow: &Flow, way: Way) -> bool {
    let policy = flow.config.policy;
    match (flow.config.service, way) {
        (Service::Unsolicited { .. }, _) => false,
        (_, Way::Poll) => true,
        (_, Way::Piggyback) => policy.allows_piggyback(),
        (Service::RealTimePolling(_) | Service::UnsolicitedWithActivity { .. }, _) => false,
        (_, Way::Contention) => policy.allows_broadcast_requests(),
    }
}
