// SPDX-License-Identifier: Apache-2.0
//! An upstream service flow as the MAC sees it: TLV 24 of a configuration file.

use std::mem::discriminant;

use crate::policy::Policy;

/// A service flow's number on a channel: 14 bits, not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sid(pub u16);

impl Sid {
    /// Every modem's.
    pub const ALL: Self = Self(0x3fff);
    /// The last that a service flow can have: those above are of groups of modems (RFI, \[?\]).
    pub const LAST_UNICAST: Self = Self(0x3dff);

    /// Whether it is on the wire the number of one flow or group: neither nobody's nor all's.
    #[must_use]
    pub fn is_one(self) -> bool {
        (1..Self::ALL.0).contains(&self.0)
    }
}

/// Grants or polls that come by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periodic {
    /// Between two of them, nanoseconds (TLV 24.17 or .20).
    pub interval: u64,
    /// How much later than that one may come, nanoseconds (TLV 24.18 or .21).
    pub jitter: u64,
}

/// The service flow scheduling type, TLV 24.15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// 2: contention and piggybacked requests.
    BestEffort,
    /// 3: polls about every second, and contention.
    NonRealTimePolling(Periodic),
    /// 4: polls, no contention.
    RealTimePolling(Periodic),
    /// 5: as 6 while active, polls while not.
    UnsolicitedWithActivity {
        /// When grants come.
        grants: Periodic,
        /// MAC bytes of each, from FC on (TLV 24.19).
        size: u32,
        /// In each interval (TLV 24.22).
        per_interval: u8,
        /// When polls come while it is not active.
        polls: Periodic,
    },
    /// 6: grants that nobody asks for.
    Unsolicited {
        /// When they come.
        grants: Periodic,
        /// MAC bytes of each, from FC on (TLV 24.19).
        size: u32,
        /// In each interval (TLV 24.22).
        per_interval: u8,
    },
    /// 7, proactive grants: in every interval at least rate * interval, beside contention.
    Proactive {
        /// Guaranteed Grant Interval, nanoseconds (TLV 24.44); 0 is one MAP.
        interval: u64,
        /// Guaranteed Grant Rate, bit/s (TLV 24.45).
        rate: u64,
        /// Guaranteed Request Interval, nanoseconds (TLV 24.46): a poll comes somewhere in each
        /// (\[?\]); 0: none.
        request_interval: u64,
        /// Whether the channel may take grants from the flow while it is idle: activity detection,
        /// which TLV 24.49 disables.
        activity_detection: bool,
    },
}

/// What scheduler and modem are both told of a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowConfig {
    /// Its number.
    pub sid: Sid,
    /// How it comes to grants.
    pub service: Service,
    /// What it must not do.
    pub policy: Policy,
    /// 0 to 7, 7 first.
    pub priority: u8,
    /// Maximum Sustained Traffic Rate, bit/s; 0 is no limit.
    pub max_sustained_rate: u64,
    /// Maximum Traffic Burst, bytes.
    pub max_burst: u64,
    /// Peak Traffic Rate, bit/s; 0 is no limit.
    pub peak_rate: u64,
    /// Minimum Reserved Traffic Rate, bit/s; 0 is none.
    pub min_reserved_rate: u64,
    /// Bytes that a shorter frame counts for in the minimum reserved rate.
    pub assumed_packet_size: u32,
    /// Longest concatenated burst, bytes (TLV 24.14); 0 is no limit.
    pub max_concatenated_burst: u32,
    /// The multiplier of the contention window, in eighths (TLV 24.25).
    pub backoff_eighths: u8,
    /// Bytes that a queue-depth request counts in (TLV 24.26), 1 to 16.
    pub request_unit: u8,
}

impl Service {
    /// Polls beside proactive grants, if the flow has them: each anywhere in its interval.
    #[must_use]
    pub fn guaranteed_polls(&self) -> Option<Periodic> {
        match *self {
            Self::Proactive {
                request_interval, ..
            } if request_interval > 0 => Some(Periodic {
                interval: request_interval,
                jitter: request_interval,
            }),
            _ => None,
        }
    }
}

impl FlowConfig {
    /// A best-effort flow without limits.
    #[must_use]
    pub fn best_effort(sid: Sid) -> Self {
        Self {
            sid,
            service: Service::BestEffort,
            policy: Policy::USUAL,
            priority: 0,
            max_sustained_rate: 0,
            // The default of TLV 24.9.
            max_burst: 3044,
            peak_rate: 0,
            min_reserved_rate: 0,
            assumed_packet_size: 0,
            max_concatenated_burst: 0,
            // The defaults of TLV 24.25 and 24.26 ([?]).
            backoff_eighths: 8,
            request_unit: 4,
        }
    }

    /// Whether a flow that is known with this configuration goes on with another one, with what it
    /// asked for and sent in part. With another scheduling service or another policy it begins anew,
    /// at the modem and at the CMTS: were it only one of them, bytes would be granted twice or never.
    #[must_use]
    pub fn goes_on_with(&self, other: &Self) -> bool {
        discriminant(&self.service) == discriminant(&other.service) && self.policy == other.policy
    }
}
