// SPDX-License-Identifier: Apache-2.0
//! MAPs that break a rule are neither written nor read, and the sentence says which.

use crate::maps::map_of_004;
use mac_wire::{Backoff, Element, Map, Minislot, Sid, Usage};

fn not_written(change: impl FnOnce(&mut Map)) -> String {
    let mut map = map_of_004();
    change(&mut map);
    map.encode().unwrap_err().to_string()
}

/// A body with these information elements: SID, usage code, offset.
fn body(elements: &[(u32, u32, u32)]) -> Vec<u8> {
    let mut body = vec![1, 0, elements.len() as u8, 0];
    body.extend(160_u32.to_be_bytes());
    body.extend(80_u32.to_be_bytes());
    body.extend([0, 3, 3, 7]);
    for (sid, code, offset) in elements {
        body.extend((sid << 18 | code << 14 | offset).to_be_bytes());
    }
    body
}

fn read(elements: &[(u32, u32, u32)]) -> Result<Map, String> {
    Map::decode(&body(elements), Minislot(160)).map_err(|error| error.to_string())
}

fn not_read(elements: &[(u32, u32, u32)]) -> String {
    read(elements).unwrap_err()
}

#[test]
fn a_map_has_1_to_4096_minislots() {
    let rule = "it has to be 1 to 4096";
    assert!(not_written(|map| map.end = Minislot(160 + 4097)).ends_with(rule));
    assert!(not_written(|map| map.end = map.start).ends_with(rule));
    assert!(not_written(|map| map.end = Minislot(0)).ends_with(rule));
    assert_eq!(
        not_read(&[(0, 7, 4097)]),
        "the number of a MAP's minislots is 4097; it has to be 1 to 4096"
    );
    assert!(not_read(&[(0, 7, 0)]).ends_with(rule));
    assert!(read(&[(0, 7, 4096)]).is_ok());
}

#[test]
fn a_map_has_at_most_240_information_elements() {
    // 119 elements with as many gaps, and NULL.
    let spread = |count: u64| {
        let mut map = map_of_004();
        map.end = Minislot(map.start.0 + 2 * count);
        map.pending.clear();
        map.elements = (0..count)
            .map(|at| Element {
                sid: Sid(1),
                usage: Usage::LongData,
                first: Minislot(map.start.0 + 2 * at + 1),
                minislots: 1,
            })
            .collect();
        map
    };
    let mut full = spread(119);
    assert_eq!(full.information_elements(), 239);
    full.pending.push(Sid(5));
    assert_eq!(full.encode().unwrap().len(), 16 + 4 * 240);
    full.pending.push(Sid(6));
    assert_eq!(
        full.encode().unwrap_err().to_string(),
        "the number of information elements is 241; a MAP has at most 240"
    );
    assert!(spread(200).encode().is_err());
    let many: Vec<_> = (0..241).map(|_| (9, 6, 80)).collect();
    assert!(not_read(&many).ends_with("a MAP has at most 240"));
}

#[test]
fn elements_are_in_order_in_the_map_and_do_not_overlap() {
    let order = "it has to be in the MAP and not before the end of the element in front";
    let size = "it has to be at least 1, and the element has to end within the MAP";
    assert!(not_written(|map| map.elements[1].first = Minislot(171)).ends_with(order));
    assert!(not_written(|map| map.elements[0].first = Minislot(159)).ends_with(order));
    assert!(not_written(|map| map.elements.swap(0, 1)).ends_with(order));
    assert!(not_written(|map| map.elements[2].minislots = 4).ends_with(size));
    assert!(not_written(|map| map.elements[1].minislots = 0).ends_with(size));
    let behind = "it has to be greater than that of the one in front";
    assert!(not_read(&[(1, 6, 0), (2, 6, 9), (3, 6, 8), (0, 7, 80)]).ends_with(behind));
    assert!(not_read(&[(1, 6, 0), (2, 6, 0), (0, 7, 80)]).ends_with(behind));
    assert!(not_read(&[(1, 6, 80), (0, 7, 80)]).ends_with(behind));
}

#[test]
fn a_map_without_null_element_has_no_end() {
    assert!(not_read(&[]).ends_with("none of them is the NULL element that ends a MAP"));
    assert!(not_read(&[(1, 6, 0), (2, 6, 9)]).ends_with("the NULL element that ends a MAP"));
}

#[test]
fn behind_the_null_element_only_grants_without_minislots_are_read() {
    let map = read(&[(1, 6, 0), (0, 7, 80), (5, 6, 80), (6, 8, 80), (7, 12, 80)]).unwrap();
    assert_eq!(map.pending, [Sid(5), Sid(7)]);
    assert!(not_read(&[(0, 7, 80), (5, 6, 81)]).ends_with("it has to be that of the NULL element"));
    assert!(not_read(&[(0, 7, 80), (0, 6, 80)]).contains("SID"));
    assert!(not_read(&[(0, 7, 80), (0x3fff, 6, 80)]).contains("SID"));
}

#[test]
fn usage_codes_that_nobody_gives_here_are_skipped_with_their_minislots() {
    let map = read(&[(1, 6, 0), (2, 2, 10), (3, 15, 20), (4, 9, 30), (0, 7, 80)]).unwrap();
    let found: Vec<_> = map
        .elements
        .iter()
        .map(|element| (element.sid.0, element.first.0 - 160, element.minislots))
        .collect();
    assert_eq!(found, [(1, 0, 10), (4, 30, 50)]);
    assert_eq!(map.elements[1].usage, Usage::Short);
}

#[test]
fn ack_time_is_not_after_alloc_start() {
    let rule = "it has to be no later than Alloc Start";
    assert!(not_written(|map| map.ack = Minislot(161)).ends_with(rule));
    assert!(
        not_written(|map| map.ack = Minislot(1 << 40)).ends_with("2^31 minislots of Alloc Start")
    );
    let mut late = body(&[(0, 7, 80)]);
    late[8..12].copy_from_slice(&161_u32.to_be_bytes());
    let error = Map::decode(&late, Minislot(160)).unwrap_err();
    assert!(error.to_string().ends_with(rule));
}

#[test]
fn minislots_before_the_channels_first_are_refused() {
    let mut early = body(&[(0, 7, 80)]);
    early[4..12].copy_from_slice(&u64::MAX.to_be_bytes());
    assert!(Map::decode(&early, Minislot(0)).is_err());
    assert!(Map::decode(&early, Minislot(1 << 32)).is_ok());
}

#[test]
fn backoff_exponents_are_at_most_15_and_do_not_go_down() {
    for (start, end) in [(4, 3), (3, 16), (255, 255)] {
        let backoff = Backoff { start, end };
        assert!(not_written(|map| map.data = backoff).contains("backoff"));
        assert!(not_written(|map| map.ranging = backoff).contains("backoff"));
        for at in [12, 14] {
            let mut bytes = body(&[(0, 7, 80)]);
            bytes[at..at + 2].copy_from_slice(&[start, end]);
            let error = Map::decode(&bytes, Minislot(160)).unwrap_err();
            assert!(error.to_string().contains("backoff"));
        }
    }
}

#[test]
fn sids_have_14_bits_and_are_somebodys() {
    assert!(not_written(|map| map.elements[1].sid = Sid(0x4000)).contains("SID"));
    assert!(not_written(|map| map.elements[1].sid = Sid(0)).contains("SID"));
    assert!(not_written(|map| map.pending.push(Sid(0))).contains("SID"));
    assert!(not_written(|map| map.pending.push(Sid::ALL)).contains("SID"));
}

#[test]
fn a_body_has_as_many_bytes_as_it_has_elements() {
    let bytes = map_of_004().encode().unwrap();
    for length in 0..bytes.len() {
        assert!(
            Map::decode(&bytes[..length], Minislot(160)).is_err(),
            "{length}"
        );
    }
    let longer = [bytes, vec![0]].concat();
    assert_eq!(
        Map::decode(&longer, Minislot(160)).unwrap_err().to_string(),
        "the MAP has 44 bytes, and 45 are there"
    );
}

#[test]
fn a_message_that_is_not_a_map_is_refused() {
    let message = map_of_004().message([2, 0, 0, 0, 0, 1]).unwrap();
    for length in 0..message.len() {
        assert!(Map::decode_message(&message[..length], Minislot(160)).is_err());
    }
    let longer = [message.clone(), vec![0]].concat();
    assert!(Map::decode_message(&longer, Minislot(160)).is_err());
    let request = mac_wire::Request {
        sid: Sid(1),
        amount: mac_wire::Amount::Minislots(3),
    };
    let error = Map::decode_message(&request.encode(4).unwrap(), Minislot(160)).unwrap_err();
    assert!(error.to_string().contains("MAC management message"));
}
