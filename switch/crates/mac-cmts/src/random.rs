// SPDX-License-Identifier: Apache-2.0
//! The scheduler's random numbers, all from one seed, in integers.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// xoshiro256** (Blackman and Vigna), seeded with splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Random(Xoshiro256StarStar);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256StarStar::seed_from_u64(seed))
    }

    /// Uniform below a bound; 0 where that is 0. The bias is below 2^-64 times the bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}
