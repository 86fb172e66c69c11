// SPDX-License-Identifier: Apache-2.0
//! The RPC Read: fetched on the device's thread in slices.

use std::sync::Arc;

use tonic::Status;
use v1model::Pipeline;

use super::reading::Reading;
use super::{Target, exhausted, no_pipeline};
use crate::budget::{Account, Charge};
use crate::bytes_of::list;
use crate::failure::Failure;
use crate::pause::Pause;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::read::{self, Answer, Part, Progress, Query, Source, cell_run};
use crate::schema::Schema;
use crate::slice::Slice;
use crate::wire::{Asked, ReadRequest};

impl Target {
    /// The RPC Read: the messages to stream, and the status after them.
    ///
    /// # Errors
    /// The status of a request of which nothing can be read.
    pub async fn read(
        &self,
        request: &ReadRequest,
        account: Option<Arc<Account>>,
    ) -> Result<Reading, Status> {
        let pipelines = self.pipelines.read().await;
        let active = pipelines.active.as_ref();
        let saved = pipelines.saved.as_ref();
        let config = saved.map(|saved| &saved.config).or(active);
        let config = config.ok_or_else(|| no_pipeline(self.device_id()))?;
        let (count, limit) = (request.count, self.limits.requests);
        if count > limit {
            return Err(exhausted(format!(
                "the batch has {count} requests, more than {limit}: split it"
            )));
        }
        let queries = resolve(&config.schema, request).await?;
        let fetched = fetched(queries, account.as_ref().unwrap_or(&self.own))?;
        let _unchanged = self.order.read().await;
        let fetched = if let Some(saved) = saved {
            let mut fetched = fetched;
            loop {
                let mut slice = Slice::new(Some(self.limits.slice));
                let more = {
                    let shadow = lock(&saved.shadow);
                    fetched.fetch(&shadow.pipeline, config, 0, &mut slice)?
                };
                if !more {
                    break fetched;
                }
                tokio::task::yield_now().await;
            }
        } else {
            self.fetch(config, fetched).await?
        };
        let patience = account.map(|_| self.limits.stall);
        Ok(Reading::new(Arc::clone(config), fetched, patience))
    }

    /// Queries of the device itself without answers yet.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED.
    pub(super) fn own_queries(
        &self,
        queries: Vec<Result<Query, Failure>>,
    ) -> Result<Fetched, Status> {
        fetched(queries, &self.own)
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
    ) -> Result<Fetched, Status> {
        let length = Some(self.limits.slice);
        loop {
            let config = Arc::clone(config);
            let done = self.call_sliced(length, move |device, now, slice| {
                let pipeline = device.pipeline()?;
                let more = fetched.fetch(pipeline, &config, now, slice);
                // Back to the task: dropped there, not between packets.
                Some((fetched, more))
            });
            let more;
            (fetched, more) = done.await?.ok_or_else(|| no_pipeline(self.device_id()))?;
            if !more? {
                return Ok(fetched);
            }
        }
    }
}

/// Queries without answers yet.
fn fetched(
    queries: Vec<Result<Query, Failure>>,
    account: &Arc<Account>,
) -> Result<Fetched, Status> {
    let mut charge = account.charge();
    let asked = queries.iter().flatten().map(Query::bytes);
    charge.add(asked.sum::<usize>() + queries.len() * size_of::<Answer>())?;
    Ok(Fetched {
        answers: Vec::with_capacity(queries.len()),
        queries,
        progress: Progress::default(),
        charge,
        now_ns: 0,
    })
}

/// Resolves the requests of a batch. What is no entity ends it all.
async fn resolve(
    schema: &Schema,
    request: &ReadRequest,
) -> Result<Vec<Result<Query, Failure>>, Status> {
    let mut queries = Vec::new();
    let mut pause = Pause::default();
    for entity in request.items() {
        pause.after(entity.len()).await;
        if let Some(asked) = Asked::of_entity(entity) {
            cell_run::push(schema, &mut queries, asked);
            continue;
        }
        queries.push(read::resolve(schema, &ReadRequest::item(entity)?));
    }
    Ok(queries)
}

/// Requests, and the answers so far.
#[derive(Debug)]
pub struct Fetched {
    pub(super) queries: Vec<Result<Query, Failure>>,
    pub(super) answers: Vec<Result<Answer, Failure>>,
    /// The progress of the next request.
    progress: Progress,
    pub(super) charge: Charge,
    pub(super) now_ns: u64,
}

impl Fetched {
    /// Fetches what fits into a slice; whether there is more.
    fn fetch(
        &mut self,
        pipeline: &Pipeline,
        config: &PipelineConfig,
        now_ns: u64,
        slice: &mut Slice,
    ) -> Result<bool, Status> {
        let notes = lock(&config.notes);
        self.now_ns = now_ns;
        let source = Source {
            schema: &config.schema,
            pipeline,
            notes: &notes,
        };
        while let Some(query) = self.queries.get(self.answers.len()) {
            let known = self.progress.parts.len();
            let answer = match query {
                Ok(query) => query.fetch(source, &mut self.progress, slice).transpose(),
                Err(failure) => Some(Err(failure.clone())),
            };
            // What is new, in the answer or on the way to it.
            let parts = match &answer {
                Some(Ok(Answer::Parts(parts))) => &parts[known..],
                Some(Ok(Answer::Cells(values))) => {
                    self.charge.add(list(values))?;
                    &[]
                }
                Some(Err(_)) => &[],
                None => &self.progress.parts[known..],
            };
            self.charge.add(parts.iter().map(Part::bytes).sum())?;
            let Some(answer) = answer else {
                return Ok(true);
            };
            let units = query.as_ref().map_or(1, Query::units);
            self.progress = Progress::default();
            self.answers.push(answer);
            if !slice.spend(units) {
                break;
            }
        }
        Ok(self.answers.len() < self.queries.len())
    }

    /// The queries with their answers.
    pub(super) fn answered(
        self,
    ) -> impl Iterator<Item = (Result<Query, Failure>, Result<Answer, Failure>)> {
        self.queries.into_iter().zip(self.answers)
    }
}
