// SPDX-License-Identifier: Apache-2.0
//! Exact lookups. Short keys are places in a list; for longer ones there is open addressing
//! with a short hash function.
//!
//! Clients choose the keys. If they knew the function, they could choose keys that all share one
//! home, and every later lookup would walk past all of them. So each map has a [`Secret`].
//!
//! A map that is full doubles, but not at once: packets would wait while a
//! million entries move. Every change moves a few, and meanwhile what is not
//! found is looked for in the old cells, too.

use std::hash::{BuildHasher, Hasher, RandomState};

/// An odd number near 2^64 / golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies and folds. The upper half of the product depends on all bits of the word.
#[inline(always)]
fn mix(word: u64, multiplier: u64) -> u64 {
    let product = u128::from(word) * u128::from(multiplier);
    (product as u64) ^ ((product >> 64) as u64)
}

/// An odd number that nobody outside knows. The homes of words depend on it, and nothing else
/// does: no result, no order and no packet. So runs are repeatable although it is drawn anew each
/// time. It does not come from the run's seed, because clients may know that one.
#[derive(Clone, Copy, Debug)]
struct Secret(u64);

impl Secret {
    fn new() -> Self {
        // Each state has other keys, which the operating system draws.
        Secret(RandomState::new().build_hasher().finish() | 1)
    }

    /// A hash of several words.
    #[inline(always)]
    fn hash(self, words: impl IntoIterator<Item = u64>) -> u64 {
        let words = words.into_iter();
        words.fold(0, |hash, word| mix(hash ^ word, self.0))
    }

    /// The cell where a search for a word begins.
    #[inline(always)]
    fn home(self, word: u64, mask: usize) -> usize {
        // Multiplied with the secret alone, words in a row would share few homes for some secrets.
        mix(word.wrapping_mul(self.0), GOLDEN) as usize & mask
    }
}

/// A word, and 1 + its entry; 0 is an empty cell.
type Cell = (u64, u32);

/// Marks an old cell whose entry was removed, or has moved out of order.
const DEAD: u32 = u32::MAX;
/// Old cells that a change moves. Two would do for the old cells to be gone
/// before the new ones are full.
const MOVED: usize = 16;
/// Old cells whose memory is given back at a time.
const RELEASED: usize = 4096;

/// From words to entries: linear probing, at most half full. Half a dozen
/// instructions per lookup. Where words are hashes of longer keys, the caller
/// says whether an entry is the one that it means.
#[derive(Clone, Debug)]
pub(crate) struct WordMap {
    /// The length is a power of two.
    cells: Vec<Cell>,
    used: usize,
    secret: Secret,
    /// While it grows.
    old: Option<Box<Old>>,
}

/// Cells that have not moved yet: those in front, none of which has its home
/// behind itself.
#[derive(Clone, Debug)]
struct Old {
    cells: Vec<Cell>,
    /// One less than the number of cells that there were.
    mask: usize,
}

impl Old {
    fn find(&self, secret: Secret, word: u64, is_it: impl Fn(u32) -> bool) -> Option<usize> {
        let mut at = secret.home(word, self.mask);
        loop {
            match *self.cells.get(at)? {
                (_, 0) => return None,
                (found, entry) if found == word && entry != DEAD && is_it(entry - 1) => {
                    return Some(at);
                }
                _ => at += 1,
            }
        }
    }
}

impl WordMap {
    pub fn new() -> Self {
        Self::with(Secret::new())
    }

    fn with(secret: Secret) -> Self {
        WordMap {
            cells: vec![(0, 0); 8],
            used: 0,
            secret,
            old: None,
        }
    }

    /// A word that stands for several ones, in this map.
    #[inline(always)]
    pub fn hash(&self, words: impl IntoIterator<Item = u64>) -> u64 {
        self.secret.hash(words)
    }

    /// The cell of the word, or the empty cell where it would be.
    #[inline(always)]
    fn cell(&self, word: u64, is_it: impl Fn(u32) -> bool) -> usize {
        let mask = self.cells.len() - 1;
        let mut at = self.secret.home(word, mask);
        loop {
            let (found, entry) = self.cells[at];
            if entry == 0 || (found == word && is_it(entry - 1)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The entry of a word that stands for itself.
    #[inline(always)]
    pub fn get(&self, word: u64) -> Option<u32> {
        self.find(word, |_| true)
    }

    /// The entry of a word that `is_it`.
    #[inline(always)]
    pub fn find(&self, word: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let entry = self.cells[self.cell(word, &is_it)].1;
        if entry == 0
            && let Some(old) = &self.old
        {
            return old
                .find(self.secret, word, is_it)
                .map(|at| old.cells[at].1 - 1);
        }
        entry.checked_sub(1)
    }

    /// Adds an entry that is not there yet.
    pub fn insert(&mut self, word: u64, entry: u32) {
        self.move_some();
        if 2 * (self.used + 1) > self.cells.len() {
            self.grow();
        }
        self.put(word, entry + 1);
    }

    fn put(&mut self, word: u64, entry: u32) {
        // Behind all others of the word.
        let at = self.cell(word, |_| false);
        self.cells[at] = (word, entry);
        self.used += 1;
    }

    /// Removes the entry of a word that `is_it`.
    pub fn remove(&mut self, word: u64, is_it: impl Fn(u32) -> bool) {
        self.move_some();
        let at = self.cell(word, &is_it);
        if self.cells[at].1 != 0 {
            self.close_gap(at);
        } else if let Some(old) = &mut self.old
            && let Some(at) = old.find(self.secret, word, is_it)
        {
            old.cells[at].1 = DEAD;
        }
    }

    /// Empties a cell, so that every word stays within reach of its home.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.cells.len() - 1;
        self.used -= 1;
        let mut at = gap;
        loop {
            self.cells[gap].1 = 0;
            // The next word that may not stay behind a gap.
            loop {
                at = (at + 1) & mask;
                let (other, entry) = self.cells[at];
                if entry == 0 {
                    return;
                }
                let reach = at.wrapping_sub(self.secret.home(other, mask)) & mask;
                if reach >= (at.wrapping_sub(gap) & mask) {
                    break;
                }
            }
            self.cells[gap] = self.cells[at];
            gap = at;
        }
    }

    fn grow(&mut self) {
        // Nothing is left: what moves is done long before this is full.
        while self.old.is_some() {
            self.move_some();
        }
        let size = 2 * self.cells.len();
        let mut cells = std::mem::replace(&mut self.cells, vec![(0, 0); size]);
        self.used = 0;
        // What the end had no room for is in front; there it would not be found.
        for cell in cells.iter_mut().take_while(|(_, entry)| *entry != 0) {
            self.put(cell.0, cell.1);
            cell.1 = DEAD;
        }
        let mask = cells.len() - 1;
        self.old = Some(Box::new(Old { cells, mask }));
    }

    fn move_some(&mut self) {
        let Some(mut old) = self.old.take() else {
            return;
        };
        for _ in 0..MOVED {
            match old.cells.pop() {
                None => return,
                Some((_, 0 | DEAD)) => {}
                Some((word, entry)) => self.put(word, entry),
            }
        }
        if old.cells.len() % RELEASED < MOVED {
            old.cells.shrink_to_fit();
        }
        self.old = Some(old);
    }
}

/// Bits of the longest key that is a place in a list: what has numbers, like ports and service
/// flows. Those in use stand close together there, and nothing is to be compared.
const SHORT: u32 = 16;

/// From a key to an entry.
#[derive(Clone, Debug)]
pub(crate) enum ExactMap {
    /// Keys of up to [`SHORT`] bits: 1 + the entry by key; 0 is none.
    Short(Vec<u32>),
    /// Keys of up to 64 bits, as one word.
    One(WordMap),
    /// Longer keys.
    Many(ManyMap),
}

/// From a key of several words to an entry: the words' hash is looked up.
#[derive(Clone, Debug)]
pub(crate) struct ManyMap {
    map: WordMap,
    /// Words of a key.
    words: usize,
    /// The keys, by entry.
    keys: Vec<u64>,
}

impl ManyMap {
    #[inline]
    pub fn get(&self, key: &[u64]) -> Option<u32> {
        self.map.find(self.word(key), |entry| self.has(entry, key))
    }

    #[inline(always)]
    fn word(&self, key: &[u64]) -> u64 {
        self.map.hash(key.iter().copied())
    }

    #[inline(always)]
    fn has(&self, entry: u32, key: &[u64]) -> bool {
        let first = entry as usize * self.words;
        self.keys[first..first + self.words] == *key
    }
}

impl ExactMap {
    /// An empty map for keys of so many bits in all, in so many words: in one if they fit.
    pub fn new(bits: u32, words: usize) -> Self {
        if bits <= SHORT {
            ExactMap::Short(Vec::new())
        } else if bits <= 64 {
            ExactMap::One(WordMap::new())
        } else {
            ExactMap::Many(ManyMap {
                map: WordMap::new(),
                words,
                keys: Vec::new(),
            })
        }
    }

    /// Sees to it that so many entries need no more room for their keys.
    pub fn reserve(&mut self, entries: usize) {
        if let ExactMap::Many(map) = self {
            super::reserve(&mut map.keys, entries.saturating_mul(map.words));
        }
    }

    /// The entry of a key.
    #[inline]
    pub fn get(&self, key: &[u64]) -> Option<u32> {
        match self {
            ExactMap::Short(entries) => entries.get(key[0] as usize)?.checked_sub(1),
            ExactMap::One(map) => map.get(key[0]),
            ExactMap::Many(map) => map.get(key),
        }
    }

    /// Adds an entry, whose key is not there yet.
    pub fn insert(&mut self, key: &[u64], entry: u32) {
        match self {
            ExactMap::Short(entries) => {
                let at = key[0] as usize;
                entries.resize(entries.len().max(at + 1), 0);
                entries[at] = entry + 1;
            }
            ExactMap::One(map) => map.insert(key[0], entry),
            ExactMap::Many(map) => {
                let end = (entry as usize + 1) * map.words;
                if map.keys.len() < end {
                    map.keys.resize(end, 0);
                }
                map.keys[end - map.words..end].copy_from_slice(key);
                let word = map.word(key);
                map.map.insert(word, entry);
            }
        }
    }

    pub fn remove(&mut self, key: &[u64]) {
        match self {
            ExactMap::Short(entries) => {
                if let Some(entry) = entries.get_mut(key[0] as usize) {
                    *entry = 0;
                }
            }
            ExactMap::One(map) => map.remove(key[0], |_| true),
            ExactMap::Many(map) => {
                let word = map.word(key);
                let (words, keys) = (map.words, &map.keys);
                map.map.remove(word, |entry| {
                    let first = entry as usize * words;
                    keys[first..first + words] == *key
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn a_word_map_is_a_map(steps in prop::collection::vec((0u8..4, 0u64..400), 0..900)) {
            let mut map = WordMap::new();
            let mut model = HashMap::new();
            for (step, key) in steps {
                // Keys that differ in upper bits only, too; some share their word.
                let word = if key % 2 == 0 { (key / 4) << 40 } else { key };
                let entry = key as u32;
                let is_it = |found: u32| found == entry;
                if step == 0 {
                    map.remove(word, is_it);
                    model.remove(&key);
                } else if model.insert(key, ()).is_none() {
                    map.insert(word, entry);
                }
                prop_assert_eq!(map.find(word, is_it).is_some(), model.contains_key(&key));
            }
            for key in 0..400u64 {
                let word = if key % 2 == 0 { (key / 4) << 40 } else { key };
                let found = map.find(word, |found| u64::from(found) == key);
                prop_assert_eq!(found.is_some(), model.contains_key(&key));
            }
        }

        #[test]
        fn a_map_of_keys_of_any_length_is_a_map(
            bits in prop_oneof![Just(SHORT), Just(64), Just(65)],
            steps in prop::collection::vec((0u8..3, 0u64..200), 0..500),
        ) {
            let mut map = ExactMap::new(bits, 2);
            let mut model = HashMap::new();
            let words = |key: u64| if bits == 65 { [key % 7, key / 7] } else { [key, 0] };
            for (step, key) in steps {
                let words = words(key);
                if step == 0 {
                    map.remove(&words);
                    model.remove(&key);
                } else if model.insert(key, ()).is_none() {
                    map.insert(&words, key as u32);
                }
            }
            for key in 0..200 {
                let found = map.get(&words(key));
                prop_assert_eq!(found, model.get(&key).map(|()| key as u32));
            }
        }
    }

    /// Words that would share a home if there were no secret.
    fn chosen(count: usize) -> Vec<u64> {
        let mask = 4 * count - 1;
        let words = (0..).filter(|word| mix(*word, GOLDEN) as usize & mask == 0);
        words.take(count).collect()
    }

    /// The most cells that a search for one of these words looks at.
    fn longest_search(map: &WordMap, words: &[u64]) -> usize {
        let mask = map.cells.len() - 1;
        let lengths = words.iter().map(|word| {
            let at = map.cell(*word, |_| true);
            at.wrapping_sub(map.secret.home(*word, mask)) & mask
        });
        lengths.max().unwrap_or(0) + 1
    }

    #[test]
    fn who_does_not_know_the_secret_cannot_choose_words_that_share_a_home() {
        let words = chosen(1024);
        for secret in [
            0xd1b5_4a32_d192_ed03,
            0x8cb9_2ba7_2f3d_8dd7,
            0x0123_4567_89ab_cdef,
        ] {
            let mut map = WordMap::with(Secret(secret));
            for (word, entry) in words.iter().zip(0..) {
                map.insert(*word, entry);
            }
            let longest = longest_search(&map, &words);
            assert!(longest < 100, "{longest} cells with the secret {secret:#x}");
        }
        // So many are in a row for those who know the function as a whole.
        let mut known = WordMap::with(Secret(1));
        words.iter().for_each(|word| known.insert(*word, 0));
        assert!(longest_search(&known, &words) > 500);
    }

    #[test]
    fn words_in_a_row_are_found_at_once_with_any_secret() {
        let words: Vec<u64> = (0..20_000).map(|n| 0x0a00_0000 + n).collect();
        for secret in 0..100u64 {
            let mut map = WordMap::with(Secret(mix(secret + 1, GOLDEN) | 1));
            for (word, entry) in words.iter().zip(0..) {
                map.insert(*word, entry);
            }
            let longest = longest_search(&map, &words);
            assert!(longest < 200, "{longest} cells with the secret {secret}");
        }
    }

    #[test]
    fn each_map_has_a_secret_of_its_own() {
        let secrets = [(); 3].map(|()| WordMap::new().secret.0);
        assert!(secrets.iter().all(|secret| secret % 2 == 1));
        assert!(secrets[0] != secrets[1] && secrets[1] != secrets[2]);
    }

    #[test]
    fn a_change_moves_a_few_cells_only() {
        let mut map = WordMap::with(Secret(0xd1b5_4a32_d192_ed03));
        let mut grew = 0;
        for n in 0..100_000u32 {
            let before = map.used;
            let was = map.cells.len();
            map.insert(u64::from(n) << 7, n);
            if map.cells.len() == was {
                assert!(map.used <= before + MOVED + 1);
            } else {
                // Half full: what stood in front of the first empty cell.
                assert!(map.used < 200, "{} moved at once", map.used);
                grew += 1;
            }
            assert_eq!(map.get(u64::from(n) << 7), Some(n));
        }
        assert_eq!(grew, 15);
        assert!(map.old.is_none(), "the old cells are gone long before");
        for n in 0..100_000u32 {
            assert_eq!(map.get(u64::from(n) << 7), Some(n));
        }
    }
}
