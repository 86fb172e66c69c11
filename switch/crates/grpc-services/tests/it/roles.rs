// SPDX-License-Identifier: Apache-2.0
//! Roles: Stratum's configuration of them, which finsy sends, and what is left of one.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use p4::stream_message_request::Update as ToSwitch;
use p4::stream_message_response::Update as FromSwitch;
use prost::Message;
use tonic::Code;

/// `stratum.P4RoleConfig`, as far as it is used here.
#[derive(Clone, PartialEq, Message)]
struct RoleConfig {
    #[prost(uint32, repeated, tag = "1")]
    exclusive_p4_ids: Vec<u32>,
    #[prost(bool, tag = "4")]
    receives_packet_ins: bool,
    #[prost(bool, tag = "5")]
    can_push_pipeline: bool,
}

fn arbitration(role: &str, config: Option<&RoleConfig>, id: u64) -> ToSwitch {
    let config = config.map(|config| prost_types::Any {
        type_url: "type.googleapis.com/stratum.P4RoleConfig".into(),
        value: config.encode_to_vec(),
    });
    ToSwitch::Arbitration(p4::MasterArbitrationUpdate {
        device_id: DEVICE_ID,
        role: Some(p4::Role {
            name: role.into(),
            config,
            ..Default::default()
        }),
        election_id: election_id(id),
        ..Default::default()
    })
}

fn write(role: &str, update: p4::Update) -> p4::WriteRequest {
    p4::WriteRequest {
        device_id: DEVICE_ID,
        role: role.into(),
        election_id: election_id(1),
        updates: vec![update],
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_does_what_its_configuration_says() {
    let (mut fixture, _primary) = Fixture::start_program("entities").await;
    let mut client = fixture.client.clone();
    let (marks, wide) = (fixture.id("marks"), fixture.id("seen"));
    let reader = RoleConfig {
        receives_packet_ins: true,
        ..Default::default()
    };
    let writer = RoleConfig {
        exclusive_p4_ids: vec![marks],
        can_push_pipeline: true,
        ..Default::default()
    };
    let mut streams = Vec::new();
    for (role, config) in [("reader", &reader), ("writer", &writer)] {
        let mut stream = fixture.open_stream().await;
        stream.send(arbitration(role, Some(config), 1)).await;
        let FromSwitch::Arbitration(told) = stream.next().await.unwrap() else {
            panic!("not an arbitration");
        };
        assert_eq!(told.status.unwrap().code, Code::Ok as i32);
        let given = told.role.unwrap().config.unwrap();
        assert_eq!(RoleConfig::decode(given.value.as_slice()).unwrap(), *config);
        streams.push(stream);
    }
    let cell = modify(register_entry(marks, Some(1), Some(&[7])));
    client.write(write("writer", cell.clone())).await.unwrap();
    let counter = modify(p4::entity::Entity::CounterEntry(p4::CounterEntry {
        counter_id: wide,
        ..Default::default()
    }));
    for (role, update) in [("reader", cell.clone()), ("writer", counter)] {
        let status = client.write(write(role, update)).await.unwrap_err();
        assert_eq!(errors(&status)[0].0, Code::PermissionDenied, "{role}");
    }
    // The default role has everything.
    client.write(write("", cell)).await.unwrap();
    let push = |role: &str| p4::SetForwardingPipelineConfigRequest {
        device_id: DEVICE_ID,
        role: role.into(),
        election_id: election_id(1),
        action: Action::Verify as i32,
        config: Some(config("entities")),
        ..Default::default()
    };
    let status = client.set_forwarding_pipeline_config(push("reader")).await;
    assert_eq!(status.unwrap_err().code(), Code::PermissionDenied);
    client
        .set_forwarding_pipeline_config(push("writer"))
        .await
        .unwrap();
    // What one has for itself no other can have.
    let mut other = fixture.open_stream().await;
    other.send(arbitration("other", Some(&writer), 1)).await;
    let status = other.next().await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("writer"), "{status:?}");
    // A role ends with its last stream.
    drop(streams);
    for attempt in 0.. {
        let mut again = fixture.open_stream().await;
        again.send(arbitration("other", Some(&writer), 1)).await;
        if again.next().await.is_ok() {
            break;
        }
        assert!(attempt < 1000, "the role is still there");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_are_bounded() {
    let mut fixture = Fixture::start().await;
    let mut stream = fixture.open_stream().await;
    let name = "r".repeat(3000);
    stream.send(arbitration(&name, None, 1)).await;
    let status = stream.next().await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("3000 bytes"), "{status:?}");
    fixture.stop().await;
}
