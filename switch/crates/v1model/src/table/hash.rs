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

type Build = BuildHasherDefault<FoldHasher>;

/// From a key of one or more words to an entry.
#[derive(Clone, Debug)]
pub(crate) enum ExactMap {
    One(HashMap<u64, u32, Build>),
    Many(HashMap<Box<[u64]>, u32, Build>),
}

impl ExactMap {
    /// An empty map for keys of so many words.
    pub fn new(words: usize) -> Self {
        if words == 1 {
            ExactMap::One(HashMap::default())
        } else {
            ExactMap::Many(HashMap::default())
        }
    }

    #[inline]
    pub fn get(&self, key: &[u64]) -> Option<u32> {
        match self {
            ExactMap::One(map) => map.get(&key[0]).copied(),
            ExactMap::Many(map) => map.get(key).copied(),
        }
    }

    pub fn insert(&mut self, key: &[u64], entry: u32) {
        match self {
            ExactMap::One(map) => map.insert(key[0], entry),
            ExactMap::Many(map) => map.insert(key.into(), entry),
        };
    }

    pub fn remove(&mut self, key: &[u64]) {
        match self {
            ExactMap::One(map) => map.remove(&key[0]),
            ExactMap::Many(map) => map.remove(key),
        };
    }

    pub fn is_empty(&self) -> bool {
        match self {
            ExactMap::One(map) => map.is_empty(),
            ExactMap::Many(map) => map.is_empty(),
        }
    }
}
