// SPDX-License-Identifier: Apache-2.0
//! A test as it was read: statements with their places in the text.
//!
//! ```text
//! # a comment, also after //
//! packet 0 0a0b 0c0d                        a frame comes in
//! expect 1 0a** 0c0d $                      * is any digit, $ is the end
//! expect 2                                  any frame
//! no_packet                                 the last packet gives none
//! add TABLE [PRIORITY] KEY:VALUE ... ACTION(PARAMETER:VALUE, ...) [= HANDLE]
//! setdefault TABLE ACTION(...)
//! remove all
//! check_counter COUNTER(INDEX or $HANDLE) [packets or bytes == N]
//! wait
//! mirroring_add SESSION PORT                and _add_mc, _delete, _get
//! mc_mgrp_create, mc_node_create, mc_node_update, mc_node_associate
//! counter_read, counter_write, register_read, register_write, register_reset
//! meter_set_rates, meter_array_set_rates, meter_get_rates
//! ```
//!
//! A statement starts with its keyword, in any case, at the start of a line
//! and goes on to the next keyword at the start of one. VALUE is decimal,
//! `0x`, `0b` or `0o`, where `*` is a digit that may be anything; also
//! `VALUE/LENGTH`, `VALUE &&& MASK`, `LOW->HIGH` and `*`.

use crate::literal::Literal;

/// A whole test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// In the order of the text.
    pub statements: Vec<Statement>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Where its keyword is, from 1.
    pub line: u32,
    /// What it says.
    pub command: Command,
}

/// A name, with dots and `[index]`, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// As in `hdr.stack[0].field`.
    pub text: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The value.
    pub literal: Literal,
    /// A minus sign is in front.
    pub negative: bool,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// What a key field is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One number, perhaps with `*` digits.
    Number(Number),
    /// `value/length`.
    Prefix(Number, Number),
    /// `value &&& mask`.
    Masked(Number, Number),
    /// `low->high`, both inclusive.
    Range(Number, Number),
    /// `*`
    Any,
}

/// A field of an entry's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// The field.
    pub name: Name,
    /// What it is compared with.
    pub value: Value,
}

/// An action with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The action.
    pub name: Name,
    /// Each parameter by name.
    pub args: Vec<(Name, Number)>,
}

/// Which cell of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CounterIndex {
    /// A number.
    Index(Number),
    /// The entry that was added with `= handle`.
    Handle(Name),
}

/// What of a counter is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterUnit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// How a counter is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it holds.
    #[must_use]
    pub fn holds(self, left: u128, right: u128) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }

    /// As it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// A rate and a burst of a meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeterRate {
    /// Units (packets or bytes) in a microsecond.
    pub per_microsecond: f64,
    /// Units.
    pub burst: u64,
}

impl Eq for MeterRate {}

/// A frame that is expected: hexadecimal digits in upper case, or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The digits, ASCII.
    pub digits: Vec<u8>,
    /// Nothing may follow (`$`).
    pub exact: bool,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A frame comes in.
    Packet {
        /// From which port.
        port: u16,
        /// The frame.
        data: Vec<u8>,
    },
    /// A frame goes out.
    Expect {
        /// Through which port.
        port: u16,
        /// What it looks like; `None`: whatever.
        pattern: Option<Pattern>,
    },
    /// The last packet (or the next one, if there is none) gives no frame.
    NoPacket,
    /// Time passes.
    Wait,
    /// Adds an entry.
    Add {
        /// To which table.
        table: Name,
        /// Higher wins.
        priority: Option<Number>,
        /// Fields that are not named are don't care, or 0 where exact.
        key: Vec<KeyField>,
        /// Its action.
        call: Call,
        /// Its name for `check_counter`.
        handle: Option<Name>,
    },
    /// Sets the default entry.
    SetDefault {
        /// The table whose default it is.
        table: Name,
        /// Its action.
        call: Call,
    },
    /// Removes all entries that can be removed.
    RemoveAll,
    /// Compares a counter.
    CheckCounter {
        /// The counter.
        counter: Name,
        /// The cell.
        index: CounterIndex,
        /// `None`: only that it is there.
        check: Option<(CounterUnit, Comparison, Number)>,
    },
    /// Reports a cell of a counter.
    CounterRead {
        /// The counter.
        counter: Name,
        /// The cell.
        index: Number,
    },
    /// Writes a cell of a counter.
    CounterWrite {
        /// The counter.
        counter: Name,
        /// The cell.
        index: Number,
        /// Packets.
        packets: Number,
        /// Bytes.
        bytes: Number,
    },
    /// Reports a cell of a register.
    RegisterRead {
        /// The register.
        register: Name,
        /// The cell.
        index: Number,
    },
    /// Writes a cell of a register.
    RegisterWrite {
        /// The register.
        register: Name,
        /// The cell.
        index: Number,
        /// The value.
        value: Number,
    },
    /// Zeroes a register.
    RegisterReset {
        /// The register.
        register: Name,
    },
    /// Configures a meter's cell, or all of them.
    MeterSetRates {
        /// The meter.
        meter: Name,
        /// The cell; `None`: all.
        index: Option<Number>,
        /// Committed, then peak.
        rates: Vec<MeterRate>,
    },
    /// Reports a meter's cell.
    MeterGetRates {
        /// The meter.
        meter: Name,
        /// The cell.
        index: Number,
    },
    /// Makes an empty multicast group.
    GroupCreate {
        /// Its number.
        group: Number,
    },
    /// Makes a node; nodes are numbered from 0.
    NodeCreate {
        /// The copies' egress_rid.
        rid: Number,
        /// One copy each.
        ports: Vec<Number>,
    },
    /// Changes a node's ports.
    NodeUpdate {
        /// Its number.
        node: Number,
        /// One copy each.
        ports: Vec<Number>,
    },
    /// Adds a node to a group.
    NodeAssociate {
        /// The group.
        group: Number,
        /// The node.
        node: Number,
    },
    /// Makes a clone session to a port.
    MirrorAdd {
        /// Its number.
        session: Number,
        /// The port.
        port: Number,
    },
    /// Makes a clone session to a multicast group.
    MirrorAddGroup {
        /// Its number.
        session: Number,
        /// The group.
        group: Number,
    },
    /// Removes a clone session.
    MirrorDelete {
        /// Its number.
        session: Number,
    },
    /// Reports a clone session.
    MirrorGet {
        /// Its number.
        session: Number,
    },
}
