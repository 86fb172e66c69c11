// SPDX-License-Identifier: Apache-2.0
//! Requests for single cells of registers, merged into one query if they follow each other. Control
//! loops need this, because they read some cells of every service flow.

use v1model::Pipeline;

use super::{Entities, Query, arrays};
use crate::failure::Failure;
use crate::heap::list;
use crate::proto::p4::v1 as p4;
use crate::schema::Schema;
use crate::wire::Asked;

/// The most cells of a run. It is limited because a run is read in one go.
const LONGEST: usize = 1024;

/// How many cells are as much work as one request of another kind.
const CELLS_PER_UNIT: usize = 64;

/// A cell that exists.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The place in the schema's list of registers.
    register: usize,
    index: usize,
}

/// The cells to be read, in the order of the requests for them.
#[derive(Clone, Debug, Default)]
pub struct CellRun(Vec<Place>);

impl CellRun {
    /// How many requests the run stands for.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The places of the registers that the cells belong to, one for each cell.
    pub fn registers(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|place| place.register)
    }

    /// The heap memory of the run, bytes.
    pub fn bytes(&self) -> usize {
        list(&self.0)
    }

    /// How much work it is to read the run, in units.
    pub fn units(&self) -> usize {
        1 + self.len() / CELLS_PER_UNIT
    }

    /// Fetches the values of the cells.
    ///
    /// # Errors
    /// There are none in practice, because the cells were checked.
    pub fn fetch(&self, schema: &Schema, pipeline: &Pipeline) -> Result<Vec<u128>, Failure> {
        let registers = schema.registers.list();
        let cells = self.0.iter();
        let values =
            cells.map(|cell| pipeline.register(registers[cell.register].register, cell.index));
        Ok(values.collect::<Result<_, _>>()?)
    }

    /// Renders cells with their values as entities.
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
        // `select_registers` returns the index that `given` has.
        index: index.unwrap_or(0),
    })
}

/// Appends the request for a cell to others, and returns how much memory that takes, bytes.
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
