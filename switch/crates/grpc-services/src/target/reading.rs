// SPDX-License-Identifier: Apache-2.0
//! The answer to a Read, which is encoded piece by piece as the client takes it, and dropped if the
//! client takes nothing.

use std::iter::repeat_n;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_stream::Stream;
use tonic::Status;

use super::fetched::Fetched;
use crate::budget::Charge;
use crate::connections::Client;
use crate::crew::Crew;
use crate::failure::{Failure, batch_status};
use crate::journal::{Answer as Answered, Waiting};
use crate::patience::{self, Untaken};
use crate::pipeline_config::{PipelineConfig, lock};
use crate::read::{self, Answer, Part, Pieces, Query, Sorted};
use crate::turns;
use crate::wire::{Encoded, Messages};

/// The messages that an RPC streams.
#[derive(Debug)]
pub enum Answers {
    /// A short answer, or one for a client in this process, which is encoded when it is asked for.
    Here(Box<Reading>),
    /// A long answer. The crew encodes its messages one at a time, as fast as the client takes
    /// them.
    Apart(mpsc::Receiver<Result<Encoded, Status>>),
}

/// The answer that a client reads: messages, and then a status. If the client takes nothing for
/// long, the rest of the answer is dropped.
#[derive(Debug)]
pub struct Reading {
    rest: Arc<Mutex<Rest>>,
    journal: Option<(Waiting, Answered)>,
    watch: Option<AbortHandle>,
}

/// The part of an answer that the client has not taken yet.
#[derive(Debug)]
struct Rest {
    config: Arc<PipelineConfig>,
    now_ns: u64,
    pending: std::vec::IntoIter<(Query, Answer)>,
    /// The remaining parts of the present query, if it is not of tables.
    parts: std::vec::IntoIter<Part>,
    /// The remaining entries of the present query, if it is of tables.
    entries: Option<Sorted>,
    messages: Messages,
    status: Option<Status>,
    charge: Charge,
    /// How many messages the client has taken.
    taken: u64,
}

/// An answer of fewer bytes has no deadline, because HTTP/2 takes it whether or not the client
/// reads.
const SMALL: usize = 4096;
/// An answer of at most this many bytes is encoded so fast that the crew need not do it.
const SHORT: usize = 32 << 10;

impl Answers {
    /// Decides whether the crew encodes an answer.
    pub fn new(reading: Reading, crew: &Crew, client: Option<Client>) -> Self {
        let is_short = lock(&reading.rest).charge.bytes() <= SHORT;
        match client {
            Some(client) if crew.is_apart() && !is_short => {
                let (messages, taken) = mpsc::channel(1);
                crew.begin(reading.put_into(messages, client.turns.render));
                Answers::Apart(taken)
            }
            _ => Answers::Here(Box::new(reading)),
        }
    }

    /// The answer for a client in this process.
    ///
    /// # Errors
    /// INTERNAL if the crew encodes the answer for another client.
    pub fn here(self) -> Result<Reading, Status> {
        match self {
            Answers::Here(reading) => Ok(*reading),
            Answers::Apart(_) => Err(Status::internal("the answers are on their way already")),
        }
    }
}

impl Stream for Answers {
    type Item = Result<Encoded, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.get_mut() {
            Answers::Here(reading) => Poll::Ready(reading.next()),
            Answers::Apart(messages) => messages.poll_recv(context),
        }
    }
}

impl Reading {
    /// `patience` is how long the client may take nothing; `None` for a client in this process.
    pub fn new(config: Arc<PipelineConfig>, fetched: Fetched, patience: Option<Duration>) -> Self {
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
        let watch = patience.filter(|_| !is_small).map(|patience| {
            let watch = tokio::spawn(patience::watch(Arc::downgrade(&rest), patience));
            watch.abort_handle()
        });
        Reading {
            rest,
            journal: None,
            watch,
        }
    }

    /// The values of cells, 64 bits each in this machine's order of bytes, if the Read asks for
    /// cells only.
    ///
    /// # Errors
    /// Those of the requests; INVALID_ARGUMENT if one asks for anything else than a cell of a
    /// register of up to 64 bits.
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

    /// Has the journal write down what the client gets.
    pub fn awaited(mut self, waiting: Waiting) -> Self {
        self.journal = Some((waiting, Answered::default()));
        self
    }

    /// Encodes messages one at a time, each in a turn of its connection, as the client takes them.
    async fn put_into(
        mut self,
        messages: mpsc::Sender<Result<Encoded, Status>>,
        turns: turns::Kind,
    ) {
        while let Ok(place) = messages.reserve().await {
            let turn = turns.clone().next().await;
            let Some(message) = self.next() else {
                return;
            };
            place.send(message);
            drop(turn);
            tokio::task::yield_now().await;
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
        // A status is the last thing that a client gets.
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

impl Untaken for Rest {
    fn taken(&self) -> u64 {
        self.taken
    }

    fn replace(&mut self, status: Status) -> impl Send + 'static {
        let bytes = self.charge.bytes();
        self.charge.release(bytes);
        self.status = Some(status);
        let pending = std::mem::take(&mut self.pending);
        let parts = (std::mem::take(&mut self.parts), self.entries.take());
        (pending, parts, std::mem::take(&mut self.messages))
    }
}

impl Rest {
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
                // The answer is encoded piece by piece, as the client takes it.
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

/// The status of all requests. Each result stands for so many of them.
fn status(results: &[(Result<(), Failure>, usize)]) -> Result<(), Status> {
    if results.iter().all(|(result, _)| result.is_ok()) {
        return Ok(());
    }
    let results = results.iter();
    let results = results.flat_map(|(result, requests)| repeat_n(result, *requests));
    batch_status("requests", results)
}
