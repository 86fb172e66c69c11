// SPDX-License-Identifier: Apache-2.0
//! What can go wrong when a program is loaded, and when it is controlled.

use std::fmt;

/// The position in the P4 source that a construct came from, as p4c recorded it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// File name as given to p4c.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1; 0 when unknown.
    pub column: u64,
    /// The P4 text at that place.
    pub fragment: String,
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)?;
        if !self.fragment.is_empty() {
            write!(f, " `{}`", self.fragment.replace('\n', " "))?;
        }
        Ok(())
    }
}

/// A program was refused: not valid BMv2 JSON, or it needs what this target
/// does not have. The message is one sentence that names the construct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// What is wrong.
    pub message: String,
    /// The nearest P4 source position that the JSON gives.
    pub position: Option<SourcePosition>,
}

impl LoadError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        LoadError {
            message: message.into(),
            position: None,
        }
    }

    /// Adds the position unless a closer one is known already.
    pub(crate) fn at(mut self, position: Option<SourcePosition>) -> Self {
        if self.position.is_none() {
            self.position = position;
        }
        self
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.position {
            Some(position) => write!(f, "{position}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for LoadError {}

/// Canonical status codes (google.rpc.Code) that a [`ControlError`] maps to;
/// the discriminants are the codes' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// INVALID_ARGUMENT
    InvalidArgument = 3,
    /// NOT_FOUND
    NotFound = 5,
    /// ALREADY_EXISTS
    AlreadyExists = 6,
    /// PERMISSION_DENIED
    PermissionDenied = 7,
    /// RESOURCE_EXHAUSTED
    ResourceExhausted = 8,
    /// FAILED_PRECONDITION
    FailedPrecondition = 9,
    /// OUT_OF_RANGE
    OutOfRange = 11,
}

/// A control-plane operation that was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlError {
    /// The object (table, counter, register, group ...) does not exist.
    UnknownObject {
        /// Kind and name or id.
        what: String,
    },
    /// No entry with this match and priority.
    EntryNotFound {
        /// The table's name.
        table: String,
    },
    /// An entry with this match and priority exists.
    EntryExists {
        /// The table's name.
        table: String,
    },
    /// The table holds `size` entries already.
    TableFull {
        /// The table's name.
        table: String,
        /// Its size in entries.
        size: usize,
    },
    /// The entries, or the default entry, are `const` in P4.
    Const {
        /// The table's name.
        table: String,
    },
    /// The match does not fit the key: kind, count, canonical form, priority.
    InvalidMatch {
        /// The table's name.
        table: String,
        /// What is wrong, with the field's name.
        reason: String,
    },
    /// The table does not have this action, or its parameters do not fit.
    InvalidAction {
        /// The table's name.
        table: String,
        /// What is wrong.
        reason: String,
    },
    /// A value needs more bits than its field, parameter or register has.
    ValueTooWide {
        /// What the value is for.
        what: String,
        /// Bits available.
        width: u16,
    },
    /// An index past the end of a counter or register array.
    IndexOutOfRange {
        /// The array's name.
        what: String,
        /// The index given.
        index: usize,
        /// The array's length.
        size: usize,
    },
    /// A multicast group exists already.
    GroupExists {
        /// Its id.
        group: u32,
    },
    /// An object with this id (a member, a group, a clone session ...) exists.
    ObjectExists {
        /// Kind, id and owner.
        what: String,
    },
    /// Something else refers to the object, so it cannot be deleted.
    InUse {
        /// Kind, id and owner.
        what: String,
        /// What refers to it.
        by: String,
    },
    /// An action profile, a group or a value set has no room.
    Full {
        /// Kind and name or id.
        what: String,
        /// What it can hold.
        size: usize,
    },
    /// What was given for an object makes no sense.
    InvalidObject {
        /// Kind and name or id.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// A replica is listed twice, or a group id or port is not allowed.
    InvalidGroup {
        /// What is wrong.
        reason: String,
    },
}

impl ControlError {
    /// The canonical code that P4Runtime prescribes for this error.
    pub fn code(&self) -> Code {
        match self {
            ControlError::UnknownObject { .. } | ControlError::EntryNotFound { .. } => {
                Code::NotFound
            }
            ControlError::EntryExists { .. }
            | ControlError::GroupExists { .. }
            | ControlError::ObjectExists { .. } => Code::AlreadyExists,
            ControlError::TableFull { .. } | ControlError::Full { .. } => Code::ResourceExhausted,
            ControlError::InUse { .. } => Code::FailedPrecondition,
            ControlError::Const { .. } => Code::PermissionDenied,
            ControlError::InvalidMatch { .. }
            | ControlError::InvalidAction { .. }
            | ControlError::InvalidObject { .. }
            | ControlError::InvalidGroup { .. } => Code::InvalidArgument,
            ControlError::ValueTooWide { .. } | ControlError::IndexOutOfRange { .. } => {
                Code::OutOfRange
            }
        }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::UnknownObject { what } => write!(f, "there is no {what}"),
            ControlError::EntryNotFound { table } => {
                write!(f, "table {table} has no entry with this match and priority")
            }
            ControlError::EntryExists { table } => {
                write!(
                    f,
                    "table {table} has an entry with this match and priority already"
                )
            }
            ControlError::TableFull { table, size } => {
                write!(f, "table {table} is full: its size is {size}")
            }
            ControlError::Const { table } => {
                write!(
                    f,
                    "table {table}: const entries and const default actions cannot be changed"
                )
            }
            ControlError::InvalidMatch { table, reason }
            | ControlError::InvalidAction { table, reason } => write!(f, "table {table}: {reason}"),
            ControlError::ValueTooWide { what, width } => {
                write!(f, "the value for {what} does not fit into {width} bits")
            }
            ControlError::IndexOutOfRange { what, index, size } => {
                write!(
                    f,
                    "index {index} is past the end of {what}, which has {size} cells"
                )
            }
            ControlError::GroupExists { group } => {
                write!(f, "multicast group {group} exists already")
            }
            ControlError::ObjectExists { what } => write!(f, "{what} exists already"),
            ControlError::InUse { what, by } => {
                write!(f, "{what} is in use by {by}: change that first")
            }
            ControlError::Full { what, size } => write!(f, "{what} is full: its size is {size}"),
            ControlError::InvalidObject { what, reason } => write!(f, "{what}: {reason}"),
            ControlError::InvalidGroup { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for ControlError {}
