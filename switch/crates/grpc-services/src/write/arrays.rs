// SPDX-License-Identifier: Apache-2.0
//! Counters, meters and registers.

use v1model::{CounterData, MeterConfig};

use super::{find, only_modify};
use crate::bytestring;
use crate::failure::Failure;
use crate::op::Op;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::p4_data::Data;
use crate::proto::p4::v1::update::Type;
use crate::schema::{CellType, Register, Schema};
use crate::wire::Cell;

pub fn counter(schema: &Schema, kind: Type, given: &p4::CounterEntry) -> Result<Op, Failure> {
    only_modify("counter", kind)?;
    let counter = find(&schema.counters, "counter", "counter_id", given.counter_id)?;
    let of = || format!("counter {}", counter.name);
    let index = index(given.index.as_ref(), &of, counter.size)?;
    let Some(data) = &given.data else {
        return Ok(Op::Nothing);
    };
    let data = counter_data(data, &of)?;
    Ok(Op::Counter(counter.counter, index, data))
}

pub fn meter(schema: &Schema, kind: Type, given: &p4::MeterEntry) -> Result<Op, Failure> {
    only_modify("meter", kind)?;
    let meter = find(&schema.meters, "meter", "meter_id", given.meter_id)?;
    let of = || format!("meter {}", meter.name);
    let index = index(given.index.as_ref(), &of, meter.size)?;
    no_meter_counters(&of, given.counter_data.as_ref())?;
    let config = given.config.as_ref();
    let config = config.map(|config| meter_config(config, &of)).transpose()?;
    Ok(Op::Meter(Box::new((meter.meter, index, config))))
}

pub fn register(schema: &Schema, kind: Type, given: &p4::RegisterEntry) -> Result<Op, Failure> {
    only_modify("register", kind)?;
    let register = find_register(schema, given.register_id)?;
    let index = register_index(register, given.index.as_ref())?;
    let data = given.data.as_ref().and_then(|data| data.data.as_ref());
    let Some(data) = data else {
        let name = &register.name;
        return Err(Failure::invalid(format!("register {name}: data is unset")));
    };
    let value = match data {
        Data::Bitstring(bytes) => CellValue::Bitstring(bytes),
        Data::EnumValue(bytes) => CellValue::Enum(bytes),
        Data::Bool(value) => CellValue::Bool(*value),
        _ => CellValue::Other,
    };
    let value = value.check(register)?;
    Ok(Op::Register(register.register, index, value))
}

/// Checks a cell that is to be modified. `last` is the register of the cell
/// before, which is often this one's.
///
/// # Errors
/// Those of any update of a register.
pub fn cell<'a>(
    schema: &'a Schema,
    last: &mut Option<&'a Register>,
    cell: &Cell<'_>,
) -> Result<Op, Failure> {
    let register = match *last {
        Some(register) if register.id == cell.register_id => register,
        _ => find_register(schema, cell.register_id)?,
    };
    *last = Some(register);
    let index = p4::Index { index: cell.index };
    let index = register_index(register, Some(&index))?;
    let value = CellValue::Bitstring(cell.bitstring).check(register)?;
    Ok(Op::Register(register.register, index, value))
}

fn find_register(schema: &Schema, id: u32) -> Result<&Register, Failure> {
    find(&schema.registers, "register", "register_id", id)
}

fn register_index(
    register: &Register,
    given: Option<&p4::Index>,
) -> Result<Option<usize>, Failure> {
    let of = || format!("register {}", register.name);
    index(given, &of, register.size)
}

/// The value that a cell is to have.
enum CellValue<'a> {
    Bitstring(&'a [u8]),
    Enum(&'a [u8]),
    Bool(bool),
    /// A value that no register can hold.
    Other,
}

impl CellValue<'_> {
    fn check(&self, register: &Register) -> Result<u128, Failure> {
        let name = &register.name;
        let value = match (register.cell, self) {
            (CellType::Bits, CellValue::Bitstring(bytes))
            | (CellType::Enum, CellValue::Enum(bytes)) => bytestring::decode(bytes, register.width),
            (CellType::Signed, CellValue::Bitstring(bytes)) => {
                bytestring::decode_signed(bytes, register.width)
            }
            (CellType::Bool, CellValue::Bool(value)) => Ok(u128::from(*value)),
            (cell, _) => {
                let expected = match cell {
                    CellType::Bits | CellType::Signed => "bitstring",
                    CellType::Bool => "bool",
                    CellType::Enum => "enum_value",
                };
                return Err(Failure::invalid(format!(
                    "register {name}: data must be a {expected}"
                )));
            }
        };
        value.map_err(|error| Failure::out_of_range(format!("register {name}: the value {error}")))
    }
}

/// Reads an index into the array that `of` names; `None` stands for all cells and is an index that
/// is not set.
///
/// # Errors
/// INVALID_ARGUMENT: negative. OUT_OF_RANGE: past the end.
pub fn index(
    index: Option<&p4::Index>,
    of: &dyn Fn() -> String,
    size: usize,
) -> Result<Option<usize>, Failure> {
    let Some(&p4::Index { index }) = index else {
        return Ok(None);
    };
    if index < 0 {
        return Err(Failure::invalid(format!(
            "{}: index {index} is negative",
            of()
        )));
    }
    match usize::try_from(index) {
        Ok(index) if index < size => Ok(Some(index)),
        _ => Err(Failure::out_of_range(format!(
            "{}: index {index} is past the end, there are {size} cells",
            of()
        ))),
    }
}

fn count(of: &dyn Fn() -> String, field: &str, value: i64) -> Result<u64, Failure> {
    u64::try_from(value)
        .map_err(|_| Failure::invalid(format!("{}: {field} is {value}, below 0", of())))
}

/// Reads a counter.
///
/// # Errors
/// INVALID_ARGUMENT: negative.
pub fn counter_data(
    data: &p4::CounterData,
    of: &dyn Fn() -> String,
) -> Result<CounterData, Failure> {
    Ok(CounterData {
        packets: count(of, "packet_count", data.packet_count)?,
        bytes: count(of, "byte_count", data.byte_count)?,
    })
}

/// Reads the configuration of a meter.
///
/// # Errors
/// INVALID_ARGUMENT: negative, or no two rates (RFC 2698).
pub fn meter_config(
    config: &p4::MeterConfig,
    of: &dyn Fn() -> String,
) -> Result<MeterConfig, Failure> {
    let read = MeterConfig {
        cir: count(of, "cir", config.cir)?,
        cburst: count(of, "cburst", config.cburst)?,
        pir: count(of, "pir", config.pir)?,
        pburst: count(of, "pburst", config.pburst)?,
    };
    if config.eburst != 0 {
        return Err(Failure::invalid(format!(
            "{}: eburst is for single-rate meters, this one has two rates: leave it at 0",
            of()
        )));
    }
    if read.pir < read.cir {
        return Err(Failure::invalid(format!(
            "{}: pir is {}, below cir {}",
            of(),
            read.pir,
            read.cir
        )));
    }
    Ok(read)
}

/// Refuses counters of meters, because v1model's meters do not count colours.
///
/// # Errors
/// UNIMPLEMENTED if they are asked for.
pub fn no_meter_counters(
    of: &dyn Fn() -> String,
    given: Option<&p4::MeterCounterData>,
) -> Result<(), Failure> {
    match given {
        None => Ok(()),
        Some(_) => Err(Failure::unimplemented(format!(
            "{}: counters of a meter's colours (MeterCounterData) are not supported",
            of()
        ))),
    }
}
