// SPDX-License-Identifier: Apache-2.0
//! A segment: a TCP header (RFC 9293 3.1) and how many bytes of data follow
//! it. The bytes themselves are not carried.

use std::fmt;

/// The length of a header without options.
pub const HEADER_LENGTH: usize = 20;
/// The longest header that there can be.
pub const MAX_HEADER_LENGTH: usize = 60;
/// The most SACK blocks that fit into a header (RFC 2018 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// The flags of a header, by their bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronises sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Resets the connection.
    pub const RST: Flags = Flags(0x04);
    /// Asks to hand the data on.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field counts.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer counts; it is ignored here.
    pub const URG: Flags = Flags(0x20);
    /// ECN-Echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion Window Reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// True if all flags of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and those of `other`.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LETTERS: [char; 8] = ['F', 'S', 'R', 'P', 'A', 'U', 'E', 'C'];
        for (bit, letter) in LETTERS.iter().enumerate() {
            if self.0 >> bit & 1 == 1 {
                write!(out, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// The timestamps option (RFC 7323 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the clock of the other end that is echoed.
    pub echo: u32,
}

/// The blocks of a SACK option, from left edge to right edge (RFC 2018 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// Adds a block; false if there are four already.
    pub fn push(&mut self, left: u32, right: u32) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.count)) else {
            return false;
        };
        *place = (left, right);
        self.count += 1;
        true
    }

    /// The blocks in the order of the option.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// True if there are none, and then no option either.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Keeps the first `count` blocks.
    pub fn truncate(&mut self, count: usize) {
        if count < usize::from(self.count) {
            self.blocks[count..].fill((0, 0));
            self.count = count as u8;
        }
    }
}

/// A segment as it is on the wire, with the number of bytes in place of the
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The source port.
    pub source_port: u16,
    /// The destination port.
    pub destination_port: u16,
    /// The sequence number of the first byte, or of the SYN.
    pub seq: u32,
    /// The acknowledgment number, if the flag ACK is set.
    pub ack: u32,
    /// The flags.
    pub flags: Flags,
    /// The window field, not scaled.
    pub window: u16,
    /// The Maximum Segment Size option (RFC 9293 3.7.1).
    pub mss: Option<u16>,
    /// The Window Scale option (RFC 7323 2).
    pub window_scale: Option<u8>,
    /// The SACK-Permitted option (RFC 2018 2).
    pub sack_permitted: bool,
    /// The timestamps option (RFC 7323 3).
    pub timestamps: Option<Timestamps>,
    /// The SACK option (RFC 2018 3); the first block may be a DSACK (RFC 2883).
    pub sack: SackBlocks,
    /// How many bytes of data follow the header.
    pub payload: u32,
}

/// Why bytes are not a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Fewer bytes than the header has, or a data offset beyond the segment.
    Truncated,
    /// A data offset below 5.
    DataOffset,
    /// An option whose length is wrong (RFC 9293 3.1, MUST-7).
    Option,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            DecodeError::Truncated => "the TCP header is longer than the segment",
            DecodeError::DataOffset => "the TCP header's data offset is below 5",
            DecodeError::Option => "a TCP option has a wrong length",
        })
    }
}

impl std::error::Error for DecodeError {}

impl Segment {
    /// How many sequence numbers it takes: its data, SYN and FIN
    /// (RFC 9293 3.4, SEG.LEN).
    pub fn sequence_length(&self) -> u64 {
        u64::from(self.payload)
            + u64::from(self.flags.has(Flags::SYN))
            + u64::from(self.flags.has(Flags::FIN))
    }
}
