// SPDX-License-Identifier: Apache-2.0
//! Random numbers: a stream for each purpose, all from one seed, in integers.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The natural logarithm of 2 in units of 2^-32.
pub const LN_2: u64 = 0xb172_17f8;
/// The natural logarithm of 100 in units of 2^-32.
pub const LN_100: u64 = 0x4_9aec_6eed;

/// Binary digits behind the point that [`Random::exponential`] finds of a logarithm.
const DIGITS: u32 = 32;

/// xoshiro256** (Blackman and Vigna), seeded with splitmix64.
#[derive(Clone, Debug)]
pub struct Random {
    generator: Xoshiro256StarStar,
}

impl Random {
    /// The stream of one purpose: what others draw does not shift it.
    #[must_use]
    pub fn stream(seed: u64, purpose: &str, owner: &str, number: u64) -> Self {
        // Lengths keep the parts apart.
        let mut words = Vec::with_capacity(purpose.len() + owner.len() + 16);
        words.extend_from_slice(&(purpose.len() as u64).to_le_bytes());
        words.extend_from_slice(purpose.as_bytes());
        words.extend_from_slice(owner.as_bytes());
        words.extend_from_slice(&number.to_le_bytes());
        Self {
            generator: Xoshiro256StarStar::seed_from_u64(xxh3_64_with_seed(&words, seed)),
        }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform below a bound; 0 where that is 0. The bias is below 2^-64 times the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponentially distributed with mean 1, in units of 2^-32; 0 to 64 times ln 2.
    pub fn exponential(&mut self) -> u64 {
        minus_logarithm(self.bits() | 1)
    }

    /// Exponentially distributed with a mean, rounded down.
    pub fn exponential_of(&mut self, mean: u64) -> u64 {
        let drawn = (u128::from(self.exponential()) * u128::from(mean)) >> 32;
        u64::try_from(drawn).unwrap_or(u64::MAX)
    }
}

/// 2^(2^-k) for k from 1 to [`DIGITS`], with 62 digits behind the point.
static ROOTS: [u64; DIGITS as usize] = roots();

const fn roots() -> [u64; DIGITS as usize] {
    let mut found = [0; DIGITS as usize];
    let mut square = 2_u128 << 62;
    let mut place = 0;
    while place < found.len() {
        square = (square << 62).isqrt();
        found[place] = square as u64;
        place += 1;
    }
    found
}

/// Binary digits of a mantissa that choose a place in [`LOGARITHMS`].
const PLACE: u32 = 10;
/// Places of [`LOGARITHMS`], without the end of the last one.
const PLACES: usize = 1 << PLACE;

/// The logarithm to base 2 of 1 to 2 in steps, in units of 2^-[`DIGITS`]. In between, a
/// line is right to a ten-millionth.
static LOGARITHMS: [u64; PLACES + 1] = logarithms();

const fn logarithms() -> [u64; PLACES + 1] {
    let mut table = [0; PLACES + 1];
    let mut place = 0;
    while place < PLACES {
        table[place] = fraction_of_logarithm((1 << 63) + ((place as u64) << (63 - PLACE)));
        place += 1;
    }
    table[PLACES] = 1 << DIGITS;
    table
}

/// The logarithm to base 2 of a number from 1 to 2 with 63 digits behind the point.
const fn fraction_of_logarithm(mut mantissa: u64) -> u64 {
    let mut fraction = 0;
    let mut digit = 0;
    while digit < DIGITS {
        // A square doubles the logarithm, and the integral part is the next digit.
        let square = mantissa as u128 * mantissa as u128;
        let two = square >> 127 != 0;
        fraction = fraction << 1 | two as u64;
        mantissa = (square >> if two { 64 } else { 63 }) as u64;
        digit += 1;
    }
    fraction
}

/// -ln(x / 2^64) in units of 2^-32; x is above 0.
pub fn minus_logarithm(x: u64) -> u64 {
    let zeros = x.leading_zeros();
    let mantissa = x << zeros;
    let place = (mantissa << 1 >> (64 - PLACE)) as usize;
    let behind = mantissa << (1 + PLACE) >> 32;
    let (low, high) = (LOGARITHMS[place], LOGARITHMS[place + 1]);
    let fraction = low + (((high - low) * behind) >> 32);
    let logarithm = (u64::from(63 - zeros) << DIGITS) + fraction;
    let minus = (64 << DIGITS) - logarithm;
    ((u128::from(minus) * u128::from(LN_2)) >> DIGITS) as u64
}

/// 2^x, both in units of 2^-32; x is within 2^5.
pub fn exp2(x: i64) -> u64 {
    let (whole, part) = (x >> DIGITS, x as u64 & ((1 << DIGITS) - 1));
    let mut found = 1_u128 << 62;
    for (place, root) in ROOTS.iter().enumerate() {
        if part >> (DIGITS as usize - 1 - place) & 1 == 1 {
            found = (found * u128::from(*root)) >> 62;
        }
    }
    // Behind the point there are 62 digits, and 32 are wanted.
    let shift = 62 - i64::from(DIGITS) - whole.clamp(-31, 30);
    (found >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_repeats_and_every_part_of_its_name_makes_another() {
        let first = |mut random: Random| random.bits();
        let one = first(Random::stream(7, "jitter", "cpe1", 0));
        assert_eq!(one, first(Random::stream(7, "jitter", "cpe1", 0)));
        for other in [
            Random::stream(8, "jitter", "cpe1", 0),
            Random::stream(7, "jitte", "rcpe1", 0),
            Random::stream(7, "jitter", "cpe2", 0),
            Random::stream(7, "jitter", "cpe1", 1),
        ] {
            assert_ne!(one, first(other));
        }
    }

    #[test]
    fn a_logarithm_is_right_to_a_millionth() {
        for x in [1, 2, 3, 1 << 20, 0xdead_beef_dead_beef, u64::MAX, 1 << 63] {
            let exact = -((x as f64) / 2f64.powi(64)).ln();
            let found = minus_logarithm(x) as f64 / 2f64.powi(32);
            assert!((found - exact).abs() < 1e-6, "{x}: {found} {exact}");
        }
        assert_eq!(LN_100, (100f64.ln() * 2f64.powi(32)) as u64);
        assert_eq!(LN_2, (2f64.ln() * 2f64.powi(32)) as u64 + 1);
    }

    #[test]
    fn powers_and_roots_are_right_to_a_billionth() {
        for x in [
            -28.5, -3.25, -1.0, -1e-9, 0.0, 0.3, 0.999_999, 1.0, 2.5, 28.75,
        ] {
            let found = exp2((x * 2f64.powi(32)).round() as i64) as f64 / 2f64.powi(32);
            let exact = x.exp2();
            let close = 1e-8 * exact + 2f64.powi(-31);
            assert!((found - exact).abs() < close, "{x}: {found} {exact}");
        }
    }

    #[test]
    fn exponential_draws_have_their_mean_and_median() {
        let mut random = Random::stream(1, "test", "", 0);
        let mut draws: Vec<u64> = (0..100_000)
            .map(|_| random.exponential_of(1_000_000))
            .collect();
        draws.sort_unstable();
        let mean = draws.iter().sum::<u64>() / 100_000;
        assert!((985_000..1_015_000).contains(&mean), "{mean}");
        assert!((680_000..706_000).contains(&draws[50_000]));
    }

    #[test]
    fn uniform_draws_stay_below_their_bound() {
        let mut random = Random::stream(1, "test", "", 0);
        assert_eq!(random.below(0), 0);
        let draws: Vec<u64> = (0..1000).map(|_| random.below(10)).collect();
        assert!((0..10).all(|n| draws.contains(&n)) && draws.iter().all(|&n| n < 10));
    }
}
