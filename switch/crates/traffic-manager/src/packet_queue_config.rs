// SPDX-License-Identifier: Apache-2.0
//! Configuration and state of the queues that BMv2's traffic manager has.

use crate::error::ConfigError;
use crate::queue_id::QueueId;
use crate::traffic::Traffic;

/// Most packets that a queue may be given room for.
pub const MAX_DEPTH: u32 = 1 << 20;
/// Highest rate of a queue, packets/s: one a nanosecond.
pub const MAX_PACKET_RATE: u64 = 1_000_000_000;

/// Most queues that the changes of one request may name, each counted as often as it is named:
/// packets wait until all are changed. 512 ports have 16,384 queues at most.
pub const MAX_CHANGED: usize = 1 << 16;

/// A queue's configuration; `queue_id` is its priority, 0 is lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketQueueConfig {
    /// Port and priority.
    pub queue: QueueId,
    /// Packets that it holds.
    pub depth: u32,
    /// packets/s; 0 is no limit.
    pub rate: u64,
}

/// A change to one queue, to a port's, to a priority's or to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketQueueChange {
    /// Whose queues; `None` is every port's.
    pub port: Option<u16>,
    /// Which; `None` is every priority.
    pub priority: Option<u8>,
    /// Packets; `None` stays as it is.
    pub depth: Option<u32>,
    /// packets/s, 0 is no limit; `None` stays as it is.
    pub rate: Option<u64>,
}

impl PacketQueueChange {
    /// How it is called in words.
    fn place(&self) -> String {
        match (self.port, self.priority) {
            (None, None) => "all queues".to_owned(),
            (None, Some(priority)) => format!("priority {priority} of all ports"),
            (Some(port), None) => format!("port {port}"),
            (Some(port), Some(priority)) => format!("port {port} priority {priority}"),
        }
    }

    /// How many queues it names, where so many ports have queues and each has `priorities` of them.
    pub(crate) fn named(&self, ports: usize, priorities: u8) -> usize {
        let ports = self.port.map_or(ports, |_| 1);
        ports * self.priority.map_or(priorities.into(), |_| 1)
    }

    /// Checks ranges, for ports with `priorities` of queues.
    ///
    /// # Errors
    /// The first value out of range; a change that changes nothing.
    pub fn check(&self, priorities: u8) -> Result<(), ConfigError> {
        // A request may have very many that are right: words are only made for one that is not.
        let invalid = |what: String| Err(ConfigError::invalid(self.place(), what));
        if self.priority.is_some_and(|p| p >= priorities) {
            return invalid(format!(
                "priority: ports have {priorities}, from 0; see --priority-queues"
            ));
        }
        if let Some(depth) = self.depth.filter(|&depth| depth > MAX_DEPTH) {
            return invalid(format!("depth is {depth} packets, more than {MAX_DEPTH}"));
        }
        if let Some(rate) = self.rate.filter(|&rate| rate > MAX_PACKET_RATE) {
            return invalid(format!(
                "rate is {rate} packets/s, more than {MAX_PACKET_RATE}"
            ));
        }
        if (self.depth, self.rate) == (None, None) {
            return invalid("nothing is to change: give depth or rate".to_owned());
        }
        Ok(())
    }
}

/// A queue's configuration, counters and state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketQueueState {
    /// As configured.
    pub config: PacketQueueConfig,
    /// Accepted into the queue.
    pub enqueued: Traffic,
    /// Left the queue to the port.
    pub dequeued: Traffic,
    /// Dropped: the queue was full.
    pub overflow: Traffic,
    /// Dequeued and then dropped by the egress pipeline.
    pub egress_dropped: Traffic,
    /// Removed by a new pipeline.
    pub flushed: Traffic,
    /// In the queue now.
    pub queued: Traffic,
}
