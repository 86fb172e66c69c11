// SPDX-License-Identifier: Apache-2.0
//! Batches that are all or none: what succeeded before an update fails is undone,
//! for every kind of entity.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use p4::entity::Entity;
use p4::packet_replication_engine_entry::Type as Replication;
use p4::table_action::Type as Choice;
use tonic::{Code, Status};

fn replicas(ports: &[u8]) -> Vec<p4::Replica> {
    let replicas = ports.iter().map(|port| p4::Replica {
        port_kind: Some(p4::replica::PortKind::Port(vec![*port])),
        ..Default::default()
    });
    replicas.collect()
}

fn multicast(id: u32, ports: &[u8]) -> Entity {
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(Replication::MulticastGroupEntry(p4::MulticastGroupEntry {
            multicast_group_id: id,
            replicas: replicas(ports),
            metadata: b"note".to_vec(),
        })),
    })
}

fn clone_session(id: u32, ports: &[u8]) -> Entity {
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(Replication::CloneSessionEntry(p4::CloneSessionEntry {
            session_id: id,
            replicas: replicas(ports),
            class_of_service: 0,
            packet_length_bytes: 64,
        })),
    })
}

fn value_set(id: u32, types: &[&[u8]]) -> Entity {
    let members = types.iter().map(|value| p4::ValueSetMember {
        r#match: vec![exact(1, value)],
    });
    Entity::ValueSetEntry(p4::ValueSetEntry {
        value_set_id: id,
        members: members.collect(),
    })
}

fn digest(id: u32, max_list_size: i32) -> Entity {
    Entity::DigestEntry(p4::DigestEntry {
        digest_id: id,
        config: Some(p4::digest_entry::Config {
            max_timeout_ns: 1000,
            max_list_size,
            ack_timeout_ns: 2000,
        }),
    })
}

fn member(profile: u32, id: u32, forward: u32, port: u8) -> Entity {
    Entity::ActionProfileMember(p4::ActionProfileMember {
        action_profile_id: profile,
        member_id: id,
        action: Some(bare_action(forward, &[&[port]])),
    })
}

fn group(profile: u32, id: u32, members: &[u32]) -> Entity {
    let members = members.iter().map(|id| p4::action_profile_group::Member {
        member_id: *id,
        weight: 1,
        watch_kind: None,
    });
    Entity::ActionProfileGroup(p4::ActionProfileGroup {
        action_profile_id: profile,
        group_id: id,
        members: members.collect(),
        max_size: 4,
    })
}

/// Entities to begin with, and updates of every kind that change them.
fn before_and_changes(fixture: &Fixture) -> (Vec<p4::Update>, Vec<p4::Update>) {
    let id = |alias| fixture.id(alias);
    let (balancer, forward) = (id("balancer"), id("forward"));
    let meter_config = |rate| {
        Some(p4::MeterConfig {
            cir: rate,
            cburst: 1,
            pir: rate,
            pburst: 1,
            eburst: 0,
        })
    };
    let counter_data = |packets| {
        Some(p4::CounterData {
            packet_count: packets,
            byte_count: packets * 100,
        })
    };
    let station = |address: u8, rate, packets, note: &[u8]| {
        table_entry(p4::TableEntry {
            table_id: id("stations"),
            r#match: vec![exact(1, &[address])],
            action: action(id("known"), &[]),
            meter_config: meter_config(rate),
            counter_data: counter_data(packets),
            metadata: note.to_vec(),
            idle_timeout_ns: 1_000_000_000_000,
            ..Default::default()
        })
    };
    let route = |prefix: u8, group| {
        table_entry(p4::TableEntry {
            table_id: id("balanced"),
            r#match: vec![lpm(1, &[prefix, 0, 0, 0, 0, 0], 8)],
            action: table_action(Choice::ActionProfileGroupId(group)),
            ..Default::default()
        })
    };
    let default_entry = |alias| {
        table_entry(p4::TableEntry {
            table_id: id("filters"),
            is_default_action: true,
            action: action(id(alias), &[]),
            metadata: alias.as_bytes().to_vec(),
            ..Default::default()
        })
    };
    let register = |index, value: &[u8]| register_entry(id("marks"), index, Some(value));
    let counter = |index: Option<i64>, packets| {
        Entity::CounterEntry(p4::CounterEntry {
            counter_id: id("seen"),
            index: index.map(|index| p4::Index { index }),
            data: counter_data(packets),
        })
    };
    let meter = |index: Option<i64>, rate| {
        Entity::MeterEntry(Box::new(p4::MeterEntry {
            meter_id: id("rates"),
            index: index.map(|index| p4::Index { index }),
            config: meter_config(rate),
            counter_data: None,
        }))
    };
    let (types, learn) = (id("trusted_types"), id("learn_t"));
    let before = vec![
        insert(member(balancer, 1, forward, 1)),
        insert(member(balancer, 2, forward, 2)),
        insert(group(balancer, 1, &[1, 2])),
        insert(group(balancer, 2, &[2])),
        insert(station(1, 5, 50, b"one")),
        insert(station(2, 6, 60, b"two")),
        insert(route(1, 1)),
        modify(default_entry("mirror")),
        modify(register(Some(2), &[22])),
        modify(counter(Some(1), 11)),
        modify(meter(Some(1), 7)),
        modify(value_set(types, &[&[8, 0]])),
        insert(digest(learn, 3)),
        insert(multicast(1, &[1, 2])),
        insert(multicast(2, &[1])),
        insert(clone_session(7, &[1])),
        insert(clone_session(8, &[2])),
    ];
    let changes = vec![
        insert(member(balancer, 3, forward, 3)),
        modify(member(balancer, 1, forward, 9)),
        insert(group(balancer, 3, &[3])),
        modify(group(balancer, 1, &[3])),
        delete(group(balancer, 2, &[])),
        delete(member(balancer, 2, forward, 2)),
        insert(station(3, 8, 80, b"three")),
        modify(station(1, 9, 90, b"changed")),
        delete(station(2, 0, 0, b"")),
        insert(route(2, 3)),
        modify(route(1, 3)),
        modify(default_entry("drop")),
        modify(register(None, &[1])),
        modify(register(Some(3), &[2])),
        modify(counter(None, 1)),
        modify(counter(Some(3), 2)),
        modify(meter(None, 1)),
        modify(meter(Some(3), 2)),
        modify(value_set(types, &[&[1], &[2]])),
        modify(digest(learn, 9)),
        delete(digest(learn, 0)),
        insert(multicast(3, &[3])),
        modify(multicast(1, &[3])),
        delete(multicast(2, &[])),
        insert(clone_session(9, &[3])),
        modify(clone_session(7, &[3])),
        delete(clone_session(8, &[])),
    ];
    (before, changes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_fails_leaves_no_trace() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let (before, changes) = before_and_changes(&fixture);
    for update in before {
        fixture.write(vec![update]).await.unwrap();
    }
    let state = fixture.everything().await;
    // Fails on the device, and fails before it gets there.
    let late = modify(multicast(99, &[1]));
    let early = modify(multicast(0, &[1]));
    for (bad, code) in [(late, Code::NotFound), (early, Code::InvalidArgument)] {
        for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
            let mut batch = changes.clone();
            batch.push(bad.clone());
            let status = fixture.write_as(atomicity, batch).await.unwrap_err();
            let errors = errors(&status);
            assert_eq!(errors.len(), changes.len() + 1);
            assert_eq!(errors[changes.len()].0, code);
            for (n, (code, words)) in errors[..changes.len()].iter().enumerate() {
                assert_eq!(*code, Code::Aborted, "update {n}: {words}");
            }
            assert_eq!(fixture.everything().await, state);
        }
    }
    // And without the bad one each of them succeeds.
    fixture
        .write_as(Atomicity::DataplaneAtomic, changes)
        .await
        .unwrap();
    assert_ne!(fixture.everything().await, state);
    fixture.stop().await;
}

/// They are one operation inside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cells_in_a_row_are_answered_and_undone_each() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let id = fixture.register("aqm_drop_prob");
    let cells = |value: u8| (0..8).map(move |n| register_entry(id, Some(n), Some(&[value])));
    let batch = |value, bad: &p4::Update| {
        let mut batch: Vec<_> = cells(value).map(modify).collect();
        batch.insert(5, bad.clone());
        batch
    };
    let codes =
        |status: &Status| -> Vec<_> { errors(status).into_iter().map(|error| error.0).collect() };
    // Fails before it gets to the device, and fails there.
    let early = modify(register_entry(id, Some(4096), Some(&[1])));
    let late = modify(multicast(99, &[1]));
    for (value, bad, code) in [(1, early, Code::OutOfRange), (2, late, Code::NotFound)] {
        let status = fixture.write(batch(value, &bad)).await.unwrap_err();
        let mut expected = [Code::Ok; 9];
        expected[5] = code;
        assert_eq!(codes(&status), expected);
        let state = fixture
            .read(vec![register_entry(id, None, None)])
            .await
            .unwrap();
        assert_eq!(state[..8], cells(value).collect::<Vec<_>>());

        let atomic = fixture
            .write_as(Atomicity::RollbackOnError, batch(9, &bad))
            .await;
        let status = atomic.unwrap_err();
        let mut expected = [Code::Aborted; 9];
        expected[5] = code;
        assert_eq!(codes(&status), expected);
        assert!(
            errors(&status)[0].1.contains("update 5 failed"),
            "{status:?}"
        );
        let found = fixture
            .read(vec![register_entry(id, None, None)])
            .await
            .unwrap();
        assert_eq!(found, state);
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn atomic_batches_are_bounded_and_unknown_modes_refused() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let id = fixture.id("marks");
    let many = vec![modify(register_entry(id, Some(1), Some(&[1]))); 2000];
    let status = fixture.write_as(Atomicity::DataplaneAtomic, many.clone());
    let status = status.await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("1024"), "{status:?}");
    fixture
        .write_as(Atomicity::RollbackOnError, many)
        .await
        .unwrap();
    let request = p4::WriteRequest {
        device_id: DEVICE_ID,
        election_id: election_id(1),
        atomicity: 9,
        ..Default::default()
    };
    let status = fixture.client.write(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_saved_is_replayed_and_reconciled() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let save = Some(config("entities"));
    fixture
        .set_pipeline(Action::VerifyAndSave, save)
        .await
        .unwrap();
    let (before, changes) = before_and_changes(&fixture);
    for update in before.into_iter().chain(changes) {
        fixture.write(vec![update]).await.unwrap();
    }
    let state = fixture.everything().await;
    fixture.set_pipeline(Action::Commit, None).await.unwrap();
    assert_eq!(fixture.everything().await, state);

    // Another config, with the same objects: all of it stays.
    let mut other = config("entities");
    other.p4_device_config = [other.p4_device_config.as_ref(), b"\n"].concat().into();
    fixture
        .set_pipeline(Action::ReconcileAndCommit, Some(other))
        .await
        .unwrap();
    assert_eq!(fixture.everything().await, state);
    // One without the table of an entry: nothing changes.
    let status = fixture
        .set_pipeline(Action::ReconcileAndCommit, Some(config("cm")))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(fixture.everything().await, state);
    fixture.stop().await;
}
