// SPDX-License-Identifier: Apache-2.0
//! One update with everything resolved, to be executed on the device's thread,
//! where nothing is looked up by name any more; and the update that undoes it.

use std::ops::Range;

use device::DigestConfig;
use v1model::{
    ActionCall, ActionProfileId, CloneSession, CounterData, CounterId, DigestId, EntryAction,
    EntryKey, EntryOptions, Group, Match, MeterConfig, MeterId, Pipeline, Program, RegisterId,
    Replica, TableId, ValueSetId,
};

use crate::change::Change;
use crate::failure::Failure;
use crate::notes::{EntryNote, GroupNote, Notes};
use crate::register_run::RegisterRun;

/// An entry, with its direct resources.
#[derive(Clone, Debug)]
pub struct EntryOp {
    pub change: Change,
    pub table: TableId,
    pub key: EntryKey,
    /// `None` if the action of an entry that is modified stays as it is.
    pub action: Option<EntryAction>,
    pub options: EntryOptions,
    /// `None` if the counter stays as it is.
    pub counter: Option<CounterData>,
    /// `None` if the table has no meters, or if the meter stays as it is.
    pub meter: Option<Option<MeterConfig>>,
    /// Whether only the direct resources may change, because the table is const.
    pub only_resources: bool,
    /// The most entries of the table, if P4 gives it entries that may change.
    pub preinitialized: Option<usize>,
}

/// A default entry, with its direct resources.
#[derive(Clone, Debug)]
pub struct DefaultOp {
    pub table: TableId,
    /// `None` if the table goes back to the action that P4 gives.
    pub action: Option<EntryAction>,
    pub note: EntryNote,
    /// `None` if the counter stays as it is.
    pub counter: Option<CounterData>,
    /// `None` if the table has no meters, or if the meter stays as it is.
    pub meter: Option<Option<MeterConfig>>,
}

/// One update.
#[derive(Clone, Debug)]
pub enum Op {
    Entry(Box<EntryOp>),
    Default(Box<DefaultOp>),
    /// Sets the counter of the entry with this key, or of the default entry. If the data is `None`,
    /// it only checks that the entry exists.
    DirectCounter(Box<(TableId, Option<EntryKey>, Option<CounterData>)>),
    DirectMeter(Box<(TableId, Option<EntryKey>, Option<MeterConfig>)>),
    /// Adds what was counted elsewhere to a direct counter.
    Recount(Box<(TableId, Option<EntryKey>, CounterData)>),
    /// Sets the counter in one cell, or in all cells.
    Counter(CounterId, Option<usize>, CounterData),
    Register(RegisterId, Option<usize>, u128),
    /// Several updates of one cell each.
    Run(Box<RegisterRun>),
    Meter(Box<(MeterId, Option<usize>, Option<MeterConfig>)>),
    Member(Change, Box<(ActionProfileId, u32, ActionCall)>),
    Group(Change, Box<(ActionProfileId, Group, GroupNote)>),
    ValueSet(Box<(ValueSetId, Vec<Vec<Match>>)>),
    Multicast(Change, Box<(u32, Vec<Replica>, GroupNote)>),
    CloneSession(Change, Box<(u32, CloneSession, GroupNote)>),
    Digest(Change, Box<(DigestId, DigestConfig)>),
    /// Sets consecutive cells to a value each, which undoes a write to all of an array.
    CounterCells(Box<(CounterId, usize, Vec<CounterData>)>),
    RegisterCells(Box<(RegisterId, usize, Vec<u128>)>),
    MeterCells(Box<(MeterId, usize, Vec<Option<MeterConfig>>)>),
    /// Does nothing, because the update was valid and there is nothing to do.
    Nothing,
}

/// The parts of a device that updates change.
pub struct Plant<'a> {
    pub now_ns: u64,
    pub pipeline: &'a mut Pipeline,
    pub notes: &'a mut Notes,
}

impl Plant<'_> {
    /// The memory that what clients have written takes, bytes, without the arrays that the program
    /// has from the start.
    pub fn kept_bytes(&self) -> usize {
        self.pipeline.kept_bytes() + self.notes.kept_bytes()
    }
}

impl Op {
    /// Whether the device may keep more memory after the update than before.
    pub fn may_keep_more(&self) -> bool {
        match self {
            Op::Entry(op) => op.change != Change::Delete,
            Op::Member(change, _)
            | Op::Group(change, _)
            | Op::Multicast(change, _)
            | Op::CloneSession(change, _) => *change != Change::Delete,
            Op::Default(_) | Op::ValueSet(_) => true,
            _ => false,
        }
    }

    /// Executes the update. An error leaves everything as it was.
    ///
    /// # Errors
    /// The pipeline refuses the update.
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
            Op::Run(run) => {
                pipeline.set_register_cells(run.register, run.first, &run.values)?;
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
            Op::Recount(op) => {
                let (table, key, more) = &**op;
                let mut data = pipeline.direct_counter(*table, key.as_ref())?;
                data.packets = data.packets.wrapping_add(more.packets);
                data.bytes = data.bytes.wrapping_add(more.bytes);
                pipeline.set_direct_counter(*table, key.as_ref(), data)?;
            }
            Op::CounterCells(op) => pipeline.set_counter_cells(op.0, op.1, &op.2)?,
            Op::RegisterCells(op) => pipeline.set_register_cells(op.0, op.1, &op.2)?,
            Op::MeterCells(op) => {
                for (index, config) in (op.1..).zip(&op.2) {
                    pipeline.set_meter(op.0, Some(index), *config)?;
                }
            }
            Op::Nothing => {}
        }
        Ok(())
    }

    /// How many cells the update writes, if it writes all cells of an array, so that it can be
    /// executed in parts; otherwise 0.
    pub fn cells(&self, program: &Program) -> usize {
        let size = match self {
            Op::Counter(id, None, _) => program.counters().get(id.0 as usize).map(|a| a.size),
            Op::Register(id, None, _) => program.registers().get(id.0 as usize).map(|a| a.size),
            Op::Meter(op) if op.1.is_none() => {
                program.meters().get(op.0.0 as usize).map(|a| a.size)
            }
            _ => None,
        };
        size.unwrap_or(0)
    }

    /// How many of its [`Op::cells`] are written in one go.
    pub fn cells_at_once(&self) -> usize {
        match self {
            // Meters are larger, and allocate memory.
            Op::Meter(_) => 256,
            _ => 1024,
        }
    }

    /// Executes the update for some of its [`Op::cells`].
    ///
    /// # Errors
    /// The pipeline refuses the update.
    pub fn execute_cells(&self, range: Range<usize>, plant: &mut Plant<'_>) -> Result<(), Failure> {
        let pipeline = &mut *plant.pipeline;
        match self {
            Op::Counter(id, _, data) => pipeline.set_counters(*id, range, *data)?,
            Op::Register(id, _, value) => pipeline.set_registers(*id, range, *value)?,
            Op::Meter(op) => pipeline.set_meters(op.0, range, op.2)?,
            _ => {}
        }
        Ok(())
    }

    /// The operation that adds what packets have counted between two exports of the same entry, of
    /// which `later` is the second; `None` if there is nothing to add.
    pub fn recount(&self, later: &Op) -> Option<Op> {
        let (table, key, before, after) = match (self, later) {
            (Op::Entry(a), Op::Entry(b)) => (a.table, Some(a.key.clone()), a.counter?, b.counter?),
            (Op::Default(a), Op::Default(b)) => (a.table, None, a.counter?, b.counter?),
            _ => return None,
        };
        let more = CounterData {
            packets: after.packets.wrapping_sub(before.packets),
            bytes: after.bytes.wrapping_sub(before.bytes),
        };
        (more != CounterData::default()).then(|| Op::Recount(Box::new((table, key, more))))
    }

    /// How many members or replicas the update writes at once. A value of a value set counts as
    /// four, because it may become several rows.
    pub fn members(&self) -> usize {
        match self {
            Op::Entry(op) => match &op.action {
                Some(EntryAction::OneShot(calls)) => calls.len(),
                _ => 0,
            },
            Op::Group(_, op) => op.1.members.len(),
            Op::ValueSet(op) => 4 * op.1.len(),
            Op::Multicast(_, op) => op.1.len(),
            Op::CloneSession(_, op) => op.1.replicas.len(),
            _ => 0,
        }
    }

    /// How many of the client's updates the operation stands for.
    pub fn updates(&self) -> usize {
        match self {
            Op::Run(run) => run.values.len(),
            _ => 1,
        }
    }

    /// How much work the update is, in units of about a microsecond. An update that writes
    /// [`Op::cells`] counts as if it wrote none of them.
    pub fn units(&self) -> usize {
        1 + match self {
            Op::Run(run) => run.values.len() / 64,
            Op::CounterCells(op) => op.2.len() / 64,
            Op::RegisterCells(op) => op.2.len() / 64,
            Op::MeterCells(op) => op.2.len() / 16,
            _ => self.members() / 8,
        }
    }
}

impl EntryOp {
    fn execute(&self, plant: &mut Plant<'_>) -> Result<(), Failure> {
        let pipeline = &mut *plant.pipeline;
        let (table, key) = (self.table, &self.key);
        if let Some(size) = self.preinitialized {
            pipeline.unlock_entries(table, size)?;
        }
        match (self.change, &self.action) {
            (Change::Insert, Some(action)) => {
                pipeline.insert(plant.now_ns, table, key, action, &self.options)?;
                if let Err(failure) = self.set_resources(pipeline) {
                    // This was checked before, so the update fails only in a case that nobody
                    // foresaw.
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
            // Writing the same rates again must not reset what the meter has counted.
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
