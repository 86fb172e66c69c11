// SPDX-License-Identifier: Apache-2.0
//! The header of a segment (RFC 9293 3.1), written and read.

use crate::options;
use crate::segment::{DecodeError, Flags, HEADER_LENGTH, Segment};

impl Segment {
    /// The length of its header with options: a multiple of 4.
    pub fn header_length(&self) -> usize {
        HEADER_LENGTH + options::length(self)
    }

    /// Writes the header to the front of `buffer` and returns its length. The
    /// checksum field is 0: [`crate::checksum`] fills it.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`Segment::header_length`].
    pub fn encode(&self, buffer: &mut [u8]) -> usize {
        let length = self.header_length();
        let header = &mut buffer[..length];
        header[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        header[4..8].copy_from_slice(&self.seq.to_be_bytes());
        header[8..12].copy_from_slice(&self.ack.to_be_bytes());
        header[12] = ((length / 4) as u8) << 4;
        header[13] = self.flags.0;
        header[14..16].copy_from_slice(&self.window.to_be_bytes());
        header[16..20].fill(0);
        options::encode(self, &mut header[HEADER_LENGTH..]);
        length
    }

    /// Reads a header from the front of `bytes`, of a segment that has
    /// `tcp_length` bytes with its data, as the IP header says. The data need
    /// not be there, the checksum is not looked at.
    ///
    /// # Errors
    /// [`DecodeError`], which says what is wrong with the header.
    pub fn decode(bytes: &[u8], tcp_length: usize) -> Result<Segment, DecodeError> {
        let header: &[u8; HEADER_LENGTH] = bytes.first_chunk().ok_or(DecodeError::Truncated)?;
        let length = usize::from(header[12] >> 4) * 4;
        if length < HEADER_LENGTH {
            return Err(DecodeError::DataOffset);
        }
        let payload = tcp_length
            .checked_sub(length)
            .and_then(|payload| u32::try_from(payload).ok())
            .ok_or(DecodeError::Truncated)?;
        let options = bytes
            .get(HEADER_LENGTH..length)
            .ok_or(DecodeError::Truncated)?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let long = |at: usize| (u32::from(word(at)) << 16) | u32::from(word(at + 2));
        let mut segment = Segment {
            source_port: word(0),
            destination_port: word(2),
            seq: long(4),
            ack: long(8),
            flags: Flags(header[13]),
            window: word(14),
            payload,
            ..Segment::default()
        };
        options::decode(options, &mut segment)?;
        Ok(segment)
    }
}
