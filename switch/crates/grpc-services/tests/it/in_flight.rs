// SPDX-License-Identifier: Apache-2.0
//! Requests that are long, or that never end, take a bounded memory, and leave others theirs.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::common::*;
use bytes::Bytes;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use grpc_services::{Limits, ServerOptions};
use http_body::{Body as _, Frame};
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

const SHARE: usize = 64 << 10;
const POOL: usize = 1 << 20;
/// What one connection may have.
const MOST: usize = SHARE + POOL / 4 * 3;

async fn start(rpc_time: Duration) -> Fixture {
    let options = ServerOptions {
        limits: Limits {
            share: SHARE,
            pool: POOL,
            stream_message_bytes: 64 << 20,
            rpc_time,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    Fixture::start_with(&[DEVICE_ID], &options).await
}

async fn connected(fixture: &Fixture) -> P4RuntimeClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", fixture.address)).unwrap();
    let client = P4RuntimeClient::new(endpoint.connect().await.unwrap());
    client.max_encoding_message_size(64 << 20)
}

/// A Write of so many bytes and a few more, which is not permitted.
async fn write(client: &mut P4RuntimeClient<Channel>, bytes: usize) -> Status {
    let request = p4::WriteRequest {
        device_id: DEVICE_ID,
        role: "r".repeat(bytes),
        ..Default::default()
    };
    client.write(request).await.unwrap_err()
}

/// A packet-out of so many bytes and a few more.
fn packet_out(bytes: usize) -> p4::StreamMessageRequest {
    p4::StreamMessageRequest {
        update: Some(p4::stream_message_request::Update::Packet(p4::PacketOut {
            payload: vec![0; bytes].into(),
            ..Default::default()
        })),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_finds_no_room_is_refused_in_words_and_leaves_none_behind() {
    let fixture = start(Duration::from_secs(60)).await;
    let mut client = connected(&fixture).await;
    for _ in 0..20 {
        // Each has more than half of the room: what one took is there for the next.
        let status = write(&mut client, MOST - 1000).await;
        assert_ne!(status.code(), Code::ResourceExhausted, "{status:?}");
        let status = write(&mut client, MOST).await;
        assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
        assert!(status.message().contains("in flight"), "{status:?}");
    }
    fixture.stop().await;
}

/// A body that begins, and goes on until who keeps the other end leaves.
struct Begun(Option<Bytes>, oneshot::Receiver<()>);

impl http_body::Body for Begun {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(bytes) = self.0.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        let left = Pin::new(&mut self.1).poll(context);
        left.map(|_| Some(Err(Status::cancelled("it leaves"))))
    }
}

/// Opens a stream whose first message begins with so many bytes, and does not end before the sender
/// is dropped.
async fn begin(fixture: &Fixture, bytes: usize) -> (http::Response<Body>, oneshot::Sender<()>) {
    let (leave, left) = oneshot::channel();
    let endpoint = Endpoint::from_shared(format!("http://{}", fixture.address)).unwrap();
    let mut channel = endpoint.connect().await.unwrap();
    let mut begun = vec![0; 5 + bytes];
    begun[1..5].copy_from_slice(&(16u32 << 20).to_be_bytes());
    let request = http::Request::post(format!(
        "http://{}/p4.v1.P4Runtime/StreamChannel",
        fixture.address
    ))
    .header("content-type", "application/grpc")
    .header("te", "trailers")
    .body(Body::new(Begun(Some(begun.into()), left)));
    std::future::poll_fn(|context| channel.poll_ready(context))
        .await
        .unwrap();
    (channel.call(request.unwrap()).await.unwrap(), leave)
}

/// The status in a stream's trailers.
async fn status(response: http::Response<Body>) -> Option<String> {
    let mut body = Box::pin(response.into_body());
    while let Some(Ok(frame)) = std::future::poll_fn(|c| body.as_mut().poll_frame(c)).await {
        if let Some(trailers) = frame.trailers_ref() {
            return Some(trailers["grpc-status"].to_str().unwrap().to_owned());
        }
    }
    None
}

/// The waits between tries, each twice as long as the one before: 20 s in all.
fn waits() -> impl Iterator<Item = Duration> {
    (0..12).map(|doubled| Duration::from_millis(5 << doubled))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_do_not_end_leave_every_connection_its_share() {
    let fixture = start(Duration::from_secs(60)).await;
    let mut other = connected(&fixture).await;
    let mut kept = Vec::new();
    let mut said = Status::ok("nothing yet");
    for wait in waits() {
        // A message that arrives while a write takes all the room is refused, and its stream ends.
        // So each try begins new messages.
        kept.clear();
        for _ in 0..4 {
            kept.push(begin(&fixture, MOST - 1000).await);
        }
        let status = write(&mut other, SHARE - 1000).await;
        assert_ne!(status.code(), Code::ResourceExhausted, "{status:?}");
        // When they have arrived, one has three quarters of the pool.
        tokio::time::sleep(wait).await;
        said = write(&mut other, MOST - 1000).await;
        if said.code() == Code::ResourceExhausted {
            break;
        }
    }
    assert_eq!(said.code(), Code::ResourceExhausted, "{said:?}");
    assert!(
        said.message()
            .contains("what all clients may have in flight"),
        "{said:?}"
    );
    // Who goes makes room.
    kept.clear();
    for wait in waits() {
        said = write(&mut other, MOST - 1000).await;
        if said.code() != Code::ResourceExhausted {
            break;
        }
        tokio::time::sleep(wait).await;
    }
    assert_ne!(said.code(), Code::ResourceExhausted, "{said:?}");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_has_any_number_of_messages_and_no_time_for_one_that_does_not_end() {
    let fixture = start(Duration::from_millis(300)).await;
    let (begun, _leave) = begin(&fixture, MOST - 1000).await;
    // DEADLINE_EXCEEDED.
    assert_eq!(status(begun).await.as_deref(), Some("4"));
    let mut client = connected(&fixture).await;
    // Fifty times what is permitted at once; and a client that is no primary is told so each time.
    let last = p4::StreamMessageRequest {
        update: Some(p4::stream_message_request::Update::Arbitration(
            p4::MasterArbitrationUpdate {
                device_id: DEVICE_ID,
                election_id: election_id(1),
                ..Default::default()
            },
        )),
    };
    let messages = (0..100).map(|_| packet_out(MOST / 2)).chain([last]);
    // The stream stays open behind them.
    let messages =
        tokio_stream::StreamExt::chain(tokio_stream::iter(messages), tokio_stream::pending());
    let stream = client.stream_channel(messages).await;
    let mut answers = stream.unwrap().into_inner();
    let mut arbitrated = false;
    while !arbitrated {
        let answer = answers.message().await.unwrap().unwrap();
        arbitrated = matches!(
            answer.update,
            Some(p4::stream_message_response::Update::Arbitration(_))
        );
    }
    fixture.stop().await;
}
