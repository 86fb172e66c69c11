// SPDX-License-Identifier: Apache-2.0
//! The outbox of a connection: the parts of its answers that are encoded but not yet sent.
//!
//! HTTP/2's buffer takes as many bytes as the client's window allows, 400 KB of each RPC, even if
//! the client does not read its socket. So the outbox limits what it hands to HTTP/2. An answer is
//! encoded in pieces, and an RPC encodes a piece only when no more than [`LITTLE`] bytes of its
//! earlier pieces are unsent. Every unsent byte is charged to the connection. When the connection's
//! charge has no room for another piece, it encodes one only after all earlier pieces of all its
//! RPCs have been sent.
//!
//! Room that comes from elsewhere wakes nobody: an answer that is given up, or what other connections
//! no longer take of the pool. So an RPC that waits looks again every [`LOOK_AGAIN`]. Otherwise it would
//! wait for ever where the client takes nothing of another answer of the same connection.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;
use tonic::body::Body;

use crate::budget::Charge;
use crate::pipeline_config::lock;

/// An RPC may have this many unsent bytes and still encode its next piece. Most answers are shorter,
/// so that their status, which is the last piece, does not wait for them.
const LITTLE: usize = 8 << 10;
/// The room that a piece needs, bytes. Pieces are rarely longer.
const PIECE: usize = 128 << 10;
/// At the most 64 RPCs of each of 64 connections look so often, unless limits are set otherwise.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The unsent answers of one connection.
#[derive(Debug)]
pub struct Outbox {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The unsent bytes of all RPCs.
    charge: Charge,
    /// The RPCs that wait for room for their next piece.
    more: Vec<Waker>,
}

impl Outbox {
    /// Makes an empty outbox, which will add unsent bytes to the charge.
    pub fn new(charge: Charge) -> Arc<Self> {
        let state = Mutex::new(State {
            charge,
            more: Vec::new(),
        });
        Arc::new(Self { state })
    }

    /// Returns ready if an RPC may encode another piece. Otherwise its task is woken when bytes have
    /// been sent. `own` is the number of unsent bytes of the RPC.
    fn poll_room(&self, own: &AtomicUsize, context: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        let is_little = own.load(Ordering::Relaxed) <= LITTLE;
        if is_little && (state.charge.bytes() == 0 || state.charge.has_room(PIECE)) {
            return Poll::Ready(());
        }
        if !state.more.iter().any(|one| one.will_wake(context.waker())) {
            state.more.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Wraps bytes so that they are charged, and counted in `own`, until their last copy is dropped.
    /// HTTP/2 drops them when it has sent them.
    fn counted(self: &Arc<Self>, own: &Arc<AtomicUsize>, bytes: Bytes) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        lock(&self.state).charge.force(bytes.len());
        own.fetch_add(bytes.len(), Ordering::Relaxed);
        let (own, outbox) = (Arc::clone(own), Arc::clone(self));
        Bytes::from_owner(Unsent { bytes, own, outbox })
    }

    /// Takes bytes that have been sent off the charge, and wakes the RPCs that wait for room.
    fn sent(&self, bytes: usize) {
        let more = {
            let mut state = lock(&self.state);
            state.charge.release(bytes);
            std::mem::take(&mut state.more)
        };
        more.into_iter().for_each(Waker::wake);
    }
}

/// Bytes that count as unsent until they are dropped.
struct Unsent {
    bytes: Bytes,
    /// The unsent bytes of the RPC.
    own: Arc<AtomicUsize>,
    outbox: Arc<Outbox>,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.own.fetch_sub(self.bytes.len(), Ordering::Relaxed);
        self.outbox.sent(self.bytes.len());
    }
}

/// The body of an answer whose pieces go through an outbox.
pub struct Sending {
    body: Body,
    /// The unsent bytes of the RPC.
    own: Arc<AtomicUsize>,
    outbox: Arc<Outbox>,
    /// When it looks again for room, if it waits for some.
    again: Option<Pin<Box<Sleep>>>,
}

impl Sending {
    /// Makes a body that sends `body` through `outbox`.
    pub fn new(body: Body, outbox: Arc<Outbox>) -> Self {
        Self {
            body,
            own: Arc::default(),
            outbox,
            again: None,
        }
    }

    /// Returns ready if the next piece may be encoded.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.outbox.poll_room(&self.own, context).is_pending() {
            let again = self
                .again
                .get_or_insert_with(|| Box::pin(sleep(LOOK_AGAIN)));
            ready!(again.as_mut().poll(context));
            again.as_mut().reset(Instant::now() + LOOK_AGAIN);
        }
        self.again = None;
        Poll::Ready(())
    }
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        ready!(this.poll_room(context));
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        let counted =
            |frame: Frame<Bytes>| frame.map_data(|bytes| this.outbox.counted(&this.own, bytes));
        Poll::Ready(frame.map(|frame| frame.map(counted)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Account, Budget, Purpose};
    use crate::options::Limits;
    use std::future::poll_fn;

    fn outbox(pool: usize) -> (Arc<Account>, Arc<Outbox>) {
        let limits = Limits {
            share: PIECE,
            pool,
            ..Limits::default()
        };
        let account = Account::new(&Arc::new(Budget::new(&limits)));
        let outbox = Outbox::new(account.charge(Purpose::Answers));
        (account, outbox)
    }

    #[test]
    fn an_rpc_goes_on_when_all_copies_of_its_bytes_are_dropped() {
        let (account, outbox) = outbox(1 << 20);
        let mut context = Context::from_waker(Waker::noop());
        let (one, other) = (Arc::default(), Arc::default());
        assert!(outbox.poll_room(&one, &mut context).is_ready());
        let mut whole = outbox.counted(&one, Bytes::from(vec![7; LITTLE]));
        assert!(outbox.poll_room(&one, &mut context).is_ready());
        drop(whole);
        whole = outbox.counted(&one, Bytes::from(vec![7; LITTLE + 1]));
        assert_eq!(account.used(), LITTLE + 1);
        assert!(outbox.poll_room(&one, &mut context).is_pending());
        // Another RPC does not wait for it.
        assert!(outbox.poll_room(&other, &mut context).is_ready());
        let part = whole.split_to(10);
        assert_eq!(part, [7; 10][..]);
        drop(whole);
        assert!(outbox.poll_room(&one, &mut context).is_pending());
        drop(part);
        assert!(outbox.poll_room(&one, &mut context).is_ready());
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn without_room_a_connection_sends_one_piece_at_a_time() {
        let (account, outbox) = outbox(0);
        let mut context = Context::from_waker(Waker::noop());
        let (one, other) = (Arc::default(), Arc::default());
        let mut kept = account.charge(Purpose::Answers);
        kept.add(PIECE).unwrap();
        assert!(outbox.poll_room(&one, &mut context).is_ready());
        let sent = outbox.counted(&one, Bytes::from(vec![7; 1000]));
        assert!(outbox.poll_room(&other, &mut context).is_pending());
        drop(sent);
        assert!(outbox.poll_room(&other, &mut context).is_ready());
        let _sent = outbox.counted(&one, Bytes::from(vec![7; 1000]));
        drop(kept);
        // Few bytes are unsent, but the next piece might need all the room that is left.
        assert!(outbox.poll_room(&other, &mut context).is_pending());
    }

    /// The client takes nothing of one RPC's piece, so no sending wakes the other RPC.
    #[tokio::test]
    async fn room_that_nobody_tells_of_is_found() {
        let (account, outbox) = outbox(1 << 20);
        let mut kept = account.charge(Purpose::Answers);
        kept.add(PIECE + (1 << 20) / 4 * 3).unwrap();
        let never_taken = outbox.counted(&Arc::default(), Bytes::from(vec![7; 1000]));
        let mut sending = Sending::new(Body::new("8".to_owned()), Arc::clone(&outbox));
        let waits = tokio::spawn(poll_fn(move |context| {
            http_body::Body::poll_frame(Pin::new(&mut sending), context)
        }));
        let found = async {
            while lock(&outbox.state).more.is_empty() {
                assert!(!waits.is_finished(), "there was room");
                tokio::task::yield_now().await;
            }
            drop(kept);
            waits.await.unwrap()
        };
        let found = tokio::time::timeout(Duration::from_secs(60), found).await;
        let came = found.expect("it waits for ever").unwrap().unwrap();
        assert_eq!(came.into_data().unwrap(), "8");
        drop(never_taken);
    }
}
