// SPDX-License-Identifier: Apache-2.0
//! Lookups by priority: ternary, range and optional keys, mixed with others.
//!
//! A rule keeps a condition only for the words of the key that it restricts,
//! and is tried in order of priority. Where many rules demand one exact value
//! of the same word (a station's address, say), that word selects the rules
//! to try.

use super::hash::FoldHasher;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// `low <= (key[word] & mask) <= low + span`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub word: u16,
    pub mask: u64,
    pub low: u64,
    pub span: u64,
}

impl Condition {
    #[inline(always)]
    fn holds(&self, key: &[u64]) -> bool {
        (key[usize::from(self.word)] & self.mask).wrapping_sub(self.low) <= self.span
    }
}

#[derive(Clone, Debug)]
struct Rule {
    priority: i32,
    /// Order of insertion: of equal priorities the oldest wins.
    age: u64,
    entry: u32,
    conditions: Box<[Condition]>,
}

/// A rule laid out for the search.
#[derive(Clone, Copy, Debug)]
struct Hot {
    first: u32,
    count: u32,
    entry: u32,
}

/// The rules to try for one value of the selecting word.
type Bucket = Vec<Hot>;

/// Rules of fewer than this many are simply tried in turn.
const WORTH_SELECTING: usize = 12;

/// Entries of a table with priorities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    /// Best first.
    rules: Vec<Rule>,
    conditions: Vec<Condition>,
    /// Word whose value selects a bucket.
    selector: Option<u16>,
    buckets: HashMap<u64, Bucket, BuildHasherDefault<FoldHasher>>,
    /// For all other values.
    others: Bucket,
    /// Words that some condition looks at.
    used: Vec<u16>,
}

impl Rules {
    pub fn insert(&mut self, priority: i32, age: u64, entry: u32, conditions: Vec<Condition>) {
        let rule = Rule {
            priority,
            age,
            entry,
            conditions: conditions.into(),
        };
        let order = |r: &Rule| (std::cmp::Reverse(r.priority), r.age);
        let at = self.rules.partition_point(|r| order(r) < order(&rule));
        self.rules.insert(at, rule);
    }

    pub fn remove(&mut self, entry: u32) {
        self.rules.retain(|r| r.entry != entry);
    }

    /// The words of the key that a lookup needs.
    #[inline]
    pub fn used(&self) -> &[u16] {
        &self.used
    }

    /// The entry of the best rule that matches. Only the [`Rules::used`] words
    /// of `key` are read.
    #[inline]
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        let bucket = match self.selector {
            None => &self.others,
            Some(word) => self
                .buckets
                .get(&key[usize::from(word)])
                .unwrap_or(&self.others),
        };
        bucket
            .iter()
            .find(|hot| {
                let first = hot.first as usize;
                self.conditions[first..first + hot.count as usize]
                    .iter()
                    .all(|c| c.holds(key))
            })
            .map(|hot| hot.entry)
    }

    /// Lays the rules out for [`Rules::find`]; due after changes. `full` has
    /// all the bits that each word can have set.
    pub fn rebuild(&mut self, full: &[u64]) {
        self.conditions.clear();
        self.buckets.clear();
        self.others.clear();
        self.used.clear();
        self.selector = self.best_selector(full);
        let mut hot = Vec::with_capacity(self.rules.len());
        for rule in &self.rules {
            let first = self.conditions.len() as u32;
            self.conditions.extend(
                rule.conditions
                    .iter()
                    .filter(|c| Some(c.word) != self.selector || !exact(c, full)),
            );
            let count = self.conditions.len() as u32 - first;
            let demanded = self.selector.and_then(|w| demanded(rule, w, full));
            hot.push((
                Hot {
                    first,
                    count,
                    entry: rule.entry,
                },
                demanded,
            ));
        }
        for (_, demanded) in &hot {
            if let Some(value) = demanded {
                self.buckets.entry(*value).or_default();
            }
        }
        for (rule, demanded) in hot {
            match demanded {
                Some(value) => self.buckets.entry(value).or_default().push(rule),
                None => {
                    self.others.push(rule);
                    self.buckets
                        .values_mut()
                        .for_each(|bucket| bucket.push(rule));
                }
            }
        }
        self.used.extend(self.conditions.iter().map(|c| c.word));
        self.used.extend(self.selector);
        self.used.sort_unstable();
        self.used.dedup();
    }

    /// The word that the most rules demand an exact value of, if that saves
    /// more than it costs: rules without such a demand are in all buckets.
    fn best_selector(&self, full: &[u64]) -> Option<u16> {
        if self.rules.len() < WORTH_SELECTING {
            return None;
        }
        let mut exact_rules = vec![0usize; full.len()];
        for condition in self.rules.iter().flat_map(|r| &r.conditions) {
            if exact(condition, full) {
                exact_rules[usize::from(condition.word)] += 1;
            }
        }
        let (word, count) = exact_rules
            .into_iter()
            .enumerate()
            .max_by_key(|(_, count)| *count)?;
        let rest = self.rules.len() - count;
        (count >= self.rules.len() / 2 && rest * count <= 1 << 20).then_some(word as u16)
    }
}

fn exact(condition: &Condition, full: &[u64]) -> bool {
    condition.span == 0
        && condition.mask & full[usize::from(condition.word)] == full[usize::from(condition.word)]
}

fn demanded(rule: &Rule, word: u16, full: &[u64]) -> Option<u64> {
    rule.conditions
        .iter()
        .find(|c| c.word == word && exact(c, full))
        .map(|c| c.low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn condition() -> impl Strategy<Value = Condition> {
        (
            0u16..3,
            prop_oneof![Just(0xffu64), Just(0x0f), Just(0xf0)],
            0u64..256,
            0u64..3,
        )
            .prop_map(|(word, mask, low, span)| {
                if mask == 0xff {
                    Condition {
                        word,
                        mask,
                        low,
                        span,
                    }
                } else {
                    Condition {
                        word,
                        mask,
                        low: low & mask,
                        span: 0,
                    }
                }
            })
    }

    proptest! {
        #[test]
        fn the_best_rule_wins_whatever_the_layout(
            rules in prop::collection::vec((0i32..5, prop::collection::vec(condition(), 0..3)), 0..40),
            removed in prop::collection::vec(0u32..40, 0..8),
            keys in prop::collection::vec([0u64..8, 0u64..256, 0u64..256], 1..50),
        ) {
            let mut index = Rules::default();
            for (age, (priority, conditions)) in rules.iter().enumerate() {
                // Conditions on one word twice do not come from a key.
                let mut conditions = conditions.clone();
                conditions.sort_by_key(|c| c.word);
                conditions.dedup_by_key(|c| c.word);
                index.insert(*priority, age as u64, age as u32, conditions);
            }
            removed.iter().for_each(|entry| index.remove(*entry));
            index.rebuild(&[0xff, 0xff, 0xff]);
            for key in keys {
                let mut best: Option<(i32, usize)> = None;
                for (age, (priority, conditions)) in rules.iter().enumerate() {
                    let mut conditions = conditions.clone();
                    conditions.sort_by_key(|c| c.word);
                    conditions.dedup_by_key(|c| c.word);
                    let matches = conditions.iter().all(|c| {
                        let v = key[usize::from(c.word)] & c.mask;
                        v >= c.low && v <= c.low + c.span
                    });
                    if matches && !removed.contains(&(age as u32)) && best.is_none_or(|b| *priority > b.0) {
                        best = Some((*priority, age));
                    }
                }
                prop_assert_eq!(index.find(&key), best.map(|b| b.1 as u32));
            }
        }
    }
}
