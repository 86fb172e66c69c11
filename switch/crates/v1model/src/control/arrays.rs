// SPDX-License-Identifier: Apache-2.0
//! Registers and indirect counters.

use super::{past_the_end, unknown};
use crate::error::ControlError;
use crate::op::mask_wide;
use crate::pipeline::Pipeline;
use crate::schema::*;
use crate::state::Register;
use std::ops::Range;

impl Pipeline {
    /// One cell of an indirect counter.
    ///
    /// # Errors
    /// No such counter or cell.
    pub fn counter(&self, counter: CounterId, index: usize) -> Result<CounterData, ControlError> {
        let (cells, schema) = self.counter_array(counter)?;
        cells
            .get(index)
            .copied()
            .ok_or_else(|| past_the_end("counter", &schema.name, index, schema.size))
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
        let (_, schema) = self.counter_array(counter)?;
        let cells = cells(index, schema.size);
        self.set_counters(counter, cells, data)
    }

    /// Writes the same to a range of the cells of an indirect counter.
    ///
    /// # Errors
    /// No such counter, or the range ends behind it.
    pub fn set_counters(
        &mut self,
        counter: CounterId,
        range: Range<usize>,
        data: CounterData,
    ) -> Result<(), ControlError> {
        let (cells, schema) = self.counter_array_mut(counter)?;
        let last = last(&range);
        fill(cells, range, data)
            .ok_or_else(|| past_the_end("counter", &schema.name, last, schema.size))
    }

    /// A range of the cells of an indirect counter, for reading many without
    /// checking each.
    ///
    /// # Errors
    /// No such counter, or the range ends behind it.
    pub fn counter_cells(
        &self,
        counter: CounterId,
        range: Range<usize>,
    ) -> Result<&[CounterData], ControlError> {
        let (cells, schema) = self.counter_array(counter)?;
        let last = last(&range);
        cells
            .get(range)
            .ok_or_else(|| past_the_end("counter", &schema.name, last, schema.size))
    }

    /// Writes the cells of an indirect counter from `first` on.
    ///
    /// # Errors
    /// No such counter, or the cells end behind it.
    pub fn set_counter_cells(
        &mut self,
        counter: CounterId,
        first: usize,
        values: &[CounterData],
    ) -> Result<(), ControlError> {
        let (cells, schema) = self.counter_array_mut(counter)?;
        let range = first..first.saturating_add(values.len());
        let last = last(&range);
        let cells = cells
            .get_mut(range)
            .ok_or_else(|| past_the_end("counter", &schema.name, last, schema.size))?;
        cells.copy_from_slice(values);
        Ok(())
    }

    /// One cell of a register.
    ///
    /// # Errors
    /// No such register or cell.
    pub fn register(&self, register: RegisterId, index: usize) -> Result<u128, ControlError> {
        let (cells, schema) = self.register_array(register)?;
        let narrow = cells.narrow.get(index).map(|cell| u128::from(*cell));
        narrow
            .or_else(|| cells.wide.get(index).copied())
            .ok_or_else(|| past_the_end("register", &schema.name, index, schema.size))
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
        let (_, schema) = self.register_array(register)?;
        let cells = cells(index, schema.size);
        self.set_registers(register, cells, value)
    }

    /// Writes the same to a range of a register's cells.
    ///
    /// # Errors
    /// No such register, the range ends behind it, or the value is too wide.
    pub fn set_registers(
        &mut self,
        register: RegisterId,
        range: Range<usize>,
        value: u128,
    ) -> Result<(), ControlError> {
        let (cells, schema) = self.register_array_mut(register)?;
        check_value(schema, value)?;
        let last = last(&range);
        let done = if schema.width > 64 {
            fill(&mut cells.wide, range, value)
        } else {
            fill(&mut cells.narrow, range, value as u64)
        };
        done.ok_or_else(|| past_the_end("register", &schema.name, last, schema.size))
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
        let (cells, schema) = self.register_array(register)?;
        let last = last(&range);
        let found = if schema.width > 64 {
            cells.wide.get(range).map(RegisterCells::Wide)
        } else {
            cells.narrow.get(range).map(RegisterCells::Narrow)
        };
        found.ok_or_else(|| past_the_end("register", &schema.name, last, schema.size))
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
        let (cells, schema) = self.register_array_mut(register)?;
        let end = first.saturating_add(values.len());
        if end > schema.size {
            let last = last(&(first..end));
            return Err(past_the_end("register", &schema.name, last, schema.size));
        }
        check_value(schema, values.iter().fold(0, |all, value| all | value))?;
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

    fn counter_array(
        &self,
        id: CounterId,
    ) -> Result<(&[CounterData], &CounterSchema), ControlError> {
        let at = id.0 as usize;
        match (self.state.counters.get(at), self.program.counters.get(at)) {
            (Some(cells), Some(schema)) => Ok((cells, schema)),
            _ => Err(unknown("counter", id.0)),
        }
    }

    fn counter_array_mut(
        &mut self,
        id: CounterId,
    ) -> Result<(&mut [CounterData], &CounterSchema), ControlError> {
        let at = id.0 as usize;
        let cells = self.state.counters.get_mut(at);
        match (cells, self.program.counters.get(at)) {
            (Some(cells), Some(schema)) => Ok((cells, schema)),
            _ => Err(unknown("counter", id.0)),
        }
    }

    fn register_array(&self, id: RegisterId) -> Result<(&Register, &RegisterSchema), ControlError> {
        let at = id.0 as usize;
        match (self.state.registers.get(at), self.program.registers.get(at)) {
            (Some(cells), Some(schema)) => Ok((cells, schema)),
            _ => Err(unknown("register", id.0)),
        }
    }

    fn register_array_mut(
        &mut self,
        id: RegisterId,
    ) -> Result<(&mut Register, &RegisterSchema), ControlError> {
        let at = id.0 as usize;
        let cells = self.state.registers.get_mut(at);
        match (cells, self.program.registers.get(at)) {
            (Some(cells), Some(schema)) => Ok((cells, schema)),
            _ => Err(unknown("register", id.0)),
        }
    }
}

/// One cell, or all (`None`).
pub(super) fn cells(index: Option<usize>, size: usize) -> Range<usize> {
    index.map_or(0..size, |index| index..index.saturating_add(1))
}

/// The cell to name when a range ends too far.
pub(super) fn last(range: &Range<usize>) -> usize {
    range.end.saturating_sub(1).max(range.start)
}

/// Writes a range; `None` when there is no such range.
pub(super) fn fill<T: Clone>(cells: &mut [T], range: Range<usize>, value: T) -> Option<()> {
    cells.get_mut(range)?.fill(value);
    Some(())
}

/// Refuses a value that a register's cells do not hold.
fn check_value(schema: &RegisterSchema, value: u128) -> Result<(), ControlError> {
    if value & !mask_wide(schema.width) == 0 {
        return Ok(());
    }
    Err(ControlError::ValueTooWide {
        what: format!("register {}", schema.name),
        width: schema.width,
    })
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
