// SPDX-License-Identifier: Apache-2.0
//! The RPC Write: resolved on its task, executed on the device's thread in
//! slices between which packets go on, and undone where a batch is all or none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tonic::{Code, Status};

use super::{SLICE, STRIDE, Target, exhausted, no_pipeline};
use crate::failure::{Failure, batch_status};
use crate::op::{Op, Plant};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1::write_request::Atomicity;
use crate::schema::Schema;
use crate::wire::{self, Cell, WriteRequest};
use crate::write;

impl Target {
    /// The RPC Write.
    ///
    /// # Errors
    /// Its status, with details for each update.
    pub async fn write(&self, request: &WriteRequest) -> Result<(), Status> {
        let pipelines = self.pipelines.read().await;
        let head = &request.head;
        self.authorize(&head.role, head.election_id.as_ref())?;
        let active = pipelines.active.as_ref();
        let saved = pipelines.saved.as_ref();
        let config = saved.map(|saved| &saved.config).or(active);
        let config = config.ok_or_else(|| no_pipeline(self.device_id()))?;
        let atomicity = self.check_size(request)?;
        let all_or_none = atomicity != Atomicity::ContinueOnError;

        let ops = self.resolve(&config.schema, request).await?;
        if let Some(saved) = saved {
            let results = lock(&saved.shadow).execute(config, ops, all_or_none);
            return batch_status("updates", &results);
        }
        let mut batch = Batch::new(ops, all_or_none);
        let budget = (atomicity != Atomicity::DataplaneAtomic).then_some(SLICE);
        let _alone = self.order.write().await;
        while !batch.is_done() {
            let config = Arc::clone(config);
            let executed = self.call(move |device, now| {
                batch.run_on(device, now, &config, budget)?;
                // Back to the task: dropped there, not between packets.
                Some(batch)
            });
            batch = executed
                .await?
                .ok_or_else(|| no_pipeline(self.device_id()))?;
        }
        batch_status("updates", &batch.finish().1)
    }

    /// Resolves the updates of a request. What is no update ends it all.
    async fn resolve(
        &self,
        schema: &Schema,
        request: &WriteRequest,
    ) -> Result<Vec<Result<Op, Failure>>, Status> {
        let mut ops = Vec::with_capacity(request.count);
        let mut ports = None;
        for update in request.updates() {
            if let Some(cell) = Cell::of_update(update) {
                ops.push(write::arrays::cell(schema, &cell));
                continue;
            }
            let update = wire::decode_update(update)?;
            if ports.is_none() && write::watches_ports(&update) {
                ports = Some(self.ports().await?);
            }
            ops.push(write::resolve(schema, ports.as_deref(), &update));
        }
        Ok(ops)
    }

    fn check_size(&self, request: &WriteRequest) -> Result<Atomicity, Status> {
        let count = request.count;
        let limit = self.limits.updates;
        if count > limit {
            return Err(exhausted(format!(
                "the batch has {count} updates, more than {limit}: split it"
            )));
        }
        let given = request.head.atomicity;
        let atomicity = Atomicity::try_from(given)
            .map_err(|_| Status::invalid_argument(format!("atomicity {given} is unknown")))?;
        let limit = self.limits.atomic_updates;
        if atomicity == Atomicity::DataplaneAtomic && count > limit {
            return Err(Status::unimplemented(format!(
                "the batch has {count} updates, and packets wait for no more than {limit}: split \
                 it, or use ROLLBACK_ON_ERROR"
            )));
        }
        Ok(atomicity)
    }

    /// The ports that the device has.
    async fn ports(&self) -> Result<Vec<u16>, Status> {
        self.call(|device, now| {
            let state = device.traffic_manager_state(now);
            state.ports.iter().map(|port| port.config.port).collect()
        })
        .await
    }
}

/// The updates of a batch, and what became of each.
type Finished = (Vec<Result<Op, Failure>>, Vec<Result<(), Failure>>);

/// A batch on its way through the device's thread.
#[derive(Debug)]
pub struct Batch {
    ops: Vec<Result<Op, Failure>>,
    results: Vec<Result<(), Failure>>,
    /// `None`: failed updates do not matter to the others.
    undo: Option<Undo>,
}

#[derive(Debug, Default)]
struct Undo {
    /// What undoes each update that was executed, in their order.
    inverses: Vec<Op>,
    /// The update that failed.
    failed: Option<usize>,
}

impl Batch {
    pub fn new(ops: Vec<Result<Op, Failure>>, all_or_none: bool) -> Self {
        let mut batch = Batch {
            results: Vec::with_capacity(ops.len()),
            ops,
            undo: all_or_none.then(Undo::default),
        };
        if let Some(undo) = &mut batch.undo {
            // One that cannot succeed: nothing need be tried.
            undo.failed = batch.ops.iter().position(Result::is_err);
        }
        batch
    }

    pub fn is_done(&self) -> bool {
        match &self.undo {
            Some(Undo {
                inverses,
                failed: Some(_),
            }) => inverses.is_empty(),
            _ => self.results.len() == self.ops.len(),
        }
    }

    /// Does what fits into `budget` on the device's thread; `None` when it has
    /// no pipeline.
    fn run_on(
        &mut self,
        device: &mut device::Device,
        now_ns: u64,
        config: &PipelineConfig,
        budget: Option<Duration>,
    ) -> Option<()> {
        let mut notes = lock(&config.notes);
        let mut plant = Plant {
            now_ns,
            pipeline: device.pipeline_mut()?,
            notes: &mut notes,
        };
        self.run(&mut plant, budget);
        for (digest, config) in notes.take_digest_changes() {
            device.configure_digest(now_ns, digest, config);
        }
        Some(())
    }

    /// Does what fits into `budget`; all without one.
    pub fn run(&mut self, plant: &mut Plant<'_>, budget: Option<Duration>) {
        let start = Instant::now();
        let in_time =
            |n: usize| n % STRIDE != 0 || budget.is_none_or(|budget| start.elapsed() < budget);
        let mut n = 0;
        while !self.is_done() && (n == 0 || in_time(n)) {
            self.step(plant);
            n += 1;
        }
    }

    /// One update, or one that undoes another.
    fn step(&mut self, plant: &mut Plant<'_>) {
        let at = self.results.len();
        let Some(undo) = &mut self.undo else {
            let result = match &self.ops[at] {
                Ok(op) => op.execute(plant),
                Err(failure) => Err(failure.clone()),
            };
            self.results.push(result);
            return;
        };
        if undo.failed.is_some() {
            if let Some(inverse) = undo.inverses.pop()
                && let Err(failure) = inverse.execute(plant)
            {
                let n = undo.inverses.len();
                let words = format!("it could not be undone: {}", failure.message);
                self.results[n] = Err(Failure::new(Code::Internal, words));
            }
            return;
        }
        let result = self.ops[at].as_ref().map_err(Failure::clone);
        let result = result.and_then(|op| {
            let inverse = op.inverse(plant)?;
            op.execute(plant)?;
            Ok(inverse)
        });
        match result {
            Ok(inverse) => {
                undo.inverses.push(inverse);
                self.results.push(Ok(()));
            }
            Err(failure) => {
                undo.failed = Some(at);
                self.results.push(Err(failure));
            }
        }
    }

    /// The updates, and what became of them.
    pub fn finish(mut self) -> Finished {
        if let Some(Undo {
            failed: Some(failed),
            ..
        }) = self.undo
        {
            let aborted = || {
                let words = format!("undone or not attempted, because update {failed} failed");
                Err(Failure::new(Code::Aborted, words))
            };
            self.results.resize(self.ops.len(), Ok(()));
            for (op, result) in self.ops.iter().zip(&mut self.results) {
                match op {
                    Err(failure) => *result = Err(failure.clone()),
                    Ok(_) if result.is_ok() => *result = aborted(),
                    Ok(_) => {}
                }
            }
        }
        (self.ops, self.results)
    }
}
