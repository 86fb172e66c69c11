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

impl Place {
    /// The memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        let target = |target: &Target| size_of::<Target>() + target.name.len();
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let source = |position: &Option<SourcePosition>| {
            let position = position.as_ref();
            position.map_or(0, |p| p.file.len() + p.fragment.len())
        };
        let own = match self {
            Place::State { name } => name.len(),
            Place::Select { parts } => parts.iter().map(target).sum(),
            Place::Before {
                op,
                subject,
                position,
            } => op.len() + text(subject) + source(position),
            Place::After { target: wrote, .. } => wrote.as_ref().map_or(0, target),
            Place::Checksum {
                field, position, ..
            } => target(field) + source(position),
            Place::Action { node, .. } => text(node),
            Place::Condition { position } => source(position),
            Place::Accept | Place::Outcome(_) => 0,
        };
        size_of::<Place>() + own
    }
}
