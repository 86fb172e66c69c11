// SPDX-License-Identifier: Apache-2.0
//! Refuses profiles of channels that are impossible.

use crate::error::Refused;
use crate::map::{Backoff, Map};
use crate::phy::{LEAST_CODEWORD_DATA, Phy};
use crate::profile::{Asking, Capacity, ContentionPlace, Packing, Profile};
use crate::request::Amount;

/// Longest frame, picoseconds: 100 ms.
const MAX_FRAME_PS: u64 = 100_000_000_000;
/// Shortest MAP, nanoseconds: whoever makes MAPs has to keep up with them. Real ones take 1 to 10 ms,
/// and a MAP of one frame of docsis-ns3 takes 135 us.
const LEAST_MAP: u64 = 100_000;
/// Longest of a channel's times, nanoseconds.
const MAX_TIME: u64 = 1_000_000_000;
/// Most MAPs that are made before the first of them starts.
const MAX_MAPS_AHEAD: u64 = 64;
/// Most bytes or bits of a minislot, a preamble or a guard time.
const MAX_SIZE: u32 = 1 << 20;
/// Most bytes of a Reed-Solomon code word.
const MAX_CODEWORD: u32 = 255;
/// Highest rate, bit/s, as in the traffic manager.
const MAX_RATE: u64 = 1_000_000_000_000;
/// MAC headers: without and with the longest extended one (docsis-ns3).
const HEADERS: std::ops::RangeInclusive<u32> = 6..=246;
/// The longest Ethernet frame without a VLAN tag, with its CRC.
const LONGEST_FRAME: u64 = 1518;

impl Profile {
    /// Checks all of it.
    ///
    /// # Errors
    /// The first thing that cannot be, in one sentence that begins with its key: sizes of 0 and values
    /// beyond their bounds, more than 4096 minislots a MAP, contention that fills the MAP, a backoff
    /// start above the end, a MAP that is shorter than its lead time, an Ack Time that covers what
    /// nobody has heard yet, a longest frame that no grant can carry, a MAP that is too short to be made in time.
    pub fn check(&self) -> Result<(), Refused> {
        self.check_clock()?;
        self.check_phy()?;
        self.check_contention()?;
        self.check_backoff()?;
        self.check_timing()?;
        self.check_bursts()?;
        self.check_capacity()
    }

    fn check_clock(&self) -> Result<(), Refused> {
        let clock = self.clock;
        within("clock.per_frame", clock.per_frame, 1, Map::MAX_MINISLOTS)?;
        within("clock.frame_ps", clock.frame_ps, 1000, MAX_FRAME_PS)?;
        within("map_minislots", self.map_minislots, 1, Map::MAX_MINISLOTS)?;
        if self.map_minislots % clock.per_frame != 0 {
            return Err(Refused::new(
                "map_minislots",
                format!(
                    "is {}, which is not a whole number of frames of {}.",
                    self.map_minislots, clock.per_frame
                ),
            ));
        }
        let length = self.map_length();
        if length < LEAST_MAP {
            return Err(Refused::new(
                "map_minislots",
                format!(
                    "makes MAPs of {length} ns; a MAP has to take at least {LEAST_MAP} ns; make it \
                     longer."
                ),
            ));
        }
        Ok(())
    }

    fn check_phy(&self) -> Result<(), Refused> {
        match self.phy {
            Phy::Flat {
                minislot_bytes,
                overhead,
            } => {
                within("phy.minislot_bytes", minislot_bytes, 1, MAX_SIZE)?;
                within("phy.overhead", overhead, 0, MAX_SIZE)
            }
            Phy::Ofdma { minislot_bytes } => {
                within("phy.minislot_bytes", minislot_bytes, 1, MAX_SIZE)
            }
            Phy::ScQam {
                minislot_bits,
                preamble_bits,
                guard_bits,
                codeword_data,
                codeword_parity,
            } => {
                within("phy.minislot_bits", minislot_bits, 1, MAX_SIZE)?;
                within("phy.preamble_bits", preamble_bits, 0, MAX_SIZE)?;
                within("phy.guard_bits", guard_bits, 0, MAX_SIZE)?;
                within(
                    "phy.codeword_data",
                    codeword_data,
                    LEAST_CODEWORD_DATA,
                    MAX_CODEWORD,
                )?;
                within(
                    "phy.codeword_parity",
                    codeword_parity,
                    0,
                    MAX_CODEWORD - codeword_data,
                )
            }
        }
    }

    fn check_contention(&self) -> Result<(), Refused> {
        let contention = self.contention_minislots;
        within(
            "request_minislots",
            self.request_minislots,
            1,
            Map::MAX_MINISLOTS,
        )?;
        if contention > 0 && self.contention_opportunities() == 0 {
            return Err(Refused::new(
                "contention_minislots",
                format!(
                    "is {contention}, less than the {} of one request; lengthen it, or make it 0.",
                    self.request_minislots
                ),
            ));
        }
        if self.data_minislots() == 0 {
            return Err(Refused::new(
                "contention_minislots",
                format!(
                    "is {contention}, which with {} for maintenance fills a MAP of {}; leave minislots \
                     for data.",
                    self.maintenance_minislots, self.map_minislots
                ),
            ));
        }
        if self.contention_place == ContentionPlace::RandomFrame
            && contention > self.clock.per_frame
        {
            return Err(Refused::new(
                "contention_minislots",
                format!(
                    "is {contention}, more than the {} of the one frame that has them.",
                    self.clock.per_frame
                ),
            ));
        }
        Ok(())
    }

    fn check_backoff(&self) -> Result<(), Refused> {
        let Backoff { start, end } = self.backoff;
        within("backoff.end", end, 0, Backoff::MAX_EXPONENT)?;
        if start > end {
            return Err(Refused::new(
                "backoff.start",
                format!("is {start}, above backoff.end, {end}; the first window is the least."),
            ));
        }
        within("tries", self.tries, 1, u8::MAX)
    }

    fn check_timing(&self) -> Result<(), Refused> {
        let timing = &self.timing;
        for (key, time) in [
            ("timing.map_ahead", timing.map_ahead),
            ("timing.map_to_modem", timing.map_to_modem),
            ("timing.map_processing", timing.map_processing),
            ("timing.request_heard", timing.request_heard),
            ("timing.piggyback_heard", timing.piggyback_heard),
            ("timing.delivery", timing.delivery),
            ("timing.burst_preparation", timing.burst_preparation),
            ("timing.ack_before_start", timing.ack_before_start),
        ] {
            within(key, time, 0, MAX_TIME)?;
        }
        let length = self.map_length();
        if timing.map_with_previous && timing.map_ahead != length {
            return Err(Refused::new(
                "timing.map_ahead",
                format!(
                    "is {} ns; a MAP that is made when the one before begins is made a MAP's length, \
                     {length} ns, ahead.",
                    timing.map_ahead
                ),
            ));
        }
        let lead = timing.map_to_modem + timing.map_processing.max(timing.burst_preparation);
        if timing.map_ahead < lead {
            let (key, is) = if timing.map_with_previous {
                ("map_minislots", "makes MAPs that are")
            } else {
                ("timing.map_ahead", "has MAPs that are")
            };
            return Err(Refused::new(
                key,
                format!(
                    "{is} made {} ns before their start, and modems need {lead} ns \
                     (timing.map_to_modem, and map_processing or burst_preparation); make it longer.",
                    timing.map_ahead
                ),
            ));
        }
        if timing.map_ahead > MAX_MAPS_AHEAD * length {
            return Err(Refused::new(
                "timing.map_ahead",
                format!(
                    "is {} ns, more than {MAX_MAPS_AHEAD} MAPs of {length} ns; make it shorter.",
                    timing.map_ahead
                ),
            ));
        }
        let heard = timing.map_ahead + timing.request_heard.max(timing.piggyback_heard);
        if timing.ack_before_start < heard {
            return Err(Refused::new(
                "timing.ack_before_start",
                format!(
                    "is {} ns; it has to be at least {heard} ns (timing.map_ahead, and request_heard or \
                     piggyback_heard), or modems would take requests for lost that were not heard yet.",
                    timing.ack_before_start
                ),
            ));
        }
        Ok(())
    }

    fn check_bursts(&self) -> Result<(), Refused> {
        within("header", self.header, *HEADERS.start(), *HEADERS.end())?;
        within("concatenated_frames", self.concatenated_frames, 2, u8::MAX)?;
        let continuous = self.packing == Packing::Continuous;
        if self.segment_header != 0 && !(continuous && self.segment_header == 8) {
            return Err(Refused::new(
                "segment_header",
                format!(
                    "is {}; it has to be 8, or 0 where it is not counted or packing is not continuous.",
                    self.segment_header
                ),
            ));
        }
        if continuous && self.asking == Asking::OneBurst {
            return Err(Refused::new(
                "packing",
                "is continuous, and asking is for one burst of minislots; a stream is asked for in \
                 bytes (queue depth).",
            ));
        }
        if !continuous && self.asking == Asking::QueueDepth {
            return Err(Refused::new(
                "packing",
                "is not continuous, and asking is in bytes (queue depth), which say nothing of frames; \
                 make packing continuous, or ask for one burst of minislots.",
            ));
        }
        if continuous || self.fragmentation {
            return Ok(());
        }
        let (frame, minislots) = self.longest_frame();
        if minislots > self.longest_grant() {
            return Err(Refused::new(
                "map_minislots",
                format!(
                    "leaves {} minislots for data, and a frame of {frame} bytes takes {minislots}; \
                     let MAPs stretch, or frames be cut.",
                    self.longest_grant()
                ),
            ));
        }
        if self.asking == Asking::OneBurst && minislots > Amount::MOST_MINISLOTS {
            return Err(Refused::new(
                "asking",
                format!(
                    "is for one burst of at most {} minislots, and a frame of {frame} bytes takes \
                     {minislots}; make minislots longer, or let frames be cut.",
                    Amount::MOST_MINISLOTS
                ),
            ));
        }
        Ok(())
    }

    /// MAC bytes of the longest frame, and the minislots that it takes as one burst.
    pub(crate) fn longest_frame(&self) -> (u64, u32) {
        let bytes = LONGEST_FRAME + u64::from(self.header);
        (bytes, self.phy.minislots(bytes))
    }

    fn check_capacity(&self) -> Result<(), Refused> {
        self.capacity.map_or(Ok(()), |capacity| capacity.check())
    }
}

impl Capacity {
    /// Checks it by itself.
    ///
    /// # Errors
    /// A rate of 0 or beyond all bounds, or a variation above 100%.
    pub fn check(&self) -> Result<(), Refused> {
        within("capacity.rate", self.rate, 1, MAX_RATE)?;
        within("capacity.variation_percent", self.variation_percent, 0, 100)
    }
}

/// Refuses a value that is not within bounds.
fn within<T: Into<u64> + Copy>(
    key: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<(), Refused> {
    let (value, least, most) = (value.into(), least.into(), most.into());
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Refused::new(
        key,
        format!("is {value}; it has to be {least} to {most}."),
    ))
}
