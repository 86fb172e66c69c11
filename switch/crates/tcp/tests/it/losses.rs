// SPDX-License-Identifier: Apache-2.0
//! How losses are repaired, in both profiles.

use crate::world::{CLIENT, Fate, Link, MS, SECOND, SERVER, World, dropping, is_data, number};
use tcp::{Config, Congestion, LossRecovery, Phase};

/// 10 Mbit/s and 40 ms, with a queue that does not overflow here.
fn link() -> Link {
    Link::new(10_000_000, 20 * MS, 1 << 20)
}

fn rfc_with_sack() -> Config {
    Config::rfc()
}

fn newreno() -> Config {
    Config {
        sack: false,
        ..Config::rfc()
    }
}

fn linux(congestion: Congestion) -> Config {
    Config {
        congestion,
        ..Config::linux()
    }
}

fn all() -> [(&'static str, Config); 4] {
    [
        ("cubic", linux(Congestion::Cubic)),
        ("reno", linux(Congestion::Reno)),
        ("sack", rfc_with_sack()),
        ("newreno", newreno()),
    ]
}

/// RFC 5681 3.2, RFC 6582, RFC 6675, RFC 8985: one loss costs one
/// retransmission and no timeout.
#[test]
fn a_single_loss() {
    for (name, config) in all() {
        let mut world = World::both(config, link()).with(dropping(&[40]));
        world.transfer(300_000, 120 * SECOND);
        let counts = world.infos()[CLIENT].counts;
        assert_eq!(counts.retransmissions, 1, "{name}");
        assert_eq!(counts.recoveries, 1, "{name}");
        assert_eq!(counts.timeouts, 0, "{name}");
    }
}

/// RFC 6675 6 and RFC 7323 appendix G: a least timeout below the round trip adds none to losses that
/// duplicate acknowledgments show, and none where nothing is lost.
#[test]
fn a_round_trip_beyond_the_least_timeout() {
    let one_way = 155 * MS;
    let link = Link::new(100_000_000, one_way, 1 << 20);
    for (name, config) in [("sack", rfc_with_sack()), ("newreno", newreno())] {
        for every in [true, false] {
            for (lost, recoveries) in [(vec![], 0), (vec![300], 1), (vec![300, 301, 305], 1)] {
                let config = config.clone().with_least_timeout(200 * MS);
                let config = if every {
                    config.acknowledging_every_segment()
                } else {
                    config
                };
                let mut world = World::both(config, link).with(dropping(&lost));
                world.transfer(2_000_000, 120 * SECOND);
                let counts = world.infos()[CLIENT].counts;
                let case = format!("{name}, {lost:?}, every segment {every}");
                assert_eq!(counts.timeouts, 0, "{case}");
                assert_eq!(counts.recoveries, recoveries, "{case}");
                assert_eq!(counts.retransmissions, lost.len() as u64, "{case}");
            }
        }
    }
}

/// RFC 6675 6: where segments come slowly, the duplicate acknowledgments do so, too, and the timeout of the
/// last acknowledgment would be over before the retransmission's.
#[test]
fn a_retransmission_starts_the_timer_anew() {
    let link = Link::new(2_000_000, 155 * MS, 1 << 20);
    for (name, config) in [("sack", rfc_with_sack()), ("newreno", newreno())] {
        let config = config
            .acknowledging_every_segment()
            .with_least_timeout(200 * MS)
            .with_receive_window(60_000);
        let mut world = World::both(config, link).with(dropping(&[1500]));
        world.transfer(3_000_000, 120 * SECOND);
        let counts = world.infos()[CLIENT].counts;
        assert_eq!((counts.recoveries, counts.timeouts), (1, 0), "{name}");
    }
}

/// RFC 6298 5: a retransmission that is lost goes again after a timeout, also while others are lost and sent
/// again all the time.
#[test]
fn a_lost_retransmission_in_a_recovery_that_goes_on() {
    for config in [rfc_with_sack(), newreno()] {
        let mut lost = vec![300, 300];
        lost.extend((340..6000).step_by(20));
        let config = config
            .acknowledging_every_segment()
            .with_receive_window(60_000_000);
        let mut world = World::both(config, link()).with(dropping(&lost));
        world.ends[CLIENT].send(1 << 40);
        world.run_until(4 * SECOND);
        let times: Vec<u64> = world
            .client_data()
            .into_iter()
            .filter_map(|(at, number)| (number == 300).then_some(at))
            .collect();
        assert_eq!(times.len(), 3);
        // Of 1 s, or of the round trip of 40 ms and its variation.
        assert!(times[2] - times[1] < 1100 * MS, "{times:?}");
    }
}

/// RFC 6675 4, NextSeg rule 4: where nothing new is to be sent, the last segment does not go again while
/// only the first one's retransmission is on its way.
#[test]
fn no_rescue_before_an_answer() {
    let mut world = World::both(rfc_with_sack(), link()).with(dropping(&[181]));
    world.transfer(290_000, 120 * SECOND);
    let counts = world.infos()[CLIENT].counts;
    assert_eq!((counts.recoveries, counts.timeouts), (1, 0));
    assert_eq!(counts.retransmissions, 1);
}

/// RFC 5681 3.2 step 2, RFC 6675 5 step 4.2: the threshold is half of the flight without the two segments
/// that limited transmit has sent. RFC 5681 3.1, after a timeout: no more than half of all that is
/// outstanding, and no more than half of the window, behind which data have arrived and wait for the hole.
#[test]
fn a_threshold() {
    for config in [rfc_with_sack(), newreno()] {
        for (lost, timeouts) in [(vec![40], 0), (vec![40, 40], 1), (vec![61], 0)] {
            let mut world = World::both(config.clone(), link()).with(dropping(&lost));
            world.ends[CLIENT].send(1 << 40);
            let mut window = 0;
            while world.infos()[CLIENT].phase == Phase::Open {
                window = world.infos()[CLIENT].cwnd;
                assert!(world.step(10 * SECOND));
            }
            assert!(window > 10);
            let info = world.infos()[CLIENT];
            assert_eq!((info.phase, info.ssthresh), (Phase::Recovery, window / 2));
            if timeouts == 0 {
                continue;
            }
            while world.infos()[CLIENT].phase != Phase::Loss {
                assert!(world.step(60 * SECOND));
            }
            let after = world.infos()[CLIENT];
            if config.sack {
                assert!(after.outstanding > 4 * window);
                assert_eq!(after.ssthresh, info.ssthresh / 2);
            } else {
                assert_eq!(after.ssthresh, after.outstanding / 2);
            }
        }
    }
}

/// What the window had room for is in the flight, also if it was sent after a duplicate acknowledgment.
#[test]
fn a_threshold_where_the_application_was_slow() {
    let mut world = World::both(rfc_with_sack(), link()).with(dropping(&[60]));
    world.ends[CLIENT].send(60 * 1448);
    while world.infos()[CLIENT].outstanding > 0 || world.ends[SERVER].delivered() == 0 {
        assert!(world.step(SECOND));
    }
    assert!(world.infos()[CLIENT].cwnd > 20);
    world.ends[CLIENT].send(6 * 1448);
    while world.infos()[CLIENT].sacked == 0 {
        assert!(world.step(SECOND));
    }
    world.ends[CLIENT].send(10 * 1448);
    while world.infos()[CLIENT].phase == Phase::Open {
        assert!(world.step(SECOND));
    }
    assert_eq!(world.infos()[CLIENT].ssthresh, (6 + 10) / 2);
}

/// The same for a burst. NewReno repairs one a round trip (RFC 6582 1).
#[test]
fn a_burst() {
    for (name, config) in all() {
        let lost = [60, 61, 62, 64, 65, 70];
        let mut world = World::both(config, link()).with(dropping(&lost));
        world.transfer(400_000, 120 * SECOND);
        let counts = world.infos()[CLIENT].counts;
        assert_eq!(counts.retransmissions, 6, "{name}");
        assert_eq!(counts.recoveries, 1, "{name}");
        assert_eq!(counts.timeouts, 0, "{name}");
    }
}

/// RFC 8985 7: a loss probe repairs the tail after two round trips; without
/// it a timeout does (RFC 6298).
#[test]
fn a_tail_loss() {
    for (name, config) in all() {
        let rack = config.recovery == LossRecovery::Rack;
        let mut world = World::both(config, link()).with(dropping(&[68, 69]));
        world.ends[CLIENT].send(70 * 1448);
        world.run_until(30 * SECOND);
        assert_eq!(world.ends[SERVER].delivered(), 70 * 1448, "{name}");
        let counts = world.infos()[CLIENT].counts;
        let times: Vec<u64> = world
            .client_data()
            .iter()
            .filter(|(_, number)| *number == 69)
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(times.len(), 2, "{name}");
        let waited = times[1] - times[0];
        if rack {
            assert_eq!((counts.probes, counts.timeouts), (1, 0), "{name}");
            assert!(waited < 300 * MS, "{name}: {waited}");
        } else {
            assert_eq!((counts.probes, counts.timeouts), (0, 1), "{name}");
            assert!(waited >= SECOND, "{name}: {waited}");
        }
    }
}

/// RFC 8985 3.1: a retransmission that is lost is found by time; RFC 6675 and
/// 6582 need a timeout.
#[test]
fn a_lost_retransmission() {
    for (name, config) in all() {
        let rack = config.recovery == LossRecovery::Rack;
        let mut world = World::both(config, link()).with(dropping(&[50, 50]));
        world.transfer(600_000, 120 * SECOND);
        let counts = world.infos()[CLIENT].counts;
        assert_eq!(counts.timeouts, u64::from(!rack), "{name}");
    }
}

/// RFC 5681 4.2, RFC 2018: lost ACKs alone cost nothing.
#[test]
fn lost_acks() {
    for (name, config) in all() {
        let mut count = 0;
        let mut world = World::both(config, link()).with(move |sent| {
            count += u32::from(sent.from == SERVER);
            if sent.from == SERVER && count > 3 && count % 3 != 0 {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        world.transfer(400_000, 120 * SECOND);
        let counts = world.infos()[CLIENT].counts;
        assert_eq!((counts.retransmissions, counts.timeouts), (0, 0), "{name}");
    }
}

/// RFC 6298 5.4, RFC 5681 3.1: a whole flight is lost; the first segment goes
/// after the timeout, the window starts at one.
#[test]
fn a_whole_flight() {
    for (name, config) in all() {
        let mut world = World::both(config, link()).with(|sent| {
            let lost = is_data(sent) && (100 * MS..150 * MS).contains(&sent.at);
            if lost { Fate::Drop } else { Fate::Pass }
        });
        world.transfer(400_000, 120 * SECOND);
        assert!(world.infos()[CLIENT].counts.timeouts <= 2, "{name}");
    }
}

/// RFC 8985 6.2, RFC 4015: reordering by less than a quarter of the round
/// trip is no loss.
#[test]
fn slight_reordering() {
    let mut world = World::both(Config::linux(), link()).with(|sent| {
        if is_data(sent) && number(&sent.segment) == 50 {
            Fate::Late(2 * MS)
        } else {
            Fate::Pass
        }
    });
    world.transfer(400_000, 120 * SECOND);
    let counts = world.infos()[CLIENT].counts;
    assert_eq!((counts.retransmissions, counts.recoveries), (0, 0));
}

/// RFC 3522, RFC 3708, RFC 4015: what was only late is retransmitted once,
/// and then the window returns.
#[test]
fn late_segments_are_undone() {
    let config = Config {
        hystart: false,
        ..Config::linux()
    };
    let mut world = World::both(config, link()).with(|sent| {
        if is_data(sent) && number(&sent.segment) == 50 {
            Fate::Late(25 * MS)
        } else {
            Fate::Pass
        }
    });
    world.transfer(600_000, 120 * SECOND);
    let info = world.infos()[CLIENT];
    assert_eq!(info.counts.retransmissions, 1);
    assert_eq!((info.counts.recoveries, info.counts.undone), (1, 1));
    assert_eq!(info.ssthresh, u32::MAX);
}

/// RFC 5682, RFC 3522: the path is held up for longer than the timeout. Nothing but the
/// first segment, and a probe, goes twice.
#[test]
fn a_spurious_timeout() {
    let config = Config {
        receive_buffer_max: 200_000,
        ..Config::linux()
    };
    let pause = 300 * MS..1300 * MS;
    let fast = Link::new(100_000_000, 20 * MS, 1 << 20);
    let mut world = World::both(config, fast).with(move |sent| {
        if is_data(sent) && pause.contains(&sent.at) {
            Fate::Held(1300 * MS)
        } else {
            Fate::Pass
        }
    });
    world.transfer(6_000_000, 120 * SECOND);
    let counts = world.infos()[CLIENT].counts;
    assert!(counts.timeouts >= 1);
    assert!(counts.undone >= 1, "{counts:?}");
    assert!(
        counts.retransmissions <= counts.timeouts + counts.probes,
        "{counts:?}"
    );
}

/// RFC 6937 3: the window falls to ssthresh during the recovery, not below.
#[test]
fn proportional_rate_reduction() {
    let config = Config {
        congestion: Congestion::Reno,
        ..Config::linux()
    };
    let mut world = World::both(config, link()).with(dropping(&[150]));
    world.ends[CLIENT].send(1 << 20);
    let mut least = u32::MAX;
    while world.step(10 * SECOND) {
        let info = world.infos()[CLIENT];
        if info.phase == Phase::Recovery {
            least = least.min(info.in_flight);
        } else if info.counts.recoveries == 1 {
            assert!(info.cwnd.abs_diff(info.ssthresh) <= 1, "{info:?}");
            assert!(least + 2 >= info.ssthresh, "{least} {info:?}");
            return;
        }
    }
    panic!("there was no recovery");
}
