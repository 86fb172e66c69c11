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
use std::collections::{HashMap, HashSet};

/// Most instructions, those that tables name counted at each of them, times slots: for each of
/// these pairs there is a bit or two. In a larger program all slots count as read.
const BITS: usize = 1 << 30;

/// Most rounds through a program's instructions until no more is found; one finds all where there
/// is no loop, and each loop that is entered from another takes one more. In a program that takes
/// more all slots count as read.
const ROUNDS: usize = 16;

/// A set of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slots(Vec<u64>);

impl Slots {
    fn none(slots: usize) -> Self {
        Slots(vec![0; slots.div_ceil(64)])
    }

    fn all(slots: usize) -> Self {
        Slots(vec![u64::MAX; slots.div_ceil(64)])
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

    /// Adds the slots that are in both of two sets.
    fn add_common(&mut self, one: &Slots, other: &Slots) {
        let common = one.0.iter().zip(&other.0).map(|(a, b)| a & b);
        self.0.iter_mut().zip(common).for_each(|(a, b)| *a |= b);
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
/// where what is `read_at_end` is read once that ends. Of a program that is too large to tell,
/// all may be read.
pub(super) fn read_first(
    ops: &[Op],
    referred: Referred<'_>,
    entry: Pc,
    read_at_end: &[bool],
) -> Vec<bool> {
    let slots = read_at_end.len();
    let named = referred.tables.iter().map(|table| table.actions.len());
    let instructions = ops.len() + named.sum::<usize>();
    if instructions.saturating_mul(slots) > BITS {
        return vec![true; slots];
    }
    read_at(ops, referred, entry, read_at_end).unwrap_or_else(|| vec![true; slots])
}

/// The same, unless it takes too many rounds.
fn read_at(
    ops: &[Op],
    referred: Referred<'_>,
    entry: Pc,
    read_at_end: &[bool],
) -> Option<Vec<bool>> {
    let mut end = Slots::none(read_at_end.len());
    for (slot, read) in read_at_end.iter().enumerate() {
        end.set(slot, *read);
    }
    let slots = read_at_end.len();
    let (none, all) = (Slots::none(slots), Slots::all(slots));
    let mut graph = Graph {
        ops,
        referred,
        end,
        actions: HashMap::new(),
    };
    let region = graph.reached(entry, false);
    for at in &region {
        for action in graph.actions_of(*at) {
            if !graph.actions.contains_key(action) {
                let own = graph.reached(*action, false);
                let summary = Action {
                    before_none: graph.region(own.clone(), &none)?.before(*action).clone(),
                    before_all: graph.region(own, &all)?.before(*action).clone(),
                };
                graph.actions.insert(*action, summary);
            }
        }
    }
    let region = graph.region(region, &none)?;
    let live = region.before(entry);
    Some((0..slots).map(|slot| live.has(slot)).collect())
}

/// The instructions that control may come to from `entry`.
pub(super) fn reached(ops: &[Op], tables: &[TableCode], entry: Pc) -> Vec<Pc> {
    let referred = Referred {
        tables,
        ..Referred::default()
    };
    let graph = Graph {
        ops,
        referred,
        end: Slots::none(0),
        actions: HashMap::new(),
    };
    graph.reached(entry, true)
}

/// Instructions, complete with all that they lead to, and what is live before each.
struct Region {
    /// By instruction: its place in `before`.
    places: HashMap<Pc, usize>,
    before: Vec<Slots>,
}

impl Region {
    fn before(&self, at: Pc) -> &Slots {
        &self.before[self.places[&at]]
    }
}

/// What is live before an action, when nothing is live behind it, and when all is. Whether a slot
/// is live depends on no other slot, so these two say it for whatever is live behind the action.
struct Action {
    before_none: Slots,
    before_all: Slots,
}

struct Graph<'a> {
    ops: &'a [Op],
    referred: Referred<'a>,
    /// What is live where the code ends.
    end: Slots,
    /// Actions of tables, by their first instruction.
    actions: HashMap<Pc, Action>,
}

impl<'a> Graph<'a> {
    fn nothing(&self) -> Slots {
        Slots(vec![0; self.end.0.len()])
    }

    /// Where control may come to from `entry`, with or without the actions of tables. Where there
    /// is no loop, each instruction comes behind all that it leads to.
    fn reached(&self, entry: Pc, actions: bool) -> Vec<Pc> {
        let (mut found, mut order) = (HashSet::new(), Vec::new());
        // Whether all that it leads to is in order.
        let mut next = vec![(entry, false)];
        while let Some((at, done)) = next.pop() {
            if done {
                order.push(at);
                continue;
            }
            if !found.insert(at) {
                continue;
            }
            next.push((at, true));
            match &self.ops[at as usize] {
                Op::Apply { table } | Op::ApplyWith { table } => {
                    let table = &self.referred.tables[usize::from(*table)];
                    let behind = table.next.iter().flat_map(|(hit, miss)| [*hit, *miss]);
                    let called = table.actions.iter().copied().filter(|_| actions);
                    next.extend(behind.chain(called).map(|at| (at, false)));
                }
                _ => next.extend(self.followers(at).map(|at| (at, false))),
            }
        }
        order
    }

    /// The actions that an instruction calls.
    fn actions_of(&self, at: Pc) -> &'a [Pc] {
        match &self.ops[at as usize] {
            Op::Apply { table } | Op::ApplyWith { table } => {
                &self.referred.tables[usize::from(*table)].actions
            }
            _ => &[],
        }
    }

    /// What is live before each of some instructions, when `returned` is behind a return. `None`
    /// when that takes too many rounds.
    fn region(&self, of: Vec<Pc>, returned: &Slots) -> Option<Region> {
        let before = vec![self.nothing(); of.len()];
        let places = of.iter().enumerate().map(|(place, at)| (*at, place));
        let places = places.collect();
        let mut region = Region { places, before };
        for _ in 0..ROUNDS {
            let mut changed = false;
            for (place, at) in of.iter().copied().enumerate() {
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
                return Some(region);
            }
        }
        None
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
            let action = &self.actions[action];
            live.add(&action.before_none);
            live.add_common(&action.before_all, region.before(*hit));
            live.add_common(&action.before_all, region.before(*miss));
        }
        live
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
mod tests;
