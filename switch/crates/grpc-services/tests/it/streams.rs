// SPDX-License-Identifier: Apache-2.0
//! StreamChannel, the traffic manager's service, and the server's life.

use std::time::Duration;

use crate::common::*;
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::{Limits, Server, ServerError, ServerOptions};
use p4::stream_message_request::Update as ToSwitch;
use p4::stream_message_response::Update as FromSwitch;
use tonic::Code;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_primary_is_elected_and_everybody_is_told() {
    let mut fixture = Fixture::start().await;
    let mut first = fixture.open_stream().await;
    let mut second = fixture.open_stream().await;
    first.arbitrate(Some(1)).await;
    assert_eq!(first.arbitration().await, (Code::Ok, Some(1)));
    second.arbitrate(Some(2)).await;
    assert_eq!(second.arbitration().await, (Code::Ok, Some(2)));
    assert_eq!(first.arbitration().await, (Code::AlreadyExists, Some(2)));
    // The fixture writes as election id 1, which is a backup's now.
    let status = fixture.write(Vec::new()).await.unwrap_err();
    assert_eq!(status.code(), Code::PermissionDenied);

    drop(second);
    assert_eq!(first.arbitration().await, (Code::NotFound, Some(2)));
    first.arbitrate(Some(2)).await;
    assert_eq!(first.arbitration().await, (Code::Ok, Some(2)));

    let mut rival = fixture.open_stream().await;
    rival.arbitrate(Some(2)).await;
    assert_eq!(
        rival.next().await.unwrap_err().code(),
        Code::InvalidArgument
    );
    let mut lost = fixture.open_stream().await;
    lost.send(ToSwitch::Arbitration(p4::MasterArbitrationUpdate {
        device_id: 99,
        ..Default::default()
    }))
    .await;
    assert_eq!(lost.next().await.unwrap_err().code(), Code::NotFound);
    fixture.stop().await;
}

fn packet_out(fixture: &Fixture, set: &[(&str, &[u8])], payload: &'static [u8]) -> ToSwitch {
    let mut headers = fixture.info.controller_packet_metadata.iter();
    let header = headers.find(|header| header.preamble.as_ref().unwrap().name == "packet_out");
    let metadata = header.unwrap().metadata.iter().map(|field| {
        let value = set.iter().find(|(name, _)| *name == field.name);
        p4::PacketMetadata {
            metadata_id: field.id,
            value: value.map_or(vec![0], |(_, value)| value.to_vec()),
        }
    });
    ToSwitch::Packet(p4::PacketOut {
        payload: payload.into(),
        metadata: metadata.collect(),
    })
}

fn metadata(fixture: &Fixture, packet: &p4::PacketIn, name: &str) -> Vec<u8> {
    let mut headers = fixture.info.controller_packet_metadata.iter();
    let header = headers.find(|header| header.preamble.as_ref().unwrap().name == "packet_in");
    let mut fields = header.unwrap().metadata.iter();
    let id = fields.find(|field| field.name == name).unwrap().id;
    let mut metadata = packet.metadata.iter();
    let found = metadata.find(|metadata| metadata.metadata_id == id);
    found.unwrap().value.clone()
}

const FRAME: [u8; 60] = {
    let mut frame = [0xab; 60];
    (frame[12], frame[13]) = (0x88, 0xb5);
    frame
};

/// As long as a frame may be, of no protocol that anybody knows.
const LONGEST: [u8; device::LONGEST_FRAME] = {
    let mut frame = [0xab; device::LONGEST_FRAME];
    (frame[12], frame[13]) = (0x88, 0xb5);
    frame
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_packet_out_is_no_longer_than_a_frame() {
    let (fixture, mut stream) = Fixture::start_cm().await;
    let mut headers = fixture.info.controller_packet_metadata.iter();
    let header = headers.find(|header| header.preamble.as_ref().unwrap().name == "packet_out");
    let bits = header.unwrap().metadata.iter().map(|field| field.bitwidth);
    let fits = LONGEST.len() - bits.sum::<i32>() as usize / 8;
    let to_port_2: &[(&str, &[u8])] = &[("op", &[0]), ("egress_port", &[2])];
    for length in [fits + 1, fits] {
        let packet = packet_out(&fixture, to_port_2, &LONGEST[..length]);
        stream.send(packet).await;
    }
    let FromSwitch::Error(error) = stream.next().await.unwrap() else {
        panic!("not an error");
    };
    assert_eq!(Code::from(error.canonical_code), Code::InvalidArgument);
    assert!(error.message.contains("16385 bytes"), "{}", error.message);
    let frame = fixture.frames.recv_timeout(Duration::from_secs(10));
    assert_eq!(frame.unwrap(), (2, LONGEST[..fits].to_vec()));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_go_out_and_come_in() {
    let (mut fixture, mut stream) = Fixture::start_cm().await;
    let transmit = packet_out(&fixture, &[("op", &[0]), ("egress_port", &[2])], &FRAME);
    stream.send(transmit.clone()).await;
    let frame = fixture.frames.recv_timeout(Duration::from_secs(10));
    assert_eq!(frame.unwrap(), (2, FRAME.to_vec()));

    // READ, answered by a packet-in with the state of service flow 3.
    let id = fixture.register("aqm_drop_prob");
    let cell = register_entry(id, Some(3), Some(&[1, 2, 3, 4]));
    fixture
        .write(vec![update(Type::Modify, cell)])
        .await
        .unwrap();
    let set: &[(&str, &[u8])] = &[("op", &[1]), ("service_flow", &[3]), ("request_id", &[77])];
    stream.send(packet_out(&fixture, set, b"")).await;
    let FromSwitch::Packet(packet) = stream.next().await.unwrap() else {
        panic!("not a packet");
    };
    assert!(packet.payload.is_empty());
    assert_eq!(metadata(&fixture, &packet, "request_id"), [77]);
    assert_eq!(metadata(&fixture, &packet, "drop_prob"), [1, 2, 3, 4]);
    assert_eq!(metadata(&fixture, &packet, "qdelay_old"), [0]);
    assert_eq!(metadata(&fixture, &packet, "ingress_port"), [255]);
    assert_ne!(metadata(&fixture, &packet, "timestamp"), [0]);

    // Bad metadata, and a client that is not the primary.
    let bare = ToSwitch::Packet(p4::PacketOut::default());
    let mut backup = fixture.open_stream().await;
    backup.send(bare.clone()).await;
    backup.arbitrate(None).await;
    backup.send(transmit).await;
    stream.send(bare).await;
    let error = |update| match update {
        FromSwitch::Error(error) => {
            let details = error.details.clone();
            assert!(matches!(
                details,
                Some(p4::stream_error::Details::PacketOut(_))
            ));
            (Code::from(error.canonical_code), error.message)
        }
        other => panic!("not an error: {other:?}"),
    };
    let (code, message) = error(stream.next().await.unwrap());
    assert_eq!(code, Code::InvalidArgument);
    assert!(message.contains("op"), "{message}");
    assert_eq!(
        error(backup.next().await.unwrap()).0,
        Code::PermissionDenied
    );
    assert_eq!(backup.arbitration().await.0, Code::AlreadyExists);
    assert_eq!(
        error(backup.next().await.unwrap()).0,
        Code::PermissionDenied
    );
    assert!(fixture.frames.try_recv().is_err(), "nothing of it was sent");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_holds_nobody_up() {
    // On a busy machine the answers take longer than the patience that a stream has by default, and
    // one that was ended for it takes nothing more.
    let options = ServerOptions {
        limits: Limits {
            stall: Duration::from_secs(3600),
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    let (mut fixture, stream) = Fixture::start_program_with("cm", &options).await;
    // More answers than any queue between here and there holds.
    let read = packet_out(&fixture, &[("op", &[1])], b"");
    for _ in 0..20_000 {
        stream.send(read.clone()).await;
    }
    fixture.write(Vec::new()).await.unwrap();
    let id = fixture.register("controller_heartbeat");
    let found = fixture.read(vec![register_entry(id, Some(0), None)]).await;
    assert_eq!(found.unwrap().len(), 1);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_traffic_manager_is_configured_and_read() {
    let mut fixture = Fixture::start().await;
    let queue = tm::QueueId {
        port: 1,
        queue_id: 1,
    };
    let flow = tm::ServiceFlowConfig {
        queue: Some(queue),
        max_sustained_rate: 20_000_000,
        max_burst: 500_000,
        peak_rate: 25_000_000,
        initial_tokens: Some(1522),
        queue_limit: 0,
        traffic_priority: 3,
        min_reserved_rate: 1_000_000,
        assumed_packet_size: 256,
        sub_queues: 32,
        ack_suppression: 0,
        round_robin: 0,
    };
    let port = tm::PortConfig {
        port: 2,
        receive_delay_ns: 10_000_000,
        framing: Some(tm::Framing {
            packet: 188,
            header: 4,
            frame_header: 6,
            own_packets: true,
        }),
        ..Default::default()
    };
    let request = tm::ConfigureRequest {
        device_id: DEVICE_ID,
        ports: vec![port],
        service_flows: vec![flow],
        removed: Vec::new(),
        ..Default::default()
    };
    fixture
        .traffic_manager
        .configure(request.clone())
        .await
        .unwrap();
    let get = tm::GetRequest {
        device_id: DEVICE_ID,
    };
    let state = fixture.traffic_manager.get(get).await.unwrap().into_inner();
    assert!(state.now_ns > 0);
    let ports = state.ports.iter().filter_map(|port| port.config);
    assert!(ports.collect::<Vec<_>>().contains(&port));
    let flows = state.service_flows;
    assert_eq!(flows.len(), 1);
    let config = flows[0].config.as_ref().unwrap();
    assert_eq!(config.queue, Some(queue));
    assert_eq!(config.max_sustained_rate, 20_000_000);
    assert_eq!(config.min_reserved_rate, 1_000_000);
    assert_eq!(config.assumed_packet_size, 256);
    assert_eq!(config.sub_queues, 32);
    assert_eq!(flows[0].reserved, Some(tm::Traffic::default()));
    assert!(flows[0].sustained_tokens >= 1522 * 8_000_000);
    assert_eq!(flows[0].queued, Some(tm::Traffic::default()));
    assert_eq!(flows[0].suppressed, Some(tm::Traffic::default()));

    let mut safe = request.clone();
    safe.service_flows[0].sub_queues = 0;
    safe.service_flows[0].ack_suppression = tm::AckSuppression::Safe.into();
    fixture.traffic_manager.configure(safe).await.unwrap();
    let state = fixture.traffic_manager.get(get).await.unwrap().into_inner();
    let config = state.service_flows[0].config.as_ref().unwrap();
    assert_eq!(config.ack_suppression(), tm::AckSuppression::Safe);

    type Change = fn(&mut tm::ConfigureRequest);
    let changes: [(Change, Code, &str); 12] = [
        (|request| request.device_id = 5, Code::NotFound, "device 5"),
        (
            |request| request.service_flows[0].max_burst = 100,
            Code::InvalidArgument,
            "max_burst",
        ),
        (
            |request| request.service_flows[0].min_reserved_rate = 20_000_001,
            Code::InvalidArgument,
            "port 1 queue 1: min_reserved_rate is 20000001 bit/s",
        ),
        (
            |request| request.service_flows[0].assumed_packet_size = 1 << 16,
            Code::InvalidArgument,
            "assumed_packet_size",
        ),
        (
            |request| request.service_flows[0].sub_queues = 257,
            Code::InvalidArgument,
            "port 1 queue 1: sub_queues is 257, more than 256",
        ),
        (
            |request| request.service_flows[0].ack_suppression = 2,
            Code::InvalidArgument,
            "port 1 queue 1: ack_suppression needs one queue, but sub_queues is 32",
        ),
        (
            |request| request.service_flows[0].ack_suppression = 9,
            Code::InvalidArgument,
            "port 1 queue 1: ack_suppression is 9",
        ),
        (
            |request| request.ports[0].framing.as_mut().unwrap().header = 188,
            Code::InvalidArgument,
            "port 2: framing.header is 188 bytes",
        ),
        (
            |request| request.service_flows[0].queue = None,
            Code::InvalidArgument,
            "queue",
        ),
        (
            |request| request.service_flows[0].traffic_priority = 300,
            Code::InvalidArgument,
            "traffic_priority",
        ),
        (
            |request| request.ports[0].port = 1 << 16,
            Code::InvalidArgument,
            "port",
        ),
        (
            |request| request.ports[0].port = 9,
            Code::InvalidArgument,
            "port 9",
        ),
    ];
    for (change, code, words) in changes {
        let mut request = request.clone();
        change(&mut request);
        let status = fixture.traffic_manager.configure(request).await;
        let status = status.unwrap_err();
        assert_eq!(status.code(), code, "{status:?}");
        assert!(status.message().contains(words), "{status:?}");
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn capabilities_and_a_server_that_ends_with_open_streams() {
    let mut fixture = Fixture::start().await;
    let capabilities = fixture
        .client
        .capabilities(p4::CapabilitiesRequest::default());
    let capabilities = capabilities.await.unwrap().into_inner();
    assert_eq!(capabilities.p4runtime_api_version, "1.5.0");
    let mut stream = fixture.open_stream().await;
    stream.arbitrate(Some(1)).await;
    stream.arbitration().await;

    // Its address is taken while it lives.
    let error = Server::bind(fixture.address.into(), Vec::new())
        .await
        .unwrap_err();
    assert!(matches!(error, ServerError::Bind(..)));
    let words = error.to_string();
    assert!(
        words.contains(&fixture.address.to_string()) && words.contains("--grpc-server-addr"),
        "{words}"
    );
    fixture.stop().await;
    assert_eq!(stream.next().await.unwrap_err().code(), Code::Unavailable);
}
