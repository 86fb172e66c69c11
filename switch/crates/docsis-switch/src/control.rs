// SPDX-License-Identifier: Apache-2.0
//! What the main thread tells the devices' threads.

use crate::packet_socket::PacketSocket;
use crate::wait::Waker;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Something to do between two packets.
#[derive(Debug)]
pub enum Command {
    /// Receive nothing more; end when the queues are empty, or this many
    /// nanoseconds from now.
    Stop {
        /// Nanoseconds.
        drain_ns: u64,
    },
    /// A port's interface is up.
    LinkUp {
        /// Index of the port among the device's.
        port: usize,
        /// Where the interface is another one of the same name.
        socket: Option<PacketSocket>,
    },
    /// A port's interface is down or gone.
    LinkDown {
        /// Index of the port among the device's.
        port: usize,
    },
    /// Whether `log_msg` reaches the log.
    LogMessages(bool),
}

/// The way to one device's thread.
#[derive(Debug, Clone)]
pub struct Control {
    commands: Sender<Command>,
    waker: Waker,
}

impl Control {
    /// Tells the thread that reads `waker`.
    pub fn new(waker: Waker) -> (Self, Receiver<Command>) {
        let (commands, received) = channel();
        (Self { commands, waker }, received)
    }

    /// Hands a command over; a thread that has ended needs none.
    pub fn send(&self, command: Command) {
        if self.commands.send(command).is_ok() {
            self.waker.wake();
        }
    }
}
