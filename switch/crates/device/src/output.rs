// SPDX-License-Identifier: Apache-2.0
//! Where frames go that leave a device.

/// The device's way out; implemented by the shell and by tests.
pub trait Output {
    /// A frame leaves through a port. `paced` frames left a service flow's
    /// queue at the moment that their tokens allowed: send them at once; others
    /// may wait for more, to be sent in a batch.
    fn transmit(&mut self, now_ns: u64, port: u16, frame: &[u8], paced: bool);

    /// A frame leaves through the CPU port, packet-in header in front. False:
    /// nobody took it, and the device counts it as dropped.
    fn packet_in(&mut self, now_ns: u64, frame: &[u8]) -> bool;
}
