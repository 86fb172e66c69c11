// SPDX-License-Identifier: Apache-2.0
//! Tables, with their direct counters and meters and idle timeouts.

use super::{unknown, unsupported};
use crate::error::ControlError;
use crate::pipeline::Pipeline;
use crate::program::Program;
use crate::schema::*;
use crate::state::State;
use crate::table::Table;

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
        let _ = (now_ns, options);
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.insert(schema, &self.program.actions, key, call(action)?)
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
        let _ = (now_ns, options);
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.modify(schema, &self.program.actions, key, call(action)?)
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn delete(&mut self, table: TableId, key: &EntryKey) -> Result<(), ControlError> {
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.delete(schema, key)
    }

    /// One entry.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn entry(&self, table: TableId, key: &EntryKey) -> Result<TableEntry, ControlError> {
        let (table, schema) = self.table(table)?;
        table.entry(schema, key)
    }

    /// All entries in the order of insertion, const entries included.
    ///
    /// # Errors
    /// There is no such table.
    pub fn entries(&self, table: TableId) -> Result<Vec<TableEntry>, ControlError> {
        let (table, schema) = self.table(table)?;
        Ok(table.entries(schema))
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
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        table.set_default(schema, &self.program.actions, action.map(call).transpose()?)
    }

    /// The default entry, and whether it is the one given in P4.
    ///
    /// # Errors
    /// There is no such table.
    pub fn default_entry(&self, table: TableId) -> Result<(EntryAction, bool), ControlError> {
        let (table, _) = self.table(table)?;
        let (call, is_initial) = table.default_entry();
        Ok((call.into(), is_initial))
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

    /// Appends the entries that had no hit for as long as their idle timeout.
    /// Each is reported again after as long without a hit.
    pub fn idle_expired(&mut self, now_ns: u64, expired: &mut Vec<(TableId, TableEntry)>) {
        let _ = (now_ns, expired);
    }

    /// When [`Pipeline::idle_expired`] is due, in nanoseconds since the device
    /// started: at or before the time at which an entry may expire. `None`
    /// when no entry has an idle timeout.
    pub fn next_idle_deadline(&self) -> Option<u64> {
        None
    }

    fn table(&self, id: TableId) -> Result<(&Table, &TableSchema), ControlError> {
        let at = id.0 as usize;
        match (self.state.tables.get(at), self.program.tables.get(at)) {
            (Some(table), Some(schema)) => Ok((table, schema)),
            _ => Err(unknown("table", id.0)),
        }
    }

    fn table_mut<'s>(
        state: &'s mut State,
        program: &'s Program,
        id: TableId,
    ) -> Result<(&'s mut Table, &'s TableSchema), ControlError> {
        let at = id.0 as usize;
        match (state.tables.get_mut(at), program.tables.get(at)) {
            (Some(table), Some(schema)) => Ok((table, schema)),
            _ => Err(unknown("table", id.0)),
        }
    }
}

fn call(action: &EntryAction) -> Result<&ActionCall, ControlError> {
    action
        .as_call()
        .ok_or_else(|| unsupported("an action profile member, group or one-shot as an action"))
}
