// SPDX-License-Identifier: Apache-2.0
//! Parser, externs and metadata, on features.p4.

use crate::common::{Reader, pass, pipeline};
use std::sync::{Arc, Mutex};
use v1model::*;

/// Bytes of the report header in front of what comes out.
const REPORT: usize = 4 + 4 + 1 + 2 + 9 + 2 + 4 + 1;

#[derive(Debug, PartialEq, Eq)]
struct Report {
    parser_error: u128,
    packet_length: u128,
    ahead: u128,
    hash: u128,
    stored: u128,
    drawn: u128,
    deq_timedelta: u128,
    copied: u128,
}

fn report(out: &[u8]) -> (Report, &[u8]) {
    let mut r = Reader(out);
    let report = Report {
        parser_error: r.number(4),
        packet_length: r.number(4),
        ahead: r.number(1),
        hash: r.number(2),
        stored: r.number(9),
        drawn: r.number(2),
        deq_timedelta: r.number(4),
        copied: r.number(1),
    };
    (report, r.0)
}

#[test]
fn lookahead_reads_without_moving() {
    let mut p = pipeline("features.json");
    let (_, out) = pass(&mut p, 1, &[0x01, 0x52, 0x34, 0x99]).unwrap();
    let (report, rest) = report(&out);
    assert_eq!(report.ahead, 0x52);
    assert_eq!(report.parser_error, 0);
    assert_eq!(report.packet_length, 4);
    // The copy of the first header, the first header, the payload.
    assert_eq!(rest, [0x01, 0x52, 0x34, 0x01, 0x52, 0x34, 0x99]);
}

#[test]
fn advance_skips_bytes_for_good() {
    let mut p = pipeline("features.json");
    let (_, out) = pass(&mut p, 1, &[0x13, 0x30, 0x00, 1, 2, 3]).unwrap();
    assert_eq!(report(&out).1, [0x13, 0x30, 0, 0x13, 0x30, 0, 3]);
    // Too short to skip: PacketTooShort, and the rest stays payload.
    let (_, out) = pass(&mut p, 1, &[0x13, 0x30, 0x00, 1]).unwrap();
    let (report, rest) = report(&out);
    assert_eq!(report.parser_error, 200);
    assert_eq!(rest, [0x13, 0x30, 0, 0x13, 0x30, 0, 1]);
}

#[test]
fn verify_stops_the_parser_with_its_error() {
    let mut p = pipeline("features.json");
    let (_, out) = pass(&mut p, 1, &[0x40, 0x0a, 0xbc]).unwrap();
    assert_eq!(report(&out).0.parser_error, 0);
    let (_, out) = pass(&mut p, 1, &[0x40, 0x0a, 0xbd]).unwrap();
    assert_eq!(report(&out).0.parser_error, 100);
    let (_, out) = pass(&mut p, 1, &[0x40, 0x0a]).unwrap();
    let (report, rest) = report(&out);
    assert_eq!(report.parser_error, 200, "the header does not fit");
    assert_eq!(rest, [0x40, 0x0a], "and what is there is payload");
}

#[test]
fn varbits_keep_their_bytes_whether_rebuilt_or_not() {
    let mut p = pipeline("features.json");
    for (nibble, end) in [(0u8, 7u8), (2, 0x99)] {
        for length in 0..=8u8 {
            let data: Vec<u8> = (1..=length).collect();
            let mut tail = vec![length];
            tail.extend(&data);
            tail.push(7);
            let mut frame = vec![0x30, nibble << 4, 0x00];
            frame.extend(&tail);
            frame.extend([0xaa, 0xbb]);
            let (_, out) = pass(&mut p, 1, &frame).unwrap();
            let (report, rest) = report(&out);
            assert_eq!(report.parser_error, 0);
            // Nibble 2 changes the last field and takes the copy away.
            let mut wanted = if nibble == 2 {
                vec![]
            } else {
                vec![0x30, nibble << 4, 0x00]
            };
            wanted.extend([0x30, nibble << 4, 0x00]);
            *tail.last_mut().unwrap() = end;
            wanted.extend(&tail);
            wanted.extend([0xaa, 0xbb]);
            assert_eq!(rest, wanted, "length {length}");
        }
    }
    // 9 bytes are more than the header has room for.
    let mut frame = vec![0x30, 0x00, 0x00, 9];
    frame.extend([0; 20]);
    let (_, out) = pass(&mut p, 1, &frame).unwrap();
    assert_eq!(report(&out).1, [&frame[..3], &frame[..]].concat());
}

#[test]
fn a_parser_that_repeats_states_ends() {
    let mut p = pipeline("features.json");
    let (_, out) = pass(&mut p, 1, &[0x20, 0, 0, 1, 10, 1, 11, 0, 12, 0xee]).unwrap();
    let (r, rest) = report(&out);
    assert_eq!(r.parser_error, 0);
    assert_eq!(
        rest,
        [0x20, 0, 0, 0x20, 0, 0, 0, 12, 0xee],
        "the last item stays"
    );
    let endless = [vec![0x20, 0, 0], vec![1; 20_000]].concat();
    assert!(pass(&mut p, 1, &endless).is_some());
}

#[test]
fn a_changed_copy_leaves_the_original_alone() {
    let mut p = pipeline("features.json");
    let (_, out) = pass(&mut p, 1, &[0x01, 0x12, 0x34]).unwrap();
    assert_eq!(report(&out).1, [0x01, 0xf2, 0x34, 0x01, 0x12, 0x34]);
}

#[test]
fn hashes_registers_random_and_counters() {
    let mut p = pipeline("features.json");
    let mut drawn = Vec::new();
    for round in 1..=20u8 {
        let (_, out) = pass(&mut p, 1, &[round & 0x0f, 0x31, 0x23]).unwrap();
        let (report, _) = report(&out);
        assert!((100..=200).contains(&report.drawn));
        drawn.push(report.drawn);
        assert_eq!(report.deq_timedelta, 1000, "a millisecond in the queue");
        let shifted =
            (1..=u128::from(round)).fold(0, |old, r| (old << 8 | (r & 0x0f)) & ((1 << 72) - 1));
        assert_eq!(report.stored, shifted);
    }
    drawn.dedup();
    assert!(drawn.len() > 10, "a hundred values, twenty draws");
    // crc16 of 01 12 34, by the bitwise definition of CRC-16/ARC.
    let (_, out) = pass(&mut p, 1, &[0x01, 0x12, 0x34]).unwrap();
    let mut crc = 0u16;
    for byte in [0x01u8, 0x12, 0x34] {
        crc ^= u16::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xa001
            } else {
                crc >> 1
            };
        }
    }
    // hash() is taken modulo 65536, which leaves it as it is.
    assert_eq!(report(&out).0.hash, u128::from(crc));

    let seen = p.program().counter("seen").unwrap();
    assert_eq!(
        p.counter(seen, 3).unwrap(),
        CounterData {
            packets: 20,
            bytes: 60
        }
    );
    assert_eq!(p.counter(seen, 4).unwrap_err().code(), Code::OutOfRange);
    let register = p.program().register("wide_register").unwrap();
    assert_ne!(p.register(register, 2).unwrap(), 0);
    assert_eq!(
        p.register(register, 4).unwrap_err().code(),
        Code::OutOfRange
    );
    p.set_register(register, None, 5).unwrap();
    assert_eq!(p.register(register, 0).unwrap(), 5);
    assert_eq!(
        p.set_register(register, Some(0), 1 << 72)
            .unwrap_err()
            .code(),
        Code::OutOfRange
    );
    assert_eq!(p.out_of_range_accesses(), 21, "the writes to cell 77");
}

#[test]
fn verdicts_queue_and_priority() {
    let mut p = pipeline("features.json");
    let mut packet = Packet::new();
    let mut out = Vec::new();
    assert_eq!(p.ingress(0, 1, &[0xdd, 0, 0], &mut packet).fate, Fate::Drop);
    assert_eq!(
        p.ingress(0, 1, &[0xcc, 0, 0], &mut packet).fate,
        Fate::Multicast { group: 9 }
    );
    assert_eq!((p.queue_id(&packet), p.priority(&packet)), (7, 5));
    assert_eq!(p.sub_queue(&packet), 0, "it has no such field");
    let mut copy = Packet::new();
    copy.copy_from(&packet);
    let metadata = EgressMetadata {
        port: 2,
        rid: 11,
        instance_type: InstanceType::Replication,
        deq_qdepth: 0,
        queue: 0,
        grants: None,
    };
    assert_eq!(
        p.egress(0, &metadata, &mut copy, &mut out).fate,
        EgressFate::Send
    );
    assert_eq!(report(&out).0.copied, 111);
    assert_eq!(out.len(), REPORT + 6);
    let to_three = EgressMetadata {
        port: 3,
        ..metadata
    };
    assert_eq!(
        p.egress(0, &to_three, &mut packet, &mut out).fate,
        EgressFate::Drop
    );
    assert!(out.is_empty());
}

#[test]
fn messages_and_assertions() {
    let mut p = pipeline("features.json");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = lines.clone();
    p.set_log(Some(Box::new(move |line: &str| {
        sink.lock().unwrap().push(line.to_owned())
    })));
    assert!(pass(&mut p, 1, &[0x05, 0x60, 0]).is_some());
    assert!(pass(&mut p, 1, &[0xee, 0x60, 0]).is_none());
    assert_eq!(p.failed_assertions(), 1);
    let lines = lines.lock().unwrap();
    assert!(lines.contains(&"kind 5 nibble 6".to_owned()), "{lines:?}");
    let failed = lines
        .iter()
        .find(|l| l.contains("assert failed"))
        .expect("a line");
    assert!(failed.contains("features.p4:"), "{failed}");
}

#[test]
fn a_packet_of_another_program_is_dropped_in_egress() {
    let mut old = pipeline("features.json");
    let mut new = pipeline("tables.json");
    let mut packet = Packet::new();
    let mut out = Vec::new();
    old.ingress(0, 1, &[0x01, 0x12, 0x34], &mut packet);
    let verdict = new.egress(0, &EgressMetadata::default(), &mut packet, &mut out);
    assert_eq!(verdict.fate, EgressFate::Drop);
    assert_eq!(new.queue_id(&packet), 0);
    assert_eq!(new.sub_queue(&packet), 0);
}
