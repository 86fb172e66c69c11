// SPDX-License-Identifier: Apache-2.0
//! Queue managers that `bench pipeline` and `sample` provision a modem with.

use clap::ValueEnum;

/// Who decides early drops, and how a service flow's queue is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueueManager {
    /// Nobody.
    DropTail,
    /// DOCSIS-PIE, with a probability that drops now and then.
    DocsisPie,
    /// PIE of RFC 8033, with such a probability.
    Pie,
    /// Adaptive RED, with an average queue between its thresholds.
    AdaptiveRed,
    /// CoDel, on queues that stand below its target.
    Codel,
    /// The same at the tail, of a predicted delay.
    CodelDt,
    /// CoDel of 002, on queues that stand below its target.
    #[value(name = "codel-002")]
    Codel002,
    /// PIE of 002, with a probability that drops now and then.
    #[value(name = "pie-002")]
    Pie002,
    /// Latency-based RED, on queues that stand in its lower half.
    Lred,
    /// 256 sub-queues, hashed, and nobody.
    Sfq,
    /// 64 groups of 4 sub-queues, searched, and nobody.
    SfqSearch,
    /// 32 sub-queues, each with CoDel.
    SfqCodel,
    /// 32 sub-queues, with PIE scaled by their depth.
    SfqPie,
}

/// The sub-queues of a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowQueues {
    /// How many; a multiple of 4 where they are searched.
    pub queues: u32,
    /// In groups of 4, by serial search.
    pub searched: bool,
}

impl QueueManager {
    /// As p4src/include/queue_managers.p4 numbers it.
    pub const fn number(self) -> u128 {
        match self {
            Self::DropTail | Self::Sfq | Self::SfqSearch => 0,
            Self::DocsisPie => 1,
            Self::Codel | Self::SfqCodel => 2,
            Self::Pie | Self::SfqPie => 3,
            Self::AdaptiveRed => 4,
            Self::CodelDt => 5,
            Self::Lred => 6,
            Self::Codel002 => 7,
            Self::Pie002 => 8,
        }
    }

    /// Its flow queues.
    pub const fn flow_queues(self) -> Option<FlowQueues> {
        let (queues, searched) = match self {
            Self::Sfq => (256, false),
            Self::SfqSearch => (256, true),
            Self::SfqCodel | Self::SfqPie => (32, false),
            _ => return None,
        };
        Some(FlowQueues { queues, searched })
    }
}
