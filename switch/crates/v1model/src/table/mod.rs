// SPDX-License-Identifier: Apache-2.0
//! Match-action tables: entries, and the index that finds them.

mod hash;
mod key;
mod rules;

use crate::error::ControlError;
use crate::op::{Slot, mask_wide};
use crate::schema::{
    ActionCall, ActionSchema, CounterData, EntryAction, EntryKey, EntryOptions, Match, MatchKind,
    TableEntry, TableSchema,
};
use hash::ExactMap;
use key::{Word, words_of_key};
use rules::Rules;
use std::collections::HashMap;

/// Where a key field's value is in the packet-header vector.
#[derive(Clone, Debug)]
pub(crate) struct KeySource {
    pub slot: Slot,
    /// Slot of the validity of the field's header, which makes the value 0
    /// when it is 0; metadata has a constant 1 there.
    pub valid: Slot,
    pub width: u16,
    /// Static mask that the program puts on the field.
    pub mask: u128,
}

/// An action as the table's entries call it.
#[derive(Clone, Debug)]
struct Hot {
    /// Index into the table's actions.
    action: u16,
    /// The arguments, as they are put into the parameter slots.
    args: Box<[u64]>,
    counter: CounterData,
}

/// What a lookup finds.
pub(crate) struct Found<'a> {
    pub hit: bool,
    /// Index into the table's actions.
    pub action: u16,
    pub args: &'a [u64],
}

#[derive(Clone, Debug)]
struct Cold {
    key: EntryKey,
    age: u64,
}

/// Identifies an entry: the matches as numbers, and the priority.
type Canonical = (Vec<(u128, u128)>, i32);

#[derive(Clone, Debug)]
enum Index {
    /// No key: always a miss.
    None,
    Exact(ExactMap),
    /// By descending prefix length.
    Lpm(Vec<(u16, ExactMap)>),
    Priority(Box<Rules>),
}

/// A table's entries.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    words: Vec<Word>,
    /// All bits that each word can have.
    full: Vec<u64>,
    index: Index,
    /// The index of rules must be laid out again before the next lookup.
    stale: bool,
    hot: Vec<Hot>,
    cold: Vec<Option<Cold>>,
    free: Vec<u32>,
    by_key: HashMap<Canonical, u32>,
    default: Hot,
    initial_default: ActionCall,
    default_call: ActionCall,
    default_is_initial: bool,
    count: bool,
    next_age: u64,
    scratch: Vec<u64>,
    /// Index of the key's LPM field.
    lpm: Option<usize>,
}

impl Table {
    /// An empty table. `default` is the default entry that P4 gives.
    pub fn new(schema: &TableSchema, sources: &[KeySource], default: &ActionCall) -> Table {
        let words = words_of_key(sources);
        let lpm = schema.keys.iter().position(|k| k.kind == MatchKind::Lpm);
        let index = if schema.keys.is_empty() {
            Index::None
        } else if schema.needs_priority() {
            Index::Priority(Box::default())
        } else if lpm.is_some() {
            Index::Lpm(Vec::new())
        } else {
            Index::Exact(ExactMap::new(words.len()))
        };
        Table {
            full: words.iter().map(|w| w.mask).collect(),
            scratch: vec![0; words.len()],
            words,
            index,
            stale: false,
            hot: Vec::new(),
            cold: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            default: hot(schema, default),
            initial_default: default.clone(),
            default_call: default.clone(),
            default_is_initial: true,
            count: schema.direct_counter,
            next_age: 0,
            lpm,
        }
    }

    // --- packets -----------------------------------------------------------

    /// Looks a packet up and counts it (`bytes` long).
    // In the machine's loop it would take the registers that the loop needs.
    #[inline(never)]
    pub fn lookup(&mut self, phv: &[u64], bytes: u64) -> Found<'_> {
        let entry = match &mut self.index {
            Index::None => None,
            Index::Exact(ExactMap::One(map)) => map.get(self.words[0].load(phv)),
            Index::Exact(map) => {
                load_all(&self.words, phv, &mut self.scratch);
                map.get(&self.scratch)
            }
            Index::Lpm(levels) => {
                load_all(&self.words, phv, &mut self.scratch);
                let lpm = self.lpm.unwrap_or(0);
                levels.iter().find_map(|(length, map)| {
                    // Descending lengths: what one length cuts off, the
                    // shorter ones would cut off as well.
                    key::cut_prefix(&self.words, lpm, *length, &mut self.scratch);
                    map.get(&self.scratch)
                })
            }
            Index::Priority(rules) => {
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
        };
        let hot = match entry {
            Some(entry) => &mut self.hot[entry as usize],
            None => &mut self.default,
        };
        if self.count {
            hot.counter.packets += 1;
            hot.counter.bytes += bytes;
        }
        Found {
            hit: entry.is_some(),
            action: hot.action,
            args: &hot.args,
        }
    }

    // --- control -----------------------------------------------------------

    pub fn insert(
        &mut self,
        schema: &TableSchema,
        actions: &[ActionSchema],
        key: &EntryKey,
        action: &ActionCall,
    ) -> Result<(), ControlError> {
        if schema.const_entries {
            return Err(ControlError::Const {
                table: schema.name.clone(),
            });
        }
        self.insert_unchecked(schema, actions, key, action)
    }

    /// Like [`Table::insert`], also for const entries.
    pub fn insert_unchecked(
        &mut self,
        schema: &TableSchema,
        actions: &[ActionSchema],
        key: &EntryKey,
        action: &ActionCall,
    ) -> Result<(), ControlError> {
        key::check(schema, key)?;
        check_action(schema, actions, action)?;
        let canonical = canonical(schema, key);
        if self.by_key.contains_key(&canonical) {
            return Err(ControlError::EntryExists {
                table: schema.name.clone(),
            });
        }
        if self.by_key.len() >= schema.size {
            return Err(ControlError::TableFull {
                table: schema.name.clone(),
                size: schema.size,
            });
        }
        let new = hot(schema, action);
        let cold = Some(Cold {
            key: key.clone(),
            age: self.next_age,
        });
        let entry = match self.free.pop() {
            Some(entry) => {
                self.hot[entry as usize] = new;
                self.cold[entry as usize] = cold;
                entry
            }
            None => {
                self.hot.push(new);
                self.cold.push(cold);
                self.hot.len() as u32 - 1
            }
        };
        let words = &self.words;
        match &mut self.index {
            Index::None => {}
            Index::Exact(map) => map.insert(&key::exact_words(words, key), entry),
            Index::Lpm(levels) => {
                let length = key::prefix_len(key);
                let at = levels.partition_point(|(l, _)| *l > length);
                if levels.get(at).is_none_or(|(l, _)| *l != length) {
                    levels.insert(at, (length, ExactMap::new(words.len())));
                }
                levels[at].1.insert(&key::exact_words(words, key), entry);
            }
            Index::Priority(rules) => {
                let conditions = key::conditions(words, schema, key);
                rules.insert(key.priority, self.next_age, entry, conditions);
                self.stale = true;
            }
        }
        self.next_age += 1;
        self.by_key.insert(canonical, entry);
        Ok(())
    }

    pub fn modify(
        &mut self,
        schema: &TableSchema,
        actions: &[ActionSchema],
        key: &EntryKey,
        action: &ActionCall,
    ) -> Result<(), ControlError> {
        if schema.const_entries {
            return Err(ControlError::Const {
                table: schema.name.clone(),
            });
        }
        check_action(schema, actions, action)?;
        let entry = self.find(schema, key)?;
        let counter = self.hot[entry].counter;
        self.hot[entry] = Hot {
            counter,
            ..hot(schema, action)
        };
        Ok(())
    }

    pub fn delete(&mut self, schema: &TableSchema, key: &EntryKey) -> Result<(), ControlError> {
        if schema.const_entries {
            return Err(ControlError::Const {
                table: schema.name.clone(),
            });
        }
        let at = self.find(schema, key)?;
        let entry = at as u32;
        let words = &self.words;
        match &mut self.index {
            Index::None => {}
            Index::Exact(map) => map.remove(&key::exact_words(words, key)),
            Index::Lpm(levels) => {
                let length = key::prefix_len(key);
                if let Some((_, map)) = levels.iter_mut().find(|(l, _)| *l == length) {
                    map.remove(&key::exact_words(words, key));
                }
                levels.retain(|(_, map)| !map.is_empty());
            }
            Index::Priority(rules) => {
                rules.remove(entry);
                self.stale = true;
            }
        }
        self.by_key.remove(&canonical(schema, key));
        self.cold[at] = None;
        self.free.push(entry);
        Ok(())
    }

    pub fn entry(&self, schema: &TableSchema, key: &EntryKey) -> Result<TableEntry, ControlError> {
        let at = self.find(schema, key)?;
        Ok(self.read(schema, at, key.clone()))
    }

    /// In the order of insertion.
    pub fn entries(&self, schema: &TableSchema) -> Vec<TableEntry> {
        let mut listed: Vec<(u64, usize)> = self
            .cold
            .iter()
            .enumerate()
            .filter_map(|(at, cold)| cold.as_ref().map(|c| (c.age, at)))
            .collect();
        listed.sort_unstable();
        listed
            .into_iter()
            .filter_map(|(_, at)| {
                self.cold[at]
                    .as_ref()
                    .map(|cold| self.read(schema, at, cold.key.clone()))
            })
            .collect()
    }

    pub fn set_default(
        &mut self,
        schema: &TableSchema,
        actions: &[ActionSchema],
        action: Option<&ActionCall>,
    ) -> Result<(), ControlError> {
        if schema.const_default {
            return Err(ControlError::Const {
                table: schema.name.clone(),
            });
        }
        let call = action.unwrap_or(&self.initial_default).clone();
        check_action(schema, actions, &call)?;
        let counter = self.default.counter;
        self.default = Hot {
            counter,
            ..hot(schema, &call)
        };
        self.default_call = call;
        self.default_is_initial = action.is_none();
        Ok(())
    }

    pub fn default_entry(&self) -> (ActionCall, bool) {
        (self.default_call.clone(), self.default_is_initial)
    }

    /// The direct counter of an entry, or of the default entry.
    pub fn counter_mut(
        &mut self,
        schema: &TableSchema,
        key: Option<&EntryKey>,
    ) -> Result<&mut CounterData, ControlError> {
        if !self.count {
            let what = format!("direct counter of table {}", schema.name);
            return Err(ControlError::UnknownObject { what });
        }
        match key {
            None => Ok(&mut self.default.counter),
            Some(key) => {
                let at = self.find(schema, key)?;
                Ok(&mut self.hot[at].counter)
            }
        }
    }

    /// The direct counter of an entry, or of the default entry.
    pub fn counter(
        &self,
        schema: &TableSchema,
        key: Option<&EntryKey>,
    ) -> Result<CounterData, ControlError> {
        if !self.count {
            let what = format!("direct counter of table {}", schema.name);
            return Err(ControlError::UnknownObject { what });
        }
        match key {
            None => Ok(self.default.counter),
            Some(key) => Ok(self.hot[self.find(schema, key)?].counter),
        }
    }

    fn find(&self, schema: &TableSchema, key: &EntryKey) -> Result<usize, ControlError> {
        key::check(schema, key)?;
        match self.by_key.get(&canonical(schema, key)) {
            Some(entry) => Ok(*entry as usize),
            None => Err(ControlError::EntryNotFound {
                table: schema.name.clone(),
            }),
        }
    }

    fn read(&self, schema: &TableSchema, at: usize, key: EntryKey) -> TableEntry {
        let hot = &self.hot[at];
        TableEntry {
            key,
            action: EntryAction::Call(ActionCall {
                action: schema.actions[usize::from(hot.action)],
                args: hot.args.chunks_exact(2).map(|w| join(w[0], w[1])).collect(),
            }),
            counter: self.count.then_some(hot.counter),
            meter: None,
            options: EntryOptions::default(),
            last_hit_ns: 0,
        }
    }
}

fn load_all(words: &[Word], phv: &[u64], key: &mut [u64]) {
    for (word, to) in words.iter().zip(key) {
        *to = word.load(phv);
    }
}

fn join(low: u64, high: u64) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// Every argument takes two words, so that they are found without a schema.
fn hot(schema: &TableSchema, call: &ActionCall) -> Hot {
    let action = schema
        .actions
        .iter()
        .position(|a| *a == call.action)
        .unwrap_or(0);
    let args = call
        .args
        .iter()
        .flat_map(|a| [*a as u64, (*a >> 64) as u64])
        .collect();
    Hot {
        action: action as u16,
        args,
        counter: CounterData::default(),
    }
}

fn check_action(
    schema: &TableSchema,
    actions: &[ActionSchema],
    call: &ActionCall,
) -> Result<(), ControlError> {
    let invalid = |reason: String| {
        Err(ControlError::InvalidAction {
            table: schema.name.clone(),
            reason,
        })
    };
    let Some(action) = actions.get(call.action.0 as usize) else {
        return invalid(format!("there is no action {}", call.action.0));
    };
    if !schema.actions.contains(&call.action) {
        return invalid(format!(
            "the table does not have the action {}",
            action.name
        ));
    }
    if action.params.len() != call.args.len() {
        return invalid(format!(
            "the action {} has {} parameters, not {}",
            action.name,
            action.params.len(),
            call.args.len()
        ));
    }
    for (param, arg) in action.params.iter().zip(&call.args) {
        key::check_width(*arg, param.width, || {
            format!("parameter {} of action {}", param.name, action.name)
        })?;
    }
    Ok(())
}

fn canonical(schema: &TableSchema, key: &EntryKey) -> Canonical {
    let fields = schema.keys.iter().zip(&key.matches);
    let numbers = fields.map(|(field, m)| match *m {
        // The same entry, whether it is put as ternary or as optional.
        Match::Exact(value) | Match::Optional(Some(value)) => (value, mask_wide(field.width)),
        Match::Optional(None) => (0, 0),
        Match::Lpm { value, prefix_len } => (value, u128::from(prefix_len)),
        Match::Ternary { value, mask } => (value, mask),
        Match::Range { low, high } => (low, high),
    });
    (numbers.collect(), key.priority)
}
