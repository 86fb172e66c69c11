// SPDX-License-Identifier: Apache-2.0
//! The seeded generator behind `random()`.

/// xoshiro256** (Blackman and Vigna), seeded with splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u64; 4],
}

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut x = seed;
        let state = std::array::from_fn(|_| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Random { state }
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
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
