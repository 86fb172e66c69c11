// SPDX-License-Identifier: Apache-2.0
//! Channels and service flows that come, change and go while frames are under way: all of a request
//! or nothing.

use crate::common::*;
use plant::mac_wire::{FlowConfig, Profile, Sid};
use plant::{Configuration, Refused};
use proptest::prelude::*;

fn with_channel() -> World {
    World::with_channel(2, Profile::docsis_3_1(15), 3)
}

fn configure(world: &mut World, now: u64, request: Configuration) -> Result<(), Refused> {
    world.run(now);
    world.plant.configure(&mut world.nodes, now, request)
}

fn flows(flows: Vec<plant::FlowPlace>) -> Configuration {
    Configuration {
        flows,
        ..Configuration::default()
    }
}

/// All that is there, as one request.
fn complete() -> Configuration {
    Configuration {
        channels: vec![channel("us1", 1, Profile::docsis_3_1(15))],
        granted: vec![granted()],
        flows: (1..=3).map(|sid| best_effort("us1", sid)).collect(),
        complete: true,
        ..Configuration::default()
    }
}

/// What a world serves when it goes on with a few frames.
fn goes_on(world: &mut World, from: u64) -> Vec<(u64, u32)> {
    for (number, queue) in [(1, 1), (2, 2), (3, 3), (4, 1)] {
        let at = from + u64::from(number) * 700_000;
        world.give(at, MODEM, HOST, &frame(number, RF, queue, 1000));
    }
    world.run(from + SECOND);
    world.served()
}

#[test]
fn what_is_there_already_goes_on_undisturbed() {
    let (mut once, mut twice) = (with_channel(), with_channel());
    configure(&mut twice, 10 * MILLISECOND, complete()).unwrap();
    configure(&mut twice, 20 * MILLISECOND, flows(complete().flows)).unwrap();
    let from = 30 * MILLISECOND;
    assert_eq!(goes_on(&mut twice, from), goes_on(&mut once, from));
}

#[test]
fn a_request_that_is_refused_changes_nothing() {
    let mut undisturbed = with_channel();
    let expected = goes_on(&mut undisturbed, 30 * MILLISECOND);
    let slow = FlowConfig {
        max_sustained_rate: 100_000,
        ..FlowConfig::best_effort(Sid(1))
    };
    // The first part of each would be possible.
    let good = place("us1", slow);
    let many = Configuration {
        flows: vec![good.clone(), unsolicited(4, 3 * MILLISECOND, 0, 100_000)],
        removed: vec![("us1".into(), Sid(3))],
        ..Configuration::default()
    };
    let nowhere = Configuration {
        flows: vec![good.clone(), best_effort("us9", 5)],
        ..Configuration::default()
    };
    let mut other = complete();
    other.channels = vec![channel("us1", 1, Profile::docsis_3_1(7))];
    other.complete = false;
    let mut ungranted = complete();
    ungranted.granted.clear();
    let mut twice = complete();
    twice.flows.push(best_effort("us1", 3));
    let mut elsewhere = best_effort("us1", 2);
    elsewhere.queue_id = 7;
    let mut taken = best_effort("us1", 7);
    taken.queue_id = 2;
    let mut zero = best_effort("us1", 8);
    zero.queue_id = 0;
    let mut unlinked = granted();
    unlinked.end.port = HOST;
    let refusals: [(Configuration, &str); 10] = [
        (many, "channel \"us1\", SID 4: "),
        (nowhere, "there is no channel \"us9\""),
        (
            other,
            "channel \"us1\" with number 1 cannot come, as there is channel \"us1\"",
        ),
        (ungranted, "device 1, port 1 is granted, and stays so"),
        (
            twice,
            "channel \"us1\", SID 3: its SID or port 1 queue 3 is there twice",
        ),
        (
            flows(vec![good.clone(), elsewhere]),
            "channel \"us1\", SID 2 is that of port 1 queue 2",
        ),
        (
            flows(vec![good.clone(), taken]),
            "SID 7: port 1 queue 2 is SID 2 of channel 1 already",
        ),
        (
            flows(vec![good.clone(), zero]),
            "channel \"us1\", SID 8: queue 0 is no service flow's",
        ),
        (
            Configuration {
                removed: vec![("us1".into(), Sid(9))],
                ..flows(vec![good.clone()])
            },
            "channel \"us1\" has no SID 9",
        ),
        (
            Configuration {
                granted: vec![unlinked],
                ..flows(vec![good])
            },
            "device 1, port 2 has no RF link to a CMTS",
        ),
    ];
    let mut world = with_channel();
    for (request, words) in refusals {
        let refused = configure(&mut world, 10 * MILLISECOND, request).unwrap_err();
        assert!(refused.to_string().starts_with(words), "{refused}");
    }
    assert_eq!(goes_on(&mut world, 30 * MILLISECOND), expected);
}

#[test]
fn a_port_has_to_be_granted_and_empty() {
    let mut world = World::new(1);
    world.add_queues(0, 1..=3);
    let mut request = complete();
    request.granted.clear();
    let refused = configure(&mut world, 0, request).unwrap_err();
    assert!(
        matches!(&refused, Refused::Precondition(words) if words.contains("grant it first")),
        "{refused}"
    );
    // A channel without anybody's service flow is one.
    let request = Configuration {
        channels: vec![channel("us1", 1, Profile::docsis_3_1(15))],
        ..Configuration::default()
    };
    configure(&mut world, 0, request).unwrap();
    configure(&mut world, 0, complete()).unwrap();
    assert_eq!(goes_on(&mut world, MILLISECOND).len(), 4);
}

#[test]
fn a_flow_moves_to_another_channel_and_its_queue_stays() {
    let mut world = with_channel();
    for number in 1..=20 {
        world.give(MILLISECOND, MODEM, HOST, &frame(number, RF, 2, 1518));
    }
    let request = Configuration {
        channels: vec![channel(
            "us0",
            2,
            Profile::docsis_1_1_004(2 * MILLISECOND).unwrap(),
        )],
        flows: vec![best_effort("us0", 2)],
        removed: vec![("us1".into(), Sid(2))],
        ..Configuration::default()
    };
    configure(&mut world, 6 * MILLISECOND, request).unwrap();
    world.run(2 * SECOND);
    let numbers: Vec<u32> = world.served().iter().map(|(_, number)| *number).collect();
    // One frame that was sent in part on the first channel may be lost.
    assert!(numbers.len() >= 19, "{numbers:?}");
    assert!(numbers.is_sorted());
    assert!(world.plant.is_empty(&world.nodes));
}

#[test]
fn a_complete_request_replaces_a_channel() {
    let mut world = with_channel();
    for number in 1..=20 {
        world.give(MILLISECOND, MODEM, HOST, &frame(number, RF, 1, 1518));
    }
    let mut request = complete();
    request.channels = vec![channel("us1", 1, Profile::docsis_3_1(7))];
    request.flows.truncate(2);
    configure(&mut world, 6 * MILLISECOND, request).unwrap();
    world.run(2 * SECOND);
    assert!(!world.served().is_empty());
    assert!(world.plant.is_empty(&world.nodes));
    // The third flow is gone: its frames wait.
    world.give(2 * SECOND, MODEM, HOST, &frame(99, RF, 3, 100));
    world.run(3 * SECOND);
    assert!(!world.plant.is_empty(&world.nodes));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// Whatever comes and goes meanwhile: no frame twice, those of a queue in order, and nothing is
    /// left under way.
    #[test]
    fn frames_leave_once_and_in_order(
        steps in prop::collection::vec((0u64..4_000_000, 1u16..=4, 0u8..4), 1..60),
        which in prop::bool::ANY,
    ) {
        let profile = if which { Profile::docsis_3_1(15) } else { Profile::named("docsis-3.0").unwrap() };
        let mut world = World::with_channel(8, profile, 1);
        world.add_queues(0, 2..=4);
        let (mut now, mut sent) = (0, 0);
        for (gap, sid, what) in steps {
            now += gap;
            let request = match what {
                0 => Configuration { removed: vec![("us1".into(), Sid(sid))], ..Configuration::default() },
                1 => flows(vec![best_effort("us1", sid)]),
                2 => flows(vec![place("us1", FlowConfig { priority: (now % 8) as u8, ..FlowConfig::best_effort(Sid(sid)) })]),
                _ => flows(vec![unsolicited(sid, 20 * MILLISECOND, MILLISECOND, 1600)]),
            };
            // Removing what is not there is refused, and changes nothing.
            let _ = configure(&mut world, now, request);
            for _ in 0..3 {
                sent += 1;
                world.give(now, MODEM, HOST, &frame(sent, RF, sid as u8, 1000));
            }
        }
        let all = flows((1..=4).map(|sid| best_effort("us1", sid)).collect());
        configure(&mut world, now, all).unwrap();
        world.run(now + 5 * SECOND);
        prop_assert!(world.plant.is_empty(&world.nodes));
        let mut last = [0; 5];
        let hosts = &world.nodes[CMTS as usize].hosts.0;
        for (_, _, bytes) in hosts {
            let queue = usize::from(bytes[6]);
            prop_assert!(number(bytes) > last[queue]);
            last[queue] = number(bytes);
        }
        let unheard = world.nodes[MODEM as usize].device.counters().unheard.frames;
        let accounted = hosts.len() as u64 + world.plant.abandoned() + unheard;
        prop_assert_eq!(accounted, u64::from(sent));
    }
}

#[test]
fn channels_make_no_more_maps_than_a_thread_keeps_up_with() {
    let channels = |count: u8, frames| {
        let profile = Profile::docsis_3_1(frames);
        let named = move |number: u8| channel(&format!("us{number}"), number, profile.clone());
        Configuration {
            channels: (1..=count).map(named).collect(),
            ..Configuration::default()
        }
    };
    // MAPs of 135 us: 7,408 a second each.
    let mut world = World::new(1);
    world
        .plant
        .configure(&mut world.nodes, 0, channels(20, 1))
        .unwrap();
    let refused = world
        .plant
        .configure(&mut world.nodes, 0, channels(21, 1))
        .unwrap_err();
    assert_eq!(
        refused,
        Refused::Precondition(
            "the 21 channels would make 155568 MAPs a second, where 150000 are the most; make MAPs \
             longer, or channels fewer"
                .into()
        )
    );
    // As many channels as there can be, with MAPs of 2 ms.
    let mut world = World::new(1);
    world
        .plant
        .configure(&mut world.nodes, 0, channels(255, 15))
        .unwrap();
}
