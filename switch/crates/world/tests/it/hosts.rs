// SPDX-License-Identifier: Apache-2.0
//! Hosts, links and UDP: when packets are where.

use crate::common::{MILLISECOND, SECOND, Shape, flow, host, world};
use world::{Flow, Lateness, ProbesOptions, Times, UdpStreamOptions};

fn probes(interval: u64, count: u32) -> ProbesOptions {
    ProbesOptions {
        start: Some(MILLISECOND),
        interval,
        count,
        frame_length: 218,
    }
}

fn stream(interval: u64) -> UdpStreamOptions {
    UdpStreamOptions {
        times: Times::default(),
        frame_length: 1000,
        interval,
        train: 1,
        on_off: (0, 0),
        at: None,
    }
}

#[test]
fn a_probe_takes_what_links_and_the_port_take() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let number = world
        .add_probes(&flow(&near, &far, 2112), &probes(20 * MILLISECOND, 3))
        .unwrap();
    world.run_until(SECOND).unwrap();
    let [sent, reached, returned] = world.probe_records(number).unwrap();
    assert_eq!(sent, [1_000_000, 21_000_000, 41_000_000]);
    // 238 bytes with preamble and gap at 1 Gbit/s, twice, and 5 ms between the bridges, whose
    // empty port lets the frame begin at once. What is behind the port waits for its end.
    let one_way = 2 * 238 * 8 + 5 * MILLISECOND as i64;
    for n in 0..3 {
        assert_eq!(reached[n] - sent[n], one_way);
        assert_eq!(returned[n] - reached[n], one_way);
    }
    let counters = world.host_counters(&near).unwrap();
    assert_eq!(
        (counters.sent, counters.received, counters.unwanted),
        (3, 3, 0)
    );
}

#[test]
fn a_late_host_sends_late_and_gets_together_what_came_meanwhile() {
    let late = Lateness::new(MILLISECOND, 2 * MILLISECOND).unwrap();
    let shape = Shape {
        late_hosts: late,
        rate: 0,
        queue: 0,
        ..Shape::default()
    };
    let mut world = world(&shape);
    let (near, far) = (host(0, 1), host(1, 1));
    let number = world
        .add_probes(&flow(&near, &far, 2112), &probes(100_000, 2000))
        .unwrap();
    world.run_until(SECOND).unwrap();
    let [sent, reached, _] = world.probe_records(number).unwrap();
    let late: Vec<i64> = (0..2000)
        .map(|n| sent[n as usize] - 1_000_000 - n * 100_000)
        .collect();
    assert!(late.iter().all(|&late| late >= 0));
    let together = |times: &[i64]| times.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert!(together(sent) > 1000 && together(reached) > 1000);
    assert!(reached.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn streams_send_at_their_rate_in_trains_and_at_given_times() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let recorded = |port| Flow {
        one_in: 1,
        ..flow(&near, &far, port)
    };
    let steady = world
        .add_udp_stream(&recorded(5001), stream(MILLISECOND))
        .unwrap();
    let trains = UdpStreamOptions {
        train: 5,
        times: Times {
            start: Some(100 * MILLISECOND),
            stop: Some(900 * MILLISECOND),
        },
        ..stream(50 * MILLISECOND)
    };
    let trains = world.add_udp_stream(&recorded(5002), trains).unwrap();
    let given = UdpStreamOptions {
        at: Some(vec![5, 5, 700 * MILLISECOND]),
        ..stream(0)
    };
    let given = world.add_udp_stream(&recorded(5003), given).unwrap();
    world.run_until(SECOND).unwrap();
    let counts = world.counts(steady).unwrap();
    assert!((999..=1000).contains(&counts.sent_frames), "{counts:?}");
    assert_eq!(counts.sent_bytes, counts.sent_frames * 1000);
    assert_eq!(counts.payload, counts.received_frames * 954);
    let [sent, received] = world.packet_records(trains).unwrap();
    assert_eq!(sent.len(), 80);
    assert!(sent[0] >= 100_000_000 && sent[79] < 900_000_000);
    assert!(
        sent.chunks(5)
            .all(|train| train.iter().all(|&at| at == train[0]))
    );
    assert!(
        received
            .iter()
            .zip(sent)
            .all(|(received, sent)| received > sent)
    );
    let [sent, _] = world.packet_records(given).unwrap();
    assert_eq!(sent, [5, 5, 700_000_000]);
}

#[test]
fn traffic_that_comes_and_goes_sends_about_its_share() {
    let mut world = world(&Shape::default());
    let (near, far) = (host(0, 1), host(1, 1));
    let options = UdpStreamOptions {
        on_off: (100 * MILLISECOND, 300 * MILLISECOND),
        ..stream(MILLISECOND)
    };
    let number = world
        .add_udp_stream(&flow(&near, &far, 5001), options)
        .unwrap();
    world.run_until(100 * SECOND).unwrap();
    let sent = world.counts(number).unwrap().sent_frames;
    assert!((20_000..30_000).contains(&sent), "{sent}");
}

#[test]
fn what_no_application_wants_is_counted() {
    let mut world = world(&Shape::default());
    let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 9, 9, 0x12, 0x34];
    frame.resize(60, 0);
    world
        .inject("near", 1, vec![(10, frame.clone()), (20, frame)])
        .unwrap();
    world.run_until(SECOND).unwrap();
    let counters = world.host_counters(&host(0, 1)).unwrap();
    assert_eq!((counters.received, counters.unwanted), (2, 2));
}
