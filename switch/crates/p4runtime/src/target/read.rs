// SPDX-License-Identifier: Apache-2.0
//! The RPC Read: fetched on the device's thread in slices, and put into messages
//! as the client takes them.

use std::iter::repeat_n;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_stream::Stream;
use tonic::Status;
use v1model::Pipeline;

use super::{Target, exhausted, no_pipeline};
use crate::budget::{Account, Charge};
use crate::bytes_of::list;
use crate::failure::{Failure, batch_status};
use crate::journal::{Answer as Answered, Waiting};
use crate::pause::Pause;
use crate::pipeline_config::{PipelineConfig, lock};
use crate::read::{self, Answer, Part, Pieces, Progress, Query, Sorted, Source, cell_run};
use crate::schema::Schema;
use crate::slice::Slice;
use crate::wire::{Asked, Encoded, Messages, ReadRequest};

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
        Ok(Reading::new(Arc::clone(config), fetched, self.limits.stall))
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

/// What a client reads: messages as it takes them, then a status. Where it takes nothing for
/// long, the answers are dropped.
#[derive(Debug)]
pub struct Reading {
    rest: Arc<Mutex<Rest>>,
    journal: Option<(Waiting, Answered)>,
    watch: Option<AbortHandle>,
    /// Others have had their turn since the last long message.
    paused: bool,
}

/// What a client has not taken yet.
#[derive(Debug)]
struct Rest {
    config: Arc<PipelineConfig>,
    now_ns: u64,
    pending: std::vec::IntoIter<(Query, Answer)>,
    /// Of the query in hand: pieces,
    parts: std::vec::IntoIter<Part>,
    /// or entries of tables in their order.
    entries: Option<Sorted>,
    messages: Messages,
    status: Option<Status>,
    charge: Charge,
    /// Messages that the client took.
    taken: u64,
}

/// Answers of fewer bytes wait where HTTP/2 has room for them, without a deadline.
const SMALL: usize = 4096;
/// Bytes of a message that took long to make.
const LONG: usize = 32 << 10;

impl Reading {
    fn new(config: Arc<PipelineConfig>, fetched: Fetched, patience: Duration) -> Self {
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
        let is_small = fetched.charge.bytes() <= SMALL;
        let rest = Arc::new(Mutex::new(Rest {
            config,
            now_ns: fetched.now_ns,
            pending: pending.into_iter(),
            parts: Vec::new().into_iter(),
            entries: None,
            messages: Messages::default(),
            status: status(&results).err(),
            charge: fetched.charge,
            taken: 0,
        }));
        // A caller in this process, which has no runtime, takes all at once.
        let runtime = Handle::try_current().ok().filter(|_| !is_small);
        let watch = runtime.map(|runtime| {
            let watch = runtime.spawn(watch(Arc::downgrade(&rest), patience));
            watch.abort_handle()
        });
        Reading {
            rest,
            journal: None,
            watch,
            paused: false,
        }
    }

    /// The values of the cells that were asked for, where nothing else was.
    ///
    /// # Errors
    /// That of the requests; INVALID_ARGUMENT: one is for anything else than a cell of
    /// a register of up to 64 bits.
    pub fn cells(self) -> Result<Bytes, Status> {
        let mut rest = lock(&self.rest);
        if let Some(status) = rest.status.take() {
            return Err(status);
        }
        let mut column = BytesMut::new();
        for (_, answer) in rest.pending.by_ref() {
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
    pub fn awaited(mut self, waiting: Waiting) -> Self {
        self.journal = Some((waiting, Answered::default()));
        self
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
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

/// Drops the answers of a client that takes nothing for as long as our patience, or up to twice
/// that.
async fn watch(rest: Weak<Mutex<Rest>>, patience: Duration) {
    let mut before = 0;
    loop {
        tokio::time::sleep(patience).await;
        let Some(rest) = rest.upgrade() else {
            return;
        };
        let mut rest = lock(&rest);
        if rest.taken == before {
            let dropped = rest.give_up(patience);
            tokio::task::spawn_blocking(move || drop(dropped));
            return;
        }
        before = rest.taken;
    }
}

impl Rest {
    /// Leaves nothing but a status; what was left otherwise.
    fn give_up(&mut self, patience: Duration) -> impl Send + 'static {
        let (bytes, seconds) = (self.charge.bytes(), patience.as_secs_f32());
        self.charge.release(bytes);
        self.status = Some(Status::deadline_exceeded(format!(
            "the client took nothing of its answer for {seconds} s: read less at a time, and take \
             what was asked for"
        )));
        let pending = std::mem::take(&mut self.pending);
        let parts = (std::mem::take(&mut self.parts), self.entries.take());
        (pending, parts, std::mem::take(&mut self.messages))
    }

    fn message(&mut self) -> Option<Result<Encoded, Status>> {
        self.taken += 1;
        loop {
            if let Some(message) = self.messages.take() {
                return Some(Ok(message));
            }
            let schema = &self.config.schema;
            if let Some(part) = self.parts.next() {
                self.charge.release(part.bytes());
                read::render_part(schema, part, &mut self.messages);
            } else if let Some(entries) = &mut self.entries {
                if !entries.render(schema, self.now_ns, &mut self.messages) {
                    self.entries = None;
                }
            } else if let Some((query, answer)) = self.pending.next() {
                // Piece by piece, as the client takes them.
                match query.in_pieces(answer) {
                    Pieces::Parts(parts) => self.parts = parts.into_iter(),
                    Pieces::Entries(entries) => self.entries = Some(entries),
                    Pieces::Cells(run, values) => {
                        run.render(schema, &values, &mut self.messages);
                    }
                }
            } else if !self.messages.finish() {
                let bytes = self.charge.bytes();
                self.charge.release(bytes);
                return self.status.take().map(Err);
            }
        }
    }
}

impl Iterator for Reading {
    type Item = Result<Encoded, Status>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = lock(&self.rest).message();
        self.write_down(next.as_ref());
        next
    }
}

impl Stream for Reading {
    type Item = Result<Encoded, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.paused) {
            // Others have their turn, however much this client takes at a time.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.next();
        self.paused = matches!(&next, Some(Ok(message)) if message.0.len() >= LONG);
        Poll::Ready(next)
    }
}

/// The status of the requests that queries stand for, each of so many.
fn status(results: &[(Result<(), Failure>, usize)]) -> Result<(), Status> {
    if results.iter().all(|(result, _)| result.is_ok()) {
        return Ok(());
    }
    let results = results.iter();
    let results = results.flat_map(|(result, requests)| repeat_n(result, *requests));
    batch_status("requests", results)
}
