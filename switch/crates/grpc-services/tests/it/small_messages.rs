// SPDX-License-Identifier: Apache-2.0
//! Clients may send each message in a frame of its own, which HTTP/2 permits and many gRPC libraries
//! do. However short the messages are, and however long the switch takes for each, they wait: their
//! connection is not closed because of them.

use std::future::poll_fn;

use crate::common::*;
use bytes::Bytes;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::stream_message_request::Update;
use prost::Message;
use tokio::net::TcpStream;
use tonic::codegen::http;

/// More than the switch could let wait.
const MESSAGES: usize = 20_000;

/// A message as gRPC puts it on the wire: not compressed, its length, its bytes.
fn framed(update: Update) -> Bytes {
    let message = p4::StreamMessageRequest {
        update: Some(update),
    };
    let message = message.encode_to_vec();
    let prefix = [&[0], &(message.len() as u32).to_be_bytes()[..]].concat();
    [prefix, message].concat().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_in_frames_of_their_own_wait_for_the_switch() {
    let (mut fixture, _primary) = Fixture::start_program("entities").await;
    let socket = TcpStream::connect(&fixture.address).await.unwrap();
    let (mut client, connection) = h2::client::handshake(socket).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = http::Request::post("http://switch/p4.v1.P4Runtime/StreamChannel")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let (answer, mut sending) = client.send_request(request, false).unwrap();
    let arbitration = Update::Arbitration(p4::MasterArbitrationUpdate {
        device_id: DEVICE_ID,
        election_id: election_id(100),
        ..Default::default()
    });
    // As short as a packet-out can be.
    let field = |metadata_id, value| p4::PacketMetadata {
        metadata_id,
        value: vec![value],
    };
    let packet = Update::Packet(p4::PacketOut {
        metadata: vec![field(1, 1), field(2, 0)],
        ..Default::default()
    });
    let (first, packet) = (framed(arbitration), framed(packet));
    assert_eq!(packet.len(), 21);
    for message in std::iter::once(first).chain(std::iter::repeat_n(packet, MESSAGES)) {
        sending.reserve_capacity(message.len());
        while sending.capacity() < message.len() {
            let more = poll_fn(|context| sending.poll_capacity(context)).await;
            let more = more.map(|more| more.map_err(|error| error.to_string()));
            assert!(matches!(more, Some(Ok(_))), "{more:?}");
        }
        sending.send_data(message, false).unwrap();
    }
    sending.send_data(Bytes::new(), true).unwrap();
    let mut body = answer.await.unwrap().into_body();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
    }
    let trailers = body.trailers().await.unwrap().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    drop((client, sending, body));
    connection.await.unwrap().unwrap();
    // The switch still answers.
    assert!(fixture.read(vec![]).await.is_ok());
    fixture.stop().await;
}
