// SPDX-License-Identifier: Apache-2.0
//! The channels that have a name. Each number has its source: 004 is Martin's MAC paper, \[n\] the
//! code of docsis-ns3, \[V\] a vendor's document, K1 the model of White's authors (2014), and \[?\]
//! what was not verified in a text, so that it is a default to change and not a fact (mac.md).
//!
//! All fields of a [`Profile`] may be changed; [`Profile::check`] then says what cannot be.

use crate::clock::Clock;
use crate::error::Refused;
use crate::map::{Backoff, Map};
use crate::phy::Phy;
use crate::profile::{Asking, Capacity, ContentionPlace, GrantPlace, Packing, Profile, Timing};

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const PS_PER_NS: u64 = 1_000;

/// The MAP time of K1 and the default of 004, nanoseconds.
const TWO_MILLISECONDS: u64 = 2 * MILLISECOND;
/// The line of K1's rows, bit/s (F11 has a tenth of it).
const LINE_RATE_2014: u64 = 1_000_000_000;
/// Frames of a MAP: the default of docsis-ns3, 2.025 ms.
const FRAMES_3_1: u32 = 15;

impl Profile {
    /// The names of those that [`Profile::named`] makes.
    pub const NAMES: [&'static str; 4] = [
        "cablelabs-2014",
        "docsis-1.1-004",
        "docsis-3.0",
        "docsis-3.1",
    ];

    /// A profile with its defaults, by name; `None` if there is none of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cablelabs-2014" => Self::cablelabs_2014(LINE_RATE_2014).ok(),
            "docsis-1.1-004" => Self::docsis_1_1_004(TWO_MILLISECONDS).ok(),
            "docsis-3.0" => Some(Self::docsis_3_0()),
            "docsis-3.1" => Some(Self::docsis_3_1(FRAMES_3_1)),
            _ => None,
        }
    }

    /// The model of paper 000's authors, as mac.md's facts have it (K1). Without load an access
    /// takes (U + 2 + U') MAPs and the transmission.
    ///
    /// `line_rate` is in bit/s. The capacity is all of it, varied by 1%; RF congestion lowers the
    /// rate and varies it by 20% (K1).
    ///
    /// # Errors
    /// A line rate of which a MAP of 2 ms is not a whole number of bytes that divides into at least
    /// 100 minislots.
    pub fn cablelabs_2014(line_rate: u64) -> Result<Self, Refused> {
        // The finest minislots, up to 2000 a MAP, of whole bytes and picoseconds.
        let map_ps = TWO_MILLISECONDS * PS_PER_NS;
        let bytes = line_rate / 4000;
        let minislots = (100..=2000)
            .rev()
            .find(|n| line_rate % 4000 == 0 && bytes % n == 0 && map_ps % n == 0);
        let (Some(minislots), true) = (minislots, bytes > 0) else {
            return Err(Refused::new(
                "line_rate",
                format!(
                    "is {line_rate} bit/s, which does not divide into minislots of whole bytes; use a \
                     multiple of 400000 bit/s."
                ),
            ));
        };
        let minislot_bytes = u32::try_from(bytes / minislots).unwrap_or(u32::MAX);
        Ok(Self {
            name: "cablelabs-2014".into(),
            clock: Clock {
                per_frame: 1,
                frame_ps: map_ps / minislots,
            },
            phy: Phy::Ofdma { minislot_bytes },
            map_minislots: minislots as u32,
            stretch: false,
            // A packet waits for the next MAP; its request goes at its start, and none is lost (K1).
            contention_minislots: 1,
            maintenance_minislots: 0,
            request_minislots: 1,
            contention_place: ContentionPlace::Head,
            extra_contention: false,
            collisions: false,
            // "At a uniform place inside the MAP" (K1).
            grant_place: GrantPlace::Random,
            capacity: Some(Capacity {
                rate: line_rate,
                variation_percent: 1,
            }),
            backoff: Backoff { start: 0, end: 0 },
            tries: 16,
            // "Fragments", and a request piggybacked in every grant (K1).
            asking: Asking::QueueDepth,
            packing: Packing::Continuous,
            concatenated_frames: u8::MAX,
            fragmentation: true,
            piggyback: true,
            idle_proactive_grants: 0,
            // What its successor has: 10 bytes of MAC header, segment headers not counted [n].
            header: 10,
            segment_header: 0,
            timing: Timing::two_maps(TWO_MILLISECONDS),
        })
    }

    /// Paper 004's channel, parameter for parameter, with a MAP time of `map_time` nanoseconds: 1, 2,
    /// 3, 5 and 10 ms are those of mac.md's vector A.
    ///
    /// # Errors
    /// A MAP time that is not a multiple of 25 us.
    pub fn docsis_1_1_004(map_time: u64) -> Result<Self, Refused> {
        const MINISLOT: u64 = 25 * MICROSECOND;
        let minislots = map_time / MINISLOT;
        if map_time % MINISLOT != 0 || minislots > Map::MAX_MINISLOTS.into() {
            return Err(Refused::new(
                "map_time",
                format!(
                    "is {map_time} ns; it has to be a multiple of a minislot of {MINISLOT} ns, and at \
                     most {} of them.",
                    Map::MAX_MINISLOTS
                ),
            ));
        }
        Ok(Self {
            name: "docsis-1.1-004".into(),
            // 4 ticks of 6.25 us at 5.12 Mbit/s: 16 bytes (004).
            clock: Clock {
                per_frame: 1,
                frame_ps: MINISLOT * PS_PER_NS,
            },
            // The preamble has 80 bits (004). Together with 6 bytes of MAC header and Ethernet's 18
            // that makes the paper's 96 minislots of a packet of 1500 bytes (mac.md: "use 96").
            phy: Phy::Flat {
                minislot_bytes: 16,
                overhead: 10,
            },
            map_minislots: minislots as u32,
            // 96 minislots do not fit between 15 others into 80 (004).
            stretch: true,
            contention_minislots: 12,
            maintenance_minislots: 3,
            // One request a slot (mac.md, vector A).
            request_minislots: 1,
            contention_place: ContentionPlace::Head,
            extra_contention: false,
            collisions: true,
            grant_place: GrantPlace::Packed,
            capacity: None,
            // Windows of 8 to 128 (004).
            backoff: Backoff { start: 3, end: 7 },
            tries: 16,
            asking: Asking::OneBurst,
            packing: Packing::Concatenated,
            concatenated_frames: u8::MAX,
            fragmentation: false,
            // The paper's equations have two MAPs before every burst [?].
            piggyback: false,
            idle_proactive_grants: 0,
            header: 6,
            segment_header: 0,
            timing: Timing::two_maps(map_time),
        })
    }

    /// An SC-QAM channel of DOCSIS 3.0: 6.4 MHz, 5.12 Msymbol/s, 64-QAM, 30.72 Mbit/s before
    /// parity; MAPs of 2 ms. mac.md's texts say little about it: what has no source is a default.
    #[must_use]
    pub fn docsis_3_0() -> Self {
        const BITS_PER_SYMBOL: u32 = 6;
        const SYMBOLS: u32 = 64;
        // Half of 8 km of plant and back [n]; processing of the CMTS [n].
        const PROPAGATION: u64 = 40 * MICROSECOND;
        const CMTS: u64 = 200 * MICROSECOND;
        // 256-QAM downstream, 32 taps of 4 bytes [?]; demodulation [?].
        const INTERLEAVER: u64 = 660 * MICROSECOND;
        const DEMODULATION: u64 = 200 * MICROSECOND;
        const PREPARATION: u64 = 200 * MICROSECOND;
        // A modem's 200 us [?], and the default of a vendor's MAP advance [V].
        const SAFETY: u64 = 200 * MICROSECOND + MILLISECOND;
        const HEARD: u64 = PROPAGATION + DEMODULATION;
        const TO_MODEM: u64 = CMTS + PROPAGATION + INTERLEAVER;
        Self {
            name: "docsis-3.0".into(),
            // 2 ticks of 6.25 us: 64 symbols [?].
            clock: Clock {
                per_frame: 1,
                frame_ps: 12_500_000,
            },
            // All [?]: 52 symbols of preamble, 8 of guard, code words of 223 and 2 * 16 bytes.
            phy: Phy::ScQam {
                minislot_bits: SYMBOLS * BITS_PER_SYMBOL,
                preamble_bits: 52 * BITS_PER_SYMBOL,
                guard_bits: 8 * BITS_PER_SYMBOL,
                codeword_data: 223,
                codeword_parity: 32,
            },
            map_minislots: 160,
            stretch: false,
            // Four opportunities of 2 minislots [?], and what is left of a MAP (mac.md, "CMTS
            // scheduler").
            contention_minislots: 8,
            maintenance_minislots: 0,
            request_minislots: 2,
            contention_place: ContentionPlace::Head,
            extra_contention: true,
            collisions: true,
            grant_place: GrantPlace::Packed,
            capacity: None,
            // As in 004 [?].
            backoff: Backoff { start: 3, end: 7 },
            tries: 16,
            asking: Asking::QueueDepth,
            packing: Packing::Continuous,
            concatenated_frames: u8::MAX,
            fragmentation: true,
            piggyback: true,
            idle_proactive_grants: 0,
            header: 10,
            segment_header: 8,
            timing: Timing {
                map_ahead: TO_MODEM + SAFETY,
                map_to_modem: TO_MODEM,
                // A modem has 650 us (000).
                map_processing: 650 * MICROSECOND,
                request_heard: HEARD,
                piggyback_heard: HEARD,
                delivery: HEARD,
                burst_preparation: PREPARATION,
                // A minislot more than what is surely heard.
                ack_before_start: TO_MODEM + SAFETY + HEARD + 12_500,
                map_with_previous: false,
            },
        }
    }

    /// An OFDMA channel with the defaults of docsis-ns3, and so many frames of 135 us a MAP: 15 and 7
    /// are those of mac.md's vector B, from which all numbers are.
    #[must_use]
    pub fn docsis_3_1(frames: u32) -> Self {
        // Symbols of 1 / 50 kHz and a prefix of 256 / 102.4 MHz, six a frame.
        const SYMBOL: u64 = 20_000 + 2_500;
        const FRAME: u64 = 6 * SYMBOL;
        // 1880 subcarriers of 50 kHz in minislots of 400 kHz.
        const PER_FRAME: u32 = 235;
        const PROPAGATION: u64 = 40 * MICROSECOND;
        // 600 us and a frame and a symbol.
        const MODEM: u64 = 600 * MICROSECOND + FRAME + SYMBOL;
        // CMTS, interleaver, three downstream symbols of 22.5 us, propagation.
        const TO_MODEM: u64 = 200 * MICROSECOND + 45 * MICROSECOND + 3 * SYMBOL + PROPAGATION;
        Self {
            name: "docsis-3.1".into(),
            clock: Clock {
                per_frame: PER_FRAME,
                frame_ps: FRAME * PS_PER_NS,
            },
            // 8 subcarriers, 6 symbols, 10 bit/s/Hz, code rate 0.8: 48 bytes.
            phy: Phy::Ofdma { minislot_bytes: 48 },
            map_minislots: frames.saturating_mul(PER_FRAME),
            stretch: false,
            contention_minislots: 1,
            maintenance_minislots: 0,
            request_minislots: 1,
            contention_place: ContentionPlace::RandomFrame,
            extra_contention: false,
            // docsis-ns3 has one modem, which meets nobody.
            collisions: true,
            grant_place: GrantPlace::Random,
            capacity: None,
            // A lone modem asks at once, as in docsis-ns3; the end is [?].
            backoff: Backoff { start: 0, end: 7 },
            tries: 16,
            asking: Asking::QueueDepth,
            packing: Packing::Continuous,
            concatenated_frames: u8::MAX,
            fragmentation: true,
            piggyback: true,
            idle_proactive_grants: 0,
            header: 10,
            // docsis-ns3 does not count it; a frame of 1528 bytes takes 32 minislots with it too.
            segment_header: 0,
            timing: Timing {
                map_ahead: TO_MODEM + MODEM,
                map_to_modem: TO_MODEM,
                map_processing: MODEM,
                // Of a request that is made when its frame starts: known 40 us and 3 frames later.
                request_heard: PROPAGATION + 2 * FRAME,
                // Of one that is made a frame before: the same.
                piggyback_heard: PROPAGATION + FRAME,
                delivery: PROPAGATION + FRAME,
                burst_preparation: FRAME,
                ack_before_start: 12 * FRAME,
                map_with_previous: false,
            },
        }
    }
}

impl Timing {
    /// Nothing takes time but MAPs: one is made when the one before begins, and what is asked for
    /// in one is granted in the second behind it (004's clock, and K1's).
    fn two_maps(map_time: u64) -> Self {
        Self {
            map_ahead: map_time,
            map_to_modem: 0,
            map_processing: 0,
            request_heard: 0,
            piggyback_heard: 0,
            delivery: 0,
            burst_preparation: 0,
            ack_before_start: map_time,
            map_with_previous: true,
        }
    }
}
