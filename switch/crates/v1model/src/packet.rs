// SPDX-License-Identifier: Apache-2.0
//! A frame with its packet-header vector, on its way through a device.

use crate::bits::PADDING;
use crate::program::Program;

/// What no program expects.
const UNSET: u64 = 0xdead_beef_dead_beef;

/// A frame as received, and the fields that the program made of it. Carried
/// through the traffic manager as it is and reused from a pool: nothing is
/// allocated per packet once its buffers have grown.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Slots: constants, fields, parameters and temporaries; see `layout`.
    pub(crate) phv: Vec<u64>,
    /// The frame as received, packet-out header included; in use, with
    /// [`PADDING`] behind it.
    pub(crate) frame: Vec<u8>,
    /// Bytes of the frame.
    pub(crate) len: usize,
    /// Where the bytes that no header was extracted from begin.
    pub(crate) payload: usize,
    /// Bytes of the frame that the deparser would make, from ingress to egress.
    pub(crate) deparsed: usize,
    /// Which program `phv` belongs to; 0 for none.
    pub(crate) program: u64,
    /// Where it was received, however often it has been through ingress since.
    pub(crate) port: u16,
    /// How often it was resubmitted, recirculated or cloned at egress.
    pub(crate) passes: u16,
    /// `frame` is what egress made of it.
    pub(crate) recirculated: bool,
    /// Its number in the trace; 0 when it is not traced.
    pub(crate) trace: u64,
}

impl Packet {
    /// A packet that any pipeline can use.
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffer for the next frame, emptied: fill it, then call
    /// [`Pipeline::ingress_buffered`](crate::Pipeline::ingress_buffered).
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.frame.clear();
        self.len = 0;
        self.payload = 0;
        &mut self.frame
    }

    /// Puts a frame that egress made into the packet, or takes it out again;
    /// nothing else of the packet is of use then.
    pub fn swap_frame(&mut self, frame: &mut Vec<u8>) {
        self.len = 0;
        self.payload = 0;
        std::mem::swap(&mut self.frame, frame);
    }

    /// The frame as received; valid after ingress.
    pub fn received(&self) -> &[u8] {
        &self.frame[..self.len]
    }

    /// How often this packet, or what it was cloned from, has been resubmitted,
    /// recirculated or cloned at egress. Whoever runs packets has to end a loop.
    pub fn passes(&self) -> u16 {
        self.passes
    }

    /// The port that it was received from.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Swaps the frame for the one that egress made
    /// ([`EgressFate::Recirculate`](crate::EgressFate::Recirculate)), to be run by
    /// [`Pipeline::ingress_again`](crate::Pipeline::ingress_again). `frame` is
    /// left with the old buffer.
    pub fn recirculate(&mut self, frame: &mut Vec<u8>) {
        std::mem::swap(&mut self.frame, frame);
        self.len = self.frame.len();
        self.payload = 0;
        self.recirculated = true;
        self.frame.resize(self.len + PADDING, 0);
    }

    /// The packet's number in the trace; 0 when it is not traced. See
    /// [`Pipeline::trace`](crate::Pipeline::trace).
    #[inline]
    pub fn trace_number(&self) -> u64 {
        self.trace
    }

    /// Makes this a copy of `other`, reusing this packet's buffers. Multicast.
    pub fn copy_from(&mut self, other: &Packet) {
        self.phv.clone_from(&other.phv);
        self.frame.clone_from(&other.frame);
        self.len = other.len;
        self.payload = other.payload;
        self.deparsed = other.deparsed;
        self.program = other.program;
        self.port = other.port;
        self.passes = other.passes;
        self.recirculated = other.recirculated;
        self.trace = other.trace;
    }

    /// Gets ready for a program, with the frame in the buffer. `traced`: for its
    /// traced code, if need be.
    #[inline]
    pub(crate) fn reset(&mut self, program: &Program, traced: bool) {
        let code = &program.code;
        if self.program != program.id {
            self.phv.clone_from(&code.template);
            self.program = program.id;
        }
        let state = &mut self.phv[..code.state_slots];
        let template = &code.template[..code.state_slots];
        if traced {
            state.copy_from_slice(template);
        } else {
            // So that tests find what is read all the same.
            if cfg!(debug_assertions) {
                state.fill(UNSET);
            }
            for (first, slots) in &code.resets {
                let run = usize::from(*first)..usize::from(*first + *slots);
                state[run.clone()].copy_from_slice(&template[run]);
            }
        }
        self.recirculated = false;
        self.len = self.frame.len();
        self.payload = 0;
        self.frame.resize(self.len + PADDING, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_is_put_away_comes_back() {
        let (mut packet, mut frame) = (Packet::new(), vec![1, 2, 3]);
        packet.swap_frame(&mut frame);
        assert!(frame.is_empty() && packet.received().is_empty());
        packet.swap_frame(&mut frame);
        assert_eq!(frame, [1, 2, 3]);
    }
}
