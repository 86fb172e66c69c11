// SPDX-License-Identifier: Apache-2.0
//! Registers and indirect counters.

use super::{past_the_end, unknown};
use crate::error::ControlError;
use crate::op::mask_wide;
use crate::pipeline::Pipeline;
use crate::schema::*;
use std::ops::Range;

impl Pipeline {
    /// One cell of an indirect counter.
    ///
    /// # Errors
    /// No such counter or cell.
    pub fn counter(&self, counter: CounterId, index: usize) -> Result<CounterData, ControlError> {
        let at = counter.0 as usize;
        let cells = self
            .state
            .counters
            .get(at)
            .ok_or_else(|| unknown("counter", counter.0))?;
        let name = &self.program.counters[at].name;
        cells
            .get(index)
            .copied()
            .ok_or_else(|| past_the_end("counter", name, index, cells.len()))
    }

    /// Writes one cell of an indirect counter, or all (`None`).
    ///
    /// # Errors
    /// No such counter or cell.
    pub fn set_counter(
        &mut self,
        counter: CounterId,
        index: Option<usize>,
        data: CounterData,
    ) -> Result<(), ControlError> {
        let at = counter.0 as usize;
        let cells = self
            .state
            .counters
            .get_mut(at)
            .ok_or_else(|| unknown("counter", counter.0))?;
        let size = cells.len();
        match index {
            None => cells.fill(data),
            Some(index) => match cells.get_mut(index) {
                Some(cell) => *cell = data,
                None => {
                    let name = &self.program.counters[at].name;
                    return Err(past_the_end("counter", name, index, size));
                }
            },
        }
        Ok(())
    }

    /// One cell of a register.
    ///
    /// # Errors
    /// No such register or cell.
    pub fn register(&self, register: RegisterId, index: usize) -> Result<u128, ControlError> {
        let at = register.0 as usize;
        let cells = self
            .state
            .registers
            .get(at)
            .ok_or_else(|| unknown("register", register.0))?;
        let narrow = cells.narrow.get(index).map(|cell| u128::from(*cell));
        narrow
            .or_else(|| cells.wide.get(index).copied())
            .ok_or_else(|| {
                let schema = &self.program.registers[at];
                past_the_end("register", &schema.name, index, schema.size)
            })
    }

    /// Writes one cell of a register, or all (`None`).
    ///
    /// # Errors
    /// No such register or cell, or the value is too wide.
    pub fn set_register(
        &mut self,
        register: RegisterId,
        index: Option<usize>,
        value: u128,
    ) -> Result<(), ControlError> {
        let at = register.0 as usize;
        let cells = self
            .state
            .registers
            .get_mut(at)
            .ok_or_else(|| unknown("register", register.0))?;
        let schema = &self.program.registers[at];
        if value & !mask_wide(schema.width) != 0 {
            let what = format!("register {}", schema.name);
            return Err(ControlError::ValueTooWide {
                what,
                width: schema.width,
            });
        }
        match index {
            None => {
                cells.narrow.fill(value as u64);
                cells.wide.fill(value);
            }
            Some(index) if index >= schema.size => {
                return Err(past_the_end("register", &schema.name, index, schema.size));
            }
            Some(index) if schema.width > 64 => cells.wide[index] = value,
            Some(index) => cells.narrow[index] = value as u64,
        }
        Ok(())
    }

    /// A range of a register's cells, for reading many without checking each.
    ///
    /// # Errors
    /// No such register, or the range ends behind it.
    pub fn register_cells(
        &self,
        register: RegisterId,
        range: Range<usize>,
    ) -> Result<RegisterCells<'_>, ControlError> {
        let at = register.0 as usize;
        let cells = self
            .state
            .registers
            .get(at)
            .ok_or_else(|| unknown("register", register.0))?;
        let schema = &self.program.registers[at];
        let found = if schema.width > 64 {
            cells.wide.get(range.clone()).map(RegisterCells::Wide)
        } else {
            cells.narrow.get(range.clone()).map(RegisterCells::Narrow)
        };
        found.ok_or_else(|| {
            let last = range.end.saturating_sub(1).max(range.start);
            past_the_end("register", &schema.name, last, schema.size)
        })
    }

    /// Writes the cells from `first` on.
    ///
    /// # Errors
    /// No such register, the cells end behind it, or a value is too wide.
    pub fn set_register_cells(
        &mut self,
        register: RegisterId,
        first: usize,
        values: &[u128],
    ) -> Result<(), ControlError> {
        let at = register.0 as usize;
        let cells = self
            .state
            .registers
            .get_mut(at)
            .ok_or_else(|| unknown("register", register.0))?;
        let schema = &self.program.registers[at];
        let end = first.saturating_add(values.len());
        if end > schema.size {
            let last = end.saturating_sub(1).max(first);
            return Err(past_the_end("register", &schema.name, last, schema.size));
        }
        let all = values.iter().fold(0, |all, value| all | value);
        if all & !mask_wide(schema.width) != 0 {
            return Err(ControlError::ValueTooWide {
                what: format!("register {}", schema.name),
                width: schema.width,
            });
        }
        if schema.width > 64 {
            cells.wide[first..end].copy_from_slice(values);
        } else {
            let cells = &mut cells.narrow[first..end];
            cells
                .iter_mut()
                .zip(values)
                .for_each(|(cell, v)| *cell = *v as u64);
        }
        Ok(())
    }
}

/// Cells of a register, borrowed from the pipeline.
#[derive(Clone, Copy, Debug)]
pub enum RegisterCells<'a> {
    /// Cells of up to 64 bits.
    Narrow(&'a [u64]),
    /// Cells of more.
    Wide(&'a [u128]),
}

impl<'a> RegisterCells<'a> {
    /// How many cells.
    pub fn len(&self) -> usize {
        match self {
            RegisterCells::Narrow(cells) => cells.len(),
            RegisterCells::Wide(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = u128> + use<'a> {
        let (narrow, wide): (&'a [u64], &'a [u128]) = match *self {
            RegisterCells::Narrow(cells) => (cells, &[]),
            RegisterCells::Wide(cells) => (&[], cells),
        };
        narrow
            .iter()
            .map(|cell| u128::from(*cell))
            .chain(wide.iter().copied())
    }
}
