// SPDX-License-Identifier: Apache-2.0
//! The hash algorithms of v1model, as BMv2 computes them. CRCs go through a
//! table of the 256 remainders, made when the switch is compiled.

/// A hash algorithm by BMv2's name. The `_custom` ones have the parameters
/// that BMv2 starts with; nothing in P4Runtime changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// CRC-8: polynomial 0x07, not reflected.
    Crc8,
    /// CRC-16/ARC.
    Crc16,
    /// CRC-16/CCITT-FALSE.
    CrcCcitt,
    /// CRC-32 as in Ethernet.
    Crc32,
    /// CRC-64 with the polynomial 0x1b, reflected, as in ISO 3309 but from 0.
    Crc64,
    /// The Internet checksum (RFC 1071).
    Csum16,
    /// XOR of 16-bit words.
    Xor16,
    /// XOR of 32-bit words.
    Xor32,
    /// The first 64 bits as they are.
    Identity,
}

const CRC16: [u64; 256] = reflected_table(0xa001);
const CRC32: [u64; 256] = reflected_table(0xedb8_8320);
const CRC64: [u64; 256] = reflected_table(0xd800_0000_0000_0000);
const CRC8: [u64; 256] = table(0x07, 8);
const CRC_CCITT: [u64; 256] = table(0x1021, 16);

impl Algorithm {
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Some(match name {
            "crc8_custom" => Algorithm::Crc8,
            "crc16" | "crc16_custom" => Algorithm::Crc16,
            "crcCCITT" => Algorithm::CrcCcitt,
            "crc32" | "crc32_custom" => Algorithm::Crc32,
            "crc64_custom" => Algorithm::Crc64,
            "csum16" | "cksum16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "xor32" => Algorithm::Xor32,
            "identity" => Algorithm::Identity,
            _ => return None,
        })
    }

    /// The hash of some bytes.
    pub fn compute(self, data: &[u8]) -> u64 {
        match self {
            Algorithm::Crc8 => straight(data, &CRC8, 8, 0),
            Algorithm::Crc16 => reflected(data, &CRC16, 0),
            Algorithm::CrcCcitt => straight(data, &CRC_CCITT, 16, 0xffff),
            Algorithm::Crc32 => reflected(data, &CRC32, 0xffff_ffff) ^ 0xffff_ffff,
            Algorithm::Crc64 => reflected(data, &CRC64, 0),
            Algorithm::Csum16 => {
                let mut sum = Sum::default();
                sum.add_bytes(data);
                sum.checksum()
            }
            Algorithm::Xor16 => xor(data, 2),
            Algorithm::Xor32 => xor(data, 4),
            Algorithm::Identity => data
                .iter()
                .take(8)
                .fold(0, |value, byte| value << 8 | u64::from(*byte)),
        }
    }
}

/// XOR of words in network order; the last is padded with zero bytes.
fn xor(data: &[u8], bytes: usize) -> u64 {
    data.chunks(bytes).fold(0, |x, word| {
        let value = word.iter().fold(0, |v, byte| v << 8 | u64::from(*byte));
        x ^ value << (8 * (bytes - word.len()))
    })
}

/// Remainders for a CRC that takes and gives bits lowest first.
const fn reflected_table(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ polynomial
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
}

/// Remainders for a CRC of so many bits that takes bits highest first.
const fn table(polynomial: u64, width: u32) -> [u64; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = (at as u64) << (width - 8);
        let mut bit = 0;
        while bit < 8 {
            crc = if crc >> (width - 1) & 1 == 1 {
                crc << 1 ^ polynomial
            } else {
                crc << 1
            };
            bit += 1;
        }
        table[at] = crc & (u64::MAX >> (64 - width));
        at += 1;
    }
    table
}

fn reflected(data: &[u8], table: &[u64; 256], start: u64) -> u64 {
    data.iter().fold(start, |crc, byte| {
        table[usize::from(crc as u8 ^ byte)] ^ crc >> 8
    })
}

fn straight(data: &[u8], table: &[u64; 256], width: u32, start: u64) -> u64 {
    let all = u64::MAX >> (64 - width);
    data.iter().fold(start, |crc, byte| {
        (table[usize::from((crc >> (width - 8)) as u8 ^ byte)] ^ crc << 8) & all
    })
}

/// The sum of an Internet checksum, bit by bit: nothing is copied for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    sum: u64,
    /// Bits so far.
    bits: usize,
}

impl Sum {
    /// The lowest `width` bits, at most 64, come next. The others are 0.
    #[inline]
    pub fn add(&mut self, value: u64, width: u16) {
        self.bits += usize::from(width);
        // Aligned to where the last of its bits is within a 16-bit word.
        let value = u128::from(value) << ((16 - self.bits % 16) % 16);
        // 2^32 is 1 to a sum with end-around carry of 16 bits.
        self.sum += (value as u64 & 0xffff_ffff) + (value as u64 >> 32) + (value >> 64) as u64;
        self.fold();
    }

    /// Whole bytes come next.
    pub fn add_bytes(&mut self, data: &[u8]) {
        let mut chunks = data.chunks_exact(8);
        for chunk in &mut chunks {
            let word = chunk.iter().fold(0, |v, byte| v << 8 | u64::from(*byte));
            self.add(word, 64);
        }
        for byte in chunks.remainder() {
            self.add(u64::from(*byte), 8);
        }
    }

    #[inline]
    fn fold(&mut self) {
        self.sum = (self.sum & 0xffff_ffff) + (self.sum >> 32);
    }

    /// The rest of the last byte is empty: what comes next begins a new one.
    pub fn pad(&mut self) {
        self.bits = self.bits.next_multiple_of(8);
    }

    /// The complement of the sum.
    pub fn checksum(self) -> u64 {
        let mut sum = self.sum;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !sum & 0xffff
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, Sum};
    use proptest::prelude::*;

    #[test]
    fn check_values_of_the_crc_catalogue() {
        let check = |a: Algorithm| a.compute(b"123456789");
        assert_eq!(check(Algorithm::Crc16), 0xbb3d);
        assert_eq!(check(Algorithm::Crc32), 0xcbf4_3926);
        assert_eq!(check(Algorithm::Crc8), 0xf4);
        assert_eq!(check(Algorithm::CrcCcitt), 0x29b1);
        // CRC-64/GO-ISO begins and ends with all ones: with its start and
        // complement applied by linearity, from the same table.
        let from = |start: u64| super::reflected(b"123456789", &super::CRC64, start);
        assert_eq!(!from(u64::MAX), 0xb909_56c7_75a4_1001);
        assert_eq!(check(Algorithm::Crc64), from(0));
    }

    #[test]
    fn the_example_of_rfc_1071() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Algorithm::Csum16.compute(&data), 0x220d);
    }

    #[test]
    fn words_are_xored_and_odd_bytes_padded() {
        assert_eq!(Algorithm::Xor16.compute(&[0x12, 0x34, 0xff]), 0xed34);
        assert_eq!(
            Algorithm::Xor32.compute(&[0x12, 0x34, 0, 0, 0xff]),
            0xed34_0000
        );
        assert_eq!(Algorithm::Identity.compute(&[1, 2, 3]), 0x01_0203);
    }

    /// By RFC 1071, with 16-bit words.
    fn reference(data: &[u8]) -> u64 {
        let mut sum = 0u64;
        for word in data.chunks(2) {
            sum += u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0));
        }
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !sum & 0xffff
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_the_pieces(
            values in prop::collection::vec((any::<u64>(), 1u16..=64), 0..30),
            tail in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut sum = Sum::default();
            let mut data = vec![0; 600];
            let mut at = 0;
            for (value, width) in values {
                let value = value & u64::MAX >> (64 - width);
                sum.add(value, width);
                crate::bits::store(&mut data, at, width, value);
                at += usize::from(width);
            }
            sum.pad();
            sum.add_bytes(&tail);
            data.truncate(at.div_ceil(8));
            data.extend(&tail);
            prop_assert_eq!(sum.checksum(), reference(&data));
        }
    }
}
