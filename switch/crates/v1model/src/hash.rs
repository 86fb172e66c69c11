// SPDX-License-Identifier: Apache-2.0
//! The hash algorithms of v1model's `hash()`, as BMv2 computes them.

/// A hash algorithm by BMv2's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// CRC-16/ARC.
    Crc16,
    /// CRC-32 as in Ethernet.
    Crc32,
    /// The Internet checksum (RFC 1071).
    Csum16,
    /// XOR of 16-bit words.
    Xor16,
    /// The first 64 bits as they are.
    Identity,
}

impl Algorithm {
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Some(match name {
            "crc16" => Algorithm::Crc16,
            "crc32" => Algorithm::Crc32,
            "csum16" => Algorithm::Csum16,
            "xor16" => Algorithm::Xor16,
            "identity" => Algorithm::Identity,
            _ => return None,
        })
    }

    /// The hash of some bytes.
    pub fn compute(self, data: &[u8]) -> u64 {
        match self {
            Algorithm::Crc16 => u64::from(reflected(data, 0xa001, 0) as u16),
            Algorithm::Crc32 => u64::from(!reflected(data, 0xedb8_8320, u32::MAX)),
            Algorithm::Csum16 => {
                let mut sum = words(data).map(u64::from).sum::<u64>();
                while sum >> 16 != 0 {
                    sum = (sum & 0xffff) + (sum >> 16);
                }
                !sum & 0xffff
            }
            Algorithm::Xor16 => words(data).fold(0, |x, w| x ^ u64::from(w)),
            Algorithm::Identity => data
                .iter()
                .take(8)
                .fold(0, |value, byte| value << 8 | u64::from(*byte)),
        }
    }
}

/// 16-bit words in network order; an odd last byte is the upper half of one.
fn words(data: &[u8]) -> impl Iterator<Item = u16> {
    data.chunks(2)
        .map(|c| u16::from(c[0]) << 8 | u16::from(c.get(1).copied().unwrap_or(0)))
}

/// A CRC that takes and gives bits lowest first.
fn reflected(data: &[u8], polynomial: u32, start: u32) -> u32 {
    let mut crc = start;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ polynomial
            } else {
                crc >> 1
            };
        }
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::Algorithm;

    #[test]
    fn check_values_of_the_crc_catalogue() {
        assert_eq!(Algorithm::Crc16.compute(b"123456789"), 0xbb3d);
        assert_eq!(Algorithm::Crc32.compute(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn the_example_of_rfc_1071() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Algorithm::Csum16.compute(&data), 0x220d);
    }

    #[test]
    fn words_are_xored_and_odd_bytes_padded() {
        assert_eq!(Algorithm::Xor16.compute(&[0x12, 0x34, 0xff]), 0xed34);
        assert_eq!(Algorithm::Identity.compute(&[1, 2, 3]), 0x01_0203);
    }
}
