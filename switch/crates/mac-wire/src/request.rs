// SPDX-License-Identifier: Apache-2.0
//! What a modem asks for.

use crate::flow::Sid;

/// How much a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Minislots of one burst, with all that the PHY adds (DOCSIS 1.x and 2.0).
    Minislots(u32),
    /// MAC bytes beyond those that were asked for before (DOCSIS 3.0 and later).
    Bytes(u64),
}

/// A request, in a contention slot, in a poll or in the head of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// Who asks.
    pub sid: Sid,
    /// How much.
    pub amount: Amount,
}
