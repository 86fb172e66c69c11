// SPDX-License-Identifier: Apache-2.0
//! Match-action tables: the entries as packets meet them. What the control
//! plane does with them is in `control`, how they are found in `index`.

mod apply;
mod calls;
mod control;
mod hash;
mod idle;
mod index;
mod key;
mod lpm;
mod places;
mod profile;
mod rules;
mod trie;

pub(crate) use apply::{Frame, lookup_with};
pub(crate) use control::{Context, View};
pub(crate) use idle::Next;
pub(crate) use profile::{Profile, Target};

use crate::meter;
use crate::op::Slot;
use crate::schema::{
    ActionCall, ActionSchema, CounterData, EntryKey, EntryOptions, Match, TableSchema,
};
use calls::Calls;
use hash::WordMap;
use idle::Idle;
use index::Index;
use key::words_of_key;

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

/// What a lookup finds.
pub(crate) struct Found<'a> {
    pub hit: bool,
    /// Index into the table's actions; one past the last is no action at all.
    pub action: u16,
    pub args: &'a [u64],
}

/// What packets do not need of an entry.
#[derive(Clone, Debug)]
struct Cold {
    key: EntryKey,
    age: u64,
    /// The idle timeout and the metadata, where there are any.
    options: Option<Box<EntryOptions>>,
}

/// The place of the default entry among the entries.
const DEFAULT: u32 = 0;

/// How many bytes an allocator takes besides those that it gives.
const ALLOCATION: usize = 16;

/// What finds an entry by its key, for packets and for the control plane, takes at most so many
/// bytes for each: lists that are at most half full, lists of free places, nodes of a trie.
const INDEX: usize = 256;

/// A table's entries. Place 0 is the default entry's.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    index: Index,
    /// What the entries do. In a table with an action profile, a single word
    /// that refers to the profile ([`Target`]).
    calls: Calls,
    targets: Vec<u64>,
    counters: Vec<CounterData>,
    meters: Vec<meter::Cell>,
    idle: Option<Box<Idle>>,
    cold: Vec<Option<Cold>>,
    free: Vec<u32>,
    /// By a hash of the key.
    by_key: WordMap,
    /// Bytes of memory that a place takes.
    place_bytes: usize,
    /// Bytes of memory that idle timeouts and metadata take.
    options_bytes: usize,
    /// Entries without the default entry.
    len: usize,
    /// Most of them.
    size: usize,
    /// The entries are P4's and stay.
    is_const: bool,
    initial_default: Option<ActionCall>,
    default_is_initial: bool,
    next_age: u64,
    // What the schema says, for the packets' sake.
    is_counted: bool,
    is_metered: bool,
    is_indirect: bool,
}

impl Table {
    /// An empty table. `default` is the default entry that P4 gives, if any.
    pub fn new(
        schema: &TableSchema,
        actions: &[ActionSchema],
        sources: &[KeySource],
        default: Option<&ActionCall>,
    ) -> Table {
        let mut table = Table {
            index: Index::new(schema, words_of_key(sources)),
            calls: Calls::new(&schema.actions, actions),
            targets: Vec::new(),
            counters: Vec::new(),
            meters: Vec::new(),
            idle: schema.idle_timeout.then(Box::default),
            cold: Vec::new(),
            free: Vec::new(),
            by_key: WordMap::new(),
            place_bytes: 0,
            options_bytes: 0,
            len: 0,
            size: schema.size,
            is_const: schema.initial_entries,
            initial_default: default.cloned(),
            default_is_initial: true,
            next_age: 0,
            is_counted: schema.direct_counter,
            is_metered: schema.direct_meter.is_some(),
            is_indirect: schema.profile.is_some(),
        };
        table.place_bytes = table.bytes_of_a_place(schema);
        table.reserve(DEFAULT, None);
        table.set_initial_default(schema);
        table
    }

    /// The memory that the table's entries take, bytes; see [`crate::Pipeline::kept_bytes`].
    pub fn kept_bytes(&self) -> usize {
        self.cold.len() * self.place_bytes + self.options_bytes
    }

    /// The memory that an entry takes without its options, bytes. A place that an entry has left
    /// keeps most of it.
    fn bytes_of_a_place(&self, schema: &TableSchema) -> usize {
        let bits: usize = schema.keys.iter().map(|key| usize::from(key.width)).sum();
        let match_of_a_field = size_of::<Match>() + size_of::<rules::Condition>();
        let counter = usize::from(self.is_counted) * size_of::<CounterData>();
        let meter = usize::from(self.is_metered) * meter::BYTES;
        let idle = usize::from(self.idle.is_some()) * idle::BYTES;
        size_of::<Option<Cold>>()
            + schema.keys.len() * match_of_a_field
            // The sets of rules have sixteen bits of a rule for every four bits of the key.
            + bits / 2
            + self.calls.row_bytes()
            + counter
            + meter
            + idle
            + INDEX
    }

    /// Takes room for all entries that the table may have, so that packets do
    /// not wait while lists grow. Memory that nothing was written to costs none.
    pub fn make_room(&mut self) {
        // The default entry has a place, too.
        let places = self.size.saturating_add(1);
        self.index.reserve(places);
        self.calls.reserve(places);
        reserve(&mut self.cold, places);
        reserve(&mut self.free, places);
        if self.is_indirect {
            reserve(&mut self.targets, places);
        }
        if self.is_counted {
            reserve(&mut self.counters, places);
        }
        if self.is_metered {
            reserve(&mut self.meters, places);
        }
        if let Some(idle) = &mut self.idle {
            idle.reserve(places);
        }
    }

    /// Looks a packet up and counts it (`bytes` long); for tables that need
    /// nothing more, see [`lookup_with`].
    // In the machine's loop it would take the registers that the loop needs.
    #[inline(never)]
    pub fn lookup(&mut self, phv: &[u64], bytes: u64) -> Found<'_> {
        let entry = self.index.find(phv).unwrap_or(DEFAULT);
        self.count(entry, bytes);
        let (action, args) = self.calls.get(entry);
        Found {
            hit: entry != DEFAULT,
            action,
            args,
        }
    }

    /// The entry that [`Table::lookup`] would find, for a trace.
    pub fn matched(&mut self, phv: &[u64]) -> Option<EntryKey> {
        let entry = self.index.find(phv)?;
        let cold = self.cold.get(entry as usize)?.as_ref()?;
        Some(cold.key.clone())
    }

    #[inline(always)]
    fn count(&mut self, entry: u32, bytes: u64) {
        if self.is_counted {
            let counter = &mut self.counters[entry as usize];
            counter.packets += 1;
            counter.bytes += bytes;
        }
    }
}

/// The most room that a list takes at once, in bytes; beyond it grows.
const ROOM: usize = 128 << 20;

/// Takes room for so many elements, if it is there.
fn reserve<T>(list: &mut Vec<T>, len: usize) {
    let len = len.min(ROOM / size_of::<T>().max(1));
    // Where it is not, the list grows as it is filled.
    let _ = list.try_reserve_exact(len.saturating_sub(list.len()));
}
