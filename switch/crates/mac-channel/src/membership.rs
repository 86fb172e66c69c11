// SPDX-License-Identifier: Apache-2.0
//! Adds and removes members of a channel, several at a time: all of the changes or none.

use mac_cmts::{Refusal, Scheduler};
use mac_modem::{Queue, Station};
use mac_wire::{Capacity, FlowConfig, Sid};

use crate::channel::Channel;
use crate::ends::Ends;
use crate::seats::Seat;

/// Service flows that a channel is to lose, and others that it is to have, which its scheduler
/// would take.
#[derive(Debug)]
pub struct Prepared {
    /// As it is after the change.
    scheduler: Scheduler,
    removed: Vec<Sid>,
    set: Vec<FlowConfig>,
}

impl<I> Channel<I> {
    /// Whether the scheduler would take a change: without these service flows, and then with each of
    /// those, one after the other, be it new or another configuration of a known one; where what other
    /// users leave of the channel changes, too, that is what all of them have to fit. Nothing changes
    /// yet: that is for [`Channel::commit`], before anything else is done with the channel.
    ///
    /// # Errors
    /// The SID that cannot be removed, because it is not there, or that the scheduler refuses; no SID
    /// where it is the capacity.
    pub fn prepare(
        &self,
        now: u64,
        removed: Vec<Sid>,
        set: Vec<FlowConfig>,
        capacity: Option<Option<Capacity>>,
    ) -> Result<Prepared, (Option<Sid>, Refusal)> {
        let mut scheduler = self.scheduler.clone();
        let now = self.now.max(now);
        for &sid in &removed {
            if !scheduler.remove(now, sid) {
                let words = "it is not on the channel, so it cannot be removed".to_owned();
                return Err((Some(sid), Refusal(words)));
            }
        }
        match capacity {
            Some(capacity) => scheduler.admit_with_capacity(now, &set, capacity)?,
            None => {
                let taken = scheduler.admit_all(now, &set);
                taken.map_err(|(sid, refusal)| (Some(sid), refusal))?;
            }
        }
        Ok(Prepared {
            scheduler,
            removed,
            set,
        })
    }

    /// Makes a change that was prepared. What a flow that is removed has sent whole still arrives; of
    /// a frame that it has sent in part the queue is told ([`Queue::abandon`]). A flow that goes on
    /// with the same service and policy keeps what it has asked for and sent in part. Call
    /// [`Channel::wake`] for those that may have data.
    pub fn commit<E: Ends<Item = I>>(&mut self, now: u64, prepared: Prepared, ends: &mut E) {
        let Prepared {
            scheduler,
            removed,
            set,
        } = prepared;
        self.now = self.now.max(now);
        for sid in removed {
            self.unseat(sid, ends);
        }
        for flow in set {
            let goes_on = |seat: &Seat<I>| seat.flow.goes_on_with(&flow);
            if self.seats.get(flow.sid).is_some_and(goes_on) {
                if let Some(seat) = self.seats.get_mut(flow.sid) {
                    seat.station.configure(&self.profile, &flow);
                    seat.flow = flow;
                }
                continue;
            }
            self.unseat(flow.sid, ends);
            let station = Station::new(&self.profile, &flow, self.seed);
            self.seats.put(flow.sid, Seat::new(station, flow));
        }
        self.scheduler = scheduler;
    }

    /// Removes a service flow; whether there was one. What it has sent whole still arrives; of a frame
    /// that it has sent in part the queue is told ([`Queue::abandon`]).
    pub fn remove<E: Ends<Item = I>>(&mut self, now: u64, sid: Sid, ends: &mut E) -> bool {
        self.now = self.now.max(now);
        self.scheduler.remove(self.now, sid);
        self.unseat(sid, ends)
    }

    /// What the scheduler and the modem were last told of a service flow.
    #[must_use]
    pub fn flow(&self, sid: Sid) -> Option<&FlowConfig> {
        self.seats.get(sid).map(|seat| &seat.flow)
    }

    /// Frames that have left their queues, in whole or in part, and were not delivered.
    #[must_use]
    pub fn frames_under_way(&self) -> u64 {
        let stations = self.seats.iter();
        let cut = stations.filter(|(_, station)| station.staged() > 0);
        (self.deliveries.len() + cut.count()) as u64
    }

    /// Takes a station away; whether there was one.
    fn unseat<E: Ends<Item = I>>(&mut self, sid: Sid, ends: &mut E) -> bool {
        let Some(mut seat) = self.leave(sid) else {
            return false;
        };
        if let Some(frame) = seat.station.take_staged()
            && let Some(mut queue) = ends.queue(sid)
        {
            queue.abandon(self.now, frame);
        }
        true
    }
}
