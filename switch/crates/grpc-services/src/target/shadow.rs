// SPDX-License-Identifier: Apache-2.0
//! A pipeline that is saved and not yet committed: reads and writes refer to a
//! copy that no packet meets, and the writes are replayed when it is committed.

use tonic::Status;
use v1model::Pipeline;

use crate::budget::Charge;
use crate::failure::Failure;
use crate::op::{Op, Plant};
use crate::options::Limits;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::slice::Slice;

use super::exhausted;
use super::write::{Batch, Finished};

/// The state that a saved pipeline will have.
#[derive(Debug)]
pub struct Shadow {
    pub pipeline: Pipeline,
    /// The updates that made it, to be replayed in the device.
    pub updates: Vec<Op>,
    /// Bytes of memory that they take.
    bytes: usize,
}

impl Shadow {
    pub fn new(config: &PipelineConfig) -> Self {
        Shadow {
            pipeline: Pipeline::new(config.program.clone(), 0),
            updates: Vec::new(),
            bytes: 0,
        }
    }

    /// Makes a batch of updates; `undo` is [`Batch::new`]'s.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if these would take more, and then none of them is executed.
    pub fn begin(
        &self,
        ops: Vec<Result<Op, Failure>>,
        undo: Option<usize>,
        limits: &Limits,
        charge: Charge,
    ) -> Result<Batch, Status> {
        let more: usize = ops.iter().flatten().map(Op::bytes).sum();
        let most = limits.saved_bytes;
        if self.bytes + more > most {
            return Err(exhausted(format!(
                "the updates that wait for the COMMIT of the saved config would take more than \
                 {most} bytes of memory: COMMIT first, then write the others"
            )));
        }
        Batch::new(ops, undo, limits.kept_bytes, Some(charge))
    }

    /// Executes as many updates as fit into a slice.
    pub fn run(&mut self, config: &PipelineConfig, batch: &mut Batch, slice: &mut Slice) {
        let mut notes = lock(&config.notes);
        let mut plant = Plant {
            now_ns: 0,
            pipeline: &mut self.pipeline,
            notes: &mut notes,
        };
        batch.run(&mut plant, slice);
    }

    /// Keeps the updates that succeeded, for the COMMIT.
    pub fn finish(&mut self, batch: Batch) -> Finished {
        let finished = batch.finish();
        for (op, result) in finished.ops.iter().zip(&finished.results) {
            if let (Ok(op), Ok(())) = (op, result) {
                self.bytes += op.bytes();
                self.updates.push(op.clone());
            }
        }
        finished
    }
}
