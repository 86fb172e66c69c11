// SPDX-License-Identifier: Apache-2.0
//! What a new program takes over from the one before: arrays, cell for cell.

use crate::pipeline::Pipeline;
use std::mem::swap;

impl Pipeline {
    /// Takes the cells of registers, counters and meters of `old` that this
    /// program has, too: those of the same name, size and width or unit. They
    /// are not copied: `old` gets the cells that are here.
    pub fn take_arrays(&mut self, old: &mut Pipeline) {
        let (new, before) = (&self.program, &old.program);
        for (at, schema) in before.registers.iter().enumerate() {
            if let Some(id) = new.register(&schema.name)
                && let Some(here) = new.registers.get(id.0 as usize)
                && (here.size, here.width) == (schema.size, schema.width)
            {
                let cells = &mut self.state.registers[id.0 as usize];
                swap(cells, &mut old.state.registers[at]);
            }
        }
        for (at, schema) in before.counters.iter().enumerate() {
            if let Some(id) = new.counter(&schema.name)
                && new.counters.get(id.0 as usize).map(|here| here.size) == Some(schema.size)
            {
                let cells = &mut self.state.counters[id.0 as usize];
                swap(cells, &mut old.state.counters[at]);
            }
        }
        for (at, schema) in before.meters.iter().enumerate() {
            if let Some(id) = new.meter(&schema.name)
                && let Some(here) = new.meters.get(id.0 as usize)
                && (here.size, here.unit) == (schema.size, schema.unit)
            {
                let cells = &mut self.state.meters[id.0 as usize];
                swap(cells, &mut old.state.meters[at]);
            }
        }
    }
}
