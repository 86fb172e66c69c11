// SPDX-License-Identifier: Apache-2.0
//! Hands a MAP from the scheduler to the stations that it concerns.

use mac_modem::{Asked, Grant};
use mac_wire::{Element, Map, Sid, Usage};

use crate::channel::{Channel, Planned};
use crate::ends::Ends;
use crate::observer::Observer;

impl<I> Channel<I> {
    /// The scheduler makes a MAP, and sends it.
    pub(crate) fn make_map<O: Observer>(&mut self, observer: &mut O) {
        let map = self.scheduler.make_map(self.now);
        self.statistics.maps += 1;
        match map.encode() {
            Ok(body) => {
                observer.map(self.now, map, &body);
                self.statistics.map_bytes += body.len() as u64;
                let at = self.now.saturating_add(self.profile.timing.map_to_modem);
                self.maps.push_back((at, body));
            }
            Err(_) => self.statistics.maps_lost += 1,
        }
    }

    /// A MAP is at the modems.
    pub(crate) fn read_map<E: Ends<Item = I>, O: Observer>(
        &mut self,
        ends: &mut E,
        observer: &mut O,
    ) {
        let Some((_, body)) = self.maps.pop_front() else {
            return;
        };
        let Ok(map) = Map::decode(&body, self.described) else {
            self.statistics.maps_lost += 1;
            return;
        };
        self.described = map.end;
        self.opportunities.forget(self.now);
        for element in &map.elements {
            self.note(element, &map, observer);
        }
        self.statistics.opportunities = self.opportunities.total();
        for &sid in &map.pending {
            if let Some(concerned) = self.seats.concern(sid, &map) {
                concerned.news.pending = true;
            }
        }
        for &(_, sid) in self.awaiting.range(..(map.ack, Sid(0))) {
            self.seats.concern(sid, &map);
        }
        let mut concerned = std::mem::take(&mut self.seats.concerned);
        for sid in concerned.drain(..) {
            self.show(sid, ends);
        }
        self.seats.concerned = concerned;
        self.find_contention();
    }

    /// Notes what an element gives, to all or to one.
    fn note<O: Observer>(&mut self, element: &Element, map: &Map, observer: &mut O) {
        let &Element {
            sid,
            usage,
            first,
            minislots,
        } = element;
        if sid == Sid::ALL {
            if usage == Usage::Request {
                self.opportunities.offer(first, minislots);
            }
            return;
        }
        let Some(concerned) = self.seats.concern(sid, map) else {
            return;
        };
        let start = self.profile.clock.start(first);
        let grant = Grant { first, minislots };
        if usage == Usage::Request {
            concerned.news.polls += 1;
            let at = start.max(self.now);
            self.polls.push_back(Planned { at, sid, grant });
        } else if usage.is_data() {
            concerned.news.grants += 1;
            concerned.news.granted += concerned.station.capacity(minislots);
            concerned.first_grant.get_or_insert(first);
            let prepared = start.saturating_sub(self.profile.timing.burst_preparation);
            let at = prepared.max(self.now);
            self.grants.push_back(Planned { at, sid, grant });
            observer.grant(self.now, sid, &grant);
        }
    }

    /// Tells a station what the MAP says of it.
    fn show<E: Ends<Item = I>>(&mut self, sid: Sid, ends: &mut E) {
        let Some(seat) = self.seats.get_mut(sid) else {
            return;
        };
        let (Some(news), Some(mut queue)) = (seat.news.take(), ends.queue(sid)) else {
            return;
        };
        let (clock, histogram) = (self.profile.clock, &mut self.statistics.request_to_grant);
        let granted = seat.first_grant.map(|first| clock.start(first));
        let mut served = None;
        let on_grant = |asked: Asked, first: bool| {
            served.get_or_insert(asked);
            if let (true, Some(granted)) = (first, granted) {
                histogram.add(granted.saturating_sub(clock.start(asked.sent)));
            }
        };
        seat.station
            .read(self.now, &news, &mut queue, &self.opportunities, on_grant);
        if let Some(first) = seat.first_grant {
            seat.serving.serve(first, served);
        }
        self.enter(sid);
    }
}
