// SPDX-License-Identifier: Apache-2.0
//! Tables with one LPM field: a trie for each value of the other fields.

use super::hash::ExactMap;
use super::key::{self, Word};
use super::trie::Trie;
use crate::schema::EntryKey;

#[derive(Clone, Debug)]
enum Tries {
    /// The field has up to 64 bits ...
    Narrow(Vec<Trie<u64>>),
    /// ... or more.
    Wide(Vec<Trie<u128>>),
}

#[derive(Clone, Debug)]
pub(crate) struct Lpm {
    tries: Tries,
    /// Index of the trie by the words of the other fields, if there are any.
    others: Option<ExactMap>,
    /// Tries that no value of the other fields uses.
    free: Vec<u32>,
    /// First word of the LPM field, and where its value begins.
    word: usize,
    shift: u32,
    scratch: Vec<u64>,
}

impl Lpm {
    pub fn new(words: &[Word], field: usize) -> Self {
        let own = || words.iter().filter(|w| w.field == field);
        let word = words.iter().position(|w| w.field == field).unwrap_or(0);
        let width = u32::from(words.get(word).map_or(1, |w| w.width));
        let others = words.len() - own().count();
        let (tries, bits) = if width <= 64 {
            (Tries::Narrow(vec![Trie::new()]), 64)
        } else {
            (Tries::Wide(vec![Trie::new()]), 128)
        };
        Lpm {
            tries,
            // Their words are not joined.
            others: (others > 0).then(|| ExactMap::new(64 * others as u32, others)),
            // The first trie is for all packets where there are no other fields.
            free: if others > 0 { vec![0] } else { Vec::new() },
            word,
            shift: bits - width,
            scratch: Vec::with_capacity(others),
        }
    }

    /// Takes room for so many entries.
    pub fn reserve(&mut self, entries: usize) {
        let Some(map) = &mut self.others else {
            return;
        };
        map.reserve(entries);
        super::reserve(&mut self.free, entries);
        match &mut self.tries {
            Tries::Narrow(tries) => super::reserve(tries, entries),
            Tries::Wide(tries) => super::reserve(tries, entries),
        }
    }

    /// The entry that a packet matches.
    #[inline]
    pub fn find(&mut self, words: &[Word], phv: &[u64]) -> Option<u32> {
        let trie = match &self.others {
            None => 0,
            Some(map) => {
                let field = words[self.word].field;
                self.scratch.clear();
                let others = words.iter().filter(|w| w.field != field);
                self.scratch.extend(others.map(|w| w.load(phv)));
                map.get(&self.scratch)? as usize
            }
        };
        let low = words[self.word].load(phv);
        match &self.tries {
            Tries::Narrow(tries) => tries[trie].find(low << self.shift),
            Tries::Wide(tries) => {
                let high = words[self.word + 1].load(phv);
                tries[trie].find((u128::from(high) << 64 | u128::from(low)) << self.shift)
            }
        }
    }

    pub fn insert(&mut self, words: &[Word], key: &EntryKey, entry: u32) {
        let trie = match &mut self.others {
            None => 0,
            Some(map) => {
                let others = key::other_words(words, key, words[self.word].field);
                match map.get(&others) {
                    Some(trie) => trie,
                    None => {
                        let trie = self.free.pop().unwrap_or_else(|| self.tries.add());
                        map.insert(&others, trie);
                        trie
                    }
                }
            }
        };
        let (value, length) = self.prefix(words, key);
        match &mut self.tries {
            Tries::Narrow(tries) => {
                tries[trie as usize].insert((value as u64) << self.shift, length, entry);
            }
            Tries::Wide(tries) => tries[trie as usize].insert(value << self.shift, length, entry),
        }
    }

    pub fn remove(&mut self, words: &[Word], key: &EntryKey) {
        let others = self
            .others
            .as_ref()
            .map(|map| (map, key::other_words(words, key, words[self.word].field)));
        let trie = match &others {
            None => 0,
            Some((map, words)) => match map.get(words) {
                Some(trie) => trie,
                None => return,
            },
        };
        let others = others.map(|(_, words)| words);
        let (value, length) = self.prefix(words, key);
        let is_empty = match &mut self.tries {
            Tries::Narrow(tries) => {
                let trie = &mut tries[trie as usize];
                trie.remove((value as u64) << self.shift, length);
                trie.is_empty()
            }
            Tries::Wide(tries) => {
                let trie = &mut tries[trie as usize];
                trie.remove(value << self.shift, length);
                trie.is_empty()
            }
        };
        if let (true, Some(map), Some(words)) = (is_empty, &mut self.others, others) {
            map.remove(&words);
            self.free.push(trie);
        }
    }

    /// The prefix under the field's static mask, and its length.
    fn prefix(&self, words: &[Word], key: &EntryKey) -> (u128, u32) {
        let (value, length) = key::prefix(key);
        let low = u128::from(words[self.word].mask);
        let mask = match &self.tries {
            Tries::Narrow(_) => low,
            Tries::Wide(_) => u128::from(words[self.word + 1].mask) << 64 | low,
        };
        (value & mask, u32::from(length))
    }
}

impl Tries {
    fn add(&mut self) -> u32 {
        let len = match self {
            Tries::Narrow(tries) => {
                tries.push(Trie::new());
                tries.len()
            }
            Tries::Wide(tries) => {
                tries.push(Trie::new());
                tries.len()
            }
        };
        len as u32 - 1
    }
}
