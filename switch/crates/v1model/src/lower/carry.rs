// SPDX-License-Identifier: Apache-2.0
//! Which slots a packet takes with it from ingress to egress.
//!
//! Those that egress, or the deparser behind it, may read before it writes them, as far as
//! ingress writes them; what egress alone writes it finds as it was before the packet. Of a header that nothing but the deparser looks at the fields
//! are needed only where it is put together from them: where ingress or egress has changed
//! it. What the target reads and writes itself is said here, too.

use super::live::{Referred, reached, read_first, runs};
use crate::carry::{Carry, Fields, Given};
use crate::code::Code;
use crate::header::Header;
use crate::layout::Layout;
use crate::op::{Op, Pc, Slot, Use};
use std::collections::{HashMap, HashSet};

/// Slots between two runs that are cheaper to copy than to leave out.
const GAP: usize = 3;

/// A set of slots that is filled run by run.
struct Marks(Vec<bool>);

impl Marks {
    fn set(&mut self, first: u16, slots: u16, value: bool) {
        let first = usize::from(first);
        self.0[first..first + usize::from(slots)].fill(value);
    }

    fn set_all(&mut self, pieces: [(u16, u16); 2]) {
        pieces
            .iter()
            .for_each(|(first, n)| self.set(*first, *n, true));
    }

    fn any(&self, first: u16, slots: u16) -> bool {
        let first = usize::from(first);
        self.0[first..first + usize::from(slots)].contains(&true)
    }

    fn has(&self, slot: u16) -> bool {
        self.0[usize::from(slot)]
    }
}

/// Marks what instructions write; an AddHeader writes into fields only zeroes, and only
/// where the header was not valid: these are left out.
fn mark_written<'o>(code: &Code, ops: impl Iterator<Item = &'o Op>, written: &mut Marks) {
    for op in ops {
        op.operands(&mut |slot, slots, to| {
            if to == Use::Write {
                written.set(slot, slots, true);
            }
        });
        if let Op::ApplyWith { table } = op
            && let Some(meter) = &code.tables[usize::from(*table)].meter
        {
            written.set(meter.target, 1, true);
            written.set(meter.raw, 1, true);
        }
    }
}

/// The same of all that control may come to from some places.
fn mark_reached<const N: usize>(code: &Code, starts: [Option<Pc>; N], written: &mut Marks) {
    for start in starts.into_iter().flatten() {
        let reached = reached(&code.ops, &code.tables, start);
        let ops = reached.iter().map(|at| &code.ops[*at as usize]);
        mark_written(code, ops, written);
    }
}

/// What is done with each slot between ingress and egress, but for fields of headers that
/// only the deparser reads.
pub(super) struct Places {
    pub carried: Vec<bool>,
    /// Egress begins with it as it was before the packet.
    pub reset: Vec<bool>,
}

/// What a packet takes with it.
pub(super) fn carry(code: &Code, layout: &Layout) -> (Carry, Places) {
    let slots = code.template.len();
    let none = || Marks(vec![false; slots]);
    let paths = &code.paths;
    let standard = &code.standard;

    // What anything ever writes. Headers come and go.
    let mut written = none();
    mark_written(code, code.ops.iter(), &mut written);
    for header in layout.headers.iter().filter(|header| !header.metadata) {
        written.set_all(header.pieces());
    }
    let set = [
        standard.ingress_port,
        standard.egress_spec,
        standard.egress_port,
        standard.instance_type,
        standard.packet_length,
        standard.enq_timestamp,
        standard.enq_qdepth,
        standard.deq_timedelta,
        standard.deq_qdepth,
        standard.ingress_global_timestamp,
        standard.egress_global_timestamp,
        standard.mcast_grp,
        standard.egress_rid,
        standard.parser_error,
        paths.qid,
        paths.slots.truncate,
    ];
    for slot in set {
        written.set(slot, 1, true);
    }

    let mut changed = none();
    mark_reached(code, [Some(code.egress), code.deparser], &mut changed);
    // What a packet may come to egress with: what ingress writes, and the target before it.
    let mut brought = none();
    let starts = [code.parser, code.parser_end, code.ingress];
    mark_reached(code, starts.map(Some), &mut brought);
    for header in layout.headers.iter().filter(|header| !header.metadata) {
        brought.set_all(header.pieces());
    }
    for slot in set {
        brought.set(slot, 1, true);
    }
    for field in paths.lists.iter().flatten() {
        brought.set(field.slot, field.words, true);
    }

    // What is read when egress and deparser are done.
    let mut at_end = none();
    let read = [
        standard.egress_spec,
        paths.slots.clone,
        paths.slots.clone_list,
        paths.slots.recirculate,
        paths.slots.truncate,
    ];
    for slot in read {
        at_end.set(slot, 1, true);
    }
    for field in paths.lists.iter().flatten() {
        at_end.set(field.slot, field.words, true);
    }
    let whole = whole_headers(code, layout);
    let deparsed = code.deparse.iter().map(|e| usize::from(e.header));
    let deparsed: HashSet<usize> = deparsed.collect();
    for index in &deparsed {
        let header = &layout.headers[*index];
        at_end.set(header.valid, 2, true);
        if let Some(var) = header.var() {
            at_end.set(var.slot, 1, true);
        }
        if whole[*index] {
            at_end.set_all(header.pieces());
        }
    }

    let referred = Referred::of(code);
    // A clone that egress makes goes through it with the headers that the first pass leaves.
    let clones = written.has(paths.slots.clone);
    let live = loop {
        let before = match code.deparser {
            Some(deparser) => read_first(&code.ops, referred, deparser, &at_end.0),
            None => at_end.0.clone(),
        };
        let both = before.iter().zip(&at_end.0).map(|(a, b)| *a || *b);
        let both: Vec<bool> = both.collect();
        let live = read_first(&code.ops, referred, code.egress, &both);
        let mut more = false;
        for header in layout.headers.iter().filter(|h| clones && !h.metadata) {
            for slot in header
                .pieces()
                .into_iter()
                .flat_map(|(first, n)| first..first + n)
            {
                if live[usize::from(slot)] && !at_end.has(slot) {
                    at_end.set(slot, 1, true);
                    more = true;
                }
            }
        }
        if !more {
            break live;
        }
    };

    let mut wanted = Marks(live.iter().zip(&written.0).map(|(a, b)| *a && *b).collect());
    // Of no packet, and what egress begins with.
    wanted.0[code.state_slots..].fill(false);
    for slot in [
        standard.egress_spec,
        standard.egress_port,
        standard.instance_type,
        standard.packet_length,
        standard.enq_timestamp,
        standard.enq_qdepth,
        standard.deq_timedelta,
        standard.deq_qdepth,
        standard.egress_global_timestamp,
        standard.egress_rid,
        paths.qid,
    ] {
        wanted.set(slot, 1, false);
    }
    let is_read = |slot: Slot| live[usize::from(slot)];
    let mut carry = Carry {
        given: Given {
            egress_port: is_read(standard.egress_port),
            egress_rid: is_read(standard.egress_rid),
            instance_type: is_read(standard.instance_type),
            packet_length: is_read(standard.packet_length),
            egress_global_timestamp: is_read(standard.egress_global_timestamp),
            deq_qdepth: is_read(standard.deq_qdepth),
            qid: is_read(paths.qid),
            deq_timedelta: is_read(standard.deq_timedelta),
            enq_timestamp: is_read(standard.enq_timestamp),
            enq_qdepth: is_read(standard.enq_qdepth),
        },
        ..Carry::default()
    };
    let mut reset = none();
    for (slot, wanted) in wanted.0.iter_mut().enumerate() {
        if *wanted && !brought.0[slot] {
            *wanted = false;
            reset.0[slot] = true;
        }
    }
    carry.resets = runs(&reset.0);
    let places = Places {
        carried: wanted.0.clone(),
        reset: reset.0,
    };
    for (index, header) in layout.headers.iter().enumerate() {
        let code = &code.headers[index];
        let emitted = deparsed.contains(&index);
        let in_fields = emitted && !whole[index] && code.built && header.slots > 2;
        if in_fields {
            wanted.set(header.valid, 2, true);
            carry.fields.push(Fields {
                valid: header.valid,
                raw: header.raw,
                run: (header.first, header.field_slots()),
                changes: changed.has(header.raw) || changed.any(header.first, header.field_slots()),
            });
        }
    }
    for run in runs(&wanted.0) {
        match carry.runs.last_mut() {
            Some(last) if usize::from(run.0 - last.0 - last.1) <= GAP => {
                last.1 = run.0 + run.1 - last.0;
            }
            _ => carry.runs.push(run),
        }
    }
    carry.always = carry.runs.iter().map(|run| usize::from(run.1)).sum();
    let constant: Vec<bool> = written.0.iter().map(|written| !written).collect();
    carry.constant = runs(&constant[..code.state_slots]);
    (carry, places)
}

/// Headers whose fields may be needed although they are not valid, or as received, at the
/// end of ingress: those in stacks and unions, those that field lists fill, and those that
/// become valid by other means than being added or copied whole.
fn whole_headers(code: &Code, layout: &Layout) -> Vec<bool> {
    let mut whole: Vec<bool> = layout
        .headers
        .iter()
        .map(|h| !h.rivals.is_empty())
        .collect();
    for header in layout.stacks.iter().flat_map(|stack| &stack.headers) {
        whole[*header] = true;
    }
    // By the slot of their validity.
    let headers = layout.headers.iter().map(|h| (h.valid, h));
    let headers: HashMap<Slot, &Header> = headers.collect();
    let mut written = Marks(vec![false; code.template.len()]);
    for op in &code.ops {
        let copied = match *op {
            Op::Copy { d, n, .. } => headers.get(&d).filter(|header| {
                let [validity, _] = header.pieces();
                n == header.slots || n == validity.1
            }),
            _ => None,
        };
        op.operands(&mut |slot, slots, to| {
            if to == Use::Write {
                // All but the validity of the header that is copied whole.
                let own = u16::from(copied.is_some());
                written.set(slot + own, slots - own, true);
            }
        });
    }
    let listed = code.paths.lists.iter().flatten();
    let listed: HashSet<Slot> = listed.filter_map(|field| field.raw).collect();
    for (header, whole) in layout.headers.iter().zip(&mut whole) {
        *whole |= written.has(header.valid) || listed.contains(&header.raw);
    }
    whole
}
