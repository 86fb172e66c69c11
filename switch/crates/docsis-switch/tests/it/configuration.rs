// SPDX-License-Identifier: Apache-2.0
//! What one device takes at most of what clients configure, as `docs/switch.md` tells under "What a
//! configuration can take": as much of each kind as the switch accepts, and the resident memory.

use crate::common::{Switch, until};
use crate::hostile::{arbitrate, connect, election_id, resident};
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::docsis::tm::v1::traffic_manager_client::TrafficManagerClient;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use grpc_services::proto::p4::v1::stream_message_request::Update;
use tonic::Code;
use tonic::transport::Channel;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../v1model/tests/programs");

/// Bytes for the packets of a device's queues.
const PACKETS: u64 = 64 << 20;
/// Bytes for its service flows.
const FLOWS: u64 = 256 << 20;
/// Bytes for entries, groups and sessions with their metadata.
const ENTRIES: u64 = 256 << 20;
/// Bytes for what the one connection takes meanwhile, which is part of what clients may use up.
const CONNECTION: u64 = 28 << 20;

async fn configure(
    client: &mut TrafficManagerClient<Channel>,
    request: tm::ConfigureRequest,
) -> Result<(), tonic::Status> {
    client.configure(request).await.map(drop)
}

/// Port 1, which sends almost nothing and queues as much as it is given.
fn slow_port() -> tm::ConfigureRequest {
    tm::ConfigureRequest {
        ports: vec![tm::PortConfig {
            port: 1,
            rate: 1,
            queue_limit: 1 << 40,
            loop_back: true,
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Some service flows with as many sub-queues as there can be.
fn flows(from: u32) -> tm::ConfigureRequest {
    let flow = |queue_id| tm::ServiceFlowConfig {
        queue: Some(tm::QueueId { port: 1, queue_id }),
        sub_queues: 256,
        ..Default::default()
    };
    tm::ConfigureRequest {
        service_flows: (from..from + 500).map(flow).collect(),
        ..Default::default()
    }
}

/// A multicast group with as much metadata as an update may have.
fn group(multicast_group_id: u32) -> p4::WriteRequest {
    let group = p4::MulticastGroupEntry {
        multicast_group_id,
        metadata: vec![7; 255 << 10],
        ..Default::default()
    };
    let entity = Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(Replication::MulticastGroupEntry(group)),
    });
    p4::WriteRequest {
        election_id: election_id(1),
        updates: vec![p4::Update {
            r#type: p4::update::Type::Insert as i32,
            entity: Some(p4::Entity {
                entity: Some(entity),
            }),
        }],
        ..Default::default()
    }
}

#[test]
fn a_configuration_takes_no_more_than_the_documentation_says() {
    let switch = Switch::start_as(
        crate::common::PROGRAM.as_ref(),
        &[
            &format!("{PROGRAMS}/entities.json"),
            "--p4info",
            &format!("{PROGRAMS}/entities.p4info.txtpb"),
        ],
        &["--cpu-port", "255"],
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut client = connect(&switch.address).await;
        let (answer, (requests, mut answers)) = arbitrate(&mut client, "").await;
        answer.unwrap();
        let address = format!("http://{}", switch.address);
        let mut traffic_manager = TrafficManagerClient::connect(address).await.unwrap();
        configure(&mut traffic_manager, slow_port()).await.unwrap();
        let before = resident(&switch);
        let grown = || resident(&switch).saturating_sub(before);

        // More empty packets than the queues take.
        const SENT: u64 = 70_000;
        let to_port_1 = p4::PacketOut {
            metadata: (1..=2)
                .map(|metadata_id| p4::PacketMetadata {
                    metadata_id,
                    value: vec![u8::from(metadata_id == 1)],
                })
                .collect(),
            ..Default::default()
        };
        for _ in 0..SENT {
            let update = Some(Update::Packet(to_port_1.clone()));
            if requests
                .send(p4::StreamMessageRequest { update })
                .await
                .is_err()
            {
                panic!("the stream has ended: {:?}", answers.message().await);
            }
        }
        let (mut queued, mut lost) = (0, 0);
        until("the packets are queued or lost", || {
            let counters = &switch.port(1)["counters"];
            let frames = |name: &str| counters[name]["frames"].as_u64().unwrap();
            (queued, lost) = (frames("queued"), frames("queue_overflow"));
            // A burst of some has left.
            queued + lost + frames("sent") == SENT
        });
        assert!(queued == 65_536 && lost > 4_000, "{queued} {lost}");
        let packets = grown();
        assert!(packets < PACKETS + CONNECTION, "{packets} bytes");

        // As many service flows as there may be.
        let mut there = 1;
        let refused = loop {
            match configure(&mut traffic_manager, flows(there)).await {
                Ok(()) => there += 500,
                Err(status) => break status,
            }
        };
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains("268435456"), "{refused:?}");
        let flows = grown();
        assert!(there > 20_000 && flows > packets, "{there}: {flows} bytes");
        assert!(flows < packets + FLOWS + CONNECTION, "{flows} bytes");

        // As many groups with metadata as there may be.
        let mut there = 0;
        let refused = loop {
            match client.write(group(there + 1)).await {
                Ok(_) => there += 1,
                Err(status) => break status,
            }
        };
        assert!(refused.code() == Code::Unknown, "{refused:?}");
        let entries = grown();
        assert!(there > 1_000, "{there} groups, then {refused:?}");
        assert!(entries < flows + ENTRIES + CONNECTION, "{entries} bytes");
        eprintln!(
            "MiB: {} with packets, {} with flows, {} with {there} groups",
            packets >> 20,
            flows >> 20,
            entries >> 20
        );
        let most = PACKETS + FLOWS + ENTRIES + CONNECTION;
        assert!(entries < most, "{entries} bytes in all");
    });
}
