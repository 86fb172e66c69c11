// SPDX-License-Identifier: Apache-2.0
//! The fuzz target of everything that crosses an upstream channel: MAPs, requests, headers, bursts
//! and segments.

use crate::bytes::Bytes;
use mac_wire::{
    Fragment, MacHeader, Map, Minislot, Request, SegmentHeader, frames, header_check_sequence,
};

/// The first byte tells what the rest is. In front of a MAP are eight bytes of the minislot near
/// which it lies. Everything that can be read is written and read once more.
pub fn mac(data: &[u8]) {
    let mut bytes = Bytes(data);
    match bytes.below(5) {
        0 => map(&mut bytes),
        1 => with_checks(bytes.0, request),
        2 => with_checks(bytes.0, header),
        3 => with_checks(bytes.0, burst),
        _ => segment(bytes.0),
    }
}

fn map(bytes: &mut Bytes<'_>) {
    let reference = Minislot(bytes.long());
    let _ = Map::decode_message(bytes.0, reference);
    let Ok(map) = Map::decode(bytes.0, reference) else {
        return;
    };
    assert!(map.information_elements() <= Map::MAX_INFORMATION_ELEMENTS + 1);
    assert!(map.end.0 - map.start.0 <= Map::MAX_MINISLOTS.into());
    let body = map.encode().expect("what was read can be written");
    assert_eq!(Map::decode(&body, reference).as_ref(), Ok(&map));
    let message = map.message([2; 6]).expect("its message can be written");
    assert_eq!(Map::decode_message(&message, reference), Ok(map));
}

/// Reads bytes as they are, and with a valid check sequence at every place where it may lie,
/// because random bytes hardly ever have one.
fn with_checks(bytes: &[u8], read: fn(&[u8])) {
    read(bytes);
    let extended = bytes.get(1).map_or(0, |&length| usize::from(length));
    for at in [4, 5, 4 + extended] {
        if bytes.len() >= at + 2 {
            let mut sealed = bytes.to_vec();
            let check = header_check_sequence(&bytes[..at]);
            sealed[at..at + 2].copy_from_slice(&check);
            read(&sealed);
        }
    }
}

fn request(bytes: &[u8]) {
    let unit = |_| bytes.last().map_or(1, |last| last % 16 + 1);
    if let Ok(request) = Request::decode(bytes, unit) {
        let again = request.encode(unit(request.sid)).expect("it has a SID");
        assert_eq!(Request::decode(&again, unit), Ok(request));
    }
}

fn header(bytes: &[u8]) {
    let Ok((header, length)) = MacHeader::decode(bytes) else {
        return;
    };
    assert!(length <= bytes.len());
    let mut again = Vec::new();
    if header.encode(&mut again).is_ok() {
        let whole = [&again, &bytes[length..]].concat();
        let read = MacHeader::decode(&whole);
        assert_eq!(read.map(|(header, _)| header), Ok(header));
    }
}

fn burst(bytes: &[u8]) {
    if let Ok(found) = frames(bytes) {
        assert!(found.iter().map(|frame| frame.len()).sum::<usize>() <= bytes.len());
    }
    if let Ok(fragment) = Fragment::decode(bytes) {
        assert!(fragment.part.len() < bytes.len() && fragment.control().is_some());
    }
}

fn segment(bytes: &[u8]) {
    let mut sealed = bytes.to_vec();
    sealed.resize(sealed.len().max(SegmentHeader::LENGTH), 0);
    let check = header_check_sequence(&sealed[..6]);
    sealed[6..8].copy_from_slice(&check);
    for bytes in [bytes, &sealed] {
        if let Ok(header) = SegmentHeader::decode(bytes) {
            let again = header.encode().expect("what was read can be written");
            assert_eq!(SegmentHeader::decode(&again), Ok(header));
        }
    }
}
