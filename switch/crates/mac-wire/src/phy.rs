// SPDX-License-Identifier: Apache-2.0
//! How many minislots a burst takes.

/// Least data bytes of a shortened code word (mac.md, "What a request asks for", \[?\]).
pub const LEAST_CODEWORD_DATA: u32 = 16;

/// How many minislots a burst takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phy {
    /// A fixed number of bytes beside the data, as paper 004 counts.
    Flat {
        /// Bytes that a minislot carries.
        minislot_bytes: u32,
        /// Bytes that a burst has beside its data.
        overhead: u32,
    },
    /// Preamble, Reed-Solomon code words of `data` and 2T bytes, guard time (mac.md).
    ScQam {
        /// Bits that a minislot carries.
        minislot_bits: u32,
        /// Bits of the preamble.
        preamble_bits: u32,
        /// Bits of the guard time.
        guard_bits: u32,
        /// Data bytes k of a code word; the last is shortened, to 16 at the least.
        codeword_data: u32,
        /// Parity bytes 2T of a code word; 0 is no code.
        codeword_parity: u32,
    },
    /// Whole minislots of this many bytes.
    Ofdma {
        /// Bytes that a minislot carries.
        minislot_bytes: u32,
    },
}

impl Phy {
    /// Minislots of a burst of `bytes` MAC bytes; none for no bytes, and `u32::MAX` for more than
    /// that many. More bytes never take fewer.
    #[must_use]
    pub fn minislots(&self, bytes: u64) -> u32 {
        if bytes == 0 {
            return 0;
        }
        // What saturates is more than `u32::MAX` minislots also when divided by the largest size.
        let minislots = match *self {
            Self::Flat {
                minislot_bytes,
                overhead,
            } => bytes
                .saturating_add(overhead.into())
                .div_ceil(at_least_one(minislot_bytes)),
            Self::Ofdma { minislot_bytes } => bytes.div_ceil(at_least_one(minislot_bytes)),
            Self::ScQam {
                minislot_bits,
                preamble_bits,
                guard_bits,
                codeword_data,
                codeword_parity,
            } => coded(bytes, codeword_data, codeword_parity)
                .saturating_mul(8)
                .saturating_add(preamble_bits.into())
                .saturating_add(guard_bits.into())
                .div_ceil(at_least_one(minislot_bits)),
        };
        u32::try_from(minislots).unwrap_or(u32::MAX)
    }

    /// The most MAC bytes of a burst that takes so many minislots; 0 where not even one byte fits.
    #[must_use]
    pub fn bytes(&self, minislots: u32) -> u64 {
        let minislots = u64::from(minislots);
        match *self {
            Self::Flat {
                minislot_bytes,
                overhead,
            } => (minislots * u64::from(minislot_bytes)).saturating_sub(overhead.into()),
            Self::Ofdma { minislot_bytes } => minislots * u64::from(minislot_bytes),
            Self::ScQam {
                minislot_bits,
                preamble_bits,
                guard_bits,
                codeword_data,
                codeword_parity,
            } => uncoded(
                (minislots * u64::from(minislot_bits))
                    .saturating_sub(preamble_bits.into())
                    .saturating_sub(guard_bits.into())
                    / 8,
                codeword_data,
                codeword_parity,
            ),
        }
    }
}

/// Bytes of the code words of `bytes` data bytes, at least one; 2T * ceil(B/k) more than those, and
/// more where the last has to be filled up.
fn coded(bytes: u64, data: u32, parity: u32) -> u64 {
    if parity == 0 {
        return bytes;
    }
    let (data, parity) = (u64::from(codeword(data)), u64::from(parity));
    let whole = (bytes - 1) / data;
    let last = bytes - whole * data;
    whole
        .saturating_mul(data + parity)
        .saturating_add(last.max(LEAST_CODEWORD_DATA.into()) + parity)
}

/// The most data bytes of which the code words have at most `coded` bytes.
fn uncoded(coded: u64, data: u32, parity: u32) -> u64 {
    if parity == 0 {
        return coded;
    }
    let (data, parity) = (u64::from(codeword(data)), u64::from(parity));
    let whole = coded / (data + parity);
    let last = (coded % (data + parity)).saturating_sub(parity);
    let shortened = if last < LEAST_CODEWORD_DATA.into() {
        0
    } else {
        last
    };
    whole * data + shortened
}

/// [`crate::Profile::check`] refuses shorter code words; this keeps the inverse exact with them.
fn codeword(data: u32) -> u32 {
    data.max(LEAST_CODEWORD_DATA)
}

/// [`crate::Profile::check`] refuses 0; this keeps it from being divided by.
fn at_least_one(size: u32) -> u64 {
    size.max(1).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SC_QAM: Phy = Phy::ScQam {
        minislot_bits: 128,
        preamble_bits: 80,
        guard_bits: 16,
        codeword_data: 220,
        codeword_parity: 16,
    };

    #[test]
    fn a_frame_of_paper_004_takes_96_minislots_of_16_bytes_and_an_ack_5() {
        let as_the_paper_counts = Phy::Flat {
            minislot_bytes: 16,
            overhead: 30,
        };
        assert_eq!(as_the_paper_counts.minislots(1500), 96);
        // mac.md: an Ethernet frame of 1518 bytes and 6 of MAC header, with a preamble of 10.
        let of_mac_frames = Phy::Flat {
            minislot_bytes: 16,
            overhead: 10,
        };
        assert_eq!(of_mac_frames.minislots(1524), 96);
        assert_eq!(of_mac_frames.minislots(70), 5);
        // Two frames behind a concatenation header.
        assert_eq!(of_mac_frames.minislots(2 * 1524 + 6), 192);
    }

    #[test]
    fn a_frame_takes_32_ofdma_minislots_with_or_without_a_segment_header() {
        let phy = Phy::Ofdma { minislot_bytes: 48 };
        assert_eq!(phy.minislots(1528), 32);
        assert_eq!(phy.minislots(1528 + 8), 32);
        assert_eq!(phy.minislots(1528 + 9), 33);
        assert_eq!(phy.bytes(32), 1536);
    }

    #[test]
    fn code_words_are_shortened_to_16_bytes_and_no_further() {
        // 1524 bytes: 6 code words of 220, one of 204, 16 bytes of parity each: 1636 coded.
        assert_eq!(coded(1524, 220, 16), 1524 + 7 * 16);
        assert_eq!(
            SC_QAM.minislots(1524),
            (80 + 8 * 1636 + 16_u32).div_ceil(128)
        );
        // One byte beyond a code word costs one of 16.
        assert_eq!(coded(221, 220, 16), 220 + 16 + 16 + 16);
        assert_eq!(coded(236, 220, 16), 220 + 16 + 16 + 16);
        assert_eq!(coded(237, 220, 16), 220 + 16 + 17 + 16);
        assert_eq!(coded(5, 220, 16), 32);
    }

    #[test]
    fn no_bytes_take_no_minislots_and_too_few_minislots_hold_no_bytes() {
        assert_eq!(SC_QAM.minislots(0), 0);
        // Preamble, guard and a code word of 32 bytes are 352 bits: three minislots.
        assert_eq!(SC_QAM.minislots(1), 3);
        assert_eq!(SC_QAM.bytes(2), 0);
        assert_eq!(SC_QAM.bytes(3), 16 + 4);
    }

    fn phys() -> impl Strategy<Value = Phy> {
        let size = || prop_oneof![1..600_u32, 0..=u32::MAX];
        prop_oneof![
            (size(), size()).prop_map(|(minislot_bytes, overhead)| Phy::Flat {
                minislot_bytes,
                overhead
            }),
            size().prop_map(|minislot_bytes| Phy::Ofdma { minislot_bytes }),
            (
                size(),
                0..2000_u32,
                0..500_u32,
                prop_oneof![0..300_u32, 0..=u32::MAX],
                prop_oneof![Just(0_u32), 0..64_u32, 0..=u32::MAX]
            )
                .prop_map(
                    |(minislot_bits, preamble_bits, guard_bits, codeword_data, codeword_parity)| {
                        Phy::ScQam {
                            minislot_bits,
                            preamble_bits,
                            guard_bits,
                            codeword_data,
                            codeword_parity,
                        }
                    }
                ),
        ]
    }

    fn sizes() -> impl Strategy<Value = u64> {
        prop_oneof![0..10_000_u64, 0..=u64::MAX]
    }

    proptest! {
        #[test]
        fn what_is_said_to_fit_fits_and_a_byte_more_does_not(
            phy in phys(), minislots in prop_oneof![0..4097_u32, 0..u32::MAX],
        ) {
            let bytes = phy.bytes(minislots);
            prop_assert!(phy.minislots(bytes) <= minislots);
            let zero_size = matches!(
                phy,
                Phy::Flat { minislot_bytes: 0, .. }
                    | Phy::Ofdma { minislot_bytes: 0 }
                    | Phy::ScQam { minislot_bits: 0, .. }
            );
            if !zero_size {
                prop_assert!(phy.minislots(bytes + 1) > minislots);
            }
        }

        #[test]
        fn what_is_granted_for_bytes_holds_them(phy in phys(), bytes in 0..10_000_u64) {
            let minislots = phy.minislots(bytes);
            let zero_size = matches!(
                phy,
                Phy::Flat { minislot_bytes: 0, .. }
                    | Phy::Ofdma { minislot_bytes: 0 }
                    | Phy::ScQam { minislot_bits: 0, .. }
            );
            if minislots < u32::MAX && !zero_size {
                prop_assert!(phy.bytes(minislots) >= bytes);
            }
        }

        #[test]
        fn more_bytes_never_take_fewer_minislots(phy in phys(), one in sizes(), other in sizes()) {
            let (less, more) = (one.min(other), one.max(other));
            prop_assert!(phy.minislots(less) <= phy.minislots(more));
        }
    }
}
