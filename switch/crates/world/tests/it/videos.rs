// SPDX-License-Identifier: Apache-2.0
//! Those who watch an adaptive video.

use crate::common::{MILLISECOND, SECOND, Shape, flow, host, world};
use world::{TcpOptions, Times, TransferOptions, VideoOptions, World};

const LADDER: [u64; 7] = [
    300_000, 600_000, 1_000_000, 1_500_000, 2_100_000, 3_000_000, 4_200_000,
];

fn options() -> VideoOptions<'static> {
    VideoOptions {
        times: Times::default(),
        ladder: &LADDER,
        segment: 4 * SECOND,
        buffer: 30 * SECOND,
        safety: 800,
        samples: 3,
        request: 400,
        tcp: TcpOptions::default(),
    }
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    asked: u64,
    came: u64,
    plays: u64,
    rate: u64,
    bytes: u64,
    buffered: u64,
}

/// Segments that are there.
fn segments(world: &World, number: u32) -> Vec<Segment> {
    let columns = world.video_records(number).unwrap();
    let there = columns.came.iter().filter(|&&came| came >= 0).count();
    let found = (0..there).map(|i| Segment {
        asked: columns.asked[i] as u64,
        came: columns.came[i] as u64,
        plays: columns.plays[i] as u64,
        rate: columns.rate[i] as u64,
        bytes: columns.bytes[i] as u64,
        buffered: columns.buffered[i] as u64,
    });
    found.collect()
}

fn alone(rate: u64, seconds: u64) -> (World, u32) {
    let mut world = world(&Shape {
        rate,
        ..Shape::default()
    });
    let (near, far) = (host(0, 1), host(1, 1));
    let number = world.add_video(&flow(&near, &far, 80), &options()).unwrap();
    world.run_until(seconds * SECOND).unwrap();
    (world, number)
}

#[test]
fn a_segment_is_asked_for_when_the_one_before_is_there_until_the_buffer_is_full() {
    let (world, number) = alone(20_000_000, 120);
    let all = segments(&world, number);
    assert_eq!(
        (all[0].rate, all[0].bytes, all[0].asked),
        (300_000, 150_000, 0)
    );
    assert_eq!(all[0].plays, all[0].came);
    // 20 Mbit/s carry the highest rate: 2.1 MB in 0.84 s and the headers.
    assert!(
        all[1..]
            .iter()
            .all(|one| one.rate == 4_200_000 && one.bytes == 2_100_000)
    );
    for two in all.windows(2) {
        let full = two[1].asked - two[0].came;
        assert!(full == 0 || two[1].buffered == 30 * SECOND, "{two:?}");
        assert_eq!(two[1].plays, (two[0].plays + 4 * SECOND).max(two[1].came));
    }
    // From the beginning on nothing is missed, and one goes every 4 s in the end.
    assert!(
        all.windows(2)
            .all(|two| two[1].plays == two[0].plays + 4 * SECOND)
    );
    let last = &all[all.len() - 2..];
    assert_eq!(last[1].asked - last[0].asked, 4 * SECOND);
    let payload = world.counts(number).unwrap().payload;
    assert_eq!(payload, all.iter().map(|one| one.bytes).sum::<u64>());
}

#[test]
fn the_rate_is_what_the_path_carries() {
    // 0.8 x 2.5 Mbit/s less headers, handshakes and acknowledgements: 1.5 Mbit/s, and not 2.1.
    let (world, number) = alone(2_500_000, 200);
    let all = segments(&world, number);
    assert!(all.len() > 20, "{all:?}");
    assert!(all[4..].iter().all(|one| one.rate == 1_500_000), "{all:?}");
    // 0.2 Mbit/s carry not even the lowest one: 4 s of it take more than 6 s, and it stalls.
    let (world, number) = alone(200_000, 200);
    let all = segments(&world, number);
    for two in all.windows(2) {
        let (took, gap) = (two[1].came - two[0].came, two[1].plays - two[0].plays);
        assert_eq!(took, gap);
        assert!((6 * SECOND..7 * SECOND).contains(&took), "{two:?}");
        assert_eq!((two[1].rate, two[1].buffered), (300_000, 4 * SECOND));
    }
}

#[test]
fn a_transfer_beside_it_lowers_the_rate_and_its_end_raises_it() {
    let mut world = world(&Shape {
        rate: 6_000_000,
        queue: 100_000,
        ..Shape::default()
    });
    let (near, far) = (host(0, 1), host(1, 1));
    let number = world.add_video(&flow(&near, &far, 80), &options()).unwrap();
    let times = Times {
        start: Some(60 * SECOND),
        stop: Some(120 * SECOND),
    };
    let transfer = TransferOptions {
        times,
        ..TransferOptions::default()
    };
    let down = flow(&far, &near, 5201);
    world.add_transfer(&down, &transfer).unwrap();
    world.run_until(200 * SECOND).unwrap();
    let all = segments(&world, number);
    let asked = |from: u64, to: u64| {
        let of = all
            .iter()
            .filter(move |one| (from..to).contains(&(one.asked / SECOND)));
        of.map(|one| one.rate).collect::<Vec<u64>>()
    };
    assert!(
        asked(30, 60).iter().all(|&rate| rate == 4_200_000),
        "{all:?}"
    );
    assert!(
        asked(90, 120).iter().all(|&rate| rate < 4_200_000),
        "{all:?}"
    );
    assert!(
        asked(160, 200).iter().all(|&rate| rate == 4_200_000),
        "{all:?}"
    );
}

#[test]
fn it_ends_when_it_is_to_and_leaves_nothing() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let watched = VideoOptions {
        times: Times {
            start: Some(SECOND),
            stop: Some(SECOND + 500 * MILLISECOND),
        },
        ..options()
    };
    let number = world.add_video(&flow(&near, &far, 80), &watched).unwrap();
    world.run_until(3 * SECOND).unwrap();
    let payload = world.counts(number).unwrap().payload;
    let columns = world.video_records(number).unwrap();
    assert_eq!(columns.asked[0], SECOND as i64);
    assert_eq!(columns.came.last(), Some(&-1));
    assert_eq!(columns.plays.last(), Some(&-1));
    world.run_until(10 * SECOND).unwrap();
    assert_eq!(world.counts(number).unwrap().payload, payload);
    assert_eq!(world.totals().on_links, 0);
}

#[test]
fn it_goes_on_where_nearly_everything_is_lost() {
    let mut world = world(&Shape {
        rate: 300_000,
        queue: 1_600,
        ..Shape::default()
    });
    let (near, far) = (host(0, 1), host(1, 1));
    let number = world.add_video(&flow(&near, &far, 80), &options()).unwrap();
    let up = flow(&near, &far, 5202);
    world
        .add_transfer(&up, &TransferOptions::default())
        .unwrap();
    let down = flow(&far, &near, 5203);
    world
        .add_transfer(&down, &TransferOptions::default())
        .unwrap();
    world.run_until(900 * SECOND).unwrap();
    let all = segments(&world, number);
    assert!(all.len() > 5, "{all:?}");
    for two in all.windows(2) {
        assert!(two[1].asked >= two[0].came && LADDER.contains(&two[1].rate));
        assert!(two[1].buffered <= 34 * SECOND);
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let mut says = |options: &VideoOptions<'_>, words: &str| {
        let said = world.add_video(&flow(&near, &far, 80), options);
        let said = said.unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    };
    let ladder = |ladder| VideoOptions {
        ladder,
        ..options()
    };
    says(&ladder(&[]), "1 to 64 rates, not 0");
    says(&ladder(&[1; 65]), "not 65");
    says(&ladder(&[0]), "not 0");
    says(&ladder(&[1, u64::MAX]), "1 to 10000000000 bit/s");
    says(&ladder(&[5, 5]), "5 bit/s is not above 5");
    let change = |change: fn(&mut VideoOptions<'static>)| {
        let mut changed = options();
        change(&mut changed);
        changed
    };
    says(&change(|o| o.segment = 0), "playing time of a segment");
    says(&change(|o| o.buffer = u64::MAX), "at most an hour");
    says(&change(|o| o.segment = 31 * SECOND), "does not fit");
    says(&change(|o| o.safety = 0), "1 to 1000 thousandths");
    says(&change(|o| o.safety = 1001), "not 1001");
    says(&change(|o| o.samples = 0), "the mean of 1 to 1000 segments");
    says(&change(|o| o.request = 0), "a request");
    says(&change(|o| o.tcp.segment = 1449), "not 1449");
    let number = world.add_transfer(&flow(&near, &far, 80), &TransferOptions::default());
    let said = world.video_records(number.unwrap()).unwrap_err();
    assert!(said.to_string().contains("watches no video"));
}
