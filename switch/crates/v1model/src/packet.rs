// SPDX-License-Identifier: Apache-2.0
//! A frame with its packet-header vector, on its way through a device.

/// A frame as received, and the fields that the program made of it. Carried
/// through the traffic manager as it is and reused from a pool: nothing is
/// allocated per packet once its buffers have grown.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Slots: constants, fields, parameters and temporaries; see `layout`.
    pub(crate) phv: Vec<u64>,
    /// The frame as received, packet-out header included.
    pub(crate) frame: Vec<u8>,
    /// Where the bytes that no header was extracted from begin.
    pub(crate) payload: usize,
    /// Which program `phv` belongs to.
    pub(crate) program: u64,
}

impl Packet {
    /// A packet that any pipeline can use.
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffer for the next frame: fill it, then call
    /// [`Pipeline::ingress_buffered`](crate::Pipeline::ingress_buffered).
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.frame
    }

    /// The frame as received.
    pub fn received(&self) -> &[u8] {
        &self.frame
    }

    /// Makes this a copy of `other`, reusing this packet's buffers. Multicast.
    pub fn copy_from(&mut self, other: &Packet) {
        self.phv.clone_from(&other.phv);
        self.frame.clone_from(&other.frame);
        self.payload = other.payload;
        self.program = other.program;
    }
}
