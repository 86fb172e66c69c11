// SPDX-License-Identifier: Apache-2.0
//! What the marks in traced code stand for.

use crate::error::SourcePosition;
use crate::op::Slot;

/// A field that a statement writes, or a part of a select key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its P4 name, the header's in front.
    pub name: String,
    pub slot: Slot,
    /// Bits.
    pub width: u16,
}

/// A place in the P4 program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A parser state begins.
    State { name: String },
    /// The parser accepts.
    Accept,
    /// The parser is about to select by these values.
    Select { parts: Vec<Target> },
    /// A statement that is about to be run: a primitive, a parser operation.
    Before {
        op: String,
        subject: Option<String>,
        position: Option<SourcePosition>,
    },
    /// The statement announced last is done.
    After {
        /// What it wrote, if one field.
        target: Option<Target>,
        /// The field that it copied there, if that was all.
        from: Option<Slot>,
    },
    /// A checksum is about to be compared with what the packet holds.
    Checksum {
        field: Target,
        /// What it should be.
        computed: Slot,
        position: Option<SourcePosition>,
    },
    /// The statements of an action begin: called by the table that was looked
    /// up, or put in place of a node of the control flow.
    Action { index: u32, node: Option<String> },
    /// A condition is about to be evaluated.
    Condition { position: Option<SourcePosition> },
    /// It was true or false.
    Outcome(bool),
}
