// SPDX-License-Identifier: Apache-2.0
//! The contents of a burst: MAC frames, a concatenation of them, or a fragment of one.

use crate::crc::crc32;
use crate::error::WireError;
use crate::extended::{Extended, FragmentControl};
use crate::mac_header::MacHeader;
use crate::reader::Reader;

/// Bytes of an Ethernet frame's CRC, and of a fragment's.
pub const CRC_LENGTH: usize = 4;
/// Bytes that a fragment has beside its part of the frame: a MAC header with a privacy element of 6
/// bytes, and the CRC (mac.md, "What a request asks for").
pub const FRAGMENT_OVERHEAD: usize = MacHeader::LENGTH + 6 + CRC_LENGTH;
/// Least bytes of an Ethernet frame without its CRC.
const LEAST_ETHERNET: usize = 60;

/// The MAC frame of an Ethernet frame that has no CRC yet: MAC header, the frame, filled up to 60
/// bytes with zeros, CRC.
///
/// # Errors
/// A frame or an extended header that is too long.
pub fn mac_frame(ethernet: &[u8], extended: Vec<Extended>) -> Result<Vec<u8>, WireError> {
    let length = ethernet.len().max(LEAST_ETHERNET);
    let mut out = Vec::with_capacity(length + 32);
    MacHeader::Packet {
        extended,
        payload: payload(length + CRC_LENGTH)?,
    }
    .encode(&mut out)?;
    let covered = out.len();
    out.extend(ethernet);
    out.resize(covered + length, 0);
    out.extend(crc32(&out[covered..]));
    Ok(out)
}

/// MAC frames behind a concatenation header.
///
/// # Errors
/// More than 255 frames, or more than 65535 bytes of them.
pub fn concatenate(frames: &[Vec<u8>]) -> Result<Vec<u8>, WireError> {
    let count = u8::try_from(frames.len()).map_err(|_| {
        WireError::field(
            "number of concatenated frames",
            frames.len() as u64,
            "it has to be at most 255",
        )
    })?;
    let bytes = frames.iter().map(Vec::len).fold(0, usize::saturating_add);
    let mut out = Vec::with_capacity(MacHeader::LENGTH);
    MacHeader::Concatenation {
        frames: count,
        payload: payload(bytes)?,
    }
    .encode(&mut out)?;
    out.extend(frames.iter().flatten());
    Ok(out)
}

/// The MAC frames of a burst: those behind its concatenation header, or the only one.
///
/// # Errors
/// What [`MacHeader::decode`] refuses; a concatenation in a concatenation; another number of frames
/// or bytes than its header says.
pub fn frames(burst: &[u8]) -> Result<Vec<&[u8]>, WireError> {
    let (header, length) = MacHeader::decode(burst)?;
    let MacHeader::Concatenation { frames, .. } = header else {
        let mut reader = Reader::new("burst", burst);
        let frame = reader.take(length + header.payload())?;
        reader.end()?;
        return Ok(vec![frame]);
    };
    let mut reader = Reader::new("concatenation", burst);
    reader.take(length)?;
    let within = reader.take(header.payload())?;
    reader.end()?;
    let mut reader = Reader::new("concatenation", within);
    let mut found = Vec::with_capacity(frames.into());
    for _ in 0..frames {
        let (header, length) = MacHeader::decode(&within[reader.at()..])?;
        if matches!(header, MacHeader::Concatenation { .. }) {
            return Err(WireError::field(
                "frame control in a concatenation",
                within[reader.at()],
                "it must not be that of a concatenation",
            ));
        }
        found.push(reader.take(length + header.payload())?);
    }
    reader.end()?;
    Ok(found)
}

/// A fragment of a MAC frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The privacy element, which has the [`FragmentControl`], and any others.
    pub extended: Vec<Extended>,
    /// Its part of the MAC frame.
    pub part: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Which fragment it is.
    #[must_use]
    pub fn control(&self) -> Option<FragmentControl> {
        self.extended.iter().find_map(|element| match element {
            Extended::Privacy { fragment, .. } => *fragment,
            _ => None,
        })
    }

    /// Its bytes. The CRC covers the part alone (RFI, \[?\]).
    ///
    /// # Errors
    /// A part or an extended header that is too long, or no [`FragmentControl`].
    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        self.check()?;
        let mut out = Vec::with_capacity(FRAGMENT_OVERHEAD + self.part.len());
        MacHeader::Fragment {
            extended: self.extended.clone(),
            payload: payload(self.part.len() + CRC_LENGTH)?,
        }
        .encode(&mut out)?;
        out.extend(self.part);
        out.extend(crc32(self.part));
        Ok(out)
    }

    /// Reads one.
    ///
    /// # Errors
    /// What [`MacHeader::decode`] refuses; a frame that is no fragment; no [`FragmentControl`]; bytes
    /// that are missing or left over; a CRC that does not match.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let (header, length) = MacHeader::decode(bytes)?;
        let payload = header.payload();
        let MacHeader::Fragment { extended, .. } = header else {
            return Err(WireError::field(
                "frame control of a fragment",
                bytes[0],
                "it is not that of a fragment",
            ));
        };
        let mut reader = Reader::new("fragment", &bytes[length..]);
        let part = reader.take(payload.saturating_sub(CRC_LENGTH))?;
        let crc = reader.take(CRC_LENGTH)?;
        reader.end()?;
        if crc != crc32(part) {
            return Err(WireError::Check { of: "fragment" });
        }
        let fragment = Self { extended, part };
        fragment.check()?;
        Ok(fragment)
    }

    fn check(&self) -> Result<(), WireError> {
        if self.control().is_some() {
            return Ok(());
        }
        Err(WireError::field(
            "number of privacy elements that say which fragment it is",
            0_u8,
            "a fragment has to have one",
        ))
    }
}

fn payload(length: usize) -> Result<u16, WireError> {
    u16::try_from(length).map_err(|_| {
        WireError::field(
            "bytes behind a MAC header",
            length as u64,
            "they have to be at most 65535",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extended::Key;
    use crate::flow::Sid;
    use proptest::prelude::*;

    #[test]
    fn a_frame_of_1514_bytes_has_1524_with_crc_and_header_and_a_short_one_is_filled_up() {
        assert_eq!(mac_frame(&[0; 1514], Vec::new()).unwrap().len(), 1524);
        // mac.md: an acknowledgement of 40 bytes is 70.
        assert_eq!(mac_frame(&[0; 54], Vec::new()).unwrap().len(), 70);
    }

    #[test]
    fn the_crc_is_ethernets() {
        let frame = mac_frame(&[0; 60], Vec::new()).unwrap();
        // CRC-32 of sixty zeros.
        assert_eq!(frame[66..], 0x0412_8908_u32.to_le_bytes());
    }

    #[test]
    fn two_frames_are_concatenated_behind_six_bytes() {
        let frame = mac_frame(&[0; 1514], Vec::new()).unwrap();
        let burst = concatenate(&[frame.clone(), frame.clone()]).unwrap();
        assert_eq!(burst.len(), 6 + 2 * 1524);
        assert_eq!(frames(&burst).unwrap(), [&frame[..], &frame[..]]);
        assert_eq!(frames(&frame).unwrap(), [&frame[..]]);
    }

    #[test]
    fn a_concatenation_in_a_concatenation_is_refused() {
        let frame = mac_frame(&[0; 60], Vec::new()).unwrap();
        let inner = concatenate(&[frame]).unwrap();
        assert!(frames(&concatenate(&[inner]).unwrap()).is_err());
    }

    #[test]
    fn a_concatenation_has_as_many_frames_and_bytes_as_its_header_says() {
        let frame = mac_frame(&[0; 60], Vec::new()).unwrap();
        for (count, payload) in [(1, 140), (3, 140), (2, 139), (2, 141)] {
            let mut burst = Vec::new();
            MacHeader::Concatenation {
                frames: count,
                payload,
            }
            .encode(&mut burst)
            .unwrap();
            burst.extend(&frame);
            burst.extend(&frame);
            assert!(frames(&burst).is_err(), "{count} frames of {payload} bytes");
        }
    }

    fn fragment(part: &[u8], sequence: u8) -> Fragment<'_> {
        Fragment {
            extended: vec![Extended::Privacy {
                key: Key::default(),
                sid: Sid(9),
                minislots: 3,
                fragment: Some(FragmentControl {
                    first: sequence == 0,
                    last: false,
                    sequence,
                }),
            }],
            part,
        }
    }

    #[test]
    fn a_fragment_has_16_bytes_beside_its_part() {
        let bytes = fragment(&[7; 100], 0).encode().unwrap();
        assert_eq!(FRAGMENT_OVERHEAD, 16);
        assert_eq!(bytes.len(), 100 + FRAGMENT_OVERHEAD);
    }

    proptest! {
        #[test]
        fn a_fragment_comes_back_as_it_was(
            part in proptest::collection::vec(any::<u8>(), 0..200), sequence in 0..16_u8,
        ) {
            let bytes = fragment(&part, sequence).encode().unwrap();
            prop_assert_eq!(Fragment::decode(&bytes), Ok(fragment(&part, sequence)));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Fragment::decode(&bytes);
            let _ = frames(&bytes);
        }

        // Headers whose check sequences match, and whose lengths lie.
        #[test]
        fn no_lengths_make_it_panic(
            lengths in proptest::collection::vec(any::<(u8, u16, bool)>(), 0..4),
        ) {
            let mut bytes = Vec::new();
            for (count, payload, concatenation) in lengths {
                let header = if concatenation {
                    MacHeader::Concatenation { frames: count, payload: payload % 80 }
                } else {
                    MacHeader::Fragment { extended: Vec::new(), payload: payload % 40 }
                };
                header.encode(&mut bytes).unwrap();
                bytes.resize(bytes.len() + usize::from(count) % 40, 0);
                let _ = Fragment::decode(&bytes);
                let _ = frames(&bytes);
            }
        }
    }
}
