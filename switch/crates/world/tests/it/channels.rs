// SPDX-License-Identifier: Apache-2.0
//! Upstream channels between devices that run the project's pipelines: what a frame waits for, who
//! shares a channel, and that the same seed is the same world.

use crate::common::{MILLISECOND, SECOND};
use crate::plant::{CHANNEL, CMTS, QUEUE, RF, modem, plant, send, unlinked};
use device::{QueueId, ServiceFlowConfig};
use proptest::prelude::*;
use world::mac_wire::{FlowConfig, Profile, Sid};
use world::{World, WorldError};

/// The longest frame, to the end of its CRC: an IP packet of 1500 bytes.
const FRAME: usize = 1518;
/// Standard errors between a fixed seed's figure and its expectation: 1 run in 16,000 is as far.
const ERRORS: f64 = 4.0;

/// Numbers that look random: splitmix64.
fn random(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// From a host to the server, ns, of frames that come one by one, `apart` from another and at any
/// moment of a MAP.
fn lone_delays(profile: Profile, frames: u64, apart: u64) -> Vec<u64> {
    let mut world = plant(5, profile, 1, ServiceFlowConfig::default());
    let times: Vec<u64> = (1..=frames)
        .map(|number| number * apart + random(number) % (4 * MILLISECOND))
        .collect();
    let end = times.last().unwrap() + SECOND;
    let stream = send(&mut world, 0, FRAME, times);
    world.run_until(end).unwrap();
    let [sent, received] = world.packet_records(stream).unwrap();
    assert_eq!(sent.len() as u64, frames);
    let mut delays: Vec<u64> = sent
        .iter()
        .zip(received)
        .map(|(sent, received)| {
            assert!(*received > 0, "a frame was lost");
            (received - sent) as u64
        })
        .collect();
    delays.sort_unstable();
    delays
}

/// A row of mac.md's vectors, us: mean, least, greatest, quantiles and how exact these are.
struct Row {
    mean: f64,
    least: f64,
    greatest: f64,
    quantiles: [(f64, f64); 4],
    quantile_error: f64,
}

/// That measured delays are of the distribution, as far as so many of them can tell.
fn compare(delays: &[u64], row: &Row) {
    let us: Vec<f64> = delays.iter().map(|&ns| ns as f64 / 1000.0).collect();
    let number = us.len() as f64;
    let mean = us.iter().sum::<f64>() / number;
    let variance = us.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / (number - 1.0);
    let error = (variance / number).sqrt();
    assert!(
        (mean - row.mean).abs() < ERRORS * error,
        "mean {mean} +- {error}, not {}",
        row.mean
    );
    // The vectors are rounded to a microsecond.
    assert!(us[0] > row.least - 1.0, "{} is below {}", us[0], row.least);
    let last = us[us.len() - 1];
    assert!(
        last < row.greatest + 1.0,
        "{last} is above {}",
        row.greatest
    );
    for (share, value) in row.quantiles {
        let below = |value: f64| us.iter().filter(|us| **us <= value).count() as f64 / number;
        let error = ERRORS * (share * (1.0 - share) / number).sqrt();
        let found = (
            below(value - row.quantile_error),
            below(value + row.quantile_error),
        );
        assert!(
            found.0 < share + error && found.1 > share - error,
            "{share} are below {value}, found {found:?}"
        );
    }
}

/// mac.md, vector B: 1500 B, 15 frames a MAP.
#[test]
fn a_lone_frame_waits_as_long_as_mac_md_says_on_an_ofdma_channel() {
    compare(
        &lone_delays(Profile::docsis_3_1(15), 1200, 20 * MILLISECOND),
        &Row {
            mean: 5038.9,
            least: 1930.0,
            greatest: 8275.0,
            quantiles: [
                (0.05, 3194.0),
                (0.5, 5033.0),
                (0.95, 6910.0),
                (0.99, 7539.0),
            ],
            quantile_error: 15.0,
        },
    );
}

/// mac.md, vector B: 1500 B, 7 frames a MAP.
#[test]
fn a_lone_frame_waits_less_where_maps_are_shorter() {
    compare(
        &lone_delays(Profile::docsis_3_1(7), 1200, 20 * MILLISECOND),
        &Row {
            mean: 3336.0,
            least: 1930.0,
            greatest: 4900.0,
            quantiles: [
                (0.05, 2448.0),
                (0.5, 3321.0),
                (0.95, 4278.0),
                (0.99, 4590.0),
            ],
            quantile_error: 15.0,
        },
    );
}

/// mac.md, vector A: T = 2 ms.
#[test]
fn a_lone_frame_waits_as_long_as_mac_md_says_on_paper_004_s_channel() {
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    compare(
        &lone_delays(profile, 1200, 20 * MILLISECOND),
        &Row {
            mean: 7512.5,
            least: 6425.0,
            greatest: 8600.0,
            quantiles: [
                (0.05, 6612.0),
                (0.5, 7512.0),
                (0.95, 8412.0),
                (0.99, 8522.0),
            ],
            quantile_error: 1.0,
        },
    );
}

/// Frames that the devices hold, or have dropped.
fn in_devices(world: &World, modems: usize) -> u64 {
    let names = (0..modems).map(modem).chain([CMTS.to_owned()]);
    names
        .map(|name| {
            let device = world.device(&name).unwrap();
            let state = device.traffic_manager_state(world.now());
            let dropped = device.counters().named();
            let dropped = dropped
                .iter()
                .filter(|(_, meaning, _)| meaning.starts_with("Dropped"));
            let flows = state.service_flows.iter().map(|flow| {
                flow.overflow.frames
                    + flow.egress_dropped.frames
                    + flow.flushed.frames
                    + flow.queued.frames
            });
            let ports = state
                .ports
                .iter()
                .map(|port| port.queue_overflow.frames + port.queued.frames);
            dropped.map(|(_, _, traffic)| traffic.frames).sum::<u64>()
                + flows.sum::<u64>()
                + ports.sum::<u64>()
        })
        .sum()
}

/// Four modems that all have more to send than the channel carries.
fn contention(seed: u64, looks: u64) -> World {
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    let shape = ServiceFlowConfig {
        queue_limit: 30_000,
        ..Default::default()
    };
    let mut world = plant(seed, profile, 4, shape);
    for number in 0..4 {
        let every = 2 * MILLISECOND + number as u64 * 1000;
        let times = (0..1000).map(|at| at * every).collect();
        send(&mut world, number, 400 + 300 * number, times);
    }
    for look in 1..=looks {
        world.run_until(look * SECOND / looks).unwrap();
        let totals = world.totals();
        let gone = totals.received + totals.link_dropped + totals.unconnected;
        assert_eq!(totals.sent, gone + totals.on_links + in_devices(&world, 4));
    }
    world
}

#[test]
fn modems_contend_every_frame_is_accounted_for_and_a_seed_repeats() {
    let world = contention(3, 1);
    let statistics = world.channel_statistics(CHANNEL).unwrap();
    assert!(statistics.requests_collided > 0, "{statistics:?}");
    assert_eq!(statistics.maps_lost, 0);
    assert!(statistics.frames > 500);
    // Nobody starves.
    for number in 0..4 {
        let received = world.counts(number).unwrap().received_frames;
        assert!(
            received > statistics.frames / 16,
            "modem {number}: {received}"
        );
    }
    // How often somebody looks changes nothing, and another seed does.
    let [again, other] = [(3, 40), (4, 1)].map(|(seed, looks)| contention(seed, looks));
    assert_eq!(
        (again.digest(), again.totals().received),
        (world.digest(), world.totals().received)
    );
    assert_eq!(again.channel_statistics(CHANNEL).unwrap(), statistics);
    assert_ne!(other.digest(), world.digest());
}

/// A modem that has more to send than its rates allow: bytes that arrive, and in how long.
#[test]
fn a_service_flow_has_its_rate_and_no_more() {
    const RATE: u64 = 20_000_000;
    const BURST: u64 = 30_000;
    // mac.md, vector B: nothing waits longer for its first grant.
    const LONGEST: u64 = 8_275_000;
    for peak_rate in [0, 25_000_000] {
        let shape = ServiceFlowConfig {
            max_sustained_rate: RATE,
            max_burst: BURST,
            peak_rate,
            ..Default::default()
        };
        let mut world = plant(1, Profile::docsis_3_1(15), 1, shape);
        // 40 Mbit/s.
        let times: Vec<u64> = (0..3000).map(|number| number * 303_600).collect();
        let stream = send(&mut world, 0, FRAME, times);
        world.run_until(900 * MILLISECOND).unwrap();
        let received = world.packet_records(stream).unwrap()[1];
        let mut bytes = 0;
        for &at in received.iter().filter(|at| **at > 0) {
            bytes += FRAME as u64;
            let at = u128::from(at as u64);
            let bound = |rate: u64, depth: u64| {
                u128::from(bytes) * 8_000_000_000
                    <= at * u128::from(rate) + u128::from(depth) * 8_000_000_000
            };
            assert!(bound(RATE, BURST), "{bytes} at {at}");
            assert!(peak_rate == 0 || bound(peak_rate, 1522), "{bytes} at {at}");
        }
        // What tokens came for has arrived, but for that of the last requests.
        let least = RATE * (900 * MILLISECOND - 2 * LONGEST) / 8_000_000_000;
        assert!(bytes > least, "{bytes} of {least}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_sent_is_accounted_for(
        seed in any::<u64>(),
        profile in prop::sample::select(&["docsis-1.1-004", "docsis-3.0", "docsis-3.1"][..]),
        rate in prop_oneof![Just(0u64), 100_000u64..20_000_000],
        queue_limit in 5_000u64..100_000,
        frames in prop::collection::vec((0usize..3, 64usize..1519, 0u64..20 * MILLISECOND), 1..120),
    ) {
        let shape = ServiceFlowConfig {
            max_sustained_rate: rate,
            max_burst: 10_000,
            queue_limit,
            ..Default::default()
        };
        let run = |looks: u64| {
            let mut world = plant(seed, Profile::named(profile).unwrap(), 3, shape);
            // One stream for each modem and length.
            for (number, &(modem, length, at)) in frames.iter().enumerate() {
                let burst = (0..=number as u64 % 5).map(|_| at).collect();
                send(&mut world, modem, length, burst);
            }
            for look in 1..=looks {
                world.run_until(look * 3 * SECOND / looks).unwrap();
                let totals = world.totals();
                let gone = totals.received + totals.link_dropped + totals.unconnected;
                assert_eq!(totals.sent, gone + totals.on_links + in_devices(&world, 3));
            }
            (world.digest(), world.totals().received)
        };
        prop_assert_eq!(run(1), run(7));
    }
}

#[test]
fn two_channels_share_nothing() {
    let alone = |modems: &[usize]| {
        let mut world = unlinked(9, 2);
        for number in 0..2 {
            world
                .with_device(&modem(number), |device, now| {
                    crate::plant::set_up_modem(
                        device,
                        now,
                        ServiceFlowConfig {
                            queue: QUEUE,
                            ..Default::default()
                        },
                    );
                })
                .unwrap();
            let channel = format!("channel {number}");
            world
                .add_channel(&channel, Profile::docsis_3_1(15))
                .unwrap();
            world.grant_port(&modem(number), RF, 1).unwrap();
            let flow = FlowConfig::best_effort(Sid(1));
            world
                .add_upstream_flow(&channel, &modem(number), QUEUE, flow)
                .unwrap();
        }
        let mut stream = 0;
        for &number in modems {
            stream = send(
                &mut world,
                number,
                FRAME,
                (0..50).map(|n| n * 3 * MILLISECOND).collect(),
            );
        }
        world.run_until(SECOND).unwrap();
        world.packet_records(stream).unwrap()[1].to_vec()
    };
    assert_eq!(alone(&[1]), alone(&[0, 1]));
}

#[test]
fn a_flow_that_is_removed_sends_no_more_and_another_takes_its_place() {
    let mut world = plant(2, Profile::docsis_3_1(15), 1, ServiceFlowConfig::default());
    let stream = send(
        &mut world,
        0,
        FRAME,
        (0..100).map(|n| n * 10 * MILLISECOND).collect(),
    );
    world.run_until(SECOND / 2).unwrap();
    world.remove_upstream_flow(CHANNEL, 1).unwrap();
    world.run_until(SECOND * 2).unwrap();
    let arrived = |world: &World| world.counts(stream).unwrap().received_frames;
    assert!((45..=50).contains(&arrived(&world)), "{}", arrived(&world));
    // What waits is sent at once.
    let flow = FlowConfig::best_effort(Sid(77));
    world
        .add_upstream_flow(CHANNEL, &modem(0), QUEUE, flow)
        .unwrap();
    world.run_until(SECOND * 3).unwrap();
    let totals = world.totals();
    assert_eq!(arrived(&world) + totals.link_dropped, 100);
}

/// Of a frame that was sent in part the rest never comes: it is dropped, and on no link any more.
#[test]
fn a_frame_that_was_sent_in_part_is_dropped_with_its_flow() {
    let mut cut = 0;
    for step in 0..20 {
        let mut world = plant(2, Profile::docsis_3_0(), 1, ServiceFlowConfig::default());
        let stream = send(&mut world, 0, FRAME, vec![100 * MILLISECOND; 60]);
        // In the middle of the backlog, which is cut wherever a MAP ends.
        world
            .run_until(110 * MILLISECOND + step * MILLISECOND / 2)
            .unwrap();
        world.remove_upstream_flow(CHANNEL, 1).unwrap();
        world.run_until(SECOND).unwrap();
        let totals = world.totals();
        assert_eq!(totals.on_links, 0, "{step}");
        let waits = in_devices(&world, 1);
        let received = world.counts(stream).unwrap().received_frames;
        assert_eq!(received + totals.link_dropped + waits, 60, "{step}");
        assert!(waits > 0);
        cut += totals.link_dropped;
    }
    assert!(cut > 10, "{cut}");
}

fn words<T>(result: Result<T, WorldError>) -> String {
    match result {
        Err(WorldError::Invalid(words)) => words,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was possible"),
    }
}

#[test]
fn what_is_not_possible_is_said() {
    let mut world = unlinked(1, 2);
    let profile = || Profile::docsis_3_1(15);
    let (one, other) = (modem(0), modem(1));
    world.add_channel("a", profile()).unwrap();
    assert_eq!(
        words(world.add_channel("a", profile())),
        "there is a channel \"a\" already"
    );
    let unread = Profile {
        map_minislots: 0,
        ..profile()
    };
    assert!(!words(world.add_channel("b", unread)).is_empty());
    world.add_channel("b", profile()).unwrap();
    let queue = |queue_id| QueueId { port: RF, queue_id };
    let flow = |sid| FlowConfig::best_effort(Sid(sid));
    assert_eq!(
        words(world.add_upstream_flow("a", &one, queue(1), flow(1))),
        "port 1 of device \"cm0\" sends by itself: grant it first"
    );
    assert_eq!(
        words(world.grant_port(&one, 2, 1)),
        "port 2 of device \"cm0\" has no link to a CMTS: connect it first"
    );
    assert!(words(world.grant_port(&one, RF, 0)).starts_with("device \"cm0\", port 1: queue_id 0"));
    world.grant_port(&one, RF, 1).unwrap();
    assert_eq!(
        words(world.grant_port(&one, RF, 1)),
        "port 1 of device \"cm0\" is granted already"
    );
    assert!(words(world.add_upstream_flow("a", &one, queue(0), flow(1))).contains("queue 0"));
    world
        .add_upstream_flow("a", &one, queue(1), flow(1))
        .unwrap();
    assert_eq!(
        words(world.add_upstream_flow("b", &one, queue(1), flow(1))),
        "port 1 queue 1 of device \"cm0\" is SID 1 of channel \"a\" already"
    );
    // One SID a channel: the refusal is the channel's.
    world.grant_port(&other, RF, 1).unwrap();
    assert!(words(world.add_upstream_flow("a", &other, queue(1), flow(1))).contains("SID 1"));
    world
        .add_upstream_flow("b", &other, queue(1), flow(1))
        .unwrap();
    assert_eq!(
        words(world.remove_upstream_flow("a", 7)),
        "channel \"a\" has no SID 7"
    );
    assert_eq!(
        words(world.channel_statistics("c").map(|_| ())),
        "there is no channel \"c\" in this world"
    );
}
