// SPDX-License-Identifier: Apache-2.0
//! Finds the update that undoes another one, before that one is executed. Undoing does not restore
//! the tokens of meters, the times of idle entries, and the order of entries that were deleted.

use std::ops::Range;

use v1model::{ActionProfileId, Group, Member, TableEntry};

use crate::change::Change;
use crate::failure::Failure;
use crate::op::{DefaultOp, EntryOp, Op, Plant};

impl Op {
    /// The update that undoes this one; [`Op::Nothing`] if this one will fail anyway.
    ///
    /// # Errors
    /// The state of the object cannot be read.
    pub fn inverse(&self, plant: &Plant<'_>) -> Result<Op, Failure> {
        let pipeline = &*plant.pipeline;
        Ok(match self {
            Op::Entry(op) => op.inverse(plant),
            Op::Default(op) => {
                let (action, is_initial) = pipeline.default_entry(op.table)?;
                let counter = op.counter.map(|_| pipeline.direct_counter(op.table, None));
                let meter = op.meter.map(|_| pipeline.direct_meter(op.table, None));
                Op::Default(Box::new(DefaultOp {
                    table: op.table,
                    action: (!is_initial).then_some(action),
                    note: plant.notes.default_entry(op.table),
                    counter: counter.transpose()?,
                    meter: meter.transpose()?,
                }))
            }
            Op::DirectCounter(op) => match pipeline.direct_counter(op.0, op.1.as_ref()) {
                Ok(old) => Op::DirectCounter(Box::new((op.0, op.1.clone(), Some(old)))),
                Err(_) => Op::Nothing,
            },
            Op::DirectMeter(op) => match pipeline.direct_meter(op.0, op.1.as_ref()) {
                Ok(old) => Op::DirectMeter(Box::new((op.0, op.1.clone(), old))),
                Err(_) => Op::Nothing,
            },
            Op::Counter(counter, Some(index), _) => {
                Op::Counter(*counter, Some(*index), pipeline.counter(*counter, *index)?)
            }
            Op::Register(register, Some(index), _) => Op::Register(
                *register,
                Some(*index),
                pipeline.register(*register, *index)?,
            ),
            Op::Run(run) => {
                let range = run.first..run.first + run.values.len();
                let cells = pipeline.register_cells(run.register, range)?;
                Op::RegisterCells(Box::new((run.register, run.first, cells.iter().collect())))
            }
            Op::Meter(op) if op.1.is_some() => {
                let index = op.1.unwrap_or(0);
                Op::Meter(Box::new((op.0, op.1, pipeline.meter(op.0, index)?)))
            }
            Op::Counter(..) | Op::Register(..) | Op::Meter(_) => {
                let all = self.cells(pipeline.program());
                self.inverse_cells(0..all, plant)?
            }
            Op::Member(Change::Insert, op) => Op::Member(Change::Delete, op.clone()),
            Op::Member(change, op) => match member(plant, op.0, op.1)? {
                Some(old) => Op::Member(restoring(*change), Box::new((op.0, old.id, old.call))),
                None => Op::Nothing,
            },
            Op::Group(Change::Insert, op) => Op::Group(Change::Delete, op.clone()),
            Op::Group(change, op) => match group(plant, op.0, op.1.id)? {
                Some(old) => {
                    let note = plant.notes.selector_group(op.0, old.id);
                    Op::Group(restoring(*change), Box::new((op.0, old, note)))
                }
                None => Op::Nothing,
            },
            Op::ValueSet(op) => Op::ValueSet(Box::new((op.0, pipeline.value_set(op.0)?))),
            Op::Multicast(Change::Insert, op) => Op::Multicast(Change::Delete, op.clone()),
            Op::Multicast(change, op) if pipeline.multicast().contains(op.0) => {
                let replicas = pipeline.multicast().replicas(op.0).to_vec();
                let note = plant.notes.multicast(op.0);
                Op::Multicast(restoring(*change), Box::new((op.0, replicas, note)))
            }
            Op::CloneSession(Change::Insert, op) => Op::CloneSession(Change::Delete, op.clone()),
            Op::CloneSession(change, op) => match pipeline.clone_sessions().get(op.0) {
                Some(old) => {
                    let note = plant.notes.clone_session(op.0);
                    Op::CloneSession(restoring(*change), Box::new((op.0, old.clone(), note)))
                }
                None => Op::Nothing,
            },
            Op::Digest(Change::Insert, op) => Op::Digest(Change::Delete, op.clone()),
            Op::Digest(change, op) => match plant.notes.digest(op.0) {
                Some(old) => Op::Digest(restoring(*change), Box::new((op.0, old))),
                None => Op::Nothing,
            },
            // Clients cannot make these.
            Op::Recount(_) => Op::Nothing,
            Op::Multicast(..)
            | Op::CounterCells(_)
            | Op::RegisterCells(_)
            | Op::MeterCells(_)
            | Op::Nothing => Op::Nothing,
        })
    }
}

impl Op {
    /// The update that undoes [`Op::execute_cells`].
    ///
    /// # Errors
    /// The cells cannot be read.
    pub fn inverse_cells(&self, range: Range<usize>, plant: &Plant<'_>) -> Result<Op, Failure> {
        let pipeline = &*plant.pipeline;
        let first = range.start;
        Ok(match self {
            Op::Counter(id, ..) => {
                let cells = pipeline.counter_cells(*id, range)?.to_vec();
                Op::CounterCells(Box::new((*id, first, cells)))
            }
            Op::Register(id, ..) => {
                let cells = pipeline.register_cells(*id, range)?.iter().collect();
                Op::RegisterCells(Box::new((*id, first, cells)))
            }
            Op::Meter(op) => {
                let cells = range.map(|index| pipeline.meter(op.0, index));
                Op::MeterCells(Box::new((op.0, first, cells.collect::<Result<_, _>>()?)))
            }
            _ => Op::Nothing,
        })
    }
}

/// The update that brings back an entry that is modified or deleted.
fn restoring(change: Change) -> Change {
    match change {
        Change::Delete => Change::Insert,
        Change::Insert | Change::Modify => Change::Modify,
    }
}

fn member(plant: &Plant<'_>, profile: ActionProfileId, id: u32) -> Result<Option<Member>, Failure> {
    let found = plant.pipeline.members(profile, id)?.next();
    Ok(found.filter(|member| member.id == id))
}

fn group(plant: &Plant<'_>, profile: ActionProfileId, id: u32) -> Result<Option<Group>, Failure> {
    let found = plant.pipeline.groups(profile, id)?.next();
    Ok(found.filter(|group| group.id == id))
}

impl EntryOp {
    fn inverse(&self, plant: &Plant<'_>) -> Op {
        if self.change == Change::Insert {
            return Op::Entry(Box::new(EntryOp {
                change: Change::Delete,
                action: None,
                ..self.clone()
            }));
        }
        let Ok(TableEntry {
            key,
            action,
            counter,
            meter,
            options,
            ..
        }) = plant.pipeline.entry(self.table, &self.key)
        else {
            return Op::Nothing;
        };
        let is_deleted = self.change == Change::Delete;
        Op::Entry(Box::new(EntryOp {
            change: restoring(self.change),
            table: self.table,
            key,
            action: Some(action),
            options,
            // A counter that was not written keeps what packets have counted since.
            counter: counter.filter(|_| is_deleted || self.counter.is_some()),
            meter: meter.filter(|_| is_deleted || self.meter.is_some()),
            only_resources: self.only_resources,
            preinitialized: self.preinitialized,
        }))
    }
}
