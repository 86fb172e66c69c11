// SPDX-License-Identifier: Apache-2.0
//! Charges requests in flight: the bytes of messages that have arrived and have not been dealt
//! with.
//!
//! A message is decoded in one piece, and many clients may send long messages, or the beginnings of
//! long messages, at the same time. So each byte is charged to its connection from its arrival
//! until the RPC is done, and on a stream until its message is done. A byte for which there is no
//! room ends the RPC. Answers go out through the connection's [`Outbox`].
//!
//! [`Outbox`]: crate::outbox::Outbox

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tower_layer::Layer;

use crate::budget::{Charge, Purpose};
use crate::connections::Client;
use crate::outbox::Sending;

/// The only RPC in which a client sends more than one message.
const STREAM: &str = "/p4.v1.P4Runtime/StreamChannel";
/// The service whose long requests are not decoded before they are looked at.
const P4RUNTIME: &str = "/p4.v1.P4Runtime/";
/// How many bytes of memory are charged for each byte of a message that is decoded in one go. The
/// shortest message within a message has two bytes on the wire, and 100 or more as an object.
const FACTOR: usize = 64;
/// The bytes in front of a message: whether it is compressed, and its length (gRPC over HTTP/2).
const PREFIX: usize = 5;

/// Puts [`InFlight`] around a service.
#[derive(Clone, Copy, Debug)]
pub struct InFlightLayer {
    /// How long a message on a stream may take to arrive.
    pub message_time: Duration,
    /// The longest message on a stream, bytes.
    pub message_bytes: usize,
}

impl<S> Layer<S> for InFlightLayer {
    type Service = InFlight<S>;

    fn layer(&self, inner: S) -> InFlight<S> {
        InFlight {
            inner,
            layer: *self,
        }
    }
}

/// A service whose requests are charged as they arrive.
#[derive(Clone, Debug)]
pub struct InFlight<S> {
    inner: S,
    layer: InFlightLayer,
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<http::Response<Body>, E>> + Send>>;

impl<S> Service<http::Request<Body>> for InFlight<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = Answer<S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let client = Client::of_request(request.extensions()).cloned();
        let charge = client.as_ref().map(|client| {
            let charge = client.account.charge(Purpose::Requests);
            Arc::new(Mutex::new(charge))
        });
        let kept = charge.clone();
        let is_own = request.uri().path().starts_with(P4RUNTIME);
        let factor = if is_own { 1 } else { FACTOR };
        let messages = (request.uri().path() == STREAM).then(|| Messages::new(self.layer));
        let answer = self.inner.call(match charge {
            None => request,
            Some(charge) => request.map(|body| {
                Body::new(Charged {
                    body,
                    charge,
                    factor,
                    messages,
                })
            }),
        });
        Box::pin(async move {
            let answer = answer.await;
            // The message is decoded before its RPC begins, and lives until the RPC ends.
            drop(kept);
            Ok(match client {
                None => answer?,
                Some(client) => answer?.map(|body| Body::new(Sending::new(body, client.outbox))),
            })
        })
    }
}

/// A request's body, whose bytes are charged.
struct Charged {
    body: Body,
    charge: Arc<Mutex<Charge>>,
    /// The bytes that each byte of the body is charged as.
    factor: usize,
    /// Where the messages end, if this is a stream.
    messages: Option<Messages>,
}

impl http_body::Body for Charged {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let Some(messages) = &mut this.messages {
            // The stream asks for more only when it is done with the earlier messages.
            let mut charge = this.charge.lock().unwrap_or_else(PoisonError::into_inner);
            let done = charge.bytes().saturating_sub(messages.begun);
            charge.release(done);
            if messages.are_late(context) {
                return Poll::Ready(Some(Err(Status::deadline_exceeded(
                    "a message on the stream did not arrive in time",
                ))));
            }
        }
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        let data = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok()?.data_ref());
        if let Some(data) = data {
            let mut charge = this.charge.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(status) = charge.add(data.len() * this.factor) {
                return Poll::Ready(Some(Err(status)));
            }
            if let Some(messages) = &mut this.messages {
                let longest = messages.layer.message_bytes;
                if messages.arrived(data) > longest {
                    return Poll::Ready(Some(Err(Status::resource_exhausted(format!(
                        "a message on the stream has more than {longest} bytes"
                    )))));
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Finds where the messages of a stream end.
struct Messages {
    /// How many bytes have arrived of the message that has not arrived as a whole, with its prefix.
    begun: usize,
    prefix: [u8; PREFIX],
    layer: InFlightLayer,
    /// The time at which that message is late.
    late: Option<Pin<Box<Sleep>>>,
}

impl Messages {
    fn new(layer: InFlightLayer) -> Self {
        Self {
            begun: 0,
            prefix: [0; PREFIX],
            layer,
            late: None,
        }
    }

    /// Takes the next bytes, and returns the length of the longest message that they belong to.
    fn arrived(&mut self, mut data: &[u8]) -> usize {
        let whole = |prefix: &[u8; PREFIX]| {
            let [_, length @ ..] = *prefix;
            PREFIX + u32::from_be_bytes(length) as usize
        };
        let mut is_new = self.begun == 0;
        let mut longest = 0;
        while !data.is_empty() {
            if self.begun < PREFIX {
                let count = data.len().min(PREFIX - self.begun);
                self.prefix[self.begun..self.begun + count].copy_from_slice(&data[..count]);
                self.begun += count;
                data = &data[count..];
            }
            if self.begun < PREFIX {
                break;
            }
            longest = longest.max(whole(&self.prefix) - PREFIX);
            let rest = whole(&self.prefix) - self.begun;
            if data.len() < rest {
                self.begun += data.len();
                break;
            }
            data = &data[rest..];
            self.begun = 0;
            is_new = true;
        }
        if self.begun == 0 {
            self.late = None;
        } else if is_new {
            self.late = Some(Box::pin(sleep(self.layer.message_time)));
        }
        longest
    }

    fn are_late(&mut self, context: &mut Context<'_>) -> bool {
        let late = self.late.as_mut();
        late.is_some_and(|late| {
            late.deadline() <= Instant::now() || late.as_mut().poll(context).is_ready()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However messages are cut into pieces, what has begun is the last one's.
        #[test]
        fn messages_end_where_they_do(
            lengths in prop::collection::vec(0usize..40, 0..20),
            mut cuts in prop::collection::vec(0usize..400, 0..20),
            cut_off in 0usize..10,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let _entered = runtime.as_ref().unwrap().enter();
            let mut sent = Vec::new();
            let mut ends = vec![0];
            for length in lengths {
                sent.push(0);
                sent.extend((length as u32).to_be_bytes());
                sent.resize(sent.len() + length, 7);
                ends.push(sent.len());
            }
            sent.truncate(sent.len().saturating_sub(cut_off));
            cuts.retain(|cut| *cut <= sent.len());
            cuts.push(sent.len());
            cuts.sort_unstable();
            let mut messages = Messages::new(InFlightLayer {
                message_time: Duration::from_secs(1),
                message_bytes: usize::MAX,
            });
            let mut before = 0;
            for cut in cuts {
                messages.arrived(&sent[before..cut]);
                before = cut;
                let end = ends.iter().rfind(|end| **end <= cut).unwrap();
                prop_assert_eq!(messages.begun, cut - end);
                prop_assert_eq!(messages.late.is_some(), cut > *end);
            }
        }
    }
}
