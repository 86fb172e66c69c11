// SPDX-License-Identifier: Apache-2.0
//! What a Write keeps to be undone, and what waits for a COMMIT, is bounded in bytes of memory:
//! 76 kB of wildcard updates took 777 MiB.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::{Limits, ServerOptions};
use tonic::Code;

async fn start(limits: Limits) -> (Fixture, Stream) {
    let options = ServerOptions {
        limits,
        ..ServerOptions::default()
    };
    let mut fixture = Fixture::start_with(&[DEVICE_ID], &options).await;
    fixture.info = p4info("entities");
    let mut stream = fixture.open_stream().await;
    stream.arbitrate(Some(1)).await;
    stream.arbitration().await;
    (fixture, stream)
}

/// Updates of whole arrays, each small on the wire.
fn wildcards(fixture: &Fixture, count: u8) -> Vec<p4::Update> {
    let marks = fixture.id("marks");
    let all = |n| modify(register_entry(marks, None, Some(&[n])));
    (1..=count).map(all).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_undoes_a_write_is_bounded() {
    let limits = Limits {
        undo_bytes: 10_000,
        ..Limits::default()
    };
    let (mut fixture, _stream) = start(limits).await;
    let config = Some(config("entities"));
    fixture
        .set_pipeline(Action::VerifyAndCommit, config)
        .await
        .unwrap();
    let cell = register_entry(fixture.id("marks"), Some(1), None);
    fixture.write(wildcards(&fixture, 7)).await.unwrap();
    let before = fixture.read(vec![cell.clone()]).await.unwrap();

    for atomicity in [Atomicity::RollbackOnError, Atomicity::DataplaneAtomic] {
        // As many as fit are done.
        let updates = wildcards(&fixture, 5);
        fixture.write_as(atomicity, updates).await.unwrap();
        let updates = wildcards(&fixture, 7);
        fixture.write(updates).await.unwrap();
        // Of too many none is.
        let updates = wildcards(&fixture, 200);
        let status = fixture.write_as(atomicity, updates).await.unwrap_err();
        assert!(status.message().contains("10000 bytes"), "{status:?}");
        let errors = errors(&status);
        let refused = errors.iter().position(|e| e.0 == Code::ResourceExhausted);
        assert!(refused.is_some_and(|at| at > 5), "{errors:?}");
        assert_eq!(fixture.read(vec![cell.clone()]).await.unwrap(), before);
    }
    // Nothing is kept where nothing is undone.
    let updates = wildcards(&fixture, 200);
    fixture.write(updates).await.unwrap();
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_commit_is_bounded() {
    let limits = Limits {
        saved_bytes: 10_000,
        ..Limits::default()
    };
    let (mut fixture, _stream) = start(limits).await;
    let saved = Some(config("entities"));
    fixture
        .set_pipeline(Action::VerifyAndSave, saved)
        .await
        .unwrap();
    let mut writes = 0;
    let status = loop {
        let updates = wildcards(&fixture, 10);
        match fixture.write(updates).await {
            Ok(()) => writes += 1,
            Err(status) => break status,
        }
        assert!(writes < 100, "any number is kept");
    };
    assert!(writes > 5, "{writes} Writes fitted");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().contains("COMMIT"), "{status:?}");
    // What was kept is done, and then there is room again.
    fixture.set_pipeline(Action::Commit, None).await.unwrap();
    let cell = |value: Option<&[u8]>| register_entry(fixture.id("marks"), Some(1), value);
    let (select, expected) = (cell(None), cell(Some(&[10])));
    assert_eq!(fixture.read(vec![select]).await.unwrap(), [expected]);
    let again = Some(config("entities"));
    fixture
        .set_pipeline(Action::VerifyAndSave, again)
        .await
        .unwrap();
    let updates = wildcards(&fixture, 10);
    fixture.write(updates).await.unwrap();
    fixture.stop().await;
}
