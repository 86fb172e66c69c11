// SPDX-License-Identifier: Apache-2.0
//! Checksums and hashes, on checksum.p4.

use crate::common::{Reader, pass, pipeline};
use serde_json::Value;
use std::io::Write;
use std::sync::{Arc, Mutex};
use v1model::trace::{JsonTrace, TextTrace, TraceFilter};

/// Bytes of the header of results in front of what comes out.
const RESULTS: usize = 1 + 2 + 2 + 4 + 4 + 2 + 2 + 8 + 12 + 2;

/// By RFC 1071.
fn sum(data: &[u8]) -> u16 {
    let mut sum = 0u64;
    for word in data.chunks(2) {
        sum += u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0));
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

const ETHERNET: [u8; 14] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 8, 0];

/// An IPv4 packet with so many words of options and this UDP payload.
fn frame(options: u8, payload: &[u8]) -> Vec<u8> {
    let header = 20 + 4 * usize::from(options);
    let length = (header + 8 + payload.len()) as u16;
    let mut ip = vec![0x45 + options, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0];
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip.extend([10, 0, 0, 1, 192, 168, 7, 9]);
    ip.extend((0..4 * options).map(|i| i + 0x90));
    let checksum = sum(&ip).to_be_bytes();
    ip[10..12].copy_from_slice(&checksum);
    let mut udp = vec![0x55, 0x66, 0x77, 0x88, 0, 0, 0, 0];
    udp[4..6].copy_from_slice(&(8 + payload.len() as u16).to_be_bytes());
    udp.extend(payload);
    let checksum = udp_sum(&ip, &udp).to_be_bytes();
    udp[6..8].copy_from_slice(&checksum);
    [ETHERNET.as_slice(), &ip, &udp].concat()
}

/// Over the pseudo-header and a datagram whose checksum is 0.
fn udp_sum(ip: &[u8], udp: &[u8]) -> u16 {
    let mut pseudo = ip[12..20].to_vec();
    pseudo.extend([0, 17]);
    pseudo.extend((udp.len() as u16).to_be_bytes());
    // The checksummed fields as the program lists them, and the payload.
    pseudo.extend(&udp[..6]);
    pseudo.extend(&udp[8..]);
    sum(&pseudo)
}

#[test]
fn checksums_are_verified_and_updated() {
    let mut p = pipeline("checksum.json");
    for options in [0u8, 1, 3, 10] {
        for payload in [&b""[..], b"x", b"xyz", b"0123456789abcdefgh"] {
            let sent = frame(options, payload);
            let (_, out) = pass(&mut p, 1, &sent).unwrap();
            assert_eq!(out[0], 0, "no error");
            let out = &out[RESULTS..];
            let ip = 20 + 4 * usize::from(options);
            let (ip, udp) = (&out[14..14 + ip], &out[14 + ip..]);
            assert_eq!(sum(ip), 0, "of a correct header: 0");
            assert_eq!((ip[8], &udp[..2]), (63, &[0x12, 0x34][..]));
            let mut zeroed = udp.to_vec();
            zeroed[6..8].fill(0);
            assert_eq!(udp[6..8], udp_sum(ip, &zeroed).to_be_bytes());
            assert_eq!(udp[8..], *payload);
        }
    }
}

#[test]
fn a_wrong_checksum_is_told_and_mended() {
    let mut p = pipeline("checksum.json");
    let good = frame(2, b"payload");
    // A field of IPv4, its options, its checksum, the UDP port and payload.
    for (at, good_is) in [(18, 0), (35, 0), (24, 0), (43, 0), (good.len() - 1, 0)] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert_eq!(pass(&mut p, 1, &good).unwrap().1[0], good_is);
        assert_eq!(pass(&mut p, 1, &bad).unwrap().1[0], 1, "byte {at}");
    }
    // A datagram without a checksum keeps none.
    let mut without = good.clone();
    without[14 + 28 + 6..][..2].fill(0);
    let (_, out) = pass(&mut p, 1, &without).unwrap();
    assert_eq!((out[0], &out[RESULTS + 48..][..2]), (0, &[0, 0][..]));
    // Nothing to verify in a frame that is no IPv4.
    let mut other = good.clone();
    other[12] = 0x86;
    let (_, out) = pass(&mut p, 1, &other).unwrap();
    assert_eq!((out[0], &out[RESULTS..]), (0, &other[..]));
}

#[test]
fn checksums_are_verified_after_a_parser_error() {
    let mut p = pipeline("checksum.json");
    let mut short = frame(0, b"");
    short.truncate(14 + 20 + 4);
    assert_eq!(pass(&mut p, 1, &short).unwrap().1[0], 2, "only too short");
    short[20] ^= 4;
    assert_eq!(pass(&mut p, 1, &short).unwrap().1[0], 3, "and wrong");
}

#[test]
fn every_hash_algorithm() {
    /// Reflected, bit by bit.
    fn crc(data: &[u8], polynomial: u32, start: u32) -> u32 {
        data.iter().fold(start, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                crc >> 1 ^ if crc & 1 == 1 { polynomial } else { 0 }
            })
        })
    }
    let mut p = pipeline("checksum.json");
    let mut frame = ETHERNET.to_vec();
    frame[12] = 0x99;
    let (_, out) = pass(&mut p, 1, &frame).unwrap();
    let mut r = Reader(&out);
    let (dst, both) = (&ETHERNET[..6], &ETHERNET[..12]);
    let crc16 = |data: &[u8]| u128::from(crc(data, 0xa001, 0));
    let crc32 = |data: &[u8]| u128::from(!crc(data, 0xedb8_8320, u32::MAX));
    assert_eq!(r.number(1), 0);
    assert_eq!(r.number(2), crc16(both));
    assert_eq!(r.number(2), crc16(dst));
    assert_eq!(r.number(4), crc32(both));
    assert_eq!(r.number(4), crc32(dst));
    // 48 + 4 + 136 bits, shifted by half a byte and padded.
    let constant = 0x1234_5678_9abc_def0_1234_5678_9abc_def0u128.to_be_bytes();
    let mut data = dst.to_vec();
    let mut nibbles = vec![0xf];
    nibbles.extend(constant.iter().flat_map(|b| [b >> 4, b & 15]));
    nibbles.extend([1, 2, 0]);
    data.extend(nibbles.chunks(2).map(|n| n[0] << 4 | n[1]));
    assert_eq!(r.number(2), 5 + u128::from(sum(&data)) % 1000);
    let xor = both
        .chunks(2)
        .fold([0, 0], |x, w| [x[0] ^ w[0], x[1] ^ w[1]]);
    assert_eq!(r.number(2), u128::from(u16::from_be_bytes(xor)));
    assert_eq!(r.number(8), 0x0001_0203_0405);
    assert_eq!(r.number(12), 1, "2 on top of 96 ones");
    assert_eq!(r.number(2), crc16(dst), "without the invalid header");
}

/// A writer that the test can look into.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_names_the_checksum_that_is_wrong() {
    let mut p = pipeline("checksum.json");
    let (text, json) = (Shared::default(), Shared::default());
    let good = frame(0, b"xyz");
    let expected = u16::from_be_bytes([good[24], good[25]]);
    let mut bad = good.clone();
    bad[24..26].copy_from_slice(&[0xab, 0xcd]);
    let filter = TraceFilter::default;
    p.set_trace(Some(Box::new(TextTrace::new(
        text.clone(),
        filter(),
        1 << 20,
    ))));
    pass(&mut p, 1, &good).unwrap();
    pass(&mut p, 1, &bad).unwrap();
    p.set_trace(Some(Box::new(JsonTrace::new(
        json.clone(),
        filter(),
        1 << 20,
    ))));
    pass(&mut p, 1, &bad).unwrap();
    p.set_trace(None);

    let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
    let right = format!("checksum ipv4.checksum = {expected:#06x} is right\n");
    let wrong = format!("checksum ipv4.checksum is wrong: 0xabcd, expected {expected:#06x}\n");
    assert_eq!(text.matches(&right).count(), 1, "{text}");
    assert_eq!(text.matches(&wrong).count(), 1, "{text}");
    assert_eq!(
        text.matches("checksum udp.checksum = ").count(),
        2,
        "{text}"
    );

    let json = String::from_utf8(json.0.lock().unwrap().clone()).unwrap();
    let events = json
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap());
    let checksums: Vec<Value> = events.filter(|e| e["event"] == "checksum").collect();
    let ipv4 = checksums
        .iter()
        .find(|e| e["field"]["name"] == "ipv4.checksum");
    let ipv4 = ipv4.expect("it is told");
    assert_eq!(ipv4["field"]["value"], "0xabcd");
    assert_eq!(ipv4["expected"], format!("{expected:#06x}"));
    assert_eq!(
        (&ipv4["correct"], &ipv4["source"]["file"]),
        (&false.into(), &"checksum.p4".into())
    );
}
