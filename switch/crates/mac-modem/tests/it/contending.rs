// SPDX-License-Identifier: Apache-2.0
//! mac.md, "Contention requests: the CM's state machine".

use mac_modem::News;
use mac_wire::{Backoff, FlowConfig, Periodic, Policy, Profile, Service};

use crate::bench::{Bench, flow, paper_004};

fn contender() -> Bench {
    Bench::new(paper_004(), flow())
}

#[test]
fn it_defers_within_the_window_of_the_last_map() {
    let mut bench = contender();
    bench.come(&[1518]);
    assert!(bench.station.deferring().is_some_and(|number| number < 8));
    let mut bench = contender();
    let backoff = Backoff { start: 0, end: 3 };
    bench.read(News {
        backoff,
        ..bench.nothing(0)
    });
    bench.come(&[1518]);
    assert_eq!(bench.station.deferring(), Some(0));
}

#[test]
fn what_is_not_eligible_is_not_asked_for_until_shaping_lets_it() {
    let mut bench = contender();
    bench.queue.shaped = Some(0);
    bench.come(&[1518]);
    assert_eq!(bench.station.deferring(), None);
    assert_eq!(bench.station.alarm(), Some(1_000_000));
    bench.queue.shaped = None;
    bench.now = 1_000_000;
    bench.wake();
    assert!(bench.station.deferring().is_some());
    assert_eq!(bench.station.alarm(), None);
}

#[test]
fn an_ack_time_that_passed_without_grant_or_pending_doubles_the_window() {
    let mut bench = contender();
    bench.come(&[1518]);
    assert!(bench.contend(3).is_some());
    assert_eq!(bench.station.deferring(), None);
    bench.read(bench.nothing(3));
    assert_eq!(bench.station.deferring(), None, "Ack Time is not later");
    bench.read(bench.nothing(4));
    assert!(bench.station.deferring().is_some_and(|number| number < 16));
    assert_eq!(bench.station.statistics().requests_lost, 1);
}

#[test]
fn the_sixteenth_loss_drops_the_head_and_the_next_begins_anew() {
    let mut bench = contender();
    bench.come(&[1518, 64]);
    for attempt in 0..16 {
        assert_eq!(bench.queue.given_up, 0);
        assert!(bench.contend(attempt).is_some());
        bench.read(bench.nothing(attempt + 1));
    }
    assert_eq!(bench.queue.given_up, 1);
    assert_eq!(bench.queue.waiting, [64]);
    assert!(bench.station.deferring().is_some_and(|number| number < 8));
}

#[test]
fn pending_waits_and_does_not_ask_again() {
    let mut bench = contender();
    bench.come(&[1518]);
    bench.contend(3);
    for ack in [10, 90, 170] {
        bench.read(News {
            pending: true,
            ..bench.nothing(ack)
        });
        assert_eq!(bench.station.deferring(), None);
    }
    let asked = bench.station.capacity(96);
    assert_eq!(bench.queue.maps, [(0, asked); 3], "what waits");
    // Then forgotten: it asks again, from the first window on.
    bench.read(bench.nothing(250));
    assert_eq!(
        bench.queue.maps.last(),
        Some(&(0, 0)),
        "and that it does not"
    );
    assert!(bench.station.deferring().is_some_and(|number| number < 8));
    assert_eq!(bench.station.statistics().requests_lost, 0);
}

#[test]
fn a_grant_or_a_poll_ends_contention_and_is_used() {
    let mut bench = contender();
    bench.come(&[1518]);
    assert!(bench.station.deferring().is_some());
    bench.grant(0, 96);
    assert_eq!(bench.queue.maps, [(bench.station.capacity(96), 0)]);
    assert_eq!(bench.station.deferring(), None);
    let (filled, leaving) = bench.fill(100, 96);
    assert_eq!((filled.used, leaving), (1524, vec![(1518, 195)]));

    bench.come(&[1518]);
    bench.read(News {
        polls: 1,
        ..bench.nothing(0)
    });
    assert_eq!(bench.station.deferring(), None);
    assert!(bench.poll(7).is_some());
    assert_eq!(bench.station.oldest().map(|sent| sent.0), Some(7));
}

#[test]
fn who_must_not_contend_waits_for_a_poll() {
    let every = Periodic {
        interval: 10_000_000,
        jitter: 1_000_000,
    };
    let polled = FlowConfig {
        service: Service::RealTimePolling(every),
        ..flow()
    };
    let forbidden = FlowConfig {
        policy: Policy(Policy::BROADCAST_REQUESTS),
        ..flow()
    };
    for flow in [polled, forbidden] {
        let mut bench = Bench::new(paper_004(), flow);
        bench.come(&[1518]);
        assert_eq!(bench.station.deferring(), None);
        assert!(bench.poll(1).is_some());
        assert!(bench.poll(2).is_none(), "one request is outstanding");
        assert_eq!(bench.station.statistics().polls_unused, 1);
    }
}

#[test]
fn a_useless_grant_in_every_map_does_not_keep_it_from_asking() {
    let mut bench = Bench::new(
        Profile {
            piggyback: false,
            ..paper_004()
        },
        flow(),
    );
    bench.come(&[1518]);
    bench.grant(0, 2);
    assert_eq!(bench.station.deferring(), None);
    assert_eq!(bench.fill(100, 2).0.used, 0);
    assert!(bench.station.deferring().is_some());
    bench.grant(0, 2);
    assert!(bench.station.deferring().is_some());
    assert!(bench.contend(200).is_some());
}
