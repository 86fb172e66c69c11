// SPDX-License-Identifier: Apache-2.0
//! A peer, or somebody between, that changes segments: nothing panics,
//! nothing goes beyond the window, and what is kept stays bounded.

use crate::world::{MS, SECOND};
use proptest::prelude::*;
use tcp::{Config, Connection, Flags, Role, Segment, Timestamps};

const SEND_BUFFER: u32 = 100_000;

fn config() -> Config {
    Config {
        port: 1,
        peer_port: 2,
        send_buffer: SEND_BUFFER,
        ..Config::linux()
    }
}

/// An established end that has sent data, and a peer's ACK to be changed.
fn established(profile: Config) -> (Connection, Segment) {
    let mut end = Connection::open(profile, Role::Active, 1000, 0);
    let syn = end.next_segment(0).unwrap();
    let answer = Segment {
        source_port: 2,
        destination_port: 1,
        seq: u32::MAX - 3,
        ack: 1001,
        flags: Flags::SYN.with(Flags::ACK),
        window: 60_000,
        mss: Some(536),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: syn.timestamps.map(|own| Timestamps {
            value: 5,
            echo: own.value,
        }),
        ..Segment::default()
    };
    end.on_segment(20 * MS, &answer);
    end.send(1 << 30);
    while end.next_segment(20 * MS).is_some() {}
    let ack = Segment {
        seq: answer.seq.wrapping_add(1),
        flags: Flags::ACK,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        ..answer
    };
    (end, ack)
}

/// Numbers that are mostly near zero.
fn near() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => Just(0u32),
        4 => 0u32..100_000,
        1 => (0u32..100_000).prop_map(u32::wrapping_neg),
        1 => any::<u32>(),
    ]
}

type Change = (u32, u32, u8, u16, u32, Vec<(u32, u32)>, (u32, u32), u64);

fn change() -> impl Strategy<Value = Change> {
    (
        near(),
        near(),
        prop_oneof![4 => Just(0x10u8), 1 => any::<u8>()],
        any::<u16>(),
        prop_oneof![Just(0u32), 1u32..5000],
        prop::collection::vec((near(), near()), 0..5),
        (near(), near()),
        prop_oneof![0u64..MS, 0u64..SECOND, 0u64..1000 * SECOND],
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn segments_of_a_hostile_peer(
        linux in any::<bool>(),
        changes in prop::collection::vec(change(), 1..60),
    ) {
        let profile = if linux { config() } else { Config { send_buffer: SEND_BUFFER, port: 1, peer_port: 2, ..Config::rfc() } };
        let (mut end, ack) = established(profile);
        let mut now = 20 * MS;
        for (seq, number, flags, window, payload, blocks, stamps, pause) in changes {
            let mut segment = Segment {
                seq: ack.seq.wrapping_add(seq),
                ack: ack.ack.wrapping_add(number),
                flags: Flags(flags),
                window,
                payload,
                ..ack
            };
            for (left, length) in blocks {
                let left = segment.ack.wrapping_add(left);
                segment.sack.push(left, left.wrapping_add(length));
            }
            if let Some(timestamps) = &mut segment.timestamps {
                timestamps.value = timestamps.value.wrapping_add(stamps.0);
                timestamps.echo = timestamps.echo.wrapping_add(stamps.1);
            }
            now += pause;
            end.on_timer(now);
            end.on_segment(now, &segment);
            let mut count = 0;
            while end.next_segment(now).is_some() {
                count += 1;
                prop_assert!(count < 10_000);
            }
            let info = end.info();
            prop_assert!(info.cwnd >= 1);
            prop_assert!(info.outstanding <= SEND_BUFFER / 500);
        }
    }
}

/// RFC 9293 3.10.7.4: an ACK of what was never sent is answered and ignored.
#[test]
fn an_ack_of_nothing() {
    let (mut end, ack) = established(config());
    let before = end.info();
    let wrong = Segment {
        ack: ack.ack.wrapping_add(1 << 20),
        ..ack
    };
    end.on_segment(30 * MS, &wrong);
    let answer = end.next_segment(30 * MS).unwrap();
    assert_eq!((answer.flags, answer.payload), (Flags::ACK, 0));
    assert_eq!(end.info(), before);
}

/// RFC 2018 5: blocks of what was never sent, or that end before they begin,
/// are nothing.
#[test]
fn blocks_of_nothing() {
    let (mut end, ack) = established(config());
    let mut wrong = ack;
    wrong
        .sack
        .push(ack.ack.wrapping_add(1 << 20), ack.ack.wrapping_add(1 << 21));
    wrong
        .sack
        .push(ack.ack.wrapping_add(2000), ack.ack.wrapping_add(1000));
    end.on_segment(30 * MS, &wrong);
    assert_eq!(end.info().sacked, 0);
}

/// RFC 7323 5.3 (PAWS): a segment from the past does not count.
#[test]
fn a_segment_from_the_past() {
    let (mut end, ack) = established(config());
    let mut old = ack;
    old.payload = 100;
    old.timestamps = Some(Timestamps { value: 4, echo: 0 });
    end.on_segment(30 * MS, &old);
    assert_eq!(end.delivered(), 0);
    old.timestamps = ack.timestamps;
    end.on_segment(30 * MS, &old);
    assert_eq!(end.delivered(), 100);
}
