// SPDX-License-Identifier: Apache-2.0
//! Entries as the control plane writes and reads them. Everything is checked
//! before anything is changed.

use super::calls::{BadCall, check_args};
use super::idle::Next;
use super::{ALLOCATION, Cold, DEFAULT, Profile, Table, Target, key};
use crate::error::ControlError;
use crate::meter;
use crate::op::mask_wide;
use crate::schema::{
    ActionCall, ActionProfileSchema, ActionSchema, CounterData, EntryAction, EntryKey,
    EntryOptions, Match, MeterConfig, TableEntry, TableSchema,
};

/// What a table's entries mean, beside the table itself.
pub(crate) struct Context<'a> {
    pub schema: &'a TableSchema,
    pub actions: &'a [ActionSchema],
    /// The table's action profile, if it has one.
    pub profile: Option<(&'a ActionProfileSchema, &'a mut Profile)>,
}

/// The same, to read.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub schema: &'a TableSchema,
    pub actions: &'a [ActionSchema],
    pub profile: Option<(&'a ActionProfileSchema, &'a Profile)>,
}

/// A checked action of an entry.
enum Stored<'a> {
    Call(u16, &'a [u128]),
    Target(Target),
}

impl Context<'_> {
    /// Checks an entry's action; with a profile, it is in use from now on.
    fn acquire<'c>(
        &mut self,
        action: &'c EntryAction,
        is_default: bool,
    ) -> Result<Stored<'c>, ControlError> {
        if let Some((schema, profile)) = &mut self.profile {
            let target = profile.acquire(schema, self.actions, action, is_default)?;
            return Ok(Stored::Target(target));
        }
        let invalid = |reason: String| ControlError::InvalidAction {
            table: self.schema.name.clone(),
            reason,
        };
        let EntryAction::Call(call) = action else {
            let reason = "the table has no action profile: give an action".to_owned();
            return Err(invalid(reason));
        };
        let Some(action) = self.actions.get(call.action.0 as usize) else {
            return Err(invalid(format!("there is no action {}", call.action.0)));
        };
        let own = self.schema.actions.iter().position(|a| *a == call.action);
        let Some(own) = own else {
            let reason = format!("the table does not have the action {}", action.name);
            return Err(invalid(reason));
        };
        check_args(action, &call.args).map_err(|e| match e {
            BadCall::Count(reason) => invalid(reason),
            BadCall::Wide(error) => error,
        })?;
        Ok(Stored::Call(own as u16, &call.args))
    }

    fn release(&mut self, target: u64) {
        if let Some((_, profile)) = &mut self.profile {
            profile.release(Target::from_word(target));
        }
    }
}

impl Table {
    /// Lets entries be changed although P4 gives some, and so many be there.
    pub fn unlock(&mut self, size: usize) {
        if self.is_const {
            self.is_const = false;
            self.size = self.size.max(size);
            self.make_room();
        }
    }

    fn writable(&self, context: &Context<'_>) -> Result<(), ControlError> {
        if self.is_const {
            return Err(ControlError::Const {
                table: context.schema.name.clone(),
            });
        }
        Ok(())
    }

    pub fn insert(
        &mut self,
        context: &mut Context<'_>,
        now_ns: u64,
        key: &EntryKey,
        action: &EntryAction,
        options: &EntryOptions,
    ) -> Result<(), ControlError> {
        self.writable(context)?;
        self.insert_unchecked(context, now_ns, key, action, options)
    }

    /// Like [`Table::insert`], also for const entries.
    pub fn insert_unchecked(
        &mut self,
        context: &mut Context<'_>,
        now_ns: u64,
        key: &EntryKey,
        action: &EntryAction,
        options: &EntryOptions,
    ) -> Result<(), ControlError> {
        let schema = context.schema;
        key::check(schema, key)?;
        check_options(schema, options)?;
        let word = self.word(schema, key);
        if self.place(schema, word, key).is_some() {
            return Err(ControlError::EntryExists {
                table: schema.name.clone(),
            });
        }
        if self.len >= self.size {
            return Err(ControlError::TableFull {
                table: schema.name.clone(),
                size: self.size,
            });
        }
        let stored = context.acquire(action, false)?;
        let cold = Cold {
            key: key.clone(),
            age: self.next_age,
            options: kept(options),
        };
        self.options_bytes += options_bytes(cold.options.as_deref());
        self.next_age += 1;
        let age = cold.age;
        let entry = self.free.pop().unwrap_or(self.cold.len() as u32);
        self.reserve(entry, Some(cold));
        self.store(entry, &stored);
        if let Some(idle) = &mut self.idle {
            idle.set(entry, now_ns, options.idle_timeout_ns);
        }
        self.index.insert(schema, key, age, entry);
        self.by_key.insert(word, entry);
        self.len += 1;
        Ok(())
    }

    pub fn modify(
        &mut self,
        context: &mut Context<'_>,
        now_ns: u64,
        key: &EntryKey,
        action: &EntryAction,
        options: &EntryOptions,
    ) -> Result<(), ControlError> {
        let entry = self.find_writable(context, key)?;
        check_options(context.schema, options)?;
        let stored = context.acquire(action, false)?;
        let old = self.target(entry);
        self.store(entry, &stored);
        context.release(old);
        if let Some(cold) = &mut self.cold[entry as usize] {
            self.options_bytes -= options_bytes(cold.options.as_deref());
            cold.options = kept(options);
            self.options_bytes += options_bytes(cold.options.as_deref());
        }
        if let Some(idle) = &mut self.idle {
            idle.set(entry, now_ns, options.idle_timeout_ns);
        }
        Ok(())
    }

    pub fn delete(
        &mut self,
        context: &mut Context<'_>,
        key: &EntryKey,
    ) -> Result<(), ControlError> {
        let entry = self.find_writable(context, key)?;
        self.index.remove(key, entry);
        let word = self.word(context.schema, key);
        self.by_key.remove(word, |found| found == entry);
        self.len -= 1;
        context.release(self.target(entry));
        let cold = self.cold[entry as usize].take();
        let options = cold.as_ref().and_then(|cold| cold.options.as_deref());
        self.options_bytes -= options_bytes(options);
        if self.is_metered {
            self.meters[entry as usize] = meter::Cell::default();
        }
        if let Some(idle) = &mut self.idle {
            idle.clear(entry);
        }
        self.free.push(entry);
        Ok(())
    }

    /// Makes room for an entry at a place.
    pub(super) fn reserve(&mut self, entry: u32, cold: Option<Cold>) {
        let at = entry as usize;
        if at == self.cold.len() {
            self.cold.push(None);
            if self.is_indirect {
                self.targets.push(0);
            }
            if self.is_counted {
                self.counters.push(CounterData::default());
            }
            if self.is_metered {
                self.meters.push(meter::Cell::default());
            }
        }
        self.cold[at] = cold;
        if self.is_counted {
            self.counters[at] = CounterData::default();
        }
    }

    fn store(&mut self, entry: u32, stored: &Stored<'_>) {
        match stored {
            Stored::Call(action, args) => self.calls.set(entry, *action, args),
            Stored::Target(target) => self.targets[entry as usize] = target.to_word(),
        }
    }

    fn target(&self, entry: u32) -> u64 {
        self.targets.get(entry as usize).copied().unwrap_or(0)
    }

    // --- reading -----------------------------------------------------------

    pub fn entry(&self, view: View<'_>, key: &EntryKey) -> Result<TableEntry, ControlError> {
        let entry = self.find(view.schema, key)?;
        Ok(TableEntry {
            key: key.clone(),
            ..self.read(view, entry)
        })
    }

    /// In the order of insertion.
    pub fn entries(&self, view: View<'_>) -> Vec<TableEntry> {
        let places = self.cold.iter().enumerate();
        let mut listed: Vec<(u64, u32)> = places
            .filter_map(|(at, cold)| cold.as_ref().map(|c| (c.age, at as u32)))
            .collect();
        listed.sort_unstable();
        let entries = listed.into_iter();
        entries.map(|(_, entry)| self.read(view, entry)).collect()
    }

    /// The entries in so many places from one on whose keys are wanted, each
    /// with its age; `None` past the last place.
    pub fn part(
        &self,
        view: View<'_>,
        places: std::ops::Range<usize>,
        wanted: &dyn Fn(&EntryKey) -> bool,
    ) -> Option<Vec<(u64, TableEntry)>> {
        let first = places.start;
        let end = places.end.min(self.cold.len());
        let cold = self.cold.get(first..end).filter(|cold| !cold.is_empty())?;
        let entries = cold.iter().zip(first..).filter_map(|(cold, at)| {
            let cold = cold.as_ref().filter(|cold| wanted(&cold.key))?;
            Some((cold.age, self.read(view, at as u32)))
        });
        Some(entries.collect())
    }

    pub fn read(&self, view: View<'_>, entry: u32) -> TableEntry {
        let at = entry as usize;
        let cold = self.cold[at].as_ref();
        let options = cold.and_then(|cold| cold.options.as_deref());
        TableEntry {
            key: cold.map_or_else(no_key, |cold| cold.key.clone()),
            action: self.action(view, entry),
            counter: self.counters.get(at).copied(),
            meter: self.meters.get(at).map(meter::Cell::config),
            options: options.cloned().unwrap_or_default(),
            last_hit_ns: self.idle.as_ref().map_or(0, |idle| idle.last_hit(entry)),
        }
    }

    fn action(&self, view: View<'_>, entry: u32) -> EntryAction {
        let own = &view.schema.actions;
        match view.profile {
            Some((schema, profile)) => {
                let mut action = profile.read(schema, Target::from_word(self.target(entry)));
                match &mut action {
                    EntryAction::Call(call) => translate(view, call),
                    EntryAction::OneShot(calls) => {
                        calls.iter_mut().for_each(|w| translate(view, &mut w.call));
                    }
                    EntryAction::Member(_) | EntryAction::Group(_) => {}
                }
                action
            }
            None if usize::from(self.calls.get(entry).0) == own.len() => {
                EntryAction::OneShot(Vec::new())
            }
            None => self.calls.read(own, entry).into(),
        }
    }

    // --- default entry -----------------------------------------------------

    /// The default entry that P4 gives, without checks: the compiler made them.
    pub(super) fn set_initial_default(&mut self, schema: &TableSchema) {
        // With a profile, `Pipeline` sets it, which has the profile's state.
        let nothing = (schema.actions.len() as u16, [].as_slice());
        let call = self.initial_default.as_ref().and_then(|call| {
            let own = schema.actions.iter().position(|a| *a == call.action)?;
            Some((own as u16, call.args.as_slice()))
        });
        let (action, args) = call.unwrap_or(nothing);
        self.calls.set(DEFAULT, action, args);
    }

    pub fn set_default(
        &mut self,
        context: &mut Context<'_>,
        action: Option<&EntryAction>,
    ) -> Result<(), ControlError> {
        if context.schema.const_default {
            return Err(ControlError::Const {
                table: context.schema.name.clone(),
            });
        }
        self.set_default_unchecked(context, action)
    }

    /// Like [`Table::set_default`], also for const default entries.
    pub fn set_default_unchecked(
        &mut self,
        context: &mut Context<'_>,
        action: Option<&EntryAction>,
    ) -> Result<(), ControlError> {
        let initial = self.initial_default.clone().map(EntryAction::Call);
        let old = self.target(DEFAULT);
        match action.or(initial.as_ref()) {
            Some(action) => {
                let stored = context.acquire(action, true)?;
                self.store(DEFAULT, &stored);
            }
            None if self.is_indirect => self.targets[0] = Target::Nothing.to_word(),
            None => self.set_initial_default(context.schema),
        }
        context.release(old);
        self.default_is_initial = action.is_none();
        Ok(())
    }

    pub fn default_entry(&self, view: View<'_>) -> (EntryAction, bool) {
        (self.action(view, DEFAULT), self.default_is_initial)
    }

    // --- direct resources --------------------------------------------------

    /// The direct counter of an entry, or of the default entry.
    pub fn counter_mut(
        &mut self,
        schema: &TableSchema,
        key: Option<&EntryKey>,
    ) -> Result<&mut CounterData, ControlError> {
        let at = self.resource(schema, self.is_counted, "counter", key)?;
        Ok(&mut self.counters[at])
    }

    /// The direct counter of an entry, or of the default entry.
    pub fn counter(
        &self,
        schema: &TableSchema,
        key: Option<&EntryKey>,
    ) -> Result<CounterData, ControlError> {
        let at = self.resource(schema, self.is_counted, "counter", key)?;
        Ok(self.counters[at])
    }

    pub fn set_meter(
        &mut self,
        schema: &TableSchema,
        key: Option<&EntryKey>,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        let at = self.resource(schema, self.is_metered, "meter", key)?;
        self.meters[at] = meter::Cell::new(config);
        Ok(())
    }

    pub fn meter(
        &self,
        schema: &TableSchema,
        key: Option<&EntryKey>,
    ) -> Result<Option<MeterConfig>, ControlError> {
        let at = self.resource(schema, self.is_metered, "meter", key)?;
        Ok(self.meters[at].config())
    }

    fn resource(
        &self,
        schema: &TableSchema,
        is_there: bool,
        kind: &str,
        key: Option<&EntryKey>,
    ) -> Result<usize, ControlError> {
        if !is_there {
            let what = format!("direct {kind} of table {}", schema.name);
            return Err(ControlError::UnknownObject { what });
        }
        match key {
            None => Ok(DEFAULT as usize),
            Some(key) => Ok(self.find(schema, key)? as usize),
        }
    }

    // --- idle timeouts -----------------------------------------------------

    /// Looks for an entry that expired; see [`super::idle::Idle::expired`].
    pub fn next_expired(&mut self, now_ns: u64) -> Next {
        let idle = self.idle.as_mut();
        idle.map_or(Next::None, |idle| idle.expired(now_ns))
    }

    pub fn next_idle_deadline(&self) -> Option<u64> {
        self.idle.as_ref()?.next()
    }

    /// How many entries were inserted before the one with this key, if it is there. It tells that
    /// of tables from which no entry was removed.
    pub fn number(&self, schema: &TableSchema, key: &EntryKey) -> Option<usize> {
        let place = self.place(schema, self.word(schema, key), key)?;
        // The default entry has the first place.
        place.checked_sub(1).map(|number| number as usize)
    }

    fn find(&self, schema: &TableSchema, key: &EntryKey) -> Result<u32, ControlError> {
        key::check(schema, key)?;
        let found = self.place(schema, self.word(schema, key), key);
        found.ok_or_else(|| ControlError::EntryNotFound {
            table: schema.name.clone(),
        })
    }

    /// An entry that may be changed.
    fn find_writable(&self, context: &Context<'_>, key: &EntryKey) -> Result<u32, ControlError> {
        self.writable(context)?;
        self.find(context.schema, key)
    }

    /// A hash of what identifies an entry.
    fn word(&self, schema: &TableSchema, key: &EntryKey) -> u64 {
        let halves = |value: u128| [value as u64, (value >> 64) as u64];
        let matches = canonical(schema, key)
            .flat_map(|(a, b)| [a, b])
            .flat_map(halves);
        self.by_key
            .hash(std::iter::once(key.priority as u64).chain(matches))
    }

    fn place(&self, schema: &TableSchema, word: u64, key: &EntryKey) -> Option<u32> {
        self.by_key.find(word, |entry| {
            let cold = self.cold[entry as usize].as_ref();
            cold.is_some_and(|cold| schema.same_entry(&cold.key, key))
        })
    }
}

fn no_key() -> EntryKey {
    EntryKey {
        matches: Vec::new(),
        priority: 0,
    }
}

fn kept(options: &EntryOptions) -> Option<Box<EntryOptions>> {
    (*options != EntryOptions::default()).then(|| Box::new(options.clone()))
}

/// The memory that an entry's options take, bytes.
fn options_bytes(options: Option<&EntryOptions>) -> usize {
    options.map_or(0, |options| {
        size_of::<EntryOptions>() + options.metadata.len() + 2 * ALLOCATION
    })
}

fn check_options(schema: &TableSchema, options: &EntryOptions) -> Result<(), ControlError> {
    if options.idle_timeout_ns != 0 && !schema.idle_timeout {
        return Err(ControlError::InvalidObject {
            what: format!("an entry of table {}", schema.name),
            reason: "the table does not support idle timeouts".to_owned(),
        });
    }
    Ok(())
}

/// From the profile's action, which is its first table's, to this table's
/// action of the same name.
fn translate(view: View<'_>, call: &mut ActionCall) {
    let name = |id: u32| view.actions.get(id as usize).map(|a| &a.name);
    let mut own = view.schema.actions.iter();
    if let Some(own) = own.find(|own| name(own.0) == name(call.action.0)) {
        call.action = *own;
    }
}

impl TableSchema {
    /// Whether two keys are the same entry's.
    pub(crate) fn same_entry(&self, a: &EntryKey, b: &EntryKey) -> bool {
        a.priority == b.priority && canonical(self, a).eq(canonical(self, b))
    }
}

/// The matches as numbers that are the same for the same entry.
fn canonical<'k>(
    schema: &'k TableSchema,
    key: &'k EntryKey,
) -> impl Iterator<Item = (u128, u128)> + use<'k> {
    let fields = schema.keys.iter().zip(&key.matches);
    fields.map(|(field, m)| match *m {
        // The same entry, whether it is put as ternary or as optional.
        Match::Exact(value) | Match::Optional(Some(value)) => (value, mask_wide(field.width)),
        Match::Optional(None) => (0, 0),
        Match::Lpm { value, prefix_len } => (value, u128::from(prefix_len)),
        Match::Ternary { value, mask } => (value, mask),
        Match::Range { low, high } => (low, high),
    })
}
