// SPDX-License-Identifier: Apache-2.0
//! Transfers that keep to a rate together.

use crate::common::{MILLISECOND, SECOND, Shape, flow, host, world};
use proptest::prelude::*;
use world::{Congestion, RateLimitId, TcpOptions, Times, TransferOptions, World};

/// Hosts at both bridges, and a port between them that carries more than the tests send.
fn wide(senders: u8) -> World {
    world(&Shape {
        hosts: (1..=senders).collect(),
        rate: 100_000_000,
        queue: 1 << 20,
        ..Shape::default()
    })
}

/// A transfer between hosts of a number, of LEDBAT with room for a window.
fn upload(world: &mut World, number: u8, options: &TransferOptions) -> u32 {
    let (near, far) = (host(0, number), host(1, number));
    let options = TransferOptions {
        tcp: TcpOptions {
            congestion: Congestion::Ledbat,
            initial_window: 2,
            ..TcpOptions::default()
        },
        ..*options
    };
    world
        .add_transfer(&flow(&near, &far, 5201), &options)
        .unwrap()
}

fn sharing(limit: RateLimitId) -> TransferOptions {
    TransferOptions {
        shared_limit: Some(limit),
        ..TransferOptions::default()
    }
}

fn payload(world: &World, number: u32) -> u64 {
    world.counts(number).unwrap().payload
}

#[test]
fn transfers_that_can_send_have_equal_parts() {
    let mut world = wide(5);
    let limit = world.add_rate_limit(4_000_000).unwrap();
    let numbers: Vec<u32> = (1..=5)
        .map(|number| upload(&mut world, number, &sharing(limit)))
        .collect();
    world.run_until(2 * SECOND).unwrap();
    let before: Vec<u64> = numbers.iter().map(|&one| payload(&world, one)).collect();
    world.run_until(12 * SECOND).unwrap();
    let came = numbers.iter().zip(before);
    let came: Vec<u64> = came
        .map(|(&one, before)| payload(&world, one) - before)
        .collect();
    // 10 s of it; a segment of each may be on its way at either end.
    let all: u64 = came.iter().sum();
    assert!(all.abs_diff(5_000_000) <= 5 * 1448, "{came:?}");
    assert!(
        came.iter().all(|one| one.abs_diff(1_000_000) <= 3 * 1448),
        "{came:?}"
    );
}

#[test]
fn what_one_cannot_use_goes_to_the_others() {
    let mut world = wide(3);
    let limit = world.add_rate_limit(4_000_000).unwrap();
    // A window of two segments in a second of round trip: 23 kbit/s of the 1.33 Mbit/s.
    let distant = TransferOptions {
        reply_delay: SECOND,
        tcp: TcpOptions {
            receive_window: Some(2 * 1448),
            ..TcpOptions::default()
        },
        ..sharing(limit)
    };
    let (near, far) = (host(0, 1), host(1, 1));
    let slow = world.add_transfer(&flow(&near, &far, 5201), &distant);
    let slow = slow.unwrap();
    let others = [2, 3].map(|number| upload(&mut world, number, &sharing(limit)));
    world.run_until(2 * SECOND).unwrap();
    let before = others.map(|one| payload(&world, one));
    let before_slow = payload(&world, slow);
    world.run_until(12 * SECOND).unwrap();
    let slow = payload(&world, slow) - before_slow;
    assert!((20_000..=32_000).contains(&slow), "{slow}");
    let came = [0, 1].map(|one| payload(&world, others[one]) - before[one]);
    let all = slow + came[0] + came[1];
    assert!(all.abs_diff(5_000_000) <= 3 * 1448, "{slow} {came:?}");
    assert!(came[0].abs_diff(came[1]) <= 2 * 1448, "{came:?}");
}

#[test]
fn one_that_has_ended_leaves_its_part() {
    let mut world = wide(2);
    let limit = world.add_rate_limit(2_000_000).unwrap();
    let short = TransferOptions {
        times: Times {
            start: None,
            stop: Some(5 * SECOND),
        },
        ..sharing(limit)
    };
    let first = upload(&mut world, 1, &short);
    let second = upload(&mut world, 2, &sharing(limit));
    world.run_until(5 * SECOND).unwrap();
    let (half, before) = (payload(&world, first), payload(&world, second));
    assert!(half.abs_diff(625_000) <= 5 * 1448, "{half}");
    world.run_until(10 * SECOND).unwrap();
    let alone = payload(&world, second) - before;
    assert!(alone.abs_diff(1_250_000) <= 5 * 1448, "{alone}");
}

#[test]
fn a_world_keeps_so_many_limits_and_says_it() {
    let mut world = wide(1);
    let said = world.add_rate_limit(0).unwrap_err().to_string();
    assert!(said.contains("1 to 100000000000 bit/s, not 0"), "{said}");
    for _ in 0..65_536 {
        world.add_rate_limit(1).unwrap();
    }
    let said = world.add_rate_limit(1).unwrap_err().to_string();
    assert!(said.contains("at most 65536 rate limits"), "{said}");
    // One with a rate of its own has another.
    let own = TransferOptions {
        rate: Some(1_000_000),
        ..TransferOptions::default()
    };
    let number = upload(&mut world, 1, &own);
    world.run_until(2 * SECOND).unwrap();
    assert!(payload(&world, number) > 200_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever the links lose, and whoever shares it: nobody has more than the rate, but for
    /// what each may hand over as it begins.
    #[test]
    fn together_they_never_have_more_than_the_rate(
        rate in 50_000u64..8_000_000,
        queue in 3_000u64..60_000,
        between in 300_000u64..20_000_000,
        senders in 1u8..6,
        jitter in 0..3 * MILLISECOND,
        pause in prop::option::of(1..SECOND / 2),
        looks in prop::collection::vec(1..3 * SECOND, 1..5),
    ) {
        let mut world = world(&Shape {
            hosts: (1..=senders).collect(),
            rate: between,
            queue,
            jitter,
            ..Shape::default()
        });
        let limit = world.add_rate_limit(rate).unwrap();
        let numbers: Vec<u32> = (1..=senders).map(|number| {
            let options = TransferOptions {
                size: pause.map(|_| 20_000 * u64::from(number)),
                pause,
                kept: number % 2 == 0 && pause.is_some(),
                ..sharing(limit)
            };
            upload(&mut world, number, &options)
        }).collect();
        let mut now = 0;
        for later in looks {
            now += later;
            world.run_until(now).unwrap();
            let all: u64 = numbers.iter().map(|&one| payload(&world, one)).sum();
            let most = u128::from(rate) * u128::from(now) / 8_000_000_000 + 1448;
            prop_assert!(u128::from(all) <= most, "{all} in {now} ns at {rate}");
        }
    }
}
