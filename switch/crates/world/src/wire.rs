// SPDX-License-Identifier: Apache-2.0
//! Ethernet, ARP, IPv4, ICMP, UDP and TCP as hosts send and read them. Lengths are
//! those in memory, without CRC, unless a name says otherwise.

use crate::frame::{CRC, Frame, SHORTEST};
use crate::net::Net;

/// Length of an Ethernet header.
pub const ETHERNET: usize = 14;
/// Length of an IPv4 header without options.
pub const IPV4: usize = 20;
/// Length of a UDP header.
pub const UDP: usize = 8;
/// IPv4's number of ICMP.
pub const PROTOCOL_ICMP: u8 = 1;
/// IPv4's number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// IPv4's number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_ARP: u16 = 0x0806;
const ARP_LENGTH: usize = 28;
const TIME_TO_LIVE: u8 = 64;
const DO_NOT_FRAGMENT: u8 = 0x40;

/// A MAC address.
pub type Mac = [u8; 6];

/// All stations.
pub const BROADCAST: Mac = [0xff; 6];

/// Who sends to whom: the headers of a packet but for what differs from packet to
/// packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Source MAC address.
    pub source_mac: Mac,
    /// Destination MAC address.
    pub destination_mac: Mac,
    /// Source IPv4 address.
    pub source: [u8; 4],
    /// Destination IPv4 address.
    pub destination: [u8; 4],
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// UDP or TCP.
    pub protocol: u8,
    /// ToS byte.
    pub tos: u8,
}

impl Addresses {
    /// Those of an answer.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            source_mac: self.destination_mac,
            destination_mac: self.source_mac,
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            ..*self
        }
    }

    /// Writes the Ethernet and IPv4 headers of a frame that is zeros.
    pub fn begin(&self, identification: u16, frame: &mut [u8]) {
        let length = frame.len() - ETHERNET;
        frame[0..6].copy_from_slice(&self.destination_mac);
        frame[6..12].copy_from_slice(&self.source_mac);
        frame[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        let header = &mut frame[ETHERNET..ETHERNET + IPV4];
        header[0] = 0x45;
        header[1] = self.tos;
        header[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        header[6] = DO_NOT_FRAGMENT;
        header[8] = TIME_TO_LIVE;
        header[9] = self.protocol;
        header[12..16].copy_from_slice(&self.source);
        header[16..20].copy_from_slice(&self.destination);
        let sum = folded(sum(header));
        header[10..12].copy_from_slice(&(!sum).to_be_bytes());
    }

    /// Sum of the pseudo header.
    fn pseudo(&self, length: usize) -> u64 {
        sum(&self.source) + sum(&self.destination) + u64::from(self.protocol) + length as u64
    }

    /// A datagram with a number in front of its payload of zeros.
    ///
    /// # Panics
    /// The payload has no room for the number.
    pub fn datagram(
        &self,
        net: &mut Net,
        identification: u16,
        payload: usize,
        number: u64,
    ) -> Frame {
        let length = UDP + payload;
        let mut frame = net.blank(ETHERNET + IPV4 + length);
        self.begin(identification, &mut frame);
        let udp = &mut frame[ETHERNET + IPV4..];
        udp[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        udp[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        udp[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        udp[UDP..UDP + 8].copy_from_slice(&number.to_be_bytes());
        // What follows is zeros, which add nothing.
        let sum = !folded(self.pseudo(length) + sum(&udp[..UDP + 8]));
        // 0 would say that there is none (RFC 768).
        let sum = if sum == 0 { 0xffff } else { sum };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        Net::frame_of(frame, ETHERNET + IPV4 + UDP + 8)
    }
}

/// A packet of UDP or TCP, or what is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// UDP or TCP, with right checksums. `content` is what is behind the UDP header, or
    /// begins with the TCP header.
    Transport {
        /// Its addresses.
        addresses: Addresses,
        /// What it carries.
        content: &'a [u8],
    },
    /// An ICMP message, with right checksums.
    Icmp {
        /// Its addresses; ports are 0.
        addresses: Addresses,
        /// The message.
        message: &'a [u8],
    },
    /// Somebody asks for the MAC address of an IPv4 address.
    ArpRequest {
        /// Who asks.
        sender_mac: Mac,
        /// The same.
        sender: [u8; 4],
        /// Whose address is asked for.
        target: [u8; 4],
    },
    /// Something else.
    Other,
    /// A checksum is wrong, or it is cut off.
    Malformed,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// The 16-bit sum of RFC 1071, not folded.
fn sum(bytes: &[u8]) -> u64 {
    // Sums of halves commute with the order of bytes, so of whole words, too: the words of
    // 32 bits add up to the same.
    let mut words = bytes.chunks_exact(4);
    let mut total: u64 = 0;
    for word in &mut words {
        total += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    }
    match *words.remainder() {
        [a] => total += u64::from(a) << 8,
        [a, b] => total += u64::from(u16::from_be_bytes([a, b])),
        [a, b, c] => total += (u64::from(u16::from_be_bytes([a, b]))) + (u64::from(c) << 8),
        _ => {}
    }
    total
}

fn folded(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// Identification and the key of a frame's flow as its receiver sees it, without a look at
/// checksums; `None` where it is no whole IPv4 packet of UDP or TCP without IP options.
#[must_use]
pub fn flow_of(frame: &[u8]) -> Option<(u16, FlowKey)> {
    let ip = frame.get(ETHERNET..)?;
    if ip.len() < IPV4 + 4 || word(frame, 12) != ETHERTYPE_IPV4 || ip[0] != 0x45 {
        return None;
    }
    if !matches!(ip[9], PROTOCOL_TCP | PROTOCOL_UDP) {
        return None;
    }
    let key = FlowKey {
        protocol: ip[9],
        local_port: word(ip, IPV4 + 2),
        remote: array(ip, 12),
        remote_port: word(ip, IPV4),
    };
    Some((word(ip, 4), key))
}

/// How a host tells packets apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The host's own port.
    pub local_port: u16,
    /// The other one's port.
    pub remote_port: u16,
    /// The other one's address.
    pub remote: [u8; 4],
    /// UDP or TCP.
    pub protocol: u8,
}

/// Reads a frame, of which all bytes from `filled` on are zeros.
#[must_use]
pub fn parse(frame: &[u8], filled: usize) -> Packet<'_> {
    if frame.len() < ETHERNET {
        return Packet::Malformed;
    }
    match word(frame, 12) {
        ETHERTYPE_IPV4 => parse_ipv4(frame, filled),
        ETHERTYPE_ARP => parse_arp(frame),
        _ => Packet::Other,
    }
}

fn parse_arp(frame: &[u8]) -> Packet<'_> {
    let arp = &frame[ETHERNET..];
    if arp.len() < ARP_LENGTH {
        return Packet::Malformed;
    }
    // Ethernet and IPv4, a request.
    if arp[..8] != [0, 1, 8, 0, 6, 4, 0, 1] {
        return Packet::Other;
    }
    Packet::ArpRequest {
        sender_mac: array(arp, 8),
        sender: array(arp, 14),
        target: array(arp, 24),
    }
}

/// The answer to an ARP request.
#[must_use]
pub fn arp_reply(mac: Mac, ip: [u8; 4], to_mac: Mac, to: [u8; 4]) -> Vec<u8> {
    let mut out = Vec::with_capacity(SHORTEST);
    out.extend_from_slice(&to_mac);
    out.extend_from_slice(&mac);
    out.extend_from_slice(&ETHERTYPE_ARP.to_be_bytes());
    out.extend_from_slice(&[0, 1, 8, 0, 6, 4, 0, 2]);
    out.extend_from_slice(&mac);
    out.extend_from_slice(&ip);
    out.extend_from_slice(&to_mac);
    out.extend_from_slice(&to);
    out.resize(SHORTEST - CRC, 0);
    out
}

fn parse_ipv4(frame: &[u8], filled: usize) -> Packet<'_> {
    let ip = &frame[ETHERNET..];
    if ip.len() < IPV4 || ip[0] >> 4 != 4 {
        return Packet::Malformed;
    }
    let header = usize::from(ip[0] & 0xf) * 4;
    let total = usize::from(word(ip, 2));
    if header < IPV4 || total < header || ip.len() < total || folded(sum(&ip[..header])) != 0xffff {
        return Packet::Malformed;
    }
    // Fragments: nobody here sends any.
    if word(ip, 6) & 0x3fff != 0 {
        return Packet::Other;
    }
    let content = &ip[header..total];
    // What follows is zeros, which add nothing.
    let summed = &content[..content.len().min(filled.saturating_sub(ETHERNET + header))];
    let mut addresses = Addresses {
        source_mac: array(frame, 6),
        destination_mac: array(frame, 0),
        source: array(ip, 12),
        destination: array(ip, 16),
        source_port: 0,
        destination_port: 0,
        protocol: ip[9],
        tos: ip[1],
    };
    let least = match addresses.protocol {
        PROTOCOL_UDP | PROTOCOL_ICMP => UDP,
        PROTOCOL_TCP => 20,
        _ => return Packet::Other,
    };
    if content.len() < least {
        return Packet::Malformed;
    }
    if addresses.protocol == PROTOCOL_ICMP {
        if folded(sum(summed)) != 0xffff {
            return Packet::Malformed;
        }
        return Packet::Icmp {
            addresses,
            message: content,
        };
    }
    addresses.source_port = word(content, 0);
    addresses.destination_port = word(content, 2);
    let pseudo = addresses.pseudo(content.len());
    if addresses.protocol == PROTOCOL_TCP {
        if folded(pseudo + sum(summed)) != 0xffff {
            return Packet::Malformed;
        }
        return Packet::Transport { addresses, content };
    }
    let length = usize::from(word(content, 4));
    let unsummed = word(content, 6) == 0;
    if length != content.len() || !unsummed && folded(pseudo + sum(summed)) != 0xffff {
        return Packet::Malformed;
    }
    Packet::Transport {
        addresses,
        content: &content[UDP..],
    }
}

/// The answer to an ICMP echo request; `None` where the message is none.
#[must_use]
pub fn echo_reply(request: &Addresses, message: &[u8]) -> Option<Vec<u8>> {
    if message.first_chunk() != Some(&[8, 0]) {
        return None;
    }
    let mut out = vec![0; ETHERNET + IPV4 + message.len()];
    request.reversed().begin(0, &mut out);
    let reply = &mut out[ETHERNET + IPV4..];
    reply.copy_from_slice(message);
    reply[..4].fill(0);
    let sum = !folded(sum(reply));
    reply[2..4].copy_from_slice(&sum.to_be_bytes());
    Some(out)
}

/// The number in front of a datagram's payload.
#[must_use]
pub fn number_of(payload: &[u8]) -> Option<u64> {
    payload
        .first_chunk()
        .map(|bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::frame_length;

    const ADDRESSES: Addresses = Addresses {
        source_mac: [2, 0, 0, 0, 1, 1],
        destination_mac: [2, 0, 0, 0, 2, 1],
        source: [10, 0, 0, 11],
        destination: [10, 0, 0, 101],
        source_port: 20_001,
        destination_port: 2112,
        protocol: PROTOCOL_UDP,
        tos: 0xb8,
    };

    fn read(frame: &[u8]) -> Packet<'_> {
        parse(frame, crate::digest::of_frame(frame).1)
    }

    #[test]
    fn a_datagram_is_read_as_it_was_written() {
        let frame = ADDRESSES.datagram(&mut Net::default(), 77, 172, 12_345);
        let frame = frame.bytes;
        assert_eq!(frame_length(frame.len()), 218);
        let Packet::Transport { addresses, content } = read(&frame) else {
            panic!("{:?}", read(&frame));
        };
        assert_eq!(addresses, ADDRESSES);
        assert_eq!((content.len(), number_of(content)), (172, Some(12_345)));
        let (identification, key) = flow_of(&frame).unwrap();
        assert_eq!(
            (identification, key.local_port, key.remote_port),
            (77, 2112, 20_001)
        );
    }

    #[test]
    fn every_flipped_bit_of_headers_and_payload_is_noticed() {
        let frame = ADDRESSES.datagram(&mut Net::default(), 1, 40, 9).bytes;
        for bit in ETHERNET * 8..frame.len() * 8 {
            let mut broken = frame.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&broken), Packet::Malformed, "bit {bit}");
        }
        for length in 0..frame.len() {
            assert_eq!(read(&frame[..length]), Packet::Malformed, "{length} bytes");
        }
    }

    /// RFC 1071's own sum, two bytes at a time.
    fn slow(bytes: &[u8]) -> u16 {
        folded(
            bytes
                .chunks(2)
                .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&b| u64::from(b)))
                .sum(),
        )
    }

    #[test]
    fn the_sum_is_that_of_16_bit_words_at_every_length() {
        let bytes: Vec<u8> = (0..300u32).map(|n| (n * 167 % 251) as u8).collect();
        for length in 0..bytes.len() {
            assert_eq!(
                folded(sum(&bytes[..length])),
                slow(&bytes[..length]),
                "{length}"
            );
        }
    }

    #[test]
    fn arp_and_ping_are_answered() {
        let mut request = vec![0xff; 6];
        request.extend_from_slice(&[2, 0, 0, 0, 1, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        request.extend_from_slice(&[2, 0, 0, 0, 1, 1, 10, 0, 0, 11, 0, 0, 0, 0, 0, 0]);
        request.extend_from_slice(&[10, 0, 0, 101]);
        let found = read(&request);
        let (sender_mac, sender) = ([2, 0, 0, 0, 1, 1], [10, 0, 0, 11]);
        let target = [10, 0, 0, 101];
        assert_eq!(
            found,
            Packet::ArpRequest {
                sender_mac,
                sender,
                target
            }
        );
        let reply = arp_reply([2, 0, 0, 0, 2, 1], target, sender_mac, sender);
        assert_eq!((reply.len(), read(&reply)), (60, Packet::Other));

        let mut ping = vec![0; ETHERNET + IPV4 + 16];
        let icmp = Addresses {
            protocol: PROTOCOL_ICMP,
            source_port: 0,
            destination_port: 0,
            ..ADDRESSES
        };
        icmp.begin(3, &mut ping);
        ping[ETHERNET + IPV4] = 8;
        let sum = !folded(sum(&ping[ETHERNET + IPV4..]));
        ping[ETHERNET + IPV4 + 2..ETHERNET + IPV4 + 4].copy_from_slice(&sum.to_be_bytes());
        let Packet::Icmp { addresses, message } = read(&ping) else {
            panic!("{:?}", read(&ping));
        };
        let reply = echo_reply(&addresses, message).unwrap();
        let Packet::Icmp { addresses, message } = read(&reply) else {
            panic!("{:?}", read(&reply));
        };
        assert_eq!((addresses, message[0]), (icmp.reversed(), 0));
        assert_eq!(echo_reply(&addresses, message), None);
    }
}
