// SPDX-License-Identifier: Apache-2.0
//! The update that undoes another, found before that is executed. Tokens of
//! meters, times of idle entries and the order of entries that were deleted are
//! not brought back.

use v1model::{ActionProfileId, Group, Member, TableEntry};

use crate::failure::Failure;
use crate::op::{Change, DefaultOp, EntryOp, Op, Plant};

impl Op {
    /// What undoes this update; [`Op::Nothing`] where it will fail anyway.
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
            Op::Counter(counter, None, _) => {
                let size = pipeline.program().counters()[counter.0 as usize].size;
                let cells = (0..size).map(|index| pipeline.counter(*counter, index));
                Op::CounterCells(Box::new((*counter, cells.collect::<Result<_, _>>()?)))
            }
            Op::Register(register, Some(index), _) => Op::Register(
                *register,
                Some(*index),
                pipeline.register(*register, *index)?,
            ),
            Op::Register(register, None, _) => {
                let size = pipeline.program().registers()[register.0 as usize].size;
                let cells = pipeline.register_cells(*register, 0..size)?;
                Op::RegisterCells(Box::new((*register, cells.iter().collect())))
            }
            Op::Meter(op) => match op.1 {
                Some(index) => Op::Meter(Box::new((op.0, op.1, pipeline.meter(op.0, index)?))),
                None => {
                    let size = pipeline.program().meters()[op.0.0 as usize].size;
                    let cells = (0..size).map(|index| pipeline.meter(op.0, index));
                    Op::MeterCells(Box::new((op.0, cells.collect::<Result<_, _>>()?)))
                }
            },
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
            Op::Multicast(..)
            | Op::CounterCells(_)
            | Op::RegisterCells(_)
            | Op::MeterCells(_)
            | Op::Nothing => Op::Nothing,
        })
    }
}

/// What brings back that which an update modified or deleted.
fn restoring(change: Change) -> Change {
    match change {
        Change::Delete => Change::Insert,
        Change::Insert | Change::Modify => Change::Modify,
    }
}

fn member(plant: &Plant<'_>, profile: ActionProfileId, id: u32) -> Result<Option<Member>, Failure> {
    let members = plant.pipeline.members(profile)?;
    Ok(members.into_iter().find(|member| member.id == id))
}

fn group(plant: &Plant<'_>, profile: ActionProfileId, id: u32) -> Result<Option<Group>, Failure> {
    let groups = plant.pipeline.groups(profile)?;
    Ok(groups.into_iter().find(|group| group.id == id))
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
            // What packets have counted meanwhile stays where nothing was written.
            counter: counter.filter(|_| is_deleted || self.counter.is_some()),
            meter: meter.filter(|_| is_deleted || self.meter.is_some()),
            only_resources: self.only_resources,
        }))
    }
}
