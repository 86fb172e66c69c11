// SPDX-License-Identifier: Apache-2.0
//! Names of queues.

use std::fmt;

/// A queue of a port; `queue_id` 0 is the port's own, unshaped queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct QueueId {
    /// Port number.
    pub port: u16,
    /// The pipeline's metadata field `queue_id`.
    pub queue_id: u32,
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} queue {}", self.port, self.queue_id)
    }
}
