// SPDX-License-Identifier: Apache-2.0
//! A channel's state as a message: its counters agree with each other, and with what its MAPs say.

use crate::common::{MILLISECOND, SECOND};
use crate::plant::{CHANNEL, QUEUE, modem, plant, send};
use device::ServiceFlowConfig;
use grpc_services::proto::docsis::mac::v1::{ChannelState, How, MapState, Usage};
use world::World;
use world::mac_wire::Profile;

const MODEMS: usize = 4;

/// Modems that all have more to send than the channel carries, for 100 ms.
fn contention(maps: usize) -> World {
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    let mut world = plant(3, profile, MODEMS, ServiceFlowConfig::default());
    world.watch_channel(CHANNEL, maps).unwrap();
    for number in 0..MODEMS {
        let every = 2 * MILLISECOND + number as u64 * 1000;
        // The first MAP is made before somebody watches.
        let times = (5..100).map(|at| at * every).collect();
        send(&mut world, number, 400 + 300 * number, times);
    }
    world.run_until(SECOND / 10).unwrap();
    world
}

#[test]
fn counters_agree_with_each_other_and_with_the_maps() {
    let world = contention(100);
    let state: ChannelState = world.channel_state(CHANNEL).unwrap();
    let counters = state.counters.unwrap();
    assert_eq!((state.name.as_str(), state.number), (CHANNEL, 1));
    assert_eq!(state.profile, "docsis-1.1-004");
    assert_eq!(state.now_ns, SECOND / 10);
    // All but the first one, of 80 minislots.
    assert_eq!(state.maps.len() as u64 + 1, counters.maps);
    let elements = || state.maps.iter().flat_map(|map| &map.elements);
    let grants = || elements().filter_map(|one| Some((one, one.burst.as_ref()?)));
    let sum = |of: fn(&MapState) -> u64| state.maps.iter().map(of).sum::<u64>();
    assert!(counters.requests_collided > 0);
    assert_eq!(sum(|map| map.requests_collided), counters.requests_collided);
    // What is in the air at the end is sent, and not counted by the channel.
    assert!(sum(|map| map.requests_sent) >= counters.requests);
    assert_eq!(grants().count() as u64, counters.grants);
    let minislots = grants().map(|(one, _)| u64::from(one.minislots));
    assert_eq!(minislots.sum::<u64>(), counters.minislots_granted);
    let used = grants().map(|(_, burst)| u64::from(burst.minislots));
    assert_eq!(used.sum::<u64>(), counters.minislots_used);
    assert_eq!(sum(|map| map.minislots.into()) + 80, counters.minislots);
    let bytes = sum(|map| map.bytes.into());
    assert_eq!(bytes + u64::from(state.maps[0].bytes), counters.map_bytes);
    let delays = state.request_to_grant.unwrap();
    assert_eq!(
        delays.places.iter().map(|place| place.count).sum::<u64>(),
        delays.count
    );
    assert!(delays.count > 0 && delays.least_ns <= delays.sum_ns / delays.count);
    // MAPs tile time, here at 25 us a minislot.
    for pair in state.maps.windows(2) {
        assert_eq!(pair[0].end_ns, pair[1].start_ns);
        assert_eq!(pair[0].number + 1, pair[1].number);
        assert!(pair[1].number < counters.maps);
        let length = u64::from(pair[0].minislots) * 25_000;
        assert_eq!(pair[0].end_ns - pair[0].start_ns, length);
    }
    assert_eq!(state.maps[0].number, 1);
    // Contention is at the head of each, and maintenance at its end.
    for map in &state.maps {
        let (first, last) = (&map.elements[0], map.elements.last().unwrap());
        let usages = (first.usage(), last.usage());
        assert_eq!(usages, (Usage::Contention, Usage::Maintenance));
        assert_eq!((first.sid, first.offset, first.minislots), (0, 0, 12));
    }
    for (one, burst) in grants() {
        let asked = burst.asked.unwrap();
        assert!([How::Contention, How::Burst].contains(&asked.how()));
        assert_eq!(asked.sent_ns, asked.minislot * 25_000);
        assert!((1..=MODEMS as u32).contains(&one.sid));
    }
}

#[test]
fn flows_are_where_their_frames_wait_and_add_up_to_the_channel() {
    let state = contention(1).channel_state(CHANNEL).unwrap();
    let counters = state.counters.unwrap();
    assert_eq!(state.maps.len(), 1);
    for (number, flow) in state.flows.iter().enumerate() {
        let at = (flow.device_id, flow.port, flow.queue_id);
        assert_eq!(
            at,
            (number as u64 + 1, u32::from(QUEUE.port), QUEUE.queue_id)
        );
        assert_eq!(flow.sid, number as u32 + 1);
        assert!(flow.frames > 0, "{}", modem(number));
    }
    let sum = |of: fn(&_) -> u64| state.flows.iter().map(of).sum::<u64>();
    assert_eq!(sum(|flow| flow.minislots_used), counters.minislots_used);
    assert_eq!(
        sum(|flow| flow.minislots_granted),
        counters.minislots_granted
    );
    assert!(sum(|flow| flow.requests_lost) <= counters.requests_collided);
}

#[test]
fn who_watches_changes_nothing() {
    let [none, some] = [contention(0), contention(20)];
    assert_eq!(none.digest(), some.digest());
    let state = none.channel_state(CHANNEL).unwrap();
    assert!(state.maps.is_empty());
    assert_eq!(
        state.counters,
        some.channel_state(CHANNEL).unwrap().counters
    );
    assert!(none.channel_state("another").is_err());
}
