// SPDX-License-Identifier: Apache-2.0
//! The length of a frame as DOCSIS counts it.

/// The frame check sequence, which interfaces leave out, bytes.
const FCS: usize = 4;
/// The shortest Ethernet frame, with its frame check sequence (IEEE 802.3, 3.2.8), bytes.
const SHORTEST: usize = 64;

/// The length to the end of the CRC, at least 64 bytes, of a frame of `captured`
/// bytes on an interface.
#[must_use]
#[inline]
pub fn frame_length(captured: usize) -> usize {
    (captured + FCS).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_its_check_sequence_and_64_bytes_at_least() {
        let lengths = [14, 60, 61, 1514].map(frame_length);
        assert_eq!(lengths, [64, 64, 65, 1518]);
    }
}
