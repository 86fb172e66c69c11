// SPDX-License-Identifier: Apache-2.0
//! A device that a thread runs, with its ports and the requests to it.

use crate::linux::Linux;
use crate::port::Platform;
use crate::ports::Ports;
use device::Device;
use device::handle::Requests;
use plant::Node;

/// A device with its way out.
pub struct Member<S: Platform = Linux> {
    /// The device.
    pub device: Device,
    /// Its ports.
    pub ports: Ports<S>,
    /// What other threads ask of it.
    pub requests: Requests,
}

impl<S: Platform> Node for Member<S> {
    type Out = Ports<S>;

    fn device(&self) -> &Device {
        &self.device
    }

    fn device_mut(&mut self) -> &mut Device {
        &mut self.device
    }

    fn parts(&mut self) -> (&mut Device, &mut Ports<S>) {
        (&mut self.device, &mut self.ports)
    }

    fn left(&mut self, now: u64, port: u16, frame: &[u8]) {
        self.ports.captured_rf(now, port, frame, true);
    }

    fn arrives(&mut self, now: u64, port: u16, frame: &[u8]) {
        self.ports.captured_rf(now, port, frame, false);
    }
}
