// SPDX-License-Identifier: Apache-2.0
//! A MAP as the MAC management message that it is sent in: MAC header, message header, body, CRC.

use crate::clock::Minislot;
use crate::crc::crc32;
use crate::error::WireError;
use crate::mac_header::MacHeader;
use crate::map::Map;
use crate::reader::Reader;

/// All modems' address, where MAPs are sent to.
const ALL_MODEMS: [u8; 6] = [0x01, 0xe0, 0x2f, 0x00, 0x00, 0x01];
/// DSAP, SSAP and control: null, null, unnumbered information.
const LLC: [u8; 3] = [0, 0, 3];
const VERSION: u8 = 1;
const TYPE_MAP: u8 = 3;
/// Addresses, length, LLC, version, type and a reserved byte.
const MESSAGE_HEADER: usize = 20;
/// Bytes of the header that the message's length counts, beside the body.
const COUNTED: u16 = 6;
const CRC: usize = 4;

impl Map {
    /// Bytes of the message of a MAP with so many information elements, as it is sent downstream:
    /// 46, and 4 for each (mac.md, "Minislots and MAP").
    #[must_use]
    pub fn message_length(information_elements: usize) -> usize {
        46 + 4 * information_elements
    }

    /// The whole message as it is sent downstream from the CMTS's address.
    ///
    /// # Errors
    /// As [`Map::encode`].
    pub fn message(&self, source: [u8; 6]) -> Result<Vec<u8>, WireError> {
        let body = self.encode()?;
        // The body of a MAP has at most 976 bytes.
        let length = body.len() as u16;
        let mut out = Vec::with_capacity(Self::message_length(self.information_elements()));
        MacHeader::Management {
            extended: Vec::new(),
            payload: (MESSAGE_HEADER + CRC) as u16 + length,
        }
        .encode(&mut out)?;
        let covered = out.len();
        out.extend(ALL_MODEMS);
        out.extend(source);
        out.extend((COUNTED + length).to_be_bytes());
        out.extend(LLC);
        out.extend([VERSION, TYPE_MAP, 0]);
        out.extend(body);
        out.extend(crc32(&out[covered..]));
        Ok(out)
    }

    /// Reads a whole message; `reference` as for [`Map::decode`].
    ///
    /// # Errors
    /// What [`MacHeader::decode`] and [`Map::decode`] refuse; a message that is none, that is not a
    /// MAP of version 1, whose length is not that of its bytes, or whose CRC does not match.
    pub fn decode_message(bytes: &[u8], reference: Minislot) -> Result<Self, WireError> {
        let (header, covered) = MacHeader::decode(bytes)?;
        if !matches!(header, MacHeader::Management { .. }) {
            return Err(WireError::field(
                "frame control",
                bytes[0],
                "it is not that of a MAC management message",
            ));
        }
        let mut frame = Reader::new("MAC management message", &bytes[covered..]);
        let message = frame.take(header.payload().saturating_sub(CRC))?;
        let crc = frame.take(CRC)?;
        frame.end()?;
        if crc != crc32(message) {
            return Err(WireError::Check {
                of: "MAC management message",
            });
        }
        let mut reader = Reader::new("MAC management message", message);
        reader.take(12)?;
        let length = reader.u16()?;
        reader.take(LLC.len())?;
        let (version, kind) = (reader.u8()?, reader.u8()?);
        if (version, kind) != (VERSION, TYPE_MAP) {
            return Err(WireError::field(
                "version and type of a message",
                u16::from_be_bytes([version, kind]),
                "they have to be 1 and 3, a MAP's",
            ));
        }
        reader.u8()?;
        let body = &message[reader.at()..];
        if usize::from(length) != body.len() + usize::from(COUNTED) {
            return Err(WireError::field(
                "length of a message",
                length,
                "it has to count the bytes from DSAP to the end of the body",
            ));
        }
        Self::decode(body, reference)
    }
}
