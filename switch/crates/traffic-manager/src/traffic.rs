// SPDX-License-Identifier: Apache-2.0
//! Counts of frames.

/// Frames and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Number of frames.
    pub frames: u64,
    /// Sum of their lengths: in the queues of the docsis model as DOCSIS counts them
    /// ([`crate::frame_length`]), elsewhere as an interface does.
    pub bytes: u64,
}

impl Traffic {
    /// Counts one frame of `len` bytes.
    pub fn count(&mut self, len: usize) {
        self.frames += 1;
        self.bytes += len as u64;
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: Traffic) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }

    /// Takes one frame of `len` bytes out again (for what is queued now).
    pub fn uncount(&mut self, len: usize) {
        self.frames -= 1;
        self.bytes -= len as u64;
    }
}
