// SPDX-License-Identifier: Apache-2.0
//! Records for captures what crosses a channel ([`mac_wire::LINK_TYPE`]): MAPs when they are sent,
//! requests when they are heard, bursts when their last byte has arrived.
//!
//! Requests that collide are noise to the CMTS, so no capture has them. Nor has it segment headers
//! and fragments, because no dissector reads them: a fragmented frame is in the capture as a whole,
//! with its MAC header, at the time at which its last byte arrives.

use std::collections::VecDeque;

use mac_cmts::Heard;
use mac_modem::{Filled, Grant};
use mac_wire::{
    Amount, Extended, FlowConfig, Map, Minislot, Packing, Profile, Request, Service, Sid,
    UnsolicitedSync, WireError, concatenate, mac_frame,
};

use crate::observer::Observer;

/// The CMTS's address in MAPs.
const CMTS: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
/// Records that wait for their time at the most: bursts of the MAPs to come.
const WAITING: usize = 8192;

/// What a flow's records need of it.
#[derive(Debug, Clone, Copy)]
struct Flow {
    unit: u8,
    unsolicited: bool,
}

/// Makes records of a channel's frames, in order of their times.
///
/// It is an observer of MAPs and requests. Bursts are given by whoever has their frames, from
/// [`crate::Ends::filled`]; what is to be written is then taken out.
#[derive(Debug)]
pub struct Records {
    profile: Profile,
    /// By SID.
    flows: Vec<Option<Flow>>,
    /// In order of time.
    waiting: VecDeque<(u64, Vec<u8>)>,
    left_out: u64,
}

impl Records {
    /// Makes the records of a channel with that profile.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self {
            profile,
            flows: Vec::new(),
            waiting: VecDeque::new(),
            left_out: 0,
        }
    }

    /// A service flow is on the channel; each has to be told of.
    pub fn flow(&mut self, flow: &FlowConfig) {
        let index = usize::from(flow.sid.0);
        if self.flows.len() <= index {
            self.flows.resize(index + 1, None);
        }
        self.flows[index] = Some(Flow {
            unit: flow.request_unit,
            unsolicited: matches!(
                flow.service,
                Service::Unsolicited { .. } | Service::UnsolicitedWithActivity { .. }
            ),
        });
    }

    /// A grant was filled with frames, each an Ethernet frame without its CRC, and the minislot
    /// that has its last byte.
    pub fn burst<'f>(
        &mut self,
        sid: Sid,
        grant: &Grant,
        filled: &Filled,
        frames: impl Iterator<Item = (&'f [u8], Minislot)>,
    ) {
        let delivery = self.profile.timing.delivery;
        let clock = self.profile.clock;
        let arrives = |last: Minislot| clock.end(last).saturating_add(delivery);
        let mut extended = self.extended(sid, filled);
        if self.profile.packing != Packing::Concatenated {
            for (frame, last) in frames {
                let record = mac_frame(frame, std::mem::take(&mut extended));
                self.wait(arrives(last), record);
            }
            return;
        }
        let mut at = grant.first;
        let parts: Result<Vec<_>, _> = frames
            .map(|(frame, last)| {
                at = last;
                mac_frame(frame, std::mem::take(&mut extended))
            })
            .collect();
        match parts {
            Ok(mut parts) if parts.len() < 2 => {
                if let Some(frame) = parts.pop() {
                    self.wait(arrives(at), Ok(frame));
                }
            }
            Ok(parts) => self.wait(arrives(at), concatenate(&parts)),
            Err(error) => self.wait(arrives(at), Err(error)),
        }
    }

    /// What the head of a burst says.
    fn extended(&self, sid: Sid, filled: &Filled) -> Vec<Extended> {
        let mut extended = Vec::new();
        // Bytes are asked for in a segment header.
        if let Some(Request {
            amount: Amount::Minislots(minislots),
            ..
        }) = filled.request
        {
            let minislots = u8::try_from(minislots).unwrap_or(u8::MAX);
            extended.push(Extended::Request { minislots, sid });
        }
        if self.known(sid).is_some_and(|flow| flow.unsolicited) {
            extended.push(Extended::ServiceFlow {
                suppression: 0,
                unsolicited: Some(UnsolicitedSync {
                    queue_indicator: filled.queue_indicator,
                    active_grants: 0,
                }),
            });
        }
        extended
    }

    fn known(&self, sid: Sid) -> Option<Flow> {
        self.flows.get(usize::from(sid.0)).copied().flatten()
    }

    fn wait(&mut self, at: u64, record: Result<Vec<u8>, WireError>) {
        match record {
            Ok(record) if self.waiting.len() < WAITING => {
                let place = self.waiting.partition_point(|(other, _)| *other <= at);
                self.waiting.insert(place, (at, record));
            }
            _ => self.left_out += 1,
        }
    }

    /// The next record whose time is not after `until`, nanoseconds; `None`: there is none.
    pub fn pop(&mut self, until: u64) -> Option<(u64, Vec<u8>)> {
        let (at, _) = self.waiting.front()?;
        (*at <= until).then(|| self.waiting.pop_front())?
    }

    /// Records that could not be made, or kept until their time.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl Observer for Records {
    fn map(&mut self, now: u64, map: &Map, _body: &[u8]) {
        self.wait(now, map.message(CMTS));
    }

    fn heard(&mut self, now: u64, heard: &Heard) {
        if let Heard::Request { request, .. } = heard {
            // Of a flow that has gone, its bytes cannot be counted in units any more.
            let unit = self.known(request.sid).map_or(1, |flow| flow.unit);
            self.wait(now, request.encode(unit));
        }
    }
}
