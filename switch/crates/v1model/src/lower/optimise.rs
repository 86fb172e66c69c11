// SPDX-License-Identifier: Apache-2.0
//! Removes redundant instructions of p4c's output.
//!
//! p4c copies an index into a fresh temporary for every extern call. Within
//! straight code such copies are read through, and what nothing reads any
//! more is removed; jumps to jumps go to where those go.

use crate::op::{Op, Pc, Slot, Use};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions, and where each of the old ones went.
pub(super) struct Optimised {
    pub ops: Vec<Op>,
    /// New place of each old instruction, or of the first kept one behind it.
    pub moved: Vec<Pc>,
}

/// `entries` are the places that something outside the code jumps to; `kept`
/// tells the slots that something outside the code reads.
pub(super) fn optimise(mut ops: Vec<Op>, entries: &[Pc], kept: &[bool]) -> Optimised {
    thread_jumps(&mut ops);
    propagate_copies(&mut ops, entries);
    let mut removed = vec![false; ops.len()];
    remove_unread(&ops, kept, &mut removed);
    let mut moved = Vec::with_capacity(ops.len());
    let mut new = Vec::with_capacity(ops.len());
    for (op, removed) in ops.iter().zip(&removed) {
        moved.push(new.len() as Pc);
        if !removed {
            new.push(*op);
        }
    }
    for op in &mut new {
        if let Some(to) = op.target_mut() {
            *to = moved[*to as usize];
        }
    }
    Optimised { ops: new, moved }
}

/// Most jumps that are followed one behind the other, and most times that what nothing reads is
/// looked for: a program of nothing else must not take the square of its length to load.
const TURNS: usize = 64;

fn thread_jumps(ops: &mut [Op]) {
    for at in 0..ops.len() {
        let mut op = ops[at];
        for _ in 0..TURNS {
            let Some(to) = op.target_mut() else { break };
            match ops[*to as usize] {
                Op::Jump { to: further } if further != *to => *to = further,
                _ => break,
            }
        }
        if let Op::Jump { to } = op {
            if let end @ (Op::End | Op::Return) = ops[to as usize] {
                op = end;
            }
        }
        ops[at] = op;
    }
}

/// Copies that still hold.
#[derive(Default)]
struct Copies {
    origin: BTreeMap<Slot, Slot>,
    /// Origins and copies.
    of: BTreeSet<(Slot, Slot)>,
}

impl Copies {
    fn clear(&mut self) {
        self.origin.clear();
        self.of.clear();
    }

    fn origin(&self, slot: Slot) -> Slot {
        self.origin.get(&slot).copied().unwrap_or(slot)
    }

    /// A slot was copied, after [`Copies::written`] for the copy.
    fn made(&mut self, copy: Slot, origin: Slot) {
        self.origin.insert(copy, origin);
        self.of.insert((origin, copy));
    }

    /// Some slots were written: neither copies in them hold any more nor copies of them.
    fn written(&mut self, first: Slot, slots: u16) {
        if self.origin.is_empty() || slots == 0 {
            return;
        }
        let last = first + (slots - 1);
        while let Some((copy, origin)) = self.origin.range(first..=last).next() {
            let (copy, origin) = (*copy, *origin);
            self.forget(copy, origin);
        }
        while let Some((origin, copy)) = self.of.range((first, 0)..=(last, Slot::MAX)).next() {
            let (copy, origin) = (*copy, *origin);
            self.forget(copy, origin);
        }
    }

    fn forget(&mut self, copy: Slot, origin: Slot) {
        self.origin.remove(&copy);
        self.of.remove(&(origin, copy));
    }
}

/// Lets instructions read the origin of a copy, until either is written.
fn propagate_copies(ops: &mut [Op], entries: &[Pc]) {
    let mut leader = vec![false; ops.len() + 1];
    for entry in entries {
        leader[*entry as usize] = true;
    }
    for op in ops.iter_mut() {
        if let Some(to) = op.target_mut() {
            leader[*to as usize] = true;
        }
    }
    let mut copies = Copies::default();
    for (at, op) in ops.iter_mut().enumerate() {
        if leader[at] {
            copies.clear();
        }
        op.map_reads(&mut |slot| copies.origin(slot));
        match *op {
            Op::Apply { .. }
            | Op::ApplyWith { .. }
            | Op::Extract { .. }
            | Op::ExtractVar { .. }
            | Op::ExtractNext { .. }
            | Op::ExtractNextVar { .. }
            | Op::AddHeader { .. }
            | Op::RemoveHeader { .. }
            | Op::Jump { .. }
            | Op::Return
            | Op::End => copies.clear(),
            _ => op.operands(&mut |slot, n, used| {
                if used == Use::Write {
                    copies.written(slot, n);
                }
            }),
        }
        if let Op::Mov { d, a } = *op {
            if d != a {
                copies.made(d, a);
            }
        }
    }
}

/// Marks instructions that only compute what nothing reads.
fn remove_unread(ops: &[Op], kept: &[bool], removed: &mut [bool]) {
    for _ in 0..TURNS {
        let mut read = kept.to_vec();
        for (op, _) in ops
            .iter()
            .zip(removed.iter())
            .filter(|(_, removed)| !**removed)
        {
            op.operands(&mut |slot, n, used| {
                if used == Use::Read {
                    read[usize::from(slot)..usize::from(slot) + usize::from(n)].fill(true);
                }
            });
        }
        let mut changed = false;
        for (op, removed) in ops.iter().zip(removed.iter_mut()) {
            if *removed || !op.only_computes() {
                continue;
            }
            let mut needed = false;
            op.operands(&mut |slot, n, used| {
                if used == Use::Write {
                    let range = usize::from(slot)..usize::from(slot) + usize::from(n);
                    needed |= read[range].contains(&true);
                }
            });
            if !needed {
                *removed = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_read_through_and_then_removed() {
        // t2 = 1; count[t2]; 1 = 3; count[t2] -- the second must not see 3.
        let ops = vec![
            Op::Mov { d: 2, a: 1 },
            Op::Count {
                counter: 0,
                index: 2,
            },
            Op::Mov { d: 1, a: 3 },
            Op::Count {
                counter: 0,
                index: 2,
            },
            Op::End,
        ];
        let optimised = optimise(ops.clone(), &[0], &[false; 4]);
        let first = Op::Count {
            counter: 0,
            index: 1,
        };
        assert_eq!(optimised.ops, [ops[0], first, ops[2], ops[3], ops[4]]);
        let once = optimise(
            ops[..2].iter().chain(&ops[4..]).copied().collect(),
            &[0],
            &[false; 4],
        );
        assert_eq!(
            once.ops,
            [
                Op::Count {
                    counter: 0,
                    index: 1
                },
                Op::End
            ]
        );
        assert_eq!(once.moved, [0, 0, 1]);
    }

    #[test]
    fn copies_do_not_outlive_a_place_that_is_jumped_to() {
        let ops = vec![
            Op::Mov { d: 2, a: 1 },
            Op::Count {
                counter: 0,
                index: 2,
            },
            Op::JumpIf { a: 3, to: 1 },
            Op::End,
        ];
        assert_eq!(optimise(ops.clone(), &[0], &[false; 4]).ops, ops);
    }

    #[test]
    fn jumps_to_jumps_and_ends_are_short() {
        let ops = vec![
            Op::JumpIf { a: 0, to: 2 },
            Op::Jump { to: 3 },
            Op::Jump { to: 1 },
            Op::End,
        ];
        let optimised = optimise(ops, &[0], &[true]).ops;
        assert_eq!(optimised[0], Op::JumpIf { a: 0, to: 3 });
        assert_eq!(optimised[1..], [Op::End, Op::End, Op::End]);
    }
}
