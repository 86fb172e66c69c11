// SPDX-License-Identifier: Apache-2.0
//! Digests on their way to the controller: collected in lists, sent when a list
//! is full or old enough, and suppressed while the same was sent and not yet
//! acknowledged (P4Runtime 1.5, section 9.6).

use v1model::DigestId;

/// When the lists of a digest are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DigestConfig {
    /// Longest time that a digest waits in its list, nanoseconds; 0: it does not.
    pub max_timeout_ns: u64,
    /// Digests in a list; 0: no limit but the device's.
    pub max_list_size: u32,
    /// For how long a digest that was sent suppresses others like it when it is
    /// not acknowledged, nanoseconds; 0: not at all.
    pub ack_timeout_ns: u64,
}

/// Digests that go to the controller together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestList {
    /// Which digest of the program.
    pub digest: DigestId,
    /// Number of the list; the device counts them for each digest.
    pub list_id: u64,
    /// When the list was sent, nanoseconds of the device's clock.
    pub timestamp_ns: u64,
    /// The digests' fields, in P4 order.
    pub samples: Vec<Vec<u128>>,
}
