// SPDX-License-Identifier: Apache-2.0
//! One update with everything resolved, to be executed on the device's thread,
//! where nothing is looked up by name any more; and the update that undoes it.

use device::DigestConfig;
use v1model::{
    ActionCall, ActionProfileId, CloneSession, CounterData, CounterId, DigestId, EntryAction,
    EntryKey, EntryOptions, Group, Match, MeterConfig, MeterId, Pipeline, RegisterId, Replica,
    TableId, ValueSetId,
};

use crate::failure::Failure;
use crate::notes::{EntryNote, GroupNote, Notes};

/// What an update does to an object that is told by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Insert,
    Modify,
    Delete,
}

/// An entry, with its direct resources.
#[derive(Clone, Debug)]
pub struct EntryOp {
    pub change: Change,
    pub table: TableId,
    pub key: EntryKey,
    /// `None` when modifying: stays as it is.
    pub action: Option<EntryAction>,
    pub options: EntryOptions,
    /// `None`: stays as it is.
    pub counter: Option<CounterData>,
    /// `None`: the table has none, or it stays as it is.
    pub meter: Option<Option<MeterConfig>>,
    /// The table is const: nothing but the direct resources may change.
    pub only_resources: bool,
}

/// A default entry, with its direct resources.
#[derive(Clone, Debug)]
pub struct DefaultOp {
    pub table: TableId,
    /// `None`: back to the one given in P4.
    pub action: Option<EntryAction>,
    pub note: EntryNote,
    /// `None`: stays as it is.
    pub counter: Option<CounterData>,
    /// `None`: the table has none, or it stays as it is.
    pub meter: Option<Option<MeterConfig>>,
}

/// One update.
#[derive(Clone, Debug)]
pub enum Op {
    Entry(Box<EntryOp>),
    Default(Box<DefaultOp>),
    /// Of the entry with this key, or of the default entry. `None` as data:
    /// only that the entry is there is checked.
    DirectCounter(Box<(TableId, Option<EntryKey>, Option<CounterData>)>),
    DirectMeter(Box<(TableId, Option<EntryKey>, Option<MeterConfig>)>),
    /// Of one cell, or of all.
    Counter(CounterId, Option<usize>, CounterData),
    Register(RegisterId, Option<usize>, u128),
    Meter(Box<(MeterId, Option<usize>, Option<MeterConfig>)>),
    Member(Change, Box<(ActionProfileId, u32, ActionCall)>),
    Group(Change, Box<(ActionProfileId, Group, GroupNote)>),
    ValueSet(Box<(ValueSetId, Vec<Vec<Match>>)>),
    Multicast(Change, Box<(u32, Vec<Replica>, GroupNote)>),
    CloneSession(Change, Box<(u32, CloneSession, GroupNote)>),
    Digest(Change, Box<(DigestId, DigestConfig)>),
    /// All cells, one by one: undoes a write to all.
    CounterCells(Box<(CounterId, Vec<CounterData>)>),
    RegisterCells(Box<(RegisterId, Vec<u128>)>),
    MeterCells(Box<(MeterId, Vec<Option<MeterConfig>>)>),
    /// Valid, and nothing to do.
    Nothing,
}

/// What updates are executed on.
pub struct Plant<'a> {
    pub now_ns: u64,
    pub pipeline: &'a mut Pipeline,
    pub notes: &'a mut Notes,
}

impl Op {
    /// Executes the update; on an error nothing was changed.
    ///
    /// # Errors
    /// What the pipeline refuses.
    pub fn execute(&self, plant: &mut Plant<'_>) -> Result<(), Failure> {
        let pipeline = &mut *plant.pipeline;
        match self {
            Op::Entry(op) => op.execute(plant)?,
            Op::Default(op) => op.execute(plant)?,
            Op::DirectCounter(op) => match &**op {
                (table, key, Some(data)) => {
                    pipeline.set_direct_counter(*table, key.as_ref(), *data)?;
                }
                (table, key, None) => drop(pipeline.direct_counter(*table, key.as_ref())?),
            },
            Op::DirectMeter(op) => {
                let (table, key, config) = &**op;
                pipeline.set_direct_meter(*table, key.as_ref(), *config)?;
            }
            Op::Counter(counter, index, data) => pipeline.set_counter(*counter, *index, *data)?,
            Op::Register(register, index, value) => {
                pipeline.set_register(*register, *index, *value)?;
            }
            Op::Meter(op) => {
                let (meter, index, config) = &**op;
                pipeline.set_meter(*meter, *index, *config)?;
            }
            Op::Member(change, op) => {
                let (profile, id, call) = &**op;
                match change {
                    Change::Insert => pipeline.insert_member(*profile, *id, call)?,
                    Change::Modify => pipeline.modify_member(*profile, *id, call)?,
                    Change::Delete => pipeline.delete_member(*profile, *id)?,
                }
            }
            Op::Group(change, op) => {
                let (profile, group, note) = &**op;
                match change {
                    Change::Insert => pipeline.insert_group(*profile, group)?,
                    Change::Modify => pipeline.modify_group(*profile, group)?,
                    Change::Delete => pipeline.delete_group(*profile, group.id)?,
                }
                plant.notes.set_selector_group(*profile, group.id, note);
            }
            Op::ValueSet(op) => pipeline.set_value_set(op.0, &op.1)?,
            Op::Multicast(change, op) => {
                let (group, replicas, note) = &**op;
                let groups = pipeline.multicast_mut();
                match change {
                    Change::Insert => groups.insert(*group, replicas)?,
                    Change::Modify => groups.modify(*group, replicas)?,
                    Change::Delete => groups.delete(*group)?,
                }
                plant.notes.set_multicast(*group, note);
            }
            Op::CloneSession(change, op) => {
                let (id, session, note) = &**op;
                let sessions = pipeline.clone_sessions_mut();
                match change {
                    Change::Insert => sessions.insert(*id, session)?,
                    Change::Modify => sessions.modify(*id, session)?,
                    Change::Delete => sessions.delete(*id)?,
                }
                plant.notes.set_clone_session(*id, note);
            }
            Op::Digest(change, op) => plant.notes.change_digest(*change, op.0, op.1)?,
            Op::CounterCells(op) => {
                for (index, data) in op.1.iter().enumerate() {
                    pipeline.set_counter(op.0, Some(index), *data)?;
                }
            }
            Op::RegisterCells(op) => pipeline.set_register_cells(op.0, 0, &op.1)?,
            Op::MeterCells(op) => {
                for (index, config) in op.1.iter().enumerate() {
                    pipeline.set_meter(op.0, Some(index), *config)?;
                }
            }
            Op::Nothing => {}
        }
        Ok(())
    }
}

impl EntryOp {
    fn execute(&self, plant: &mut Plant<'_>) -> Result<(), Failure> {
        let pipeline = &mut *plant.pipeline;
        let (table, key) = (self.table, &self.key);
        match (self.change, &self.action) {
            (Change::Insert, Some(action)) => {
                pipeline.insert(plant.now_ns, table, key, action, &self.options)?;
                if let Err(failure) = self.set_resources(pipeline) {
                    // Checked before, so this is for what nobody thought of.
                    pipeline.delete(table, key)?;
                    return Err(failure);
                }
                return Ok(());
            }
            (Change::Insert, None) => {
                return Err(Failure::invalid("a new entry needs an action"));
            }
            (Change::Modify, _) if self.only_resources => drop(pipeline.entry(table, key)?),
            (Change::Modify, Some(action)) => {
                pipeline.modify(plant.now_ns, table, key, action, &self.options)?;
            }
            (Change::Modify, None) => {
                let old = pipeline.entry(table, key)?;
                if old.options != self.options {
                    pipeline.modify(plant.now_ns, table, key, &old.action, &self.options)?;
                }
            }
            (Change::Delete, _) => return Ok(pipeline.delete(table, key)?),
        }
        self.set_resources(pipeline)
    }

    fn set_resources(&self, pipeline: &mut Pipeline) -> Result<(), Failure> {
        let (table, key) = (self.table, Some(&self.key));
        if let Some(config) = self.meter {
            // The same rates again leave what the meter has counted.
            if pipeline.direct_meter(table, key)? != config {
                pipeline.set_direct_meter(table, key, config)?;
            }
        }
        if let Some(data) = self.counter {
            pipeline.set_direct_counter(table, key, data)?;
        }
        Ok(())
    }
}

impl DefaultOp {
    fn execute(&self, plant: &mut Plant<'_>) -> Result<(), Failure> {
        let pipeline = &mut *plant.pipeline;
        pipeline.set_default(self.table, self.action.as_ref())?;
        if let Some(config) = self.meter
            && pipeline.direct_meter(self.table, None)? != config
        {
            pipeline.set_direct_meter(self.table, None, config)?;
        }
        if let Some(data) = self.counter {
            pipeline.set_direct_counter(self.table, None, data)?;
        }
        plant.notes.set_default(self.table, &self.note);
        Ok(())
    }
}
