// SPDX-License-Identifier: Apache-2.0
//! The pipeline's copy of a token bucket, p4src/include/token_bucket.p4, against
//! tokens = min(B, tokens + dt * R) - size in whole numbers that cannot overflow.

use crate::common::modem::{Flow, Frame, Modem};
use proptest::prelude::*;

/// Units of tokens in a byte.
const BYTE: u128 = 8_000_000;
const LENGTH: u64 = 1_000;

/// What the register has after a frame of [`LENGTH`] bytes, `dt` microseconds after it had
/// `tokens`.
fn after(rate: u64, burst: u64, tokens: u64, dt: u64) -> u64 {
    let mut modem = Modem::new(&Flow::default());
    let bucket = [("max_sustained_rate", rate), ("max_burst", burst)];
    modem.parameters("token_bucket.msr_bucket", "set_bucket", &bucket);
    modem.set_state("msr_tokens", tokens);
    // The clock of a register is modulo 2^48.
    let now = 1_000_000u64;
    modem.set_state("msr_updated", now.wrapping_sub(dt) & ((1 << 48) - 1));
    let frame = Frame {
        session: 1,
        number: 0,
        length: LENGTH as usize,
    };
    assert!(modem.passes(now * 1_000, frame));
    assert_eq!(modem.state("msr_updated"), now);
    modem.state("msr_tokens")
}

fn expected(rate: u64, burst: u64, tokens: u64, dt: u64) -> u64 {
    let earned = u128::from(tokens) + u128::from(dt) * u128::from(rate);
    let filled = earned.min(u128::from(burst) * BYTE);
    filled.saturating_sub(u128::from(LENGTH) * BYTE) as u64
}

/// A number of any magnitude below 2^`bits`.
fn any_size(bits: u32) -> impl Strategy<Value = u64> {
    (0..bits, any::<u64>()).prop_map(|(bits, value)| value & ((2 << bits) - 1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn it_is_the_law_at_any_rate_after_any_time(
        rate in any_size(34),
        burst in any_size(32),
        part in 0u64..=1_000,
        dt in any_size(48),
    ) {
        let tokens = (u128::from(burst) * BYTE * u128::from(part) / 1_000) as u64;
        prop_assert_eq!(after(rate, burst, tokens, dt), expected(rate, burst, tokens, dt));
    }
}

/// 100 MB at 1 Mbit/s take 13 minutes.
#[test]
fn a_slow_bucket_is_full_after_a_long_idle_time() {
    let full = (100_000_000 - LENGTH) * BYTE as u64;
    assert_eq!(after(1_000_000, 100_000_000, 0, 1_200_000_000), full);
}
