// SPDX-License-Identifier: Apache-2.0
//! The RPC Read: fetched on the device's thread in slices, and put into messages
//! as the client takes them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio_stream::Stream;
use tonic::Status;
use v1model::Pipeline;

use super::{SLICE, STRIDE, Target, exhausted, no_pipeline};
use crate::failure::{Failure, batch_status};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::proto::p4::v1 as p4;
use crate::read::{self, Answer, Progress, Query, Source};
use crate::wire::{Encoded, Messages};

impl Target {
    /// The RPC Read: the messages to stream, and the status after them.
    ///
    /// # Errors
    /// The status of a request of which nothing can be read.
    pub async fn read(&self, request: &p4::ReadRequest) -> Result<Reading, Status> {
        let pipelines = self.pipelines.read().await;
        let active = pipelines.active.as_ref();
        let saved = pipelines.saved.as_ref();
        let config = saved.map(|saved| &saved.config).or(active);
        let config = config.ok_or_else(|| no_pipeline(self.device_id()))?;
        let (count, limit) = (request.entities.len(), self.limits.requests);
        if count > limit {
            return Err(exhausted(format!(
                "the batch has {count} requests, more than {limit}: split it"
            )));
        }
        let queries = request.entities.iter();
        let queries = queries.map(|entity| read::resolve(&config.schema, entity));
        let mut fetched = Fetched {
            answers: Vec::with_capacity(count),
            queries: queries.collect(),
            progress: Progress::default(),
            charge: Charge::new(&self.reading, self.limits.read_entities),
            now_ns: 0,
        };
        if let Some(saved) = saved {
            let shadow = lock(&saved.shadow);
            while fetched.fetch(&shadow.pipeline, config, 0)? {}
        } else {
            let _unchanged = self.order.read().await;
            loop {
                let config = Arc::clone(config);
                let done = self.call(move |device, now| {
                    let more = match device.pipeline() {
                        Some(pipeline) => fetched.fetch(pipeline, &config, now),
                        None => return None,
                    };
                    // Back to the task: dropped there, not between packets.
                    Some((fetched, more))
                });
                let more;
                (fetched, more) = done.await?.ok_or_else(|| no_pipeline(self.device_id()))?;
                if !more? {
                    break;
                }
            }
        }
        Ok(Reading::new(Arc::clone(config), fetched))
    }
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
struct Fetched {
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
    ) -> Result<bool, Status> {
        let start = Instant::now();
        let notes = lock(&config.notes);
        self.now_ns = now_ns;
        let source = Source {
            now_ns,
            schema: &config.schema,
            pipeline,
            notes: &notes,
        };
        let mut cost = 0;
        while let Some(query) = self.queries.get(self.answers.len()) {
            let answer = match query {
                Ok(query) => {
                    let in_time = || start.elapsed() < SLICE;
                    match query
                        .fetch(source, &mut self.progress, &in_time)
                        .transpose()
                    {
                        Some(answer) => answer,
                        None => return Ok(true),
                    }
                }
                Err(failure) => Err(failure.clone()),
            };
            self.progress = Progress::default();
            let entities = answer.as_ref().map_or(0, Answer::len);
            self.answers.push(answer);
            self.charge.add(entities)?;
            cost += 1 + entities;
            if cost >= STRIDE {
                cost = 0;
                if start.elapsed() >= SLICE {
                    break;
                }
            }
        }
        Ok(self.answers.len() < self.queries.len())
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
}

impl Reading {
    fn new(config: Arc<PipelineConfig>, fetched: Fetched) -> Self {
        let mut results = Vec::with_capacity(fetched.queries.len());
        let mut pending = Vec::with_capacity(fetched.queries.len());
        for (query, answer) in fetched.queries.into_iter().zip(fetched.answers) {
            results.push(match (query, answer) {
                (Ok(query), Ok(answer)) => {
                    pending.push((query, answer));
                    Ok(())
                }
                (Err(failure), _) | (Ok(_), Err(failure)) => Err(failure),
            });
        }
        Reading {
            config,
            now_ns: fetched.now_ns,
            pending: pending.into_iter(),
            messages: Messages::default(),
            status: batch_status("requests", &results).err(),
            _charge: fetched.charge,
        }
    }
}

impl Iterator for Reading {
    type Item = Result<Encoded, Status>;

    fn next(&mut self) -> Option<Self::Item> {
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

impl Stream for Reading {
    type Item = Result<Encoded, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.next())
    }
}
