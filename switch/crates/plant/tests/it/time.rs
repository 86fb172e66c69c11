// SPDX-License-Identifier: Apache-2.0
//! Due time: whoever runs a plant late sees the same as who runs it in time, and a plant that is too
//! late jumps.

use crate::common::*;
use plant::mac_wire::Profile;
use proptest::prelude::*;

/// What a plant did: what hosts got and what taps saw.
type Done = Vec<(Vec<(u64, u16, Vec<u8>)>, Vec<Seen>)>;

fn done(world: World) -> Done {
    let nodes = world.nodes.into_iter();
    nodes.map(|node| (node.hosts.0, node.seen)).collect()
}

fn profile(which: usize) -> Profile {
    match which {
        0 => Profile::docsis_3_1(7),
        1 => Profile::docsis_1_1_004(2 * MILLISECOND).unwrap(),
        2 => Profile::named("docsis-3.0").unwrap(),
        _ => Profile::named("cablelabs-2014").unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    /// A shell that wakes at any time, with the frames that came since, is one that wakes for each.
    #[test]
    fn lateness_changes_nothing(
        which in 0usize..4,
        frames in prop::collection::vec((0u64..3_000_000, 1u8..=3, 64usize..1518, prop::bool::ANY), 1..60),
        wakes in prop::collection::vec(1u64..15_000_000, 1..40),
    ) {
        let mut at = MILLISECOND;
        let arrivals: Vec<_> = frames.into_iter().enumerate().map(|(number, frame)| {
            let (gap, queue, length, up) = frame;
            at += gap;
            let (node, port) = if up { (MODEM, HOST) } else { (CMTS, SERVER) };
            let to = if up { RF } else { CMTS_RF };
            (at, node, port, crate::common::frame(number as u32, to, if up { queue } else { 0 }, length))
        }).collect();
        let end = at + 2 * SECOND;

        let mut exact = World::with_channel(9, profile(which), 3);
        for (at, node, port, bytes) in &arrivals {
            // Everything one by one, each at its own time.
            while let Some(due) = exact.plant.next_deadline(&mut exact.nodes) {
                if due >= *at { break; }
                exact.run(due.max(exact.plant.time()));
            }
            exact.give(*at, *node, *port, bytes);
        }
        exact.run(end);

        let mut late = World::with_channel(9, profile(which), 3);
        let mut left = arrivals.iter().peekable();
        let (mut now, mut wakes) = (0, wakes.iter().cycle());
        while now < end {
            now = (now + wakes.next().unwrap()).min(end);
            // As Turn::receive does it: frames that came before now, each at its time.
            let first = left.peek().map(|arrival| arrival.0).filter(|at| *at < now);
            late.plant.wake(&mut late.nodes, now, first);
            while let Some((at, node, port, bytes)) = left.next_if(|arrival| arrival.0 < now) {
                late.give(*at, *node, *port, bytes);
            }
            late.run(now);
        }
        prop_assert_eq!(done(late), done(exact));
    }
}

/// A plant that nobody ran for long: its devices jump together, its channels make no MAPs for the
/// gap, and all frames still get through.
#[test]
fn a_plant_that_is_too_late_jumps_as_a_whole() {
    let mut world = World::with_channel(4, Profile::docsis_3_1(15), 1);
    world.give(MILLISECOND, MODEM, HOST, &frame(1, RF, 1, 1518));
    let stall = 500 * MILLISECOND;
    world
        .plant
        .wake(&mut world.nodes, stall, Some(2 * MILLISECOND));
    let bound = world.nodes[0].device.config().lateness_bound;
    assert_eq!(world.plant.time(), stall - bound);
    for node in &world.nodes {
        let lateness = node.device.lateness();
        assert_eq!(lateness.jumps(), 1);
        assert!((450 * MILLISECOND..stall).contains(&lateness.jumped()));
    }
    world.give(2 * MILLISECOND, MODEM, HOST, &frame(2, RF, 1, 1518));
    world.run(stall);
    let late = world.plant.channels().next().unwrap().maps_late;
    // Of the time that was made up for, and no more.
    let maps = bound / 2_025_000;
    assert!(
        (maps - 1..=maps + 2).contains(&late.count()),
        "{}",
        late.count()
    );
    let (_, most) = late.range().unwrap();
    assert!(most <= bound, "{most}");
    world.run(stall + SECOND);
    let numbers: Vec<u32> = world.served().iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [1, 2]);
    assert!(world.served()[0].0 >= stall - bound);
}

#[test]
fn lateness_of_maps_is_told() {
    let mut world = World::with_channel(4, Profile::docsis_3_1(15), 1);
    for wake in 1..=10 {
        world
            .plant
            .wake(&mut world.nodes, wake * 5 * MILLISECOND, None);
        world.run(wake * 5 * MILLISECOND);
    }
    let look = world.plant.channels().next().unwrap();
    assert_eq!((look.name, look.now), ("us1", 50 * MILLISECOND));
    let late = look.maps_late;
    assert!((20..=26).contains(&late.count()), "{}", late.count());
    let (_, most) = late.range().unwrap();
    assert!((MILLISECOND..=5 * MILLISECOND).contains(&most), "{most}");
    // What it did lately is there to be looked at.
    assert!(look.watch.maps().len() >= 20);
    assert_eq!(look.members.iter().count(), 1);
}
