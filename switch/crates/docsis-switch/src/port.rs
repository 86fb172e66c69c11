// SPDX-License-Identifier: Apache-2.0
//! What the devices' thread needs of the world: ports that frames come and go through, a clock,
//! and something to sleep on. The loop is generic over them, so that tests run it without root
//! and in a time of their own, and a packet pays for no indirection.

use crate::waker::Waker;
use std::fmt::Debug;
use std::io;
use std::ops::Range;

/// Frames that are received or sent by one call at the most.
pub const BATCH: usize = 64;
/// Longest frame that is received whole, bytes.
pub const LONGEST_FRAME: usize = 16 * 1024;

/// The far side of a port: an interface, or what stands for one. No call waits.
///
/// Whether its link is up is told by [`Command::LinkUp`](crate::control::Command::LinkUp), as the
/// loop needs not ask for it.
pub trait Port: Send {
    /// Where it puts frames that it receives.
    type Inbox: Inbox;
    /// What it is attached to, of which another may take the place while the switch runs.
    type Link: Debug + Send;

    /// Receives frames into these slots, from the first on; returns how many, 0 for none yet.
    ///
    /// # Errors
    /// `ENETDOWN`: the link is down, and the port works again when it is up. Any other error: the
    /// link is gone, and nothing comes until [`Self::attach`].
    fn receive(&mut self, inbox: &mut Self::Inbox, slots: Range<usize>) -> io::Result<usize>;

    /// Sends frames, of which there is one at least, in their order; returns how many were taken,
    /// from the first on, and at least one. Buffers stay the caller's, their content may change.
    ///
    /// # Errors
    /// About the first frame, of which nothing was sent: `WouldBlock` when there is no room for it
    /// yet, `Interrupted` when it is to be tried again, otherwise the port never takes it.
    fn send(&mut self, frames: &mut [Vec<u8>]) -> io::Result<usize>;

    /// Frames that were lost in front of it since the last call, because nobody had received those
    /// before them.
    fn missed(&mut self) -> u64;

    /// Goes on with another link.
    fn attach(&mut self, link: Self::Link);

    /// When it has a frame to receive that it holds back itself, by the process's clock. Nothing
    /// wakes the thread for that frame, so the thread sleeps until then at the longest.
    fn next_deadline(&self) -> Option<u64> {
        None
    }
}

/// Slots of one frame each, which the ports of a thread share.
pub trait Inbox: Send {
    /// An inbox of so many slots.
    fn new(slots: usize) -> Self;

    /// How many frames there is room for.
    fn slots(&self) -> usize;

    /// When the frame in a slot came, by the clock of [`Time::ahead`]; `None` where nobody knows.
    fn stamp(&self, slot: usize) -> Option<u64>;

    /// The frame in a slot. To be called once for each frame.
    fn frame(&mut self, slot: usize) -> Received<'_>;
}

/// What [`Inbox::frame`] found.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'b> {
    /// A frame as it was on the wire, VLAN tag included.
    Frame {
        /// From the destination address on, without FCS.
        bytes: &'b [u8],
        /// The sender left its checksum to be computed by an offload that a
        /// veth does not have.
        checksum_missing: bool,
    },
    /// Longer than [`LONGEST_FRAME`]; only its length is known.
    TooLong(usize),
}

/// The process's clock.
pub trait Time: Clone + Send {
    /// Nanoseconds since the start; monotonic.
    fn now(&self) -> u64;

    /// How far the clock of frames' stamps is ahead of this one, ns. That clock may be set: ask
    /// before each use.
    fn ahead(&self) -> u64;

    /// Nanoseconds since 1970 at `now`, for capture files.
    fn wall(&self, now: u64) -> u64;
}

/// Sleeps until a port has a frame, has room again, or another thread wants something.
///
/// Ports are named by their place in the order of [`Poll::new`]; the waker is behind the last.
pub trait Poll<P>: Send {
    /// Waits for frames of these ports, and for the waker.
    fn new<'p>(ports: impl Iterator<Item = &'p P>, waker: Option<&Waker>) -> Self
    where
        P: 'p;

    /// Waits for at most `timeout` nanoseconds; `None` is for ever.
    fn wait(&mut self, timeout: Option<u64>);

    /// Whether that one had something when the last wait ended, an error included.
    fn is_ready(&self, n: usize) -> bool;

    /// Whether to wait also for room to send through a port.
    fn want_room(&mut self, n: usize, wanted: bool);

    /// Whether it waits for room to send through any port.
    fn wants_room(&self) -> bool;

    /// A port has another link.
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
