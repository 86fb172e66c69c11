// SPDX-License-Identifier: Apache-2.0
//! What holds whatever the link does.

use crate::world::{CLIENT, Fate, Link, MS, SECOND, SERVER, World};
use proptest::prelude::*;
use tcp::{Config, Congestion, Ended, Growth, LossRecovery};

fn config() -> impl Strategy<Value = Config> {
    let congestion = prop_oneof![
        Just(Congestion::Reno),
        Just(Congestion::Cubic),
        Just(Congestion::Ledbat)
    ];
    let recovery = prop_oneof![Just(LossRecovery::Rack), Just(LossRecovery::Sack)];
    (
        congestion,
        recovery,
        any::<(bool, bool, bool, bool, bool)>(),
        1u32..20,
        1u32..3,
        3000u32..200_000,
    )
        .prop_map(
            |(congestion, recovery, flags, initial_window, ack_every, receive_buffer)| Config {
                congestion,
                recovery,
                sack: flags.0,
                timestamps: flags.1,
                hystart: flags.2,
                nagle: flags.3,
                growth: if flags.4 {
                    Growth::PerAck
                } else {
                    Growth::PerSegment
                },
                initial_window,
                ack_every,
                receive_buffer,
                retries: 60,
                syn_retries: 30,
                // So long that no FIN can come when it is over.
                time_wait: 100_000 * SECOND,
                ..Config::linux()
            },
        )
}

/// A link that loses, reorders and duplicates: a seed decides what becomes of
/// each segment (SplitMix64), and how much harm is done at the most.
fn fates() -> impl Strategy<Value = (u64, u8)> {
    (any::<u64>(), 0u8..120)
}

/// The next number that a seed gives.
fn draw(seed: &mut u64) -> u8 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 56) as u8
}

fn fate(number: u8, harm: u8) -> Fate {
    match number {
        _ if number >= harm => Fate::Pass,
        0..60 => Fate::Drop,
        60..80 => Fate::Late(u64::from(number - 50) * MS),
        80..90 => Fate::Late(u64::from(number) * 10 * MS),
        _ => Fate::Twice(u64::from(number - 90) * MS),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// No byte is lost or invented, both ways, and the connection ends; the
    /// world checks windows at each segment.
    #[test]
    fn everything_arrives(
        client in config(),
        server in config(),
        (mut seed, harm) in fates(),
        rate in prop_oneof![Just(0u64), 200_000u64..50_000_000],
        delay in 0u64..100,
        queue in 3_000u64..200_000,
        (up, down) in (0u64..600_000, 0u64..200_000),
    ) {
        let link = Link::new(rate, delay * MS, queue);
        let mut world = World::new(client, server, link).with(move |_| {
            fate(draw(&mut seed), harm)
        });
        world.ends[SERVER].send(down);
        world.ends[CLIENT].send(up);
        world.ends[CLIENT].close();
        world.finish(1_000_000 * SECOND);
        prop_assert_eq!(world.infos()[CLIENT].ended, Some(Ended::Finished));
        prop_assert_eq!(world.infos()[SERVER].ended, Some(Ended::Finished));
        prop_assert_eq!(world.ends[SERVER].delivered(), up);
        prop_assert_eq!(world.ends[CLIENT].delivered(), down);
    }

    /// What a receiver offers bounds the throughput by a window a round trip, to what the window's
    /// scale can tell (RFC 7323 2.2); and all its full segments are used, whatever the window.
    #[test]
    fn a_window_a_round_trip(
        window in 2_048u32..400_000,
        delay in 1u64..200,
        linux in any::<bool>(),
    ) {
        const ROUNDS: u64 = 10;
        let config = if linux { Config::linux() } else { Config::rfc() };
        let config = Config { hystart: false, ..config }
            .with_receive_window(window)
            .acknowledging_every_segment();
        let mut world = World::both(config, Link::new(0, delay * MS, 0));
        world.ends[CLIENT].send(u64::MAX >> 8);
        // The handshake, and doubling from three segments to the window.
        world.run_until(2 * 12 * delay * MS);
        let before = world.ends[SERVER].delivered();
        world.run_until(world.now + 2 * ROUNDS * delay * MS);
        let delivered = world.ends[SERVER].delivered() - before;
        let window = u64::from(window);
        prop_assert!(delivered <= ROUNDS * (window + window / 32_768 + 1), "{delivered}");
        prop_assert!(delivered >= ROUNDS * (window / 1448 * 1448), "{delivered}");
        prop_assert_eq!(world.infos()[SERVER].receive_window, window);
    }

    /// The same run is the same, segment by segment.
    #[test]
    fn repeatable(config in config(), (seed, harm) in fates()) {
        let run = || {
            let mut seed = seed;
            let link = Link::new(5_000_000, 20 * MS, 30_000);
            let mut world = World::both(config.clone(), link).with(move |_| {
                fate(draw(&mut seed), harm)
            });
            world.ends[CLIENT].send(300_000);
            world.run_until(20 * SECOND);
            world.sent.iter().map(|sent| (sent.at, sent.segment)).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}
