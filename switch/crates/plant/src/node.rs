// SPDX-License-Identifier: Apache-2.0
//! The devices of a plant, which belong to somebody else.

use device::{Device, Output};

/// A port of a device of the plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The device's place in the list of nodes.
    pub node: u32,
    /// Its port.
    pub port: u16,
}

/// A device with its way out.
pub trait Node {
    /// Takes frames that leave through ports without an RF link, and what the controller is told.
    type Out: Output;

    /// Its device.
    fn device(&self) -> &Device;

    /// Its device, to give it something.
    fn device_mut(&mut self) -> &mut Device;

    /// Its device and the way out of it.
    fn parts(&mut self) -> (&mut Device, &mut Self::Out);

    /// A frame leaves through a port with an RF link at that time: a tap. Upstream on a granted port
    /// that is when it enters a burst.
    fn left(&mut self, now: u64, port: u16, frame: &[u8]) {
        let _ = (now, port, frame);
    }

    /// A frame is about to reach a port with an RF link: a tap.
    fn arrives(&mut self, now: u64, port: u16, frame: &[u8]) {
        let _ = (now, port, frame);
    }
}
