// SPDX-License-Identifier: Apache-2.0
//! Throughput, slow start and what the queue sees.

use crate::world::{CLIENT, Link, MS, SECOND, SERVER, World, dropping};
use tcp::{Config, Congestion};

const RATE: u64 = 20_000_000;
const RTT: u64 = 40 * MS;

/// 20 Mbit/s, 40 ms, and a queue of as many bandwidth-delay products.
fn link(products: u64) -> Link {
    let product = RATE / 8 * RTT / SECOND;
    Link::new(RATE, RTT / 2, product * products)
}

fn with(congestion: Congestion, config: Config) -> Config {
    Config {
        congestion,
        ..config
    }
}

/// Bits per second of data over the seconds from 5 to 35.
fn goodput(config: Config, link: Link) -> (u64, World) {
    let mut world = World::both(config, link);
    world.ends[CLIENT].send(1 << 40);
    world.run_until(5 * SECOND);
    let before = world.ends[SERVER].delivered();
    world.run_until(35 * SECOND);
    let bytes = world.ends[SERVER].delivered() - before;
    (bytes * 8 / 30, world)
}

/// RFC 9438 5: one flow fills a link whose queue is a bandwidth-delay product.
#[test]
fn cubic_fills_the_link() {
    let (goodput, world) = goodput(Config::linux(), link(1));
    // Of 1538 bytes that a segment takes here with FCS, 1448 are data.
    let most = RATE * 1448 / 1518;
    assert!(goodput > most * 95 / 100, "{goodput} of {most}");
    assert!(world.overflows > 0);
    assert_eq!(world.infos()[CLIENT].counts.timeouts, 0);
}

/// RFC 5681: the same for Reno, in both profiles.
#[test]
fn reno_fills_the_link() {
    for config in [with(Congestion::Reno, Config::linux()), Config::rfc()] {
        let (goodput, world) = goodput(config, link(1));
        let most = RATE * 1448 / 1518;
        assert!(goodput > most * 95 / 100, "{goodput} of {most}");
        assert_eq!(world.infos()[CLIENT].counts.timeouts, 0);
    }
}

/// RFC 9406 4.2: HyStart leaves slow start before the queue overflows;
/// without it slow start fills the queue.
#[test]
fn hystart_spares_the_queue() {
    for hystart in [true, false] {
        let config = Config {
            hystart,
            ..Config::linux()
        };
        let mut world = World::both(config, link(2));
        world.ends[CLIENT].send(1 << 40);
        while world.infos()[CLIENT].ssthresh == u32::MAX {
            assert!(world.step(10 * SECOND));
        }
        assert_eq!(world.overflows == 0, hystart);
        let cwnd = world.infos()[CLIENT].cwnd;
        if hystart {
            // The path holds 66 segments.
            assert!((33..=110).contains(&cwnd), "{cwnd}");
        }
    }
}

/// RFC 6817 2.4: alone it fills the link, and the queue holds 100 ms and no
/// more.
#[test]
fn ledbat_keeps_the_delay_at_its_target() {
    for profile in [Config::linux(), Config::rfc()] {
        let (goodput, world) = goodput(with(Congestion::Ledbat, profile), link(10));
        let most = RATE * 1448 / 1518;
        assert!(goodput > most * 90 / 100, "{goodput} of {most}");
        let srtt = world.infos()[CLIENT].srtt.unwrap();
        assert!((RTT + 70 * MS..RTT + 115 * MS).contains(&srtt), "{srtt}");
        assert_eq!(world.overflows, 0);
    }
}

/// RFC 5681 3.1: slow start doubles in a round trip with an ACK for each
/// segment, and grows by half with one for two; RFC 3465 doubles in any case.
#[test]
fn slow_start() {
    let rfc = |ack_every| Config {
        ack_every,
        initial_window: 4,
        ..Config::rfc()
    };
    let linux = Config {
        ack_every: 1,
        ..Config::linux()
    };
    for (config, expected) in [(rfc(1), 32), (rfc(2), 13), (linux, 80)] {
        let mut world = World::both(config, Link::new(0, 20 * MS, 0));
        world.ends[CLIENT].send(1 << 30);
        // The handshake, and three round trips.
        world.run_until(165 * MS);
        assert_eq!(world.infos()[CLIENT].cwnd, expected);
    }
}

/// RFC 5681 4.1: after an idle time the window restarts.
#[test]
fn restart_after_idle() {
    for (config, expected) in [(Config::linux(), 10), (Config::rfc(), 3)] {
        let mut world = World::both(config, link(4));
        world.run_until(SECOND);
        world.ends[CLIENT].send(200_000);
        world.run_until(5 * SECOND);
        assert!(world.infos()[CLIENT].cwnd > 20);
        world.run_until(60 * SECOND);
        world.ends[CLIENT].send(200_000);
        let before = world.sent.len();
        world.run_until(60 * SECOND + 1);
        assert_eq!(world.sent.len() - before, expected);
    }
}

/// RFC 7661 4.3: a window that is not used does not grow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut world = World::both(Config::linux(), link(4));
    for second in 1..20 {
        world.run_until(second * SECOND / 10);
        world.ends[CLIENT].send(1000);
    }
    assert!(world.infos()[CLIENT].cwnd <= 10);
}

/// An application hands over a segment at a time, and no other while one waits: a window that is
/// too small for its rate holds it back, and so it grows until it is not.
#[test]
fn a_window_grows_that_holds_back_an_application_with_a_rate() {
    for congestion in [Congestion::Reno, Congestion::Cubic] {
        for base in [Config::linux(), Config::rfc()] {
            let config = with(congestion, base);
            // The first window loses one, so slow start is over long before fifteen segments.
            let mut world = World::both(config, link(4)).with(dropping(&[3]));
            world.run_until(SECOND);
            world.ends[CLIENT].send(10 * 1448);
            world.run_until(2 * SECOND);
            let small = world.infos()[CLIENT].cwnd;
            assert!(small < 11, "{small}");
            // Fifteen in a round trip.
            for tick in 0..15 * 25 * 10 {
                world.run_until(2 * SECOND + tick * RTT / 15);
                if world.ends[CLIENT].unsent() < 1448 {
                    world.ends[CLIENT].send(1448);
                }
            }
            let grown = world.infos()[CLIENT].cwnd;
            assert!((15..40).contains(&grown), "{congestion:?}: {grown}");
        }
    }
}

/// RFC 896 and Minshall: small pieces wait for the last one's ACK, and not at
/// all without Nagle's rule.
#[test]
fn small_pieces() {
    for (nagle, segments) in [(true, 2), (false, 5)] {
        let config = Config {
            nagle,
            ..Config::linux()
        };
        let mut world = World::both(config, link(4));
        world.run_until(SECOND);
        for piece in 0..5 {
            world.ends[CLIENT].send(100);
            world.run_until(SECOND + piece * MS);
        }
        world.run_until(2 * SECOND);
        assert_eq!(world.client_data().len(), segments);
        assert_eq!(world.ends[SERVER].delivered(), 500);
    }
}
