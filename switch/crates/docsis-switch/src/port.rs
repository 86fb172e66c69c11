// SPDX-License-Identifier: Apache-2.0
//! The traits of everything that the devices' thread needs from outside: ports that frames come and
//! go through, a clock, and a poll to sleep on. The loop is generic over them, so that tests run it
//! without root and in a time of their own, and so that a packet pays for no indirection.

use crate::waker::Waker;
/// The longest frame that is received as a whole.
pub use device::LONGEST_FRAME;
use std::fmt::Debug;
use std::io;
use std::ops::Range;

/// The most frames that one call receives or sends.
pub const BATCH: usize = 64;

/// A port: an interface, or something that stands for one. No call waits.
///
/// The loop does not ask whether a link is up, because
/// [`Command::LinkUp`](crate::control::Command::LinkUp) tells it.
pub trait Port: Send {
    /// The slots that the port puts received frames into.
    type Inbox: Inbox;
    /// The link that the port is attached to. Another one may replace it while the switch runs.
    type Link: Debug + Send;

    /// Receives frames into these slots, beginning with the first one, and returns how many there
    /// were.
    ///
    /// # Errors
    /// `ENETDOWN` if the link is down; the port works again when it is up. After any other error
    /// the link is gone, and no frame comes until [`Self::attach`].
    fn receive(&mut self, inbox: &mut Self::Inbox, slots: Range<usize>) -> io::Result<usize>;

    /// Sends one or more frames in their order, and returns how many of them the port took, which
    /// is at least one. The buffers stay the caller's; their content may change.
    ///
    /// # Errors
    /// The error is about the first frame, of which nothing was sent: `WouldBlock` if there is no
    /// room for it yet, `Interrupted` if the call is to be repeated, and otherwise one that says
    /// that the port never takes this frame.
    fn send(&mut self, frames: &mut [Vec<u8>]) -> io::Result<usize>;

    /// How many frames were lost in front of the port since the last call, because earlier ones had
    /// not been received.
    fn missed(&mut self) -> u64;

    /// Attaches the port to another link.
    fn attach(&mut self, link: Self::Link);

    /// The time, by the process's clock, at which the port will have a frame that it holds back
    /// itself. Nothing wakes the thread for such a frame, so the thread sleeps no longer than until
    /// then.
    fn next_deadline(&self) -> Option<u64> {
        None
    }
}

/// Slots with one frame each, which all ports of a thread share.
pub trait Inbox: Send {
    /// An inbox of so many slots.
    fn new(slots: usize) -> Self;

    /// How many frames there is room for.
    fn slots(&self) -> usize;

    /// The time at which the frame in a slot came, by the clock of [`Time::ahead`]; `None` if it is
    /// not known.
    fn stamp(&self, slot: usize) -> Option<u64>;

    /// The frame in a slot. This is called once for each frame.
    fn frame(&mut self, slot: usize) -> Received<'_>;
}

/// A frame that [`Inbox::frame`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'b> {
    /// A frame as it was on the wire, VLAN tag included.
    Frame {
        /// The bytes from the destination address on, without the FCS.
        bytes: &'b [u8],
        /// Whether the sender left the checksum to an offload that a veth does not have.
        checksum_missing: bool,
    },
    /// A frame that is longer than [`LONGEST_FRAME`], of which only the length is known.
    TooLong(usize),
}

/// The process's clock.
pub trait Time: Clone + Send {
    /// Nanoseconds since the start; monotonic.
    fn now(&self) -> u64;

    /// How far the clock of frames' stamps is ahead of this one, ns. That clock may be set at any
    /// time, so the value must be asked for before each use.
    fn ahead(&self) -> u64;

    /// Nanoseconds since 1970 at `now`, for capture files.
    fn wall(&self, now: u64) -> u64;
}

/// Sleeps until a port has a frame, has room again, or another thread wants something.
///
/// Ports are given by their place in the order of [`Poll::new`]; the waker is behind the last one.
pub trait Poll<P>: Send {
    /// A poll that waits for frames of these ports, and for the waker.
    fn new<'p>(ports: impl Iterator<Item = &'p P>, waker: Option<&Waker>) -> Self
    where
        P: 'p;

    /// Waits for at most `timeout` nanoseconds; `None` waits for ever.
    fn wait(&mut self, timeout: Option<u64>);

    /// Whether a port, or the waker, had something when the last wait ended. An error counts, too.
    fn is_ready(&self, n: usize) -> bool;

    /// Sets whether to wait also for room to send through a port.
    fn want_room(&mut self, n: usize, wanted: bool);

    /// Whether this waits for room to send through any port.
    fn wants_room(&self) -> bool;

    /// Waits for a port whose link was replaced.
    fn replace(&mut self, n: usize, port: &P);

    /// Stops waiting for a port.
    fn ignore(&mut self, n: usize);
}

/// Ports, clock and poll that belong together.
pub trait Platform: Sized + 'static {
    /// Its clock.
    type Clock: Time;
    /// Its ports.
    type Port: Port;
    /// What its threads sleep on.
    type Poll: Poll<Self::Port>;
}
