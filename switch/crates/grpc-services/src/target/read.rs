// SPDX-License-Identifier: Apache-2.0
//! The RPC Read, which fetches its answer on the device's thread in slices.

use std::sync::Arc;

use tonic::{Code, Status};

use super::fetched::Fetched;
use super::reading::Reading;
use super::turn::{Asking, Turn};
use super::view::{Held, View};
use super::{Saved, Target, exhausted, no_pipeline};
use crate::budget::{Charge, Purpose};
use crate::failure::Failure;
use crate::pause::Pause;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::read::{self, Query, cell_run};
use crate::schema::Schema;
use crate::slice::Slice;
use crate::wire::{Asked, ReadRequest};

impl Target {
    /// The RPC Read. Returns the messages to stream and the status after them.
    ///
    /// # Errors
    /// The status of a request for which nothing can be read.
    pub async fn read(&self, request: &ReadRequest, asking: Asking) -> Result<Reading, Status> {
        let mut early = self.held_early().await;
        loop {
            let view = self.view(early.as_ref()).await?;
            let reading = self.read_view(request, &asking, &view, &mut early).await?;
            if let Some(reading) = reading {
                return Ok(reading);
            }
        }
    }

    /// Reads from this pipeline. Returns `None` if another one has come when it is the turn of the
    /// request.
    async fn read_view<'t>(
        &'t self,
        request: &ReadRequest,
        asking: &Asking,
        view: &View,
        early: &mut Option<Held<'t>>,
    ) -> Result<Option<Reading>, Status> {
        let (count, limit) = (request.count, self.limits.requests);
        if count > limit {
            return Err(exhausted(format!(
                "the batch has {count} requests, more than {limit}: split it"
            )));
        }
        let account = asking.client.as_ref().map(|client| &client.account);
        let charge = account.unwrap_or(&self.own).charge(Purpose::Answers);
        let config = &view.config;
        let schema = &config.schema;
        let fetched = self.resolve_requests(schema, request, charge).await?;
        let (uses, work) = fetched.wish(schema);
        let mut turn = self.turn(asking, (uses, false), work).await;
        let Some(pipelines) = self.held(view, early).await else {
            return Ok(None);
        };
        let fetched = match &pipelines.saved {
            Some(saved) => self.fetch_saved(saved, fetched).await?,
            None => self.fetch(config, fetched, &mut turn).await?,
        };
        let patience = account.map(|_| self.limits.stall);
        let reading = Reading::new(Arc::clone(config), fetched, patience);
        Ok(Some(reading))
    }

    /// Answers queries from a saved pipeline, in slices between which others are answered.
    async fn fetch_saved(&self, saved: &Saved, mut fetched: Fetched) -> Result<Fetched, Status> {
        loop {
            let mut slice = Slice::new(Some(self.limits.slice));
            let more = {
                let shadow = lock(&saved.shadow);
                fetched.fetch(&shadow.pipeline, &saved.config, 0, &mut slice)?
            };
            if !more {
                return Ok(fetched);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Resolves the requests of a batch to queries. A request that is no entity fails the whole
    /// batch.
    async fn resolve_requests(
        &self,
        schema: &Schema,
        request: &ReadRequest,
        mut charge: Charge,
    ) -> Result<Fetched, Status> {
        let longest = self.limits.update_bytes;
        let mut queries = Vec::new();
        let mut pause = Pause::default();
        for entity in request.items() {
            pause.after(entity.len()).await;
            if let Some(asked) = Asked::of_entity(entity) {
                charge.add(cell_run::push(schema, &mut queries, asked))?;
                continue;
            }
            let query = if entity.len() > longest {
                Err(Failure::new(
                    Code::ResourceExhausted,
                    format!("it has {} bytes, more than {longest}", entity.len()),
                ))
            } else {
                read::resolve(schema, &ReadRequest::item(entity)?)
            };
            charge.add(match &query {
                Ok(query) => query.bytes(),
                Err(failure) => failure.bytes(),
            })?;
            queries.push(query);
        }
        Ok(Fetched::new(queries, charge))
    }

    /// Makes the device's own queries ready to be fetched.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if there is no room for them.
    pub(super) fn own_queries(
        &self,
        queries: Vec<Result<Query, Failure>>,
    ) -> Result<Fetched, Status> {
        let mut charge = self.own.charge(Purpose::Answers);
        charge.add(queries.iter().flatten().map(Query::bytes).sum())?;
        Ok(Fetched::new(queries, charge))
    }

    /// Answers queries on the device's thread, in slices.
    ///
    /// # Errors
    /// UNAVAILABLE, FAILED_PRECONDITION: no device, no pipeline.
    /// RESOURCE_EXHAUSTED: the answer is too large.
    pub(super) async fn fetch(
        &self,
        config: &Arc<PipelineConfig>,
        mut fetched: Fetched,
        turn: &mut Turn,
    ) -> Result<Fetched, Status> {
        let length = Some(self.limits.slice);
        loop {
            let config = Arc::clone(config);
            let done = self.call_sliced(Some(turn), length, move |device, now, slice| {
                let pipeline = device.pipeline()?;
                let more = fetched.fetch(pipeline, &config, now, slice);
                // The answers go back to the task, so that they are not dropped between packets.
                Some((fetched, more))
            });
            let more;
            (fetched, more) = done.await?.ok_or_else(|| no_pipeline(self.device_id()))?;
            match more {
                Ok(true) => {}
                Ok(false) => return Ok(fetched),
                Err(status) => {
                    if self.crew.is_apart() {
                        self.crew.discard(fetched);
                    }
                    return Err(status);
                }
            }
        }
    }
}
