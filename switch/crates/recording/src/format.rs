// SPDX-License-Identifier: Apache-2.0
//! What a recording is made of; README.md has it byte by byte.

use device::DropPlace;
use grpc_services::journal::Work;

/// What a file begins with.
pub const MAGIC: [u8; 8] = *b"DOCSISRC";
/// The version of the format.
pub const VERSION: u8 = 1;
/// Bytes of the longest record: those of the longest message of a client, and some.
pub const LONGEST_RECORD: usize = (64 << 20) + 4096;
/// Nanoseconds by which the time of a record may differ from that before: a year.
pub const LONGEST_PAUSE: u64 = 366 * 86_400_000_000_000;

/// What the device was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The program that recorded.
    pub version: String,
    /// P4Runtime's device_id.
    pub device_id: u64,
    /// The port of packet-in and packet-out.
    pub cpu_port: Option<u16>,
    /// The value of `egress_spec` that means "drop".
    pub drop_port: u16,
    /// The seed of the random numbers.
    pub seed: u64,
    /// How late the device may be before its time jumps, ns.
    pub lateness_bound: u64,
    /// Programs are understood as BMv2 does.
    pub bmv2_quirks: bool,
    /// The ports, without that of the CPU, in the order in which they were added.
    pub ports: Vec<u16>,
    /// What the device ran from the beginning.
    pub program: Option<Program>,
}

/// A compiled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// When it was loaded, ns.
    pub at: u64,
    /// As p4c compiled it.
    pub json: Vec<u8>,
    /// Its P4Info as text, if the server had it.
    pub p4info: Option<Vec<u8>>,
}

/// How far the device was: for inputs that have no time of the device's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Steps that the device had made.
    pub steps: u64,
    /// What was due until then had been asked for, ns.
    pub until: u64,
}

/// What the controller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// A frame.
    PacketIn,
    /// Digests, or idle timeouts.
    Event,
}

/// Why a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The device has ended.
    Stopped,
    /// The file had the size that it may have.
    Limit,
    /// The writer was too slow.
    Overrun,
}

/// A frame that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it was due, ns.
    pub at: u64,
    /// Where.
    pub port: u16,
    /// It is of a service flow that waited for tokens.
    pub paced: bool,
    /// Its bytes, without FCS.
    pub length: u64,
    /// The hash of its bytes.
    pub hash: u64,
}

/// What a device gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A frame leaves through a port.
    Sent(Sent),
    /// The controller is told something.
    Told {
        /// When, ns.
        at: u64,
        /// What.
        told: Told,
        /// It took it.
        taken: bool,
        /// The hash of its content.
        hash: u64,
    },
    /// Frames are dropped.
    Dropped {
        /// The device's time, ns.
        at: u64,
        /// Where.
        place: DropPlace,
        /// How many.
        frames: u64,
    },
}

/// What a device is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A frame reaches a port.
    Arrived {
        /// The time of the kernel's stamp, as the device had it, ns.
        at: u64,
        /// Where.
        port: u16,
        /// Without FCS.
        frame: Vec<u8>,
    },
    /// A frame came that is longer than the switch can receive.
    TooLong {
        /// Its bytes.
        length: u64,
    },
    /// The shell was so late that time jumped.
    Jumped {
        /// What the clock said.
        now: u64,
        /// When the first frame came that had not been delivered.
        arrived: Option<u64>,
        /// How far the device was.
        place: Place,
    },
    /// A port's interface went down or came up.
    Link {
        /// Which.
        port: u16,
        /// Up.
        up: bool,
        /// How far the device was.
        place: Place,
    },
    /// An interface did not take frames.
    NotSent {
        /// Which.
        port: u16,
        /// How many.
        frames: u64,
        /// Their bytes.
        bytes: u64,
        /// How far the device was.
        place: Place,
    },
    /// The kernel dropped frames in front of a port.
    Missed {
        /// Which.
        port: u16,
        /// How many.
        frames: u64,
        /// How far the device was.
        place: Place,
    },
    /// A client calls a method.
    Asked {
        /// The request's number, which is no other's.
        request: u64,
        /// The method's path.
        method: String,
        /// Encoded.
        message: Vec<u8>,
    },
    /// A client sends a message on its stream.
    Said {
        /// The request's number, as above.
        request: u64,
        /// The stream's.
        stream: u64,
        /// Encoded.
        message: Vec<u8>,
    },
    /// A request had a turn on the device's thread.
    Ran {
        /// Its number.
        request: u64,
        /// When, ns.
        at: u64,
        /// How much it did.
        work: Work,
    },
    /// A client has a request's answer.
    Answered {
        /// Its number.
        request: u64,
        /// The hash of all that the client got.
        hash: u64,
    },
    /// A client waits for a request's answer no more.
    Left {
        /// Its number.
        request: u64,
    },
    /// A client opens a stream.
    StreamOpened {
        /// Its number, which is no other's.
        stream: u64,
    },
    /// A stream is at its end.
    StreamEnded {
        /// Its number.
        stream: u64,
    },
}

/// The last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Why.
    pub reason: Reason,
    /// What the clock said, ns.
    pub now: u64,
    /// How far the device was.
    pub place: Place,
    /// The hash of the device's counters and state at that time, where nothing is missing before.
    pub state: Option<u64>,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// What the device was given.
    Input(Input),
    /// What it gave.
    Output(Output),
    /// Nothing follows.
    End(End),
}

/// Numbers of records in a file.
pub(crate) mod tag {
    pub const ARRIVED: u8 = 1;
    pub const TOO_LONG: u8 = 2;
    pub const JUMPED: u8 = 3;
    pub const LINK: u8 = 4;
    pub const NOT_SENT: u8 = 5;
    pub const MISSED: u8 = 6;
    pub const ASKED: u8 = 16;
    pub const SAID: u8 = 17;
    pub const RAN: u8 = 18;
    pub const ANSWERED: u8 = 19;
    pub const LEFT: u8 = 20;
    pub const STREAM_OPENED: u8 = 21;
    pub const STREAM_ENDED: u8 = 22;
    pub const SENT: u8 = 32;
    pub const TOLD: u8 = 33;
    pub const DROPPED: u8 = 34;
    pub const END: u8 = 48;
}
