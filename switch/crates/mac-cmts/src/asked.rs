// SPDX-License-Identifier: Apache-2.0
//! The bytes or minislots that a service flow requested and was not granted yet.

use crate::sizes::Sizes;

/// What is outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing.
    Nothing,
    /// Minislots of one burst, none of it granted yet.
    Burst(u32),
    /// Bytes of the stream, or what is left of a fragmented burst.
    Bytes(u64),
}

impl Asked {
    /// Minislots of one grant for all of it.
    pub(crate) fn minislots(self, sizes: &Sizes) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Burst(minislots) => minislots,
            Self::Bytes(bytes) => sizes.minislots(bytes.saturating_add(sizes.part_header)),
        }
    }

    /// MAC bytes of it, without what a grant adds.
    pub(crate) fn bytes(self, sizes: &Sizes) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Burst(minislots) => sizes.bytes(minislots),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// What a grant of `minislots` leaves.
    pub(crate) fn after(self, minislots: u32, sizes: &Sizes) -> Self {
        let left = match self {
            Self::Burst(wanted) if minislots < wanted => sizes.bytes(wanted),
            Self::Bytes(bytes) => bytes,
            _ => return Self::Nothing,
        };
        match left.saturating_sub(sizes.part(minislots)) {
            0 => Self::Nothing,
            bytes => Self::Bytes(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use crate::testing;

    #[test]
    fn fragments_carry_a_burst_and_16_bytes_each() {
        let profile = mac_wire::Profile {
            fragmentation: true,
            ..testing::docsis_1_1()
        };
        let sizes = Sizes::new(&profile, &Parameters::default());
        // 96 minislots carry 1526 bytes; 50 carry 790, so 774 of the frame.
        let rest = Asked::Burst(96).after(50, &sizes);
        assert_eq!(rest, Asked::Bytes(1526 - 774));
        assert_eq!(rest.minislots(&sizes), (752_u32 + 16 + 10).div_ceil(16));
        assert_eq!(rest.after(rest.minislots(&sizes), &sizes), Asked::Nothing);
        assert_eq!(Asked::Burst(96).after(96, &sizes), Asked::Nothing);
    }

    #[test]
    fn segments_carry_a_stream_and_their_header_each() {
        let sizes = Sizes::new(&mac_wire::Profile::docsis_3_0(), &Parameters::default());
        let asked = Asked::Bytes(10_000);
        let minislots = asked.minislots(&sizes);
        assert!(sizes.bytes(minislots) >= 10_008 && sizes.bytes(minislots - 1) < 10_008);
        assert_eq!(asked.after(minislots, &sizes), Asked::Nothing);
        let rest = asked.after(10, &sizes);
        assert_eq!(rest, Asked::Bytes(10_000 - (sizes.bytes(10) - 8)));
    }
}
