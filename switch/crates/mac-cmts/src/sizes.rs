// SPDX-License-Identifier: Apache-2.0
//! Computes how many bytes a grant carries on this channel.

use mac_wire::{FRAGMENT_OVERHEAD, Packing, Phy, Profile, Usage};

use crate::parameters::Parameters;

/// What a request may be granted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cutting {
    /// One grant for all of it.
    Whole,
    /// Parts, each a fragment.
    Fragments,
    /// Parts of a stream of bytes, each behind a segment header.
    Stream,
}

/// The channel's sizes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    phy: Phy,
    pub(crate) cutting: Cutting,
    /// Bytes of a part's own header.
    pub(crate) part_header: u64,
    /// Bytes of the segment header in front of any grant's data; 0 where there is none.
    pub(crate) segment_header: u64,
    /// Fewest minislots of a part.
    pub(crate) least_part: u32,
}

impl Sizes {
    pub(crate) fn new(profile: &Profile, parameters: &Parameters) -> Self {
        let cutting = match profile.packing {
            Packing::Continuous => Cutting::Stream,
            _ if profile.fragmentation => Cutting::Fragments,
            _ => Cutting::Whole,
        };
        let segment_header = match cutting {
            Cutting::Stream => profile.segment_header.into(),
            _ => 0,
        };
        let part_header = match cutting {
            Cutting::Whole => 0,
            Cutting::Fragments => FRAGMENT_OVERHEAD as u64,
            Cutting::Stream => segment_header,
        };
        Self {
            phy: profile.phy,
            cutting,
            part_header,
            segment_header,
            least_part: profile
                .phy
                .minislots(part_header.saturating_add(parameters.least_part))
                .max(1),
        }
    }

    /// Minislots of a grant of `bytes` MAC bytes.
    pub(crate) fn minislots(&self, bytes: u64) -> u32 {
        self.phy.minislots(bytes)
    }

    /// MAC bytes that a grant of `minislots` carries.
    pub(crate) fn bytes(&self, minislots: u32) -> u64 {
        self.phy.bytes(minislots)
    }

    /// Bytes of the stream or of the fragmented burst that a grant of `minislots` carries.
    pub(crate) fn part(&self, minislots: u32) -> u64 {
        self.phy.bytes(minislots).saturating_sub(self.part_header)
    }

    /// Bits that a minislot carries, overhead included.
    pub(crate) fn minislot_bits(&self) -> u64 {
        let bits = match self.phy {
            Phy::ScQam { minislot_bits, .. } => u64::from(minislot_bits),
            Phy::Flat { minislot_bytes, .. } | Phy::Ofdma { minislot_bytes } => {
                8 * u64::from(minislot_bytes)
            }
        };
        bits.max(1)
    }

    /// The Interval Usage Code of a grant: bursts of DOCSIS 1.x are long ones, as are those of an
    /// advanced PHY beside unsolicited ones; OFDMA has one data profile.
    pub(crate) fn usage(&self, unsolicited: bool) -> Usage {
        match (self.phy, unsolicited) {
            (Phy::Flat { .. }, _) => Usage::LongData,
            (Phy::ScQam { .. }, false) => Usage::Long,
            (Phy::ScQam { .. }, true) => Usage::Unsolicited,
            (Phy::Ofdma { .. }, _) => Usage::Ofdma,
        }
    }
}
