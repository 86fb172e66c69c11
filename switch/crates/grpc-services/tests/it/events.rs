// SPDX-License-Identifier: Apache-2.0
//! Digests and idle timeouts on the stream, and how they are configured; value
//! sets and clone sessions, by what they do to packets.

use std::time::Duration;

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use p4::entity::Entity;
use p4::p4_data::Data;
use p4::stream_message_request::Update as ToSwitch;
use p4::stream_message_response::Update as FromSwitch;
use tonic::Code;

fn frame(src: u8, ethertype: [u8; 2]) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[11] = src;
    frame[12..14].copy_from_slice(&ethertype);
    frame
}

fn digest(id: u32, config: Option<(i64, i32, i64)>) -> Entity {
    Entity::DigestEntry(p4::DigestEntry {
        digest_id: id,
        config: config.map(|(max_timeout_ns, max_list_size, ack_timeout_ns)| {
            p4::digest_entry::Config {
                max_timeout_ns,
                max_list_size,
                ack_timeout_ns,
            }
        }),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn digests_are_enabled_listed_and_acknowledged() {
    let (mut fixture, mut stream) = Fixture::start_program("entities").await;
    let id = fixture.id("learn_t");
    let learn = table_entry(p4::TableEntry {
        table_id: fixture.id("stations"),
        is_default_action: true,
        action: action(fixture.id("learn"), &[]),
        ..Default::default()
    });
    let long = 3_600_000_000_000;
    let on = digest(id, Some((long, 2, long)));
    for (update, code, words) in [
        (modify(on.clone()), Code::NotFound, "not enabled"),
        (delete(on.clone()), Code::NotFound, "not enabled"),
        (
            insert(digest(0, Some((0, 0, 0)))),
            Code::InvalidArgument,
            "digest_id",
        ),
        (insert(digest(9, Some((0, 0, 0)))), Code::NotFound, "9"),
        (insert(digest(id, None)), Code::InvalidArgument, "config"),
        (
            insert(digest(id, Some((-1, 0, 0)))),
            Code::InvalidArgument,
            "max_timeout_ns",
        ),
        (
            insert(digest(id, Some((0, -1, 0)))),
            Code::InvalidArgument,
            "max_list_size",
        ),
        (
            insert(digest(id, Some((0, 0, -1)))),
            Code::InvalidArgument,
            "ack_timeout_ns",
        ),
    ] {
        let (found, message) = fixture.write_fails(update).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(fixture.read(vec![digest(0, None)]).await.unwrap(), []);
    fixture
        .write(vec![modify(learn), insert(on.clone())])
        .await
        .unwrap();
    let (code, _) = fixture.write_fails(insert(on.clone())).await;
    assert_eq!(code, Code::AlreadyExists);
    for wanted in [0, id] {
        let found = fixture.read(vec![digest(wanted, None)]).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&on));
    }

    // A list of two, duplicates left out.
    for src in [1, 1, 2] {
        fixture.receive(2, &frame(src, [8, 0])).await;
    }
    let FromSwitch::Digest(list) = stream.next().await.unwrap() else {
        panic!("not a digest");
    };
    assert_eq!(list.digest_id, id);
    assert!(list.timestamp > 0);
    let cell = |value: u8| p4::P4Data {
        data: Some(Data::Bitstring(vec![value])),
    };
    let sample = |src| p4::P4Data {
        data: Some(Data::Struct(p4::P4StructLike {
            members: vec![cell(src), cell(2)],
        })),
    };
    assert_eq!(list.data, [sample(1), sample(2)]);

    // Acknowledged, the same is learnt again.
    let ack = |digest_id, list_id| ToSwitch::DigestAck(p4::DigestListAck { digest_id, list_id });
    stream.send(ack(77, list.list_id)).await;
    let FromSwitch::Error(error) = stream.next().await.unwrap() else {
        panic!("not an error");
    };
    assert_eq!(Code::from(error.canonical_code), Code::InvalidArgument);
    stream.send(ack(id, list.list_id)).await;
    // Streams and writes have no common order: until the device has it.
    let again = loop {
        for src in [1, 2] {
            fixture.receive(2, &frame(src, [8, 0])).await;
        }
        let next = tokio::time::timeout(Duration::from_millis(20), stream.next());
        if let Ok(next) = next.await {
            break next.unwrap();
        }
    };
    assert!(matches!(again, FromSwitch::Digest(again) if again.list_id != list.list_id));

    fixture.write(vec![delete(digest(id, None))]).await.unwrap();
    let status = fixture.read(vec![digest(id, None)]).await.unwrap_err();
    assert_eq!(errors(&status)[0].0, Code::NotFound);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_entries_are_reported_again_and_again() {
    let (mut fixture, mut stream) = Fixture::start_program("entities").await;
    let table_id = fixture.id("stations");
    let key = p4::TableEntry {
        table_id,
        r#match: vec![exact(1, &[1])],
        ..Default::default()
    };
    let entry = p4::TableEntry {
        action: action(fixture.id("known"), &[]),
        idle_timeout_ns: 20_000_000,
        metadata: b"m".to_vec(),
        ..key.clone()
    };
    fixture
        .write(vec![insert(table_entry(entry.clone()))])
        .await
        .unwrap();
    for _ in 0..2 {
        let FromSwitch::IdleTimeoutNotification(told) = stream.next().await.unwrap() else {
            panic!("not an idle timeout");
        };
        let expected = p4::TableEntry {
            action: None,
            ..entry.clone()
        };
        assert_eq!(told.table_entry, [expected]);
        assert!(told.timestamp > 0);
    }
    let select = |time_since_last_hit| {
        vec![table_entry(p4::TableEntry {
            time_since_last_hit,
            ..key.clone()
        })]
    };
    let found = fixture.read(select(None)).await.unwrap();
    assert_eq!(found, [table_entry(entry.clone())]);
    let found = fixture.read(select(Some(Default::default()))).await;
    let Entity::TableEntry(found) = &found.unwrap()[0] else {
        panic!("not an entry");
    };
    let elapsed = found.time_since_last_hit.as_ref().unwrap().elapsed_ns;
    assert!(elapsed > 0, "{elapsed}");

    let with = |change: fn(&mut p4::TableEntry)| {
        let mut changed = entry.clone();
        change(&mut changed);
        modify(table_entry(changed))
    };
    let ports = p4::TableEntry {
        table_id: fixture.id("ports"),
        r#match: vec![exact(1, &[1])],
        action: action(fixture.id("NoAction"), &[]),
        idle_timeout_ns: 1,
        ..Default::default()
    };
    for (update, words) in [
        (with(|entry| entry.idle_timeout_ns = -1), "negative"),
        (
            with(|entry| entry.time_since_last_hit = Some(Default::default())),
            "time_since_last_hit",
        ),
        (
            with(|entry| {
                entry.is_default_action = true;
                entry.r#match.clear();
            }),
            "idle",
        ),
        (insert(table_entry(ports)), "idle"),
    ] {
        let (code, message) = fixture.write_fails(update).await;
        assert_eq!(code, Code::InvalidArgument, "{message}");
        assert!(message.contains(words), "{message}");
    }
    fixture.stop().await;
}

/// P4Runtime 1.5, section 9.1.8: a target uses the smallest timeout that it can support, and what is
/// read is exactly what was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timeout_that_is_too_short_is_approximated() {
    let (mut fixture, mut stream) = Fixture::start_program("entities").await;
    let key = p4::TableEntry {
        table_id: fixture.id("stations"),
        r#match: vec![exact(1, &[1])],
        ..Default::default()
    };
    let entry = table_entry(p4::TableEntry {
        action: action(fixture.id("known"), &[]),
        idle_timeout_ns: 1,
        ..key.clone()
    });
    fixture.write(vec![insert(entry.clone())]).await.unwrap();
    let FromSwitch::IdleTimeoutNotification(told) = stream.next().await.unwrap() else {
        panic!("not an idle timeout");
    };
    assert_eq!(told.table_entry[0].idle_timeout_ns, 1);
    // The device still answers.
    let found = fixture.read(vec![table_entry(key)]).await.unwrap();
    assert_eq!(found, [entry]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn value_sets_are_replaced_as_a_whole() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let id = fixture.id("trusted_types");
    let set = |id, types: &[&[u8]]| {
        let members = types.iter().map(|value| p4::ValueSetMember {
            r#match: vec![exact(1, value)],
        });
        Entity::ValueSetEntry(p4::ValueSetEntry {
            value_set_id: id,
            members: members.collect(),
        })
    };
    let empty = set(id, &[]);
    let found = fixture.read(vec![set(0, &[])]).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&empty));
    let padded = set(id, &[&[0, 8, 0], &[0x86, 0xdd]]);
    fixture.write(vec![modify(padded)]).await.unwrap();
    let canonical = set(id, &[&[8, 0], &[0x86, 0xdd]]);
    let found = fixture.read(vec![set(id, &[])]).await.unwrap();
    assert_eq!(found, std::slice::from_ref(&canonical));
    let five: [&[u8]; 5] = [&[1], &[2], &[3], &[4], &[5]];
    for (update, code, words) in [
        (insert(empty.clone()), Code::InvalidArgument, "MODIFY"),
        (delete(empty.clone()), Code::InvalidArgument, "MODIFY"),
        (modify(set(0, &[])), Code::InvalidArgument, "value_set_id"),
        (modify(set(9, &[])), Code::NotFound, "9"),
        (modify(set(id, &five)), Code::ResourceExhausted, "size is 4"),
        (
            modify(set(id, &[&[1], &[0, 1]])),
            Code::AlreadyExists,
            "twice",
        ),
        (modify(set(id, &[&[1, 0, 0]])), Code::OutOfRange, "16 bits"),
        (modify(set(id, &[&[]])), Code::OutOfRange, "empty"),
    ] {
        let (found, message) = fixture.write_fails(update).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let found = fixture.read(vec![set(id, &[])]).await.unwrap();
    assert_eq!(found, [canonical]);
    fixture.write(vec![modify(empty.clone())]).await.unwrap();
    assert_eq!(fixture.read(vec![set(id, &[])]).await.unwrap(), [empty]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clone_sessions_mirror_and_truncate() {
    use p4::packet_replication_engine_entry::Type as Replication;
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let session = |session_id, ports: &[u8], packet_length_bytes| {
        let replicas = ports.iter().map(|port| p4::Replica {
            port_kind: Some(p4::replica::PortKind::Port(vec![*port])),
            ..Default::default()
        });
        let session = p4::CloneSessionEntry {
            session_id,
            replicas: replicas.collect(),
            class_of_service: 0,
            packet_length_bytes,
        };
        Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
            r#type: Some(Replication::CloneSessionEntry(session)),
        })
    };
    let backup = Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(Replication::CloneSessionEntry(p4::CloneSessionEntry {
            session_id: 9,
            replicas: vec![p4::Replica {
                port_kind: Some(p4::replica::PortKind::Port(vec![1])),
                backup_replicas: vec![Default::default()],
                ..Default::default()
            }],
            ..Default::default()
        })),
    });
    let seven = session(7, &[3], 20);
    fixture.write(vec![insert(seven.clone())]).await.unwrap();
    for (update, code, words) in [
        (insert(seven.clone()), Code::AlreadyExists, "7"),
        (
            insert(session(0, &[1], 0)),
            Code::InvalidArgument,
            "session_id",
        ),
        (
            insert(session(1 << 20, &[1], 0)),
            Code::InvalidArgument,
            "1048576",
        ),
        (
            insert(session(8, &[1], -1)),
            Code::InvalidArgument,
            "packet_length_bytes",
        ),
        (
            insert(session(8, &[1, 1], 0)),
            Code::InvalidArgument,
            "twice",
        ),
        (modify(session(8, &[1], 0)), Code::NotFound, "8"),
        (delete(session(8, &[], 0)), Code::NotFound, "8"),
        (insert(backup), Code::Unimplemented, "backup_replicas"),
    ] {
        let (found, message) = fixture.write_fails(update).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    for wanted in [0, 7] {
        let found = fixture.read(vec![session(wanted, &[], 0)]).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&seven));
    }
    let mirror = table_entry(p4::TableEntry {
        table_id: fixture.id("filters"),
        r#match: vec![optional(3, &[2])],
        priority: 1,
        action: action(fixture.id("mirror"), &[]),
        ..Default::default()
    });
    fixture.write(vec![insert(mirror.clone())]).await.unwrap();
    let select = table_entry(p4::TableEntry {
        table_id: fixture.id("filters"),
        ..Default::default()
    });
    assert_eq!(fixture.read(vec![select]).await.unwrap(), [mirror]);
    let sent = frame(1, [8, 0]);
    fixture.receive(2, &sent).await;
    let received = fixture
        .frames
        .recv_timeout(Duration::from_secs(10))
        .unwrap();
    assert_eq!(received, (3, sent[..20].to_vec()));
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn translated_types_have_the_controllers_width() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let to_port = fixture.id("to_port");
    let entry = |matched: &[u8], param: &[u8]| {
        table_entry(p4::TableEntry {
            table_id: fixture.id("ports"),
            r#match: vec![exact(1, matched)],
            action: action(to_port, &[param]),
            ..Default::default()
        })
    };
    let good = entry(&[0, 0, 1, 1], &[0, 0, 0, 2]);
    let wide = entry(&[0, 1, 0, 0], &[2]);
    let wide_param = entry(&[1], &[2, 0]);
    let canonical = entry(&[1, 1], &[2]);
    fixture.write(vec![insert(good)]).await.unwrap();
    let all = table_entry(p4::TableEntry {
        table_id: fixture.id("ports"),
        ..Default::default()
    });
    assert_eq!(fixture.read(vec![all]).await.unwrap(), [canonical]);
    for (bad, words) in [(wide, "meta.port"), (wide_param, "parameter port")] {
        let (code, message) = fixture.write_fails(insert(bad)).await;
        assert_eq!(code, Code::OutOfRange, "{message}");
        assert!(message.contains(words), "{message}");
    }
    fixture.stop().await;
}
