// SPDX-License-Identifier: Apache-2.0
//! Puts the lowered parts together.

use super::emit::{Assembled, Label};
use super::fuse::fuse;
use super::live::{self, Referred};
use super::optimise::{Optimised, optimise};
use super::parser::the_one;
use super::verify::{Counts, verify};
use super::{Lowered, Lowering, Purpose, carry, limits};
use crate::calculation::Input;
use crate::carry::Carry;
use crate::code::{Code, Emitted, FieldCode, HeaderCode, Load, Message, Standard, TableCode};
use crate::error::LoadError;
use crate::grants::GrantSlots;
use crate::header::Header;
use crate::json::{self, Document};
use crate::layout::{Known, Layout};
use crate::op::{Op, Pc, Slot, Use, words};
use crate::schema::{ActionSchema, ParamSchema};
use crate::wire::LONG_FRAME;

impl Lowering<'_> {
    /// The program, once all instructions are emitted.
    pub fn finish(
        mut self,
        parser: Label,
        parser_end: Label,
        ingress: Label,
        egress: Label,
        deparser: Option<Label>,
    ) -> Result<Lowered, LoadError> {
        self.emitter.check_size()?;
        let document = self.document;
        let paths = self.path_code()?;
        let layout = self.layout;
        let places = self.emitter.take_places();
        let wides = std::mem::take(&mut self.emitter.wides);
        let Assembled {
            ops,
            constants,
            places: labels,
        } = self.emitter.finish()?;

        let mut template = vec![0; layout.constants];
        template.extend(constants);
        for header in layout.headers.iter().filter(|h| h.metadata) {
            template[usize::from(header.valid)] = 1;
        }

        let standard = standard(&layout)?;
        let queue_id = layout.metadata_by_suffix("queue_id");
        let sub_queue = layout.metadata_by_suffix("sub_queue");
        let grants = GrantSlots::of(&layout);
        let mut target = kept(&layout, template.len(), &standard, &[queue_id, sub_queue]);
        paths.operands(&mut |slot, n, _| {
            target[usize::from(slot)..usize::from(slot) + usize::from(n)].fill(true);
        });
        let mut kept = target.clone();
        let mut keep = |slot: Slot, n: u16| {
            kept[usize::from(slot)..usize::from(slot) + usize::from(n)].fill(true);
        };
        // What instructions read without having it as an operand.
        let mut aside: Vec<(Slot, u16)> = Vec::new();
        for source in self.tables.iter().flat_map(|t| &t.keys) {
            aside.push((source.slot, words(source.width)));
        }
        let messages = self.messages.iter().flat_map(|m: &Message| &m.values);
        for expr in messages.chain(wides.iter().map(|w| &w.expr)) {
            crate::wide::slots(expr, &mut |slot, n| aside.push((slot, n)));
        }
        let inputs = self.calculations.iter().flat_map(|c| &c.inputs);
        aside.extend(inputs.filter_map(Input::slots));
        for (slot, n) in &aside {
            keep(*slot, *n);
        }
        let entries: Vec<Pc> = [parser, parser_end, ingress, egress]
            .into_iter()
            .chain(deparser)
            .chain(
                self.tables
                    .iter()
                    .flat_map(|t| &t.actions)
                    .flat_map(|a| [a.0, a.1, a.2]),
            )
            .map(|label| labels.of(label))
            .collect::<Result<_, _>>()?;
        let Optimised { ops, moved } = match self.purpose {
            Purpose::Speed => {
                let short = optimise(ops, &entries, &kept);
                let entries: Vec<Pc> = entries.iter().map(|pc| short.moved[*pc as usize]).collect();
                let widths: Vec<u16> = self.registers.iter().map(|r| r.width).collect();
                let fused = fuse(&short.ops, &entries, &widths);
                Optimised {
                    ops: fused.ops,
                    moved: short
                        .moved
                        .iter()
                        .map(|pc| fused.moved[*pc as usize])
                        .collect(),
                }
            }
            Purpose::Trace => Optimised {
                moved: (0..ops.len() as Pc).collect(),
                ops,
            },
        };
        let place = |label: Label| Ok::<Pc, LoadError>(moved[labels.of(label)? as usize]);

        let mut read = vec![false; template.len()];
        let mut written = vec![false; template.len()];
        let mut mark = |slot: Slot, n: u16, to: Use| {
            let range = usize::from(slot)..usize::from(slot) + usize::from(n);
            let marks = if to == Use::Read {
                &mut read
            } else {
                &mut written
            };
            marks[range].fill(true);
        };
        for op in &ops {
            op.operands(&mut mark);
            if let Op::AddHeader { header } = op {
                for (first, n) in layout.headers[usize::from(*header)].pieces() {
                    mark(first, n, Use::Write);
                }
            }
        }
        for meter in self.tables.iter().filter_map(|t| t.meter) {
            mark(meter.target, 1, Use::Write);
            mark(meter.raw, 1, Use::Write);
        }
        for (slot, n) in &aside {
            mark(*slot, *n, Use::Read);
        }

        paths.operands(&mut |slot, n, written| {
            mark(slot, n, Use::Read);
            if written {
                mark(slot, n, Use::Write);
            }
        });

        let deparse = deparse_order(document, &layout)?;
        // 1 + the place of each header that is emitted once.
        let mut place_of = vec![0; layout.headers.len()];
        let mut emitted = vec![false; layout.headers.len()];
        for (place, header) in (1..).zip(&deparse) {
            let header = usize::from(header.header);
            let again = std::mem::replace(&mut emitted[header], true);
            place_of[header] = if again { 0 } else { place };
        }
        let long = longest(&deparse, &layout) > LONG_FRAME;
        let headers: Vec<HeaderCode> = layout
            .headers
            .iter()
            .enumerate()
            .map(|(at, h)| header_code(h, place_of[at], &read, &written))
            .collect();
        let built = deparse
            .iter()
            .filter(|e| headers[usize::from(e.header)].built);
        let built = built.map(|e| (e.valid, e.raw)).collect();
        let actions: Vec<ActionSchema> = document
            .actions
            .iter()
            .map(|action| {
                let params = action
                    .runtime_data
                    .iter()
                    .map(|p| match u16::try_from(p.bitwidth) {
                        Ok(width @ 1..=128) => Ok(ParamSchema {
                            name: p.name.clone(),
                            width,
                        }),
                        _ => Err(LoadError::new(format!(
                            "parameter {} of action {} has {} bits; 1 to 128 are supported",
                            p.name, action.name, p.bitwidth
                        ))),
                    });
                Ok(ActionSchema {
                    name: action.name.clone(),
                    params: params.collect::<Result<_, _>>()?,
                })
            })
            .collect::<Result<_, LoadError>>()?;

        let mut tables = Vec::new();
        let mut table_code = Vec::new();
        for table in self.tables {
            table_code.push(TableCode {
                keys: table.keys,
                actions: table
                    .actions
                    .iter()
                    .map(|(code, _, _)| place(*code))
                    .collect::<Result<_, _>>()?,
                next: table
                    .actions
                    .iter()
                    .map(|(_, hit, miss)| Ok((place(*hit)?, place(*miss)?)))
                    .collect::<Result<_, LoadError>>()?,
                default: table.default,
                entries: table.entries,
                meter: table.meter,
                profile: table.profile,
            });
            tables.push(table.schema);
        }
        for meter in table_code.iter().filter_map(|t| t.meter) {
            target[usize::from(meter.target)] = true;
        }
        let plain = is_plain(&ops, &layout);
        let mut code = Code {
            resets: Vec::new(),
            carry: Carry::default(),
            ops,
            parser: place(parser)?,
            ingress: place(ingress)?,
            egress: place(egress)?,
            parser_end: place(parser_end)?,
            deparser: deparser.map(place).transpose()?,
            template,
            state_slots: layout.state_slots,
            params: layout.params,
            headers,
            stacks: layout.stacks.clone(),
            deparse,
            long,
            plain,
            built,
            tables: table_code,
            messages: self.messages,
            calculations: self.calculations,
            wides,
            standard,
            errors: self.errors,
            queue_id,
            sub_queue,
            grants,
            paths,
            places,
            error_names: document.errors.clone(),
        };
        let counts = Counts {
            registers: self.registers.len(),
            counters: self.counters.len(),
            meters: self.meters.len(),
            value_sets: self.value_sets.len(),
            arguments: arguments(&actions),
        };
        verify(&code, &counts)?;
        let mut known = Known::default();
        // A packet that is traced resets all, and takes all with it.
        if self.purpose == Purpose::Speed {
            let (carry, places) = carry::carry(&code, &layout);
            let starts = [code.parser, code.parser_end, code.ingress];
            let mut read_first = vec![false; code.template.len()];
            for start in starts {
                let read = live::read_first(&code.ops, Referred::of(&code), start, &places.carried);
                read_first.iter_mut().zip(read).for_each(|(a, b)| *a |= b);
            }
            let mut reset = vec![true; layout.state_slots];
            for header in layout.headers.iter().filter(|h| h.metadata) {
                for field in &header.fields {
                    let own = usize::from(field.slot)..usize::from(field.slot + words(field.width));
                    let any = |marks: &[bool]| marks[own.clone()].contains(&true);
                    let name = (header.name.clone(), field.name.clone());
                    if !any(&target) && !any(&read_first) {
                        reset[own.clone()].fill(false);
                        known.late.insert(name.clone());
                    }
                    if any(&places.carried) {
                        known.carried.insert(name);
                    } else if any(&places.reset) {
                        known.egress.insert(name);
                    }
                }
            }
            code.resets = live::runs(&reset);
            code.carry = carry;
            if !code.carry.fits(code.state_slots) {
                return Err(LoadError::new(
                    "a packet would carry slots that it has not; this is a fault of the switch",
                ));
            }
        }
        Ok(Lowered {
            code,
            known,
            tables,
            actions,
            registers: self.registers,
            counters: self.counters,
            meters: self.meters,
            action_profiles: self.action_profiles,
            value_sets: self.value_sets,
            digests: self.digests,
        })
    }
}

/// The most slots that the arguments of an action take.
fn arguments(actions: &[ActionSchema]) -> usize {
    let params = actions.iter().map(|action| &action.params);
    let slots = params.map(|params| params.iter().map(|p| usize::from(words(p.width))).sum());
    slots.max().unwrap_or(0)
}

/// Slots that the target reads, whatever the code does: headers, which are
/// emitted, validity, standard metadata, and the fields `named` by the target.
fn kept(layout: &Layout, slots: usize, standard: &Standard, named: &[Option<Slot>]) -> Vec<bool> {
    let mut kept = vec![false; slots];
    for header in &layout.headers {
        let [validity, fields] = header.pieces();
        for (first, n) in [Some(validity), (!header.metadata).then_some(fields)]
            .into_iter()
            .flatten()
        {
            kept[usize::from(first)..usize::from(first) + usize::from(n)].fill(true);
        }
    }
    let read = [
        standard.egress_spec,
        standard.mcast_grp,
        standard.priority,
        standard.enq_timestamp,
        standard.parser_error,
    ];
    for slot in read.into_iter().chain(named.iter().copied().flatten()) {
        kept[usize::from(slot)] = true;
    }
    kept
}

/// See [`Code::plain`].
fn is_plain(ops: &[Op], layout: &Layout) -> bool {
    let mut shape = vec![false; usize::from(Slot::MAX) + 1];
    for header in layout.headers.iter().filter(|h| !h.metadata) {
        shape[usize::from(header.valid)] = true;
        if let Some(var) = header.var() {
            shape[usize::from(var.slot)] = true;
        }
    }
    let mut plain = layout.stacks.is_empty() && layout.unions.is_empty();
    for op in ops {
        op.operands(&mut |slot, n, to| {
            let range = usize::from(slot)..usize::from(slot) + usize::from(n);
            plain &= to == Use::Read || !shape[range].contains(&true);
        });
    }
    plain
}

/// Fields that nothing reads are not extracted, unless the header may have to
/// be put together again because something in it is written.
fn header_code(header: &Header, order: u16, read: &[bool], written: &[bool]) -> HeaderCode {
    // Changed validity alone leaves the bytes as they were received.
    let own = usize::from(header.first)..usize::from(header.first + header.field_slots());
    let rebuilt = written[usize::from(header.raw)] || written[own].contains(&true);
    let mut offset = 0;
    let mut var = None;
    let mut fields = Vec::new();
    for field in &header.fields {
        if field.var {
            var = Some((field.slot, offset));
        }
        fields.push(FieldCode {
            slot: field.slot,
            width: field.width,
            offset,
            after_var: var.is_some() && !field.var,
            var: field.var,
        });
        offset += u32::from(field.width);
    }
    let needed = |f: &&FieldCode| {
        let slots = usize::from(f.slot)..usize::from(f.slot + words(f.width));
        !f.var && (rebuilt || read[slots].contains(&true))
    };
    HeaderCode {
        valid: header.valid,
        raw: header.raw,
        first: header.first,
        field_slots: header.field_slots(),
        bytes: header.bits / 8,
        max_bytes: header.max_bytes,
        loads: fields
            .iter()
            .filter(needed)
            .filter_map(quick_load)
            .collect(),
        slow_loads: fields
            .iter()
            .filter(needed)
            .filter(|f| quick_load(f).is_none())
            .copied()
            .collect(),
        fields,
        var,
        order,
        built: rebuilt,
        rivals: header.rivals.clone(),
    }
}

/// How to load a field that lies within eight bytes at a fixed place.
fn quick_load(field: &FieldCode) -> Option<Load> {
    let skip = field.offset % 8;
    let used = skip + u32::from(field.width);
    if field.after_var || used > 64 {
        return None;
    }
    Some(Load {
        slot: field.slot,
        byte: u16::try_from(field.offset / 8).ok()?,
        before: skip as u8,
        after: (64 - field.width) as u8,
    })
}

fn deparse_order(document: &Document, layout: &Layout) -> Result<Vec<Emitted>, LoadError> {
    let deparser = the_one(&document.deparsers, "deparser", |d| &d.name)?;
    let at = || json::position(&deparser.source_info);
    limits::check_deparser(deparser.order.len()).map_err(|e| e.at(at()))?;
    deparser
        .order
        .iter()
        .map(|name| {
            layout
                .header_index(name)
                .and_then(|i| {
                    let header = &layout.headers[i];
                    // Its fields are not kept for it.
                    if header.metadata {
                        return Err(LoadError::new(format!(
                            "the BMv2 JSON is malformed: the deparser emits {name}, which is \
                             metadata"
                        )));
                    }
                    Ok(Emitted {
                        valid: header.valid,
                        raw: header.raw,
                        var: header.var().map_or(Emitted::NO_VAR, |field| field.slot),
                        header: i as u16,
                        bytes: header.bits / 8,
                    })
                })
                .map_err(|e| e.at(at()))
        })
        .collect()
}

/// Most bytes of all headers that are emitted. The length of a varbit field may have been assigned
/// from any other one.
fn longest(deparse: &[Emitted], layout: &Layout) -> usize {
    let with_var = layout.headers.iter().filter(|h| h.var().is_some());
    let most = with_var.map(|header| match header.max_bytes {
        0 => LONG_FRAME,
        most => most as usize,
    });
    let most_var = most.max().unwrap_or(0);
    let bytes = deparse.iter().map(|emitted| {
        let var = emitted.var != Emitted::NO_VAR;
        emitted.bytes as usize + if var { most_var } else { 0 }
    });
    bytes.fold(0, usize::saturating_add)
}

fn standard(layout: &Layout) -> Result<Standard, LoadError> {
    if layout.standard("egress_spec").is_none() {
        return Err(LoadError::new(
            "the program has no standard_metadata.egress_spec, so it is not for v1model",
        ));
    }
    let slot = |name: &str| layout.standard(name).unwrap_or(layout.absent);
    Ok(Standard {
        ingress_port: slot("ingress_port"),
        egress_spec: slot("egress_spec"),
        egress_port: slot("egress_port"),
        instance_type: slot("instance_type"),
        packet_length: slot("packet_length"),
        enq_timestamp: slot("enq_timestamp"),
        enq_qdepth: slot("enq_qdepth"),
        deq_timedelta: slot("deq_timedelta"),
        deq_qdepth: slot("deq_qdepth"),
        ingress_global_timestamp: slot("ingress_global_timestamp"),
        egress_global_timestamp: slot("egress_global_timestamp"),
        mcast_grp: layout.standard("mcast_grp").unwrap_or(layout.absent_zero),
        egress_rid: slot("egress_rid"),
        parser_error: slot("parser_error"),
        priority: layout.standard("priority").unwrap_or(layout.absent_zero),
    })
}
