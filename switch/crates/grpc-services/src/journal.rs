// SPDX-License-Identifier: Apache-2.0
//! A journal writes down what clients ask of a device, so that the same can be asked again: when
//! each request had its turn on the device's thread, how much it did there, and what was answered.
//!
//! A server without a journal writes nothing down, and works as if this module did not exist.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use tonic::{Response, Status};
use xxhash_rust::xxh3::Xxh3Default;

/// Encodes a message for the journal.
pub(crate) fn encoded(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// The work of a request in one turn on the device's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// How many units of a slice it was; 0 if the work is not divided into units.
    pub units: u64,
    /// Whether the request had to stop, and goes on in another turn.
    pub stopped: bool,
}

/// How long one turn of a request may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The turn lasts as long as the server's limits allow, by this machine's clock.
    Clock,
    /// The turn does the same work that it did when it was written down.
    Exactly(Work),
}

/// A future that is ready when a turn begins.
pub type Turn<'a> = Pin<Box<dyn Future<Output = Pace> + Send + 'a>>;

/// Writes requests down, or replays them as they were written down. It numbers requests and
/// streams. No method but [`Journal::turn`] may block for long.
pub trait Journal: fmt::Debug + Send + Sync {
    /// Records that a client calls a method, given by its path, with an encoded message. Returns
    /// the number of the request.
    fn asked(&self, method: &'static str, message: &[u8]) -> u64;

    /// Records that a client sends an encoded message on a stream. Returns the number of the
    /// request.
    fn said(&self, stream: u64, message: &[u8]) -> u64;

    /// Waits until a request may use the device once more.
    fn turn(&self, request: u64) -> Turn<'_>;

    /// Records that a request has used the device at this time. The device's thread calls it.
    fn ran(&self, request: u64, now_ns: u64, work: Work);

    /// Records that a request has ended, with a hash of everything that the client got.
    fn answered(&self, request: u64, answer: u64);

    /// Records that nobody waits for a request's answer any more.
    fn left(&self, request: u64);

    /// Records that a client opens a StreamChannel. Returns the number of the stream.
    fn stream_opened(&self) -> u64;

    /// Records that a StreamChannel has ended.
    fn stream_ended(&self, stream: u64);
}

/// A journal, if one is kept.
pub type MaybeJournal = Option<Arc<dyn Journal>>;

/// The request that the present task works for.
#[derive(Clone, Debug)]
pub struct Call {
    journal: Arc<dyn Journal>,
    number: u64,
}

tokio::task_local! {
    static CALL: Call;
}

/// The request that this task works for, if a journal is kept.
pub fn current() -> Option<Call> {
    CALL.try_with(Clone::clone).ok()
}

/// Wraps a future so that it works for the present request, whatever task it runs in.
pub async fn for_the_same<T>(call: Option<Call>, future: impl Future<Output = T>) -> T {
    match call {
        Some(call) => CALL.scope(call, future).await,
        None => future.await,
    }
}

impl Call {
    /// Waits for the next turn.
    pub async fn turn(&self) -> Pace {
        self.journal.turn(self.number).await
    }

    /// Records that a turn is over.
    pub fn ran(&self, now_ns: u64, work: Work) {
        self.journal.ran(self.number, now_ns, work);
    }
}

/// A hash of everything that a client gets.
#[derive(Default)]
pub struct Answer(Xxh3Default);

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answer").field(&self.0.digest()).finish()
    }
}

impl Answer {
    /// A message.
    pub fn add(&mut self, message: &[u8]) {
        self.0.update(&(message.len() as u64).to_le_bytes());
        self.0.update(message);
    }

    /// The status at the end.
    pub fn fail(&mut self, status: &Status) {
        self.0.update(&(status.code() as u32).to_le_bytes());
        self.add(status.message().as_bytes());
        self.add(status.details());
    }
}

/// A request whose client waits for its answer.
#[derive(Debug)]
pub struct Waiting {
    call: Call,
    is_answered: bool,
}

impl Waiting {
    fn new(journal: &Arc<dyn Journal>, number: u64) -> Self {
        let call = Call {
            journal: Arc::clone(journal),
            number,
        };
        Self {
            call,
            is_answered: false,
        }
    }

    /// A client calls a method.
    pub fn asked(journal: &Arc<dyn Journal>, method: &'static str, message: &[u8]) -> Self {
        Self::new(journal, journal.asked(method, message))
    }

    /// A client sends a message on a stream.
    pub fn said(journal: &Arc<dyn Journal>, stream: u64, message: &[u8]) -> Self {
        Self::new(journal, journal.said(stream, message))
    }

    /// Runs what works for the request.
    pub async fn run<T>(&self, future: impl Future<Output = T>) -> T {
        CALL.scope(self.call.clone(), future).await
    }

    /// The request is at its end.
    pub fn answered(mut self, answer: &Answer) {
        self.is_answered = true;
        let Call { journal, number } = &self.call;
        journal.answered(*number, answer.0.digest());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_answered {
            self.call.journal.left(self.call.number);
        }
    }
}

/// Runs a method that has one answer, and writes it down where a journal is kept.
///
/// # Errors
/// Those of the method.
pub async fn unary<T>(
    journal: &MaybeJournal,
    method: &'static str,
    message: impl FnOnce() -> Bytes,
    encode: impl FnOnce(&T) -> Bytes,
    rpc: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<Response<T>, Status> {
    let Some(journal) = journal else {
        return rpc.await;
    };
    let waiting = Waiting::asked(journal, method, &message());
    let result = waiting.run(rpc).await;
    let mut answer = Answer::default();
    match &result {
        Ok(response) => answer.add(&encode(response.get_ref())),
        Err(status) => answer.fail(status),
    }
    waiting.answered(&answer);
    result
}
