// SPDX-License-Identifier: Apache-2.0
//! What a frame says about its TCP connection. Anybody may have sent the frame, so one that is cut
//! short, or that is not what it claims to be, counts as no TCP segment.

/// The two ends of a TCP connection, in one direction, as the link sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Ethernet's destination and source.
    pub stations: [u8; 12],
    /// VLAN identifiers, outer tag first; 0 is no tag.
    pub vlans: [u16; 2],
    /// IPv6, not IPv4.
    pub is_ipv6: bool,
    /// Source and destination; IPv4's in the first bytes of each.
    pub addresses: [[u8; 16]; 2],
    /// Source and destination.
    pub ports: [u16; 2],
}

/// What a segment carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Nothing but an acknowledgement: no data, no SYN, FIN or RST.
    Ack {
        /// Acknowledgement number.
        number: u32,
        /// The ACK flag is the only one, reserved ones and those of ECN included, and options
        /// are timestamps and padding, so there is no SACK.
        plain: bool,
    },
    /// Data or a FIN, with an acknowledgement.
    Data {
        /// Acknowledgement number.
        number: u32,
    },
    /// SYN or RST, or no acknowledgement: the connection's numbers begin anew, or end.
    Edge,
}

/// A frame's TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Whose it is.
    pub connection: Connection,
    /// What it carries.
    pub content: Content,
}

const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Addresses, and what IP carries as its own length says; padding is no part of it.
struct Datagram<'f> {
    addresses: [[u8; 16]; 2],
    payload: &'f [u8],
    /// The first of several fragments.
    begins: bool,
}

fn ipv4(packet: &[u8]) -> Option<Datagram<'_>> {
    let first = *packet.first()?;
    let header = usize::from(first & 0x0f) * 4;
    let total = usize::from(u16_at(packet, 2)?);
    let fragment = u16_at(packet, 6)?;
    if first >> 4 != 4 || header < 20 || *packet.get(9)? != TCP || fragment & 0x1fff != 0 {
        return None;
    }
    let mut addresses = [[0; 16]; 2];
    addresses[0][..4].copy_from_slice(packet.get(12..16)?);
    addresses[1][..4].copy_from_slice(packet.get(16..20)?);
    Some(Datagram {
        addresses,
        payload: packet.get(header..total)?,
        begins: fragment & 0x2000 != 0,
    })
}

/// TCP behind extension headers is not looked for.
fn ipv6(packet: &[u8]) -> Option<Datagram<'_>> {
    let length = usize::from(u16_at(packet, 4)?);
    if packet.first()? >> 4 != 6 || *packet.get(6)? != TCP {
        return None;
    }
    Some(Datagram {
        addresses: [
            packet.get(8..24)?.try_into().ok()?,
            packet.get(24..40)?.try_into().ok()?,
        ],
        payload: packet.get(40..40 + length)?,
        begins: false,
    })
}

/// Timestamps and padding only. Options that do not fit the header are not plain.
fn plain_options(mut options: &[u8]) -> bool {
    while let Some(&kind) = options.first() {
        let length = match (kind, options.get(1)) {
            (0, _) => return true,
            (1, _) => 1,
            (8, Some(10)) => 10,
            _ => return false,
        };
        let Some(rest) = options.get(length..) else {
            return false;
        };
        options = rest;
    }
    true
}

impl Segment {
    /// The segment that an Ethernet frame carries, behind up to two VLAN tags, in IPv4 or IPv6:
    /// `None` if it carries none, or the later part of one. Checksums are not verified: a host's
    /// interface may have left them to the hardware.
    #[must_use]
    pub fn of(frame: &[u8]) -> Option<Self> {
        let mut vlans = [0; 2];
        let mut at = 12;
        let mut tags = 0;
        while let 0x8100 | 0x88a8 = u16_at(frame, at)? {
            *vlans.get_mut(tags)? = u16_at(frame, at + 2)? & 0x0fff;
            tags += 1;
            at += 4;
        }
        let packet = frame.get(at + 2..)?;
        let is_ipv6 = u16_at(frame, at)? == 0x86dd;
        let datagram = match u16_at(frame, at)? {
            0x0800 => ipv4(packet)?,
            0x86dd => ipv6(packet)?,
            _ => return None,
        };
        let tcp = datagram.payload;
        let header = usize::from(*tcp.get(12)? >> 4) * 4;
        let options = tcp.get(20..header)?;
        let data = tcp.get(header..)?;
        let number = u32_at(tcp, 8)?;
        let (reserved, flags) = (tcp[12] & 0x0f, tcp[13]);
        let content = if flags & (SYN | RST) != 0 || flags & ACK == 0 {
            Content::Edge
        } else if !data.is_empty() || flags & FIN != 0 || datagram.begins {
            Content::Data { number }
        } else {
            let plain = flags == ACK && reserved == 0 && plain_options(options);
            Content::Ack { number, plain }
        };
        Some(Self {
            connection: Connection {
                stations: frame.get(..12)?.try_into().ok()?,
                vlans,
                is_ipv6,
                addresses: datagram.addresses,
                ports: [u16_at(tcp, 0)?, u16_at(tcp, 2)?],
            },
            content,
        })
    }
}

/// Whether acknowledgement number `a` is lower than `b`, modulo 2^32.
pub(crate) fn is_lower(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

#[cfg(test)]
mod tests;
