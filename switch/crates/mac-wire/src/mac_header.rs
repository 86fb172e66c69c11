// SPDX-License-Identifier: Apache-2.0
//! The MAC header: mac.md, "What a request asks for", and Wireshark's DOCSIS dissector.
//!
//! FC (type 2 bits, parameter 5, whether an extended header follows 1), MAC_PARM, LEN or SID,
//! extended header, HCS.

use crate::crc::header_check_sequence;
use crate::error::WireError;
use crate::extended::Extended;
use crate::extended_bytes::{self, sid_bits};
use crate::flow::Sid;
use crate::reader::Reader;

const PACKET: u8 = 0;
const MANAGEMENT: u8 = mac_specific(0x01);
const REQUEST: u8 = mac_specific(0x02);
const FRAGMENT: u8 = mac_specific(0x03);
const QUEUE_DEPTH_REQUEST: u8 = mac_specific(0x04);
const CONCATENATION: u8 = mac_specific(0x1c);
const EXTENDED: u8 = 1;

/// The frame control of a type of header that is not a packet's, without extended header.
const fn mac_specific(parameter: u8) -> u8 {
    3 << 6 | parameter << 1
}

/// What a MAC header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MacHeader {
    /// An Ethernet frame follows, with its CRC.
    Packet {
        /// Extended header elements.
        extended: Vec<Extended>,
        /// Bytes behind the header.
        payload: u16,
    },
    /// A MAC management message follows.
    Management {
        /// Extended header elements.
        extended: Vec<Extended>,
        /// Bytes behind the header.
        payload: u16,
    },
    /// A fragment follows, with its CRC. The privacy element in `extended` says which.
    Fragment {
        /// Extended header elements.
        extended: Vec<Extended>,
        /// Bytes behind the header.
        payload: u16,
    },
    /// Frames with their own headers follow.
    Concatenation {
        /// How many.
        frames: u8,
        /// Bytes of them all.
        payload: u16,
    },
    /// A request for minislots: the whole frame.
    Request {
        /// Minislots.
        minislots: u8,
        /// Who asks; 16 bits on the wire, of which 14 are used.
        sid: Sid,
    },
    /// A request for bytes: the whole frame.
    QueueDepthRequest {
        /// Units as long as the service flow's request unit.
        units: u16,
        /// Who asks; 16 bits on the wire, of which 14 are used.
        sid: Sid,
    },
}

impl MacHeader {
    /// Bytes of a header without an extended one.
    pub const LENGTH: usize = 6;
    /// Bytes of a queue-depth request.
    pub const QUEUE_DEPTH_REQUEST_LENGTH: usize = 7;

    /// Appends it to `out`.
    ///
    /// # Errors
    /// An extended header of more than [`Extended::MAX_TOTAL`] bytes, or one that leaves no room
    /// in LEN, which counts it and the payload; a SID of more than 14 bits. `out` then ends with
    /// part of the header.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let start = out.len();
        match self {
            Self::Packet { extended, payload } => variable(PACKET, extended, *payload, out)?,
            Self::Management { extended, payload } => {
                variable(MANAGEMENT, extended, *payload, out)?;
            }
            Self::Fragment { extended, payload } => variable(FRAGMENT, extended, *payload, out)?,
            Self::Concatenation { frames, payload } => {
                out.extend([CONCATENATION, *frames]);
                out.extend(payload.to_be_bytes());
            }
            Self::Request { minislots, sid } => {
                out.extend([REQUEST, *minislots]);
                out.extend(sid_bits(*sid)?.to_be_bytes());
            }
            Self::QueueDepthRequest { units, sid } => {
                out.push(QUEUE_DEPTH_REQUEST);
                out.extend(units.to_be_bytes());
                out.extend(sid_bits(*sid)?.to_be_bytes());
            }
        }
        out.extend(header_check_sequence(&out[start..]));
        Ok(())
    }

    /// Reads the header at the front of `bytes`, and says how long it is.
    ///
    /// # Errors
    /// Bytes that are missing; a header check sequence that does not match; a frame control that
    /// is none of these; an extended header whose elements do not fill it, or that LEN has no room
    /// for.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), WireError> {
        let mut reader = Reader::new("MAC header", bytes);
        let control = reader.u8()?;
        let header = match control {
            REQUEST => Self::Request {
                minislots: reader.u8()?,
                sid: read_sid(&mut reader)?,
            },
            QUEUE_DEPTH_REQUEST => Self::QueueDepthRequest {
                units: reader.u16()?,
                sid: read_sid(&mut reader)?,
            },
            CONCATENATION => Self::Concatenation {
                frames: reader.u8()?,
                payload: reader.u16()?,
            },
            _ => read_variable(control, &mut reader)?,
        };
        let covered = reader.at();
        if reader.take(2)? != header_check_sequence(&bytes[..covered]) {
            return Err(WireError::Check { of: "MAC header" });
        }
        Ok((header, reader.at()))
    }

    /// Bytes that follow it and belong to it.
    #[must_use]
    pub fn payload(&self) -> usize {
        match self {
            Self::Packet { payload, .. }
            | Self::Management { payload, .. }
            | Self::Fragment { payload, .. }
            | Self::Concatenation { payload, .. } => usize::from(*payload),
            Self::Request { .. } | Self::QueueDepthRequest { .. } => 0,
        }
    }
}

fn read_sid(reader: &mut Reader) -> Result<Sid, WireError> {
    let sid = Sid(reader.u16()?);
    sid_bits(sid).map(|_| sid)
}

fn variable(
    control: u8,
    extended: &[Extended],
    payload: u16,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let elements = extended_bytes::encode(extended)?;
    let length = u16::from(elements.length())
        .checked_add(payload)
        .ok_or(WireError::field(
            "payload of a MAC header",
            payload,
            "with the extended header it has to be at most 65535 bytes",
        ))?;
    let flag = if elements.length() > 0 { EXTENDED } else { 0 };
    out.extend([control | flag, elements.length()]);
    out.extend(length.to_be_bytes());
    out.extend(elements.bytes());
    Ok(())
}

fn read_variable(control: u8, reader: &mut Reader) -> Result<MacHeader, WireError> {
    let parameter = reader.u8()?;
    let length = reader.u16()?;
    let (extended, payload) = if control & EXTENDED == 0 {
        (Vec::new(), length)
    } else {
        let payload = length
            .checked_sub(parameter.into())
            .ok_or(WireError::field(
                "LEN of a MAC header",
                length,
                "it has to count the extended header too",
            ))?;
        (
            extended_bytes::decode(reader.take(parameter.into())?)?,
            payload,
        )
    };
    match control & !EXTENDED {
        PACKET => Ok(MacHeader::Packet { extended, payload }),
        MANAGEMENT => Ok(MacHeader::Management { extended, payload }),
        FRAGMENT => Ok(MacHeader::Fragment { extended, payload }),
        _ => Err(WireError::field(
            "frame control of a MAC header",
            control,
            "it is none of a packet's, a management message's, a fragment's, a concatenation's or a \
             request's",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extended_bytes::tests::{elements, sids};
    use proptest::prelude::*;

    fn bytes(header: &MacHeader) -> Vec<u8> {
        let mut out = Vec::new();
        header.encode(&mut out).unwrap();
        out
    }

    #[test]
    fn request_frames_have_six_and_seven_bytes() {
        // These are bytes whose check sequences tshark 4.0.17 found good.
        let minislots = bytes(&MacHeader::Request {
            minislots: 96,
            sid: Sid(7),
        });
        assert_eq!(minislots, [0xc4, 0x60, 0x00, 0x07, 0x19, 0xc4]);
        assert_eq!(minislots.len(), MacHeader::LENGTH);
        let queue_depth = bytes(&MacHeader::QueueDepthRequest {
            units: 382,
            sid: Sid(7),
        });
        assert_eq!(queue_depth, [0xc8, 0x01, 0x7e, 0x00, 0x07, 0xe7, 0x26]);
        assert_eq!(queue_depth.len(), MacHeader::QUEUE_DEPTH_REQUEST_LENGTH);
    }

    #[test]
    fn len_counts_the_extended_header() {
        let header = bytes(&MacHeader::Packet {
            extended: vec![Extended::Request {
                minislots: 5,
                sid: Sid(1),
            }],
            payload: 1518,
        });
        assert_eq!(header[..4], [0x01, 4, 0x05, 0xf2]);
        assert_eq!(header.len(), 10);
    }

    #[test]
    fn len_that_has_no_room_for_the_extended_header_is_refused() {
        let mut bytes = vec![0x01, 4, 0, 3, 0x13, 5, 0, 1];
        bytes.extend(header_check_sequence(&bytes));
        let error = MacHeader::decode(&bytes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the LEN of a MAC header is 3; it has to count the extended header too"
        );
    }

    fn headers() -> impl Strategy<Value = MacHeader> {
        let extended = || proptest::collection::vec(elements(), 0..14);
        prop_oneof![
            (extended(), 0..60_000_u16)
                .prop_map(|(extended, payload)| MacHeader::Packet { extended, payload }),
            (extended(), 0..60_000_u16)
                .prop_map(|(extended, payload)| MacHeader::Management { extended, payload }),
            (extended(), 0..60_000_u16)
                .prop_map(|(extended, payload)| MacHeader::Fragment { extended, payload }),
            (any::<u8>(), any::<u16>())
                .prop_map(|(frames, payload)| MacHeader::Concatenation { frames, payload }),
            (any::<u8>(), sids())
                .prop_map(|(minislots, sid)| MacHeader::Request { minislots, sid }),
            (any::<u16>(), sids())
                .prop_map(|(units, sid)| MacHeader::QueueDepthRequest { units, sid }),
        ]
    }

    proptest! {
        #[test]
        fn headers_come_back_as_they_were(
            header in headers(), behind in proptest::collection::vec(any::<u8>(), 0..8),
        ) {
            let mut bytes = bytes(&header);
            let length = bytes.len();
            bytes.extend(behind);
            prop_assert_eq!(MacHeader::decode(&bytes).unwrap(), (header, length));
        }

        // Not of the frame control or an extended header's length: those say which bytes are covered.
        #[test]
        fn a_bit_that_flips_is_noticed(
            frames in any::<u8>(), payload in any::<u16>(), bit in 8..48_usize,
        ) {
            let mut bytes = bytes(&MacHeader::Concatenation { frames, payload });
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(
                MacHeader::decode(&bytes),
                Err(WireError::Check { of: "MAC header" })
            );
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = MacHeader::decode(&bytes);
        }
    }
}
