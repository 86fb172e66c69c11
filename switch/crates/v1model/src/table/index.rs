// SPDX-License-Identifier: Apache-2.0
//! Finds a packet's entry: one kind of search for each kind of key.

use super::hash::ExactMap;
use super::key::{self, Word};
use super::rules::Rules;
use crate::schema::{EntryKey, MatchKind, TableSchema};

#[derive(Clone, Debug)]
enum Search {
    /// No key: always a miss.
    None,
    Exact(ExactMap),
    /// By descending prefix length.
    Lpm(Vec<(u16, ExactMap)>),
    Priority(Box<Rules>),
}

/// The entries of a table by their keys.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    words: Vec<Word>,
    /// All bits that each word can have.
    full: Vec<u64>,
    search: Search,
    /// The index of rules must be laid out again before the next lookup.
    stale: bool,
    scratch: Vec<u64>,
    /// Index of the key's LPM field.
    lpm: usize,
}

impl Index {
    pub fn new(schema: &TableSchema, words: Vec<Word>) -> Self {
        let lpm = schema.keys.iter().position(|k| k.kind == MatchKind::Lpm);
        let search = if schema.keys.is_empty() {
            Search::None
        } else if schema.needs_priority() {
            Search::Priority(Box::default())
        } else if lpm.is_some() {
            Search::Lpm(Vec::new())
        } else {
            Search::Exact(ExactMap::new(words.len()))
        };
        Index {
            full: words.iter().map(|w| w.mask).collect(),
            scratch: vec![0; words.len()],
            words,
            search,
            stale: false,
            lpm: lpm.unwrap_or(0),
        }
    }

    /// The entry that a packet matches.
    #[inline]
    pub fn find(&mut self, phv: &[u64]) -> Option<u32> {
        match &mut self.search {
            Search::None => None,
            Search::Exact(ExactMap::One(map)) => map.get(self.words[0].load(phv)),
            Search::Exact(map) => {
                load_all(&self.words, phv, &mut self.scratch);
                map.get(&self.scratch)
            }
            Search::Lpm(levels) => {
                load_all(&self.words, phv, &mut self.scratch);
                levels.iter().find_map(|(length, map)| {
                    // Descending lengths: what one length cuts off, the
                    // shorter ones would cut off as well.
                    key::cut_prefix(&self.words, self.lpm, *length, &mut self.scratch);
                    map.get(&self.scratch)
                })
            }
            Search::Priority(rules) => {
                if self.stale {
                    rules.rebuild(&self.full);
                    self.stale = false;
                }
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
            Search::Exact(map) => map.insert(&key::exact_words(words, key), entry),
            Search::Lpm(levels) => {
                let length = key::prefix_len(key);
                let at = levels.partition_point(|(l, _)| *l > length);
                if levels.get(at).is_none_or(|(l, _)| *l != length) {
                    levels.insert(at, (length, ExactMap::new(words.len())));
                }
                levels[at].1.insert(&key::exact_words(words, key), entry);
            }
            Search::Priority(rules) => {
                let conditions = key::conditions(words, schema, key);
                rules.insert(key.priority, age, entry, conditions);
                self.stale = true;
            }
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &EntryKey, entry: u32) {
        let words = &self.words;
        match &mut self.search {
            Search::None => {}
            Search::Exact(map) => map.remove(&key::exact_words(words, key)),
            Search::Lpm(levels) => {
                let length = key::prefix_len(key);
                if let Some((_, map)) = levels.iter_mut().find(|(l, _)| *l == length) {
                    map.remove(&key::exact_words(words, key));
                }
                levels.retain(|(_, map)| !map.is_empty());
            }
            Search::Priority(rules) => {
                rules.remove(entry);
                self.stale = true;
            }
        }
    }
}

fn load_all(words: &[Word], phv: &[u64], key: &mut [u64]) {
    for (word, to) in words.iter().zip(key) {
        *to = word.load(phv);
    }
}
