// SPDX-License-Identifier: Apache-2.0
//! What has been made for a connection's client and not been sent yet. HTTP/2 takes all that the
//! client's window lets it take, 400 KB of each RPC, whether or not the client reads its socket. So
//! an RPC makes the next piece of its answer when the one before it is sent, unless that is short, and
//! each byte is charged to the connection until it is. Where the connection has no room, one piece at a
//! time is on its way.

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

/// So few bytes do not hold up the next piece of their RPC, which most of the time is its status.
const LITTLE: usize = 8 << 10;
/// Bytes that a piece may have, as a rule.
const PIECE: usize = 128 << 10;

/// A connection's answers on their way.
#[derive(Debug)]
pub struct Outbox {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What waits.
    charge: Charge,
    /// Who has more.
    more: Vec<Waker>,
}

impl Outbox {
    /// An empty one; what waits is added to the charge.
    pub fn new(charge: Charge) -> Arc<Self> {
        let state = Mutex::new(State {
            charge,
            more: Vec::new(),
        });
        Arc::new(Self { state })
    }

    /// Ready when an RPC, of which so many bytes wait, may make another piece.
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

    /// Bytes that count until the last copy of them is dropped.
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
    /// What its RPC has on its way.
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

/// An answer's body that goes through an outbox.
pub struct Sending {
    body: Body,
    /// Bytes that wait.
    own: Arc<AtomicUsize>,
    outbox: Arc<Outbox>,
}

impl Sending {
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
        // Little waits, and a piece might be as long as all that is left.
        assert!(outbox.poll_room(&other, &mut context).is_pending());
    }
}
