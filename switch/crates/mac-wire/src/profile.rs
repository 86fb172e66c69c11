// SPDX-License-Identifier: Apache-2.0
//! The profile of a channel: all of its numbers.

use crate::clock::{Clock, Minislot};
use crate::map::{Backoff, Map};
use crate::phy::Phy;

/// How a request is made and what may be outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// Minislots for one burst, one request outstanding per SID (DOCSIS 1.x, 2.0).
    OneBurst,
    /// Bytes beyond those asked for, several outstanding (DOCSIS 3.0 and later).
    QueueDepth,
}

/// What fills a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// One frame, or a fragment of it where fragmentation is on.
    Single,
    /// As many whole frames as were asked for, behind a concatenation header.
    Concatenated,
    /// A stream of bytes cut to fit, a segment header in each grant.
    Continuous,
}

/// How long things take, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From when the scheduler makes a MAP to the first minislot that it describes.
    pub map_ahead: u64,
    /// From when the scheduler makes a MAP to when it is at the modems.
    pub map_to_modem: u64,
    /// From when a MAP is at a modem to its start at the least: what modems need to process one.
    /// [`Profile::check`] sees to it; it does not delay anything.
    pub map_processing: u64,
    /// From the end of the minislot that carries a request to when the scheduler knows of it.
    pub request_heard: u64,
    /// From the end of the minislot that carries a frame's last byte to its delivery.
    pub delivery: u64,
    /// Before the start of a grant a modem fills it: what comes later waits for the next.
    pub burst_preparation: u64,
    /// Requests that were sent in minislots so long before a MAP's start have been dealt with: Ack
    /// Time is the MAP's start less this. [`Profile::ack`] computes it. The scheduler's lies further
    /// back where a request of several minislots would not have been heard to its end.
    pub ack_before_start: u64,
    /// From the end of the minislot that carries a burst's head to when the scheduler knows of
    /// the request in it. docsis-ns3 has it earlier than `request_heard` by the modem's
    /// preparation of a burst (mac.md, vector B).
    pub piggyback_heard: u64,
    /// The scheduler makes a MAP at the start of the MAP before it, as in paper 004. That is
    /// `map_ahead`, the usual length of a MAP, before its own start, and earlier where the
    /// MAP before it is stretched. [`Profile::map_made`] computes it.
    pub map_with_previous: bool,
}

/// The place of contention opportunities in a MAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentionPlace {
    /// In its first minislots; maintenance has the last.
    Head,
    /// Side by side in one frame of it, which the scheduler draws (docsis-ns3).
    RandomFrame,
}

/// The place of those grants in a MAP that may be anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantPlace {
    /// From the first free minislot on.
    Packed,
    /// From a minislot on that the scheduler draws, of those where they fit (docsis-ns3,
    /// `cablelabs-2014`).
    Random,
}

/// What other users leave of a channel: for each MAP the scheduler draws, uniformly, how many of
/// its minislots it may grant. The mean may change while a channel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Mean, bit/s.
    pub rate: u64,
    /// How far a MAP's draw may lie from the mean, percent of it.
    pub variation_percent: u8,
}

/// An upstream channel's numbers, which its scheduler and its modems share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// As topology files name it.
    pub name: String,
    /// When minislots are.
    pub clock: Clock,
    /// How many of them a burst takes.
    pub phy: Phy,
    /// Minislots that a MAP describes.
    pub map_minislots: u32,
    /// Whether a MAP describes more where a grant does not fit.
    pub stretch: bool,
    /// The least number of minislots for contention in each MAP.
    pub contention_minislots: u32,
    /// Minislots for maintenance in each MAP.
    pub maintenance_minislots: u32,
    /// Minislots that one request takes.
    pub request_minislots: u32,
    /// Where a MAP's contention opportunities lie.
    pub contention_place: ContentionPlace,
    /// Whether what is left of a MAP is contention too, beside `contention_minislots`.
    pub extra_contention: bool,
    /// Whether requests in the same minislots destroy each other; if not, all are heard.
    pub collisions: bool,
    /// Where grants lie.
    pub grant_place: GrantPlace,
    /// What other users leave of it; `None`: they leave all.
    pub capacity: Option<Capacity>,
    /// Windows for requests.
    pub backoff: Backoff,
    /// A request is made so often, then its frame is dropped.
    pub tries: u8,
    /// How requests are made.
    pub asking: Asking,
    /// What fills a burst.
    pub packing: Packing,
    /// Frames that a concatenation has at the most, up to the 255 that its header counts.
    pub concatenated_frames: u8,
    /// Whether frames may be cut where packing does not do so anyway.
    pub fragmentation: bool,
    /// Whether a burst may carry a request.
    pub piggyback: bool,
    /// A flow with proactive grants that leaves so many grants in a row empty has none until it asks
    /// again (activity detection, \[?\]); 0, as in docsis-ns3, lets them come for ever. A flow that
    /// has no other way to ask, or whose configuration says so, keeps them.
    pub idle_proactive_grants: u16,
    /// Bytes of MAC header of each frame upstream, extended headers included.
    pub header: u32,
    /// Bytes of a grant that its segment header takes where packing is continuous: 8, or 0 where it
    /// is not counted, as in docsis-ns3.
    pub segment_header: u32,
    /// How long things take.
    pub timing: Timing,
}

impl Profile {
    /// When the scheduler makes the MAP that starts at `start`, nanoseconds; the MAP before it
    /// starts at `previous`. What is heard at that moment counts as heard.
    #[must_use]
    pub fn map_made(&self, previous: Minislot, start: Minislot) -> u64 {
        if self.timing.map_with_previous {
            self.clock.start(previous)
        } else {
            self.clock
                .start(start)
                .saturating_sub(self.timing.map_ahead)
        }
    }

    /// The Ack Time of the MAP that starts at `start`; the MAP before it starts at `previous`.
    #[must_use]
    pub fn ack(&self, previous: Minislot, start: Minislot) -> Minislot {
        let usual_start = if self.timing.map_with_previous {
            self.clock
                .start(previous)
                .saturating_add(self.timing.map_ahead)
        } else {
            self.clock.start(start)
        };
        self.clock
            .at_or_before(usual_start.saturating_sub(self.timing.ack_before_start))
    }
}

impl Profile {
    /// The usual length of a MAP, nanoseconds.
    #[must_use]
    pub fn map_length(&self) -> u64 {
        self.clock.start(Minislot(self.map_minislots.into()))
    }

    /// Contention opportunities that each MAP has at the least.
    #[must_use]
    pub fn contention_opportunities(&self) -> u32 {
        self.contention_minislots / self.request_minislots.max(1)
    }

    /// Minislots of a MAP of usual length that are neither contention's nor maintenance's.
    #[must_use]
    pub fn data_minislots(&self) -> u32 {
        self.map_minislots
            .saturating_sub(self.contention_minislots)
            .saturating_sub(self.maintenance_minislots)
    }

    /// Minislots of the longest grant: those of a MAP of usual length, or of the longest MAP where
    /// MAPs are stretched.
    #[must_use]
    pub fn longest_grant(&self) -> u32 {
        let map = if self.stretch {
            Map::MAX_MINISLOTS
        } else {
            self.map_minislots
        };
        map.saturating_sub(self.contention_minislots)
            .saturating_sub(self.maintenance_minislots)
    }
}
