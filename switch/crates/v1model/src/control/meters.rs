// SPDX-License-Identifier: Apache-2.0
//! Meters: two rates, three colours. What is written is what a packet of
//! any later time meets; a configuration starts with full buckets.

use super::{past_the_end, unknown, unsupported};
use crate::error::ControlError;
use crate::pipeline::Pipeline;
use crate::schema::*;

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
        let schema = self.meter_schema(meter)?;
        match index {
            Some(index) if index >= schema.size => {
                Err(past_the_end("meter", &schema.name, index, schema.size))
            }
            _ if config.is_none() => Ok(()),
            _ => Err(unsupported("indirect meters")),
        }
    }

    /// The configuration of one cell of an indirect meter.
    ///
    /// # Errors
    /// No such meter or cell.
    pub fn meter(&self, meter: MeterId, index: usize) -> Result<Option<MeterConfig>, ControlError> {
        let schema = self.meter_schema(meter)?;
        if index >= schema.size {
            return Err(past_the_end("meter", &schema.name, index, schema.size));
        }
        Ok(None)
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
        let _ = (table, key, config);
        Err(unsupported("direct meters"))
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
        let _ = (table, key);
        Err(unsupported("direct meters"))
    }

    fn meter_schema(&self, meter: MeterId) -> Result<&MeterSchema, ControlError> {
        let schema = self.program.meters.get(meter.0 as usize);
        schema.ok_or_else(|| unknown("meter", meter.0))
    }
}
