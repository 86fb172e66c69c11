// SPDX-License-Identifier: Apache-2.0
//! Meters: arrays, and those of tables.

use super::Lowering;
use super::names::index_of;
use crate::code::DirectMeter;
use crate::error::LoadError;
use crate::json::{self, Document, MeterArray, Table};
use crate::op::{Op, mask};
use crate::schema::{MeterSchema, MeterUnit};

/// The indirect meters.
pub(super) fn meters(document: &Document) -> Result<Vec<MeterSchema>, LoadError> {
    let arrays = document.meter_arrays.iter().filter(|m| !m.is_direct);
    arrays
        .map(|array| {
            Ok(MeterSchema {
                name: array.name.clone(),
                size: array.size.unwrap_or(0),
                unit: unit(array)?,
            })
        })
        .collect()
}

fn unit(array: &MeterArray) -> Result<MeterUnit, LoadError> {
    let refuse = |what: String| {
        Err(
            LoadError::new(format!("meter {} {what} is not supported", array.name))
                .at(json::position(&array.source_info)),
        )
    };
    match array.rate_count {
        None | Some(2) => {}
        Some(other) => return refuse(format!("with {other} rates")),
    }
    match array.kind.as_str() {
        "packets" => Ok(MeterUnit::Packets),
        "bytes" => Ok(MeterUnit::Bytes),
        other => refuse(format!("of {other}")),
    }
}

impl Lowering<'_> {
    /// The direct meter of a table.
    pub fn direct_meter(&self, table: &Table) -> Result<Option<DirectMeter>, LoadError> {
        let Some(name) = &table.direct_meters else {
            return Ok(None);
        };
        let arrays = &self.document.meter_arrays;
        let array = self.names.direct_meters.get(name.as_str());
        let array = array.map(|at| &arrays[*at]);
        let malformed = || {
            LoadError::new(format!(
                "the BMv2 JSON is malformed: table {} has no direct meter {name} with a result",
                table.name
            ))
        };
        let array = array.ok_or_else(malformed)?;
        let (header, field) = array.result_target.as_ref().ok_or_else(malformed)?;
        let (header, field) = self.layout.field(header, field)?;
        if field.var || field.width > 64 {
            return Err(LoadError::new(format!(
                "a result of {} bits of the meter {name} is not supported",
                field.width
            )));
        }
        Ok(Some(DirectMeter {
            unit: unit(array)?,
            target: field.slot,
            raw: header.raw,
            mask: mask(field.width as u8),
        }))
    }

    /// `execute_meter(array, index, field)`.
    pub fn execute_meter(
        &mut self,
        operands: &[json::Operand],
        params: &[crate::expr::Expr],
    ) -> Result<(), LoadError> {
        let name = operands[0].name("meter_array")?;
        let meter = index_of(&self.names.meters, "meter array", name)?;
        let index = self.natural(&operands[1], params)?;
        let to = self.target(&operands[2], params)?;
        let field = &to.field;
        if field.width > 64 {
            return Err(LoadError::new(
                "a meter's result of more than 64 bits is not supported",
            ));
        }
        self.emitter.push(Op::ExecuteMeter {
            d: field.slot,
            index,
            meter,
            w: field.width as u8,
        });
        self.written(&to)
    }
}
