// SPDX-License-Identifier: Apache-2.0
//! The RPC Read: fetched on the device's thread in slices, and put into messages
//! as the client takes them.

use std::iter::repeat_n;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use tokio_stream::Stream;
use tonic::Status;
use v1model::Pipeline;

use super::{Target, exhausted, no_pipeline};
use crate::failure::{Failure, batch_status};
use crate::journal::{Answer as Answered, Waiting};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::read::{self, Answer, Part, Progress, Query, Source, cell_run};
use crate::schema::Schema;
use crate::slice::Slice;
use crate::wire::{Asked, Encoded, Messages, ReadRequest};

impl Target {
    /// The RPC Read: the messages to stream, and the status after them.
    ///
    /// # Errors
    /// The status of a request of which nothing can be read.
    pub async fn read(&self, request: &ReadRequest) -> Result<Reading, Status> {
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
        let fetched = self.fetched(resolve(&config.schema, request)?);
        let fetched = if let Some(saved) = saved {
            let mut fetched = fetched;
            let shadow = lock(&saved.shadow);
            fetched.fetch(&shadow.pipeline, config, 0, &mut Slice::endless())?;
            fetched
        } else {
            let _unchanged = self.order.read().await;
            self.fetch(config, fetched).await?
        };
        Ok(Reading::new(Arc::clone(config), fetched))
    }

    /// Queries without answers yet.
    pub(super) fn fetched(&self, queries: Vec<Result<Query, Failure>>) -> Fetched {
        Fetched {
            answers: Vec::with_capacity(queries.len()),
            queries,
            progress: Progress::default(),
            charge: Charge::new(&self.reading, self.limits.read_entities),
            now_ns: 0,
        }
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

/// Resolves the requests of a batch. What is no entity ends it all.
fn resolve(schema: &Schema, request: &ReadRequest) -> Result<Vec<Result<Query, Failure>>, Status> {
    let mut queries = Vec::new();
    for entity in request.items() {
        if let Some(asked) = Asked::of_entity(entity) {
            cell_run::push(schema, &mut queries, asked);
            continue;
        }
        queries.push(read::resolve(schema, &ReadRequest::item(entity)?));
    }
    Ok(queries)
}

/// Entities that are kept for a client, counted until it has taken them.
#[derive(Debug)]
struct Charge {
    total: Arc<AtomicUsize>,
    limit: usize,
    own: usize,
}

impl Charge {
    fn new(total: &Arc<AtomicUsize>, limit: usize) -> Self {
        Charge {
            total: Arc::clone(total),
            limit,
            own: 0,
        }
    }

    fn add(&mut self, entities: usize) -> Result<(), Status> {
        self.own += entities;
        let all = self.total.fetch_add(entities, Ordering::Relaxed) + entities;
        if all > self.limit {
            return Err(exhausted(format!(
                "more than {} entities would wait for clients to read them: read fewer at a time",
                self.limit
            )));
        }
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.total.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// Requests, and the answers so far.
#[derive(Debug)]
pub struct Fetched {
    queries: Vec<Result<Query, Failure>>,
    answers: Vec<Result<Answer, Failure>>,
    /// Of the next request.
    progress: Progress,
    charge: Charge,
    now_ns: u64,
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
                    self.charge.add(values.len())?;
                    &[]
                }
                Some(Err(_)) => &[],
                None => &self.progress.parts[known..],
            };
            self.charge.add(parts.iter().map(Part::len).sum())?;
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

/// What a client reads: messages as it takes them, then a status.
#[derive(Debug)]
pub struct Reading {
    config: Arc<PipelineConfig>,
    now_ns: u64,
    pending: std::vec::IntoIter<(Query, Answer)>,
    messages: Messages,
    status: Option<Status>,
    _charge: Charge,
    journal: Option<(Waiting, Answered)>,
}

impl Reading {
    fn new(config: Arc<PipelineConfig>, fetched: Fetched) -> Self {
        let mut results = Vec::new();
        let mut pending = Vec::with_capacity(fetched.queries.len());
        for (query, answer) in fetched.queries.into_iter().zip(fetched.answers) {
            let requests = query.as_ref().map_or(1, Query::requests);
            let result = match (query, answer) {
                (Ok(query), Ok(answer)) => {
                    pending.push((query, answer));
                    Ok(())
                }
                (Err(failure), _) | (Ok(_), Err(failure)) => Err(failure),
            };
            results.push((result, requests));
        }
        Reading {
            config,
            now_ns: fetched.now_ns,
            pending: pending.into_iter(),
            messages: Messages::default(),
            status: status(&results).err(),
            _charge: fetched.charge,
            journal: None,
        }
    }

    /// The values of the cells that were asked for, where nothing else was.
    ///
    /// # Errors
    /// That of the requests; INVALID_ARGUMENT: one is for anything else than a cell of
    /// a register of up to 64 bits.
    pub fn cells(self) -> Result<Bytes, Status> {
        if let Some(status) = self.status {
            return Err(status);
        }
        let mut column = BytesMut::new();
        for (_, answer) in self.pending {
            let Answer::Cells(values) = answer else {
                return Err(Status::invalid_argument(
                    "a request is for anything else than a cell of a register: use Read",
                ));
            };
            column.reserve(8 * values.len());
            for value in values {
                let value = u64::try_from(value).map_err(|_| {
                    Status::invalid_argument("a cell has more than 64 bits: use Read")
                })?;
                column.put_slice(&value.to_ne_bytes());
            }
        }
        Ok(column.freeze())
    }

    /// What the client gets is an answer that is written down.
    pub fn awaited(self, waiting: Waiting) -> Self {
        Self {
            journal: Some((waiting, Answered::default())),
            ..self
        }
    }

    fn write_down(&mut self, next: Option<&Result<Encoded, Status>>) {
        let Some((_, answer)) = &mut self.journal else {
            return;
        };
        match next {
            Some(Ok(message)) => answer.add(&message.0),
            Some(Err(status)) => answer.fail(status),
            None => {}
        }
        // Nothing follows a status.
        if !matches!(next, Some(Ok(_)))
            && let Some((waiting, answer)) = self.journal.take()
        {
            waiting.answered(&answer);
        }
    }

    fn message(&mut self) -> Option<Result<Encoded, Status>> {
        loop {
            if let Some(message) = self.messages.take() {
                return Some(Ok(message));
            }
            if let Some((query, answer)) = self.pending.next() {
                let schema = &self.config.schema;
                query.render(schema, self.now_ns, answer, &mut self.messages);
            } else if !self.messages.finish() {
                return self.status.take().map(Err);
            }
        }
    }
}

impl Iterator for Reading {
    type Item = Result<Encoded, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.message();
        self.write_down(next.as_ref());
        next
    }
}

impl Stream for Reading {
    type Item = Result<Encoded, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.next())
    }
}

/// The status of the requests that queries stand for, each of so many.
fn status(results: &[(Result<(), Failure>, usize)]) -> Result<(), Status> {
    if results.iter().all(|(result, _)| result.is_ok()) {
        return Ok(());
    }
    let results = results.iter();
    let results = results.flat_map(|(result, requests)| repeat_n(result.clone(), *requests));
    batch_status("requests", &results.collect::<Vec<_>>())
}
