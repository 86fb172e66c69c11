// SPDX-License-Identifier: Apache-2.0
//! Counters, meters and registers.

use std::ops::Range;

use v1model::{CounterData, MeterConfig, RegisterCells};

use super::{Answer, Entities, Query, Source, places};
use crate::bytestring;
use crate::failure::Failure;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::schema::{CellType, Register, Schema};
use crate::write::arrays::index;
use crate::write::table::no_meter_counters;

/// Cells of a register as they were at one moment.
#[derive(Debug)]
pub enum Cells {
    /// Of up to 64 bits.
    Narrow(Vec<u64>),
    /// Of more.
    Wide(Vec<u128>),
}

impl Cells {
    pub fn len(&self) -> usize {
        match self {
            Cells::Narrow(cells) => cells.len(),
            Cells::Wide(cells) => cells.len(),
        }
    }
}

pub fn counters(schema: &Schema, given: &p4::CounterEntry) -> Result<Query, Failure> {
    let places = places(&schema.counters, given.counter_id, "counter")?;
    let mut found = None;
    for counter in &schema.counters.list()[places.clone()] {
        let of = || format!("counter {}", counter.name);
        found = index(given.index.as_ref(), &of, counter.size)?;
    }
    Ok(Query::Counters {
        places,
        index: found,
    })
}

pub fn registers(schema: &Schema, given: &p4::RegisterEntry) -> Result<Query, Failure> {
    let places = places(&schema.registers, given.register_id, "register")?;
    let mut found = None;
    for register in &schema.registers.list()[places.clone()] {
        let of = || format!("register {}", register.name);
        found = index(given.index.as_ref(), &of, register.size)?;
    }
    Ok(Query::Registers {
        places,
        index: found,
    })
}

pub fn meters(schema: &Schema, given: &p4::MeterEntry) -> Result<Query, Failure> {
    let places = places(&schema.meters, given.meter_id, "meter")?;
    no_meter_counters(&|| "meter_entry".into(), given.counter_data.as_ref())?;
    let mut found = None;
    for meter in &schema.meters.list()[places.clone()] {
        let of = || format!("meter {}", meter.name);
        found = index(given.index.as_ref(), &of, meter.size)?;
    }
    Ok(Query::Meters {
        places,
        index: found,
    })
}

fn range(index: Option<usize>, size: usize) -> Range<usize> {
    index.map_or(0..size, |index| index..index + 1)
}

pub fn fetch_counters(
    source: Source<'_>,
    places: Range<usize>,
    index: Option<usize>,
) -> Result<Answer, Failure> {
    let mut cells = Vec::new();
    for counter in &source.schema.counters.list()[places] {
        for index in range(index, counter.size) {
            cells.push(source.pipeline.counter(counter.counter, index)?);
        }
    }
    Ok(Answer::Counters(cells))
}

pub fn fetch_registers(
    source: Source<'_>,
    places: Range<usize>,
    index: Option<usize>,
) -> Result<Answer, Failure> {
    let list = &source.schema.registers.list()[places];
    let pipeline = source.pipeline;
    if let ([register], Some(index)) = (list, index) {
        return Ok(Answer::Cell(pipeline.register(register.register, index)?));
    }
    let mut arrays = Vec::with_capacity(list.len());
    for register in list {
        let range = range(index, register.size);
        arrays.push(match pipeline.register_cells(register.register, range)? {
            RegisterCells::Narrow(cells) => Cells::Narrow(cells.to_vec()),
            RegisterCells::Wide(cells) => Cells::Wide(cells.to_vec()),
        });
    }
    Ok(Answer::Registers(arrays))
}

pub fn fetch_meters(
    source: Source<'_>,
    places: Range<usize>,
    index: Option<usize>,
) -> Result<Answer, Failure> {
    let mut cells = Vec::new();
    for meter in &source.schema.meters.list()[places] {
        for index in range(index, meter.size) {
            cells.push(source.pipeline.meter(meter.meter, index)?);
        }
    }
    Ok(Answer::Meters(cells))
}

pub fn render_counters(
    schema: &Schema,
    places: Range<usize>,
    index: Option<usize>,
    cells: &[CounterData],
    out: &mut impl FnMut(Entity),
) {
    let mut cells = cells.iter();
    for counter in &schema.counters.list()[places] {
        for (index, data) in range(index, counter.size).zip(&mut cells) {
            out(Entity::CounterEntry(p4::CounterEntry {
                counter_id: counter.id,
                index: wire_index(index),
                data: Some(render_counter(*data)),
            }));
        }
    }
}

pub fn render_meters(
    schema: &Schema,
    places: Range<usize>,
    index: Option<usize>,
    cells: &[Option<MeterConfig>],
    out: &mut impl FnMut(Entity),
) {
    let mut cells = cells.iter();
    for meter in &schema.meters.list()[places] {
        for (index, config) in range(index, meter.size).zip(&mut cells) {
            out(Entity::MeterEntry(Box::new(p4::MeterEntry {
                meter_id: meter.id,
                index: wire_index(index),
                config: config.map(render_meter),
                counter_data: None,
            })));
        }
    }
}

pub fn render_registers(
    schema: &Schema,
    places: Range<usize>,
    index: Option<usize>,
    arrays: &[Cells],
    entities: &mut impl Entities,
) {
    let first = index.unwrap_or(0) as i64;
    for (register, cells) in schema.registers.list()[places].iter().zip(arrays) {
        match cells {
            Cells::Narrow(cells) => {
                for (index, value) in (first..).zip(cells) {
                    render_register(register, index, u128::from(*value), entities);
                }
            }
            Cells::Wide(cells) => {
                for (index, value) in (first..).zip(cells) {
                    render_register(register, index, *value, entities);
                }
            }
        }
    }
}

fn wire_index(index: usize) -> Option<p4::Index> {
    Some(p4::Index {
        index: index as i64,
    })
}

pub fn render_register(register: &Register, index: i64, value: u128, entities: &mut impl Entities) {
    if register.cell == CellType::Bits {
        return entities.cell(register.id, index, value);
    }
    let entry = p4::RegisterEntry {
        register_id: register.id,
        index: Some(p4::Index { index }),
        data: Some(render_cell(register.cell, register.width, value)),
    };
    entities.entity(Entity::RegisterEntry(entry));
}

/// A value of `bit<W>`.
pub fn bits(value: u128) -> p4::P4Data {
    let data = p4::p4_data::Data::Bitstring(bytestring::encode(value));
    p4::P4Data { data: Some(data) }
}

/// A value of `width` bits.
pub fn render_cell(cell: CellType, width: u16, value: u128) -> p4::P4Data {
    use p4::p4_data::Data;
    let data = match cell {
        CellType::Bits => return bits(value),
        CellType::Signed => Data::Bitstring(bytestring::encode_signed(value, width)),
        CellType::Bool => Data::Bool(value != 0),
        CellType::Enum => Data::EnumValue(bytestring::encode(value)),
    };
    p4::P4Data { data: Some(data) }
}

pub fn render_counter(data: CounterData) -> p4::CounterData {
    // i64 on the wire; a counter gets there in two centuries of 10 Gbit/s.
    p4::CounterData {
        byte_count: data.bytes as i64,
        packet_count: data.packets as i64,
    }
}

pub fn render_meter(config: MeterConfig) -> p4::MeterConfig {
    p4::MeterConfig {
        cir: config.cir as i64,
        cburst: config.cburst as i64,
        pir: config.pir as i64,
        pburst: config.pburst as i64,
        eburst: 0,
    }
}
