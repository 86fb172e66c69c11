// SPDX-License-Identifier: Apache-2.0
//! The device's thread: receive, step, send, sleep.

use crate::clock::Clock;
use crate::lateness::{Lateness, Slack};
use crate::packet_socket::{BATCH, ReceiveBatch};
use crate::ports::Ports;
use crate::wait::{PollSet, Signals, Waker};
use device::Device;
use device::handle::Requests;
use std::os::fd::AsRawFd;
use tracing::info;

/// With a departure nearer than this, few frames are received at a time.
const SOON: u64 = 200_000;
/// Departures closer than this, in ns, are waited for awake, this long at the most.
const CLOSE: u64 = 2_000;
const CLOSE_FOR: u64 = 10_000;
/// Frames received at a time then.
const SMALL_BATCH: usize = 8;

/// Everything that the device's thread owns.
pub struct Shell {
    /// The device.
    pub device: Device,
    /// Its ports.
    pub ports: Ports,
    /// What other threads ask of it.
    pub requests: Requests,
    /// Wakes this thread for a request.
    pub waker: Waker,
    /// Ends it.
    pub signals: Signals,
    /// Its time.
    pub clock: Clock,
}

impl Shell {
    /// Everything that is due, each with the time at which it happens.
    fn drain(&mut self) {
        while self.device.step(self.clock.now(), &mut self.ports) {}
    }

    /// Waits awake for departures that are nearer than a system call takes, so
    /// that they leave with those before them.
    fn drain_close(&mut self) {
        let mut now = self.clock.now();
        let end = now + CLOSE_FOR;
        while now < end
            && self
                .device
                .next_deadline()
                .is_some_and(|at| at < now + CLOSE)
        {
            self.device.step(now, &mut self.ports);
            now = self.clock.now();
        }
    }

    fn receive(&mut self, port: usize, batch: &mut ReceiveBatch, poll: &mut PollSet) {
        let now = self.clock.now();
        let soon = |at: u64| at < now + SOON;
        let limit = match self.device.next_deadline() {
            Some(at) if soon(at) => SMALL_BATCH,
            _ => BATCH,
        };
        let Some(count) = self.ports.receive(port, batch, limit) else {
            poll.ignore(port);
            return;
        };
        for n in 0..count {
            // One look at the clock serves a frame: what it sets off happens
            // within the time that it takes to do it.
            let now = self.clock.now();
            self.ports.deliver(port, batch, n, now, &mut self.device);
            while self.device.step(now, &mut self.ports) {}
        }
        self.drain_close();
    }

    /// Runs until SIGTERM or SIGINT.
    pub fn run(mut self) {
        let mut batch = ReceiveBatch::default();
        let (waker_at, signals_at) = (self.ports.len(), self.ports.len() + 1);
        let fds: Vec<_> = self
            .ports
            .fds()
            .chain([self.waker.as_raw_fd(), self.signals.as_raw_fd()])
            .collect();
        let mut poll = PollSet::new(fds);
        let (mut slack, mut lateness) = (Slack::default(), Lateness::default());
        loop {
            let now = self.clock.now();
            let deadline = self.device.next_deadline();
            // Being awake when a departure is due: the peak bucket, one frame
            // deep, forgives next to no lateness.
            let timeout = deadline.map(|at| at.saturating_sub(now + slack.ns()));
            if timeout != Some(0) && self.ports.is_capturing() {
                self.ports.flush_captures();
            }
            poll.wait(timeout);
            let awake = self.clock.now();
            if let Some(timeout) = timeout.filter(|&ns| ns > 0)
                && awake > now + timeout
            {
                slack.overslept(awake - now - timeout);
            }
            if let Some(at) = deadline.filter(|&at| at > now && at <= awake) {
                lateness.note(awake - at);
                if timeout == Some(0) {
                    slack.stayed_awake();
                }
            }
            self.drain();
            if poll.is_ready(signals_at) {
                break;
            }
            if poll.is_ready(waker_at) {
                self.waker.reset();
                while self.requests.run_one(&mut self.device, self.clock.now()) {
                    self.drain();
                }
            }
            for port in 0..self.ports.len() {
                if poll.is_ready(port) {
                    self.receive(port, &mut batch, &mut poll);
                }
            }
            self.ports.flush(&mut self.device);
        }
        self.ports.flush(&mut self.device);
        self.ports.flush_captures();
        info!("{:?}", self.device.counters());
        info!("{lateness}; slack {} us", slack.ns() / 1000);
    }
}
