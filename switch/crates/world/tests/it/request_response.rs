// SPDX-License-Identifier: Apache-2.0
//! Requests over UDP, in turn: when they are made, answered, and given up.

use crate::common::{MILLISECOND, SECOND, Shape, flow, host, world};
use world::{Flow, RequestResponseOptions, Times, UdpStreamOptions, World};

const START: u64 = 10 * MILLISECOND;

fn options(stop: u64, timeout: u64) -> RequestResponseOptions {
    RequestResponseOptions {
        times: Times {
            start: Some(START),
            stop: Some(stop),
        },
        timeout,
        frame_lengths: [64, 64],
    }
}

fn asked(world: &mut World, options: &RequestResponseOptions) -> u32 {
    let (near, far) = (host(0, 1), host(1, 1));
    let flow = flow(&near, &far, 5300);
    world.add_request_response(&flow, options).unwrap()
}

/// 84 bytes with preamble and gap at 1 Gbit/s, twice, and 5 ms between the bridges.
const ONE_WAY: i64 = 2 * 84 * 8 + 5 * MILLISECOND as i64;

#[test]
fn the_next_request_follows_the_reply() {
    let mut world = world(&Shape::default());
    let stop = START + 100 * MILLISECOND;
    let number = asked(&mut world, &options(stop, SECOND));
    world.run_until(SECOND).unwrap();
    let [made, answered] = world.round_trip_records(number).unwrap();
    assert_eq!(made[0], START as i64);
    assert!(made.windows(2).all(|pair| pair[1] - pair[0] == 2 * ONE_WAY));
    for (made, answered) in made.iter().zip(answered) {
        assert_eq!(answered - made, 2 * ONE_WAY);
    }
    // The last one was made before the end, and its reply came after that.
    assert!(*made.last().unwrap() < stop as i64 && *answered.last().unwrap() >= stop as i64);
    assert_eq!(made.len(), 10);
    assert_eq!(world.counts(number).unwrap().payload, 10 * 18);
}

#[test]
fn a_late_reply_belongs_to_its_own_request() {
    let mut world = world(&Shape::default());
    let timeout = 4 * MILLISECOND;
    let number = asked(&mut world, &options(START + 40 * MILLISECOND, timeout));
    world.run_until(SECOND).unwrap();
    let [made, answered] = world.round_trip_records(number).unwrap();
    assert_eq!(made.len(), 10);
    for (made, answered) in made.iter().zip(answered) {
        assert_eq!(answered - made, 2 * ONE_WAY);
    }
    // Nobody waits for a reply that comes after its timeout: it moves no request.
    let apart = made.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(apart.into_iter().all(|apart| apart == timeout as i64));
}

#[test]
fn a_lost_request_is_given_up_after_the_timeout() {
    let mut world = world(&Shape {
        queue: 6_000,
        ..Shape::default()
    });
    let (near, far) = (host(0, 2), host(1, 2));
    // Twice what the port between the bridges carries, half of the time.
    let stream = UdpStreamOptions {
        times: Times::default(),
        frame_length: 1000,
        interval: 200_000,
        train: 1,
        on_off: (100 * MILLISECOND, 100 * MILLISECOND),
        at: None,
    };
    let flooded = Flow {
        port: 9,
        ..flow(&near, &far, 9)
    };
    world.add_udp_stream(&flooded, stream).unwrap();
    let timeout = 50 * MILLISECOND;
    let number = asked(&mut world, &options(10 * SECOND, timeout));
    world.run_until(11 * SECOND).unwrap();
    let [made, answered] = world.round_trip_records(number).unwrap();
    let lost = answered.iter().filter(|time| **time < 0).count();
    assert!(lost > 10 && lost < made.len(), "{lost} of {}", made.len());
    for (at, next) in made.iter().zip(&made[1..]).enumerate() {
        let waited = if answered[at] < 0 {
            timeout as i64
        } else {
            answered[at] - next.0
        };
        assert_eq!(next.1 - next.0, waited);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let fine = flow(&near, &far, 5300);
    let words = |result: Result<u32, _>| match result {
        Ok(number) => panic!("application {number}"),
        Err(error) => format!("{error}"),
    };
    let said = words(world.add_request_response(&fine, &options(SECOND, 0)));
    assert!(said.contains("a timeout of requests"), "{said}");
    let short = RequestResponseOptions {
        frame_lengths: [64, 63],
        ..options(SECOND, SECOND)
    };
    let said = words(world.add_request_response(&fine, &short));
    assert!(said.contains("64 to 1518 bytes"), "{said}");
    let said = words(world.add_request_response(&fine, &options(START, SECOND)));
    assert!(said.contains("cannot stop"), "{said}");
    assert!(world.round_trip_records(0).is_err());
}
