// SPDX-License-Identifier: Apache-2.0
//! Exact lookups: hash maps with a short, fixed hash function.
//!
//! Keys come from the control plane, which is trusted, so the function need
//! not resist attacks; being fixed, it makes runs repeatable.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Multiplies and folds each 64-bit word.
#[derive(Clone, Default)]
pub(crate) struct FoldHasher(u64);

impl Hasher for FoldHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        // An odd multiplier near 2^64 / golden ratio; the upper half of the
        // product depends on all bits of the word.
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

pub(crate) type Build = BuildHasherDefault<FoldHasher>;

/// A map from one word to an entry: open addressing, linear probing, at most
/// half full. Half a dozen instructions per lookup.
#[derive(Clone, Debug)]
pub(crate) struct WordMap {
    /// Keys and 1 + entries; 0 is an empty cell. The length is a power of two.
    cells: Vec<(u64, u32)>,
    used: usize,
}

impl WordMap {
    fn new() -> Self {
        WordMap {
            cells: vec![(0, 0); 8],
            used: 0,
        }
    }

    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        let mut hasher = FoldHasher::default();
        hasher.write_u64(key);
        hasher.finish() as usize & (self.cells.len() - 1)
    }

    /// The cell of the key, or the empty cell where it would be.
    #[inline(always)]
    fn cell(&self, key: u64) -> usize {
        let mut at = self.home(key);
        loop {
            let (found, entry) = self.cells[at];
            if entry == 0 || found == key {
                return at;
            }
            at = (at + 1) & (self.cells.len() - 1);
        }
    }

    #[inline]
    pub fn get(&self, key: u64) -> Option<u32> {
        self.cells[self.cell(key)].1.checked_sub(1)
    }

    fn insert(&mut self, key: u64, entry: u32) {
        if 2 * (self.used + 1) > self.cells.len() {
            let size = 2 * self.cells.len();
            self.refill(size);
        }
        let at = self.cell(key);
        self.used += usize::from(self.cells[at].1 == 0);
        self.cells[at] = (key, entry + 1);
    }

    /// Closes the gap, so that every key stays within reach of its home.
    fn remove(&mut self, key: u64) {
        let mask = self.cells.len() - 1;
        let mut gap = self.cell(key);
        if self.cells[gap].1 == 0 {
            return;
        }
        self.used -= 1;
        let mut at = gap;
        loop {
            self.cells[gap].1 = 0;
            // The next key that may not stay behind a gap.
            loop {
                at = (at + 1) & mask;
                let (other, entry) = self.cells[at];
                if entry == 0 {
                    return;
                }
                let reach = at.wrapping_sub(self.home(other)) & mask;
                if reach >= (at.wrapping_sub(gap) & mask) {
                    break;
                }
            }
            self.cells[gap] = self.cells[at];
            gap = at;
        }
    }

    fn refill(&mut self, size: usize) {
        let old = std::mem::replace(&mut self.cells, vec![(0, 0); size]);
        self.used = 0;
        for (key, entry) in old.into_iter().filter(|(_, entry)| *entry != 0) {
            let at = self.cell(key);
            self.cells[at] = (key, entry);
            self.used += 1;
        }
    }
}

/// From a key of one or more words to an entry.
#[derive(Clone, Debug)]
pub(crate) enum ExactMap {
    One(WordMap),
    Many(HashMap<Box<[u64]>, u32, Build>),
}

impl ExactMap {
    /// An empty map for keys of so many words.
    pub fn new(words: usize) -> Self {
        if words == 1 {
            ExactMap::One(WordMap::new())
        } else {
            ExactMap::Many(HashMap::default())
        }
    }

    #[inline]
    pub fn get(&self, key: &[u64]) -> Option<u32> {
        match self {
            ExactMap::One(map) => map.get(key[0]),
            ExactMap::Many(map) => map.get(key).copied(),
        }
    }

    pub fn insert(&mut self, key: &[u64], entry: u32) {
        match self {
            ExactMap::One(map) => map.insert(key[0], entry),
            ExactMap::Many(map) => {
                map.insert(key.into(), entry);
            }
        }
    }

    pub fn remove(&mut self, key: &[u64]) {
        match self {
            ExactMap::One(map) => map.remove(key[0]),
            ExactMap::Many(map) => {
                map.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_map_is_a_map(steps in prop::collection::vec((any::<bool>(), 0u64..64, any::<u16>()), 0..300)) {
            let mut map = WordMap::new();
            let mut model = HashMap::new();
            for (insert, key, entry) in steps {
                // Keys that differ in upper bits only, too.
                let key = if key % 2 == 0 { key << 40 } else { key };
                if insert {
                    map.insert(key, u32::from(entry));
                    model.insert(key, u32::from(entry));
                } else {
                    map.remove(key);
                    model.remove(&key);
                }
                prop_assert_eq!(map.used, model.len());
            }
            for key in (0..64).flat_map(|k| [k, k << 40]) {
                prop_assert_eq!(map.get(key), model.get(&key).copied());
            }
        }
    }
}
