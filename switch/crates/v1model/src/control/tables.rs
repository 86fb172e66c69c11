// SPDX-License-Identifier: Apache-2.0
//! Tables, with their direct counters and meters and idle timeouts.

use super::unknown;
use crate::error::ControlError;
use crate::pipeline::Pipeline;
use crate::program::Program;
use crate::schema::*;
use crate::state::State;
use crate::table::{Context, Next, Table, View};

impl Pipeline {
    /// Adds an entry. `now_ns`: nanoseconds since the device started, as for
    /// packets; an idle timeout begins then.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn insert(
        &mut self,
        now_ns: u64,
        table: TableId,
        key: &EntryKey,
        action: &EntryAction,
        options: &EntryOptions,
    ) -> Result<(), ControlError> {
        let (table, mut context) = Self::context(&mut self.state, &self.program, table)?;
        table.insert(&mut context, now_ns, key, action, options)
    }

    /// Replaces the action and options of an entry; its direct counter and
    /// meter go on, an idle timeout begins anew.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn modify(
        &mut self,
        now_ns: u64,
        table: TableId,
        key: &EntryKey,
        action: &EntryAction,
        options: &EntryOptions,
    ) -> Result<(), ControlError> {
        let (table, mut context) = Self::context(&mut self.state, &self.program, table)?;
        table.modify(&mut context, now_ns, key, action, options)
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn delete(&mut self, table: TableId, key: &EntryKey) -> Result<(), ControlError> {
        let (table, mut context) = Self::context(&mut self.state, &self.program, table)?;
        table.delete(&mut context, key)
    }

    /// Lets the entries of a table be changed that has entries in P4, which
    /// are not const as P4Info tells, and lets it have `size` of them. Without
    /// effect on any other table.
    ///
    /// # Errors
    /// There is no such table.
    pub fn unlock_entries(&mut self, table: TableId, size: usize) -> Result<(), ControlError> {
        let (table, _) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.unlock(size);
        Ok(())
    }

    /// One entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn entry(&self, table: TableId, key: &EntryKey) -> Result<TableEntry, ControlError> {
        let (table, view) = self.view(table)?;
        table.entry(view, key)
    }

    /// All entries in the order of insertion, those of P4 included.
    ///
    /// # Errors
    /// There is no such table.
    pub fn entries(&self, table: TableId) -> Result<Vec<TableEntry>, ControlError> {
        let (table, view) = self.view(table)?;
        Ok(table.entries(view))
    }

    /// Some of what [`Pipeline::entries`] gives: the entries that are kept in
    /// these places and whose keys are `wanted`, each with a number that grows
    /// in the order of insertion; `None` past the last place. For reading a large table in parts, between
    /// which it must not be changed.
    ///
    /// # Errors
    /// There is no such table.
    pub fn entries_part(
        &self,
        table: TableId,
        places: std::ops::Range<usize>,
        wanted: &dyn Fn(&EntryKey) -> bool,
    ) -> Result<Option<Vec<(u64, TableEntry)>>, ControlError> {
        let (table, view) = self.view(table)?;
        Ok(table.part(view, places, wanted))
    }

    /// Sets the default entry; `None` goes back to the one given in P4.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn set_default(
        &mut self,
        table: TableId,
        action: Option<&EntryAction>,
    ) -> Result<(), ControlError> {
        let (table, mut context) = Self::context(&mut self.state, &self.program, table)?;
        table.set_default(&mut context, action)
    }

    /// The default entry, and whether it is the one given in P4.
    ///
    /// # Errors
    /// There is no such table.
    pub fn default_entry(&self, table: TableId) -> Result<(EntryAction, bool), ControlError> {
        let (table, view) = self.view(table)?;
        Ok(table.default_entry(view))
    }

    /// The direct counter of an entry, or of the default entry (`None`).
    ///
    /// # Errors
    /// The table has no direct counter, or no such entry.
    pub fn direct_counter(
        &self,
        table: TableId,
        key: Option<&EntryKey>,
    ) -> Result<CounterData, ControlError> {
        let (table, schema) = self.table(table)?;
        table.counter(schema, key)
    }

    /// Writes the direct counter of an entry, or of the default entry (`None`).
    ///
    /// # Errors
    /// The table has no direct counter, or no such entry.
    pub fn set_direct_counter(
        &mut self,
        table: TableId,
        key: Option<&EntryKey>,
        data: CounterData,
    ) -> Result<(), ControlError> {
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        *table.counter_mut(schema, key)? = data;
        Ok(())
    }

    /// Appends entries that had no hit for as long as their idle timeout, after
    /// a look at `most` at the most; there may be more. Each is reported again
    /// after as long without a hit. Each call begins with another table, so that
    /// one that always has `most` of them keeps none of the others waiting for long.
    pub fn idle_expired(
        &mut self,
        now_ns: u64,
        most: usize,
        expired: &mut Vec<(TableId, TableEntry)>,
    ) {
        let mut left = most;
        let tables = self.state.tables.len();
        let first = self.state.idle_turn;
        self.state.idle_turn = (first + 1).checked_rem(tables).unwrap_or(0);
        for at in (first..tables).chain(0..first) {
            while left > 0 {
                match self.state.tables[at].next_expired(now_ns) {
                    Next::None => break,
                    Next::Alive => {}
                    Next::Expired(entry) => {
                        let id = TableId(at as u32);
                        if let Ok((table, view)) = self.view(id) {
                            expired.push((id, table.read(view, entry)));
                        }
                    }
                }
                left -= 1;
            }
        }
    }

    /// When [`Pipeline::idle_expired`] is due, in nanoseconds since the device
    /// started: at or before the time at which an entry may expire. `None`
    /// when no entry has an idle timeout.
    pub fn next_idle_deadline(&self) -> Option<u64> {
        let tables = self.state.tables.iter();
        tables.filter_map(Table::next_idle_deadline).min()
    }

    pub(super) fn table(&self, id: TableId) -> Result<(&Table, &TableSchema), ControlError> {
        let at = id.0 as usize;
        match (self.state.tables.get(at), self.program.tables.get(at)) {
            (Some(table), Some(schema)) => Ok((table, schema)),
            _ => Err(unknown("table", id.0)),
        }
    }

    fn view(&self, id: TableId) -> Result<(&Table, View<'_>), ControlError> {
        let (table, schema) = self.table(id)?;
        let profile = schema.profile.map(|p| p.0 as usize);
        let view = View {
            schema,
            actions: &self.program.actions,
            profile: profile
                .map(|at| (&self.program.action_profiles[at], &self.state.profiles[at])),
        };
        Ok((table, view))
    }

    pub(super) fn table_mut<'s>(
        state: &'s mut State,
        program: &'s Program,
        id: TableId,
    ) -> Result<(&'s mut Table, &'s TableSchema), ControlError> {
        let (table, context) = Self::context(state, program, id)?;
        Ok((table, context.schema))
    }

    fn context<'s>(
        state: &'s mut State,
        program: &'s Program,
        id: TableId,
    ) -> Result<(&'s mut Table, Context<'s>), ControlError> {
        let at = id.0 as usize;
        let (Some(table), Some(schema)) = (state.tables.get_mut(at), program.tables.get(at)) else {
            return Err(unknown("table", id.0));
        };
        let profile = schema.profile.map(|p| p.0 as usize);
        let context = Context {
            schema,
            actions: &program.actions,
            profile: profile.map(|at| (&program.action_profiles[at], &mut state.profiles[at])),
        };
        Ok((table, context))
    }
}
