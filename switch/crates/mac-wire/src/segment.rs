// SPDX-License-Identifier: Apache-2.0
//! The segment header in front of each grant's part of a stream of bytes (mac.md, "What a request
//! asks for"; where its fields lie is \[?\]).

use crate::crc::header_check_sequence;
use crate::error::WireError;
use crate::reader::Reader;

const POINTER_INDICATOR: u16 = 0x8000;
const POINTER: u16 = 0x3fff;
const SEQUENCE: u16 = 0x1fff;

/// What a segment header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Bytes between it and the first MAC header in the segment, 14 bits; `None` if none begins.
    pub first_header: Option<u16>,
    /// The segment's number, modulo 2^13.
    pub sequence: u16,
    /// SID cluster, 3 bits.
    pub cluster: u8,
    /// Bytes asked for, in units of the service flow's request unit; 0 is no request.
    pub request: u16,
}

impl SegmentHeader {
    /// Bytes of a segment header.
    pub const LENGTH: usize = 8;

    /// Its bytes.
    ///
    /// # Errors
    /// A value that does not fit into its bits.
    pub fn encode(&self) -> Result<[u8; Self::LENGTH], WireError> {
        let pointer = match self.first_header {
            Some(bytes) => POINTER_INDICATOR | in_bits("pointer of a segment", bytes, POINTER)?,
            None => 0,
        };
        let sequence = in_bits("sequence number of a segment", self.sequence, SEQUENCE)?;
        let cluster = in_bits("SID cluster", self.cluster.into(), 7)?;
        let mut bytes = [0; Self::LENGTH];
        bytes[..2].copy_from_slice(&pointer.to_be_bytes());
        bytes[2..4].copy_from_slice(&(sequence << 3 | cluster).to_be_bytes());
        bytes[4..6].copy_from_slice(&self.request.to_be_bytes());
        let check = header_check_sequence(&bytes[..6]);
        bytes[6..].copy_from_slice(&check);
        Ok(bytes)
    }

    /// Reads it off the front of a grant's bytes.
    ///
    /// # Errors
    /// Bytes that are missing; a header check sequence that does not match.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new("segment header", bytes);
        let (pointer, numbers) = (reader.u16()?, reader.u16()?);
        let request = reader.u16()?;
        if reader.take(2)? != header_check_sequence(&bytes[..6]) {
            return Err(WireError::Check {
                of: "segment header",
            });
        }
        Ok(Self {
            first_header: (pointer & POINTER_INDICATOR != 0).then_some(pointer & POINTER),
            sequence: numbers >> 3,
            cluster: (numbers & 7) as u8,
            request,
        })
    }
}

fn in_bits(field: &'static str, value: u16, most: u16) -> Result<u16, WireError> {
    if value <= most {
        return Ok(value);
    }
    Err(WireError::field(
        field,
        value,
        "it has to fit into its bits",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fields_lie_as_mac_md_says() {
        let header = SegmentHeader {
            first_header: Some(5),
            sequence: 0x1000,
            cluster: 1,
            request: 382,
        };
        assert_eq!(
            header.encode().unwrap()[..6],
            [0x80, 5, 0x80, 0x01, 0x01, 0x7e]
        );
    }

    proptest! {
        #[test]
        fn a_header_comes_back_as_it_was(
            first_header in proptest::option::of(0..0x4000_u16),
            sequence in 0..0x2000_u16,
            cluster in 0..8_u8,
            request in any::<u16>(),
        ) {
            let header = SegmentHeader { first_header, sequence, cluster, request };
            prop_assert_eq!(SegmentHeader::decode(&header.encode().unwrap()), Ok(header));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..10)) {
            let _ = SegmentHeader::decode(&bytes);
        }
    }
}
