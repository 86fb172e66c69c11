// SPDX-License-Identifier: Apache-2.0
//! Makes choices from random bytes, or from zeroes when they have run out.

/// The fuzzer's bytes, taken from the front.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub fn number(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    pub fn long(&mut self) -> u64 {
        (0..4).fold(0, |n, _| n << 16 | u64::from(self.number()))
    }

    /// One of `count` things; 0 when there are none.
    pub fn below(&mut self, count: usize) -> usize {
        let choice = if count > 256 {
            usize::from(self.number())
        } else {
            usize::from(self.byte())
        };
        choice.checked_rem(count).unwrap_or(0)
    }

    /// Up to so many of the bytes.
    pub fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
