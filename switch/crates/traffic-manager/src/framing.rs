// SPDX-License-Identifier: Apache-2.0
//! Packets of a fixed length that carry a port's frames. Downstream, DOCSIS 2.0 puts its MAC frames
//! into MPEG packets of 188 bytes. The header takes 4 bytes of each, or 5 where a frame begins in the
//! packet, as there is a pointer field then. Paper 004, section II: "packets sent over the downstream
//! channel are broken into 188 byte MPEG frames each with 4 bytes of header and trailer".

use crate::error::ConfigError;
use crate::limits::{LONGEST_FRAME, MOST_FRAME_SECONDS};
use std::fmt;

/// Longest packet, bytes.
pub const MAX_PACKET: u32 = 65_535;

/// How many bytes frames take on the line. Lengths of frames are as DOCSIS counts them, to the
/// end of their CRC; the default is no packets, and frames as long as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Bytes of a packet; 0: there are none, and the others are 0, too.
    pub packet: u32,
    /// Bytes of them that carry no frames; less than `packet`.
    pub header: u32,
    /// Bytes that are put before each frame: DOCSIS's MAC header.
    pub frame_header: u32,
    /// Each frame begins a packet, and what is left of its last one is empty. Else frames follow
    /// one another within packets, and a frame costs its share of their headers, rounded up to a
    /// byte.
    pub own_packets: bool,
}

impl Framing {
    pub(crate) fn check(&self, place: &dyn fmt::Display) -> Result<(), ConfigError> {
        let bad = |text: String| Err(ConfigError::invalid(place, text));
        if self.packet == 0 && *self != Self::default() {
            return bad("framing.packet is 0, no packets, but framing says more".into());
        }
        if self.packet > MAX_PACKET {
            return bad(format!(
                "framing.packet is {} bytes, more than {MAX_PACKET}",
                self.packet
            ));
        }
        if self.packet > 0 && self.header >= self.packet {
            return bad(format!(
                "framing.header is {} bytes, which leaves nothing of a packet of {}",
                self.header, self.packet
            ));
        }
        if self.frame_header > MAX_PACKET {
            return bad(format!(
                "framing.frame_header is {} bytes, more than {MAX_PACKET}",
                self.frame_header
            ));
        }
        Ok(())
    }

    /// Packets that carry hardly anything make a frame very long.
    pub(crate) fn check_rate(
        &self,
        place: &dyn fmt::Display,
        rate: u64,
    ) -> Result<(), ConfigError> {
        let line_bytes = self.line_bytes(LONGEST_FRAME as u64);
        if self.packet == 0
            || rate == 0
            || line_bytes * 8 <= rate.saturating_mul(MOST_FRAME_SECONDS)
        {
            return Ok(());
        }
        Err(ConfigError::invalid(
            place,
            format!(
                "framing makes {line_bytes} bytes of a frame of {LONGEST_FRAME}, which at a rate of \
                 {rate} bit/s take more than {MOST_FRAME_SECONDS} s; make the rate higher, or the \
                 headers shorter"
            ),
        ))
    }

    /// Bytes on the line of a frame of so many.
    #[inline]
    #[must_use]
    pub fn line_bytes(&self, bytes: u64) -> u64 {
        if self.packet == 0 {
            return bytes;
        }
        let packet = u64::from(self.packet);
        let room = packet.saturating_sub(self.header.into()).max(1);
        let carried = bytes + u64::from(self.frame_header);
        if self.own_packets {
            carried.div_ceil(room) * packet
        } else {
            (carried * packet).div_ceil(room)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MPEG: Framing = Framing {
        packet: 188,
        header: 4,
        frame_header: 6,
        own_packets: false,
    };

    #[test]
    fn frames_cost_their_share_of_packets_or_packets_of_their_own() {
        assert_eq!(Framing::default().line_bytes(1518), 1518);
        // 184 bytes carried are 188.
        assert_eq!(MPEG.line_bytes(184 - 6), 188);
        assert_eq!(MPEG.line_bytes(1518), (1524 * 188u64).div_ceil(184));
        let own = Framing {
            own_packets: true,
            ..MPEG
        };
        assert_eq!(own.line_bytes(184 - 6), 188);
        assert_eq!(own.line_bytes(185 - 6), 2 * 188);
        assert_eq!(own.line_bytes(1518), 9 * 188);
        let pointer = Framing { header: 5, ..own };
        assert_eq!(pointer.line_bytes(184 - 6), 2 * 188);
    }

    #[test]
    fn a_frame_that_takes_more_than_an_hour_is_refused() {
        let dense = Framing {
            packet: MAX_PACKET,
            header: MAX_PACKET - 1,
            frame_header: MAX_PACKET,
            own_packets: true,
        };
        let refused = dense.check_rate(&"port 1", 1).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "port 1: framing makes 5368561665 bytes of a frame of 16384, which at a rate of 1 bit/s \
             take more than 3600 s; make the rate higher, or the headers shorter"
        );
        assert!(dense.check_rate(&"port 1", 12_000_000).is_ok());
        assert!(dense.check_rate(&"port 1", 0).is_ok(), "no rate");
        // Paper 004's frames, and no packets at all.
        assert!(MPEG.check_rate(&"port 1", 1000).is_ok());
        assert!(Framing::default().check_rate(&"port 1", 1).is_ok());
    }

    #[test]
    fn what_carries_nothing_is_refused() {
        let refused = |framing: Framing| framing.check(&"port 1").unwrap_err().to_string();
        let header = Framing {
            header: 188,
            ..MPEG
        };
        assert_eq!(
            refused(header),
            "port 1: framing.header is 188 bytes, which leaves nothing of a packet of 188"
        );
        assert!(refused(Framing { packet: 0, ..MPEG }).contains("no packets"));
        assert!(
            refused(Framing {
                packet: 65_536,
                ..MPEG
            })
            .contains("more than 65535")
        );
        assert!(
            refused(Framing {
                frame_header: 65_536,
                ..MPEG
            })
            .contains("frame_header")
        );
        assert!(MPEG.check(&"port 1").is_ok());
    }
}
