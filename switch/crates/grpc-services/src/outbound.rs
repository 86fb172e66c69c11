// SPDX-License-Identifier: Apache-2.0
//! The way to one client's stream is a queue that is bounded in messages and in bytes. Nobody ever
//! waits for a client: a message that does not fit is dropped, and the stream of a client that
//! leaves its queue full for long is ended.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use prost::Message;
use tokio::sync::{Notify, mpsc};
use tokio_stream::Stream;
use tonic::Status;

use crate::budget::{Account, Charge, Purpose};
use crate::options::Limits;
use crate::pipeline_config::lock;
use crate::proto::p4::v1 as p4;
use crate::proto::p4::v1::stream_error::Details;
use crate::proto::p4::v1::stream_message_response::Update;

/// A message that the server sends on a stream.
pub type Outbound = Result<p4::StreamMessageResponse, Status>;

/// The part of a queue's places, one in so many, that events leave to arbitration and errors.
const RESERVED: usize = 16;

/// The sending end.
#[derive(Clone, Debug)]
pub struct ClientLink {
    queue: mpsc::Sender<(usize, Outbound)>,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    /// Ends the stream of a client that does not read.
    evict: Notify,
    bytes: AtomicUsize,
    /// The connection's charge for the same bytes; `None` for a client in this process.
    charge: Option<Mutex<Charge>>,
    limits: Limits,
    /// The time since which no message has fitted.
    full_since: Mutex<Option<Instant>>,
}

/// The receiving end, from which gRPC takes messages as the client reads.
#[derive(Debug)]
pub struct Outgoing {
    queue: mpsc::Receiver<(usize, Outbound)>,
    state: Arc<State>,
}

/// Makes both ends of the way to a client. Messages that wait are charged to the client's account.
pub fn channel(limits: &Limits, account: Option<&Arc<Account>>) -> (ClientLink, Outgoing) {
    let (sender, receiver) = mpsc::channel(limits.queued_messages.max(RESERVED));
    let state = Arc::new(State {
        evict: Notify::new(),
        bytes: AtomicUsize::new(0),
        charge: account.map(|account| Mutex::new(account.charge(Purpose::Answers))),
        limits: *limits,
        full_since: Mutex::new(None),
    });
    let link = ClientLink {
        queue: sender,
        state: Arc::clone(&state),
    };
    let outgoing = Outgoing {
        queue: receiver,
        state,
    };
    (link, outgoing)
}

impl ClientLink {
    /// Sends a packet-in, a list of digests or idle timeouts. Returns false if it was dropped.
    #[must_use]
    pub fn event(&self, update: Update) -> bool {
        let has_room = self.queue.capacity() > self.queue.max_capacity() / RESERVED;
        let sent = has_room && self.send(update);
        let mut full_since = lock(&self.state.full_since);
        if sent {
            *full_since = None;
        } else if full_since.get_or_insert_with(Instant::now).elapsed() > self.state.limits.stall {
            self.state.evict.notify_one();
        }
        sent
    }

    /// Sends an error. For a slow client, errors are dropped first.
    pub fn error(&self, error: p4::StreamError) {
        let _ = self.send(Update::Error(error));
    }

    /// Sends something that the client must know. If it does not fit, the stream is ended.
    pub fn arbitration(&self, update: p4::MasterArbitrationUpdate) {
        if !self.send(Update::Arbitration(update)) {
            self.state.evict.notify_one();
        }
    }

    fn send(&self, update: Update) -> bool {
        let message = p4::StreamMessageResponse {
            update: Some(update),
        };
        let size = memory(&message);
        let has_room = self.state.take(size);
        if !has_room || self.queue.try_send((size, Ok(message))).is_err() {
            if has_room {
                self.state.give_back(size);
            }
            return false;
        }
        true
    }

    /// Sends the last message of a stream, which the client gets if it reads soon enough.
    pub async fn farewell(&self, status: Status, patience: Duration) {
        let _ = self.queue.send_timeout((0, Err(status)), patience).await;
    }

    /// Ready when the client has gone.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Ready when the client's stream is to be ended.
    pub async fn evicted(&self) {
        self.state.evict.notified().await;
    }
}

impl State {
    /// Takes room for a message. Returns false if there is none.
    fn take(&self, size: usize) -> bool {
        if self.bytes.fetch_add(size, Ordering::Relaxed) + size <= self.limits.queued_bytes {
            let charge = self.charge.as_ref();
            if charge.is_none_or(|charge| lock(charge).add(size).is_ok()) {
                return true;
            }
        }
        self.bytes.fetch_sub(size, Ordering::Relaxed);
        false
    }

    fn give_back(&self, size: usize) {
        self.bytes.fetch_sub(size, Ordering::Relaxed);
        if let Some(charge) = &self.charge {
            lock(charge).release(size);
        }
    }
}

/// The memory that a message takes while it waits, bytes. A message that consists of many small
/// ones takes some tens of times as many bytes in memory as on the wire.
fn memory(message: &p4::StreamMessageResponse) -> usize {
    /// The bytes of a small message within another one, with its allocations.
    const PART: usize = 128;
    let parts = match &message.update {
        Some(Update::Packet(packet)) => packet.metadata.len(),
        Some(Update::Digest(list)) => list.data.iter().map(data_parts).sum(),
        Some(Update::IdleTimeoutNotification(expired)) => {
            let entries = expired.table_entry.iter();
            // A match counts as two small messages, and an action as some more.
            entries
                .map(|entry| 8 + 2 * entry.r#match.len() + action_parts(entry))
                .sum()
        }
        Some(Update::Error(error)) => match &error.details {
            Some(Details::PacketOut(details)) => {
                let packet = details.packet_out.as_ref();
                packet.map_or(0, |packet| packet.metadata.len())
            }
            _ => 1,
        },
        _ => 1,
    };
    size_of::<(usize, Outbound)>() + PART * parts + message.encoded_len()
}

fn data_parts(data: &p4::P4Data) -> usize {
    use p4::p4_data::Data;
    match &data.data {
        Some(Data::Struct(of) | Data::Tuple(of)) => {
            1 + of.members.iter().map(data_parts).sum::<usize>()
        }
        Some(Data::Header(header)) => 1 + header.bitstrings.len(),
        _ => 1,
    }
}

fn action_parts(entry: &p4::TableEntry) -> usize {
    use p4::table_action::Type;
    let action = entry
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref());
    match action {
        Some(Type::Action(action)) => action.params.len(),
        Some(Type::ActionProfileActionSet(set)) => {
            let actions = set.action_profile_actions.iter();
            let params = |action: &p4::ActionProfileAction| {
                2 + action
                    .action
                    .as_ref()
                    .map_or(0, |action| action.params.len())
            };
            actions.map(params).sum()
        }
        _ => 1,
    }
}

impl Stream for Outgoing {
    type Item = Outbound;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Outbound>> {
        let next = self.queue.poll_recv(context);
        next.map(|next| {
            let (size, message) = next?;
            self.state.give_back(size);
            Some(message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(len: usize) -> Update {
        Update::Packet(p4::PacketIn {
            payload: vec![0; len].into(),
            metadata: Vec::new(),
        })
    }

    #[test]
    fn a_client_that_does_not_read_costs_a_bounded_memory() {
        let limits = Limits {
            queued_messages: 64,
            queued_bytes: 12_000,
            stall: Duration::ZERO,
            ..Limits::default()
        };
        let (link, _outgoing) = channel(&limits, None);
        let sent = (0..100).filter(|_| link.event(packet(10))).count();
        assert_eq!(sent, 60, "some places are left to arbitration");
        link.arbitration(p4::MasterArbitrationUpdate::default());
        let (link, _outgoing) = channel(&limits, None);
        let sent = (0..100).filter(|_| link.event(packet(1000))).count();
        assert!((8..=11).contains(&sent), "bytes are bounded, too: {sent}");
        assert!(!link.event(packet(20_000)));
        // This message is small on the wire and large in memory.
        let digests = Update::Digest(p4::DigestList {
            data: vec![p4::P4Data::default(); 100],
            ..Default::default()
        });
        assert!(
            prost::Message::encoded_len(&p4::StreamMessageResponse {
                update: Some(digests.clone()),
            }) < 300
        );
        let (link, _outgoing) = channel(&limits, None);
        assert!(!link.event(digests));
    }

    #[tokio::test]
    async fn a_client_that_leaves_its_queue_full_is_cut_off() {
        let limits = Limits {
            queued_messages: 16,
            stall: Duration::ZERO,
            ..Limits::default()
        };
        let (link, _outgoing) = channel(&limits, None);
        while link.event(packet(10)) {}
        while !link.event(packet(10)) && lock(&link.state.full_since).is_none() {}
        let _ = link.event(packet(10));
        link.evicted().await;
    }
}
