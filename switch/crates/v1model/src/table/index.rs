// SPDX-License-Identifier: Apache-2.0
//! Finds a packet's entry: one kind of search for each kind of key.

use super::hash::ExactMap;
use super::key::{self, Word};
use super::lpm::Lpm;
use super::rules::Rules;
use crate::schema::{EntryKey, MatchKind, TableSchema};

#[derive(Clone, Debug)]
enum Search {
    /// No key: always a miss.
    None,
    Exact(ExactMap),
    Lpm(Box<Lpm>),
    Priority(Box<Rules>),
}

/// The entries of a table by their keys.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    words: Vec<Word>,
    search: Search,
    scratch: Vec<u64>,
}

impl Index {
    pub fn new(schema: &TableSchema, words: Vec<Word>) -> Self {
        let lpm = schema.keys.iter().position(|k| k.kind == MatchKind::Lpm);
        let search = if schema.keys.is_empty() {
            Search::None
        } else if schema.needs_priority() {
            Search::Priority(Box::default())
        } else if let Some(field) = lpm {
            Search::Lpm(Box::new(Lpm::new(&words, field)))
        } else {
            let bits = words.iter().map(|word| u32::from(word.bits())).sum();
            Search::Exact(ExactMap::new(bits, words.len()))
        };
        Index {
            scratch: vec![0; words.len()],
            words,
            search,
        }
    }

    /// Takes room for so many entries.
    pub fn reserve(&mut self, entries: usize) {
        match &mut self.search {
            Search::None => {}
            Search::Exact(map) => map.reserve(entries),
            Search::Lpm(lpm) => lpm.reserve(entries),
            Search::Priority(rules) => rules.reserve(entries),
        }
    }

    /// The entry that a packet matches.
    #[inline]
    pub fn find(&mut self, phv: &[u64]) -> Option<u32> {
        match &mut self.search {
            Search::None => None,
            Search::Exact(ExactMap::Many(map)) => {
                for (word, to) in self.words.iter().zip(&mut self.scratch) {
                    *to = word.load(phv);
                }
                map.get(&self.scratch)
            }
            Search::Exact(map) => {
                let words = self.words.iter().map(|word| (word, word.load(phv)));
                map.get(&[key::joined(words)])
            }
            Search::Lpm(lpm) => lpm.find(&self.words, phv),
            Search::Priority(rules) => {
                for word in rules.used() {
                    let at = usize::from(*word);
                    self.scratch[at] = self.words[at].load(phv);
                }
                rules.find(&self.scratch)
            }
        }
    }

    /// Adds an entry, whose key is not there yet. Of equal priorities the
    /// lowest `age` wins.
    pub fn insert(&mut self, schema: &TableSchema, key: &EntryKey, age: u64, entry: u32) {
        let words = &self.words;
        match &mut self.search {
            Search::None => {}
            Search::Exact(map) => map.insert(&exact_key(words, map, key), entry),
            Search::Lpm(lpm) => lpm.insert(words, key, entry),
            Search::Priority(rules) => {
                let demands = key::demands(words, schema, key);
                rules.insert(key.priority, age, entry, demands);
            }
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &EntryKey, entry: u32) {
        let words = &self.words;
        match &mut self.search {
            Search::None => {}
            Search::Exact(map) => map.remove(&exact_key(words, map, key)),
            Search::Lpm(lpm) => lpm.remove(words, key),
            Search::Priority(rules) => rules.remove(entry),
        }
    }
}

/// An entry's key as the map has it.
fn exact_key(words: &[Word], map: &ExactMap, key: &EntryKey) -> Vec<u64> {
    let values = key::exact_words(words, key);
    match map {
        ExactMap::Many(_) => values,
        ExactMap::Short(_) | ExactMap::One(_) => {
            vec![key::joined(words.iter().zip(values))]
        }
    }
}
