// SPDX-License-Identifier: Apache-2.0
//! A way that is longer for one application than for others from the same host: a delay line.

use std::collections::VecDeque;

use crate::frame::Frame;
use crate::host::Host;
use crate::net::Net;

/// Frames that leave their host so much later. All are delayed alike, so that none overtakes.
#[derive(Debug)]
pub struct Delay {
    time: u64,
    waiting: VecDeque<(u64, u32, Frame)>,
}

impl Delay {
    /// Makes a delay of so many nanoseconds.
    #[must_use]
    pub fn new(time: u64) -> Self {
        Self {
            time,
            waiting: VecDeque::new(),
        }
    }

    /// A host's frame sets off. When it leaves the host, if it is the next one to do so.
    pub fn put(&mut self, net: &mut Net, host: u32, frame: Frame) -> Option<u64> {
        net.keep(frame.bytes.len());
        let due = net.now + self.time;
        self.waiting.push_back((due, host, frame));
        (self.waiting.len() == 1).then_some(due)
    }

    /// When the next one leaves.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        self.waiting.front().map(|(due, ..)| *due)
    }

    /// Those leave that are due.
    pub fn release(&mut self, net: &mut Net, hosts: &mut [Host]) {
        while self.due().is_some_and(|due| due <= net.now)
            && let Some((_, host, frame)) = self.waiting.pop_front()
        {
            net.unkeep(frame.bytes.len());
            hosts[host as usize].send(net, frame);
        }
    }
}
