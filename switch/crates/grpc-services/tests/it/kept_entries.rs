// SPDX-License-Identifier: Apache-2.0
//! What a pipeline keeps of Writes is bounded in bytes of memory: 65,535 multicast groups could have
//! 256 KiB of metadata each.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::{Limits, ServerOptions};
use p4::entity::Entity;
use p4::packet_replication_engine_entry::Type as Replication;
use tonic::Code;

const MOST: usize = 200_000;

async fn start() -> (Fixture, Stream) {
    let options = ServerOptions {
        limits: Limits {
            kept_bytes: MOST,
            ..Limits::default()
        },
        ..ServerOptions::default()
    };
    Fixture::start_program_with("entities", &options).await
}

fn replication(entry: Replication) -> Entity {
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(entry),
    })
}

fn multicast(id: u32, metadata: usize) -> Entity {
    replication(Replication::MulticastGroupEntry(p4::MulticastGroupEntry {
        multicast_group_id: id,
        metadata: vec![7; metadata],
        ..Default::default()
    }))
}

/// A session with replicas in place of metadata, of four bytes each.
fn clone_session(id: u32, bytes: usize) -> Entity {
    let replica = |instance| p4::Replica {
        port_kind: Some(p4::replica::PortKind::Port(vec![1])),
        instance,
        ..Default::default()
    };
    replication(Replication::CloneSessionEntry(p4::CloneSessionEntry {
        session_id: id,
        replicas: (0..bytes as u32 / 4).map(replica).collect(),
        ..Default::default()
    }))
}

/// Inserts the entities that `make` makes of 1, 2 ... until one is refused, and returns how many
/// there are.
async fn fill(fixture: &mut Fixture, make: impl Fn(u32) -> Entity) -> u32 {
    for id in 1..1000 {
        let Err(status) = fixture.write(vec![insert(make(id))]).await else {
            continue;
        };
        let (code, words) = errors(&status).remove(0);
        assert_eq!(code, Code::ResourceExhausted, "{words}");
        assert!(words.contains("200000 bytes"), "{words}");
        return id - 1;
    }
    panic!("any number is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_entries_take_is_bounded_whatever_kind_they_are() {
    let (mut fixture, _stream) = start().await;
    let stations = fixture.table("stations");
    let nothing = fixture.action("NoAction");
    let entry = |id: u32, metadata| {
        table_entry(p4::TableEntry {
            table_id: stations,
            r#match: vec![exact(1, &id.to_be_bytes())],
            action: action(nothing, &[]),
            metadata: vec![7; metadata],
            ..Default::default()
        })
    };
    let kinds: [&dyn Fn(u32, usize) -> Entity; 3] = [&multicast, &clone_session, &entry];
    for make in kinds {
        let there = fill(&mut fixture, |id| make(id, 10_000)).await;
        // Each takes its 10,000 bytes and little more.
        assert!((15..=21).contains(&there), "{there}");
        // Nothing of any kind is added now, nor is one made longer.
        for more in [multicast(900, 0), clone_session(900, 0), entry(900, 0)] {
            let (code, words) = fixture.write_fails(insert(more)).await;
            assert_eq!(code, Code::ResourceExhausted, "{words}");
        }
        let (code, words) = fixture.write_fails(modify(make(1, 20_000))).await;
        assert_eq!(code, Code::ResourceExhausted, "{words}");
        // What is deleted makes room.
        let deletes = (1..=there).map(|id| delete(make(id, 0)));
        fixture.write(deletes.collect()).await.unwrap();
        assert_eq!(
            fill(&mut fixture, |id| make(id, 10_000)).await,
            there,
            "room is lost"
        );
        let deletes = (1..=there).map(|id| delete(make(id, 0)));
        fixture.write(deletes.collect()).await.unwrap();
    }
    fixture.stop().await;
}

/// One Write of many updates is no way around it, and neither is a saved config.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_write_is_bounded_too() {
    let (mut fixture, _stream) = start().await;
    for saved in [false, true] {
        if saved {
            let config = Some(config("entities"));
            fixture
                .set_pipeline(Action::VerifyAndSave, config)
                .await
                .unwrap();
        }
        let all: Vec<p4::Update> = (1..=100).map(|id| insert(multicast(id, 10_000))).collect();
        let status = fixture.write(all.clone()).await.unwrap_err();
        let refused = errors(&status)
            .iter()
            .position(|(code, _)| *code == Code::ResourceExhausted);
        assert!(
            refused.is_some_and(|at| (15..=21).contains(&at)),
            "{refused:?}"
        );
        // Of a batch that is all or none, none is kept.
        if !saved {
            let deletes = (1..=refused.unwrap() as u32).map(|id| delete(multicast(id, 0)));
            fixture.write(deletes.collect()).await.unwrap();
            let status = fixture.write_as(Atomicity::RollbackOnError, all).await;
            assert!(status.is_err());
            let found = fixture.read(vec![multicast(0, 0)]).await.unwrap();
            assert_eq!(found, []);
        }
    }
    fixture.stop().await;
}
