// SPDX-License-Identifier: Apache-2.0
//! Orders the events of a channel, so that the next one is known.

/// What may be due, in the order in which it goes at the same time: what is heard at the moment at
/// which a MAP is made counts for it, and a frame that becomes eligible when a minislot begins can
/// be asked for in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// An opportunity in which somebody asked ends.
    AskingEnds,
    /// The scheduler hears something.
    Hear,
    /// The scheduler makes a MAP.
    MakeMap,
    /// A MAP is at the modems.
    ReadMap,
    /// A frame has arrived.
    Deliver,
    /// Rate shaping lets a station ask for more.
    Alarm,
    /// A grant is prepared.
    Fill,
    /// A poll begins.
    Poll,
    /// An opportunity begins at which somebody deferred to.
    Contend,
}

/// The earliest of several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Next(pub u64, pub Due);

impl Next {
    /// This or that; to be called in the order of [`Due`].
    pub fn or(self, at: Option<u64>, due: Due) -> Self {
        match at {
            Some(at) if at < self.0 => Self(at, due),
            _ => self,
        }
    }
}
