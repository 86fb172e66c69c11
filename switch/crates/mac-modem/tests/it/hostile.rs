// SPDX-License-Identifier: Apache-2.0
//! MAPs and calls that nobody should make: no panic, and what is kept stays bounded.

use mac_modem::News;
use mac_wire::{Backoff, Minislot, Profile};
use proptest::prelude::*;

use crate::bench::{Bench, flow};

#[derive(Debug, Clone)]
enum Call {
    Come(u32),
    Wake,
    Read(News),
    Contend(u64),
    Poll(u64),
    Fill(u64, u32),
}

fn calls() -> impl Strategy<Value = Call> {
    let number = || prop_oneof![0..5000_u64, any::<u64>()];
    let count = || prop_oneof![0..3_u32, any::<u32>()];
    let news = (
        (number(), any::<u8>(), any::<u8>()),
        (count(), number(), count(), any::<bool>()),
    )
        .prop_map(
            |((ack, start, end), (grants, granted, polls, pending))| News {
                start: Minislot(ack),
                ack: Minislot(ack),
                backoff: Backoff { start, end },
                grants,
                granted,
                polls,
                pending,
            },
        );
    prop_oneof![
        prop_oneof![64..1600_u32, any::<u32>()].prop_map(Call::Come),
        Just(Call::Wake),
        news.prop_map(Call::Read),
        number().prop_map(Call::Contend),
        number().prop_map(Call::Poll),
        (number(), prop_oneof![0..300_u32, any::<u32>()])
            .prop_map(|(first, minislots)| Call::Fill(first, minislots)),
    ]
}

proptest! {
    #[test]
    fn no_calls_make_it_panic(
        profile in 0..Profile::NAMES.len(),
        fragmentation in any::<bool>(),
        calls in proptest::collection::vec((calls(), 0..3_000_000_u64), 0..60),
    ) {
        let profile = Profile::named(Profile::NAMES[profile]).unwrap();
        let mut bench = Bench::new(Profile { fragmentation, ..profile }, flow());
        let mut came = 0;
        for (call, later) in calls {
            bench.now += later;
            match call {
                Call::Come(length) => {
                    came += 1;
                    bench.come(&[length]);
                }
                Call::Wake => bench.wake(),
                Call::Read(news) => bench.read(news),
                Call::Contend(minislot) => drop(bench.contend(minislot)),
                Call::Poll(minislot) => drop(bench.poll(minislot)),
                Call::Fill(first, minislots) => drop(bench.fill(first, minislots)),
            }
            if let Some(alarm) = bench.station.alarm() {
                prop_assert!(alarm > bench.now);
            }
        }
        let counted = bench.station.statistics();
        let staged = u64::from(bench.station.staged() > 0);
        let gone = counted.frames + counted.given_up + counted.too_long + staged;
        prop_assert_eq!(gone + bench.queue.waiting.len() as u64, came);
    }
}
