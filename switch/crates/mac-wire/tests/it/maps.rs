// SPDX-License-Identifier: Apache-2.0
//! MAPs come back from their bytes as they were.

use mac_wire::{Backoff, Element, Map, Minislot, Sid, Usage};
use proptest::prelude::*;

const CMTS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ANY_MINISLOT: std::ops::Range<u64> = 0..1 << 48;

/// An interval of paper 004: 12 opportunities, a grant, what is left, 3 minislots of maintenance.
pub fn map_of_004() -> Map {
    let element = |sid, usage, first, minislots| Element {
        sid: Sid(sid),
        usage,
        first: Minislot(first),
        minislots,
    };
    Map {
        channel: 1,
        ucd_count: 0,
        start: Minislot(160),
        end: Minislot(240),
        ack: Minislot(80),
        ranging: Backoff { start: 0, end: 3 },
        data: Backoff { start: 3, end: 7 },
        elements: vec![
            element(0x3fff, Usage::Request, 160, 12),
            element(7, Usage::LongData, 172, 5),
            element(0x3fff, Usage::InitialMaintenance, 237, 3),
        ],
        pending: vec![Sid(9), Sid(10)],
    }
}

#[test]
fn the_bytes_of_a_map_are_those_of_mac_md() {
    let information =
        |sid: u32, code: u32, offset: u32| (sid << 18 | code << 14 | offset).to_be_bytes().to_vec();
    let expected = [
        // Channel, UCD count, information elements, reserved; Alloc Start, Ack Time.
        vec![1, 0, 7, 0],
        160_u32.to_be_bytes().to_vec(),
        80_u32.to_be_bytes().to_vec(),
        // Backoff of ranging and of data.
        vec![0, 3, 3, 7],
        information(0x3fff, 1, 0),
        information(7, 6, 12),
        information(0, 6, 17),
        information(0x3fff, 3, 77),
        information(0, 7, 80),
        information(9, 6, 80),
        information(10, 6, 80),
    ]
    .concat();
    assert_eq!(map_of_004().encode().unwrap(), expected);
    assert_eq!(map_of_004().information_elements(), 7);
}

#[test]
fn a_message_has_46_bytes_and_4_for_each_information_element() {
    let map = map_of_004();
    let message = map.message(CMTS).unwrap();
    assert_eq!(message.len(), 46 + 4 * 7);
    assert_eq!(message.len(), Map::message_length(7));
    // The message's length counts from DSAP to the end of the body.
    assert_eq!(message[18..20], (6 + 16 + 4 * 7_u16).to_be_bytes());
    assert_eq!(Map::decode_message(&message, map.start), Ok(map));
}

#[test]
fn an_ofdma_map_of_15_frames_has_3525_minislots() {
    let map = Map {
        end: Minislot(160 + 3525),
        ..map_of_004()
    };
    let decoded = Map::decode(&map.encode().unwrap(), Minislot(0)).unwrap();
    assert_eq!(decoded.end.0 - decoded.start.0, 3525);
}

#[test]
fn minislots_go_on_where_their_32_bits_wrap() {
    let wrap = 1 << 32;
    let start = Minislot(5 * wrap - 40);
    let map = Map {
        start,
        end: Minislot(start.0 + 80),
        ack: Minislot(start.0 - 80),
        elements: vec![Element {
            sid: Sid(7),
            usage: Usage::LongData,
            first: Minislot(5 * wrap + 1),
            minislots: 10,
        }],
        ..map_of_004()
    };
    let bytes = map.encode().unwrap();
    for reference in [
        start.0,
        5 * wrap,
        start.0 + (1 << 31) - 1,
        start.0 - (1 << 31) + 1,
    ] {
        assert_eq!(Map::decode(&bytes, Minislot(reference)).as_ref(), Ok(&map));
    }
    // A receiver that is farther off takes it for another lap's.
    let other = Map::decode(&bytes, Minislot(start.0 + (1 << 31) + 1)).unwrap();
    assert_eq!(other.start, Minislot(start.0 + wrap));
}

fn usages() -> impl Strategy<Value = Usage> {
    let usages: Vec<_> = (0..16).filter_map(Usage::from_code).collect();
    prop::sample::select(usages)
}

fn backoffs() -> impl Strategy<Value = Backoff> {
    (0..16_u8, 0..16_u8).prop_map(|(one, other)| Backoff {
        start: one.min(other),
        end: one.max(other),
    })
}

fn elements() -> impl Strategy<Value = Vec<(u32, u16, Usage, u32)>> {
    let sid = prop_oneof![Just(0x3fff_u16), 1..0x3fff_u16];
    prop::collection::vec((0..20_u32, sid, usages(), 1..20_u32), 0..100)
}

fn maps() -> impl Strategy<Value = Map> {
    (
        any::<(u8, u8)>(),
        (ANY_MINISLOT, 0..1_u64 << 31, 1..96_u64),
        (backoffs(), backoffs()),
        elements(),
        prop::collection::vec((1..0x3fff_u16).prop_map(Sid), 0..30),
    )
        .prop_map(
            |((channel, ucd_count), (start, age, tail), (ranging, data), parts, pending)| {
                let mut at = start;
                let elements = parts
                    .into_iter()
                    .map(|(gap, sid, usage, minislots)| {
                        let first = at + u64::from(gap);
                        at = first + u64::from(minislots);
                        Element {
                            sid: Sid(sid),
                            usage,
                            first: Minislot(first),
                            minislots,
                        }
                    })
                    .collect();
                Map {
                    channel,
                    ucd_count,
                    start: Minislot(start),
                    end: Minislot(at + tail),
                    ack: Minislot(start.saturating_sub(age)),
                    ranging,
                    data,
                    elements,
                    pending,
                }
            },
        )
}

proptest! {
    #[test]
    fn a_map_comes_back_as_it_was(map in maps(), away in -(1_i64 << 31) + 1..1_i64 << 31) {
        let body = map.encode().unwrap();
        prop_assert_eq!(body.len(), 16 + 4 * map.information_elements());
        let reference = Minislot(map.start.0.saturating_add_signed(away));
        prop_assert_eq!(Map::decode(&body, reference), Ok(map.clone()));
        let message = map.message(CMTS).unwrap();
        prop_assert_eq!(message.len(), Map::message_length(map.information_elements()));
        prop_assert_eq!(Map::decode_message(&message, reference), Ok(map));
    }

    // Whatever is read is a MAP that could have been sent: in order, without overlap, within bounds.
    #[test]
    fn what_is_read_of_damaged_bytes_is_a_map(
        map in maps(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        reference in any::<u64>(),
    ) {
        let mut body = map.encode().unwrap();
        for (at, value) in damage {
            let at = at.index(body.len());
            body[at] = value;
        }
        for reference in [reference, map.start.0] {
            if let Ok(read) = Map::decode(&body, Minislot(reference)) {
                let again = Map::decode(&read.encode().unwrap(), read.start);
                prop_assert_eq!(again, Ok(read));
            }
        }
    }

    #[test]
    fn a_message_with_a_damaged_byte_is_refused(
        map in maps(), at in any::<prop::sample::Index>(), bit in 0..8_u8,
    ) {
        let mut message = map.message(CMTS).unwrap();
        // Behind the MAC header, where the CRC covers all.
        let at = 6 + at.index(message.len() - 6);
        message[at] ^= 1 << bit;
        prop_assert!(Map::decode_message(&message, map.start).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80), reference in any::<u64>(),
    ) {
        let _ = Map::decode(&bytes, Minislot(reference));
        let _ = Map::decode_message(&bytes, Minislot(reference));
    }

    #[test]
    fn no_map_makes_it_panic(
        (start, end, ack) in any::<(u64, u64, u64)>(),
        (first, minislots, sid) in any::<(u64, u32, u16)>(),
        near in any::<bool>(),
    ) {
        let map = Map {
            start: Minislot(start),
            end: Minislot(if near { start.saturating_add(end % 5000) } else { end }),
            ack: Minislot(if near { start.saturating_sub(ack % 5000) } else { ack }),
            elements: vec![Element {
                sid: Sid(sid),
                usage: Usage::Long,
                first: Minislot(if near { start.saturating_add(first % 5000) } else { first }),
                minislots,
            }],
            pending: vec![Sid(sid)],
            ..map_of_004()
        };
        let _ = (map.encode(), map.message(CMTS), map.information_elements());
    }
}
