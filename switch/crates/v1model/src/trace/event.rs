// SPDX-License-Identifier: Apache-2.0
//! The events of a packet, and the interface of those who are told.

use crate::error::SourcePosition;
use crate::schema::Match;
use std::fmt;

/// A number of any width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceValue<'a> {
    /// 64 bits each, the lowest first.
    pub words: &'a [u64],
    /// Bits.
    pub width: u16,
}

impl TraceValue<'_> {
    /// Whether both are the same number; their widths do not matter.
    pub fn is(&self, other: &TraceValue<'_>) -> bool {
        let word = |value: &TraceValue<'_>, at| value.words.get(at).copied().unwrap_or(0);
        let words = self.words.len().max(other.words.len());
        (0..words).all(|at| word(self, at) == word(other, at))
    }
}

impl fmt::LowerHex for TraceValue<'_> {
    /// `0x` and as many digits as the width needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        for digit in (0..usize::from(self.width.div_ceil(4).max(1))).rev() {
            let word = self.words.get(digit / 16).copied().unwrap_or(0);
            write!(f, "{:x}", word >> (4 * (digit % 16)) & 15)?;
        }
        Ok(())
    }
}

/// A name with a value: a field, a parameter, a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its P4 name.
    pub name: &'a str,
    /// Its value.
    pub value: TraceValue<'a>,
}

/// A part of a table's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart<'a> {
    /// The field, with what was looked up.
    pub field: Named<'a>,
    /// Whether the field's header is valid; 0 was looked up when it is not.
    pub is_valid: bool,
}

/// The statement that made a packet's drop: what a student looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cause<'a> {
    /// The action that it stands in; `None` for a statement of a control's `apply`.
    pub action: Option<&'a str>,
    /// The table that called the action.
    pub table: Option<&'a str>,
    /// Where it is in the P4 source.
    pub source: Option<&'a SourcePosition>,
}

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason<'a> {
    /// The program said so: `mark_to_drop`, or `egress_spec` set to the drop port.
    Marked(Cause<'a>),
    /// An `assert` or `assume` did not hold.
    Assertion(Cause<'a>),
    /// The multicast group has no replicas, or does not exist.
    NoReplicas {
        /// `mcast_grp`.
        group: u16,
    },
    /// The egress port does not exist.
    NoSuchPort {
        /// `egress_spec`.
        port: u16,
    },
    /// The queue's buffer is full.
    QueueFull {
        /// The port.
        port: u16,
        /// Its queue.
        queue: u32,
    },
    /// A delay line is full.
    LineFull {
        /// Its port.
        port: u16,
    },
    /// A link lost it, as configured.
    Link {
        /// Its port.
        port: u16,
    },
    /// The controller did not take the packet-in.
    PacketIn,
    /// It was resubmitted or recirculated too often.
    TooManyPasses,
    /// It is longer than its queue's tokens can ever allow, or than a frame may be.
    TooLong,
    /// Its modem asked for it so often as a modem may, and was not heard.
    Unheard,
    /// A TCP acknowledgement that a later one made superfluous in its queue.
    Suppressed,
    /// Too many packets wait to go through ingress again.
    IngressQueueFull,
    /// The port has no queue for the packet's priority.
    NoSuchPriority {
        /// The port.
        port: u16,
        /// `standard_metadata.priority`.
        priority: u8,
    },
}

impl DropReason<'_> {
    /// The reason's stable name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            DropReason::Marked(_) => "marked_to_drop",
            DropReason::Assertion(_) => "assertion_failed",
            DropReason::NoReplicas { .. } => "no_replicas",
            DropReason::NoSuchPort { .. } => "no_such_port",
            DropReason::QueueFull { .. } => "queue_full",
            DropReason::LineFull { .. } => "delay_line_full",
            DropReason::Link { .. } => "link_loss",
            DropReason::PacketIn => "packet_in_refused",
            DropReason::TooManyPasses => "too_many_passes",
            DropReason::TooLong => "too_long",
            DropReason::Unheard => "unheard",
            DropReason::Suppressed => "suppressed",
            DropReason::IngressQueueFull => "ingress_queue_full",
            DropReason::NoSuchPriority { .. } => "no_such_priority",
        }
    }

    /// The statement in P4, when one decided.
    pub fn cause(&self) -> Option<&Cause<'_>> {
        match self {
            DropReason::Marked(cause) | DropReason::Assertion(cause) => Some(cause),
            _ => None,
        }
    }
}

/// How a copy of a packet came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyKind {
    /// A multicast replica.
    Replica,
    /// `clone(CloneType.I2E, ..)`.
    IngressClone,
    /// `clone(CloneType.E2E, ..)`.
    EgressClone,
}

impl CopyKind {
    /// The kind's stable name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            CopyKind::Replica => "replica",
            CopyKind::IngressClone => "ingress_clone",
            CopyKind::EgressClone => "egress_clone",
        }
    }
}

/// How a modem asked for a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// In a contention opportunity.
    Contention,
    /// In a poll.
    Poll,
    /// In the head of a burst.
    Burst,
}

impl RequestKind {
    /// The kind's stable name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Contention => "contention",
            RequestKind::Poll => "poll",
            RequestKind::Burst => "burst",
        }
    }
}

/// A burst on an upstream channel: the grant that it fills, and the request that the grant answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceBurst {
    /// The channel's number, as its MAPs have it.
    pub channel: u8,
    /// How the modem asked, and when, nanoseconds; `None`: nobody asked for the grant.
    pub requested: Option<(RequestKind, u64)>,
    /// The grant's first minislot.
    pub first_minislot: u64,
    /// Its minislots.
    pub minislots: u32,
    /// When it starts, nanoseconds.
    pub start_ns: u64,
    /// When it ends, nanoseconds.
    pub end_ns: u64,
}

/// One step of a packet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TraceEvent<'a> {
    /// A frame came in from a port; the packet's first event.
    Received {
        /// The port.
        port: u16,
        /// Bytes.
        length: usize,
    },
    /// The packet is a copy of another; its first event.
    Copied {
        /// The packet that it is a copy of.
        of: u64,
        /// How it came to be.
        kind: CopyKind,
    },
    /// The parser, ingress or egress begins: one of these three words.
    Pass {
        /// `parser`, `ingress` or `egress`.
        name: &'static str,
    },
    /// A parser state begins.
    State {
        /// Its name.
        name: &'a str,
    },
    /// A header was extracted.
    Extracted {
        /// The header's name, or the stack's with `.next`.
        header: &'a str,
    },
    /// A state selects its successor by these values.
    Select {
        /// The parts of the key.
        key: &'a [Named<'a>],
    },
    /// The parser reached `accept`.
    Accepted,
    /// The parser stopped with an error.
    ParserError {
        /// Its P4 name without `error.`.
        error: &'a str,
        /// The state it stopped in.
        state: &'a str,
        /// What it was about to do: `extract hdr`, `verify`.
        statement: &'a str,
    },
    /// A condition was evaluated.
    Condition {
        /// Its place and text.
        source: Option<&'a SourcePosition>,
        /// What it came to.
        outcome: bool,
    },
    /// A table was applied.
    Table {
        /// Its name.
        table: &'a str,
        /// Whether an entry matched.
        hit: bool,
        /// The key as looked up.
        key: &'a [KeyPart<'a>],
        /// The matches of the entry, one for each part of the key; empty for a miss.
        entry: &'a [Match],
        /// Its priority; 0 for none.
        priority: i32,
        /// The action that runs.
        action: &'a str,
        /// Its arguments.
        args: &'a [Named<'a>],
    },
    /// The action of the table that was applied last is at its end.
    ActionEnd,
    /// An action is called by a statement of its own.
    Call {
        /// Its name.
        action: &'a str,
        /// The table without a key in whose place it stands, if P4 names one.
        table: Option<&'a str>,
    },
    /// A statement was carried out.
    Statement {
        /// The operation's name in the compiled program, as `assign`.
        op: &'a str,
        /// The object that it works on, as a header or a register array.
        subject: Option<&'a str>,
        /// The field that it wrote, and what.
        wrote: Option<Named<'a>>,
        /// The action that it stands in, if P4 names one.
        action: Option<&'a str>,
        /// Its place and text.
        source: Option<&'a SourcePosition>,
    },
    /// A checksum was verified.
    Checksum {
        /// The field that holds it, and what it holds.
        field: Named<'a>,
        /// What it should hold.
        expected: TraceValue<'a>,
        /// Where it is verified.
        source: Option<&'a SourcePosition>,
    },
    /// Put into a queue.
    Queued {
        /// The port.
        port: u16,
        /// Its queue.
        queue: u32,
        /// Packets in front of it.
        depth: u32,
    },
    /// A grant lets it leave its queue: its first byte is in that burst.
    Burst(TraceBurst),
    /// The program asked for a clone.
    Clone {
        /// The clone session.
        session: u16,
    },
    /// The program sends a digest to the controller.
    Digest {
        /// Its name.
        name: &'a str,
    },
    /// Goes through ingress again.
    Resubmitted,
    /// Goes through the parser again as it was deparsed.
    Recirculated,
    /// Copies were made; they are packets of their own.
    Replicated {
        /// The multicast group.
        group: u16,
        /// How many.
        copies: usize,
    },
    /// The egress pipeline's frame was put together.
    Deparsed {
        /// Bytes.
        length: usize,
    },
    /// Left through a port; the packet's last event.
    Sent {
        /// The port.
        port: u16,
        /// Bytes.
        length: usize,
    },
    /// Went no further; the packet's last event.
    Dropped(DropReason<'a>),
}

impl TraceEvent<'_> {
    /// Whether nothing follows for this packet.
    pub fn is_last(&self) -> bool {
        matches!(
            self,
            TraceEvent::Sent { .. } | TraceEvent::Dropped(_) | TraceEvent::Replicated { .. }
        )
    }
}

/// Is told what happens to packets. Runs between the packet's steps, so it
/// delays it; must not block for long.
pub trait TraceSink {
    /// A frame comes in at `now_ns`. Gives the packet's number, greater than 0,
    /// to be told about it.
    fn begin(&mut self, now_ns: u64, port: u16, frame: &[u8]) -> Option<u64>;

    /// A copy of a packet was made; gives the copy's number.
    fn copy(&mut self, of: u64) -> u64;

    /// Something happened to a packet.
    fn event(&mut self, packet: u64, now_ns: u64, event: &TraceEvent<'_>);
}
