// SPDX-License-Identifier: Apache-2.0
//! The packet-header vector: which slot holds what.
//!
//! `[ headers and metadata | action parameters | temporaries | constants ]`.
//! Every header instance has a slot for its validity (0 or 1), one behind it for where
//! its unmodified bytes are (`raw`), and its fields in P4 order: one slot up
//! to 64 bits, more above, the lowest bits first. Of metadata comes first what a
//! packet takes with it from ingress to egress, then what either resets, and last
//! what is always written first, whatever P4's order is: all is done in few pieces.
//!
//! A stack is a block: its `next` index, then its elements in order, each as
//! many slots long as the others, so that an index is a multiplication away.

use crate::error::LoadError;
use crate::header::{Field, Header};
use crate::json::{self, Document};
use crate::op::{Slot, words};
use crate::parts::Parts;
use crate::paths::PacketSlots;
use crate::places::{first, places};
use crate::stack::{Shape, Stack, Union};
use std::collections::{HashMap, HashSet};

/// Temporaries that one expression may need.
pub(crate) const TEMPORARIES: usize = 64;

/// Metadata fields, by header and name, that are laid out by what the code does with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// A new packet does not reset them.
    pub late: HashSet<(String, String)>,
    /// A packet takes them with it from ingress to egress.
    pub carried: HashSet<(String, String)>,
    /// Egress resets them.
    pub egress: HashSet<(String, String)>,
}

/// The slots of a program.
#[derive(Debug)]
pub(crate) struct Layout {
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    pub unions: Vec<Union>,
    /// Behave as BMv2 does where that contradicts P4.
    pub quirks: bool,
    by_name: HashMap<String, usize>,
    /// By header and name: the place of a field.
    fields_by_name: Vec<HashMap<String, usize>>,
    stacks_by_name: HashMap<String, usize>,
    unions_by_name: HashMap<String, usize>,
    /// By the slot of its `next`.
    stacks_by_next: HashMap<Slot, usize>,
    aliases: HashMap<(String, String), (String, String)>,
    /// Slots of headers and metadata: what a new packet resets.
    pub state_slots: usize,
    /// Stands in for standard metadata that the program lacks: written, never read.
    pub absent: Slot,
    /// The same, for what the target reads: only ever written with 0.
    pub absent_zero: Slot,
    /// First of the slots of [`PacketSlots`].
    pub packet_slots: Slot,
    /// First action parameter.
    pub params: usize,
    /// First temporary.
    pub temporaries: usize,
    /// First constant.
    pub constants: usize,
    /// Parts of the expressions that were made with these slots.
    pub parts: Parts,
}

impl Layout {
    pub fn new(
        document: &Document,
        param_slots: usize,
        quirks: bool,
        known: &Known,
    ) -> Result<Layout, LoadError> {
        let shape = Shape::new(document)?;
        let mut built: Vec<Option<Header>> = document.headers.iter().map(|_| None).collect();
        let types = header_types(document);
        let mut first_of_stack = vec![0; shape.stacks.len()];
        let mut next = 0usize;
        // Instances in stacks and unions are addressed as a whole. Where there are none, the
        // validity of all headers is side by side: most of what a packet carries.
        let apart = shape.stacks.is_empty() && shape.has_no_unions();
        let plain = |at: usize| apart && !document.headers[at].metadata;
        let mut pair = 0usize;
        for at in 0..document.headers.len() {
            if built[at].is_some() {
                continue;
            }
            if plain(at) && pair == 0 {
                let count = (0..document.headers.len()).filter(|at| plain(*at)).count();
                pair = next;
                next += 2 * count;
            }
            if plain(at) {
                let header = &document.headers[at];
                built[at] = Some(build_header(
                    header,
                    &types,
                    Some(&mut pair),
                    &mut next,
                    known,
                )?);
                continue;
            }
            let alone = [at];
            let members: &[usize] = match shape.stack_of[at] {
                Some(stack) => {
                    first_of_stack[stack] = next;
                    next += 1;
                    &shape.stacks[stack].headers
                }
                None => &alone,
            };
            for member in members {
                let header = &document.headers[*member];
                built[*member] = Some(build_header(header, &types, None, &mut next, known)?);
            }
        }
        let mut headers: Vec<Header> = built.into_iter().flatten().collect();
        let by_name = headers
            .iter()
            .enumerate()
            .map(|(i, h)| (h.name.clone(), i))
            .collect();
        let fields_by_name = headers.iter().map(by_name_of_field).collect();
        let stacks = shape.stacks(&first_of_stack, &headers)?;
        let unions = shape.unions(&mut headers);
        let stacks_by_name = places(stacks.iter().map(|stack| stack.name.clone()));
        let unions_by_name = places(unions.iter().map(|union| union.name.clone()));
        let stacks_by_next = places(stacks.iter().map(|stack| stack.next));
        let aliases = document
            .field_aliases
            .iter()
            .cloned()
            .map(|(alias, target)| {
                let (header, field) = alias.split_once('.').unwrap_or((&alias, ""));
                ((header.to_owned(), field.to_owned()), target)
            });
        let absent = next;
        next += 2;
        let packet_slots = next;
        next += PacketSlots::COUNT;
        let layout = Layout {
            absent: absent as Slot,
            absent_zero: absent as Slot + 1,
            packet_slots: packet_slots as Slot,
            aliases: aliases.collect(),
            headers,
            stacks,
            unions,
            quirks,
            by_name,
            fields_by_name,
            stacks_by_name,
            unions_by_name,
            stacks_by_next,
            state_slots: next,
            params: next,
            temporaries: next + param_slots,
            constants: next + param_slots + TEMPORARIES,
            parts: Parts::default(),
        };
        if layout.constants > usize::from(Slot::MAX) / 2 {
            return Err(LoadError::new(format!(
                "the headers, metadata and action parameters need {} slots, more than are supported",
                layout.constants
            )));
        }
        Ok(layout)
    }

    pub fn header_index(&self, name: &str) -> Result<usize, LoadError> {
        self.by_name.get(name).copied().ok_or_else(|| {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: there is no header {name}"
            ))
        })
    }

    /// Index of a stack of headers or unions.
    pub fn stack_index(&self, name: &str) -> Result<usize, LoadError> {
        let found = self.stacks_by_name.get(name).copied();
        found.ok_or_else(|| {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: there is no header stack {name}"
            ))
        })
    }

    /// The stack whose `next` is in a slot.
    pub fn stack_with_next(&self, next: Slot) -> Option<&Stack> {
        self.stacks_by_next.get(&next).map(|at| &self.stacks[*at])
    }

    pub fn union_index(&self, name: &str) -> Result<usize, LoadError> {
        let found = self.unions_by_name.get(name).copied();
        found.ok_or_else(|| {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: there is no header union {name}"
            ))
        })
    }

    pub fn header(&self, name: &str) -> Result<&Header, LoadError> {
        Ok(&self.headers[self.header_index(name)?])
    }

    /// A field by the names that the JSON uses; `$valid$` included.
    pub fn field(&self, header: &str, field: &str) -> Result<(&Header, Field), LoadError> {
        let index = self.header_index(header)?;
        let h = &self.headers[index];
        if field == "$valid$" {
            let valid = Field {
                name: field.to_owned(),
                slot: h.valid,
                width: 1,
                signed: false,
                var: false,
            };
            return Ok((h, valid));
        }
        match self.fields_by_name[index].get(field) {
            Some(at) => Ok((h, h.fields[*at].clone())),
            None => Err(LoadError::new(format!(
                "the BMv2 JSON is malformed: header {header} has no field {field}"
            ))),
        }
    }

    /// A field of v1model's standard metadata, if the program has it, by its
    /// own name or by an alias that p4c keeps for P4_14's names.
    pub fn standard(&self, field: &str) -> Option<Slot> {
        // A varbit field's slot does not hold a number, so the target must not write one there.
        let slot = |header: &str, field: &str| {
            let found = self.field(header, field).ok().filter(|(_, f)| !f.var);
            found.map(|(_, f)| f.slot)
        };
        slot("standard_metadata", field).or_else(|| {
            [
                "standard_metadata",
                "intrinsic_metadata",
                "queueing_metadata",
            ]
            .iter()
            .find_map(|h| {
                let (header, name) = self.aliases.get(&((*h).to_owned(), field.to_owned()))?;
                slot(header, name)
            })
        })
    }

    /// The same, or the slot that stands in for it to be written.
    pub fn standard_or_absent(&self, field: &str) -> Slot {
        self.standard(field).unwrap_or(self.absent)
    }

    /// The metadata field of this name, or the one whose name p4c made from
    /// it: `queue_id` may be `userMetadata.queue_id` or `userMetadata._queue_id1`.
    pub fn metadata_by_suffix(&self, name: &str) -> Option<Slot> {
        let fields = || {
            self.headers
                .iter()
                .filter(|h| h.metadata)
                .flat_map(|h| &h.fields)
                .filter(|f| !f.var)
        };
        let last = |full: &str| full.rsplit('.').next().unwrap_or(full).to_owned();
        fields()
            .find(|f| last(&f.name) == name)
            .map(|f| f.slot)
            .or_else(|| {
                fields()
                    .find(|f| {
                        let bare = last(&f.name);
                        let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit());
                        bare.strip_prefix('_') == Some(name) || bare.ends_with(&format!("_{name}"))
                    })
                    .map(|f| f.slot)
            })
    }
}

fn by_name_of_field(header: &Header) -> HashMap<String, usize> {
    places(header.fields.iter().map(|field| field.name.clone()))
}

/// The document's header types by name, each with the number of its instances.
fn header_types(document: &Document) -> HashMap<&str, (&json::HeaderType, usize)> {
    let types = document.header_types.iter();
    let mut types = first(types.map(|t| (t.name.as_str(), (t, 0))));
    for header in &document.headers {
        if let Some((_, instances)) = types.get_mut(header.header_type.as_str()) {
            *instances += 1;
        }
    }
    types
}

fn build_header(
    header: &json::Header,
    types: &HashMap<&str, (&json::HeaderType, usize)>,
    pair: Option<&mut usize>,
    next: &mut usize,
    known: &Known,
) -> Result<Header, LoadError> {
    let position = json::position(&header.source_info);
    let found = types.get(header.header_type.as_str());
    let (header_type, instances) = found.ok_or_else(|| {
        LoadError::new(format!(
            "the BMv2 JSON is malformed: header {} has the unknown type {}",
            header.name, header.header_type
        ))
    })?;
    build(header, header_type, *instances == 1, pair, next, known)
        .map_err(|e| e.at(position).at(json::position(&header_type.source_info)))
}

fn build(
    header: &json::Header,
    header_type: &json::HeaderType,
    alone: bool,
    pair: Option<&mut usize>,
    next: &mut usize,
    known: &Known,
) -> Result<Header, LoadError> {
    let slot = |index: usize| {
        Slot::try_from(index).map_err(|_| {
            LoadError::new("the headers and metadata have more fields than are supported")
        })
    };
    // With `pair` the slots of validity and raw come from there.
    let (valid, first) = match pair {
        Some(pair) => {
            *pair += 2;
            (*pair - 2, *next)
        }
        None => (*next, *next + 2),
    };
    let (valid, raw) = (slot(valid)?, slot(valid + 1)?);
    let mut at = first;
    let mut fields: Vec<Field> = Vec::new();
    let mut bits = 0u32;
    for field in &header_type.fields {
        let bad = || {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: header type {} has the field {field}",
                header_type.name
            ))
        };
        let parts = field.as_array().ok_or_else(bad)?;
        let name = parts.first().and_then(|v| v.as_str()).ok_or_else(bad)?;
        let width = parts.get(1).ok_or_else(bad)?;
        let signed = parts
            .get(2)
            .and_then(serde_json::Value::as_bool)
            .unwrap_or(false);
        let var = width.as_str() == Some("*");
        let width = match width.as_u64() {
            _ if var => 0,
            Some(w) => u16::try_from(w).map_err(|_| bad())?,
            None => return Err(bad()),
        };
        if var && fields.iter().any(|f| f.var) {
            return Err(LoadError::new(format!(
                "header type {} has more than one varbit field, which is not supported",
                header_type.name
            )));
        }
        if width == 0 && !var {
            return Err(LoadError::new(format!(
                "field {name} of header type {} has 0 bits, which is not supported",
                header_type.name
            )));
        }
        bits += u32::from(width);
        fields.push(Field {
            name: name.to_owned(),
            slot: 0,
            width,
            signed,
            var,
        });
    }
    // What is carried is in one piece, and what ingress resets, and what egress does. Two
    // instances of a type may be copied to each other, so these are alike.
    let place = |field: &Field| {
        if !alone {
            return 0;
        }
        let name = (header.name.clone(), field.name.clone());
        if known.carried.contains(&name) {
            u8::from(!known.late.contains(&name))
        } else if known.egress.contains(&name) {
            3
        } else {
            2 + 2 * u8::from(known.late.contains(&name))
        }
    };
    let places: Vec<u8> = fields.iter().map(place).collect();
    for turn in 0..5 {
        for (field, _) in fields.iter_mut().zip(&places).filter(|(_, p)| **p == turn) {
            field.slot = slot(at)?;
            at += usize::from(words(field.width));
        }
    }
    slot(at + 2)?;
    *next = at;
    if !header.metadata && bits % 8 != 0 {
        return Err(LoadError::new(format!(
            "header {} is {bits} bits long, and headers that are no whole bytes are not supported",
            header.name
        )));
    }
    Ok(Header {
        name: header.name.clone(),
        header_type: header.header_type.clone(),
        metadata: header.metadata,
        valid,
        raw,
        first: slot(first)?,
        slots: slot(at - first + 2)?,
        fields,
        bits,
        max_bytes: u32::try_from(header_type.max_length.unwrap_or(0)).unwrap_or(u32::MAX),
        rivals: Vec::new(),
    })
}
