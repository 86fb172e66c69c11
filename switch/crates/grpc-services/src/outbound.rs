// SPDX-License-Identifier: Apache-2.0
//! The way to one client's stream is a queue that is bounded in messages and in bytes. Nobody ever
//! waits for a client: a message that does not fit is dropped, and the stream of a client that
//! leaves its queue full for long is ended. Advisory messages are never dropped altogether: of those
//! that do not fit the last one takes the place of the one before it.

use std::collections::VecDeque;
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

/// The part of a queue's places and bytes, one in so many, that events leave to arbitration and errors.
const RESERVED: usize = 16;
/// How many advisory messages may wait for a client at a time. Each tells who is primary now, so that
/// a client that reads late misses nothing if it gets the first ones and the last.
const ADVISORIES: usize = 8;

/// What waits in a queue.
#[derive(Debug)]
enum Queued {
    /// A message and its size.
    Message(usize, Outbound),
    /// The next one of [`State::advisories`].
    Advisory,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct ClientLink {
    queue: mpsc::Sender<Queued>,
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
    /// The advisory messages whose turns are in the queue, each with the bytes that it was charged.
    advisories: Mutex<VecDeque<(usize, p4::MasterArbitrationUpdate)>>,
}

/// The receiving end, from which gRPC takes messages as the client reads.
#[derive(Debug)]
pub struct Outgoing {
    queue: mpsc::Receiver<Queued>,
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
        advisories: Mutex::default(),
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
        let limits = &self.state.limits;
        let places = self.queue.max_capacity() / RESERVED;
        let bytes = limits.queued_bytes - limits.queued_bytes / RESERVED;
        let sent = self.send(update, places, bytes);
        if sent {
            *lock(&self.state.full_since) = None;
        } else {
            self.state.is_full();
        }
        sent
    }

    /// Sends an error. For a slow client, errors are dropped first.
    pub fn error(&self, error: p4::StreamError) {
        // One place is left to advisory messages.
        let bytes = self.state.limits.queued_bytes;
        let _ = self.send(Update::Error(error), 1, bytes);
    }

    /// Sends something that the client must know. If too much waits, it takes the place of the last
    /// message of this kind.
    pub fn arbitration(&self, update: p4::MasterArbitrationUpdate) {
        let state = &self.state;
        let size = size_of::<Queued>() + PART + update.encoded_len();
        let mut advisories = lock(&state.advisories);
        if advisories.len() < ADVISORIES {
            let has_room = state.take(size, state.limits.queued_bytes);
            // The only one is sent even if there is no room for its bytes.
            if (has_room || advisories.is_empty()) && self.queue.try_send(Queued::Advisory).is_ok()
            {
                advisories.push_back((if has_room { size } else { 0 }, update));
                *lock(&state.full_since) = None;
                return;
            }
            if has_room {
                state.give_back(size);
            }
        }
        // The queue of a stream that has ended takes nothing.
        let Some(last) = advisories.back_mut() else {
            return;
        };
        state.give_back(last.0);
        let has_room = state.take(size, state.limits.queued_bytes);
        *last = (if has_room { size } else { 0 }, update);
        state.is_full();
    }

    /// Sends a message that leaves so many places, and with which so many bytes wait at most.
    fn send(&self, update: Update, places: usize, bytes: usize) -> bool {
        if self.queue.capacity() <= places {
            return false;
        }
        let message = p4::StreamMessageResponse {
            update: Some(update),
        };
        let size = memory(&message);
        if !self.state.take(size, bytes) {
            return false;
        }
        let sent = self.queue.try_send(Queued::Message(size, Ok(message)));
        if sent.is_err() {
            self.state.give_back(size);
        }
        sent.is_ok()
    }

    /// Sends the last message of a stream, which the client gets if it reads soon enough.
    pub async fn farewell(&self, status: Status, patience: Duration) {
        let last = Queued::Message(0, Err(status));
        let _ = self.queue.send_timeout(last, patience).await;
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
    /// Takes room for a message, with which so many bytes may wait. Returns false if there is none.
    /// Where nothing waits there is room for any: a device's list of digests may be longer in memory
    /// than all that may wait, and would never come otherwise.
    fn take(&self, size: usize, most: usize) -> bool {
        let waiting = self.bytes.fetch_add(size, Ordering::Relaxed);
        if waiting == 0 || waiting + size <= most {
            let charge = self.charge.as_ref();
            if charge.is_none_or(|charge| lock(charge).add(size).is_ok()) {
                return true;
            }
        }
        self.bytes.fetch_sub(size, Ordering::Relaxed);
        false
    }

    /// Ends the stream if no message has fitted for long.
    fn is_full(&self) {
        let mut since = lock(&self.full_since);
        if since.get_or_insert_with(Instant::now).elapsed() > self.limits.stall {
            self.evict.notify_one();
        }
    }

    fn give_back(&self, size: usize) {
        self.bytes.fetch_sub(size, Ordering::Relaxed);
        if let Some(charge) = &self.charge {
            lock(charge).release(size);
        }
    }
}

/// The bytes of a small message within another one, with its allocations.
const PART: usize = 128;

/// The memory that a message takes while it waits, bytes. A message that consists of many small
/// ones takes some tens of times as many bytes in memory as on the wire.
fn memory(message: &p4::StreamMessageResponse) -> usize {
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
    size_of::<Queued>() + PART * parts + message.encoded_len()
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
            let (size, message) = match next? {
                Queued::Message(size, message) => (size, message),
                Queued::Advisory => {
                    let (size, update) = lock(&self.state.advisories).pop_front()?;
                    let update = Some(Update::Arbitration(update));
                    (size, Ok(p4::StreamMessageResponse { update }))
                }
            };
            self.state.give_back(size);
            Some(message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::task::Waker;

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
            queued_bytes: 12_800,
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
        assert!(link.event(packet(10)));
        assert!(!link.event(digests));
    }

    #[test]
    fn the_longest_list_of_digests_comes_where_nothing_waits() {
        let digest = p4::P4Data {
            data: Some(p4::p4_data::Data::Struct(p4::P4StructLike {
                members: vec![
                    p4::P4Data {
                        data: Some(p4::p4_data::Data::Bitstring(vec![1; 4])),
                    };
                    16
                ],
            })),
        };
        // As many as a device puts into a list.
        let list = Update::Digest(p4::DigestList {
            data: vec![digest; 256 * 1024 / (40 + 16 * 16)],
            ..Default::default()
        });
        let (link, mut outgoing) = channel(&Limits::default(), None);
        assert!(link.event(list.clone()));
        assert!(!link.event(list.clone()), "two are too much");
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut outgoing).poll_next(&mut context).is_ready());
        assert!(link.event(list), "the client has read the first");
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

    fn advisory(election_id: u64) -> p4::MasterArbitrationUpdate {
        p4::MasterArbitrationUpdate {
            election_id: Some(p4::Uint128 {
                high: 0,
                low: election_id,
            }),
            ..Default::default()
        }
    }

    /// The election ids of the advisory messages that wait.
    fn told(outgoing: &mut Outgoing) -> Vec<u64> {
        let mut context = Context::from_waker(Waker::noop());
        let mut ids = Vec::new();
        while let Poll::Ready(Some(message)) = Pin::new(&mut *outgoing).poll_next(&mut context) {
            if let Some(Update::Arbitration(update)) = message.unwrap().update {
                ids.extend(update.election_id.map(|id| id.low));
            }
        }
        ids
    }

    async fn is_evicted(link: &ClientLink) -> bool {
        tokio::select! {
            biased;
            () = link.evicted() => true,
            () = std::future::ready(()) => false,
        }
    }

    /// What others do must not end the stream of a client that reads, only a bit late.
    #[tokio::test]
    async fn of_many_advisory_messages_the_last_one_comes() {
        let limits = Limits {
            queued_messages: 64,
            queued_bytes: 12_000,
            ..Limits::default()
        };
        let (link, mut outgoing) = channel(&limits, None);
        for round in 0..2 {
            for id in 1..=2000 {
                link.arbitration(advisory(id));
            }
            assert!(!is_evicted(&link).await, "{round}");
            let told = told(&mut outgoing);
            assert_eq!(told.first(), Some(&1));
            assert_eq!(told.last(), Some(&2000));
            assert_eq!(lock(&link.state.advisories).len(), 0);
            assert_eq!(link.state.bytes.load(Ordering::Relaxed), 0);
        }
        // A client that reads nothing for longer is cut off.
        let limits = Limits {
            stall: Duration::ZERO,
            ..limits
        };
        let (link, _outgoing) = channel(&limits, None);
        for id in 1..=2000 {
            link.arbitration(advisory(id));
        }
        while !is_evicted(&link).await {
            link.arbitration(advisory(1));
        }
    }

    #[tokio::test]
    async fn neither_events_nor_errors_keep_an_advisory_message_out() {
        for (queued_messages, len) in [(64, 10), (1024, 1000)] {
            let limits = Limits {
                queued_messages,
                queued_bytes: 12_000,
                ..Limits::default()
            };
            let (link, mut outgoing) = channel(&limits, None);
            while link.event(packet(len)) {}
            for _ in 0..100 {
                link.error(p4::StreamError::default());
            }
            link.arbitration(advisory(1));
            link.arbitration(advisory(2));
            assert!(!is_evicted(&link).await);
            assert_eq!(told(&mut outgoing).last(), Some(&2));
            assert_eq!(link.state.bytes.load(Ordering::Relaxed), 0);
        }
    }
}
