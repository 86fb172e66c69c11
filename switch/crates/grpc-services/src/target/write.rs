// SPDX-License-Identifier: Apache-2.0
//! The RPC Write. Its updates are resolved on the RPC's task, executed on the device's thread in
//! slices between which packets go on, and undone if one fails in a batch that is all or none.

use std::iter::repeat_n;
use std::sync::Arc;
use std::time::Duration;

use device::Forgotten;
use tonic::{Code, Status};
use v1model::Program;

use super::turn::{Asking, Turn};
use super::view::Held;
use super::{Begun, Saved, Target, exhausted, no_pipeline};
use crate::budget::{Charge, Purpose};
use crate::failure::{Failure, batch_status};
use crate::footprint::Footprint;
use crate::op::{Op, Plant};
use crate::order::Wish;
use crate::pause::Pause;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1::write_request::Atomicity;
use crate::role::{self, Access};
use crate::schema::Schema;
use crate::slice::{STRIDE, Slice};
use crate::updates;
use crate::wire::{Cell, WriteRequest};
use crate::write;

/// At most this many operations are dropped on the thread that answers.
const FEW: usize = 128;
/// How many of the updates that were undone because of another one get words; the others get only
/// their codes.
const WORDS: usize = 256;
/// How many cells of an array are as much work as one update.
const CELLS_PER_UNIT: usize = 64;

/// What a Write holds from its beginning if it is written down or replayed
/// ([`Target::holds_early`]); otherwise it holds nothing before its turn.
#[derive(Default)]
struct Early<'t> {
    begun: Option<Begun>,
    held: Option<Held<'t>>,
}

impl Target {
    /// The RPC Write.
    ///
    /// # Errors
    /// Its status, with details for each update.
    pub async fn write(&self, request: &WriteRequest, asking: Asking) -> Result<(), Status> {
        let mut early = self.early(request).await?;
        loop {
            let finished = self.write_view(request, &asking, &mut early).await?;
            if let Some(finished) = finished {
                return self.ended(finished, &asking);
            }
        }
    }

    /// Writes to the pipeline that there is. Returns `None` if another one has come when it is the
    /// turn of the request.
    async fn write_view<'t>(
        &'t self,
        request: &WriteRequest,
        asking: &Asking,
        early: &mut Early<'t>,
    ) -> Result<Option<Finished>, Status> {
        // A client that is not the primary learns so first, and the role does not wait for one that
        // waits for its turn.
        let access = match &early.begun {
            Some(begun) => begun.access.clone(),
            None => self.begun(request)?.access,
        };
        let view = self.view(early.held.as_ref()).await?;
        let config = &view.config;
        let atomicity = self.check_size(request)?;
        let all_or_none = atomicity != Atomicity::ContinueOnError;

        let access = access.as_deref();
        let account = asking.client.as_ref().map(|client| &client.account);
        let mut charge = account.unwrap_or(&self.own).charge(Purpose::Requests);
        let ops = self
            .resolve(&config.schema, access, request, &mut charge)
            .await?;
        let undo = all_or_none.then_some(self.limits.undo_bytes);
        if !all_or_none {
            self.check_cells(&config.program, &ops)?;
        }
        if view.is_saved {
            let _alone = self.order.enter(Wish::ALONE).await;
            let _begun = self.begun_now(request, early)?;
            let pipelines = self.held(&view, &mut early.held).await;
            let Some(saved) = pipelines.as_ref().and_then(|all| all.saved.as_ref()) else {
                return Ok(None);
            };
            let finished = self.execute_saved(saved, ops, undo, charge).await?;
            return Ok(Some(finished));
        }
        let length = if atomicity == Atomicity::DataplaneAtomic {
            self.check_work(&config.program, &ops)?;
            None
        } else {
            Some(self.limits.slice)
        };
        let batch = Batch::new(ops, undo, self.limits.kept_bytes, Some(charge))?;
        if batch.is_done() {
            // One of the updates cannot succeed, so none is executed.
            return Ok(Some(batch.finish()));
        }
        let wish = batch.wish(&config.program);
        let turn = self.turn(asking, (wish.0, true), wish.1).await;
        let _begun = self.begun_now(request, early)?;
        let Some(_pipelines) = self.held(&view, &mut early.held).await else {
            return Ok(None);
        };
        let batch = self.execute(config, batch, length, turn).await?;
        Ok(Some(batch.finish()))
    }

    /// Lets a Write begin, if its client is the primary.
    ///
    /// # Errors
    /// Those of [`Self::begin`].
    fn begun(&self, request: &WriteRequest) -> Result<Begun, Status> {
        let head = &request.head;
        self.begin(&head.role, head.election_id.as_ref())
    }

    /// Lets a Write begin whose turn it is, unless it has begun early. Another client may have
    /// become primary while it waited.
    fn begun_now(&self, request: &WriteRequest, early: &mut Early<'_>) -> Result<Begun, Status> {
        match early.begun.take() {
            Some(begun) => Ok(begun),
            None => self.begun(request),
        }
    }

    /// What a Write holds from its beginning.
    async fn early(&self, request: &WriteRequest) -> Result<Early<'_>, Status> {
        let mut early = Early::default();
        if Self::holds_early() {
            early.begun = Some(self.begun(request)?);
            early.held = self.held_early().await;
        }
        Ok(early)
    }

    /// The status of a batch. A large batch is dropped on another thread.
    fn ended(&self, finished: Finished, asking: &Asking) -> Result<(), Status> {
        let status = finished.status();
        if !asking.is_apart && self.crew.is_apart() && finished.ops.len() > FEW {
            self.crew.discard(finished);
        }
        status
    }

    /// Executes a batch on a saved pipeline, in slices between which others are answered.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if too much would wait for the COMMIT.
    async fn execute_saved(
        &self,
        saved: &Saved,
        ops: Vec<Result<Op, Failure>>,
        undo: Option<usize>,
        charge: Charge,
    ) -> Result<Finished, Status> {
        let mut batch = lock(&saved.shadow).begin(ops, undo, &self.limits, charge)?;
        while !batch.is_done() {
            let mut slice = Slice::new(Some(self.limits.slice));
            lock(&saved.shadow).run(&saved.config, &mut batch, &mut slice);
            tokio::task::yield_now().await;
        }
        Ok(lock(&saved.shadow).finish(batch))
    }

    /// Executes a batch on the device's thread, in slices of this length.
    ///
    /// # Errors
    /// UNAVAILABLE: the device has stopped. FAILED_PRECONDITION: it has no pipeline.
    pub(super) async fn execute(
        &self,
        config: &Arc<PipelineConfig>,
        mut batch: Batch,
        length: Option<Duration>,
        mut turn: Turn,
    ) -> Result<Batch, Status> {
        while !batch.is_done() {
            let config = Arc::clone(config);
            let executed = self.call_sliced(Some(&mut turn), length, move |device, now, slice| {
                batch.run_on(device, now, &config, slice)?;
                // The batch goes back to the task, so that it is not dropped between packets.
                Some(batch)
            });
            batch = executed
                .await?
                .ok_or_else(|| no_pipeline(self.device_id()))?;
        }
        Ok(batch)
    }

    /// Refuses an update that packets or other clients would wait too long for.
    fn check_members(&self, members: usize) -> Result<(), Failure> {
        let limit = self.limits.members;
        if members <= limit {
            return Ok(());
        }
        let words = format!(
            "it has as many members, replicas or values as {members} members, and packets wait \
             for no more than {limit} at once"
        );
        Err(Failure::new(Code::ResourceExhausted, words))
    }

    /// Refuses a batch that others would wait too long for, because its few updates write large
    /// arrays.
    fn check_cells(&self, program: &Program, ops: &[Result<Op, Failure>]) -> Result<(), Status> {
        let cells = ops.iter().flatten().map(|op| op.cells(program));
        let (count, sum) = cells
            .filter(|&cells| cells > 0)
            .fold((0, 0_usize), |(count, sum), cells| {
                (count + 1, sum.saturating_add(cells))
            });
        let limit = self.limits.cells;
        if count <= 1 || sum <= limit {
            return Ok(());
        }
        Err(exhausted(format!(
            "the batch writes {sum} cells by updates of whole arrays, more than {limit}: split it"
        )))
    }

    /// Refuses a batch that packets would wait too long for.
    fn check_work(&self, program: &Program, ops: &[Result<Op, Failure>]) -> Result<(), Status> {
        let ops = ops.iter().flatten();
        let work = ops.map(|op| op.units() + op.cells(program) / CELLS_PER_UNIT);
        let work: usize = work.sum();
        let limit = self.limits.atomic_updates;
        if work <= limit {
            return Ok(());
        }
        Err(Status::unimplemented(format!(
            "the batch is as much work as {work} updates, because of its arrays or groups, and \
             packets wait for no more than {limit}: split it, or use ROLLBACK_ON_ERROR"
        )))
    }

    /// Resolves the updates of a request. Bytes that are no update fail the whole request.
    async fn resolve(
        &self,
        schema: &Schema,
        access: Option<&Access>,
        request: &WriteRequest,
        charge: &mut Charge,
    ) -> Result<Vec<Result<Op, Failure>>, Status> {
        let may_write = |id| access.map_or(Ok(()), |access| access.write(id));
        let mut ops = Vec::new();
        let mut ports = None;
        let mut register = None;
        let mut pause = Pause::default();
        // Operations are charged one by one, except cells that are merged into a run.
        let mut charged = 0;
        for update in request.items() {
            pause.after(update.len()).await;
            charge.add(size_of::<u128>() + more_bytes(&ops[charged..]))?;
            charged = ops.len();
            if let Some(cell) = Cell::of_update(update) {
                let op = may_write(Some(cell.register_id))
                    .and_then(|()| write::arrays::cell(schema, &mut register, &cell));
                match op {
                    Ok(op) => updates::push(&mut ops, op),
                    Err(failure) => ops.push(Err(failure)),
                }
                continue;
            }
            let limit = self.limits.update_bytes;
            if update.len() > limit {
                let words = format!("it has {} bytes, more than {limit}", update.len());
                ops.push(Err(Failure::new(Code::ResourceExhausted, words)));
                continue;
            }
            let update = WriteRequest::item(update)?;
            if let Err(failure) = self.check_members(write::members(&update)) {
                ops.push(Err(failure));
                continue;
            }
            if let Err(failure) = may_write(role::object(&update)) {
                ops.push(Err(failure));
                continue;
            }
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
        self.call(|device, _| device.links().map(|link| link.port).collect())
            .await
    }
}

/// The memory of operations in a list, bytes, without the cells that may be merged into them later.
fn more_bytes(ops: &[Result<Op, Failure>]) -> usize {
    let bytes = ops.iter().map(|op| match op {
        Ok(op) => op.bytes(),
        Err(failure) => failure.bytes(),
    });
    bytes.sum()
}

/// Operations with their results.
#[derive(Debug)]
pub struct Finished {
    pub ops: Vec<Result<Op, Failure>>,
    pub results: Vec<Result<(), Failure>>,
    _charge: Option<Charge>,
}

impl Finished {
    /// The status of the updates that the operations stand for.
    ///
    /// # Errors
    /// A status with details of each update, if one failed.
    fn status(&self) -> Result<(), Status> {
        if self.results.iter().all(Result::is_ok) {
            return Ok(());
        }
        let results = self.ops.iter().zip(&self.results);
        let results = results.flat_map(|(op, result)| repeat_n(result, updates(op)));
        batch_status("updates", results)
    }
}

fn too_much_kept(most: usize) -> Failure {
    let words = format!(
        "the entries, groups and sessions of the pipeline, with their metadata, may take {most} \
         bytes of memory, and do so: delete some first"
    );
    Failure::new(Code::ResourceExhausted, words)
}

/// How many updates of a client an operation stands for.
fn updates(op: &Result<Op, Failure>) -> usize {
    op.as_ref().map_or(1, Op::updates)
}

/// A batch on its way through the device's thread.
#[derive(Debug)]
pub struct Batch {
    ops: Vec<Result<Op, Failure>>,
    results: Vec<Result<(), Failure>>,
    /// How many cells of the present array have been written.
    cells: usize,
    /// The former state of changed digests, kept so that its memory is not freed between packets.
    forgotten: Vec<Forgotten>,
    /// `None` if a failed update does not matter to the others.
    undo: Option<Undo>,
    /// The memory of the batch; `None` for a batch of the device itself.
    charge: Option<Charge>,
    /// How many bytes of memory the pipeline's entries may take.
    most_kept: usize,
}

#[derive(Debug, Default)]
struct Undo {
    /// The updates that undo those that were executed, in their order, each with the place of the
    /// one that it undoes.
    inverses: Vec<(usize, Op)>,
    /// How many further bytes of memory `inverses` may take.
    room: usize,
    /// How many bytes of memory `inverses` may take in all.
    limit: usize,
    /// The place of the update that failed.
    failed: Option<usize>,
}

impl Undo {
    /// Takes room for the update that undoes the next one.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if there is none left.
    fn charge(&mut self, inverse: &Op) -> Result<(), Failure> {
        let left = self.room.checked_sub(inverse.bytes());
        self.room = left.ok_or_else(|| {
            let words = format!(
                "what undoes the batch would take more than {} bytes of memory: write fewer or \
                 smaller arrays and groups at a time, or use CONTINUE_ON_ERROR",
                self.limit
            );
            Failure::new(Code::ResourceExhausted, words)
        })?;
        Ok(())
    }
}

impl Batch {
    /// Makes a batch of operations. With `undo`, all or none of them are executed, and the updates
    /// that undo them may take so many bytes of memory. `most_kept` is [`Limits::kept_bytes`].
    /// `charge` has the memory of the operations already.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED: there is no room for what becomes of them.
    pub fn new(
        ops: Vec<Result<Op, Failure>>,
        undo: Option<usize>,
        most_kept: usize,
        mut charge: Option<Charge>,
    ) -> Result<Self, Status> {
        if let Some(charge) = &mut charge {
            charge.add(ops.len() * size_of::<Result<(), Failure>>())?;
        }
        let mut batch = Batch {
            results: Vec::with_capacity(ops.len()),
            cells: 0,
            forgotten: Vec::new(),
            charge,
            most_kept,
            undo: undo.map(|limit| Undo {
                inverses: Vec::new(),
                room: limit,
                limit,
                failed: None,
            }),
            ops,
        };
        if let Some(undo) = &mut batch.undo {
            // If one update cannot succeed, none of the others needs to be executed.
            undo.failed = batch.ops.iter().position(Result::is_err);
        }
        Ok(batch)
    }

    /// The objects that the batch changes, and how much work it is, in units.
    pub fn wish(&self, program: &Program) -> (Footprint, usize) {
        let ops = self.ops.iter().flatten();
        ops.fold((Footprint::NOTHING, 0), |(uses, work), op| {
            let more = op.units() + op.cells(program) / CELLS_PER_UNIT;
            (uses | Footprint::of_op(op), work.saturating_add(more))
        })
    }

    pub fn is_done(&self) -> bool {
        match &self.undo {
            Some(Undo {
                inverses,
                failed: Some(_),
                ..
            }) => inverses.is_empty(),
            _ => self.results.len() == self.ops.len(),
        }
    }

    /// Executes as much as fits into a slice on the device's thread; `None` if the device has no
    /// pipeline.
    fn run_on(
        &mut self,
        device: &mut device::Device,
        now_ns: u64,
        config: &PipelineConfig,
        slice: &mut Slice,
    ) -> Option<()> {
        let mut notes = lock(&config.notes);
        let mut plant = Plant {
            now_ns,
            pipeline: device.pipeline_mut()?,
            notes: &mut notes,
        };
        self.run(&mut plant, slice);
        for (digest, config) in notes.take_digest_changes() {
            let forgotten = device.configure_digest(digest, config);
            self.forgotten.push(forgotten);
        }
        Some(())
    }

    /// Executes as much as fits into a slice.
    pub fn run(&mut self, plant: &mut Plant<'_>, slice: &mut Slice) {
        let mut kept = None;
        while !self.is_done() {
            let units = self.step(plant, &mut kept);
            if !slice.spend(units) {
                return;
            }
        }
    }

    /// Executes an update or a part of it, or undoes an update. Returns how much work it was, in
    /// units. `kept` is the memory that entries take, as soon as it has been asked for.
    fn step(&mut self, plant: &mut Plant<'_>, kept: &mut Option<usize>) -> usize {
        if let Some(undo) = &mut self.undo
            && undo.failed.is_some()
        {
            let Some((at, inverse)) = undo.inverses.pop() else {
                return 0;
            };
            if let Err(failure) = inverse.execute(plant) {
                let words = format!("it could not be undone: {}", failure.message);
                self.results[at] = Err(Failure::new(Code::Internal, words));
            }
            return inverse.units();
        }
        let at = self.results.len();
        match self.attempt(at, plant, kept) {
            Ok((is_done, units)) => {
                if is_done {
                    self.results.push(Ok(()));
                }
                units
            }
            Err(mut failure) => {
                self.cells = 0;
                if let Some(undo) = &mut self.undo {
                    undo.failed = Some(at);
                }
                // A status holds the words of the first ones.
                let charge = self.charge.as_mut();
                if charge.is_some_and(|charge| charge.add(failure.message.len()).is_err()) {
                    failure.message = String::new();
                }
                self.results.push(Err(failure));
                1
            }
        }
    }

    /// Executes an update, or the next part of it. Returns whether it is done, and how much work it
    /// was, in units.
    fn attempt(
        &mut self,
        at: usize,
        plant: &mut Plant<'_>,
        kept: &mut Option<usize>,
    ) -> Result<(bool, usize), Failure> {
        let op = self.ops[at].as_ref().map_err(Failure::clone)?;
        if op.may_keep_more() {
            // The memory is asked for once in a slice. Within the slice it is estimated from above.
            let kept = kept.get_or_insert_with(|| plant.kept_bytes());
            if *kept >= self.most_kept {
                return Err(too_much_kept(self.most_kept));
            }
            *kept += op.bytes();
        }
        let all = op.cells(plant.pipeline.program());
        let range = self.cells..all.min(self.cells + op.cells_at_once());
        let inverse = self.undo.as_ref().map(|_| match all {
            0 => op.inverse(plant),
            _ => op.inverse_cells(range.clone(), plant),
        });
        let inverse = inverse.transpose()?;
        if let (Some(undo), Some(inverse)) = (&mut self.undo, &inverse) {
            undo.charge(inverse)?;
            if let Some(charge) = &mut self.charge {
                charge.add(size_of::<usize>() + inverse.bytes())?;
            }
        }
        let units = match all {
            0 => {
                op.execute(plant)?;
                op.units()
            }
            _ => {
                op.execute_cells(range.clone(), plant)?;
                STRIDE
            }
        };
        if let (Some(undo), Some(inverse)) = (&mut self.undo, inverse) {
            undo.inverses.push((at, inverse));
        }
        let is_done = range.end == all;
        self.cells = if is_done { 0 } else { range.end };
        Ok((is_done, units))
    }

    /// The operations with their results.
    pub fn finish(mut self) -> Finished {
        if let Some(Undo {
            failed: Some(failed),
            ..
        }) = self.undo
        {
            let update: usize = self.ops[..failed].iter().map(updates).sum();
            let words = format!("undone or not attempted, because update {update} failed");
            self.results.resize(self.ops.len(), Ok(()));
            for (at, (op, result)) in self.ops.iter_mut().zip(&mut self.results).enumerate() {
                // A status holds the words of the first ones.
                let words = if at < WORDS { words.as_str() } else { "" };
                match op {
                    Err(failure) => {
                        let message = std::mem::take(&mut failure.message);
                        *result = Err(Failure::new(failure.code, message));
                    }
                    Ok(_) if result.is_ok() => {
                        *result = Err(Failure::new(Code::Aborted, words));
                    }
                    Ok(_) => {}
                }
            }
        }
        Finished {
            ops: self.ops,
            results: self.results,
            _charge: self.charge,
        }
    }
}
