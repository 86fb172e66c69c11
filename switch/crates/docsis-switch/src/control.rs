// SPDX-License-Identifier: Apache-2.0
//! The commands that the main thread sends to the devices' threads.

use crate::linux::Linux;
use crate::port::{Platform, Port};
use crate::waker::Waker;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Something to do between two packets.
pub enum Command<S: Platform = Linux> {
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
        link: Option<<S::Port as Port>::Link>,
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
pub struct Control<S: Platform = Linux> {
    commands: Sender<Command<S>>,
    waker: Waker,
}

impl<S: Platform> Clone for Control<S> {
    fn clone(&self) -> Self {
        Self {
            commands: self.commands.clone(),
            waker: self.waker.clone(),
        }
    }
}

impl<S: Platform> fmt::Debug for Control<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

impl<S: Platform> Control<S> {
    /// Tells the thread that reads `waker`.
    pub fn new(waker: Waker) -> (Self, Receiver<Command<S>>) {
        let (commands, received) = channel();
        (Self { commands, waker }, received)
    }

    /// Hands a command over; a thread that has ended needs none.
    pub fn send(&self, command: Command<S>) {
        if self.commands.send(command).is_ok() {
            self.waker.wake();
        }
    }
}
