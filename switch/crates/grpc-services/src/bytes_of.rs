// SPDX-License-Identifier: Apache-2.0
//! Counts the bytes of memory that updates and answers take while they are kept. The updates that
//! undo a Write, those that wait for a COMMIT, and the answers to Reads are charged by it.

use v1model::{ActionCall, EntryAction, EntryKey, Match};

use crate::heap::{ALLOCATION, list};
use crate::op::Op;

/// The heap memory of a key, bytes.
pub fn key(key: &EntryKey) -> usize {
    list::<Match>(&key.matches)
}

fn call(call: &ActionCall) -> usize {
    list(&call.args)
}

/// The heap memory of an action, bytes.
pub fn action(action: &EntryAction) -> usize {
    match action {
        EntryAction::Call(own) => call(own),
        EntryAction::Member(_) | EntryAction::Group(_) => 0,
        EntryAction::OneShot(calls) => {
            list(calls)
                + calls
                    .iter()
                    .map(|weighted| call(&weighted.call))
                    .sum::<usize>()
        }
    }
}

fn boxed<T>(_: &T) -> usize {
    size_of::<T>() + ALLOCATION
}

impl Op {
    /// The memory that the update takes, bytes.
    pub fn bytes(&self) -> usize {
        let beside = match self {
            Op::Entry(op) => {
                let action = op.action.as_ref().map_or(0, action);
                boxed(&**op) + key(&op.key) + action + list(&op.options.metadata)
            }
            Op::Default(op) => {
                let action = op.action.as_ref().map_or(0, action);
                boxed(&**op) + action + list(&op.note.metadata)
            }
            Op::DirectCounter(op) => boxed(&**op) + op.1.as_ref().map_or(0, key),
            Op::DirectMeter(op) => boxed(&**op) + op.1.as_ref().map_or(0, key),
            Op::Recount(op) => boxed(&**op) + op.1.as_ref().map_or(0, key),
            Op::Counter(..) | Op::Register(..) | Op::Nothing => 0,
            Op::Run(run) => boxed(&**run) + list(&run.values),
            Op::Meter(op) => boxed(&**op),
            Op::Member(_, op) => boxed(&**op) + call(&op.2),
            Op::Group(_, op) => boxed(&**op) + list(&op.1.members) + list(&op.2.metadata),
            Op::ValueSet(op) => {
                let rows = op.1.iter().map(|row| list(row)).sum::<usize>();
                boxed(&**op) + list(&op.1) + rows
            }
            Op::Multicast(_, op) => boxed(&**op) + list(&op.1) + list(&op.2.metadata),
            Op::CloneSession(_, op) => boxed(&**op) + list(&op.1.replicas) + list(&op.2.metadata),
            Op::Digest(_, op) => boxed(&**op),
            Op::CounterCells(op) => boxed(&**op) + list(&op.2),
            Op::RegisterCells(op) => boxed(&**op) + list(&op.2),
            Op::MeterCells(op) => boxed(&**op) + list(&op.2),
        };
        size_of::<Op>() + beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::op::EntryOp;
    use v1model::{ActionId, EntryOptions, RegisterId, TableId};

    #[test]
    fn what_an_update_holds_is_charged() {
        assert_eq!(Op::Nothing.bytes(), size_of::<Op>());
        let cells = |n| Op::RegisterCells(Box::new((RegisterId(0), 0, vec![0; n])));
        assert_eq!(cells(1001).bytes() - cells(1).bytes(), 16_000);
        let entry = |args: usize, metadata: usize| {
            Op::Entry(Box::new(EntryOp {
                change: Change::Insert,
                table: TableId(0),
                key: EntryKey {
                    matches: vec![Match::Exact(1)],
                    priority: 0,
                },
                action: Some(EntryAction::Call(ActionCall {
                    action: ActionId(0),
                    args: vec![0; args],
                })),
                options: EntryOptions {
                    idle_timeout_ns: 0,
                    metadata: vec![0; metadata],
                },
                counter: None,
                meter: None,
                only_resources: false,
                preinitialized: None,
            }))
        };
        assert!(entry(1, 1).bytes() > size_of::<EntryOp>());
        assert_eq!(entry(3, 1).bytes() - entry(1, 1).bytes(), 32);
        assert_eq!(entry(1, 1001).bytes() - entry(1, 1).bytes(), 1000);
    }
}
