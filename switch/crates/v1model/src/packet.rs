// SPDX-License-Identifier: Apache-2.0
//! A frame with its packet-header vector, on its way through a device.

use crate::carry::copy_slots;
use crate::code::Code;
use crate::op::Slot;
use crate::program::Program;
use prefetch::fetch;

/// What no program expects.
const UNSET: u64 = 0xdead_beef_dead_beef;

/// A frame as received, and what egress needs of the fields that ingress made of it.
/// Carried through the traffic manager and reused from a pool: nothing is allocated per
/// packet of up to 2 KiB once its buffers have grown.
// Of a packet that has waited long every cache line is fetched from memory: it has as few as
// it can.
#[repr(align(64))]
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// Slots of the packet-header vector, as [`Carry`](crate::carry::Carry) puts them aside.
    pub(crate) slots: Vec<u64>,
    /// These are all slots of the packet's state, as they lie in the vector.
    pub(crate) whole: bool,
    /// The frame as received, packet-out header included.
    pub(crate) frame: Vec<u8>,
    /// Bytes of the frame.
    pub(crate) len: usize,
    /// Where the bytes that no header was extracted from begin.
    pub(crate) payload: usize,
    /// Bytes of the frame that the deparser would make, from ingress to egress.
    pub(crate) deparsed: usize,
    /// What the target reads of the metadata between ingress and egress.
    pub(crate) queue_id: u32,
    pub(crate) sub_queue: u32,
    pub(crate) priority: u8,
    /// What it writes meanwhile.
    pub(crate) enq_timestamp: u64,
    pub(crate) enq_qdepth: u64,
    /// Its headers are no longer those that the parser found, one behind the other from the
    /// frame's first byte, in the order in which they are emitted.
    pub(crate) reshaped: bool,
    /// The place in that order of the header that was extracted last.
    pub(crate) order: u16,
    /// Which program `slots` belong to; 0 for none.
    pub(crate) program: u64,
    /// Where it was received, however often it has been through ingress since.
    pub(crate) port: u16,
    /// How often it was resubmitted, recirculated, looped back or cloned at egress.
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

    /// Asks for what egress will need of the packet, before it does.
    #[inline]
    pub fn fetch(&self) {
        fetch(self);
        fetch(self.slots.as_slice());
    }

    /// How often this packet, or what it was cloned from, has been resubmitted,
    /// recirculated, looped back or cloned at egress. Whoever runs packets has to end a loop.
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
    }

    /// Takes the frame that egress made and sent, to be run by
    /// [`Pipeline::ingress_looped`](crate::Pipeline::ingress_looped). `frame` is left with the old
    /// buffer.
    pub fn loop_back(&mut self, frame: &mut Vec<u8>) {
        self.swap_frame(frame);
    }

    /// The packet's number in the trace; 0 when it is not traced. See
    /// [`Pipeline::trace`](crate::Pipeline::trace).
    #[inline]
    pub fn trace_number(&self) -> u64 {
        self.trace
    }

    /// This packet takes the place of another in a queue: what egress hears of the place's
    /// waiting, `enq_timestamp`, `enq_qdepth` and `deq_timedelta`, stays the place's.
    pub fn take_place_of(&mut self, other: &Packet) {
        self.enq_timestamp = other.enq_timestamp;
        self.enq_qdepth = other.enq_qdepth;
    }

    /// Makes this a copy of `other`, reusing this packet's buffers. Multicast.
    pub fn copy_from(&mut self, other: &Packet) {
        self.slots.clone_from(&other.slots);
        self.whole = other.whole;
        self.reshaped = other.reshaped;
        self.order = other.order;
        self.frame.clone_from(&other.frame);
        self.queue_id = other.queue_id;
        self.sub_queue = other.sub_queue;
        self.priority = other.priority;
        self.enq_timestamp = other.enq_timestamp;
        self.enq_qdepth = other.enq_qdepth;
        self.len = other.len;
        self.payload = other.payload;
        self.deparsed = other.deparsed;
        self.program = other.program;
        self.port = other.port;
        self.passes = other.passes;
        self.recirculated = other.recirculated;
        self.trace = other.trace;
    }

    /// Gets ready for a program, with the frame in the buffer; `phv` is to run it.
    /// `traced`: by its traced code, if need be.
    #[inline]
    pub(crate) fn reset(&mut self, program: &Program, phv: &mut [u64], traced: bool) {
        let code = &program.code;
        self.program = program.id;
        self.slots.clear();
        let state = &mut phv[..code.state_slots];
        let template = &code.template[..code.state_slots];
        if traced {
            state.copy_from_slice(template);
        } else {
            unset(state);
            for (first, slots) in &code.resets {
                let run = usize::from(*first)..usize::from(*first + *slots);
                copy_slots(&template[run.clone()], &mut state[run]);
            }
        }
        self.recirculated = false;
        self.reshaped = false;
        self.order = 0;
        self.len = self.frame.len();
        self.payload = 0;
    }

    /// Puts aside what egress needs, or with `whole` everything.
    #[inline]
    pub(crate) fn save(&mut self, code: &Code, phv: &[u64], whole: bool) {
        let read = |slot: Slot| phv[usize::from(slot)];
        self.queue_id = code.queue_id.map_or(0, read) as u32;
        self.sub_queue = code.sub_queue.map_or(0, read) as u32;
        self.priority = read(code.standard.priority) as u8;
        self.enq_timestamp = read(code.standard.enq_timestamp);
        self.enq_qdepth = read(code.standard.enq_qdepth);
        self.whole = whole;
        if whole {
            self.slots.clear();
            self.slots.extend_from_slice(&phv[..code.state_slots]);
        } else {
            code.carry.save(phv, &mut self.slots);
        }
    }

    /// Brings back what was put aside.
    #[inline]
    pub(crate) fn restore(&self, code: &Code, phv: &mut [u64]) {
        if self.whole {
            phv[..code.state_slots].copy_from_slice(&self.slots);
            code.carry.reset(&code.template, phv);
            return;
        }
        if cfg!(debug_assertions) {
            unset(&mut phv[..code.state_slots]);
            for (first, slots) in &code.carry.constant {
                let run = usize::from(*first)..usize::from(*first + *slots);
                phv[run.clone()].copy_from_slice(&code.template[run]);
            }
        }
        code.carry.restore(&self.slots, phv);
        code.carry.reset(&code.template, phv);
    }

    /// The slots of a packet that was put aside whole; `None` for any other.
    pub(crate) fn all(&self) -> Option<&[u64]> {
        self.whole.then_some(&self.slots)
    }
}

/// Makes tests find what is read all the same.
#[inline]
fn unset(slots: &mut [u64]) {
    if cfg!(debug_assertions) {
        slots.fill(UNSET);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_two_cache_lines() {
        assert_eq!(size_of::<Packet>(), 128);
    }

    #[test]
    fn a_frame_that_is_put_away_comes_back() {
        let (mut packet, mut frame) = (Packet::new(), vec![1, 2, 3]);
        packet.swap_frame(&mut frame);
        assert!(frame.is_empty() && packet.received().is_empty());
        packet.swap_frame(&mut frame);
        assert_eq!(frame, [1, 2, 3]);
    }
}
