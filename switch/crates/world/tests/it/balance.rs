// SPDX-License-Identifier: Apache-2.0
//! Every frame is accounted for: what was sent has been received, was dropped and counted,
//! or is on its way. And the same seed is the same world.

use crate::common::{DEVICES, MILLISECOND, SECOND, Shape, flow, host, world};
use proptest::prelude::*;
use world::{
    Lateness, ProbesOptions, RequestsOptions, TcpOptions, Times, TransferOptions, UdpStreamOptions,
    World,
};

/// Traffic that a test adds.
#[derive(Clone, Debug)]
enum Traffic {
    Stream {
        interval: u64,
        train: u32,
        length: usize,
    },
    Probes {
        interval: u64,
    },
    Transfer {
        size: Option<u64>,
    },
    Requests {
        think: u64,
    },
}

fn traffic() -> impl Strategy<Value = Traffic> {
    prop_oneof![
        (100_000..5_000_000u64, 1..20u32, 64..=1518usize).prop_map(|(interval, train, length)| {
            Traffic::Stream {
                interval,
                train,
                length,
            }
        }),
        (1_000_000..50_000_000u64).prop_map(|interval| Traffic::Probes { interval }),
        prop::option::of(1..500_000u64).prop_map(|size| Traffic::Transfer { size }),
        (1_000_000..50_000_000u64).prop_map(|think| Traffic::Requests { think }),
    ]
}

fn shape() -> impl Strategy<Value = Shape> {
    let late = prop_oneof![Just((0, 0)), Just((70_000, 300_000)), Just((0, 2_000_000))];
    let rates = 1_000_000..40_000_000u64;
    let delays = (
        0..20 * MILLISECOND,
        prop_oneof![Just(0), 0..3 * MILLISECOND],
    );
    (
        any::<u64>(),
        rates,
        3_000..200_000u64,
        delays,
        late.clone(),
        late,
    )
        .prop_map(
            |(seed, rate, queue, (delay, jitter), hosts, devices)| Shape {
                seed,
                rate,
                queue,
                delay,
                jitter,
                late_hosts: Lateness::new(hosts.0, hosts.1).unwrap(),
                late_devices: Lateness::new(devices.0, devices.1).unwrap(),
                ..Shape::default()
            },
        )
}

fn add(world: &mut World, number: usize, traffic: &Traffic) -> u32 {
    let side = number % 2;
    let (source, destination) = (host(side, 1), host(1 - side, 2));
    let flow = flow(&source, &destination, 5000 + number as u16);
    match *traffic {
        Traffic::Stream {
            interval,
            train,
            length,
        } => world.add_udp_stream(
            &flow,
            UdpStreamOptions {
                times: Times::default(),
                frame_length: length,
                interval,
                train,
                on_off: (0, 0),
                at: None,
            },
        ),
        Traffic::Probes { interval } => world.add_probes(
            &flow,
            &ProbesOptions {
                start: None,
                interval,
                count: 1_000_000,
                frame_length: 218,
            },
        ),
        Traffic::Transfer { size } => {
            let options = TransferOptions {
                size,
                ..TransferOptions::default()
            };
            world.add_transfer(&flow, &options)
        }
        Traffic::Requests { think } => world.add_requests(
            &flow,
            &RequestsOptions {
                times: Times::default(),
                request: 400,
                response: 20_000,
                think,
                tcp: TcpOptions::default(),
            },
        ),
    }
    .unwrap()
}

/// Frames inside the devices, or dropped there.
fn in_devices(world: &World) -> u64 {
    let mut frames = 0;
    for name in DEVICES {
        let device = world.device(name).unwrap();
        let state = device.traffic_manager_state(world.now());
        let dropped = device.counters().named();
        let dropped = dropped
            .iter()
            .filter(|(_, meaning, _)| meaning.starts_with("Dropped"));
        frames += dropped.map(|(_, _, traffic)| traffic.frames).sum::<u64>();
        for port in &state.ports {
            frames += port.queue_overflow.frames + port.queued.frames;
        }
    }
    frames
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_frame_is_accounted_for_and_a_seed_repeats(
        shape in shape(),
        traffic in prop::collection::vec(traffic(), 1..5),
        looks in prop::collection::vec(1..120 * MILLISECOND, 1..4),
    ) {
        let run = |looks: &[u64]| {
            let mut world = world(&shape);
            let numbers: Vec<u32> = traffic
                .iter()
                .enumerate()
                .map(|(number, traffic)| add(&mut world, number, traffic))
                .collect();
            for &look in looks {
                let until = world.now() + look;
                world.run_until(until).unwrap();
                let totals = world.totals();
                let gone = totals.received + totals.link_dropped + totals.unconnected;
                assert_eq!(totals.sent, gone + totals.on_links + in_devices(&world));
                for &number in &numbers {
                    let counts = world.counts(number).unwrap();
                    assert!(counts.received_frames <= counts.sent_frames);
                    assert!(counts.received_bytes <= counts.sent_bytes);
                }
            }
            (world.digest(), world.totals())
        };
        let all: u64 = looks.iter().sum();
        // How often somebody looks changes nothing.
        prop_assert_eq!(run(&looks), run(&[all]));
    }
}

#[test]
fn nothing_is_on_its_way_once_traffic_has_ended() {
    let mut world = world(&Shape::default());
    let number = add(
        &mut world,
        0,
        &Traffic::Transfer {
            size: Some(300_000),
        },
    );
    world.run_until(60 * SECOND).unwrap();
    let totals = world.totals();
    assert_eq!(totals.on_links, 0);
    assert_eq!(totals.sent, totals.received + in_devices(&world));
    assert_eq!(world.counts(number).unwrap().payload, 300_000);
}
