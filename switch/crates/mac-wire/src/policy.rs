// SPDX-License-Identifier: Apache-2.0
//! The request/transmission policy, TLV 24.16 (mac.md, "Scheduling services").

/// The request/transmission policy, TLV 24.16: a bit that is set forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy(pub u32);

impl Policy {
    /// Bit 0: requests in contention, in opportunities that all share.
    pub const BROADCAST_REQUESTS: u32 = 1 << 0;
    /// Bit 1: requests in the opportunities of a priority.
    pub const PRIORITY_REQUESTS: u32 = 1 << 1;
    /// Bit 2: requests in request/data regions.
    pub const REQUESTS_IN_REQUEST_DATA: u32 = 1 << 2;
    /// Bit 3: data in request/data regions.
    pub const DATA_IN_REQUEST_DATA: u32 = 1 << 3;
    /// Bit 4: requests in the head of a burst.
    pub const PIGGYBACK: u32 = 1 << 4;
    /// Bit 5: several frames in a burst.
    pub const CONCATENATION: u32 = 1 << 5;
    /// Bit 6: frames in parts.
    pub const FRAGMENTATION: u32 = 1 << 6;
    /// Bit 7: payload header suppression.
    pub const SUPPRESSION: u32 = 1 << 7;
    /// Bit 8: frames that exceed an unsolicited grant; they are dropped.
    pub const OVERSIZED: u32 = 1 << 8;

    /// Everything is allowed: usual of best effort, nrtPS and PGS (\[?\]).
    pub const USUAL: Self = Self(0);
    /// Usual of UGS and UGS-AD (\[?\]): neither requests nor parts, and nothing that is too long.
    pub const USUAL_UNSOLICITED: Self = Self(0x17f);
    /// Usual of rtPS (\[?\]): requests in polls only.
    pub const USUAL_REAL_TIME_POLLING: Self = Self(0x1f);

    /// Whether it may request in contention.
    #[must_use]
    pub fn allows_broadcast_requests(self) -> bool {
        self.allows(Self::BROADCAST_REQUESTS)
    }

    /// Whether it may request in the opportunities of a priority.
    #[must_use]
    pub fn allows_priority_requests(self) -> bool {
        self.allows(Self::PRIORITY_REQUESTS)
    }

    /// Whether it may request in request/data regions.
    #[must_use]
    pub fn allows_requests_in_request_data(self) -> bool {
        self.allows(Self::REQUESTS_IN_REQUEST_DATA)
    }

    /// Whether it may send data in request/data regions.
    #[must_use]
    pub fn allows_data_in_request_data(self) -> bool {
        self.allows(Self::DATA_IN_REQUEST_DATA)
    }

    /// Whether its bursts may carry requests.
    #[must_use]
    pub fn allows_piggyback(self) -> bool {
        self.allows(Self::PIGGYBACK)
    }

    /// Whether a burst may carry several of its frames.
    #[must_use]
    pub fn allows_concatenation(self) -> bool {
        self.allows(Self::CONCATENATION)
    }

    /// Whether its frames may be cut.
    #[must_use]
    pub fn allows_fragmentation(self) -> bool {
        self.allows(Self::FRAGMENTATION)
    }

    /// Whether its headers may be suppressed.
    #[must_use]
    pub fn allows_suppression(self) -> bool {
        self.allows(Self::SUPPRESSION)
    }

    /// Whether frames that exceed an unsolicited grant are dropped.
    #[must_use]
    pub fn drops_oversized(self) -> bool {
        !self.allows(Self::OVERSIZED)
    }

    fn allows(self, bit: u32) -> bool {
        self.0 & bit == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_policies_are_those_of_mac_md() {
        let unsolicited = Policy::USUAL_UNSOLICITED;
        assert!(!unsolicited.allows_broadcast_requests());
        assert!(!unsolicited.allows_piggyback());
        assert!(!unsolicited.allows_fragmentation());
        assert!(unsolicited.allows_suppression());
        assert!(unsolicited.drops_oversized());
        let polled = Policy::USUAL_REAL_TIME_POLLING;
        assert!(!polled.allows_broadcast_requests());
        assert!(!polled.allows_piggyback());
        assert!(polled.allows_concatenation());
        assert!(!polled.drops_oversized());
        assert!(Policy::USUAL.allows_broadcast_requests());
    }
}
