// SPDX-License-Identifier: Apache-2.0
//! Registers, counters, meters, value sets and digests, bound to those of the
//! program.

use v1model::{CounterId, DigestId, MatchKind, MeterId, RegisterId, ValueSetId};

use super::meter_unit::meter_unit;
use super::table::{Context, Field};
use super::types::{CellType, Shape};
use super::{missing, preamble, same};
use crate::proto::p4::config::v1 as config;

/// A register array.
#[derive(Debug)]
pub struct Register {
    pub id: u32,
    pub name: String,
    pub register: RegisterId,
    pub size: usize,
    /// Bits of a cell.
    pub width: u16,
    pub cell: CellType,
}

/// An array of indirect counters.
#[derive(Debug)]
pub struct Counter {
    pub id: u32,
    pub name: String,
    pub counter: CounterId,
    pub size: usize,
}

/// An array of indirect meters.
#[derive(Debug)]
pub struct Meter {
    pub id: u32,
    pub name: String,
    pub meter: MeterId,
    pub size: usize,
}

/// A parser value set.
#[derive(Debug)]
pub struct ValueSet {
    pub id: u32,
    pub name: String,
    pub set: ValueSetId,
    pub size: usize,
    pub fields: Vec<Field>,
}

/// A digest.
#[derive(Debug)]
pub struct Digest {
    pub id: u32,
    pub name: String,
    pub digest: DigestId,
    pub shape: Shape,
}

impl Context<'_> {
    pub fn register(&self, info: &config::Register) -> Result<Register, String> {
        let head = preamble(&info.preamble);
        let name = &head.name;
        let register = self.program.register(name);
        let register = register.ok_or_else(|| missing("register", name))?;
        let schema = &self.program.registers()[register.0 as usize];
        let of = format!("register {name}");
        let spec = info.type_spec.as_ref();
        let (cell, width) = spec
            .and_then(|spec| self.types.cell(spec))
            .ok_or_else(|| format!("{of} has a type in P4Info that is not supported"))?;
        if !spec.is_some_and(|spec| self.types.is_translated(spec)) {
            same("the width", &of, i64::from(width), i64::from(schema.width))?;
        }
        same("the size", &of, i64::from(info.size), schema.size as i64)?;
        Ok(Register {
            id: head.id,
            name: name.clone(),
            register,
            size: schema.size,
            width: schema.width,
            cell,
        })
    }

    pub fn counter(&self, info: &config::Counter) -> Result<Counter, String> {
        let head = preamble(&info.preamble);
        let name = &head.name;
        let counter = self.program.counter(name);
        let counter = counter.ok_or_else(|| missing("counter", name))?;
        let schema = &self.program.counters()[counter.0 as usize];
        let of = format!("counter {name}");
        same("the size", &of, info.size, schema.size as i64)?;
        Ok(Counter {
            id: head.id,
            name: name.clone(),
            counter,
            size: schema.size,
        })
    }

    pub fn meter(&self, info: &config::Meter) -> Result<Meter, String> {
        let head = preamble(&info.preamble);
        let name = &head.name;
        let meter = self.program.meter(name);
        let meter = meter.ok_or_else(|| missing("meter", name))?;
        let schema = &self.program.meters()[meter.0 as usize];
        let of = format!("meter {name}");
        same("the size", &of, info.size, schema.size as i64)?;
        meter_unit(info.spec.as_ref(), schema.unit, &of)?;
        Ok(Meter {
            id: head.id,
            name: name.clone(),
            meter,
            size: schema.size,
        })
    }

    pub fn value_set(&self, info: &config::ValueSet) -> Result<ValueSet, String> {
        let head = preamble(&info.preamble);
        let name = &head.name;
        let set = self.program.value_set(name);
        let set = set.ok_or_else(|| missing("value set", name))?;
        let schema = &self.program.value_sets()[set.0 as usize];
        let of = format!("value set {name}");
        same("the size", &of, i64::from(info.size), schema.size as i64)?;
        same(
            "the number of match fields",
            &of,
            info.r#match.len(),
            schema.fields.len(),
        )?;
        // The JSON has neither names nor kinds of them.
        let fields = info.r#match.iter().zip(&schema.fields);
        let fields = fields.map(|(field, json)| {
            let kind = field_kind(field).unwrap_or(json.kind);
            self.field(field, kind, json.width, &of)
        });
        Ok(ValueSet {
            id: head.id,
            name: name.clone(),
            set,
            size: schema.size,
            fields: fields.collect::<Result<_, _>>()?,
        })
    }

    pub fn digest(&self, info: &config::Digest) -> Result<Digest, String> {
        let head = preamble(&info.preamble);
        let name = &head.name;
        let digest = self.program.digest(name);
        let digest = digest.ok_or_else(|| missing("digest", name))?;
        let schema = &self.program.digests()[digest.0 as usize];
        let of = format!("digest {name}");
        let spec = info.type_spec.as_ref();
        let spec = spec.ok_or_else(|| format!("{of} has no type_spec in P4Info"))?;
        let shape = self.types.shape(spec);
        let shape = shape.map_err(|error| format!("{of}: {error}"))?;
        same(
            "the number of fields",
            &of,
            shape.cells(),
            schema.fields.len(),
        )?;
        Ok(Digest {
            id: head.id,
            name: name.clone(),
            digest,
            shape,
        })
    }
}

fn field_kind(field: &config::MatchField) -> Option<MatchKind> {
    use config::match_field::{Match, MatchType};
    let Some(Match::MatchType(kind)) = &field.r#match else {
        return None;
    };
    match MatchType::try_from(*kind).ok()? {
        MatchType::Exact => Some(MatchKind::Exact),
        MatchType::Lpm => Some(MatchKind::Lpm),
        MatchType::Ternary => Some(MatchKind::Ternary),
        MatchType::Range => Some(MatchKind::Range),
        MatchType::Optional => Some(MatchKind::Optional),
        MatchType::Unspecified => None,
    }
}
