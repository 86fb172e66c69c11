// SPDX-License-Identifier: Apache-2.0
//! Frames that leave through ports without a link are kept for whoever asks.

use crate::common::{SECOND, Shape, primary, set_pipeline, station, world, write};
use world::{DeviceOptions, World, WorldError};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

fn to_station() -> Vec<u8> {
    let mut frame = MAC.to_vec();
    frame.extend([2, 0, 0, 0, 9, 9, 0x12, 0x34]);
    frame.resize(60, 7);
    frame
}

/// A bridge whose ports lead nowhere, and a station behind port 3.
fn bridge() -> World {
    let mut world = World::new(1).unwrap();
    let options = DeviceOptions {
        name: "bridge",
        device_id: 1,
        ports: vec![1, 2, 3],
        ..DeviceOptions::default()
    };
    world.add_device(&options).unwrap();
    primary(&mut world, "bridge", 1);
    let info = set_pipeline(&mut world, "bridge", 1, "../../p4src/build/bench/l2");
    write(&mut world, "bridge", 1, vec![station(&info, MAC, 3)]);
    world
}

#[test]
fn what_leaves_is_there_once_with_its_time_and_its_bytes() {
    let mut world = bridge();
    world.collect("bridge", 3).unwrap();
    let frame = to_station();
    let sent = vec![(10, frame.clone()), (2_000, frame.clone())];
    world.inject("bridge", 1, sent.clone()).unwrap();
    world.run_until(SECOND).unwrap();
    assert_eq!(world.collected("bridge", 3).unwrap(), sent);
    assert_eq!(world.collected("bridge", 3).unwrap(), vec![]);
    assert_eq!(world.totals().unconnected, 2);
}

#[test]
fn too_much_that_nobody_takes_ends_the_world_with_a_sentence() {
    let mut world = bridge();
    world.collect("bridge", 3).unwrap();
    let mut frame = to_station();
    frame.resize(1_514, 7);
    // 1,578 bytes each, with what a frame takes for itself: 64 MiB are 42,527 of them.
    let many = |from: u64, to: u64| (from..to).map(|at| (at, frame.clone())).collect();
    world.inject("bridge", 1, many(0, 42_527)).unwrap();
    world.run_until(SECOND).unwrap();
    world.inject("bridge", 1, many(SECOND, SECOND + 1)).unwrap();
    let failure = world.run_until(2 * SECOND).unwrap_err();
    assert!(matches!(failure, WorldError::Limit(_)));
    assert_eq!(
        failure.to_string(),
        "at 1000000000 ns more than 64 MiB of frames are collected: take them more often"
    );
}

#[test]
fn ports_that_are_not_there_have_links_or_are_not_asked_for() {
    let mut bridge = bridge();
    let words = |result: Result<_, WorldError>| result.unwrap_err().to_string();
    assert_eq!(
        words(bridge.collect("bridge", 9)),
        "device \"bridge\" has no port 9"
    );
    assert_eq!(
        words(bridge.collected("bridge", 2).map(drop)),
        "what leaves through port 2 of device \"bridge\" is not collected"
    );
    let mut linked = world(&Shape::default());
    assert_eq!(
        words(linked.collect("near", 1)),
        "port 1 of device \"near\" has a link, which takes its frames"
    );
}
