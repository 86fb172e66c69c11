// SPDX-License-Identifier: Apache-2.0
//! The Internet checksum of RFC 1071, which TCP uses over a pseudo header
//! (RFC 9293 3.1).

/// The sum of the pseudo header of IPv4: addresses, protocol 6 and the TCP
/// length (header and data). Not folded, not inverted.
pub fn pseudo_header_sum(source: [u8; 4], destination: [u8; 4], tcp_length: u16) -> u32 {
    sum(&source) + sum(&destination) + 6 + u32::from(tcp_length)
}

/// The checksum to write into a TCP header whose checksum field is 0, or 0
/// over a segment that has a right one. `pseudo_header` is a sum of
/// [`pseudo_header_sum`]; `bytes` is the header and the data. Data of zeros
/// adds nothing, so the header alone does for them.
pub fn checksum(pseudo_header: u32, bytes: &[u8]) -> u16 {
    let mut total = u64::from(pseudo_header);
    // Chunks, so that no length of data can overflow the sum of one.
    for chunk in bytes.chunks(1 << 16) {
        total += u64::from(sum(chunk));
    }
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

/// The sum of at most 2^16 bytes as 16-bit numbers.
fn sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| match *pair {
            [high, low] => u32::from(u16::from_be_bytes([high, low])),
            [high] => u32::from(high) << 8,
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 3: the example there.
    #[test]
    fn the_sum_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(0, &bytes), !0xddf2);
    }

    #[test]
    fn a_segment_with_its_checksum_sums_to_zero() {
        let pseudo = pseudo_header_sum([10, 0, 0, 1], [10, 0, 0, 2], 23);
        let mut bytes = [7u8; 23];
        bytes[16] = 0;
        bytes[17] = 0;
        let value = checksum(pseudo, &bytes);
        bytes[16..18].copy_from_slice(&value.to_be_bytes());
        assert_eq!(checksum(pseudo, &bytes), 0);
    }
}
