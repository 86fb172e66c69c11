// SPDX-License-Identifier: Apache-2.0
//! Lookups by priority: ternary, range and optional keys, mixed with others.
//!
//! Bit vectors: for every four bits of the key that some rule looks at, and
//! each of their sixteen values, the set of the rules that take this value.
//! The intersection of the sets that a packet's key selects has the rules that
//! match it, but for ranges, which are looked at again. A lookup costs the
//! same whatever the masks are, and a change a few hundred instructions.

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

    /// Whether four bits may have a value, as far as they tell alone.
    fn allows(&self, shift: u32, value: u64) -> bool {
        if self.mask >> shift & 0xf == 0 {
            return true;
        }
        let high = self.low.wrapping_add(self.span);
        if self.span == 0 {
            return ((value << shift) ^ self.low) & self.mask & (0xf << shift) == 0;
        }
        let above = |v: u64| v.checked_shr(shift + 4).unwrap_or(0);
        let here = |v: u64| v >> shift & 0xf;
        above(self.low) != above(high) || (here(self.low)..=here(high)).contains(&value)
    }
}

/// `low <= key <= high` for a field of two words, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WideRange {
    pub word: u16,
    pub low: u128,
    pub high: u128,
}

impl WideRange {
    fn holds(&self, key: &[u64]) -> bool {
        let at = usize::from(self.word);
        let value = u128::from(key[at + 1]) << 64 | u128::from(key[at]);
        (self.low..=self.high).contains(&value)
    }
}

/// What a rule demands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demands {
    /// In the order of the words, one for each at most.
    pub conditions: Vec<Condition>,
    pub wide_ranges: Vec<WideRange>,
}

/// 64-bit words of a set of rules: one cache line.
const WORDS: usize = 8;
/// Rules of a block.
const BLOCK: usize = 64 * WORDS;

type Set = [u64; WORDS];

/// After so many columns a block whose rules are all out is left.
const COLUMNS_A_LOOK: usize = 4;

#[derive(Clone, Debug)]
struct Rule {
    /// Lowest first: the inverted priority, then the order of insertion, since
    /// of equal priorities the oldest wins.
    rank: (i32, u64),
    entry: u32,
    /// The conditions that the sets do not tell.
    ranges: Box<[Condition]>,
    wide_ranges: Box<[WideRange]>,
}

impl Rule {
    #[inline]
    fn holds(&self, key: &[u64]) -> bool {
        self.ranges.iter().all(|r| r.holds(key)) && self.wide_ranges.iter().all(|r| r.holds(key))
    }
}

/// Up to 512 rules.
#[derive(Clone, Debug)]
struct Block {
    /// Places that have a rule.
    live: Set,
    /// Sixteen sets for each column up to the last that a rule of the block
    /// looks at: a new column is no work for other blocks.
    sets: Vec<Set>,
}

/// Four bits of the key.
#[derive(Clone, Copy, Debug)]
struct Column {
    word: u16,
    shift: u8,
}

/// Columns of a word.
const COLUMNS_A_WORD: usize = 16;

impl Column {
    /// Its place in the key.
    fn number(self) -> usize {
        usize::from(self.word) * COLUMNS_A_WORD + usize::from(self.shift / 4)
    }
}

/// Entries of a table with priorities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    columns: Vec<Column>,
    /// 1 + the place of each column among `columns`, by its place in the key; 0 where it has none.
    column_places: Vec<u32>,
    blocks: Vec<Block>,
    /// By place.
    rules: Vec<Rule>,
    free: Vec<u32>,
    /// Place of each entry.
    places: Vec<u32>,
    /// Words that some condition looks at.
    used: Vec<u16>,
}

impl Rules {
    pub fn insert(&mut self, priority: i32, age: u64, entry: u32, demands: Demands) {
        debug_assert!(demands.conditions.is_sorted_by(|a, b| a.word < b.word));
        let words = demands.conditions.iter().map(|c| c.word);
        let wide = demands
            .wide_ranges
            .iter()
            .flat_map(|r| [r.word, r.word + 1]);
        for word in words.chain(wide) {
            if !self.used.contains(&word) {
                self.used.push(word);
            }
        }
        // The columns that this rule's block needs.
        let mut columns = 0;
        for condition in &demands.conditions {
            for shift in (0..64).step_by(4) {
                let column = Column {
                    word: condition.word,
                    shift: shift as u8,
                };
                let decides = (0..16).any(|value| !condition.allows(shift, value));
                if decides {
                    columns = columns.max(self.column(column));
                }
            }
        }
        let place = self.free.pop().unwrap_or(self.rules.len() as u32) as usize;
        let (block, word, bit) = (place / BLOCK, place % BLOCK / 64, 1 << (place % 64));
        if block == self.blocks.len() {
            self.blocks.push(Block {
                live: [0; WORDS],
                sets: Vec::new(),
            });
        }
        let block = &mut self.blocks[block];
        if block.sets.len() < 16 * columns {
            // Those that the block had so far do not look at them.
            block.sets.resize(16 * columns, [u64::MAX; WORDS]);
        }
        for (column, sets) in self.columns.iter().zip(block.sets.chunks_exact_mut(16)) {
            let conditions = &demands.conditions;
            let own = conditions.binary_search_by_key(&column.word, |c| c.word);
            let own = own.ok().map(|at| &conditions[at]);
            for (value, set) in sets.iter_mut().enumerate() {
                if own.is_none_or(|c| c.allows(u32::from(column.shift), value as u64)) {
                    set[word] |= bit;
                } else {
                    set[word] &= !bit;
                }
            }
        }
        block.live[word] |= bit;
        let ranges = demands.conditions.into_iter().filter(|c| c.span != 0);
        let rule = Rule {
            rank: (!priority, age),
            entry,
            ranges: ranges.collect(),
            wide_ranges: demands.wide_ranges.into(),
        };
        match self.rules.get_mut(place) {
            Some(old) => *old = rule,
            None => self.rules.push(rule),
        }
        if self.places.len() <= entry as usize {
            self.places.resize(entry as usize + 1, 0);
        }
        self.places[entry as usize] = place as u32;
    }

    /// 1 + the place of a column, which gets one now if it has none.
    fn column(&mut self, column: Column) -> usize {
        let number = column.number();
        if self.column_places.len() <= number {
            self.column_places.resize(number + 1, 0);
        }
        let place = &mut self.column_places[number];
        if *place == 0 {
            self.columns.push(column);
            *place = self.columns.len() as u32;
        }
        *place as usize
    }

    /// Takes room for so many rules.
    pub fn reserve(&mut self, rules: usize) {
        super::reserve(&mut self.rules, rules);
        super::reserve(&mut self.places, rules);
        super::reserve(&mut self.free, rules);
        super::reserve(&mut self.blocks, rules.div_ceil(BLOCK));
    }

    /// Removes an entry that was inserted.
    pub fn remove(&mut self, entry: u32) {
        let place = self.places[entry as usize] as usize;
        self.blocks[place / BLOCK].live[place % BLOCK / 64] &= !(1 << (place % 64));
        let rule = &mut self.rules[place];
        (rule.ranges, rule.wide_ranges) = Default::default();
        self.free.push(place as u32);
        if self.free.len() == self.rules.len() {
            // Columns that nobody looks at any more are forgotten.
            self.columns.clear();
            self.column_places.clear();
            self.used.clear();
            self.blocks.clear();
            self.rules.clear();
            self.free.clear();
        }
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
        // A modem's classifiers, a lab's rules: a word for each set; those of a neighbourhood.
        match self.rules.len().div_ceil(64) {
            0..=1 => self.find_among::<1>(key),
            2..=4 => self.find_among::<4>(key),
            _ => self.find_among::<WORDS>(key),
        }
    }

    /// The same where no block has rules in more than `N` words.
    #[inline]
    fn find_among<const N: usize>(&self, key: &[u64]) -> Option<u32> {
        let mut best: Option<&Rule> = None;
        for (block, rules) in self.blocks.iter().zip(self.rules.chunks(BLOCK)) {
            let mut found = [0; N];
            found.copy_from_slice(&block.live[..N]);
            let columns = self.columns.iter().zip(block.sets.chunks_exact(16));
            for (n, (column, sets)) in columns.enumerate() {
                let value = key[usize::from(column.word)] >> column.shift & 0xf;
                let set = &sets[value as usize];
                for (found, set) in found.iter_mut().zip(set) {
                    *found &= set;
                }
                // Rules of many modems: an exact key leaves most blocks without any.
                if N > 1 && n % COLUMNS_A_LOOK == COLUMNS_A_LOOK - 1 && found == [0; N] {
                    break;
                }
            }
            for (at, mut bits) in found.into_iter().enumerate() {
                while bits != 0 {
                    let rule = &rules[64 * at + bits.trailing_zeros() as usize];
                    bits &= bits - 1;
                    if best.is_none_or(|best| rule.rank < best.rank) && rule.holds(key) {
                        best = Some(rule);
                    }
                }
            }
        }
        best.map(|rule| rule.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn condition() -> impl Strategy<Value = Condition> {
        (
            0u16..3,
            prop_oneof![Just(0xffu64), Just(0x0f), Just(0xf0), Just(0x5a)],
            0u64..256,
            prop_oneof![0u64..3, 0u64..256],
        )
            .prop_map(|(word, mask, low, span)| {
                let (low, span) = if mask == 0xff {
                    (low, span.min(255 - low))
                } else {
                    (low & mask, 0)
                };
                Condition {
                    word,
                    mask,
                    low,
                    span,
                }
            })
    }

    fn rule() -> impl Strategy<Value = (i32, Vec<Condition>)> {
        (0i32..5, prop::collection::vec(condition(), 0..3)).prop_map(|(priority, mut all)| {
            // Conditions on one word twice do not come from a key.
            all.sort_by_key(|c| c.word);
            all.dedup_by_key(|c| c.word);
            (priority, all)
        })
    }

    /// 60 modems of 20 classifiers, in three blocks.
    #[test]
    fn blocks_without_a_rule_are_left() {
        let mut index = Rules::default();
        for entry in 0..1200u32 {
            let (modem, rule) = (u64::from(entry / 20), u64::from(entry % 20));
            let exact = Condition {
                word: 0,
                mask: 0xffff,
                low: modem,
                span: 0,
            };
            // Ports from the rule's number on.
            let ports = Condition {
                word: 1,
                mask: 0xffff,
                low: rule,
                span: 0xffff - rule,
            };
            let demands = Demands {
                conditions: vec![exact, ports],
                ..Demands::default()
            };
            index.insert(rule as i32, u64::from(entry), entry, demands);
        }
        for modem in 0..62u64 {
            for port in 0..25u64 {
                let best = (modem < 60).then_some((modem * 20 + port.min(19)) as u32);
                assert_eq!(
                    index.find(&[modem, port]),
                    best,
                    "modem {modem} port {port}"
                );
            }
        }
        for entry in 0..20 {
            index.remove(entry);
        }
        assert_eq!(index.find(&[0, 5]), None);
        assert_eq!(index.find(&[59, 5]), Some(59 * 20 + 5));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_best_rule_wins(
            steps in prop::collection::vec((rule(), any::<bool>(), 0usize..40), 0..700),
            keys in prop::collection::vec([0u64..256, 0u64..256, 0u64..256], 1..50),
        ) {
            let mut index = Rules::default();
            let mut model: Vec<(u32, i32, u64, Vec<Condition>)> = Vec::new();
            let mut free: Vec<u32> = (0..700).rev().collect();
            for (age, ((priority, conditions), removal, which)) in steps.into_iter().enumerate() {
                if removal && !model.is_empty() {
                    let (entry, ..) = model.remove(which % model.len());
                    index.remove(entry);
                    free.push(entry);
                    continue;
                }
                let Some(entry) = free.pop() else { continue };
                let demands = Demands { conditions: conditions.clone(), ..Demands::default() };
                index.insert(priority, age as u64, entry, demands);
                model.push((entry, priority, age as u64, conditions));
            }
            for key in keys {
                let matching = model.iter().filter(|(.., all)| all.iter().all(|c| {
                    let v = key[usize::from(c.word)] & c.mask;
                    v >= c.low && v <= c.low + c.span
                }));
                let best = matching.min_by_key(|(_, priority, age, _)| (-priority, *age));
                prop_assert_eq!(index.find(&key), best.map(|b| b.0));
            }
        }
    }
}
