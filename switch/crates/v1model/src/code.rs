// SPDX-License-Identifier: Apache-2.0
//! A lowered program: what the machine runs and what it needs beside it.

use crate::calculation::Calculation;
use crate::carry::Carry;
use crate::expr::Expr;
use crate::grants::GrantSlots;
use crate::op::{Op, Pc, Slot};
use crate::paths::PathCode;
use crate::schema::ActionCall;
use crate::schema::{EntryKey, MeterUnit};
use crate::stack::Stack;
use crate::table::KeySource;
use crate::trace::Place;
use crate::wide::Wide;

/// Everything about a program that packets need.
#[derive(Debug)]
pub(crate) struct Code {
    pub ops: Vec<Op>,
    pub parser: Pc,
    /// Where the parser goes with an error: to the checksums, and its end.
    pub parser_end: Pc,
    pub ingress: Pc,
    pub egress: Pc,
    /// What is done before a packet is put together.
    pub deparser: Option<Pc>,
    /// A packet-header vector before its packet: zeroes and constants.
    pub template: Vec<u64>,
    /// Slots from the front that are the packet's state: headers and metadata.
    pub state_slots: usize,
    /// Those of them that a new packet resets, first and number; the others are written before
    /// they are read. A packet that is traced resets all: a trace shows what it pleases.
    pub resets: Vec<(Slot, Slot)>,
    /// What a packet takes with it from ingress to egress. One that is traced takes all.
    pub carry: Carry,
    /// First action parameter; each takes two slots.
    pub params: usize,
    pub headers: Vec<HeaderCode>,
    pub stacks: Vec<Stack>,
    /// Headers in the order in which they are emitted.
    pub deparse: Vec<Emitted>,
    /// All of them together may be longer than [`LONG_FRAME`](crate::wire::LONG_FRAME).
    pub long: bool,
    /// Only the parser, [`Op::AddHeader`] and [`Op::RemoveHeader`] decide which headers a
    /// packet has, and how long they are.
    pub plain: bool,
    /// The emitted headers that something writes into: whether they are valid, and as received.
    pub built: Vec<(Slot, Slot)>,
    pub tables: Vec<TableCode>,
    pub messages: Vec<Message>,
    pub calculations: Vec<Calculation>,
    pub wides: Vec<Wide>,
    pub standard: Standard,
    pub errors: ParserErrors,
    /// Slot of the metadata field `queue_id`.
    pub queue_id: Option<Slot>,
    /// Slot of the metadata field `sub_queue`.
    pub sub_queue: Option<Slot>,
    pub grants: GrantSlots,
    /// Clones, digests, resubmit, recirculate, truncate.
    pub paths: PathCode,
    /// What the marks in `ops` stand for.
    pub places: Vec<Place>,
    /// The program's errors with their numbers.
    pub error_names: Vec<(String, u64)>,
}

/// A header's turn when a packet is put together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emitted {
    /// Most headers are not valid: no more is looked at for those.
    pub valid: Slot,
    pub raw: Slot,
    /// Slot of the varbit field; [`Emitted::NO_VAR`] where there is none.
    pub var: Slot,
    pub header: u16,
    /// Bytes without the varbit field.
    pub bytes: u32,
}

impl Emitted {
    /// No field is there: a header begins with its validity.
    pub const NO_VAR: Slot = 0;

    /// Bytes that the header takes on the wire.
    #[inline(always)]
    pub fn len(&self, phv: &[u64]) -> usize {
        let fixed = self.bytes as usize;
        if self.var == Self::NO_VAR {
            return fixed;
        }
        fixed + (phv[usize::from(self.var)] & 0xffff_ffff) as usize / 8
    }
}

/// How a header is extracted and emitted.
#[derive(Debug)]
pub(crate) struct HeaderCode {
    pub valid: Slot,
    pub raw: Slot,
    /// First slot of the fields, and how many they are.
    pub first: Slot,
    pub field_slots: u16,
    /// Bytes without the varbit field.
    pub bytes: u32,
    /// Most bytes with it; 0 without limit.
    pub max_bytes: u32,
    /// All fields, for emission.
    pub fields: Vec<FieldCode>,
    /// The fields that something reads, for extraction: those that lie within
    /// eight bytes at a place that is always the same ...
    pub loads: Vec<Load>,
    /// ... and the others.
    pub slow_loads: Vec<FieldCode>,
    /// Slot of the varbit field, and the bits in front of it.
    pub var: Option<(Slot, u32)>,
    /// 1 + its place among the headers that are emitted; 0 where it has none, or several.
    pub order: u16,
    /// Something writes into it, so that it may have to be put together from its fields.
    pub built: bool,
    /// Validity of the other members of the header's union.
    pub rivals: Vec<Slot>,
}

/// Where a field is in its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldCode {
    pub slot: Slot,
    /// Bits.
    pub width: u16,
    /// Bits of fixed fields in front of it.
    pub offset: u32,
    /// It is behind the varbit field, whose bits come on top of `offset`.
    pub after_var: bool,
    /// It is the varbit field.
    pub var: bool,
}

/// A field as part of eight bytes of its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub slot: Slot,
    /// Where the eight bytes begin.
    pub byte: u16,
    /// Bits of them in front of the field.
    pub before: u8,
    /// 64 less the bits of the field.
    pub after: u8,
}

/// A table as the machine sees it.
#[derive(Debug)]
pub(crate) struct TableCode {
    pub keys: Vec<KeySource>,
    /// First instruction of each of the table's actions, and of no action.
    pub actions: Vec<Pc>,
    /// Where to go on after each action, on a hit and on a miss.
    pub next: Vec<(Pc, Pc)>,
    pub default: Option<ActionCall>,
    pub entries: Vec<(EntryKey, ActionCall)>,
    pub meter: Option<DirectMeter>,
    pub profile: Option<ProfileUse>,
}

/// A table's direct meter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectMeter {
    pub unit: MeterUnit,
    /// Slot of the field that a packet's colour goes to.
    pub target: Slot,
    /// Slot that says where the bytes of the field's header are, as received.
    pub raw: Slot,
    /// The bits of that field.
    pub mask: u64,
}

/// How a table uses an action profile.
#[derive(Clone, Debug)]
pub(crate) struct ProfileUse {
    /// Index of the profile.
    pub profile: u16,
    /// The calculation that selects a member of a group.
    pub hash: Option<u16>,
    /// For each action of the profile, its index among the table's.
    pub actions: Vec<u16>,
}

/// Text of a `log_msg` or a failed assertion: pieces around the values.
#[derive(Debug)]
pub(crate) struct Message {
    pub pieces: Vec<String>,
    /// The values, evaluated only when there is someone to read them.
    pub values: Vec<Expr>,
}

/// Slots of v1model's standard metadata. A field that the program does not
/// have is on a slot that nothing else uses.
#[derive(Debug)]
pub(crate) struct Standard {
    pub ingress_port: Slot,
    pub egress_spec: Slot,
    pub egress_port: Slot,
    pub instance_type: Slot,
    pub packet_length: Slot,
    pub enq_timestamp: Slot,
    pub enq_qdepth: Slot,
    pub deq_timedelta: Slot,
    pub deq_qdepth: Slot,
    pub ingress_global_timestamp: Slot,
    pub egress_global_timestamp: Slot,
    pub mcast_grp: Slot,
    pub egress_rid: Slot,
    pub parser_error: Slot,
    pub priority: Slot,
}

/// Values of the errors of core.p4 in this program.
#[derive(Debug)]
pub(crate) struct ParserErrors {
    pub packet_too_short: u64,
    pub no_match: u64,
    pub stack_out_of_bounds: u64,
    pub header_too_short: u64,
    pub parser_timeout: u64,
    pub parser_invalid_argument: u64,
}
