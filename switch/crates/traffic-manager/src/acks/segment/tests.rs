// SPDX-License-Identifier: Apache-2.0

use super::*;
use proptest::prelude::*;

const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn tcp(flags: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    assert_eq!(options.len() % 4, 0);
    let header = 20 + options.len();
    let mut tcp = vec![0; 20];
    tcp[..2].copy_from_slice(&5000u16.to_be_bytes());
    tcp[2..4].copy_from_slice(&443u16.to_be_bytes());
    tcp[8..12].copy_from_slice(&0xffff_fff0u32.to_be_bytes());
    tcp[12] = (header as u8 / 4) << 4;
    tcp[13] = flags;
    tcp.extend_from_slice(options);
    tcp.extend_from_slice(data);
    tcp
}

/// With `tags` VLAN tags, and padded to the shortest frame.
fn over_ipv4(tags: &[u16], fragment: u16, options: &[u8], tcp: &[u8]) -> Vec<u8> {
    let mut frame = ETHERNET.to_vec();
    for tag in tags {
        frame.extend_from_slice(&[0x81, 0]);
        frame.extend_from_slice(&tag.to_be_bytes());
    }
    frame.extend_from_slice(&[8, 0]);
    let header = 20 + options.len();
    let mut ip = vec![0; 20];
    ip[0] = 0x40 | (header as u8 / 4);
    ip[2..4].copy_from_slice(&((header + tcp.len()) as u16).to_be_bytes());
    ip[6..8].copy_from_slice(&fragment.to_be_bytes());
    ip[9] = TCP;
    ip[12..20].copy_from_slice(&[10, 0, 0, 1, 203, 0, 113, 7]);
    ip.extend_from_slice(options);
    frame.extend_from_slice(&ip);
    frame.extend_from_slice(tcp);
    frame.resize(frame.len().max(60), 0xee);
    frame
}

fn over_ipv6(next_header: u8, tcp: &[u8]) -> Vec<u8> {
    let mut frame = ETHERNET.to_vec();
    frame.extend_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend_from_slice(&(tcp.len() as u16).to_be_bytes());
    frame.extend_from_slice(&[next_header, 64]);
    frame.extend_from_slice(&[0x20; 16]);
    frame.extend_from_slice(&[0x21; 16]);
    frame.extend_from_slice(tcp);
    frame
}

fn content(tcp: &[u8]) -> Option<Content> {
    let of_ipv4 = Segment::of(&over_ipv4(&[], 0, &[], tcp))?.content;
    assert_eq!(Segment::of(&over_ipv6(TCP, tcp))?.content, of_ipv4);
    Some(of_ipv4)
}

fn ack(plain: bool) -> Option<Content> {
    let number = 0xffff_fff0;
    Some(Content::Ack { number, plain })
}

const DATA: Option<Content> = Some(Content::Data {
    number: 0xffff_fff0,
});

#[test]
fn only_what_tells_its_number_alone_is_plain() {
    let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(content(&tcp(ACK, &[], &[])), ack(true));
    assert_eq!(content(&tcp(ACK, &timestamps, &[])), ack(true));
    assert_eq!(content(&tcp(ACK, &[1, 1, 1, 0], &[])), ack(true));
    assert_eq!(content(&tcp(ACK, &sack, &[])), ack(false));
    // Accurate ECN's option, Multipath TCP's, a length that does not fit.
    assert_eq!(content(&tcp(ACK, &[172, 2, 1, 1], &[])), ack(false));
    assert_eq!(content(&tcp(ACK, &[30, 4, 0, 0], &[])), ack(false));
    assert_eq!(content(&tcp(ACK, &[1, 1, 8, 10], &[])), ack(false));
    // PSH, URG, ECE, CWR, and the bit beside the header's length that Accurate ECN uses.
    for flag in [0x08, 0x20, 0x40, 0x80] {
        assert_eq!(content(&tcp(ACK | flag, &[], &[])), ack(false));
    }
    let mut accurate_ecn = tcp(ACK, &[], &[]);
    accurate_ecn[12] |= 1;
    assert_eq!(content(&accurate_ecn), ack(false));
}

#[test]
fn data_and_the_edges_of_a_connection_are_no_acknowledgements() {
    assert_eq!(content(&tcp(ACK, &[], b"x")), DATA);
    assert_eq!(content(&tcp(ACK | FIN, &[], &[])), DATA);
    let edge = Some(Content::Edge);
    for flags in [SYN, SYN | ACK, RST, RST | ACK, 0, FIN] {
        assert_eq!(content(&tcp(flags, &[], &[])), edge);
    }
    // The first fragment of a segment says where it belongs, the others do not.
    let first = over_ipv4(&[], 0x2000, &[], &tcp(ACK, &[], &[]));
    assert_eq!(Segment::of(&first).map(|segment| segment.content), DATA);
    let later = over_ipv4(&[], 0x2001, &[], &tcp(ACK, &[], &[]));
    assert_eq!(Segment::of(&later), None);
}

#[test]
fn connections_differ_by_vlan_and_way() {
    let tcp = tcp(ACK, &[], &[]);
    let of = |frame: &[u8]| Segment::of(frame).unwrap().connection;
    let plain = of(&over_ipv4(&[], 0, &[], &tcp));
    assert_eq!(plain.ports, [5000, 443]);
    assert_eq!(plain.addresses[1][..4], [203, 0, 113, 7]);
    assert_eq!(plain.addresses[1][4..], [0; 12]);
    assert_eq!(
        of(&over_ipv4(&[], 0, &[1, 1, 1, 0], &tcp)),
        plain,
        "options"
    );
    let tagged = of(&over_ipv4(&[0x6005, 7], 0, &[], &tcp));
    assert_eq!((tagged.vlans, tagged.addresses), ([5, 7], plain.addresses));
    assert_eq!(Segment::of(&over_ipv4(&[1, 2, 3], 0, &[], &tcp)), None);
    let mut elsewhere = over_ipv4(&[], 0, &[], &tcp);
    elsewhere[5] = 9;
    assert_ne!(of(&elsewhere), plain);
    assert!(of(&over_ipv6(TCP, &tcp)).is_ipv6);
    assert_eq!(Segment::of(&over_ipv6(17, &tcp)), None);
}

#[test]
fn numbers_go_round() {
    assert!(is_lower(1, 2) && !is_lower(2, 1) && !is_lower(2, 2));
    assert!(is_lower(0xffff_fff0, 5) && !is_lower(5, 0xffff_fff0));
    assert!(!is_lower(0, 1 << 31), "neither is lower");
}

proptest! {
    /// A segment that is cut short is none, and no bytes make it panic.
    #[test]
    fn frames_are_anybodys(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        changed in prop::collection::vec((0usize..90, any::<u8>()), 0..6),
        cut in 0usize..90,
    ) {
        let _ = Segment::of(&bytes);
        let whole = over_ipv4(&[5], 0, &[], &tcp(ACK, &[1, 1, 1, 1], &[7; 20]));
        let end = 12 + 4 + 2 + 20 + 24 + 20;
        let is_cut = Segment::of(&whole[..cut.min(whole.len())]).is_none();
        prop_assert_eq!(is_cut, cut < end);
        let mut frame = whole;
        for (at, byte) in changed {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        let _ = Segment::of(&frame);
    }
}
