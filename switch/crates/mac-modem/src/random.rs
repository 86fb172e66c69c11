// SPDX-License-Identifier: Apache-2.0
//! A station's random numbers, in integers. Draws of other stations do not shift them.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of one number under one seed.
    pub fn new(seed: u64, number: u64) -> Self {
        // A step apart in the seed's own stream, so that neighbours have nothing in common.
        let mut seeds = Self(seed);
        let first = seeds.next();
        let mut numbers = Self(first ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Self(numbers.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below a bound; 0 where that is 0. The bias is below 2^-64 times the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first outputs of the reference implementation for seed 1234567.
        let mut random = Random(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn neighbours_draw_uniformly_and_not_alike() {
        let mut counts = [0_u32; 8];
        let mut same = 0;
        for number in 0..8000 {
            let mine = Random::new(5, number).below(8);
            counts[mine as usize] += 1;
            same += u32::from(mine == Random::new(5, number + 1).below(8));
        }
        // Binomial: sd 29.6 of 1000; five of them.
        assert!(counts.iter().all(|n| (852..1148).contains(n)), "{counts:?}");
        assert!((852..1148).contains(&same), "{same}");
    }
}
