// SPDX-License-Identifier: Apache-2.0
//! RFC 9293 3.5: how connections begin.

use crate::world::{CLIENT, Fate, Link, MS, SECOND, SERVER, World};
use tcp::{Config, Connection, Ended, Flags, Role, Segment, State};

fn link() -> Link {
    Link::new(0, 10 * MS, 0)
}

/// RFC 9293 3.5: three segments, and both are established.
#[test]
fn three_ways() {
    let mut world = World::both(Config::linux(), link());
    world.run_until(SECOND);
    let flags: Vec<Flags> = world.sent.iter().map(|sent| sent.segment.flags).collect();
    assert_eq!(flags, [Flags::SYN, Flags::SYN.with(Flags::ACK), Flags::ACK]);
    for info in world.infos() {
        assert_eq!(info.state, State::Established);
        assert_eq!(info.srtt, Some(20 * MS));
        assert_eq!((info.cwnd, info.mss), (10, 1448));
    }
}

/// RFC 6298 2.1 and 5.5: a SYN that is lost goes again after 1, 3, 7 s. Linux
/// backs off from the fifth on.
#[test]
fn lost_syns() {
    for (config, times) in [
        (Config::rfc(), [0, 1, 3, 7]),
        (Config::linux(), [0, 1, 2, 3]),
    ] {
        let mut count = 0;
        let mut world = World::both(config, link()).with(move |_| {
            count += 1;
            if count <= 3 { Fate::Drop } else { Fate::Pass }
        });
        world.run_until(20 * SECOND);
        let at: Vec<u64> = world.sent[..4].iter().map(|sent| sent.at).collect();
        assert_eq!(at, times.map(|second| second * SECOND));
        assert_eq!(world.infos()[CLIENT].state, State::Established);
    }
}

/// RFC 5681 3.1, RFC 6298 5.7: after a lost SYN the window is one segment, and
/// the timeout 3 s as long as there is no measurement. RFC 6928 2: one loss
/// does not count; RFC 7323 4: a timestamp measures.
#[test]
fn what_a_lost_syn_says() {
    let bare = Config {
        timestamps: false,
        ..Config::rfc()
    };
    let rfc = Config::rfc();
    let linux = Config::linux();
    for (config, lost, cwnd, srtt, rto) in [
        (bare, 1, 1, None, 3 * SECOND),
        (rfc, 1, 1, Some(20 * MS), SECOND),
        (linux.clone(), 1, 10, Some(20 * MS), 220 * MS),
        (linux, 2, 1, Some(20 * MS), 220 * MS),
    ] {
        let mut count = 0;
        let mut world = World::both(config, link()).with(move |_| {
            count += 1;
            if count <= lost {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        world.run_until(5 * SECOND);
        let info = world.infos()[CLIENT];
        // Timestamps tell milliseconds.
        assert_eq!(info.cwnd, cwnd);
        assert!(info.rto.abs_diff(rto) <= MS, "{}", info.rto);
        let near = |rtt: u64| rtt.abs_diff(20 * MS) <= MS;
        assert_eq!(info.srtt.map(near), srtt.map(near));
    }
}

/// A SYN-ACK that is lost goes again, and so does the last ACK of three.
#[test]
fn lost_answers() {
    for lost in [1, 2] {
        let mut count = 0;
        let mut world = World::both(Config::linux(), link()).with(move |_| {
            count += 1;
            if count == lost + 1 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        world.ends[SERVER].send(5000);
        world.run_until(20 * SECOND);
        assert_eq!(world.infos()[SERVER].state, State::Established, "{lost}");
        assert_eq!(world.ends[CLIENT].delivered(), 5000);
    }
}

/// RFC 9293 3.8.3: nobody answers.
#[test]
fn nobody_there() {
    for (config, last) in [(Config::rfc(), 60 + 3), (Config::linux(), 4 + 63)] {
        let mut world = World::both(config, link()).with(|_| Fate::Drop);
        world.run_until(1000 * SECOND);
        assert_eq!(world.sent.last().unwrap().at, last * SECOND);
        assert_eq!(world.infos()[CLIENT].ended, Some(Ended::TimedOut));
    }
}

/// RFC 9293 3.5 figure 7: both open at the same time.
#[test]
fn simultaneous_open() {
    let port = |port, peer_port| Config {
        port,
        peer_port,
        ..Config::linux()
    };
    let mut ends = [
        Connection::open(port(1, 2), Role::Active, 5, 0),
        Connection::open(port(2, 1), Role::Active, 6, 0),
    ];
    for now in 0..6 {
        let now = now * 10 * MS;
        let mut segments: [Vec<Segment>; 2] = Default::default();
        for (end, segments) in ends.iter_mut().zip(&mut segments) {
            while let Some(segment) = end.next_segment(now) {
                segments.push(segment);
            }
        }
        for (end, segments) in ends.iter_mut().zip(segments.iter().rev()) {
            for segment in segments {
                end.on_segment(now + 5 * MS, segment);
            }
        }
    }
    for end in &ends {
        assert_eq!(end.state(), State::Established);
    }
}

/// RFC 7323 2.2 and 3.2, RFC 2018 2: what one end does not offer, neither uses.
#[test]
fn options_that_one_end_lacks() {
    let bare = Config {
        sack: false,
        timestamps: false,
        receive_buffer: 60_000,
        receive_buffer_max: 60_000,
        ..Config::linux()
    };
    let mut world = World::new(Config::linux(), bare, link());
    world.transfer(1_000_000, 300 * SECOND);
    assert!(
        world.sent[2..]
            .iter()
            .all(|sent| { sent.segment.timestamps.is_none() && sent.segment.sack.is_empty() })
    );
}

/// RFC 9293 3.10.7.3: a RST that answers the SYN.
#[test]
fn refused() {
    let config = Config {
        port: 1,
        peer_port: 2,
        ..Config::linux()
    };
    let mut client = Connection::open(config, Role::Active, 100, 0);
    let syn = client.next_segment(0).unwrap();
    let mut reset = Segment {
        source_port: 2,
        destination_port: 1,
        flags: Flags::RST.with(Flags::ACK),
        ack: syn.seq,
        ..Segment::default()
    };
    client.on_segment(MS, &reset);
    assert_eq!(client.state(), State::SynSent);
    reset.ack = syn.seq + 1;
    client.on_segment(MS, &reset);
    assert_eq!(client.info().ended, Some(Ended::Reset));
}
