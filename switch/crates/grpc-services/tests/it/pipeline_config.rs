// SPDX-License-Identifier: Apache-2.0
//! SetForwardingPipelineConfig and GetForwardingPipelineConfig.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use prost::Message;
use prost::bytes::Bytes;
use tonic::Code;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_come_in_the_order_of_the_specification() {
    let mut fixture = Fixture::start().await;
    assert_eq!(fixture.pipeline(ResponseType::All).await, None);

    let other_device = p4::WriteRequest {
        device_id: 9,
        ..Default::default()
    };
    let status = fixture.client.write(other_device).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.message().contains("device 9"), "{status:?}");
    let other_role = p4::WriteRequest {
        device_id: DEVICE_ID,
        role: "nobody".into(),
        ..Default::default()
    };
    let status = fixture.client.write(other_role).await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);

    let code = fixture.write(Vec::new()).await.unwrap_err().code();
    assert_eq!(code, Code::PermissionDenied);
    let denied = fixture
        .set_pipeline(Action::VerifyAndCommit, Some(config("cm")))
        .await;
    assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);

    let mut stream = fixture.open_stream().await;
    stream.arbitrate(Some(1)).await;
    stream.arbitration().await;
    let code = fixture.write(Vec::new()).await.unwrap_err().code();
    assert_eq!(code, Code::FailedPrecondition);
    let code = fixture.read(Vec::new()).await.unwrap_err().code();
    assert_eq!(code, Code::FailedPrecondition);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verifies_commits_and_returns_the_config() {
    let mut fixture = Fixture::start().await;
    let mut stream = fixture.open_stream().await;
    stream.arbitrate(Some(1)).await;
    stream.arbitration().await;

    let code = |result: Result<(), tonic::Status>| result.unwrap_err().code();
    let unset = fixture.set_pipeline(Action::VerifyAndCommit, None).await;
    assert_eq!(code(unset), Code::InvalidArgument);
    let unspecified = fixture.set_pipeline(Action::Unspecified, None).await;
    assert_eq!(code(unspecified), Code::InvalidArgument);
    let unsaved = fixture.set_pipeline(Action::Commit, None).await;
    assert_eq!(code(unsaved), Code::NotFound);

    fixture
        .set_pipeline(Action::Verify, Some(config("cm")))
        .await
        .unwrap();
    assert_eq!(fixture.pipeline(ResponseType::All).await, None);

    let cookie = Some(p4::forwarding_pipeline_config::Cookie { cookie: 42 });
    let config = p4::ForwardingPipelineConfig {
        cookie,
        ..config("cm")
    };
    fixture
        .set_pipeline(Action::VerifyAndCommit, Some(config.clone()))
        .await
        .unwrap();
    let all = fixture.pipeline(ResponseType::All).await.unwrap();
    assert!(all == config, "what was set is what is returned");
    let only = fixture.pipeline(ResponseType::CookieOnly).await.unwrap();
    assert!(only.p4info.is_none() && only.p4_device_config.is_empty());
    assert_eq!(only.cookie, cookie);
    let info = fixture.pipeline(ResponseType::P4infoAndCookie).await;
    assert!(info.unwrap().p4info == config.p4info);
    let json = fixture.pipeline(ResponseType::DeviceConfigAndCookie).await;
    assert!(json.unwrap().p4_device_config == config.p4_device_config);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_saved_config_takes_writes_until_it_is_committed() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let id = fixture.register("aqm_drop_prob");
    let cell = |value: &[u8]| register_entry(id, Some(3), Some(value));
    let seen = register_entry(id, Some(3), None);
    fixture
        .write(vec![update(Type::Modify, cell(&[7]))])
        .await
        .unwrap();

    let wrapped = Legacy {
        device_data: config("cm").p4_device_config,
    };
    let config = p4::ForwardingPipelineConfig {
        p4_device_config: wrapped.encode_to_vec().into(),
        ..config("cm")
    };
    fixture
        .set_pipeline(Action::VerifyAndSave, Some(config))
        .await
        .unwrap();
    assert_eq!(
        fixture.read(vec![seen.clone()]).await.unwrap(),
        [cell(&[0])]
    );
    fixture
        .write(vec![update(Type::Modify, cell(&[9]))])
        .await
        .unwrap();
    assert_eq!(
        fixture.read(vec![seen.clone()]).await.unwrap(),
        [cell(&[9])]
    );

    let with_config = fixture
        .set_pipeline(Action::Commit, Some(crate::common::config("cm")))
        .await;
    assert_eq!(with_config.unwrap_err().code(), Code::InvalidArgument);
    fixture.set_pipeline(Action::Commit, None).await.unwrap();
    assert_eq!(fixture.read(vec![seen]).await.unwrap(), [cell(&[9])]);
    let again = fixture.set_pipeline(Action::Commit, None).await;
    assert_eq!(again.unwrap_err().code(), Code::NotFound);
    fixture.stop().await;
}

#[derive(Clone, PartialEq, Message)]
struct Legacy {
    #[prost(bytes = "bytes", tag = "3")]
    device_data: Bytes,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p4info_that_does_not_fit_the_json_is_refused_by_name() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    type Change = fn(&mut grpc_services::proto::p4::config::v1::P4Info);
    let changes: [(Change, &str); 6] = [
        (
            |info| info.tables[0].preamble.as_mut().unwrap().name = "missing".into(),
            "table missing",
        ),
        (|info| info.tables[0].match_fields[0].bitwidth = 10, "width"),
        (
            |info| info.tables[0].match_fields[0].name = "other".into(),
            "match field",
        ),
        (
            |info| {
                let with_params = |action: &&mut grpc_services::proto::p4::config::v1::Action| {
                    !action.params.is_empty()
                };
                info.actions.iter_mut().find(with_params).unwrap().params[0].bitwidth += 1;
            },
            "parameter",
        ),
        (
            |info| info.registers[0].preamble.as_mut().unwrap().name = "gone".into(),
            "register gone",
        ),
        (|info| info.registers[0].size += 1, "size"),
    ];
    for (change, words) in changes {
        let mut config = config("cm");
        change(config.p4info.as_mut().unwrap());
        let refused = fixture.set_pipeline(Action::Verify, Some(config)).await;
        let status = refused.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(words), "{status:?}");
    }
    for json in ["{", "{}", "no"] {
        let config = p4::ForwardingPipelineConfig {
            p4_device_config: json.into(),
            ..config("cm")
        };
        let refused = fixture.set_pipeline(Action::VerifyAndCommit, Some(config));
        let status = refused.await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert!(status.message().contains("p4_device_config"), "{status:?}");
    }
    let mut info = p4info("cm");
    info.registers[0].size += 1;
    let config = p4::ForwardingPipelineConfig {
        p4info: Some(info),
        ..config("cm")
    };
    let refused = fixture.set_pipeline(Action::Verify, Some(config)).await;
    assert!(refused.unwrap_err().message().contains("size"));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconciling_keeps_entries_and_groups() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let entry = p4::TableEntry {
        table_id: fixture.table("station"),
        r#match: vec![exact(1, &[1]), exact(2, &[5])],
        action: Some(p4::TableAction {
            r#type: Some(p4::table_action::Type::Action(p4::Action {
                action_id: fixture.action("flood"),
                params: Vec::new(),
            })),
        }),
        metadata: b"cookie".to_vec(),
        ..Default::default()
    };
    let entry = table_entry(entry);
    fixture
        .write(vec![update(Type::Insert, entry.clone())])
        .await
        .unwrap();
    let id = fixture.register("aqm_drop_prob");
    let cell = |value: u8| register_entry(id, Some(1), Some(&[value]));
    fixture
        .write(vec![update(Type::Modify, cell(4))])
        .await
        .unwrap();
    let selector = table_entry(p4::TableEntry {
        table_id: fixture.table("station"),
        ..Default::default()
    });

    // The same pipeline: nothing is lost, registers included.
    fixture
        .set_pipeline(Action::ReconcileAndCommit, Some(config("cm")))
        .await
        .unwrap();
    let seen = register_entry(id, Some(1), None);
    assert_eq!(fixture.read(vec![seen.clone()]).await.unwrap(), [cell(4)]);

    // Another one with the same tables: entries stay, a register of another size starts afresh.
    let mut other = config("cm");
    let mut json: serde_json::Value = serde_json::from_slice(&other.p4_device_config).unwrap();
    let registers = json["register_arrays"].as_array_mut().unwrap();
    let named = |array: &&mut serde_json::Value| array["name"] == "aqm_drop_prob";
    registers.iter_mut().find(named).unwrap()["size"] = 2.into();
    other.p4_device_config = json.to_string().into();
    let info = other.p4info.as_mut().unwrap();
    let named = |array: &&mut grpc_services::proto::p4::config::v1::Register| {
        array.preamble.as_ref().unwrap().id == id
    };
    info.registers.iter_mut().find(named).unwrap().size = 2;
    fixture
        .set_pipeline(Action::ReconcileAndCommit, Some(other))
        .await
        .unwrap();
    assert_eq!(fixture.read(vec![selector.clone()]).await.unwrap(), [entry]);
    assert_eq!(fixture.read(vec![seen]).await.unwrap(), [cell(0)]);

    fixture
        .set_pipeline(Action::VerifyAndCommit, Some(config("cm")))
        .await
        .unwrap();
    assert_eq!(fixture.read(vec![selector]).await.unwrap(), []);
    fixture.stop().await;
}
