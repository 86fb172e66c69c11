// SPDX-License-Identifier: Apache-2.0
//! Applications over TCP.

use crate::common::{BETWEEN, MILLISECOND, SECOND, Shape, flow, host, world};
use world::{
    Acknowledgements, Congestion, Flow, LinkState, MessagesOptions, Profile, RequestsOptions,
    TcpOptions, Times, TransferOptions, World,
};

fn hosts() -> (String, String) {
    (host(0, 1), host(1, 1))
}

fn transfer(world: &mut World, options: &TransferOptions) -> u32 {
    let (near, far) = hosts();
    world
        .add_transfer(&flow(&near, &far, 5201), options)
        .unwrap()
}

#[test]
fn an_endless_transfer_fills_the_port() {
    for congestion in [Congestion::Cubic, Congestion::Reno] {
        for profile in [Profile::Linux, Profile::Rfc] {
            let mut world = world(&Shape::default());
            let tcp = TcpOptions {
                congestion,
                profile,
                ..TcpOptions::default()
            };
            let number = transfer(
                &mut world,
                &TransferOptions {
                    tcp,
                    ..Default::default()
                },
            );
            world.run_until(10 * SECOND).unwrap();
            let goodput = world.counts(number).unwrap().payload * 8 / 10;
            assert!((17_000_000..19_500_000).contains(&goodput), "{goodput}");
            let info = world.transfer_info(number).unwrap();
            assert_eq!((info.state, info.connections), ("ESTABLISHED", 1));
            assert!(info.sender.retransmissions > 0 && info.sender.cwnd > 10_000);
            assert!(info.acknowledged <= world.counts(number).unwrap().payload);
        }
    }
}

#[test]
fn files_come_whole_one_after_the_other() {
    let mut world = world(&Shape::default());
    let options = TransferOptions {
        size: Some(100_000),
        pause: Some(100 * MILLISECOND),
        times: Times {
            start: None,
            stop: Some(20 * SECOND),
        },
        ..TransferOptions::default()
    };
    let number = transfer(&mut world, &options);
    world.run_until(19 * SECOND).unwrap();
    let info = world.transfer_info(number).unwrap();
    assert!(info.connections > 40, "{info:?}");
    let payload = world.counts(number).unwrap().payload;
    let whole = info.connections - 1..=info.connections;
    assert!(whole.contains(&(payload / 100_000)), "{payload}");
    world.run_until(30 * SECOND).unwrap();
    let connections = world.transfer_info(number).unwrap().connections;
    world.run_until(40 * SECOND).unwrap();
    let info = world.transfer_info(number).unwrap();
    assert_eq!((info.connections, info.state), (connections, "CLOSED"));
    assert_eq!(world.totals().on_links, 0);
}

#[test]
fn a_transfer_that_is_stopped_sends_nothing_more() {
    let mut world = world(&Shape::default());
    let times = Times {
        start: Some(SECOND),
        stop: Some(3 * SECOND),
    };
    let number = transfer(
        &mut world,
        &TransferOptions {
            times,
            ..Default::default()
        },
    );
    world.run_until(SECOND - 1).unwrap();
    assert_eq!(world.totals().sent, 0);
    world.run_until(4 * SECOND).unwrap();
    let payload = world.counts(number).unwrap().payload;
    assert!(payload > 4_000_000);
    let sent = world.totals().sent;
    world.run_until(60 * SECOND).unwrap();
    assert_eq!(
        (world.counts(number).unwrap().payload, world.totals().sent),
        (payload, sent)
    );
}

#[test]
fn messages_are_timed_from_being_handed_over_to_being_complete() {
    let mut world = world(&Shape::default());
    let (near, far) = hosts();
    let options = MessagesOptions {
        times: Times::default(),
        size: 10_000,
        interval: 200 * MILLISECOND,
        tcp: TcpOptions::default(),
    };
    let number = world
        .add_messages(&flow(&near, &far, 5201), &options)
        .unwrap();
    world.run_until(10 * SECOND + 100 * MILLISECOND).unwrap();
    let [sent, complete] = world.message_records(number).unwrap();
    assert_eq!((sent.len(), sent[1] - sent[0]), (51, 200_000_000));
    // The first one waits for the handshake, a round trip more, and six frames for the one
    // before them.
    let took = |n: usize| complete[n] - sent[n];
    let first = took(0);
    assert!((18_500_000..19_000_000).contains(&first), "{first}");
    assert!((1..51).all(|n| (5_000_000..12_000_000).contains(&took(n))));
    assert_eq!(world.counts(number).unwrap().payload, 510_000);
}

#[test]
fn a_client_thinks_asks_and_gets_its_response() {
    let mut world = world(&Shape::default());
    let (near, far) = hosts();
    let options = RequestsOptions {
        times: Times {
            start: None,
            stop: Some(50 * SECOND),
        },
        request: 400,
        response: 20_000,
        think: 100 * MILLISECOND,
        tcp: TcpOptions::default(),
    };
    let number = world
        .add_requests(&flow(&near, &far, 80), &options)
        .unwrap();
    world.run_until(60 * SECOND).unwrap();
    let [asked, answered] = world.message_records(number).unwrap();
    // About 20 ms for a response, and 100 ms to think.
    assert!((300..500).contains(&asked.len()), "{}", asked.len());
    assert!(
        asked
            .iter()
            .zip(answered)
            .all(|(asked, answered)| answered > asked)
    );
    assert!(
        asked[1..]
            .iter()
            .zip(answered)
            .all(|(asked, before)| asked >= before)
    );
    let mean = world.counts(number).unwrap().payload / asked.len() as u64;
    assert!((17_000..23_000).contains(&mean), "{mean}");
    let sent = world.totals().sent;
    world.run_until(90 * SECOND).unwrap();
    assert_eq!(world.totals().sent, sent);
}

#[test]
fn samples_are_taken_at_their_interval() {
    let mut world = world(&Shape::default());
    let number = transfer(&mut world, &TransferOptions::default());
    world.sample(&[number], 100 * MILLISECOND).unwrap();
    world.run_until(2 * SECOND).unwrap();
    let columns = world.samples(number).unwrap();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(names[..3], ["time_ns", "received", "cwnd"]);
    let (times, received) = (columns[0].1, columns[1].1);
    assert_eq!(
        (times.len(), times[0], times[19]),
        (20, 100_000_000, 2_000_000_000)
    );
    assert!(received.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(received[19], world.counts(number).unwrap().payload as i64);
}

/// The congestion window whenever a file begins that follows on the same connection, bytes.
fn windows_of_files(pause: u64, least_timeout: Option<u64>) -> Vec<u64> {
    let mut world = world(&Shape::default());
    let options = TransferOptions {
        size: Some(1_000_000),
        pause: Some(pause),
        kept: true,
        tcp: TcpOptions {
            profile: Profile::Rfc,
            congestion: Congestion::Reno,
            initial_window: 3,
            least_timeout,
            ..TcpOptions::default()
        },
        ..TransferOptions::default()
    };
    let number = transfer(&mut world, &options);
    let mut began = Vec::new();
    let (mut before, mut idle) = (0, 0);
    for step in 1..4000 {
        world.run_until(step * 5 * MILLISECOND).unwrap();
        let payload = world.counts(number).unwrap().payload;
        if payload == before {
            idle += 1;
        } else if std::mem::take(&mut idle) * 5 * MILLISECOND >= pause {
            began.push(world.transfer_info(number).unwrap().sender.cwnd);
        }
        before = payload;
    }
    let info = world.transfer_info(number).unwrap();
    assert_eq!((info.connections, info.state), (1, "ESTABLISHED"));
    assert!(began.len() > 4, "{began:?}");
    let files = before / 1_000_000;
    assert!((began.len() as u64..=began.len() as u64 + 1).contains(&files));
    began
}

/// RFC 5681 4.1: after an idle time of a retransmission timeout the window is the initial one again,
/// on the same connection.
#[test]
fn files_follow_on_one_connection_and_begin_slowly_after_a_timeout() {
    // Three segments, and what the first ACKs have added.
    let slowly = |cwnd: &u64| *cwnd <= 8 * 1448;
    assert!(windows_of_files(2 * SECOND, None).iter().all(slowly));
    // A timeout of a second has not passed, one of 200 ms has.
    let pause = 300 * MILLISECOND;
    assert!(!windows_of_files(pause, None).iter().any(slowly));
    let soon = windows_of_files(pause, Some(200 * MILLISECOND));
    assert!(soon.iter().all(slowly), "{soon:?}");
}

/// A window a round trip: 10 ms of propagation, and a round a little longer for what frames take on
/// their way.
#[test]
fn a_receiver_s_window_bounds_what_is_sent() {
    for (window, segments) in [(4096, 2), (16_000, 11)] {
        let mut world = world(&Shape::default());
        let options = TransferOptions {
            tcp: TcpOptions {
                receive_window: Some(window),
                acknowledgements: Acknowledgements::EverySegment,
                ..TcpOptions::default()
            },
            ..TransferOptions::default()
        };
        let number = transfer(&mut world, &options);
        world.run_until(SECOND).unwrap();
        let before = world.counts(number).unwrap().payload;
        world.run_until(11 * SECOND).unwrap();
        let payload = world.counts(number).unwrap().payload - before;
        let rounds = payload as f64 / f64::from(segments * 1448);
        assert!((850.0..1000.0).contains(&rounds), "{window}: {rounds}");
    }
}

/// A cut of an hour loses the connection, and those that follow before it is over. Later ones have source
/// ports 200 apart, and none beyond 65535.
#[test]
fn connections_after_lost_ones_have_ports_that_there_are() {
    let mut world = world(&Shape::default());
    let (near, far) = hosts();
    let flow = Flow {
        source_port: 65_400,
        ..flow(&near, &far, 5201)
    };
    // Little enough that an hour and more takes no time.
    let options = TransferOptions {
        rate: Some(200_000),
        ..TransferOptions::default()
    };
    let number = world.add_transfer(&flow, &options).unwrap();
    world.run_until(SECOND).unwrap();
    world
        .set_link_state("near", BETWEEN, LinkState::Cut)
        .unwrap();
    world.run_until(3600 * SECOND).unwrap();
    world
        .set_link_state("near", BETWEEN, LinkState::Up)
        .unwrap();
    let before = world.counts(number).unwrap().payload;
    world.run_until(4000 * SECOND).unwrap();
    let info = world.transfer_info(number).unwrap();
    assert!(info.connections > 2, "{}", info.connections);
    assert_eq!(info.state, "ESTABLISHED");
    assert!(world.counts(number).unwrap().payload > before);
}

#[test]
fn an_application_keeps_to_its_rate() {
    for (rate, size) in [(1_000_000, None), (8_000_000, Some(1_000_000))] {
        let mut world = world(&Shape::default());
        let options = TransferOptions {
            rate: Some(rate),
            size,
            ..TransferOptions::default()
        };
        let number = transfer(&mut world, &options);
        world.run_until(10 * SECOND).unwrap();
        let payload = world.counts(number).unwrap().payload;
        match size {
            None => assert!((1_200_000..=1_252_000).contains(&payload), "{payload}"),
            Some(size) => {
                assert_eq!(payload, size);
                assert_eq!(world.transfer_info(number).unwrap().state, "CLOSED");
            }
        }
    }
}
