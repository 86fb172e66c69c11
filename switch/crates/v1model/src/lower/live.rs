// SPDX-License-Identifier: Apache-2.0
//! Finds slots that are read before the packet has written them.
//!
//! p4c makes a slot of every local variable of every control, and most of them
//! are written before they are read, on every path. A new packet need not reset
//! those. Found by going backwards through the code: a slot is live where some
//! path from there reads it before it writes it.

use crate::calculation::{Calculation, Input};
use crate::code::{Code, HeaderCode, Message, TableCode};
use crate::op::words;
use crate::op::{Op, Pc, Slot, Use};
use crate::wide::Wide;
use std::collections::BTreeSet;

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

/// What instructions refer to.
#[derive(Clone, Copy, Default)]
pub(super) struct Referred<'a> {
    pub tables: &'a [TableCode],
    pub headers: &'a [HeaderCode],
    pub calculations: &'a [Calculation],
    pub wides: &'a [Wide],
    pub messages: &'a [Message],
}

impl<'a> Referred<'a> {
    /// What a program's instructions refer to.
    pub fn of(code: &'a Code) -> Self {
        Referred {
            tables: &code.tables,
            headers: &code.headers,
            calculations: &code.calculations,
            wides: &code.wides,
            messages: &code.messages,
        }
    }
}

impl Referred<'_> {
    /// The slots that an instruction reads without having them as operands.
    fn reads(&self, op: &Op, visit: &mut dyn FnMut(Slot, u16)) {
        let calculated = |calculation: u16, visit: &mut dyn FnMut(Slot, u16)| {
            for input in &self.calculations[usize::from(calculation)].inputs {
                if let Some((slot, n)) = input.slots() {
                    visit(slot, n);
                }
                if let Input::Field { valid, .. } | Input::Var { valid, .. } = input {
                    visit(*valid, 1);
                }
            }
        };
        match *op {
            Op::Apply { table } | Op::ApplyWith { table } => {
                let table = &self.tables[usize::from(table)];
                for key in &table.keys {
                    visit(key.slot, words(key.width));
                    visit(key.valid, 1);
                }
                if let Some(hash) = table.profile.as_ref().and_then(|profile| profile.hash) {
                    calculated(hash, visit);
                }
            }
            Op::Hash { calculation, .. } | Op::Checksum { calculation, .. } => {
                calculated(calculation, visit);
            }
            Op::Wide { expr, .. } => {
                crate::wide::slots(&self.wides[usize::from(expr)].expr, visit);
            }
            Op::Log { message } | Op::Assert { message, .. } => {
                for value in &self.messages[usize::from(message)].values {
                    crate::wide::slots(value, visit);
                }
            }
            // Whether it is valid decides what becomes of its fields.
            Op::AddHeader { header } => visit(self.headers[usize::from(header)].valid, 1),
            _ => {}
        }
    }
}

/// Tells for every slot whether code that begins at `entry` may read it before writing it,
/// where what is `read_at_end` is read once that ends.
pub(super) fn read_first(
    ops: &[Op],
    referred: Referred<'_>,
    entry: Pc,
    read_at_end: &[bool],
) -> Vec<bool> {
    let mut end = Slots::none(read_at_end.len());
    for (slot, read) in read_at_end.iter().enumerate() {
        end.set(slot, *read);
    }
    let returned = Slots::none(read_at_end.len());
    let graph = Graph { ops, referred, end };
    let region = graph.region(graph.reached(entry, false), &returned);
    let live = region.before(entry);
    (0..read_at_end.len()).map(|slot| live.has(slot)).collect()
}

/// The instructions that control may come to from `entry`, ascending.
pub(super) fn reached(ops: &[Op], tables: &[TableCode], entry: Pc) -> Vec<Pc> {
    let referred = Referred {
        tables,
        ..Referred::default()
    };
    let end = Slots::none(0);
    Graph { ops, referred, end }.reached(entry, true)
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
    referred: Referred<'a>,
    /// What is live where the code ends.
    end: Slots,
}

impl Graph<'_> {
    fn nothing(&self) -> Slots {
        Slots(vec![0; self.end.0.len()])
    }

    /// Where control may come to from `entry`, with or without the actions of tables.
    fn reached(&self, entry: Pc, actions: bool) -> Vec<Pc> {
        let (mut found, mut next) = (BTreeSet::new(), vec![entry]);
        while let Some(at) = next.pop() {
            if !found.insert(at) {
                continue;
            }
            match &self.ops[at as usize] {
                Op::Apply { table } | Op::ApplyWith { table } => {
                    let table = &self.referred.tables[usize::from(*table)];
                    next.extend(table.next.iter().flat_map(|(hit, miss)| [*hit, *miss]));
                    next.extend(table.actions.iter().filter(|_| actions));
                }
                _ => next.extend(self.followers(at)),
            }
        }
        found.into_iter().collect()
    }

    /// What is live before each of some instructions, when `returned` is behind a return.
    fn region(&self, of: Vec<Pc>, returned: &Slots) -> Region {
        let before = vec![self.nothing(); of.len()];
        let mut region = Region { of, before };
        loop {
            let mut changed = false;
            for place in (0..region.of.len()).rev() {
                let at = region.of[place];
                let op = &self.ops[at as usize];
                let mut live = match op {
                    Op::Return | Op::MovReturn { .. } | Op::Mov2Return { .. } => returned.clone(),
                    Op::Apply { table } | Op::ApplyWith { table } => {
                        self.before_table(&self.referred.tables[usize::from(*table)], &region)
                    }
                    Op::End => self.end.clone(),
                    _ => self.behind(at, &region),
                };
                through(op, &mut live);
                self.referred.reads(op, &mut |slot, n| {
                    for slot in slot..slot + n {
                        live.set(usize::from(slot), true);
                    }
                });
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
        let mut live = self.nothing();
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
        let mut live = self.nothing();
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
        let referred = Referred {
            tables,
            ..Referred::default()
        };
        let live = read_first(ops, referred, 0, &[false; 8]);
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
