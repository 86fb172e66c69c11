// SPDX-License-Identifier: Apache-2.0
//! The rules of a station that follow from its channel's profile and its service flow.

use mac_wire::{Amount, Asking, FlowConfig, Minislot, Packing, Phy, Profile, Service, Sid};

/// Bytes of a concatenation header.
pub(crate) const CONCATENATION: u64 = 6;

/// Unsolicited grants of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsolicited {
    /// How many there are in an interval.
    pub per_interval: u8,
    /// MAC bytes of the longest frame that one of them carries.
    pub room: u64,
}

/// A station's rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub sid: Sid,
    pub phy: Phy,
    pub asking: Asking,
    pub packing: Packing,
    /// Bytes of MAC header of each frame.
    pub header: u32,
    /// Bytes of each grant that its segment header takes.
    pub segment_header: u64,
    pub tries: u8,
    /// Whether it may ask in contention.
    pub contention: bool,
    /// Whether it may ask at all.
    pub asks: bool,
    pub piggyback: bool,
    /// Whether it waits for a grant of a later MAP before it asks for more. Where requests can collide it
    /// does; else it asks in every MAP, at its head if it has no grant there.
    pub waits_for_grants: bool,
    /// Whether grants come that nobody asked for, beside those that were asked for.
    pub proactive: bool,
    pub fragmentation: bool,
    /// Its grants where they come without asking and have one size: every frame goes whole, in one
    /// of them.
    pub unsolicited: Option<Unsolicited>,
    /// Most minislots of a request for one burst: its 8 bits, and what the channel can grant at once
    /// where frames go whole.
    pub most_minislots: u32,
    /// Most frames of a concatenation.
    pub most_concatenated: u64,
    /// Longest concatenated burst, bytes; `u64::MAX` is no limit.
    pub longest_concatenation: u64,
    /// Eighths of the contention window.
    pub eighths: u8,
    /// Bytes that a queue-depth request counts in.
    pub unit: u8,
}

impl Rules {
    pub fn new(profile: &Profile, flow: &FlowConfig) -> Self {
        let continuous = profile.packing == Packing::Continuous;
        let segment_header = if continuous {
            profile.segment_header
        } else {
            0
        };
        let segment_header = u64::from(segment_header);
        let grants = |size: u32, per_interval| {
            let minislots = profile.phy.minislots(u64::from(size) + segment_header);
            let room = profile.phy.bytes(minislots).saturating_sub(segment_header);
            Some(Unsolicited { per_interval, room })
        };
        let (shares, asks, unsolicited) = match flow.service {
            Service::BestEffort | Service::NonRealTimePolling(_) | Service::Proactive { .. } => {
                (true, true, None)
            }
            Service::RealTimePolling(_) => (false, true, None),
            Service::UnsolicitedWithActivity {
                size, per_interval, ..
            } => (false, true, grants(size, per_interval)),
            Service::Unsolicited {
                size, per_interval, ..
            } => (false, false, grants(size, per_interval)),
        };
        let packing = match profile.packing {
            Packing::Concatenated
                if unsolicited.is_some() || !flow.policy.allows_concatenation() =>
            {
                Packing::Single
            }
            packing => packing,
        };
        let fragmentation =
            unsolicited.is_none() && profile.fragmentation && flow.policy.allows_fragmentation();
        Self {
            sid: flow.sid,
            phy: profile.phy,
            asking: profile.asking,
            packing,
            header: profile.header,
            segment_header,
            tries: profile.tries,
            contention: shares && flow.policy.allows_broadcast_requests(),
            asks,
            waits_for_grants: profile.collisions || profile.asking == Asking::OneBurst,
            piggyback: asks && profile.piggyback && flow.policy.allows_piggyback(),
            proactive: matches!(flow.service, Service::Proactive { .. }),
            fragmentation,
            unsolicited,
            most_minislots: if fragmentation {
                Amount::MOST_MINISLOTS
            } else {
                Amount::MOST_MINISLOTS.min(profile.longest_grant())
            },
            most_concatenated: profile.concatenated_frames.into(),
            longest_concatenation: match flow.max_concatenated_burst {
                0 => u64::MAX,
                bytes => bytes.into(),
            },
            eighths: flow.backoff_eighths,
            unit: flow.request_unit,
        }
    }

    /// Bytes of a grant of so many minislots that MAC frames or their parts may take.
    pub fn capacity(&self, minislots: u32) -> u64 {
        self.phy
            .bytes(minislots)
            .saturating_sub(self.segment_header)
    }

    /// MAC bytes of a frame.
    pub fn mac_bytes(&self, length: u32) -> u64 {
        u64::from(length) + u64::from(self.header)
    }

    /// The minislot in which a byte of a burst is sent, counted from 1, of the burst's MAC bytes.
    pub fn minislot_of(&self, first: Minislot, minislots: u32, byte: u64) -> Minislot {
        let taken = self.phy.minislots(byte).clamp(1, minislots.max(1));
        Minislot(first.0.saturating_add(u64::from(taken) - 1))
    }
}
