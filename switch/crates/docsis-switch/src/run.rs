// SPDX-License-Identifier: Apache-2.0
//! The device's thread: receive, step, send, sleep.

use crate::clock::Clock;
use crate::control::Command;
use crate::packet_socket::{BATCH, ReceiveBatch};
use crate::ports::Ports;
use crate::process::log_messages;
use crate::slack::Slack;
use crate::wait::{PollSet, Waker};
use device::Device;
use device::handle::Requests;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use tracing::{info, warn};

/// With a departure nearer than this, few frames are received at a time.
const SOON: u64 = 200_000;
/// Frames received at a time then.
const SMALL_BATCH: usize = 8;
/// Departures closer than this, in ns, are waited for awake, this long at the most.
const CLOSE: u64 = 2_000;
const CLOSE_FOR: u64 = 10_000;
/// Nanoseconds between two looks at full sockets when the switch ends.
const LOOK_AGAIN: u64 = 5_000_000;
/// Requests are run for so long, in ns, before frames are received again.
const REQUESTS_FOR: u64 = 300_000;

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
    /// What the main thread says.
    pub commands: Receiver<Command>,
    /// Its time.
    pub clock: Clock,
    /// Whether `log_msg` of new pipelines reaches the log.
    pub logs: Arc<AtomicBool>,
    /// Set when it is to end: when that is, at the latest.
    pub stop_at: Option<u64>,
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
        // A flow that is all but unlimited does not make batches small.
        self.drain_close();
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

    /// Does what the main thread says.
    fn obey(&mut self, poll: &mut PollSet) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Stop { drain_ns } => {
                    (0..self.ports.len()).for_each(|port| poll.ignore(port));
                    self.stop_at = Some(self.clock.now().saturating_add(drain_ns));
                }
                Command::LinkUp { port, socket } => {
                    if let Some(socket) = socket {
                        if self.stop_at.is_none() {
                            poll.replace(port, socket.as_raw_fd());
                        }
                        self.ports.replace(port, socket);
                    }
                    self.device.set_port_up(self.ports.number(port), true);
                }
                Command::LinkDown { port } => {
                    self.device.set_port_up(self.ports.number(port), false);
                }
                Command::LogMessages(on) => {
                    self.logs.store(on, Ordering::Relaxed);
                    if let Some(pipeline) = self.device.pipeline_mut() {
                        log_messages(pipeline, on);
                    }
                }
            }
        }
    }

    /// Runs requests, but not for long: frames are to be received. Whether there
    /// may be more.
    fn answer(&mut self) -> bool {
        let end = self.clock.now() + REQUESTS_FOR;
        loop {
            let now = self.clock.now();
            if now >= end {
                return true;
            }
            if !self.requests.run_one(&mut self.device, now) {
                return false;
            }
            self.drain();
        }
    }

    /// Whether it has been told to end and may.
    fn is_over(&self) -> bool {
        self.stop_at
            .is_some_and(|at| self.is_empty() || self.clock.now() >= at)
    }

    /// Whether nothing is queued, on a delay line or on its way into a socket.
    fn is_empty(&self) -> bool {
        self.device.is_empty() && !(0..self.ports.len()).any(|port| self.ports.is_waiting(port))
    }

    /// Lets `poll` end when a socket that was full has room. At the end nothing
    /// is received, so sockets are not polled: they are looked at now and then.
    fn look_again(&self, timeout: Option<u64>, poll: &mut PollSet) -> Option<u64> {
        if !self.ports.may_wait() {
            return timeout;
        }
        let mut waiting = false;
        for port in 0..self.ports.len() {
            poll.want_room(port, self.ports.is_waiting(port));
            waiting |= self.ports.is_waiting(port);
        }
        let soon = (waiting && self.stop_at.is_some()).then_some(LOOK_AGAIN);
        timeout.into_iter().chain(soon).min()
    }

    /// Runs until it is told to end.
    pub fn run(mut self) {
        let mut batch = ReceiveBatch::default();
        let waker_at = self.ports.len();
        let fds: Vec<_> = self.ports.fds().chain([self.waker.as_raw_fd()]).collect();
        let mut poll = PollSet::new(fds);
        let mut slack = Slack::default();
        // Requests may wait, and nobody says so again.
        let mut asked = false;
        loop {
            let now = self.clock.now();
            let deadline = self
                .device
                .next_deadline()
                .into_iter()
                .chain(self.stop_at)
                .min();
            // Being awake when a departure is due: the peak bucket, one frame
            // deep, forgives next to no lateness.
            let timeout = deadline.map(|at| at.saturating_sub(now + slack.ns()));
            let timeout = self.look_again(timeout, &mut poll);
            let busy = asked;
            let timeout = if busy { Some(0) } else { timeout };
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
                self.device.lateness_mut().note(awake - at);
                if timeout == Some(0) && !busy {
                    slack.stayed_awake();
                }
            }
            self.drain();
            if poll.is_ready(waker_at) {
                self.waker.reset();
                self.obey(&mut poll);
                self.ports.count_missed(&mut self.device);
                asked = true;
            }
            asked = asked && self.answer();
            for port in 0..self.ports.len() {
                if poll.is_ready(port) {
                    self.receive(port, &mut batch, &mut poll);
                }
            }
            self.ports.flush(&mut self.device);
            if self.is_over() {
                break;
            }
        }
        self.ports.give_up(&mut self.device);
        self.ports.flush_captures();
        self.ports.count_missed(&mut self.device);
        self.report();
        info!("{}; slack {} us", self.device.lateness(), slack.ns() / 1000);
    }

    /// The final counters: every port's, and of the others those that counted.
    fn report(&self) {
        let id = self.device.config().device_id;
        if !self.device.is_empty() {
            warn!("device {id}: frames were left in queues or on delay lines; see --drain-ms");
        }
        let now = self.clock.now();
        for port in self.device.traffic_manager_state(now).ports {
            info!(
                "device {id} port {}: received {} frames, sent {}, not sent {}",
                port.config.port,
                port.received.frames,
                port.sent.frames,
                port.send_failed.frames
                    + port.receive_overflow.frames
                    + port.transmit_overflow.frames
                    + port.queue_overflow.frames,
            );
        }
        for link in self.device.links().filter(|link| link.missed > 0) {
            info!(
                "device {id} port {}: {} frames were dropped by the kernel: they came faster than \
                 the switch took them",
                link.port, link.missed
            );
        }
        for (name, meaning, traffic) in self.device.counters().named() {
            if traffic.frames > 0 {
                info!(
                    "device {id}: {name}: {} frames, {} bytes. {meaning}",
                    traffic.frames, traffic.bytes
                );
            }
        }
    }
}
