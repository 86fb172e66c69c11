// SPDX-License-Identifier: Apache-2.0
//! Faults from outside: whatever they are, every frame is counted once, and the same seed is the
//! same world.

use crate::common::{
    BETWEEN, DEVICES, MILLISECOND, SECOND, Shape, flow, host, set_pipeline, world,
};
use proptest::prelude::*;
use world::{
    Books, Departure, Lateness, LinkConfig, LinkState, Times, TransferOptions, UdpStreamOptions,
    World, WorldError,
};

/// Something that a test does to a world.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Link(usize, u16, LinkState),
    Slow(usize, u16, u64),
    Stop(usize),
    Kill(usize),
    Late(u64),
}

fn fault() -> impl Strategy<Value = Fault> {
    let states = prop_oneof![
        Just(LinkState::Up),
        Just(LinkState::Held),
        Just(LinkState::Cut)
    ];
    // The port between the bridges, and those of the first host.
    let ports = prop_oneof![Just(BETWEEN), Just(BETWEEN + 1)];
    prop_oneof![
        (0..2usize, ports.clone(), states).prop_map(|(side, port, to)| Fault::Link(side, port, to)),
        (0..2usize, ports, 0..30 * MILLISECOND)
            .prop_map(|(side, port, by)| Fault::Slow(side, port, by)),
        (0..2usize).prop_map(Fault::Stop),
        (0..2usize).prop_map(Fault::Kill),
        (0..40 * MILLISECOND).prop_map(Fault::Late),
    ]
}

/// Two seconds of datagrams and a TCP transfer through the narrow port.
fn busy(shape: &Shape) -> World {
    let mut world = world(shape);
    let (source, destination) = (host(0, 1), host(1, 1));
    let stream = UdpStreamOptions {
        times: Times::default(),
        frame_length: 1000,
        interval: 500_000,
        train: 3,
        on_off: (0, 0),
        at: None,
    };
    world
        .add_udp_stream(&flow(&source, &destination, 5000), stream)
        .unwrap();
    let back = flow(&destination, &source, 5001);
    world
        .add_transfer(&back, &TransferOptions::default())
        .unwrap();
    world
}

/// The sums of frames over all devices and over the lives that have ended.
fn check(world: &World, ended: &[Books]) {
    let now: Vec<Books> = DEVICES.iter().map(|d| world.books(d).unwrap()).collect();
    for books in now.iter().chain(ended) {
        assert!(books.balance(), "{books:?}");
    }
    let all = || now.iter().chain(ended);
    let (sent, received): (u64, u64) = (
        all().map(|books| books.sent).sum(),
        all().map(|books| books.received).sum(),
    );
    let totals = world.totals();
    assert_eq!(
        totals.sent + sent,
        totals.received
            + received
            + totals.link_dropped
            + totals.unconnected
            + totals.lost
            + totals.on_links,
        "{totals:?}"
    );
    let died: u64 = ended.iter().map(|books| books.held).sum();
    assert_eq!(totals.lost_inside, died);
}

fn suffer(shape: &Shape, faults: &[(Fault, u64)]) -> (u64, usize) {
    let mut world = busy(shape);
    let mut ended = Vec::new();
    for &(fault, length) in faults {
        let until = world.now() + length;
        match fault {
            Fault::Link(side, port, state) => {
                world.set_link_state(DEVICES[side], port, state).unwrap();
                world.run_until(until).unwrap();
            }
            Fault::Slow(side, port, delay) => {
                let slow = LinkConfig {
                    rate: 10_000_000,
                    delay,
                    jitter: delay / 2,
                };
                let before = world.set_link(DEVICES[side], port, slow).unwrap();
                world.run_until(until).unwrap();
                world.set_link(DEVICES[side], port, before).unwrap();
            }
            Fault::Stop(side) => {
                world.stop_device(DEVICES[side]).unwrap();
                world.run_until(until).unwrap();
                check(&world, &ended);
                world.continue_device(DEVICES[side]).unwrap();
            }
            Fault::Kill(side) => {
                let device = DEVICES[side];
                world.run_until(world.now()).unwrap();
                let books = world.books(device).unwrap();
                assert!(world.kill_device(device).unwrap() >= books.held);
                world.run_until(until).unwrap();
                world.start_device(device).unwrap();
                // What died is no longer the device's.
                ended.push(books);
                assert_eq!(world.books(device).unwrap(), Books::default());
            }
            Fault::Late(by) => {
                let late = Lateness::new(by / 4, by).unwrap();
                world.set_host_lateness(&host(0, 1), late).unwrap();
                world.run_until(until).unwrap();
            }
        }
        check(&world, &ended);
    }
    world.run_until(world.now() + SECOND).unwrap();
    check(&world, &ended);
    (world.digest(), ended.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_the_faults_every_frame_is_counted_once_and_a_seed_is_a_world(
        seed in any::<u64>(),
        late in prop_oneof![Just(0), Just(2 * MILLISECOND)],
        faults in prop::collection::vec((fault(), 0..200 * MILLISECOND), 1..12),
    ) {
        let shape = Shape {
            seed,
            hosts: vec![1],
            late_devices: Lateness::new(late / 4, late).unwrap(),
            ..Shape::default()
        };
        prop_assert_eq!(suffer(&shape, &faults), suffer(&shape, &faults));
    }
}

#[test]
fn a_cut_link_loses_what_it_has_and_gets_and_a_held_one_keeps_it() {
    let mut world = busy(&Shape::default());
    world.run_until(100 * MILLISECOND).unwrap();
    let received = |world: &World| world.host_counters("far1").unwrap().received;

    world
        .set_link_state("near", BETWEEN, LinkState::Held)
        .unwrap();
    let (before, lost) = (received(&world), world.totals().lost);
    world.run_until(200 * MILLISECOND).unwrap();
    assert_eq!((received(&world), world.totals().lost), (before, lost));
    world
        .set_link_state("near", BETWEEN, LinkState::Up)
        .unwrap();
    // 100 ms at 20 Mbit/s come at once, which takes 2 ms on the far host's link of 1 Gbit/s; the
    // bucket alone would send 13 frames in 5 ms.
    world.run_until(205 * MILLISECOND).unwrap();
    assert!(received(&world) >= before + 200, "{}", received(&world));
    assert_eq!(world.totals().lost, lost);

    world
        .set_link_state("far", BETWEEN, LinkState::Cut)
        .unwrap();
    let before = received(&world);
    world.run_until(300 * MILLISECOND).unwrap();
    assert_eq!(received(&world), before);
    assert!(world.totals().lost >= lost + 200);
    world.set_link_state("far", BETWEEN, LinkState::Up).unwrap();
    world.run_until(400 * MILLISECOND).unwrap();
    assert!(received(&world) > before + 200);
}

#[test]
fn a_stopped_device_forwards_late_and_its_time_jumps() {
    let mut world = busy(&Shape::default());
    world.run_until(100 * MILLISECOND).unwrap();
    world.stop_device("near").unwrap();
    let sent = world.books("near").unwrap().sent;
    world.run_until(400 * MILLISECOND).unwrap();
    assert_eq!(world.books("near").unwrap().sent, sent);
    let words = world
        .call(
            "near",
            "/docsis.tm.v1.TrafficManager/Get",
            bytes::Bytes::new(),
        )
        .unwrap_err()
        .to_string();
    // The message is quoted in the error's words.
    assert!(words.contains(r#"device \"near\" is stopped"#), "{words}");
    world.continue_device("near").unwrap();
    let device = world.device("near").unwrap();
    assert_eq!(device.lateness().jumps(), 1);
    world.run_until(500 * MILLISECOND).unwrap();
    assert!(world.books("near").unwrap().sent > sent);
    check(&world, &[]);
}

#[test]
fn a_device_that_died_and_was_started_has_no_pipeline_until_it_gets_one() {
    let mut world = busy(&Shape::default());
    world.run_until(100 * MILLISECOND).unwrap();
    let ended = world.books("near").unwrap();
    assert!(world.kill_device("near").unwrap() > 0);
    let words = world.kill_device("near").unwrap_err().to_string();
    assert_eq!(words, "device \"near\" is dead already");
    world.run_until(200 * MILLISECOND).unwrap();
    assert!(
        world.device("near").unwrap().pipeline().is_some(),
        "as it died"
    );
    world.start_device("near").unwrap();
    assert!(world.device("near").unwrap().pipeline().is_none());
    world.run_until(300 * MILLISECOND).unwrap();
    let books = world.books("near").unwrap();
    assert_eq!(books.dropped, books.received);
    check(&world, &[ended]);
    // Whoever was its primary controller is not.
    crate::common::primary(&mut world, "near", 1);
    set_pipeline(&mut world, "near", 1, "../../p4src/build/bench/l2");
    check(&world, &[ended]);
}

#[test]
fn departures_are_those_of_the_port_and_are_given_once() {
    let mut world = busy(&Shape::default());
    assert!(world.take_departures("near").unwrap().is_empty());
    world.run_until(SECOND).unwrap();
    let sent = world.books("near").unwrap().sent;
    let left = world.take_departures("near").unwrap();
    assert_eq!(left.len() as u64, sent);
    assert!(left.is_sorted_by_key(|one| one.at));
    let through: Vec<&Departure> = left.iter().filter(|one| one.port == BETWEEN).collect();
    let bytes: u64 = through.iter().map(|one| u64::from(one.length)).sum();
    // 20 Mbit/s for a second, and one frame.
    assert!((2_400_000..=2_501_518).contains(&bytes), "{bytes}");
    assert!(through.iter().all(|one| one.queue == 0));
    assert!(world.take_departures("near").unwrap().is_empty());
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let mut world = busy(&Shape::default());
    let said = |result: Result<(), WorldError>| result.unwrap_err().to_string();
    assert_eq!(
        said(world.set_link_state("near", 9, LinkState::Cut)),
        "port 9 of device \"near\" has no link"
    );
    assert_eq!(
        said(world.continue_device("far")),
        "device \"far\" is not stopped"
    );
    assert_eq!(
        said(world.start_device("far")),
        "device \"far\" is not dead"
    );
    world.stop_device("far").unwrap();
    assert_eq!(
        said(world.stop_device("far")),
        "device \"far\" is stopped already"
    );
    assert!(said(world.set_host_lateness("nobody", Lateness::NONE)).contains("no host"));
}
