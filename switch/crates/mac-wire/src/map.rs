// SPDX-License-Identifier: Apache-2.0
//! The MAP: who may use which minislots.

use crate::clock::Minislot;
use crate::flow::Sid;

/// What minislots may be used for: the Interval Usage Codes that schedulers here give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Usage {
    /// IUC 1: requests; to [`Sid::ALL`] in contention, to one SID a poll.
    Request,
    /// IUC 3.
    InitialMaintenance,
    /// IUC 4.
    StationMaintenance,
    /// IUC 5: a burst of DOCSIS 1.x, short.
    ShortData,
    /// IUC 6: a burst of DOCSIS 1.x, long.
    LongData,
    /// IUC 9: a burst of an advanced PHY, short.
    Short,
    /// IUC 10: a burst of an advanced PHY, long.
    Long,
    /// IUC 11: an unsolicited grant.
    Unsolicited,
    /// IUC 12: a burst with OFDMA data profile.
    Ofdma,
}

impl Usage {
    const ALL: [Self; 9] = [
        Self::Request,
        Self::InitialMaintenance,
        Self::StationMaintenance,
        Self::ShortData,
        Self::LongData,
        Self::Short,
        Self::Long,
        Self::Unsolicited,
        Self::Ofdma,
    ];

    /// Whether a modem sends data in it.
    #[must_use]
    pub fn is_data(self) -> bool {
        matches!(
            self,
            Self::ShortData
                | Self::LongData
                | Self::Short
                | Self::Long
                | Self::Unsolicited
                | Self::Ofdma
        )
    }

    /// Its Interval Usage Code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Request => 1,
            Self::InitialMaintenance => 3,
            Self::StationMaintenance => 4,
            Self::ShortData => 5,
            Self::LongData => 6,
            Self::Short => 9,
            Self::Long => 10,
            Self::Unsolicited => 11,
            Self::Ofdma => 12,
        }
    }

    /// The usage of a code; `None` for those that schedulers here do not give.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|usage| usage.code() == code)
    }
}

/// Minislots of one usage, of one SID or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Element {
    /// Whose they are; [`Sid::ALL`] is everybody's.
    pub sid: Sid,
    /// What for.
    pub usage: Usage,
    /// The first of them.
    pub first: Minislot,
    /// How many, at least 1.
    pub minislots: u32,
}

impl Element {
    /// The first minislot behind it.
    #[must_use]
    pub fn end(&self) -> Minislot {
        Minislot(self.first.0.saturating_add(self.minislots.into()))
    }
}

/// Exponents of the least and the greatest backoff window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backoff {
    /// The first window is 2 to this power.
    pub start: u8,
    /// No window is greater than 2 to this power.
    pub end: u8,
}

impl Backoff {
    /// The greatest exponent; a window then has 32768 opportunities.
    pub const MAX_EXPONENT: u8 = 15;
}

/// One MAP. Successive MAPs of a channel tile time: each starts where the one before ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Map {
    /// The upstream channel's number.
    pub channel: u8,
    /// The count of the channel descriptor that the MAP refers to.
    pub ucd_count: u8,
    /// The first minislot that it describes.
    pub start: Minislot,
    /// The first minislot that it does not describe.
    pub end: Minislot,
    /// Every request that arrived before this minislot has been dealt with.
    pub ack: Minislot,
    /// For ranging.
    pub ranging: Backoff,
    /// For requests.
    pub data: Backoff,
    /// In order of their first minislot; without overlap. Minislots between them are nobody's.
    pub elements: Vec<Element>,
    /// Requests of these were heard, and are not granted yet.
    pub pending: Vec<Sid>,
}

impl Map {
    /// Most information elements of a MAP (mac.md, "Minislots and MAP", \[?\]).
    pub const MAX_INFORMATION_ELEMENTS: usize = 240;
    /// Most minislots of a MAP (mac.md, "Minislots and MAP", \[?\]).
    pub const MAX_MINISLOTS: u32 = 4096;
}
