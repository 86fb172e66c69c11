// SPDX-License-Identifier: Apache-2.0
//! The seeded generator behind `random()`.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// xoshiro256** (Blackman and Vigna), seeded with splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    generator: Xoshiro256StarStar,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        Random {
            generator: Xoshiro256StarStar::seed_from_u64(seed),
        }
    }

    fn next(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform over `low..=high`, without bias (Lemire 2019); nothing when
    /// `low` is above `high`.
    pub fn uniform(&mut self, low: u64, high: u64) -> Option<u64> {
        let span = high.checked_sub(low)?;
        let Some(count) = span.checked_add(1) else {
            return Some(self.next());
        };
        let mut product = u128::from(self.next()) * u128::from(count);
        if (product as u64) < count {
            let threshold = count.wrapping_neg() % count;
            while (product as u64) < threshold {
                product = u128::from(self.next()) * u128::from(count);
            }
        }
        Some(low + (product >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    /// The first numbers from seed 7, by the algorithms as their authors publish them.
    const KNOWN: [u64; 3] = [
        0xb358_faf7_4ef9_765a,
        0x475c_3d96_4f48_2cd2,
        0xd6f1_d349_952c_7996,
    ];

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100)
                .map(|_| random.uniform(0, u64::MAX).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn a_seed_gives_the_numbers_that_it_always_gave() {
        let mut random = Random::new(7);
        let draws: [u64; 3] = std::array::from_fn(|_| random.next());
        assert_eq!(draws, KNOWN);
    }

    #[test]
    fn bounds_are_inclusive_and_values_even() {
        let mut random = Random::new(1);
        let mut seen = [0u32; 6];
        for _ in 0..60_000 {
            seen[random.uniform(10, 15).unwrap() as usize - 10] += 1;
        }
        // Five standard deviations of a binomial with n = 60000, p = 1/6.
        assert!(
            seen.iter().all(|n| (9_544..=10_456).contains(n)),
            "{seen:?}"
        );
        assert_eq!(random.uniform(3, 3), Some(3));
        assert_eq!(random.uniform(4, 3), None);
    }
}
