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

/// A link that loses, reorders and duplicates: for each segment a number
/// decides.
fn fates() -> impl Strategy<Value = (Vec<u8>, u8)> {
    (prop::collection::vec(any::<u8>(), 1..400), 0u8..120)
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
        (numbers, harm) in fates(),
        rate in prop_oneof![Just(0u64), 200_000u64..50_000_000],
        delay in 0u64..100,
        queue in 3_000u64..200_000,
        (up, down) in (0u64..600_000, 0u64..200_000),
    ) {
        let mut at = 0;
        let link = Link::new(rate, delay * MS, queue);
        let mut world = World::new(client, server, link).with(move |_| {
            at = (at + 1) % numbers.len();
            fate(numbers[at], harm)
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

    /// The same run is the same, segment by segment.
    #[test]
    fn repeatable(config in config(), (numbers, harm) in fates()) {
        let run = || {
            let (numbers, mut at) = (numbers.clone(), 0);
            let link = Link::new(5_000_000, 20 * MS, 30_000);
            let mut world = World::both(config.clone(), link).with(move |_| {
                at = (at + 1) % numbers.len();
                fate(numbers[at], harm)
            });
            world.ends[CLIENT].send(300_000);
            world.run_until(20 * SECOND);
            world.sent.iter().map(|sent| (sent.at, sent.segment)).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}
