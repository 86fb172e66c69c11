// SPDX-License-Identifier: Apache-2.0
//! Runs the event of a channel that is due.

use mac_cmts::Heard;
use mac_modem::How;
use mac_wire::{Minislot, Request};

use crate::calendar::Due;
use crate::channel::{Arrival, Channel, Planned};
use crate::ends::Ends;
use crate::observer::Observer;

impl<I> Channel<I> {
    /// Does all that is due until `until`, which is included, in due order. Queues see the time at
    /// which each thing is due.
    pub fn step<E: Ends<Item = I>, O: Observer>(
        &mut self,
        until: u64,
        ends: &mut E,
        observer: &mut O,
    ) {
        loop {
            let next = self.next();
            if next.0 > until {
                break;
            }
            self.now = self.now.max(next.0);
            match next.1 {
                Due::AskingEnds => self.asking_ends(observer),
                Due::Hear => self.hear(observer),
                Due::MakeMap => self.make_map(observer),
                Due::ReadMap => self.read_map(ends, observer),
                Due::Deliver => self.deliver(ends),
                Due::Alarm => self.alarm(ends),
                Due::Fill => self.fill(ends, observer),
                Due::Poll => self.poll(ends, observer),
                Due::Contend => self.contend(ends, observer),
            }
            if self.now == u64::MAX {
                break;
            }
        }
        self.now = self.now.max(until);
    }

    /// An opportunity ends: one request is heard, and of several noise.
    fn asking_ends<O: Observer>(&mut self, observer: &mut O) {
        let Some(asking) = self.air.pop() else {
            return;
        };
        let (sent, requests) = (asking.first, asking.requests);
        let at = asking.end.saturating_add(self.profile.timing.request_heard);
        let collide = self.profile.collisions && requests.len() > 1;
        if !asking.poll {
            self.statistics.opportunities_used += 1;
            self.statistics.requests += requests.len() as u64;
        }
        if collide {
            self.statistics.opportunities_collided += 1;
            self.statistics.requests_collided += requests.len() as u64;
            observer.collision(self.now, sent, &requests);
            self.hearing.request(at, Heard::Noise { sent });
        } else {
            for &request in &requests {
                self.hearing.request(at, Heard::Request { request, sent });
            }
        }
        self.air.reuse(requests);
    }

    fn hear<O: Observer>(&mut self, observer: &mut O) {
        if let Some((_, heard)) = self.hearing.pop() {
            observer.heard(self.now, &heard);
            self.scheduler.heard(self.now, heard);
        }
    }

    fn deliver<E: Ends<Item = I>>(&mut self, ends: &mut E) {
        if let Some(arrival) = self.deliveries.pop_front() {
            self.statistics.frames += 1;
            ends.deliver(self.now, arrival.sid, arrival.frame, &arrival.grant);
        }
    }

    fn alarm<E: Ends<Item = I>>(&mut self, ends: &mut E) {
        let Some((_, sid)) = self.alarms.pop_first() else {
            return;
        };
        if let Some(seat) = self.seats.get_mut(sid) {
            seat.alarm = None;
        }
        self.wake(self.now, sid, ends);
    }

    /// A grant is prepared.
    fn fill<E: Ends<Item = I>, O: Observer>(&mut self, ends: &mut E, observer: &mut O) {
        let Some(Planned { sid, grant, .. }) = self.grants.pop_front() else {
            return;
        };
        let Some(seat) = self.seats.get_mut(sid) else {
            return;
        };
        let asked = seat.serving.of(&grant);
        ends.fill(self.now, sid, &grant, asked);
        let Some(mut queue) = ends.queue(sid) else {
            return;
        };
        let filled = seat.station.fill(
            self.now,
            grant,
            &mut queue,
            &self.opportunities,
            &mut self.leaving,
        );
        drop(queue);
        observer.burst(self.now, sid, &grant, &filled, asked);
        ends.filled(sid, &grant, &filled, &self.leaving);
        let (clock, timing) = (self.profile.clock, self.profile.timing);
        for leaving in self.leaving.drain(..) {
            let at = clock.end(leaving.last).saturating_add(timing.delivery);
            self.deliveries.push_back(Arrival {
                at,
                sid,
                frame: leaving.frame,
                grant,
            });
        }
        self.statistics.grants += 1;
        self.statistics.minislots_granted += u64::from(grant.minislots);
        self.statistics.minislots_used += u64::from(filled.minislots);
        let at = clock
            .end(grant.first)
            .saturating_add(timing.piggyback_heard);
        let heard = Heard::Burst {
            sid,
            first: grant.first,
            used: filled.used,
            headers: filled.headers,
            request: filled.request,
            queue_indicator: filled.queue_indicator,
        };
        self.hearing.burst(at, heard);
        self.enter(sid);
    }

    /// A poll begins.
    fn poll<E: Ends<Item = I>, O: Observer>(&mut self, ends: &mut E, observer: &mut O) {
        let Some(Planned { sid, grant, .. }) = self.polls.pop_front() else {
            return;
        };
        let (Some(seat), Some(mut queue)) = (self.seats.get_mut(sid), ends.queue(sid)) else {
            return;
        };
        let request = seat
            .station
            .poll(self.now, grant.first, &mut queue, &self.opportunities);
        drop(queue);
        if let Some(request) = request {
            self.send(grant.first, request, How::Poll, observer);
        }
        self.enter(sid);
    }

    /// An opportunity begins at which stations deferred to.
    fn contend<E: Ends<Item = I>, O: Observer>(&mut self, ends: &mut E, observer: &mut O) {
        let Some(&(number, _)) = self.deferring.first() else {
            return;
        };
        let Some(first) = self.opportunities.minislot(number) else {
            return;
        };
        while let Some(&(at, sid)) = self.deferring.first() {
            if at != number {
                break;
            }
            self.deferring.pop_first();
            let Some(seat) = self.seats.get_mut(sid) else {
                continue;
            };
            seat.deferring = None;
            let request = ends.queue(sid).and_then(|mut queue| {
                seat.station
                    .contend(self.now, first, &mut queue, &self.opportunities)
            });
            if let Some(request) = request {
                self.send(first, request, How::Contention, observer);
            }
            self.enter(sid);
        }
        self.find_contention();
    }

    fn send<O: Observer>(&mut self, first: Minislot, request: Request, how: How, observer: &mut O) {
        observer.request(self.now, first, &request, how);
        let minislots = u64::from(self.opportunities.minislots());
        let last = Minislot(first.0.saturating_add(minislots - 1));
        let end = self.profile.clock.end(last);
        self.air.send(first, end, how == How::Poll, request);
    }
}
