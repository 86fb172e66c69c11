// SPDX-License-Identifier: Apache-2.0
//! Frames between the nodes of the world, and their lengths.

/// Length of the CRC that ends a frame on the wire and is not in memory.
pub const CRC: usize = 4;
/// The shortest frame, to the end of the CRC.
pub const SHORTEST: usize = 64;
/// The longest frame that hosts send, to the end of the CRC.
pub const LONGEST: usize = 1518;

/// A frame on its way, with what is known of its bytes.
#[derive(Debug, Default)]
pub struct Frame {
    /// The bytes, without CRC.
    pub bytes: Vec<u8>,
    /// The hash of these bytes.
    pub hash: u64,
    /// All bytes from here on are zeros.
    pub filled: usize,
}

/// Length of a frame to the end of its CRC, as DOCSIS counts.
#[must_use]
pub fn frame_length(captured: usize) -> usize {
    (captured + CRC).max(SHORTEST)
}
