// SPDX-License-Identifier: Apache-2.0
//! Which slots are read before the packet has written them.
//!
//! p4c makes a slot of every local variable of every control, and most of them
//! are written before they are read, on every path. A new packet need not reset
//! those. Found by going backwards through the code: a slot is live where some
//! path from there reads it before it writes it.

use crate::code::TableCode;
use crate::op::{Op, Pc, Slot, Use};

/// A set of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slots(Vec<u64>);

impl Slots {
    fn none(slots: usize) -> Self {
        Slots(vec![0; slots.div_ceil(64)])
    }

    fn set(&mut self, slot: usize, live: bool) {
        let bit = 1 << (slot % 64);
        if live {
            self.0[slot / 64] |= bit;
        } else {
            self.0[slot / 64] &= !bit;
        }
    }

    fn has(&self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 != 0
    }

    fn add(&mut self, other: &Slots) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// Tells for every slot whether code that begins at one of `entries` may read
/// it before writing it. What instructions read without having it as an operand
/// (keys of tables, headers, hashes) is not followed.
pub(super) fn read_first(
    ops: &[Op],
    tables: &[TableCode],
    entries: &[Pc],
    slots: usize,
) -> Vec<bool> {
    let graph = Graph { ops, tables, slots };
    let all: Vec<Pc> = (0..ops.len() as Pc).collect();
    let region = graph.region(all, &Slots::none(slots));
    let mut live = Slots::none(slots);
    for entry in entries {
        live.add(region.before(*entry));
    }
    (0..slots).map(|slot| live.has(slot)).collect()
}

/// Instructions, ascending, complete with all that they lead to, and what is live before each.
struct Region {
    of: Vec<Pc>,
    before: Vec<Slots>,
}

impl Region {
    fn before(&self, at: Pc) -> &Slots {
        let place = self.of.binary_search(&at);
        &self.before[place.expect("control stays in its region")]
    }
}

struct Graph<'a> {
    ops: &'a [Op],
    tables: &'a [TableCode],
    slots: usize,
}

impl Graph<'_> {
    /// What is live before each of some instructions, when `returned` is behind a return.
    fn region(&self, of: Vec<Pc>, returned: &Slots) -> Region {
        let before = vec![Slots::none(self.slots); of.len()];
        let mut region = Region { of, before };
        loop {
            let mut changed = false;
            for place in (0..region.of.len()).rev() {
                let at = region.of[place];
                let op = &self.ops[at as usize];
                let mut live = match op {
                    Op::Return | Op::MovReturn { .. } | Op::Mov2Return { .. } => returned.clone(),
                    Op::Apply { table } | Op::ApplyWith { table } => {
                        self.before_table(&self.tables[usize::from(*table)], &region)
                    }
                    _ => self.behind(at, &region),
                };
                through(op, &mut live);
                if live != region.before[place] {
                    region.before[place] = live;
                    changed = true;
                }
            }
            if !changed {
                return region;
            }
        }
    }

    /// What is live behind an instruction that does not leave its region.
    fn behind(&self, at: Pc, region: &Region) -> Slots {
        let mut live = Slots::none(self.slots);
        for next in self.followers(at) {
            live.add(region.before(next));
        }
        live
    }

    fn followers(&self, at: Pc) -> impl Iterator<Item = Pc> {
        let op = &self.ops[at as usize];
        let next = (!op.leaves()).then_some(at + 1);
        next.into_iter().chain(op.target())
    }

    /// What is live before a table's actions.
    fn before_table(&self, table: &TableCode, region: &Region) -> Slots {
        let mut live = Slots::none(self.slots);
        for (action, (hit, miss)) in table.actions.iter().zip(&table.next) {
            let mut returned = region.before(*hit).clone();
            returned.add(region.before(*miss));
            live.add(self.region(self.body(*action), &returned).before(*action));
        }
        live
    }

    /// An action's instructions, ascending. Actions apply no tables.
    fn body(&self, action: Pc) -> Vec<Pc> {
        let mut found = vec![action];
        let mut seen = 0;
        while let Some(at) = found.get(seen).copied() {
            seen += 1;
            for next in self.followers(at) {
                if !found.contains(&next) {
                    found.push(next);
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// From what is live behind an instruction to what is live before it.
fn through(op: &Op, live: &mut Slots) {
    // A register's cell may be past the end, and its like: then nothing is written.
    let always = op.only_computes()
        || matches!(
            op,
            Op::Mov2 { .. } | Op::MovReturn { .. } | Op::Mov2Return { .. }
        );
    let mut operands = Vec::with_capacity(4);
    op.operands(&mut |slot, n, to| operands.push((slot, n, to)));
    // Two instructions in one have their operands in turns.
    for (slot, n, to) in operands.into_iter().rev() {
        for slot in usize::from(slot)..usize::from(slot) + usize::from(n) {
            match to {
                Use::Read => live.set(slot, true),
                Use::Write if always => live.set(slot, false),
                Use::Write => {}
            }
        }
    }
}

/// First and number of the slots that `wanted` names.
pub(super) fn runs(wanted: &[bool]) -> Vec<(Slot, Slot)> {
    let mut first = 0;
    let mut runs = Vec::new();
    for run in wanted.chunk_by(|a, b| a == b) {
        if run[0] {
            runs.push((first as Slot, run.len() as Slot));
        }
        first += run.len();
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(actions: &[Pc], next: &[(Pc, Pc)]) -> TableCode {
        TableCode {
            keys: Vec::new(),
            actions: actions.to_vec(),
            next: next.to_vec(),
            default: None,
            entries: Vec::new(),
            meter: None,
            profile: None,
        }
    }

    fn read_before(ops: &[Op], tables: &[TableCode]) -> Vec<usize> {
        let live = read_first(ops, tables, &[0], 8);
        (0..8).filter(|slot| live[*slot]).collect()
    }

    #[test]
    fn what_every_path_writes_first_is_not_live() {
        // if 0 { 2 = 1 } else { 2 = 3 }; 4 = 2
        let ops = [
            Op::JumpIfNot { a: 0, to: 3 },
            Op::Mov { d: 2, a: 1 },
            Op::Jump { to: 4 },
            Op::Mov { d: 2, a: 3 },
            Op::Mov { d: 4, a: 2 },
            Op::End,
        ];
        assert_eq!(read_before(&ops, &[]), [0, 1, 3]);
        // Without the else.
        let ops = [
            Op::JumpIfNot { a: 0, to: 2 },
            Op::Mov { d: 2, a: 1 },
            Op::Mov { d: 4, a: 2 },
            Op::End,
        ];
        assert_eq!(read_before(&ops, &[]), [0, 1, 2]);
    }

    #[test]
    fn a_loop_is_followed() {
        // 1 is read in the second round before it is written in it, but written in the first.
        let ops = [
            Op::Mov { d: 1, a: 0 },
            Op::Add {
                d: 1,
                a: 1,
                b: 2,
                w: 8,
            },
            Op::JumpIf { a: 3, to: 1 },
            Op::JumpIf { a: 4, to: 0 },
            Op::End,
        ];
        assert_eq!(read_before(&ops, &[]), [0, 2, 3, 4]);
    }

    #[test]
    fn a_table_writes_what_all_its_actions_write() {
        // apply; 4 = 2; 4 = 3. The actions: 2 = 0, 3 = 1; and 2 = 1.
        let ops = [
            Op::Apply { table: 0 },
            Op::Mov { d: 4, a: 2 },
            Op::Mov { d: 4, a: 3 },
            Op::End,
            Op::Mov2Return {
                d: 2,
                a: 0,
                e: 3,
                b: 1,
            },
            Op::MovReturn { d: 2, a: 1 },
        ];
        let next = [(1, 1), (1, 1)];
        assert_eq!(read_before(&ops, &[table(&[4, 5], &next)]), [0, 1, 3]);
        // The second ends the pipeline.
        let next = [(1, 1), (3, 3)];
        assert_eq!(read_before(&ops, &[table(&[4, 5], &next)]), [0, 1]);
    }

    #[test]
    fn an_action_is_followed_by_its_own_table() {
        // Two tables share an action; 2 is written between them and read behind the second.
        let ops = [
            Op::Apply { table: 0 },
            Op::Mov { d: 2, a: 0 },
            Op::Apply { table: 1 },
            Op::Mov { d: 4, a: 2 },
            Op::End,
            Op::Return,
        ];
        let tables = [table(&[5], &[(1, 1)]), table(&[5], &[(3, 3)])];
        assert_eq!(read_before(&ops, &tables), [0]);
    }

    #[test]
    fn a_register_may_have_no_such_cell() {
        let ops = [
            Op::RegisterRead {
                d: 1,
                index: 0,
                register: 0,
                w: 8,
            },
            Op::Mov { d: 2, a: 1 },
            Op::End,
        ];
        assert_eq!(read_before(&ops, &[]), [0, 1]);
    }

    #[test]
    fn the_second_of_two_in_one_reads_what_the_first_wrote() {
        let ops = [
            Op::Mov2 {
                d: 1,
                a: 0,
                e: 2,
                b: 1,
            },
            Op::End,
        ];
        assert_eq!(read_before(&ops, &[]), [0]);
    }

    #[test]
    fn runs_are_what_is_wanted_side_by_side() {
        let wanted = [true, true, false, false, true, false];
        assert_eq!(runs(&wanted), [(0, 2), (4, 1)]);
        assert_eq!(runs(&[false; 3]), []);
        assert_eq!(runs(&[]), []);
    }
}
