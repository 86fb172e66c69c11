// SPDX-License-Identifier: Apache-2.0
//! What the machine relies on and does not look at again for each packet: that operands are
//! slots, that control stays within the code and comes to an end, and that what instructions
//! name is there. All of it holds by construction; this is what makes a mistake there a
//! refused program.

use super::circle::Search;
use crate::code::{Code, HeaderCode};
use crate::error::LoadError;
use crate::op::{Op, Pc, Slot};

/// How many of the things there are that instructions name and that are not part of the code.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub registers: usize,
    pub counters: usize,
    pub meters: usize,
    pub value_sets: usize,
    /// Words that the arguments of an action may take.
    pub arguments: usize,
}

/// # Errors
/// The sentence says what is wrong; it is a fault of the lowering.
pub(super) fn verify(code: &Code, counts: &Counts) -> Result<(), LoadError> {
    let fault = |what: &str| {
        LoadError::new(format!(
            "the program was lowered to instructions {what}; this is a fault of the switch, \
             please report it with the program"
        ))
    };
    if !operands_are_slots(code, counts) {
        return Err(fault("with operands that are no slots"));
    }
    if !code.ops.iter().all(has_width) {
        return Err(fault("that give a value of no bits"));
    }
    if !names_are_known(code, counts) {
        return Err(fault("that name what is not there"));
    }
    if !stays_within(code) {
        return Err(fault("that leave the code"));
    }
    if !all_end(code) {
        return Err(fault("that a packet would not leave"));
    }
    Ok(())
}

fn operands_are_slots(code: &Code, counts: &Counts) -> bool {
    let slots = code.template.len();
    let within = |slot: Slot, n: usize| usize::from(slot) + n <= slots;
    let mut good = code.params + counts.arguments <= slots;
    // Written when the parser fails.
    good &= within(code.standard.parser_error, 1);
    for op in &code.ops {
        op.operands(&mut |slot, n, _| good &= within(slot, usize::from(n)));
    }
    let keys = code.tables.iter().flat_map(|table| &table.keys);
    for key in keys {
        good &= within(key.slot, usize::from(key.width.div_ceil(64))) && within(key.valid, 1);
    }
    good && code.headers.iter().all(|header| is_within(header, slots))
}

/// Whether what an instruction gives has a width that its mask can have. What has none is a varbit
/// field, whose slot says where its bits are: a number there is a place far behind the frame.
fn has_width(op: &Op) -> bool {
    match *op {
        Op::Cut { w, .. }
        | Op::Add { w, .. }
        | Op::Sub { w, .. }
        | Op::Mul { w, .. }
        | Op::And { w, .. }
        | Op::Or { w, .. }
        | Op::Xor { w, .. }
        | Op::Not { w, .. }
        | Op::Shl { w, .. }
        | Op::Shr { w, .. }
        | Op::Sar { w, .. }
        | Op::Div { w, .. }
        | Op::Rem { w, .. }
        | Op::RegisterRead { w, .. }
        | Op::ExecuteMeter { w, .. }
        | Op::Random { w, .. }
        | Op::Lookahead { width: w, .. } => (1..=64).contains(&w),
        Op::CutW { w, .. } | Op::SaturateW { w, .. } | Op::RegisterReadW { w, .. } => {
            (1..=128).contains(&w)
        }
        Op::Sext { from, .. } | Op::SextW { from, .. } => from > 0,
        _ => true,
    }
}

/// Whether a header's fields are slots, and the quick ones begin within its bytes.
fn is_within(header: &HeaderCode, slots: usize) -> bool {
    let end = usize::from(header.first) + usize::from(header.field_slots);
    let own = |slot: Slot, width: u16| usize::from(slot) + usize::from(width.div_ceil(64)) <= end;
    let single = [header.valid, header.raw];
    let mut others = single.iter().chain(&header.rivals);
    end <= slots
        && others.all(|slot| usize::from(*slot) < slots)
        && header.var.is_none_or(|(slot, _)| own(slot, 1))
        && header.slow_loads.iter().all(|f| own(f.slot, f.width))
        && header.fields.iter().all(|f| f.var || own(f.slot, f.width))
        && header
            .loads
            .iter()
            .all(|load| own(load.slot, 1) && u32::from(load.byte) < header.bytes && load.after < 64)
}

fn names_are_known(code: &Code, counts: &Counts) -> bool {
    let is = |index: u16, count: usize| usize::from(index) < count;
    let known = |op: &Op| match *op {
        Op::Apply { table } | Op::ApplyWith { table } => is(table, code.tables.len()),
        Op::RegisterRead { register, .. }
        | Op::RegisterReadW { register, .. }
        | Op::RegisterWrite { register, .. }
        | Op::RegisterWriteW { register, .. } => is(register, counts.registers),
        Op::RegisterRead2 {
            register, other, ..
        }
        | Op::RegisterWrite2 {
            register, other, ..
        } => is(register, counts.registers) && is(other, counts.registers),
        Op::Count { counter, .. } => is(counter, counts.counters),
        Op::ExecuteMeter { meter, .. } => is(meter, counts.meters),
        Op::JumpInSet { set, .. } => is(set, counts.value_sets),
        Op::Hash { calculation, .. } | Op::Checksum { calculation, .. } => {
            is(calculation, code.calculations.len())
        }
        Op::Wide { expr, .. } => is(expr, code.wides.len()),
        Op::AddHeader { header }
        | Op::RemoveHeader { header }
        | Op::Extract { header }
        | Op::ExtractVar { header, .. } => is(header, code.headers.len()),
        Op::Log { message } | Op::Assert { message, .. } => is(message, code.messages.len()),
        Op::ExtractNext { stack, .. }
        | Op::ExtractNextVar { stack, .. }
        | Op::Push { stack, .. }
        | Op::Pop { stack, .. } => is(stack, code.stacks.len()),
        _ => true,
    };
    let stacks = code.stacks.iter().flat_map(|stack| &stack.headers);
    code.ops.iter().all(known)
        && code
            .deparse
            .iter()
            .all(|e| is(e.header, code.headers.len()))
        && stacks
            .into_iter()
            .all(|header| *header < code.headers.len())
}

fn stays_within(code: &Code) -> bool {
    let within = |pc: &Pc| (*pc as usize) < code.ops.len();
    let targets = code.ops.iter().filter_map(Op::target);
    // The last instruction does not go on.
    code.ops.last().is_some_and(Op::leaves)
        && entries(code).all(|pc| within(&pc))
        && targets.into_iter().all(|pc| within(&pc))
        && code.tables.iter().all(|table| {
            let nexts = table.next.iter().flat_map(|(hit, miss)| [hit, miss]);
            table.actions.len() == table.next.len()
                && table.actions.iter().chain(nexts).all(within)
        })
        // A table whose action was put in place has none, and nothing looks it up.
        && code.ops.iter().all(|op| match *op {
            Op::Apply { table } | Op::ApplyWith { table } => {
                !code.tables[usize::from(table)].actions.is_empty()
            }
            _ => true,
        })
}

/// Where packets enter the code.
fn entries(code: &Code) -> impl Iterator<Item = Pc> {
    let own = [code.parser, code.parser_end, code.ingress, code.egress];
    own.into_iter().chain(code.deparser)
}

/// Whether every packet comes to an end: no way comes back to where it was without an
/// [`Op::Tick`], which counts; nothing returns that was not called; and no action calls.
fn all_end(code: &Code) -> bool {
    let ops = code.ops.iter().enumerate();
    // What a visit of a parser's state goes on with is where a way may begin anew.
    let counted = ops.filter(|(_, op)| matches!(op, Op::Tick));
    let starts = entries(code).chain(counted.map(|(at, _)| at as Pc + 1));
    // Actions are looked through on their own: of a table they are a step.
    let actions = code.tables.iter().flat_map(|table| &table.actions);
    end(code, starts, false) && end(code, actions.copied(), true)
}

/// Whether all ways from these instructions end, which belong to actions if they are `called`.
fn end(code: &Code, starts: impl IntoIterator<Item = Pc>, called: bool) -> bool {
    let mut search = Search::new(code.ops.len());
    let mut astray = false;
    let mut next = |at: usize| {
        let behind = behind(code, at as Pc, called);
        astray |= behind.is_none();
        let behind = behind.into_iter().flatten();
        behind.map(|pc| pc as usize).collect()
    };
    let mut starts = starts.into_iter();
    let circle = starts.find_map(|start| search.circle(start as usize, &mut next));
    circle.is_none() && !astray
}

/// Where control may go from an instruction; `None` where it must not be.
fn behind(code: &Code, pc: Pc, called: bool) -> Option<Vec<Pc>> {
    let op = &code.ops[pc as usize];
    let mut behind: Vec<Pc> = op.target().into_iter().collect();
    match op {
        Op::Return | Op::MovReturn { .. } | Op::Mov2Return { .. } => {
            return called.then_some(behind);
        }
        Op::Apply { table } | Op::ApplyWith { table } => {
            let next = &code.tables[usize::from(*table)].next;
            behind.extend(next.iter().flat_map(|(hit, miss)| [*hit, *miss]));
            behind.sort_unstable();
            behind.dedup();
            return (!called).then_some(behind);
        }
        // See `all_end`.
        Op::Tick => return Some(vec![code.parser_end]),
        Op::Fail { .. }
        | Op::Extract { .. }
        | Op::ExtractVar { .. }
        | Op::ExtractNext { .. }
        | Op::ExtractNextVar { .. }
        | Op::Lookahead { .. }
        | Op::LookaheadW { .. }
        | Op::Advance { .. } => behind.push(code.parser_end),
        _ => {}
    }
    if !op.leaves() {
        behind.push(pc + 1);
    }
    Some(behind)
}

#[cfg(test)]
mod tests;
