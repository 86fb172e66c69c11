// SPDX-License-Identifier: Apache-2.0
//! The elements of an extended header (mac.md, "What a request asks for", and Wireshark's DOCSIS
//! dissector).

use crate::flow::Sid;

/// One element of an extended header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extended {
    /// Type 1: a request.
    Request {
        /// Minislots.
        minislots: u8,
        /// Who asks; 16 bits on the wire, of which 14 are used.
        sid: Sid,
    },
    /// Type 3: upstream privacy, with a request and, in a fragment's header, the fragment.
    Privacy {
        /// The keys.
        key: Key,
        /// Whose frame it is.
        sid: Sid,
        /// Minislots asked for; 0 is no request.
        minislots: u8,
        /// Which fragment it is.
        fragment: Option<FragmentControl>,
    },
    /// Type 6: the upstream service flow, which an unsolicited grant carries.
    ServiceFlow {
        /// Payload header suppression index; 0 is none.
        suppression: u8,
        /// What it tells the scheduler of unsolicited grants.
        unsolicited: Option<UnsolicitedSync>,
    },
    /// Type 7: upstream privacy of a modem with several channels, without a request.
    PrivacyMultiChannel {
        /// The keys.
        key: Key,
        /// Whose frame it is.
        sid: Sid,
    },
    /// Any other, with its value of at most 15 bytes.
    Other {
        /// Its type, 4 bits.
        kind: u8,
        /// Its value.
        value: Vec<u8>,
    },
}

/// What a privacy element says of the keys. Nothing here encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Key {
    /// Key sequence number, 4 bits.
    pub sequence: u8,
    /// Version, 4 bits.
    pub version: u8,
    /// Whether the frame is encrypted.
    pub encrypted: bool,
    /// Whether it is the odd key.
    pub toggle: bool,
}

/// Which fragment of a frame it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentControl {
    /// The first.
    pub first: bool,
    /// The last.
    pub last: bool,
    /// Its number, modulo 16.
    pub sequence: u8,
}

/// What a modem says in an unsolicited grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsolicitedSync {
    /// The Queue Indicator: its queue has outgrown the grants.
    pub queue_indicator: bool,
    /// Grants per interval that it can use, 7 bits; 0 leaves it to the scheduler.
    pub active_grants: u8,
}

impl Extended {
    /// Most bytes of an extended header, which MAC_PARM counts (RFI, \[?\]).
    pub const MAX_TOTAL: usize = 240;
}
