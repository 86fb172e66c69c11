// SPDX-License-Identifier: Apache-2.0
//! The interface to which frames go that leave a device.

use crate::events::Event;

/// What whoever delivers a frame knows of its bytes, in words of its own. It comes back with
/// the frame, where that leaves byte for byte as it came, so that nobody looks again.
pub type Note = [u64; 2];

/// The device's way out; implemented by the shell and by tests.
pub trait Output {
    /// A frame leaves through a port. `paced` frames are of a service flow that
    /// waits for tokens, and left at the moment that these allowed: send them at
    /// once. Others may wait for more, to be sent in a batch.
    fn transmit(&mut self, now_ns: u64, port: u16, frame: &[u8], paced: bool);

    /// Like [`Self::transmit`], of a buffer whose content may be taken and
    /// another buffer, with anything in it, left in its place: saves a copy.
    fn transmit_buffer(&mut self, now_ns: u64, port: u16, frame: &mut Vec<u8>, paced: bool) {
        self.transmit(now_ns, port, frame, paced);
    }

    /// Like [`Self::transmit_buffer`], with the note that came with the frame, where it is
    /// still true.
    fn transmit_noted(
        &mut self,
        now_ns: u64,
        port: u16,
        frame: &mut Vec<u8>,
        paced: bool,
        note: Option<Note>,
    ) {
        let _ = note;
        self.transmit_buffer(now_ns, port, frame, paced);
    }

    /// Whether a port's link takes no more frames for now: packets for it are to
    /// wait in its queues ([`Device::set_port_full`](crate::Device::set_port_full)).
    fn is_full(&self, port: u16) -> bool {
        let _ = port;
        false
    }

    /// A frame leaves through the CPU port, packet-in header in front. False:
    /// nobody took it, and the device counts it as dropped.
    fn packet_in(&mut self, now_ns: u64, frame: &[u8]) -> bool;

    /// Digests or idle timeouts for the controller; frames go to
    /// [`Self::packet_in`]. False: nobody took it. Those who want none leave it.
    fn event(&mut self, now_ns: u64, event: Event) -> bool {
        let _ = (now_ns, event);
        false
    }
}
