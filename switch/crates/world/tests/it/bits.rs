// SPDX-License-Identifier: Apache-2.0
//! What the digest depends on, and what it does not.

use crate::common::{MILLISECOND, SECOND, Shape, flow, host, world};
use world::{Lateness, ProbesOptions, TransferOptions, World};

fn shape() -> Shape {
    Shape {
        jitter: MILLISECOND,
        late_hosts: Lateness::new(70_000, 300_000).unwrap(),
        late_devices: Lateness::new(3_000, 40_000).unwrap(),
        ..Shape::default()
    }
}

fn load(world: &mut World) -> Vec<u32> {
    [1, 2]
        .into_iter()
        .map(|number| {
            let (source, destination) = (host(0, number), host(1, number));
            let flow = flow(&source, &destination, 5000 + u16::from(number));
            let transfer = TransferOptions::default();
            world.add_transfer(&flow, &transfer).unwrap()
        })
        .collect()
}

fn probes(world: &mut World, number: u8) -> u32 {
    let (source, destination) = (host(0, number), host(1, number));
    let options = ProbesOptions {
        start: None,
        interval: 20 * MILLISECOND,
        count: 1000,
        frame_length: 218,
    };
    let flow = flow(&source, &destination, 2112);
    world.add_probes(&flow, &options).unwrap()
}

fn digest(shape: &Shape) -> u64 {
    let mut world = world(shape);
    load(&mut world);
    world.run_until(SECOND).unwrap();
    world.digest()
}

#[test]
fn another_seed_is_another_world() {
    let other = Shape { seed: 8, ..shape() };
    assert_eq!(digest(&shape()), digest(&shape()));
    assert_ne!(digest(&shape()), digest(&other));
}

#[test]
fn the_order_in_which_hosts_are_added_does_not_matter() {
    let order = |hosts: Vec<u8>| digest(&Shape { hosts, ..shape() });
    assert_eq!(order(vec![1, 2, 3]), order(vec![3, 1, 2]));
}

#[test]
fn a_host_that_sends_nothing_shifts_no_other_s_draws() {
    let hosts = |hosts: Vec<u8>| digest(&Shape { hosts, ..shape() });
    assert_eq!(hosts(vec![1, 2]), hosts(vec![1, 2, 3, 4]));
}

/// At a port that is never full one host's traffic does not meet another's.
#[test]
fn what_one_application_draws_does_not_depend_on_others() {
    let wide = Shape {
        rate: 0,
        queue: 0,
        jitter: 0,
        late_devices: Lateness::NONE,
        ..shape()
    };
    let run = |others: &[u8]| {
        let mut world = world(&wide);
        let number = probes(&mut world, 1);
        for &other in others {
            probes(&mut world, other);
        }
        world.run_until(SECOND).unwrap();
        world.probe_records(number).unwrap().map(<[i64]>::to_vec)
    };
    let alone = run(&[]);
    assert!(alone[2].iter().filter(|&&time| time > 0).count() > 40);
    assert_eq!(alone, run(&[2]));
}
