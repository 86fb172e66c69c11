// SPDX-License-Identifier: Apache-2.0
//! The RPC Read: fetched on the device's thread in slices.

use std::sync::Arc;

use tonic::{Code, Status};
use v1model::Pipeline;

use super::reading::Reading;
use super::turn::{Asking, Turn};
use super::{Target, exhausted, no_pipeline};
use crate::budget::{Charge, Purpose};
use crate::bytes_of::list;
use crate::failure::Failure;
use crate::footprint::Footprint;
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
    pub async fn read(&self, request: &ReadRequest, asking: Asking) -> Result<Reading, Status> {
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
        let account = asking.client.as_ref().map(|client| &client.account);
        let charge = account.unwrap_or(&self.own).charge(Purpose::Answers);
        let schema = &config.schema;
        let fetched = self.resolve_requests(schema, request, charge).await?;
        let (uses, work) = fetched.wish(schema);
        let mut turn = self.turn(&asking, (uses, false), work).await;
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
            self.fetch(config, fetched, &mut turn).await?
        };
        let patience = account.map(|_| self.limits.stall);
        Ok(Reading::new(Arc::clone(config), fetched, patience))
    }

    /// Resolves the requests of a batch: queries without answers yet. What is no entity ends it all.
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

    /// Queries of the device itself without answers yet.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED.
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
                // Back to the task: dropped there, not between packets.
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
    /// Queries without answers yet, which are charged for.
    fn new(queries: Vec<Result<Query, Failure>>, charge: Charge) -> Self {
        Fetched {
            answers: Vec::new(),
            queries,
            progress: Progress::default(),
            charge,
            now_ns: 0,
        }
    }

    /// What the queries read, and how much work that is.
    fn wish(&self, schema: &Schema) -> (Footprint, usize) {
        let queries = self.queries.iter().flatten();
        let none = (Footprint::NOTHING, 0_usize);
        queries.fold(none, |(uses, work), query| {
            let more = query.work(schema);
            (
                uses | Footprint::of_query(query, schema),
                work.saturating_add(more),
            )
        })
    }

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
            if answer.is_some() {
                self.charge.add(size_of::<Result<Answer, Failure>>())?;
            }
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
