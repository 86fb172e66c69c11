// SPDX-License-Identifier: Apache-2.0
//! Single cells of registers that are asked for one behind the other, as one
//! query: a control loop reads some of every service flow.

use v1model::Pipeline;

use super::{Entities, Query, arrays};
use crate::bytes_of::list;
use crate::failure::Failure;
use crate::proto::p4::v1 as p4;
use crate::schema::Schema;
use crate::wire::Asked;

/// Cells of a run, at most: a run is read in one go.
const LONGEST: usize = 1024;

/// Cells that are as much work as another request.
const CELLS_PER_UNIT: usize = 64;

/// A cell that exists.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// In the schema's list of registers.
    register: usize,
    index: usize,
}

/// Cells to be read, in the order of the requests for them.
#[derive(Clone, Debug, Default)]
pub struct CellRun(Vec<Place>);

impl CellRun {
    /// How many requests this stands for.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The registers that it is of, by their places; some of them again and again.
    pub fn registers(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|place| place.register)
    }

    /// The memory that it takes beside itself, bytes.
    pub fn bytes(&self) -> usize {
        list(&self.0)
    }

    /// How much work it is.
    pub fn units(&self) -> usize {
        1 + self.len() / CELLS_PER_UNIT
    }

    /// Fetches the values of the cells.
    ///
    /// # Errors
    /// None: they were checked.
    pub fn fetch(&self, schema: &Schema, pipeline: &Pipeline) -> Result<Vec<u128>, Failure> {
        let registers = schema.registers.list();
        let cells = self.0.iter();
        let values =
            cells.map(|cell| pipeline.register(registers[cell.register].register, cell.index));
        Ok(values.collect::<Result<_, _>>()?)
    }

    /// Puts cells with their values into entities.
    pub fn render(&self, schema: &Schema, values: &[u128], entities: &mut impl Entities) {
        let registers = schema.registers.list();
        for (cell, value) in self.0.iter().zip(values) {
            let register = &registers[cell.register];
            arrays::render_register(register, cell.index as i64, *value, entities);
        }
    }
}

/// Checks a request.
///
/// # Errors
/// NOT_FOUND, INVALID_ARGUMENT, OUT_OF_RANGE: no such register or cell.
fn find(schema: &Schema, asked: Asked) -> Result<Place, Failure> {
    let given = p4::RegisterEntry {
        register_id: asked.register_id,
        index: Some(p4::Index { index: asked.index }),
        data: None,
    };
    let (registers, index) = arrays::select_registers(schema, &given)?;
    Ok(Place {
        register: registers.start,
        // One was given.
        index: index.unwrap_or(0),
    })
}

/// Appends the request for a cell to others; how much memory that takes, bytes.
pub fn push(schema: &Schema, queries: &mut Vec<Result<Query, Failure>>, asked: Asked) -> usize {
    let place = match find(schema, asked) {
        Ok(place) => place,
        Err(failure) => {
            let bytes = failure.bytes();
            queries.push(Err(failure));
            return bytes;
        }
    };
    match queries.last_mut() {
        Some(Ok(Query::Cells(run))) if run.len() < LONGEST => run.0.push(place),
        _ => {
            queries.push(Ok(Query::Cells(CellRun(vec![place]))));
            return size_of::<Result<Query, Failure>>() + size_of::<Place>();
        }
    }
    size_of::<Place>()
}
