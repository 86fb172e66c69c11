// SPDX-License-Identifier: Apache-2.0
//! A cable modem's upstream port in front of a request/grant MAC: its frames leave when a grant
//! releases them, and the MAC that carries them gets their bytes.
//!
//! The MAC asks for a queue's [`Backlog`] when it has been told of the queue
//! ([`Device::next_notice`]), requests what is eligible, and takes frames into its bursts. The
//! pipeline notices no difference: egress runs once a frame, at the time at which it enters a burst.

use crate::device::Device;
use crate::egress::Egressed;
use crate::output::{Note, Output};
use traffic_manager::{Backlog, ConfigError, Model, Notice, Offer, QueueId, frame_length};
use v1model::Grants;
use v1model::trace::{DropReason, TraceBurst, TraceEvent};

/// A frame that has entered a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Its length as DOCSIS counts it ([`traffic_manager::frame_length`]), bytes.
    pub length: u32,
    /// The note that it came with, where that is still true.
    pub note: Option<Note>,
}

/// The way out of a frame that is let go.
struct Burst<'f> {
    frame: &'f mut Vec<u8>,
    taken: Option<Taken>,
}

impl Burst<'_> {
    fn took(&mut self, note: Option<Note>) {
        let length = u32::try_from(frame_length(self.frame.len())).unwrap_or(u32::MAX);
        self.taken = Some(Taken { length, note });
    }
}

impl Output for Burst<'_> {
    fn transmit(&mut self, _now_ns: u64, _port: u16, frame: &[u8], _paced: bool) {
        self.frame.clear();
        self.frame.extend_from_slice(frame);
        self.took(None);
    }

    fn transmit_noted(
        &mut self,
        _now_ns: u64,
        _port: u16,
        frame: &mut Vec<u8>,
        _paced: bool,
        note: Option<Note>,
    ) {
        std::mem::swap(self.frame, frame);
        self.took(note);
    }

    fn packet_in(&mut self, _now_ns: u64, _frame: &[u8]) -> bool {
        // The CPU port is never granted.
        false
    }
}

impl Device {
    /// From now on, grants let go the frames of this port's service flows, by [`Self::take`].
    /// What the pipeline puts into queue 0 goes to the service flow of queue `primary`, and is
    /// dropped, counted as the port's overflow, while there is none.
    ///
    /// # Errors
    /// The device has no service flows (the bmv2 model); or there is no such port, it is the CPU
    /// port, or it has frames, a rate or a transmit delay; or `primary` is 0.
    pub fn set_granted(&mut self, now: u64, port: u16, primary: u32) -> Result<(), ConfigError> {
        self.may_grant(port, primary)?;
        let now = self.advance(now);
        match &mut self.tm {
            Model::Docsis(tm) => tm.set_granted(now - self.skipped, port, primary),
            Model::Bmv2(_) => Ok(()),
        }
    }

    /// Whether [`Self::set_granted`] would refuse; nothing changes.
    ///
    /// # Errors
    /// Those of [`Self::set_granted`].
    pub fn may_grant(&self, port: u16, primary: u32) -> Result<(), ConfigError> {
        if self.config.cpu_port == Some(port) {
            let words = format!("port {port}: it is the CPU port, which no channel carries");
            return Err(ConfigError::Invalid(words));
        }
        match &self.tm {
            Model::Docsis(tm) => tm.may_grant(port, primary),
            Model::Bmv2(_) => Err(ConfigError::OtherModel(format!(
                "port {port}: grants need service flows, which this device's traffic manager does \
                 not have; see --traffic-manager"
            ))),
        }
    }

    /// What may be asked for of a granted queue's frames at `now`; of a queue that is not granted,
    /// or not there, nothing is.
    ///
    /// What was due before `now` is to have happened: see [`Self::step`].
    #[must_use]
    pub fn backlog(&self, now: u64, queue: QueueId) -> Backlog {
        let now = now.max(self.time);
        let Model::Docsis(tm) = &self.tm else {
            return Backlog::default();
        };
        let Some(slot) = tm.lookup(queue) else {
            return Backlog::default();
        };
        let mut backlog = tm.backlog(now - self.skipped, slot);
        if let Some(at) = &mut backlog.more_at {
            *at = at.saturating_add(self.skipped);
        }
        backlog
    }

    /// Bytes, as DOCSIS counts them, of the frame at a place of a queue, from the head on. `None`
    /// where the queue ends; and behind the head where sub-queues take turns, as then nobody knows.
    #[must_use]
    pub fn length_at(&self, queue: QueueId, place: usize) -> Option<u32> {
        let Model::Docsis(tm) = &self.tm else {
            return None;
        };
        tm.length_at(tm.lookup(queue)?, place)
    }

    /// Whether some trace wants to know of packets.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.pipeline.as_ref().is_some_and(|p| p.is_traced())
    }

    /// Frames that [`Self::take`] takes from now on enter this burst, for traces: to be told
    /// before each burst while the device is traced.
    pub fn enter_burst(&mut self, burst: TraceBurst) {
        self.burst = Some(burst);
    }

    /// A grant lets the head of a queue go now, if it is not longer than `at_most` bytes as DOCSIS
    /// counts them: it runs through egress, which may change its length, and is put into `frame`,
    /// whatever was there. A head that egress drops is replaced at once by the next one. `None`,
    /// with anything in `frame`, when nothing may leave that is queued now.
    ///
    /// What was due before `now` is to have happened: see [`Self::step`].
    pub fn take(
        &mut self,
        now: u64,
        queue: QueueId,
        at_most: u32,
        frame: &mut Vec<u8>,
    ) -> Option<Taken> {
        let now = self.advance(now);
        let mut burst = Burst { frame, taken: None };
        while burst.taken.is_none() {
            let (offer, grants) = self.grant(now, queue, at_most)?;
            if self.burst.is_some() {
                self.trace_burst(now);
            }
            match self.egress_offered(now, &offer, Some(grants)) {
                Egressed::NoPipeline => return None,
                Egressed::Gone => {}
                Egressed::Passed(copy) => self.commit_offered(now, &offer, copy, &mut burst),
            }
        }
        burst.taken
    }

    /// The MAC has asked for the head of a queue so often as it may: it is dropped, after egress,
    /// which accounts for what leaves the queue. False when there is none that may be asked for.
    pub fn give_up(&mut self, now: u64, queue: QueueId) -> bool {
        let now = self.advance(now);
        let Some((offer, grants)) = self.grant(now, queue, u32::MAX) else {
            return false;
        };
        match self.egress_offered(now, &offer, Some(grants)) {
            Egressed::NoPipeline => return false,
            Egressed::Gone => {}
            Egressed::Passed(copy) => {
                if let Some(dropped) = self.tm.withdraw() {
                    let packet = dropped.leave(&mut self.uncounted);
                    let number = packet.trace_number();
                    self.counters.unheard.count(packet.received().len());
                    self.packets.give(packet);
                    self.trace_drop(now, number, DropReason::Unheard);
                }
                self.enqueue_clones(now, copy);
            }
        }
        true
    }

    /// The next granted queue that had no frames, or another configuration, when somebody last
    /// looked, and has frames now, in the order in which that happened. To be asked after frames
    /// have been given to the device or taken from it, until there is none.
    pub fn next_notice(&mut self) -> Option<Notice> {
        let Model::Docsis(tm) = &mut self.tm else {
            return None;
        };
        let mut notice = tm.next_notice()?;
        notice.at = notice.at.saturating_add(self.skipped);
        Some(notice)
    }

    #[cold]
    fn trace_burst(&mut self, now: u64) {
        if let (Some(burst), Some(queued)) = (self.burst, self.tm.offered_mut()) {
            let number = queued.packet().trace_number();
            self.trace(now, number, &TraceEvent::Burst(burst));
        }
    }

    /// A MAP granted a queue `granted` MAC bytes, and leaves requests for `waiting` more that are
    /// acknowledged and not granted (000, appendix A): egress is told with the next frame that
    /// leaves the queue.
    pub fn read_map(&mut self, queue: QueueId, granted: u64, waiting: u64) {
        if let Model::Docsis(tm) = &mut self.tm
            && let Some(slot) = tm.lookup(queue)
        {
            tm.read_map(slot, granted, waiting);
        }
    }

    /// The head of a queue on offer, and what egress is told of its grants.
    fn grant(&mut self, now: u64, queue: QueueId, at_most: u32) -> Option<(Offer, Grants)> {
        let Model::Docsis(tm) = &mut self.tm else {
            return None;
        };
        let slot = tm.lookup(queue)?;
        let offer = tm.grant(now - self.skipped, slot, at_most)?;
        let granted = tm.granted(slot);
        let grants = Grants {
            granted_bytes: granted.bytes,
            acked_req_bytes: granted.acked_req_bytes,
            requests_met: granted.met,
        };
        Some((offer, grants))
    }
}
