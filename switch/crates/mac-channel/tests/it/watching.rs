// SPDX-License-Identifier: Apache-2.0
//! What a watch keeps of a channel is what happened on it, and never more than its bounds.

use mac_channel::{
    Asked, Channel, Filled, Grant, How, MOST_MAPS, MOST_REQUESTS, Observer, Statistics, Watch,
};
use mac_wire::{Amount, Backoff, Element, FlowConfig, Map, Minislot, Profile, Request, Sid, Usage};
use proptest::prelude::*;

use crate::plant::{Plant, Random};
use crate::scenario::{Record, scenarios};

/// MAPs of a run that all fit into a watch.
const MAPS: u64 = 60;

#[derive(Default, Debug, PartialEq)]
struct Sums {
    grants: u64,
    granted: u64,
    used: u64,
    wasted: u64,
    requests: u64,
    collided: u64,
}

fn sums(watch: &Watch) -> Sums {
    let mut sums = Sums::default();
    for map in watch.maps() {
        for one in map.elements.iter() {
            let Some(burst) = one.burst else { continue };
            sums.grants += 1;
            sums.granted += u64::from(one.element.minislots);
            sums.used += u64::from(burst.minislots);
            sums.wasted += u64::from(one.wasted());
        }
        sums.requests += map.requests_sent;
        sums.collided += map.requests_collided;
    }
    sums
}

fn counted(statistics: &Statistics, record: &Record) -> Sums {
    Sums {
        grants: statistics.grants,
        granted: statistics.minislots_granted,
        used: statistics.minislots_used,
        wasted: statistics.minislots_wasted(),
        requests: record.requests.len() as u64,
        collided: statistics.requests_collided,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// The watch keeps all of a short run: counts are the channel's, and each flow's; a grant's
    /// minislots are used or wasted; every request is where it was sent; a grant that answers one
    /// comes later, and one that is asked for names a request that its flow has sent.
    #[test]
    fn what_is_kept_is_what_happened(scenario in scenarios()) {
        let mut channel = Channel::new(scenario.profile.clone(), 1, scenario.seed).unwrap();
        let mut plant = Plant::default();
        let mut seen = (Record::default(), Watch::new(MOST_MAPS));
        let mut random = Random::new(scenario.seed);
        let map = scenario.profile.map_length();
        for &flow in &scenario.flows {
            if channel.add(0, flow).is_ok() {
                plant.lengths(flow.sid);
            }
        }
        let flows: Vec<Sid> = channel.stations().map(|(sid, _)| sid).collect();
        for _ in 0..MAPS {
            if flows.is_empty() {
                break;
            }
            let sid = flows[random.below(flows.len() as u64) as usize];
            let now = channel.next_deadline();
            channel.step(now + random.below(map), &mut plant, &mut seen);
            plant.lengths(sid).push(now, 64 + random.below(1455) as u32);
            channel.wake(now, sid, &mut plant);
        }
        // Two MAPs' time, so that nothing is in the air.
        let end = channel.next_deadline() + 2 * map;
        channel.step(end, &mut plant, &mut seen);
        let (record, watch) = &seen;
        prop_assert_eq!(watch.maps().len(), record.maps.len().min(MOST_MAPS));
        prop_assume!(record.maps.len() <= MOST_MAPS);
        prop_assert_eq!(watch.unplaced(), 0);
        let found = sums(watch);
        prop_assert_eq!(found.granted, found.used + found.wasted);
        prop_assert_eq!(&found, &counted(channel.statistics(), record));
        let (mut granted, mut used) = (0, 0);
        for (_, station) in channel.stations() {
            granted += station.statistics().minislots_granted;
            used += station.statistics().minislots_used;
        }
        prop_assert_eq!((granted, used), (found.granted, found.used));
        for kept in watch.maps() {
            prop_assert!(kept.elements.is_sorted_by_key(|one| one.element.first));
            for one in &kept.requests {
                let within = kept.elements.iter().any(|there| {
                    there.element.usage == Usage::Request
                        && there.element.first <= one.first
                        && one.first < there.element.end()
                });
                prop_assert!(within, "{one:?} is where the MAP has no opportunity");
            }
            for one in &kept.elements {
                let Some(asked) = one.burst.and_then(|burst| burst.asked) else { continue };
                prop_assert!(asked.sent < one.element.first);
                let sent = watch.maps().any(|map| match asked.how {
                    How::Burst => map.elements.iter().any(|before| {
                        before.element.first == asked.sent
                            && before.element.sid == one.element.sid
                            && before.burst.is_some_and(|burst| burst.request.is_some())
                    }),
                    how => map.requests.iter().any(|request| {
                        (request.first, request.how) == (asked.sent, how)
                            && request.request.sid == one.element.sid
                    }),
                });
                prop_assert!(sent, "{asked:?} was never sent");
            }
        }
    }

    /// Whatever is told, in whatever order: the bounds hold, and nothing panics.
    #[test]
    fn a_hostile_channel_fills_no_memory(
        told in proptest::collection::vec((0..4_u8, any::<(u16, u16, u16)>()), 0..400),
        maps in 0..300_usize,
    ) {
        let mut watch = Watch::new(maps);
        let mut last = 0;
        for (what, (a, b, c)) in told {
            let (sid, first) = (Sid(a), Minislot(u64::from(b) * 7));
            let request = Request { sid, amount: Amount::Bytes(c.into()) };
            match what {
                0 => {
                    let elements = (0..u64::from(a)).map(|n| Element {
                        sid: Sid(n as u16 ^ b),
                        usage: [Usage::Request, Usage::Long][n as usize % 2],
                        first: Minislot(last + n * u64::from(b % 3)),
                        minislots: c.into(),
                    });
                    let end = if b % 5 == 0 { first.0 } else { last + u64::from(c) };
                    let map = Map {
                        channel: 1,
                        ucd_count: 0,
                        start: Minislot(last),
                        end: Minislot(end),
                        ack: first,
                        ranging: Backoff { start: 0, end: 0 },
                        data: Backoff { start: 0, end: 0 },
                        elements: elements.collect(),
                        pending: vec![sid; usize::from(c)],
                    };
                    watch.map(0, &map, &[]);
                    last = end;
                }
                1 => (0..=c % 2000).for_each(|_| watch.request(0, first, &request, How::Poll)),
                2 => watch.collision(0, first, &vec![request; usize::from(c % 50)]),
                _ => {
                    let grant = Grant { first, minislots: c.into() };
                    let asked = Some(Asked { sent: first, how: How::Burst });
                    let filled = Filled {
                        used: u64::MAX,
                        headers: u64::MAX,
                        minislots: u32::MAX,
                        request: Some(request),
                        queue_indicator: false,
                    };
                    watch.burst(0, sid, &grant, &filled, asked);
                }
            }
        }
        prop_assert!(watch.maps().len() <= maps.clamp(1, MOST_MAPS));
        for map in watch.maps() {
            prop_assert!(map.elements.len() <= Map::MAX_INFORMATION_ELEMENTS);
            prop_assert!(map.pending.len() <= Map::MAX_INFORMATION_ELEMENTS);
            prop_assert!(map.requests.len() <= MOST_REQUESTS);
            prop_assert!(map.requests.len() as u64 <= map.requests_sent);
        }
    }
}

/// Two modems of one window of one opportunity meet in it; their requests are kept as collided.
#[test]
fn a_collision_is_kept_with_those_that_met() {
    let mut profile = Profile::docsis_1_1_004(2_000_000).unwrap();
    profile.backoff = Backoff { start: 0, end: 7 };
    let mut channel = Channel::new(profile, 1, 1).unwrap();
    let mut plant = Plant::default();
    let mut watch = Some(Watch::new(64));
    for sid in [Sid(1), Sid(2)] {
        channel.add(0, FlowConfig::best_effort(sid)).unwrap();
        plant.lengths(sid).push(0, 1000);
        channel.wake(0, sid, &mut plant);
    }
    channel.step(60_000_000, &mut plant, &mut watch);
    let watch = watch.unwrap();
    let met: Vec<_> = watch.maps().flat_map(|map| &map.requests).take(2).collect();
    assert!(
        met.iter()
            .all(|one| one.collided && one.how == How::Contention)
    );
    assert_eq!(met[0].first, met[1].first);
    assert_eq!([met[0].request.sid, met[1].request.sid], [Sid(1), Sid(2)]);
    let grants: Vec<_> = watch
        .maps()
        .flat_map(|map| &map.elements)
        .filter_map(|one| Some((one.element, one.burst?)))
        .collect();
    assert_eq!(grants.len(), 2);
    for (grant, burst) in grants {
        let asked = burst.asked.unwrap();
        assert_eq!(asked.how, How::Contention);
        assert!(watch.maps().flat_map(|map| &map.requests).any(|one| {
            (one.first, one.request.sid, one.collided) == (asked.sent, grant.sid, false)
        }));
        assert_eq!(burst.minislots, grant.minislots, "asked for just that");
    }
}

#[test]
fn it_keeps_the_last_maps() {
    let mut channel = Channel::new(Profile::docsis_3_0(), 1, 1).unwrap();
    let mut watch = Watch::new(5);
    channel.step(1_000_000_000, &mut Plant::default(), &mut watch);
    let made = channel.statistics().maps;
    let numbers: Vec<u64> = watch.maps().map(|map| map.number).collect();
    assert_eq!(numbers, Vec::from_iter(made - 5..made));
    let mut maps = watch.maps();
    let first = maps.next().unwrap().end;
    assert_eq!(maps.next().unwrap().start, first);
}
