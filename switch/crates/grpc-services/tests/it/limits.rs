// SPDX-License-Identifier: Apache-2.0
//! Several devices and roles in one process, and what clients may use up.

use std::time::Duration;

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use grpc_services::{Limits, Server, ServerOptions};
use p4::stream_message_request::Update as ToSwitch;
use tonic::Code;

fn arbitration(device_id: u64, role: &str, id: u64) -> ToSwitch {
    ToSwitch::Arbitration(p4::MasterArbitrationUpdate {
        device_id,
        role: Some(p4::Role {
            name: role.into(),
            ..Default::default()
        }),
        election_id: election_id(id),
        ..Default::default()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_and_roles_have_nothing_to_do_with_each_other() {
    let mut fixture = Fixture::start_with(&[0, 1, 7], &ServerOptions::default()).await;
    let mut streams = Vec::new();
    // The same election id everywhere.
    for (device, role) in [(0, ""), (1, ""), (1, "left"), (1, "right")] {
        let mut stream = fixture.open_stream().await;
        stream.send(arbitration(device, role, 1)).await;
        let update = stream.next().await.unwrap();
        let p4::stream_message_response::Update::Arbitration(update) = update else {
            panic!("not an arbitration");
        };
        assert_eq!(update.status.unwrap().code, Code::Ok as i32);
        assert_eq!(update.device_id, device);
        assert_eq!(update.role.map_or(String::new(), |role| role.name), role);
        streams.push(stream);
    }
    let set = |device_id, role: &str| p4::SetForwardingPipelineConfigRequest {
        device_id,
        role: role.into(),
        election_id: election_id(1),
        action: Action::VerifyAndCommit as i32,
        config: Some(config("entities")),
        ..Default::default()
    };
    let mut client = fixture.client.clone();
    for (device, role, code) in [
        (7, "", Code::PermissionDenied),
        (0, "left", Code::NotFound),
        (1, "middle", Code::NotFound),
        (9, "", Code::NotFound),
    ] {
        let status = client
            .set_forwarding_pipeline_config(set(device, role))
            .await;
        assert_eq!(status.unwrap_err().code(), code, "device {device} {role}");
    }
    client
        .set_forwarding_pipeline_config(set(1, "left"))
        .await
        .unwrap();
    fixture.info = p4info("entities");
    let marks = fixture.id("marks");
    let cell = |value: Option<&[u8]>| register_entry(marks, Some(1), value);
    let write = |device_id, role: &str| p4::WriteRequest {
        device_id,
        role: role.into(),
        election_id: election_id(1),
        updates: vec![modify(cell(Some(&[5])))],
        ..Default::default()
    };
    // Every role may write everything.
    for role in ["", "left", "right"] {
        client.write(write(1, role)).await.unwrap();
    }
    let status = client.write(write(0, "")).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    let select = cell(None);
    let found = fixture.read(vec![select]).await.unwrap();
    assert_eq!(found, [cell(Some(&[5]))]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_past_a_limit_is_refused_in_words() {
    let options = ServerOptions {
        limits: Limits {
            updates: 10,
            requests: 3000,
            // In which the pipeline finds room.
            share: 300 << 10,
            pool: 0,
            connections: 2,
            streams: 2,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let (mut fixture, _stream) = Fixture::start_program_with("entities", &options).await;
    let id = fixture.id("marks");
    let cell = |value| register_entry(id, Some(1), value);
    let update = modify(cell(Some(&[1])));
    fixture.write(vec![update.clone(); 10]).await.unwrap();
    let status = fixture.write(vec![update; 11]).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("11 updates"), "{status:?}");

    let status = fixture.read(vec![cell(None); 3001]).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("3001 requests"), "{status:?}");
    let whole = register_entry(id, None, None);
    let status = fixture.read(vec![whole.clone(); 3000]).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    // What was refused or delivered does not count any more.
    for _ in 0..10 {
        let found = fixture.read(vec![whole.clone(); 2]).await.unwrap();
        assert_eq!(found.len(), 16);
    }

    let mut second = fixture.open_stream().await;
    second.arbitrate(None).await;
    second.arbitration().await;
    let (_requests, third) = tokio::sync::mpsc::channel(1);
    let third = tokio_stream::wrappers::ReceiverStream::new(third);
    let status = fixture.client.stream_channel(third).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);

    // The second connection is the last.
    let address = format!("http://{}", fixture.address);
    let mut other = P4RuntimeClient::connect(address.clone()).await.unwrap();
    let request = p4::CapabilitiesRequest::default();
    other.capabilities(request).await.unwrap();
    if let Ok(mut refused) = P4RuntimeClient::connect(address.clone()).await {
        assert!(refused.capabilities(request).await.is_err());
    }
    drop(other);
    // Its place is free when the server has seen that it is gone.
    for attempt in 0.. {
        if let Ok(mut next) = P4RuntimeClient::connect(address.clone()).await
            && next.capabilities(request).await.is_ok()
        {
            break;
        }
        assert!(attempt < 1000, "the place of a closed connection is taken");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_decoded_in_one_go_is_short() {
    let limits = Limits {
        cells: 20,
        ..Limits::default()
    };
    let options = ServerOptions {
        limits,
        ..ServerOptions::default()
    };
    let (mut fixture, mut stream) = Fixture::start_program_with("entities", &options).await;
    // In front of the updates.
    let request = p4::WriteRequest {
        device_id: DEVICE_ID,
        role: "r".repeat(5000),
        ..Default::default()
    };
    let status = fixture.client.write(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("4096 bytes"), "{status:?}");
    // A request of a Read.
    let long = table_entry(p4::TableEntry {
        metadata: vec![0; limits.update_bytes],
        ..Default::default()
    });
    let status = fixture.read(vec![long]).await.unwrap_err();
    assert_eq!(errors(&status)[0].0, Code::ResourceExhausted, "{status:?}");
    // Updates of eight cells each: two do, three do not, and one may have any number.
    let marks = fixture.id("marks");
    let all = |n| modify(register_entry(marks, None, Some(&[n])));
    fixture.write(vec![all(1), all(2)]).await.unwrap();
    let status = fixture.write(vec![all(3), all(4), all(5)]).await;
    let status = status.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("24 cells"), "{status:?}");
    let cell = register_entry(marks, Some(1), None);
    let found = fixture.read(vec![cell]).await.unwrap();
    assert_eq!(found, [register_entry(marks, Some(1), Some(&[2]))]);
    // A message on a stream.
    let packet = ToSwitch::Packet(p4::PacketOut {
        payload: vec![0; limits.stream_message_bytes].into(),
        ..Default::default()
    });
    stream.send(packet).await;
    let status = stream.next().await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("65536 bytes"), "{status:?}");
    fixture.stop().await;
}

/// Connections on which nothing comes kept all others out for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_give_their_places_back() {
    let options = ServerOptions {
        limits: Limits {
            connections: 4,
            // On a machine that is busy, a right client may be late by tenths of a second.
            opening: Duration::from_secs(3),
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let any_port = "127.0.0.1:0".parse().unwrap();
    let server = Server::bind_with(any_port, Vec::new(), &options);
    let server = server.await.unwrap();
    let address = server.local_address().tcp().unwrap();
    let serving = tokio::spawn(server.serve(std::future::pending()));
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(tokio::net::TcpStream::connect(address).await.unwrap());
    }
    // How far the last try came, for whoever sees this fail.
    let mut tries = 0;
    let mut reached = String::new();
    let asked = async {
        loop {
            tries += 1;
            reached = "it connects".to_owned();
            match P4RuntimeClient::connect(format!("http://{address}")).await {
                Err(error) => reached = error.to_string(),
                Ok(mut client) => {
                    reached = "it waits for an answer".to_owned();
                    let request = p4::CapabilitiesRequest::default();
                    match client.capabilities(request).await {
                        Ok(_) => break,
                        Err(status) => reached = status.to_string(),
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let answered = tokio::time::timeout(Duration::from_secs(120), asked).await;
    assert!(
        answered.is_ok(),
        "no place became free; try {tries}: {reached}"
    );
    drop(silent);
    serving.abort();
}
