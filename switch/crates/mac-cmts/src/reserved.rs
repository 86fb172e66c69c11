// SPDX-License-Identifier: Apache-2.0
//! What a service flow may be granted within its Minimum Reserved Traffic Rate.

/// A token is 1/8,000,000,000 byte: one bit/s earns one every nanosecond.
const TOKENS_PER_BYTE: i128 = 8_000_000_000;

/// Nanoseconds of its rate that a flow keeps while it waits. Admission leaves room for all
/// reserved rates, so only a channel that lost capacity makes a flow lose any.
const PATIENCE: u64 = 1_000_000_000;

/// The longest Ethernet frame with its CRC: what an idle flow keeps at the least.
const FRAME: u64 = 1522;

/// Tokens at the reserved rate, earned only while something is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reservation {
    rate: u64,
    /// Bytes that a shorter burst of one frame counts for.
    assumed: u64,
    tokens: i128,
    updated: u64,
}

impl Reservation {
    /// `rate` in bit/s as grants count it, not 0; one frame is saved up.
    pub(crate) fn new(now: u64, rate: u64, assumed: u32) -> Self {
        let mut new = Self {
            rate,
            assumed: assumed.into(),
            tokens: 0,
            updated: now,
        };
        new.tokens = new.frame();
        new
    }

    fn frame(&self) -> i128 {
        i128::from(FRAME.max(self.assumed)) * TOKENS_PER_BYTE
    }

    fn earn(&mut self, now: u64) {
        let passed = now.saturating_sub(self.updated);
        let most = (i128::from(self.rate) * i128::from(PATIENCE)).max(2 * self.frame());
        self.tokens = (self.tokens + i128::from(passed) * i128::from(self.rate)).min(most);
        self.updated = self.updated.max(now);
    }

    /// The flow asks again, after it had nothing to ask for: it saved up one frame at the most.
    pub(crate) fn resume(&mut self, now: u64) {
        self.earn(now);
        self.tokens = self.tokens.min(self.frame());
    }

    /// Bytes that it is entitled to at `now`.
    pub(crate) fn entitled(&mut self, now: u64) -> u64 {
        self.earn(now);
        u64::try_from(self.tokens.max(0) / TOKENS_PER_BYTE).unwrap_or(u64::MAX)
    }

    /// A grant of `bytes` on request, which the flow got because it was entitled to it. What it has
    /// beyond that costs nothing here, or the flow would miss its rate when others come. Where a
    /// burst carries one frame (`single`), a short one counts for the assumed packet size. A burst
    /// that is longer than what it was entitled to is owed, up to a second's worth.
    pub(crate) fn spend(&mut self, now: u64, bytes: u64, single: bool) {
        self.earn(now);
        let bytes = if single {
            bytes.max(self.assumed)
        } else {
            bytes
        };
        let least = -(i128::from(self.rate) * i128::from(PATIENCE)).max(2 * self.frame());
        self.tokens = (self.tokens - i128::from(bytes) * TOKENS_PER_BYTE).max(least);
    }

    /// A grant of `bytes` without a request: it serves the reservation too, and owes it nothing.
    pub(crate) fn serve(&mut self, now: u64, bytes: u64) {
        self.earn(now);
        let rest = (self.tokens - i128::from(bytes) * TOKENS_PER_BYTE).max(0);
        self.tokens = self.tokens.min(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte a microsecond.
    const RATE: u64 = 8_000_000;

    #[test]
    fn grants_without_a_request_leave_no_debt() {
        let mut reservation = Reservation::new(0, RATE, 0);
        reservation.serve(0, 1000);
        assert_eq!(reservation.entitled(0), 522);
        reservation.serve(0, 9_000_000);
        assert_eq!(reservation.entitled(100_000), 100);
        // A burst that is longer than what the flow was entitled to is owed, and stays owed.
        reservation.spend(100_000, 300, true);
        reservation.serve(100_000, 1000);
        assert_eq!(reservation.entitled(350_000), 50);
    }
}
