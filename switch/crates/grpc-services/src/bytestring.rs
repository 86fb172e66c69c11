// SPDX-License-Identifier: Apache-2.0
//! P4Runtime's binary strings (specification 1.5, section 8.3): big-endian
//! integers, any padding accepted, the shortest form sent.

use std::fmt;

/// Why a binary string is not a value of a type; OUT_OF_RANGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytestringError {
    /// There is no byte at all.
    Empty,
    /// The integer needs more bits than there are.
    TooWide {
        /// Bits of the type.
        width: u16,
    },
}

impl fmt::Display for BytestringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BytestringError::Empty => f.write_str("is empty: 0 is one zero byte"),
            BytestringError::TooWide { width } => write!(f, "does not fit into {width} bits"),
        }
    }
}

/// The largest value of `bit<width>`; widths from 128 are those of a `u128`.
pub fn max_value(width: u16) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

/// Reads an unsigned integer of `width` bits, at most 128.
///
/// # Errors
/// Empty, or too wide.
pub fn decode(bytes: &[u8], width: u16) -> Result<u128, BytestringError> {
    if bytes.is_empty() {
        return Err(BytestringError::Empty);
    }
    let too_wide = BytestringError::TooWide { width };
    let padding = bytes.len().saturating_sub(16);
    if bytes[..padding].iter().any(|&byte| byte != 0) {
        return Err(too_wide);
    }
    let bytes = &bytes[padding..];
    let value = if bytes.len() <= 8 {
        let value = bytes
            .iter()
            .fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
        u128::from(value)
    } else {
        bytes
            .iter()
            .fold(0, |value: u128, &byte| value << 8 | u128::from(byte))
    };
    if value > max_value(width) {
        return Err(too_wide);
    }
    Ok(value)
}

/// The shortest form of an unsigned integer.
pub fn encode(value: u128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let zeros = (value.leading_zeros() / 8).min(15) as usize;
    bytes[zeros..].to_vec()
}

/// Reads an `int<width>`; the result is its two's complement in `width` bits.
///
/// # Errors
/// Empty, or too wide.
pub fn decode_signed(bytes: &[u8], width: u16) -> Result<u128, BytestringError> {
    let Some(first) = bytes.first() else {
        return Err(BytestringError::Empty);
    };
    let too_wide = BytestringError::TooWide { width };
    let sign: u8 = if first & 0x80 == 0 { 0 } else { 0xff };
    let padding = bytes.len().saturating_sub(16);
    if bytes[..padding].iter().any(|&byte| byte != sign) {
        return Err(too_wide);
    }
    let start = if sign == 0 { 0 } else { -1i128 };
    let value = bytes[padding..]
        .iter()
        .fold(start, |value, &byte| value << 8 | i128::from(byte));
    // Padding of 16 bytes or more must agree with the sign of what is kept.
    if (value < 0) != (sign == 0xff) || !fits_signed(value, width) {
        return Err(too_wide);
    }
    Ok(value as u128 & max_value(width))
}

/// The shortest form of an `int<width>` given as two's complement in `width` bits.
pub fn encode_signed(value: u128, width: u16) -> Vec<u8> {
    let unused = 128 - u32::from(width.min(128));
    let value = (value << unused) as i128 >> unused;
    let needed = (1..16).find(|&bytes| fits_signed(value, bytes * 8));
    let bytes = usize::from(needed.unwrap_or(16));
    value.to_be_bytes()[16 - bytes..].to_vec()
}

fn fits_signed(value: i128, width: u16) -> bool {
    width >= 128 || {
        let limit = 1i128 << (width.max(1) - 1);
        (-limit..limit).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_any_padding_and_sends_the_shortest_form() {
        for bytes in [&[0x63][..], &[0, 0x63], &[0; 17][..], &[0, 0, 0, 0, 0x63]] {
            let value = decode(bytes, 12).unwrap();
            assert_eq!(value, u128::from(*bytes.last().unwrap()));
        }
        assert_eq!(encode(0), [0]);
        assert_eq!(encode(0x63), [0x63]);
        assert_eq!(encode(0x3064), [0x30, 0x64]);
        assert_eq!(encode(u128::MAX), [0xff; 16]);
    }

    #[test]
    fn refuses_the_invalid_examples_of_the_specification() {
        let too_wide = |width| Err(BytestringError::TooWide { width });
        assert_eq!(decode(&[1, 0x63], 8), too_wide(8));
        assert_eq!(decode(&[], 8), Err(BytestringError::Empty));
        assert_eq!(decode(&[1, 0, 0x63], 16), too_wide(16));
        assert_eq!(decode(&[0x10, 0x63], 12), too_wide(12));
        assert_eq!(decode(&[0, 0x40, 0x63], 12), too_wide(12));
        let mut long = [0; 17];
        long[0] = 1;
        assert_eq!(decode(&long, 128), too_wide(128));
        assert_eq!(decode_signed(&[0, 0x9d], 8), too_wide(8));
        assert_eq!(decode_signed(&[0x8d, 0x1d], 12), too_wide(12));
        assert_eq!(decode_signed(&[], 16), Err(BytestringError::Empty));
    }

    #[test]
    fn signed_integers_follow_the_specification() {
        for (width, value, wire) in [
            (8, 99, &[0x63][..]),
            (8, -99, &[0x9d]),
            (12, -739, &[0xfd, 0x1d]),
            (16, 0, &[0]),
            (16, 128, &[0, 0x80]),
            (64, i128::from(i64::MIN), &[0x80, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            let masked = value as u128 & max_value(width);
            assert_eq!(encode_signed(masked, width), wire);
            assert_eq!(decode_signed(wire, width), Ok(masked));
        }
        assert_eq!(decode_signed(&[0xff, 0xff, 0x9d], 8), Ok(0x9d));
    }
}
