// SPDX-License-Identifier: Apache-2.0
//! A frame that waits.

/// A frame in a queue.
#[derive(Debug)]
pub struct Frame<T> {
    /// Its length when it was queued: what is counted.
    pub len: u32,
    /// The tokens that it needs in bytes: its length, until egress has made it
    /// another.
    pub needs: u32,
    pub item: T,
}
