// SPDX-License-Identifier: Apache-2.0
//! Packets of a fixed length that carry a port's frames. Downstream, DOCSIS 2.0 puts its MAC frames
//! into MPEG packets of 188 bytes. The header takes 4 bytes of each, or 5 where a frame begins in the
//! packet, as there is a pointer field then. Paper 004, section II: "packets sent over the downstream
//! channel are broken into 188 byte MPEG frames each with 4 bytes of header and trailer".

use crate::error::ConfigError;
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
