// SPDX-License-Identifier: Apache-2.0
//! The state of an upstream channel as the message docsis.mac.v1.ChannelState.

use mac_channel::{
    Asked, Channel, Histogram, How, Station, Watch, WatchedBurst, WatchedElement, WatchedMap,
    WatchedRequest,
};
use mac_wire::{Amount, Clock, Minislot, Profile, Request, Sid, Usage};

use crate::proto::docsis::mac::v1 as mac;

/// The queue in which the frames of a service flow wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPlace {
    /// The id of the modem's device.
    pub device_id: u64,
    /// Its upstream port.
    pub port: u16,
    /// The queue at this port.
    pub queue_id: u32,
}

/// A channel with its name, and the moment at which it is looked at.
#[derive(Debug)]
pub struct ChannelView<'a, I> {
    /// The name that the topology gives the channel.
    pub name: &'a str,
    /// The number that the channel has in its MAPs.
    pub number: u8,
    /// The present time, nanoseconds.
    pub now: u64,
    /// The channel.
    pub channel: &'a Channel<I>,
    /// The keeper of the channel's last MAPs; `None` if nobody keeps them.
    pub watch: Option<&'a Watch>,
    /// How many MAPs go into the message at most.
    pub maps: usize,
}

impl<I> ChannelView<'_, I> {
    /// Makes the message. `place` tells where the frames of a service flow wait.
    pub fn state(&self, place: impl Fn(Sid) -> Option<FlowPlace>) -> mac::ChannelState {
        let channel = self.channel;
        let profile = channel.profile();
        let stations = channel.stations();
        let kept = self.watch.map_or(0, |watch| watch.maps().len());
        let maps = self.watch.into_iter().flat_map(Watch::maps);
        let maps = maps.skip(kept.saturating_sub(self.maps));
        mac::ChannelState {
            name: self.name.into(),
            profile: profile.name.clone(),
            number: self.number.into(),
            now_ns: self.now,
            shape: Some(shape(profile)),
            counters: Some(counters(channel)),
            request_to_grant: Some(distribution(&channel.statistics().request_to_grant)),
            flows: stations
                .map(|(sid, station)| flow(sid, place(sid), station))
                .collect(),
            maps: maps.map(|map| map_state(&profile.clock, map)).collect(),
            // Whoever has a clock knows.
            maps_late: None,
        }
    }
}

fn shape(profile: &Profile) -> mac::ChannelShape {
    mac::ChannelShape {
        minislots_per_frame: profile.clock.per_frame,
        frame_ps: profile.clock.frame_ps,
        map_minislots: profile.map_minislots,
        request_minislots: profile.request_minislots,
    }
}

fn counters<I>(channel: &Channel<I>) -> mac::ChannelCounters {
    let (counted, heard) = (channel.statistics(), channel.scheduler().statistics());
    mac::ChannelCounters {
        maps: counted.maps,
        map_bytes: counted.map_bytes,
        maps_stretched: heard.maps_stretched,
        maps_lost: counted.maps_lost,
        minislots: heard.minislots,
        minislots_contention: heard.minislots_contention,
        minislots_maintenance: heard.minislots_maintenance,
        minislots_polls: heard.minislots_polls,
        minislots_granted: counted.minislots_granted,
        minislots_used: counted.minislots_used,
        opportunities: counted.opportunities,
        opportunities_used: counted.opportunities_used,
        opportunities_collided: counted.opportunities_collided,
        requests: counted.requests,
        requests_collided: counted.requests_collided,
        requests_polled: heard.requests_polled,
        requests_piggybacked: heard.requests_piggybacked,
        polls: heard.polls,
        grants: counted.grants,
        grants_unsolicited: heard.grants_unsolicited,
        pending_marks: heard.pending_marks,
        missed: heard.missed,
        frames: counted.frames,
        bytes_granted: heard.bytes_granted,
        bytes_used: heard.bytes_used,
    }
}

/// Makes the message of a histogram.
pub(crate) fn distribution(histogram: &Histogram) -> mac::Distribution {
    let (least_ns, most_ns) = histogram.range().unwrap_or_default();
    let place = |(upto_ns, count)| mac::Place { upto_ns, count };
    mac::Distribution {
        count: histogram.count(),
        sum_ns: histogram.sum(),
        least_ns,
        most_ns,
        places: histogram.places().map(place).collect(),
    }
}

fn flow<I>(sid: Sid, place: Option<FlowPlace>, station: &Station<I>) -> mac::FlowState {
    let counted = station.statistics();
    mac::FlowState {
        sid: sid.0.into(),
        device_id: place.map_or(0, |place| place.device_id),
        port: place.map_or(0, |place| place.port.into()),
        queue_id: place.map_or(0, |place| place.queue_id),
        requests_contention: counted.requests_contention,
        requests_polled: counted.requests_polled,
        requests_piggybacked: counted.requests_piggybacked,
        requests_lost: counted.requests_lost,
        polls: counted.polls,
        polls_unused: counted.polls_unused,
        grants: counted.grants,
        grants_unused: counted.grants_unused,
        grants_too_small: counted.grants_too_small,
        minislots_granted: counted.minislots_granted,
        minislots_used: counted.minislots_used,
        bytes_granted: counted.bytes_granted,
        bytes_used: counted.bytes_used,
        frames: counted.frames,
        fragments: counted.fragments,
        given_up: counted.given_up,
        too_long: counted.too_long,
    }
}

fn map_state(clock: &Clock, map: &WatchedMap) -> mac::MapState {
    let minislots = map.end.0.saturating_sub(map.start.0);
    mac::MapState {
        number: map.number,
        made_ns: map.made,
        start_ns: clock.start(map.start),
        end_ns: clock.start(map.end),
        first_minislot: map.start.0,
        minislots: saturated(minislots),
        ack_minislot: map.ack.0,
        backoff_start: map.backoff.start.into(),
        backoff_end: map.backoff.end.into(),
        bytes: saturated(map.body as u64),
        elements: map
            .elements
            .iter()
            .map(|one| element(clock, map.start, one))
            .collect(),
        pending_sids: map.pending.iter().map(|sid| sid.0.into()).collect(),
        requests: map
            .requests
            .iter()
            .map(|one| request(map.start, one))
            .collect(),
        requests_sent: map.requests_sent,
        requests_collided: map.requests_collided,
    }
}

fn element(clock: &Clock, start: Minislot, one: &WatchedElement) -> mac::MapElement {
    let element = &one.element;
    let everybody = element.sid == Sid::ALL;
    let usage = match element.usage {
        Usage::Request if everybody => mac::Usage::Contention,
        Usage::Request => mac::Usage::Poll,
        Usage::InitialMaintenance | Usage::StationMaintenance => mac::Usage::Maintenance,
        _ => mac::Usage::Grant,
    };
    mac::MapElement {
        usage: usage.into(),
        sid: if everybody { 0 } else { element.sid.0.into() },
        offset: offset(start, element.first),
        minislots: element.minislots,
        interval_usage_code: element.usage.code().into(),
        burst: one.burst.as_ref().map(|burst| burst_state(clock, burst)),
    }
}

fn burst_state(clock: &Clock, burst: &WatchedBurst) -> mac::BurstState {
    use mac::burst_state::Requested;
    let requested = burst.request.map(|Request { amount, .. }| match amount {
        Amount::Bytes(bytes) => Requested::RequestedBytes(bytes),
        Amount::Minislots(minislots) => Requested::RequestedMinislots(minislots),
    });
    let asked = burst.asked.map(|Asked { sent, how: by }| mac::AskedState {
        how: how(by).into(),
        sent_ns: clock.start(sent),
        minislot: sent.0,
    });
    mac::BurstState {
        minislots: burst.minislots,
        bytes: burst.bytes,
        asked,
        requested,
    }
}

fn request(start: Minislot, one: &WatchedRequest) -> mac::MapRequest {
    use mac::map_request::Amount as Wire;
    mac::MapRequest {
        sid: one.request.sid.0.into(),
        offset: offset(start, one.first),
        how: how(one.how).into(),
        collided: one.collided,
        amount: Some(match one.request.amount {
            Amount::Bytes(bytes) => Wire::Bytes(bytes),
            Amount::Minislots(minislots) => Wire::Minislots(minislots),
        }),
    }
}

fn how(how: How) -> mac::How {
    match how {
        How::Contention => mac::How::Contention,
        How::Poll => mac::How::Poll,
        How::Burst => mac::How::Burst,
    }
}

fn offset(start: Minislot, slot: Minislot) -> u32 {
    saturated(slot.0.saturating_sub(start.0))
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
