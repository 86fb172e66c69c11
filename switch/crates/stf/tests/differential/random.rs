// SPDX-License-Identifier: Apache-2.0
//! Seeded random numbers (splitmix64).

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `end` - 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// `low` to `high`, both included.
    pub fn within(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }

    /// A number of so many bits, with a liking for the ends.
    pub fn value(&mut self, width: u32) -> u128 {
        let all = u128::MAX >> (128 - width.min(128));
        let wide = u128::from(self.next()) << 64 | u128::from(self.next());
        match self.below(6) {
            0 => 0,
            1 => all,
            2 => all ^ (all >> 1),
            3 => all >> 1,
            _ => wide & all,
        }
    }
}
