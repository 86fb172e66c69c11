// SPDX-License-Identifier: Apache-2.0
//! Counters, meters and registers.

use std::ops::Range;

use v1model::{CounterData, MeterConfig, RegisterCells};

use super::{Cells, Entities, Part, Progress, Query, Source, places};
use crate::bytestring;
use crate::failure::Failure;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::entity::Entity;
use crate::schema::{CellType, Counter, Meter, Objects, Register, Schema};
use crate::write::arrays::index;
use crate::write::arrays::no_meter_counters;

/// The array with an id, or all arrays for 0, and the cell that is asked for.
fn select<T>(
    (objects, kind, id): (&Objects<T>, &str, u32),
    given: Option<&p4::Index>,
    name_and_size: impl Fn(&T) -> (&str, usize),
) -> Result<(Range<usize>, Option<usize>), Failure> {
    let places = places(objects, id, kind)?;
    let mut found = None;
    for array in &objects.list()[places.clone()] {
        let (name, size) = name_and_size(array);
        found = index(given, &|| format!("{kind} {name}"), size)?;
    }
    Ok((places, found))
}

pub fn counters(schema: &Schema, given: &p4::CounterEntry) -> Result<Query, Failure> {
    let (places, index) = select(
        (&schema.counters, "counter", given.counter_id),
        given.index.as_ref(),
        |counter| (&counter.name, counter.size),
    )?;
    Ok(Query::Counters { places, index })
}

/// The places of the registers that are asked for, and the index of the cell that is asked for in
/// each.
pub fn select_registers(
    schema: &Schema,
    given: &p4::RegisterEntry,
) -> Result<(Range<usize>, Option<usize>), Failure> {
    select(
        (&schema.registers, "register", given.register_id),
        given.index.as_ref(),
        |register| (&register.name, register.size),
    )
}

pub fn registers(schema: &Schema, given: &p4::RegisterEntry) -> Result<Query, Failure> {
    let (places, index) = select_registers(schema, given)?;
    Ok(Query::Registers { places, index })
}

pub fn meters(schema: &Schema, given: &p4::MeterEntry) -> Result<Query, Failure> {
    let (places, index) = select(
        (&schema.meters, "meter", given.meter_id),
        given.index.as_ref(),
        |meter| (&meter.name, meter.size),
    )?;
    no_meter_counters(&|| "meter_entry".into(), given.counter_data.as_ref())?;
    Ok(Query::Meters { places, index })
}

/// The cells of a piece. A register of the control loop's size is one piece, so that it is read as
/// it was at one moment.
pub const CELLS: usize = 4096;
/// The cells of a piece of a meter array, which are larger.
const METER_CELLS: usize = 1024;

/// The cells of the next piece.
fn next_cells(
    index: Option<usize>,
    size: usize,
    most: usize,
    progress: &mut Progress,
) -> Range<usize> {
    if let Some(index) = index {
        progress.object_done();
        return index..index + 1;
    }
    let first = progress.next;
    let end = size.min(first + most);
    if end == size {
        progress.object_done();
    } else {
        progress.next = end;
    }
    first..end
}

pub fn fetch_counters(
    source: Source<'_>,
    place: usize,
    index: Option<usize>,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let counter = &source.schema.counters.list()[place];
    let range = next_cells(index, counter.size, CELLS, progress);
    let first = range.start;
    let cells = source.pipeline.counter_cells(counter.counter, range)?;
    progress.parts.push(Part::Counters {
        place,
        first,
        cells: cells.to_vec(),
    });
    Ok(())
}

pub fn fetch_registers(
    source: Source<'_>,
    place: usize,
    index: Option<usize>,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let register = &source.schema.registers.list()[place];
    let range = next_cells(index, register.size, CELLS, progress);
    let first = range.start;
    let cells = source.pipeline.register_cells(register.register, range)?;
    progress.parts.push(Part::Registers {
        place,
        first,
        cells: match cells {
            RegisterCells::Narrow(cells) => Cells::Narrow(cells.to_vec()),
            RegisterCells::Wide(cells) => Cells::Wide(cells.to_vec()),
        },
    });
    Ok(())
}

pub fn fetch_meters(
    source: Source<'_>,
    place: usize,
    index: Option<usize>,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let meter = &source.schema.meters.list()[place];
    let range = next_cells(index, meter.size, METER_CELLS, progress);
    let first = range.start;
    let cells = range.map(|index| source.pipeline.meter(meter.meter, index));
    progress.parts.push(Part::Meters {
        place,
        first,
        cells: cells.collect::<Result<_, _>>()?,
    });
    Ok(())
}

pub fn render_counters(
    counter: &Counter,
    first: usize,
    cells: &[CounterData],
    out: &mut impl FnMut(Entity),
) {
    for (index, data) in (first..).zip(cells) {
        out(Entity::CounterEntry(p4::CounterEntry {
            counter_id: counter.id,
            index: wire_index(index),
            data: Some(render_counter(*data)),
        }));
    }
}

pub fn render_meters(
    meter: &Meter,
    first: usize,
    cells: &[Option<MeterConfig>],
    out: &mut impl FnMut(Entity),
) {
    for (index, config) in (first..).zip(cells) {
        out(Entity::MeterEntry(Box::new(p4::MeterEntry {
            meter_id: meter.id,
            index: wire_index(index),
            config: config.map(render_meter),
            counter_data: None,
        })));
    }
}

pub fn render_registers(
    register: &Register,
    first: usize,
    cells: &Cells,
    entities: &mut impl Entities,
) {
    let first = first as i64;
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
