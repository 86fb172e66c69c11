// SPDX-License-Identifier: Apache-2.0
//! Meters: two rates, three colours. What is written is what a packet of
//! any later time meets; a configuration starts with full buckets.

use super::arrays::{cells, fill, last};
use super::{past_the_end, unknown};
use crate::error::ControlError;
use crate::meter::Cell;
use crate::pipeline::Pipeline;
use crate::schema::*;
use std::ops::Range;

impl Pipeline {
    /// Configures one cell of an indirect meter, or all (`None`). Without a
    /// configuration every packet is green.
    ///
    /// # Errors
    /// No such meter or cell, or the rates are not in order (`pir` below `cir`).
    pub fn set_meter(
        &mut self,
        meter: MeterId,
        index: Option<usize>,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        let cells = cells(index, self.meter_schema(meter)?.size);
        self.set_meters(meter, cells, config)
    }

    /// Configures a range of the cells of an indirect meter alike.
    ///
    /// # Errors
    /// As for [`Pipeline::set_meter`].
    pub fn set_meters(
        &mut self,
        meter: MeterId,
        range: Range<usize>,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        let schema = self.program.meters.get(meter.0 as usize);
        let schema = schema.ok_or_else(|| unknown("meter", meter.0))?;
        check(&schema.name, config)?;
        let cells = &mut self.state.meters[meter.0 as usize];
        let last = last(&range);
        fill(cells, range, Cell::new(config))
            .ok_or_else(|| past_the_end("meter", &schema.name, last, schema.size))
    }

    /// The configuration of one cell of an indirect meter.
    ///
    /// # Errors
    /// No such meter or cell.
    pub fn meter(&self, meter: MeterId, index: usize) -> Result<Option<MeterConfig>, ControlError> {
        let schema = self.meter_schema(meter)?;
        let cell = self.state.meters[meter.0 as usize].get(index);
        cell.map(Cell::config)
            .ok_or_else(|| past_the_end("meter", &schema.name, index, schema.size))
    }

    /// Configures the direct meter of an entry, or of the default entry (`None`).
    ///
    /// # Errors
    /// The table has no direct meter, or no such entry, or the rates are not
    /// in order (`pir` below `cir`).
    pub fn set_direct_meter(
        &mut self,
        table: TableId,
        key: Option<&EntryKey>,
        config: Option<MeterConfig>,
    ) -> Result<(), ControlError> {
        let (table, schema) = Self::table_mut(&mut self.state, &self.program, table)?;
        check(&schema.name, config)?;
        table.set_meter(schema, key, config)
    }

    /// The configuration of the direct meter of an entry, or of the default
    /// entry (`None`).
    ///
    /// # Errors
    /// The table has no direct meter, or no such entry.
    pub fn direct_meter(
        &self,
        table: TableId,
        key: Option<&EntryKey>,
    ) -> Result<Option<MeterConfig>, ControlError> {
        let (table, schema) = self.table(table)?;
        table.meter(schema, key)
    }

    fn meter_schema(&self, meter: MeterId) -> Result<&MeterSchema, ControlError> {
        let schema = self.program.meters.get(meter.0 as usize);
        schema.ok_or_else(|| unknown("meter", meter.0))
    }
}

fn check(owner: &str, config: Option<MeterConfig>) -> Result<(), ControlError> {
    match config {
        Some(config) if config.pir < config.cir => Err(ControlError::InvalidObject {
            what: format!("the meter of {owner}"),
            reason: format!(
                "the peak rate {} is below the committed rate {}",
                config.pir, config.cir
            ),
        }),
        _ => Ok(()),
    }
}
