// SPDX-License-Identifier: Apache-2.0
//! A device with its ports, clock and requests: what runs it one thread at a time. Its
//! own thread does so while frames come and go. While that sleeps, the gRPC server's
//! thread runs a request itself: nobody has to be woken for it, there or back.

use crate::clock::Clock;
use crate::ports::Ports;
use crate::wait::Waker;
use device::Device;
use device::handle::Requests;
use std::sync::{Mutex, Weak};

/// Requests are run for so long, in ns, before frames are received again.
const REQUESTS_FOR: u64 = 300_000;

/// What a device needs to run.
pub struct Core {
    /// The device.
    pub device: Device,
    /// Its ports.
    pub ports: Ports,
    /// Its time.
    pub clock: Clock,
    /// What other threads ask of it.
    pub requests: Requests,
    /// The device's thread sleeps until then, and needs not be woken before.
    pub sleeps_until: u64,
}

impl Core {
    /// Everything that is due, each thing at its own time. Returns the time.
    pub fn drain(&mut self) -> u64 {
        let now = self.clock.now();
        while self.device.step(now, &mut self.ports) {}
        now
    }

    /// Runs requests, each at the time at which its turn comes and after what is due, but
    /// not for long: frames are to be received. Whether there may be more.
    pub fn answer(&mut self) -> bool {
        let end = self.clock.now() + REQUESTS_FOR;
        loop {
            let now = self.drain();
            if now >= end {
                return true;
            }
            if !self.requests.run_one(&mut self.device, now) {
                return false;
            }
        }
    }

    /// Runs requests while the device's own thread sleeps. Whether that must be woken.
    fn answer_in_its_place(&mut self) -> bool {
        self.device.wake(self.clock.now(), None);
        let more = self.answer();
        self.ports.flush(&mut self.device);
        let earlier = |at| at < self.sleeps_until;
        more || self.ports.any_waiting() || self.device.next_deadline().is_some_and(earlier)
    }
}

/// Has the requests run that wait: at once on this thread, where the device's own
/// sleeps, and otherwise on that.
pub fn serve(core: &Weak<Mutex<Core>>, waker: &Waker) {
    let Some(core) = core.upgrade() else {
        // The device has ended, and its requests with it.
        return;
    };
    let must_wake = match core.try_lock() {
        Ok(mut core) => core.answer_in_its_place(),
        Err(_) => true,
    };
    if must_wake {
        waker.wake();
    }
}
