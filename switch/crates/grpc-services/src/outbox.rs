// SPDX-License-Identifier: Apache-2.0
//! The answers of a connection that have been encoded and not yet been sent.
//!
//! HTTP/2 takes as many bytes as the client's window allows, 400 KB of each RPC, even if the client
//! does not read its socket. So an RPC encodes the next piece of its answer only when the piece
//! before it has been sent, unless that one is short. Each byte is charged to the connection until
//! it has been sent. A connection that has no room left sends one piece at a time.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

use crate::budget::Charge;
use crate::pipeline_config::lock;

/// An RPC encodes its next piece, which is most of the time its status, while at most this many
/// bytes of the pieces before it are unsent.
const LITTLE: usize = 8 << 10;
/// The length that a piece rarely exceeds, bytes.
const PIECE: usize = 128 << 10;

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
    /// An empty outbox, which adds unsent bytes to the charge.
    pub fn new(charge: Charge) -> Arc<Self> {
        let state = Mutex::new(State {
            charge,
            more: Vec::new(),
        });
        Arc::new(Self { state })
    }

    /// Ready when an RPC, of which `own` bytes are unsent, may encode another piece.
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

    /// Charges bytes until the last copy of them is dropped.
    fn counted(self: &Arc<Self>, own: &Arc<AtomicUsize>, bytes: Bytes) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        lock(&self.state).charge.force(bytes.len());
        own.fetch_add(bytes.len(), Ordering::Relaxed);
        let (own, outbox) = (Arc::clone(own), Arc::clone(self));
        Bytes::from_owner(Unsent { bytes, own, outbox })
    }

    fn sent(&self, bytes: usize) {
        let more = {
            let mut state = lock(&self.state);
            state.charge.release(bytes);
            std::mem::take(&mut state.more)
        };
        more.into_iter().for_each(Waker::wake);
    }
}

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

/// The body of an answer that goes through an outbox.
pub struct Sending {
    body: Body,
    /// The unsent bytes of the RPC.
    own: Arc<AtomicUsize>,
    outbox: Arc<Outbox>,
}

impl Sending {
    /// Sends `body` through `outbox`.
    pub fn new(body: Body, outbox: Arc<Outbox>) -> Self {
        let own = Arc::default();
        Self { body, own, outbox }
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
        ready!(this.outbox.poll_room(&this.own, context));
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
    fn an_rpc_goes_on_when_its_bytes_are_dropped_wherever_their_copies_are() {
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
    fn without_room_one_piece_is_on_its_way() {
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
}
