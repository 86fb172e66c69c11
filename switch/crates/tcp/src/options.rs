// SPDX-License-Identifier: Apache-2.0
//! The options of a header: MSS (RFC 9293 3.7.1), Window Scale and Timestamps
//! (RFC 7323 2, 3), SACK-Permitted and SACK (RFC 2018 2, 3).

use crate::segment::{DecodeError, MAX_SACK_BLOCKS, Segment, Timestamps};

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The room for options in a header.
const MAX_LENGTH: usize = 40;

/// Two bytes in front, so that the words of the option are aligned
/// (RFC 7323 appendix A).
const TIMESTAMPS_LENGTH: usize = 12;

/// The length of the options of `segment`, padded to a multiple of 4. Of the
/// SACK blocks only those count that fit.
pub(crate) fn length(segment: &Segment) -> usize {
    let fixed = fixed_length(segment);
    match sack_blocks(segment, fixed) {
        0 => fixed,
        blocks => fixed + 4 + 8 * blocks,
    }
}

fn fixed_length(segment: &Segment) -> usize {
    usize::from(segment.mss.is_some()) * 4
        + usize::from(segment.window_scale.is_some()) * 4
        + usize::from(segment.sack_permitted) * 4
        + usize::from(segment.timestamps.is_some()) * TIMESTAMPS_LENGTH
}

/// How many SACK blocks fit behind the other options.
fn sack_blocks(segment: &Segment, fixed: usize) -> usize {
    let room = (MAX_LENGTH.saturating_sub(fixed + 4)) / 8;
    segment.sack.as_slice().len().min(room)
}

/// How many SACK blocks fit into a header without SYN.
pub(crate) fn room_for_sack_blocks(timestamps: bool) -> usize {
    if timestamps { 3 } else { MAX_SACK_BLOCKS }
}

/// Writes the options; `out` is as long as [`length`] says.
pub(crate) fn encode(segment: &Segment, out: &mut [u8]) {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    if let Some(mss) = segment.mss {
        put(&[MSS, 4]);
        put(&mss.to_be_bytes());
    }
    if segment.sack_permitted {
        put(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
    }
    if let Some(Timestamps { value, echo }) = segment.timestamps {
        put(&[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]);
        put(&value.to_be_bytes());
        put(&echo.to_be_bytes());
    }
    if let Some(shift) = segment.window_scale {
        put(&[NO_OPERATION, WINDOW_SCALE, 3, shift]);
    }
    let blocks = sack_blocks(segment, fixed_length(segment));
    if blocks > 0 {
        put(&[NO_OPERATION, NO_OPERATION, SACK, (2 + 8 * blocks) as u8]);
        for (left, right) in &segment.sack.as_slice()[..blocks] {
            put(&left.to_be_bytes());
            put(&right.to_be_bytes());
        }
    }
}

/// Reads the options into `segment`. Unknown ones are skipped (RFC 9293 3.1,
/// MUST-6).
pub(crate) fn decode(mut bytes: &[u8], segment: &mut Segment) -> Result<(), DecodeError> {
    while let Some((&kind, rest)) = bytes.split_first() {
        match kind {
            END => return Ok(()),
            NO_OPERATION => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let length = usize::from(*rest.first().ok_or(DecodeError::Option)?);
        if length < 2 || length > bytes.len() {
            return Err(DecodeError::Option);
        }
        read(kind, &bytes[2..length], segment)?;
        bytes = &bytes[length..];
    }
    Ok(())
}

fn read(kind: u8, body: &[u8], segment: &mut Segment) -> Result<(), DecodeError> {
    match kind {
        MSS => segment.mss = Some(u16::from_be_bytes(exactly(body)?)),
        WINDOW_SCALE => segment.window_scale = Some(exactly::<1>(body)?[0]),
        SACK_PERMITTED => {
            exactly::<0>(body)?;
            segment.sack_permitted = true;
        }
        SACK => {
            if body.is_empty() || body.len() % 8 != 0 {
                return Err(DecodeError::Option);
            }
            for block in body.chunks_exact(8) {
                segment.sack.push(long(&block[..4]), long(&block[4..]));
            }
        }
        TIMESTAMPS => {
            let both: [u8; 8] = exactly(body)?;
            segment.timestamps = Some(Timestamps {
                value: long(&both[..4]),
                echo: long(&both[4..]),
            });
        }
        _ => {}
    }
    Ok(())
}

fn exactly<const N: usize>(body: &[u8]) -> Result<[u8; N], DecodeError> {
    body.try_into().map_err(|_| DecodeError::Option)
}

fn long(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |value, byte| (value << 8) | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Flags, MAX_HEADER_LENGTH};

    fn round_trip(segment: Segment) -> Segment {
        let mut buffer = [0xff; MAX_HEADER_LENGTH];
        let length = segment.encode(&mut buffer);
        assert_eq!(length % 4, 0);
        Segment::decode(&buffer[..length], length + segment.payload as usize).unwrap()
    }

    /// RFC 9293 3.1, RFC 7323 2 and 3, RFC 2018 2: what a SYN says.
    #[test]
    fn a_syn_survives_the_wire() {
        let syn = Segment {
            source_port: 4000,
            destination_port: 5001,
            seq: 0xdead_beef,
            flags: Flags::SYN,
            window: 64240,
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 7, echo: 0 }),
            ..Segment::default()
        };
        assert_eq!(round_trip(syn), syn);
        assert_eq!(syn.header_length(), 44);
    }

    /// RFC 2018 3: three blocks fit beside timestamps, four without.
    #[test]
    fn sack_blocks_beside_timestamps() {
        let mut ack = Segment {
            flags: Flags::ACK,
            payload: 1000,
            ..Segment::default()
        };
        for block in 0..4 {
            assert!(ack.sack.push(block * 10, block * 10 + 5));
        }
        assert!(!ack.sack.push(0, 0));
        assert_eq!(round_trip(ack), ack);
        ack.timestamps = Some(Timestamps { value: 1, echo: 2 });
        assert_eq!(ack.header_length(), MAX_HEADER_LENGTH);
        let read = round_trip(ack);
        assert_eq!(read.sack.as_slice(), &ack.sack.as_slice()[..3]);
    }

    /// RFC 9293 3.1: MUST-6 skips unknown options, MUST-7 survives wrong lengths.
    #[test]
    fn options_that_are_unknown_or_wrong() {
        let mut segment = Segment::default();
        let bytes = [99, 4, 1, 2, NO_OPERATION, WINDOW_SCALE, 3, 9, END, 77];
        decode(&bytes, &mut segment).unwrap();
        assert_eq!(segment.window_scale, Some(9));
        for wrong in [
            &[MSS, 3, 1][..],
            &[MSS],
            &[TIMESTAMPS, 200],
            &[9, 0],
            &[SACK, 2],
        ] {
            assert_eq!(
                decode(wrong, &mut segment),
                Err(DecodeError::Option),
                "{wrong:?}"
            );
        }
    }
}
