// SPDX-License-Identifier: Apache-2.0
//! Makes the answers that tell all that there is of something, and grow with it.
//!
//! gRPC encodes an answer when its client has room for it. A client that takes nothing would make
//! the server keep such an answer as objects, which take many times the bytes of the message, and
//! are charged to nobody. So these answers are encoded before their RPCs end, and the bytes are
//! charged to the connection. One answer of all connections is made at a time, so what it takes as
//! objects is there once.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as _, Frame};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{HeaderMap, Request, Response};
use tower_layer::Layer;

use crate::budget::{Charge, Purpose};
use crate::connections::Client;
use crate::crew::Crew;
use crate::patience::{self, Untaken};
use crate::pipeline_config::lock;

/// The RPCs with such answers, and who does their work.
const METHODS: [(&str, Worker); 4] = [
    ("/docsis.tm.v1.TrafficManager/Get", Worker::Crew),
    ("/docsis.switch.v1.Switch/GetInfo", Worker::Crew),
    ("/docsis.switch.v1.Switch/GetCounters", Worker::Crew),
    // It has many closures, each short, and the thread that asks for one may run it.
    ("/docsis.mac.v1.UpstreamChannels/Get", Worker::Own),
];

/// Who makes an answer before it is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worker {
    /// The thread that received the request. It may run closures on devices.
    Own,
    /// The crew. Devices run its closures on their own threads.
    Crew,
}

/// The bytes of an answer that are handed on, and freed, at a time.
const PIECE: usize = 32 << 10;

/// Puts [`WholeAnswers`] around a service.
#[derive(Clone, Debug)]
pub struct WholeAnswersLayer(Maker);

impl WholeAnswersLayer {
    /// `patience` is how long a client may take nothing of an answer.
    pub fn new(crew: Crew, patience: Duration) -> Self {
        Self(Maker {
            one: Arc::new(Semaphore::new(1)),
            crew,
            patience,
        })
    }
}

impl<S> Layer<S> for WholeAnswersLayer {
    type Service = WholeAnswers<S>;

    fn layer(&self, inner: S) -> WholeAnswers<S> {
        let maker = self.0.clone();
        WholeAnswers { inner, maker }
    }
}

/// A service some of whose answers are encoded as a whole.
#[derive(Clone, Debug)]
pub struct WholeAnswers<S> {
    inner: S,
    maker: Maker,
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<Response<Body>, E>> + Send>>;

impl<S> Service<Request<Body>> for WholeAnswers<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let method = METHODS.iter().find(|(method, _)| *method == path);
        let client = Client::of_request(request.extensions()).cloned();
        let answer = self.inner.call(request);
        match (method, client) {
            (Some((_, worker)), Some(client)) => {
                Box::pin(self.maker.clone().make(client, *worker, answer))
            }
            _ => Box::pin(answer),
        }
    }
}

#[derive(Clone, Debug)]
struct Maker {
    /// The permit to make an answer. There is one.
    one: Arc<Semaphore>,
    crew: Crew,
    patience: Duration,
}

impl Maker {
    /// Makes an answer when it is its turn. Each connection has one turn at a time, so that none
    /// waits behind all requests of another one.
    ///
    /// # Errors
    /// Those of the answer.
    async fn make<E: Send + 'static>(
        self,
        client: Client,
        worker: Worker,
        answer: impl Future<Output = Result<Response<Body>, E>> + Send + 'static,
    ) -> Result<Response<Body>, E> {
        let _own = client.turns.whole.clone().next().await;
        // The semaphore is never closed, so this is always a permit.
        let _one = self.one.acquire().await;
        let answer = match worker {
            Worker::Own => Ok(answer.await),
            Worker::Crew => self.crew.run(answer).await,
        };
        let (parts, body) = match answer {
            Ok(answer) => answer?.into_parts(),
            Err(status) => return Ok(status.into_http()),
        };
        let charge = client.account.charge(Purpose::Answers);
        let rest = self.crew.run(Rest::of(body, charge)).await;
        Ok(match rest.and_then(|rest| rest) {
            Ok(rest) => Response::from_parts(parts, Body::new(Taking::new(rest, self.patience))),
            Err(status) => status.into_http(),
        })
    }
}

/// The part of an answer that its client has not taken yet.
#[derive(Debug)]
struct Rest {
    pieces: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
    charge: Charge,
    /// How often the client has taken something.
    taken: u64,
}

impl Rest {
    /// Encodes an answer.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if there is no room for it, and those of the answer.
    async fn of(body: Body, charge: Charge) -> Result<Self, Status> {
        let mut rest = Rest {
            pieces: VecDeque::new(),
            trailers: None,
            charge,
            taken: 0,
        };
        let mut body = pin!(body);
        while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
            match frame?.into_data() {
                Ok(data) => rest.add(&data)?,
                Err(frame) => rest.trailers = frame.into_trailers().ok(),
            }
        }
        Ok(rest)
    }

    fn add(&mut self, data: &[u8]) -> Result<(), Status> {
        self.charge.add(data.len())?;
        // They are copies, so that each is freed when it has been sent.
        let pieces = data.chunks(PIECE).map(Bytes::copy_from_slice);
        self.pieces.extend(pieces);
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.trailers.is_none()
    }

    fn next(&mut self) -> Option<Frame<Bytes>> {
        self.taken += 1;
        if let Some(piece) = self.pieces.pop_front() {
            // From now on the connection's outbox charges it.
            self.charge.release(piece.len());
            return Some(Frame::data(piece));
        }
        self.trailers.take().map(Frame::trailers)
    }
}

impl Untaken for Rest {
    fn taken(&self) -> u64 {
        self.taken
    }

    fn replace(&mut self, status: Status) -> impl Send + 'static {
        self.charge.release(self.charge.bytes());
        let mut trailers = HeaderMap::new();
        // It fails only for words that no header can have.
        let _ = status.add_header(&mut trailers);
        self.trailers = Some(trailers);
        std::mem::take(&mut self.pieces)
    }
}

/// The body of an answer, which its client takes piece by piece.
struct Taking {
    rest: Arc<Mutex<Rest>>,
    watch: Option<AbortHandle>,
}

impl Taking {
    fn new(rest: Rest, patience: Duration) -> Self {
        let is_empty = rest.is_empty();
        let rest = Arc::new(Mutex::new(rest));
        let watch = (!is_empty).then(|| {
            let watch = patience::watch(Arc::downgrade(&rest), patience);
            tokio::spawn(watch).abort_handle()
        });
        Taking { rest, watch }
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

impl http_body::Body for Taking {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Ready(lock(&self.rest).next().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.rest).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Weak;
    use std::task::Waker;

    use super::*;
    use crate::budget::Budget;
    use crate::options::Limits;

    /// A body that is an object until it is asked for, and then so many bytes.
    struct Object {
        _object: Arc<()>,
        bytes: usize,
    }

    impl http_body::Body for Object {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            let bytes = std::mem::take(&mut self.bytes);
            let frame = (bytes > 0).then(|| Ok(Frame::data(vec![7; bytes].into())));
            Poll::Ready(frame)
        }
    }

    fn answer(bytes: usize) -> (Weak<()>, Response<Body>) {
        let object = Arc::new(());
        let weak = Arc::downgrade(&object);
        let body = Body::new(Object {
            _object: object,
            bytes,
        });
        (weak, Response::new(body))
    }

    fn client() -> Client {
        let limits = Limits {
            share: 200_000,
            pool: 0,
            ..Limits::default()
        };
        Client::new(&Arc::new(Budget::new(&limits)))
    }

    fn maker(patience: Duration) -> Maker {
        WholeAnswersLayer::new(Crew::default(), patience).0
    }

    fn code(headers: &HeaderMap) -> Option<&str> {
        headers.get("grpc-status")?.to_str().ok()
    }

    /// The next frame of a body that is there already.
    fn next(body: &mut Body) -> Option<Frame<Bytes>> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(body).poll_frame(&mut context) {
            Poll::Ready(frame) => frame.map(|frame| frame.unwrap()),
            Poll::Pending => panic!("it is not there"),
        }
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn an_answer_that_nobody_takes_is_kept_as_bytes_that_are_charged() {
        let (client, maker) = (client(), maker(LONG));
        let make = |bytes| {
            let (object, answer) = answer(bytes);
            let ready = std::future::ready(Ok::<_, Infallible>(answer));
            let made = maker.clone().make(client.clone(), Worker::Crew, ready);
            async move { (object, made.await.unwrap()) }
        };
        let (object, kept) = make(150_000).await;
        assert!(object.upgrade().is_none(), "it is not encoded yet");
        assert_eq!(client.account.used(), 150_000);
        // There is no room for another one.
        let (_, refused) = make(60_000).await;
        assert_eq!(code(refused.headers()), Some("8"));
        assert_eq!(client.account.used(), 150_000);
        let mut body = kept.into_body();
        let mut taken = 0;
        while let Some(frame) = next(&mut body) {
            let piece = frame.into_data().unwrap();
            assert!(piece.len() <= PIECE);
            taken += piece.len();
            assert_eq!(client.account.used(), 150_000 - taken);
        }
        assert_eq!(taken, 150_000);
        let (_, another) = make(60_000).await;
        assert_eq!(code(another.headers()), None);
        drop(another);
        assert_eq!(client.account.used(), 0);
    }

    #[tokio::test]
    async fn an_answer_of_which_nothing_is_taken_ends() {
        let (client, maker) = (client(), maker(Duration::from_millis(1)));
        let ready = std::future::ready(Ok::<_, Infallible>(answer(150_000).1));
        let kept = maker
            .make(client.clone(), Worker::Crew, ready)
            .await
            .unwrap();
        while client.account.used() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut body = kept.into_body();
        let trailers = next(&mut body).unwrap().into_trailers().unwrap();
        assert_eq!(code(&trailers), Some("4"));
        assert!(next(&mut body).is_none());
    }

    #[tokio::test]
    async fn one_answer_is_made_at_a_time() {
        let maker = maker(LONG);
        let mut context = Context::from_waker(Waker::noop());
        let begun = Arc::new(());
        let count = || Arc::strong_count(&begun) - 1;
        let make = |one: Client| {
            let begun = Arc::downgrade(&begun);
            let answer = async move {
                let _begun = begun.upgrade();
                std::future::pending::<Result<Response<Body>, Infallible>>().await
            };
            Box::pin(maker.clone().make(one, Worker::Own, answer))
        };
        let (mut first, mut second) = (make(client()), make(client()));
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert_eq!(count(), 1);
        drop(first);
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert_eq!(count(), 1);
        drop(second);
        assert_eq!(count(), 0);
    }
}
