// SPDX-License-Identifier: Apache-2.0
//! The receiver's window, delayed ACKs and SACK on the wire.

use crate::world::{CLIENT, Fate, Link, MS, SECOND, SERVER, World, dropping, is_data, number};
use tcp::Config;

/// RFC 5681 4.2, RFC 1122 4.2.3.2: an ACK for two segments once the first
/// ones are over, and a lone one after 40 ms.
#[test]
fn delayed_acks() {
    let config = Config {
        receive_buffer: 1 << 20,
        receive_buffer_max: 1 << 20,
        ack_pushed: false,
        ..Config::linux()
    };
    let mut world = World::both(config, Link::new(10_000_000, 10 * MS, 1 << 20));
    world.ends[CLIENT].send(100 * 1448);
    world.run_until(5 * SECOND);
    let acks = world.sent.iter().filter(|sent| sent.from == SERVER).count();
    // The SYN-ACK, 16 quick ones and half of the other 84 segments.
    assert_eq!(acks, 1 + 16 + 42);
    world.ends[CLIENT].send(1448);
    world.run_until(5 * SECOND + 15 * MS);
    // After a pause ACKs are quick again.
    assert_eq!(world.infos()[CLIENT].outstanding, 1);
    world.run_until(5 * SECOND + 25 * MS);
    assert_eq!(world.infos()[CLIENT].outstanding, 0);
}

/// RFC 1122 4.2.3.2 and RFC 5681 4.2 leave it to a host to delay no ACK: then there is one for
/// each segment, and those behind a hole are not put together either.
#[test]
fn an_ack_for_every_segment() {
    for config in [Config::linux(), Config::rfc()] {
        let config = config.acknowledging_every_segment();
        let mut world =
            World::both(config, Link::new(10_000_000, 10 * MS, 1 << 20)).with(dropping(&[40]));
        world.ends[CLIENT].send(100 * 1448);
        world.run_until(5 * SECOND);
        assert_eq!(world.ends[SERVER].delivered(), 100 * 1448);
        let sent = world.sent.iter();
        let arrived = sent.filter(|sent| is_data(sent)).count() - 1;
        let acks = world.sent.iter().filter(|sent| sent.from == SERVER).count();
        // The SYN-ACK is one more.
        assert_eq!(acks, 1 + arrived);
    }
}

/// The window grows with what arrives, so that it does not limit.
#[test]
fn autotuning() {
    let mut world = World::both(Config::linux(), Link::new(0, 50 * MS, 0));
    world.ends[CLIENT].send(50_000_000);
    world.run_until(1000 * MS);
    // From 10 segments it doubles each 100 ms, up to the 6 MiB in each.
    let delivered = world.ends[SERVER].delivered();
    assert!(delivered > 5_000_000, "{delivered}");
    assert_eq!(world.infos()[SERVER].receive_window, 6 << 20);
}

/// RFC 9293 3.8.6.1: an application that does not read stops the sender; the
/// window is probed, and opens again even if its update is lost.
#[test]
fn a_closed_window() {
    for lose_update in [false, true] {
        let server = Config {
            reads_at_once: false,
            receive_buffer: 20_000,
            receive_buffer_max: 20_000,
            ..Config::linux()
        };
        let mut lost = false;
        let mut world =
            World::new(Config::linux(), server, Link::new(0, 10 * MS, 0)).with(move |sent| {
                let update = sent.from == SERVER && sent.at >= 10 * SECOND && !lost;
                lost |= update;
                if update && lose_update {
                    Fate::Drop
                } else {
                    Fate::Pass
                }
            });
        world.ends[CLIENT].send(50_000);
        world.run_until(10 * SECOND - 1);
        assert_eq!(world.ends[SERVER].unread(), 20_000);
        assert!(world.infos()[CLIENT].counts.timeouts == 0);
        while world.ends[SERVER].delivered() < 50_000 {
            world.run_until(world.now + SECOND);
            world.ends[SERVER].read(1 << 20);
            assert!(world.now < 100 * SECOND);
        }
    }
}

/// RFC 2018 4: the holes are reported; RFC 2883 4: so is what comes twice.
#[test]
fn sack_on_the_wire() {
    let mut drop = dropping(&[20, 22, 24]);
    let mut world =
        World::both(Config::linux(), Link::new(0, 10 * MS, 0)).with(move |sent| match drop(sent) {
            Fate::Pass if is_data(sent) && number(&sent.segment) < 15 => Fate::Twice(5 * MS),
            fate => fate,
        });
    world.ends[CLIENT].send(100 * 1448);
    world.run_until(5 * SECOND);
    assert_eq!(world.ends[SERVER].delivered(), 100 * 1448);
    let blocks = |count| {
        let sent = world.sent.iter();
        sent.filter(|sent| sent.segment.sack.as_slice().len() == count)
            .count()
    };
    assert!(blocks(3) > 0 && blocks(2) > 0 && blocks(1) > 0);
    // Duplicates alone are no reason to reduce.
    assert_eq!(world.infos()[CLIENT].counts.recoveries, 1);
}
