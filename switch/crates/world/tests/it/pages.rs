// SPDX-License-Identifier: Apache-2.0
//! Web users, and flows with a round trip of their own.

use crate::common::{MILLISECOND, SECOND, Shape, flow, host, world};
use world::{
    Content, Named, PagesOptions, Pareto, TcpOptions, Timed, Times, TransferOptions, World,
};

fn options(objects: u32, page: u64) -> PagesOptions<'static> {
    PagesOptions {
        times: Times::default(),
        more_servers: Vec::new(),
        content: Content::Named(Named {
            page,
            html: 10_000,
            objects,
            variation: 2000,
            pause: SECOND,
        }),
        connections: 6,
        request: 400,
        tcp: TcpOptions::default(),
    }
}

/// Paper 004's web users (figure 6).
const OF_004: Timed = Timed {
    objects: Pareto {
        mean: 3000,
        shape: 1500,
    },
    gap: Pareto {
        mean: 500 * MILLISECOND,
        shape: 1500,
    },
    segments: Pareto {
        mean: 12_000,
        shape: 1200,
    },
    segment: 1448,
    pause: Pareto {
        mean: 10 * SECOND,
        shape: 2000,
    },
};

/// Times of the pages that were completed, nanoseconds.
fn loaded(world: &World, number: u32) -> Vec<(i64, i64)> {
    let [began, completed] = world.page_records(number).unwrap();
    let both = began.iter().copied().zip(completed.iter().copied());
    both.filter(|(_, end)| *end >= 0).collect()
}

#[test]
fn pages_come_whole_one_after_the_other() {
    let mut world = world(&Shape {
        hosts: vec![1, 2, 3],
        ..Shape::default()
    });
    let (near, far, other) = (host(0, 1), host(1, 1), host(1, 2));
    let options = PagesOptions {
        more_servers: vec![(&other, 80), (&other, 81)],
        times: Times {
            start: Some(SECOND),
            stop: Some(20 * SECOND),
        },
        ..options(20, 500_000)
    };
    let number = world.add_pages(&flow(&near, &far, 80), &options).unwrap();
    world.run_until(19 * SECOND).unwrap();
    let pages = loaded(&world, number);
    // 500 KB at 20 Mbit/s, and at least the round trips of two connections.
    assert!(pages.len() > 10, "{pages:?}");
    for (began, end) in &pages {
        let took = end - began;
        assert!(
            took > 240 * MILLISECOND as i64 && took < SECOND as i64,
            "{pages:?}"
        );
    }
    for two in pages.windows(2) {
        assert_eq!(two[1].0 - two[0].1, SECOND as i64);
    }
    assert_eq!(pages[0].0, SECOND as i64);
    let payload = world.counts(number).unwrap().payload;
    let count = pages.len() as u64;
    assert!((count * 500_000..=(count + 1) * 500_000).contains(&payload));
    world.run_until(30 * SECOND).unwrap();
    let all = world.counts(number).unwrap().payload;
    world.run_until(40 * SECOND).unwrap();
    assert_eq!(world.counts(number).unwrap().payload, all);
    assert_eq!(world.totals().on_links, 0);
}

#[test]
fn sizes_are_the_seed_s_whatever_the_path_is() {
    let first = |seed, rate| {
        let mut world = world(&Shape {
            seed,
            rate,
            ..Shape::default()
        });
        let (near, far) = (host(0, 1), host(1, 1));
        let number = world
            .add_pages(&flow(&near, &far, 80), &options(5, 200_000))
            .unwrap();
        world.run_until(5 * SECOND).unwrap();
        loaded(&world, number)[0]
    };
    let (one, same, other) = (
        first(1, 5_000_000),
        first(1, 5_000_000),
        first(2, 5_000_000),
    );
    assert_eq!(one, same);
    assert_ne!(one, other);
    assert!(first(1, 50_000_000).1 < one.1);
}

/// Pauses and objects of users on a fast path, where what is asked for comes at once.
#[test]
fn users_of_paper_004_keep_to_its_laws() {
    let mut world = world(&Shape {
        rate: 1_000_000_000,
        queue: 1 << 24,
        delay: 0,
        ..Shape::default()
    });
    let (near, far) = (host(0, 1), host(1, 1));
    let numbers: Vec<u32> = (0..20)
        .map(|user| {
            let options = PagesOptions {
                content: Content::Timed(OF_004),
                ..options(0, 10_000)
            };
            let flow = flow(&near, &far, 80 + user);
            world.add_pages(&flow, &options).unwrap()
        })
        .collect();
    world.run_until(1000 * SECOND).unwrap();
    let (mut pauses, mut at_once, mut pages) = (Vec::new(), 0, 0);
    for number in numbers {
        let found = loaded(&world, number);
        for two in found.windows(2) {
            pauses.push((two[1].0 - two[0].1) as f64 / 1e9);
        }
        // A gap between objects is a sixth of a second at least.
        let alone = |page: &&(i64, i64)| page.1 - page.0 < 160 * MILLISECOND as i64;
        at_once += found.iter().filter(alone).count();
        pages += found.len();
        assert!(world.counts(number).unwrap().payload >= 2 * 1448 * found.len() as u64);
    }
    assert!(pages > 1500, "{pages}");
    let shares = |hits: usize, of: usize, law: f64| {
        let (share, bound) = (
            hits as f64 / of as f64,
            5.0 * (law * (1.0 - law) / of as f64).sqrt(),
        );
        assert!((share - law).abs() < bound, "{share} of {of} is not {law}");
    };
    // Scale 5 s: half of the pauses are below 5 * sqrt(2) s, and none is below 5.
    let half = pauses
        .iter()
        .filter(|pause| **pause < 50_f64.sqrt())
        .count();
    shares(half, pauses.len(), 0.5);
    assert!(pauses.iter().all(|pause| *pause >= 5.0));
    // Scale 1: a draw x below 2 is one object with the probability 2 - x, so that a page has one
    // with the integral of (2 - x) 1.5 x^-2.5 from 1 to 2.
    let law = 2.0 * (1.0 - 2_f64.powf(-1.5)) - 3.0 * (1.0 - 2_f64.powf(-0.5));
    shares(at_once, pages, law);
}

#[test]
fn a_page_goes_on_when_connections_are_lost() {
    // Nearly nothing fits into the queue: SYNs and more are lost all the time.
    let mut world = world(&Shape {
        rate: 500_000,
        queue: 3_200,
        ..Shape::default()
    });
    let (near, far) = (host(0, 1), host(1, 1));
    let number = world
        .add_pages(&flow(&near, &far, 80), &options(30, 100_000))
        .unwrap();
    world.run_until(300 * SECOND).unwrap();
    let pages = loaded(&world, number);
    assert!(pages.len() > 5, "{pages:?}");
    let payload = world.counts(number).unwrap().payload;
    assert!(payload >= pages.len() as u64 * 100_000);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let mut says = |options: &PagesOptions<'_>, words: &str| {
        let said = world.add_pages(&flow(&near, &far, 80), options);
        let said = said.unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    };
    says(&options(1001, 1 << 20), "1000 objects at most, not 1001");
    says(
        &options(5, 10_004),
        "10000 and 5 objects of a byte at least",
    );
    says(&options(0, 10_004), "0 objects");
    says(&options(5, 1 << 33), "4294967296 bytes at most");
    let fine = options(5, 20_000);
    let named = |change: fn(&mut Named)| {
        let mut changed = fine.clone();
        if let Content::Named(named) = &mut changed.content {
            change(named);
        }
        changed
    };
    let change = |change: fn(&mut PagesOptions<'static>)| {
        let mut changed = fine.clone();
        change(&mut changed);
        changed
    };
    says(&named(|n| n.html = 0), "its HTML one at least");
    says(&named(|n| n.variation = 10_001), "of 10 at most");
    says(&change(|o| o.connections = 0), "1 to 32 connections");
    says(&change(|o| o.request = 0), "a request");
    says(&named(|n| n.pause = u64::MAX), "an hour at most");
    says(&change(|o| o.more_servers = vec![("nobody", 80)]), "nobody");
    says(
        &change(|o| o.more_servers = vec![("near1", 80)]),
        "cannot ask itself",
    );
    says(&change(|o| o.more_servers = vec![("far2", 0)]), "port 0");
    says(
        &change(|o| o.more_servers = vec![("far2", 80); 16]),
        "16 servers at most",
    );
    says(&change(|o| o.tcp.segment = 1449), "not 1449");
    let timed = |change: fn(&mut Timed)| {
        let mut changed = OF_004;
        change(&mut changed);
        let content = Content::Timed(changed);
        PagesOptions {
            content,
            ..fine.clone()
        }
    };
    says(&timed(|t| t.objects.shape = 1000), "objects with a mean");
    says(&timed(|t| t.segments.mean = 0), "segments with a mean of 0");
    says(&timed(|t| t.gap.mean = 999_999), "1000000 ns at least");
    says(&timed(|t| t.segment = 0), "1 to 65535 bytes");
    says(
        &timed(|t| t.segments.mean = 1_000_000_001),
        "1000000 segments in the mean",
    );
    says(&timed(|t| t.pause.mean = 1 << 42), "an hour at most");
}

#[test]
fn a_flow_can_have_a_round_trip_of_its_own() {
    let mut world = world(&Shape {
        rate: 100_000_000,
        queue: 1 << 20,
        ..Shape::default()
    });
    let (near, far) = (host(0, 1), host(1, 1));
    let number = |world: &mut World, port, reply_delay| {
        let options = TransferOptions {
            rate: Some(1_000_000),
            reply_delay,
            ..TransferOptions::default()
        };
        world
            .add_transfer(&flow(&near, &far, port), &options)
            .unwrap()
    };
    let usual = number(&mut world, 5201, 0);
    let longer = number(&mut world, 5202, 90 * MILLISECOND);
    world.run_until(5 * SECOND).unwrap();
    let srtt = |number| world.transfer_info(number).unwrap().sender.srtt;
    let more = srtt(longer) - srtt(usual);
    assert!(more.abs_diff(90 * MILLISECOND) < MILLISECOND, "{more}");
    let goodput = world.counts(longer).unwrap().payload * 8 / 5;
    assert!((900_000..=1_010_000).contains(&goodput), "{goodput}");
    let options = TransferOptions {
        reply_delay: 61 * SECOND,
        ..TransferOptions::default()
    };
    let said = world.add_transfer(&flow(&near, &far, 5203), &options);
    assert!(said.unwrap_err().to_string().contains("a minute longer"));
}
