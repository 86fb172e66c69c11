// SPDX-License-Identifier: Apache-2.0
//! A client that asks for much and takes nothing does not keep others from reading.

use std::time::Duration;

use crate::common::*;
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use grpc_services::{Limits, ServerOptions};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

/// A client of its own connection, with HTTP/2's smallest windows.
async fn other(fixture: &Fixture) -> P4RuntimeClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", fixture.address)).unwrap();
    let endpoint = endpoint
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(65_535);
    P4RuntimeClient::new(endpoint.connect().await.unwrap())
}

/// Asks for all registers and takes nothing.
async fn ask(client: &mut P4RuntimeClient<Channel>) -> Result<Streaming<p4::ReadResponse>, Status> {
    let request = p4::ReadRequest {
        device_id: DEVICE_ID,
        entities: vec![p4::Entity {
            entity: Some(register_entry(0, None, None)),
        }],
        ..Default::default()
    };
    Ok(client.read(request).await?.into_inner())
}

async fn start(stall: Duration) -> (Fixture, Stream) {
    let options = ServerOptions {
        limits: Limits {
            // As the default is to programs that may take a GiB.
            share: 64 << 10,
            pool: 8 << 20,
            stall,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let mut fixture = Fixture::start_with(&[DEVICE_ID], &options).await;
    let mut stream = fixture.open_stream().await;
    stream.arbitrate(Some(1)).await;
    stream.arbitration().await;
    fixture
        .set_pipeline(Action::VerifyAndCommit, Some(config("cm")))
        .await
        .unwrap();
    (fixture, stream)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_nothing_does_not_hurt_others() {
    let (mut fixture, _stream) = start(Duration::from_secs(3600)).await;
    let cell = register_entry(fixture.register("aqm_drop_prob"), Some(1), None);
    let mut kept = Vec::new();
    let mut refused = Vec::new();
    // Three clients, each 33 times.
    for _ in 0..3 {
        let mut client = other(&fixture).await;
        for _ in 0..33 {
            match ask(&mut client).await {
                Ok(answer) => kept.push(answer),
                Err(status) => refused.push(status),
            }
        }
    }
    assert!(!kept.is_empty() && !refused.is_empty());
    for status in &refused {
        assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    }
    for _ in 0..10 {
        assert_eq!(fixture.read(vec![cell.clone()]).await.unwrap().len(), 1);
    }
    // When they are gone there is room for large answers again.
    drop(kept);
    let all = register_entry(0, None, None);
    for attempt in 0.. {
        match fixture.read(vec![all.clone()]).await {
            Ok(found) => {
                assert!(found.len() > 1000);
                break;
            }
            Err(status) => assert!(attempt < 1000, "{status:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_not_taken_ends() {
    let (fixture, _stream) = start(Duration::from_secs(1)).await;
    let mut client = other(&fixture).await;
    let mut kept = Vec::new();
    while let Ok(answer) = ask(&mut client).await {
        kept.push(answer);
    }
    assert!(!kept.is_empty());
    // The room is there again although the client still holds its streams.
    for attempt in 0.. {
        if ask(&mut client).await.is_ok() {
            break;
        }
        assert!(attempt < 4000, "answers are kept for ever");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // It hears why.
    let mut ended = 0;
    for mut answer in kept {
        let end = loop {
            match answer.message().await {
                Ok(Some(_)) => {}
                end => break end,
            }
        };
        if let Err(status) = end {
            assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
            assert!(status.message().contains("took nothing"), "{status:?}");
            ended += 1;
        }
    }
    assert!(ended > 0);
    fixture.stop().await;
}

/// An answer is charged before anybody takes it, also if it is no answer of P4Runtime.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_about_all_service_flows_is_charged_as_a_whole() {
    let options = ServerOptions {
        limits: Limits {
            share: 48 << 10,
            pool: 0,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let mut fixture = Fixture::start_with(&[DEVICE_ID], &options).await;
    let get = tm::GetRequest {
        device_id: DEVICE_ID,
    };
    fixture.traffic_manager.get(get).await.unwrap();
    let flow = |queue_id| tm::ServiceFlowConfig {
        queue: Some(tm::QueueId { port: 1, queue_id }),
        ..Default::default()
    };
    for first in (1..4000).step_by(40) {
        let request = tm::ConfigureRequest {
            device_id: DEVICE_ID,
            service_flows: (first..first + 40).map(flow).collect(),
            ..Default::default()
        };
        fixture.traffic_manager.configure(request).await.unwrap();
    }
    let status = fixture.traffic_manager.get(get).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.message().contains("this connection"), "{status:?}");
    let lateness = tm::GetLatenessRequest {
        device_id: DEVICE_ID,
    };
    fixture
        .traffic_manager
        .get_lateness(lateness)
        .await
        .unwrap();
    fixture.stop().await;
}
