// SPDX-License-Identifier: Apache-2.0
//! A pipeline that is saved and not yet committed: reads and writes refer to a
//! copy that no packet meets, and the writes are replayed when it is committed.

use v1model::Pipeline;

use crate::failure::Failure;
use crate::op::{Op, Plant};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::slice::Slice;

use super::write::{Batch, Finished};

/// The state that a saved pipeline will have.
#[derive(Debug)]
pub struct Shadow {
    pub pipeline: Pipeline,
    /// The updates that made it, to be replayed in the device.
    pub updates: Vec<Op>,
}

impl Shadow {
    pub fn new(config: &PipelineConfig) -> Self {
        Shadow {
            pipeline: Pipeline::new(config.program.clone(), 0),
            updates: Vec::new(),
        }
    }

    /// Executes updates, all or none if `all_or_none`.
    pub fn execute(
        &mut self,
        config: &PipelineConfig,
        ops: Vec<Result<Op, Failure>>,
        all_or_none: bool,
    ) -> Finished {
        let mut notes = lock(&config.notes);
        let mut plant = Plant {
            now_ns: 0,
            pipeline: &mut self.pipeline,
            notes: &mut notes,
        };
        let mut batch = Batch::new(ops, all_or_none);
        batch.run(&mut plant, &mut Slice::endless());
        let finished = batch.finish();
        for (op, result) in finished.ops.iter().zip(&finished.results) {
            if let (Ok(op), Ok(())) = (op, result) {
                self.updates.push(op.clone());
            }
        }
        finished
    }
}
