// SPDX-License-Identifier: Apache-2.0
//! The two check sequences of the MAC, as Wireshark's DOCSIS dissector verifies them. Both take
//! and give bits lowest first, begin with ones and are inverted at the end.

const CCITT: [u32; 256] = table(0x8408);
const IEEE_802: [u32; 256] = table(0xedb8_8320);

/// The header check sequence of a MAC header: CRC-CCITT (x^16 + x^12 + x^5 + 1), in the order of
/// its bytes on the wire, which is lowest first.
pub fn header_check_sequence(header: &[u8]) -> [u8; 2] {
    (!remainder(header, &CCITT, 0xffff) as u16).to_le_bytes()
}

/// The CRC of Ethernet frames, MAC management messages and fragments, in the order of its bytes
/// on the wire.
pub(crate) fn crc32(bytes: &[u8]) -> [u8; 4] {
    (!remainder(bytes, &IEEE_802, u32::MAX)).to_le_bytes()
}

fn remainder(bytes: &[u8], table: &[u32; 256], start: u32) -> u32 {
    bytes.iter().fold(start, |crc, byte| {
        crc >> 8 ^ table[usize::from(crc as u8 ^ byte)]
    })
}

const fn table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_values_of_both_are_those_of_the_catalogue_of_crcs() {
        // CRC-16/IBM-SDLC (X.25) has 0x906e for these bytes, CRC-32/ISO-HDLC 0xcbf43926.
        assert_eq!(header_check_sequence(b"123456789"), [0x6e, 0x90]);
        assert_eq!(crc32(b"123456789"), [0x26, 0x39, 0xf4, 0xcb]);
    }

    #[test]
    fn a_receiver_that_runs_over_the_check_sequence_too_sees_the_constant_of_rfc_1662() {
        let mut header = vec![0xc4, 7, 0x01, 0x23];
        let hcs = header_check_sequence(&header);
        header.extend(hcs);
        assert_eq!(remainder(&header, &CCITT, 0xffff), 0xf0b8);
    }
}
