// SPDX-License-Identifier: Apache-2.0
//! Tables that P4 gives entries: const ones, and others that a client may change
//! (P4Runtime specification 1.5, "Constant Tables" and "Preinitialized tables").

use crate::common::{
    Action, Fixture, Type, action, config, exact, range, table_entry, ternary, update,
};
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::field_match::{self, FieldMatchType};
use serde_json::Value;
use tonic::Code;

/// Ids of the key's fields: all tables number them from 1 on.
const TYPE: u32 = 1;
const KIND: u32 = 2;
const PORT: u32 = 3;

fn optional(field_id: u32, value: &[u8]) -> p4::FieldMatch {
    p4::FieldMatch {
        field_id,
        field_match_type: Some(FieldMatchType::Optional(field_match::Optional {
            value: value.to_vec(),
        })),
    }
}

/// Entries of the tables of initial_entries.p4.
struct Tables {
    exact_one: u32,
    ordered: u32,
    fixed: u32,
    set_exact: u32,
    set_ordered: u32,
    set_fixed: u32,
}

impl Tables {
    fn of(fixture: &Fixture) -> Tables {
        Tables {
            exact_one: fixture.table("exact_one"),
            ordered: fixture.table("ordered"),
            fixed: fixture.table("fixed"),
            set_exact: fixture.action("set_exact"),
            set_ordered: fixture.action("set_ordered"),
            set_fixed: fixture.action("set_fixed"),
        }
    }

    fn exact_one(&self, kind: u16, value: u8) -> p4::TableEntry {
        let kind = kind.to_be_bytes();
        let kind = if kind[0] == 0 { &kind[1..] } else { &kind[..] };
        p4::TableEntry {
            table_id: self.exact_one,
            r#match: vec![exact(TYPE, kind)],
            action: action(self.set_exact, &[&[value]]),
            ..Default::default()
        }
    }

    fn ordered(&self, key: Vec<p4::FieldMatch>, priority: i32, value: u8) -> p4::TableEntry {
        p4::TableEntry {
            table_id: self.ordered,
            r#match: key,
            action: action(self.set_ordered, &[&[value]]),
            priority,
            ..Default::default()
        }
    }

    /// What P4 gives the table `ordered`.
    fn given(&self) -> [p4::TableEntry; 3] {
        let full = [0xff, 0xff];
        let first = vec![
            ternary(TYPE, &[8, 0], &full),
            optional(KIND, &[6]),
            range(PORT, &[10], &[20]),
        ];
        let second = vec![
            ternary(TYPE, &[8, 0], &[0xff, 0]),
            range(PORT, &[10], &[30]),
        ];
        [
            self.ordered(first, 3, 1),
            self.ordered(second, 2, 2),
            self.ordered(vec![optional(KIND, &[17])], 1, 3),
        ]
    }

    fn fixed(&self, mask: &[u8], priority: i32, value: u8) -> p4::TableEntry {
        p4::TableEntry {
            table_id: self.fixed,
            r#match: vec![ternary(TYPE, &[8, 0], mask)],
            action: action(self.set_fixed, &[&[value]]),
            priority,
            is_const: true,
            ..Default::default()
        }
    }
}

fn change(kind: Type, entry: &p4::TableEntry) -> p4::Update {
    update(kind, table_entry(entry.clone()))
}

async fn all_of(fixture: &mut Fixture, table_id: u32) -> Vec<Entity> {
    let all = p4::TableEntry {
        table_id,
        ..Default::default()
    };
    fixture.read(vec![table_entry(all)]).await.unwrap()
}

fn entities(entries: impl IntoIterator<Item = p4::TableEntry>) -> Vec<Entity> {
    entries.into_iter().map(table_entry).collect()
}

/// What the report in front of a frame says: the value of each table's entry.
async fn found(fixture: &Fixture, kind: u16, ip_kind: u8, port: u8) -> Vec<u8> {
    let frame = [&kind.to_be_bytes()[..], &[ip_kind, port, 0, 0, 0, 0]].concat();
    fixture.receive(2, &frame).await;
    let (_, frame) = fixture.frames.recv().unwrap();
    frame[..5].to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_of_p4_are_read_and_only_const_ones_say_so() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    let t = Tables::of(&fixture);
    let two = [t.exact_one(0x0800, 1), t.exact_one(0x0806, 2)];
    assert_eq!(all_of(&mut fixture, t.exact_one).await, entities(two));
    assert_eq!(all_of(&mut fixture, t.ordered).await, entities(t.given()));
    let fixed = [t.fixed(&[0xff, 0xff], 2, 1), t.fixed(&[0xff, 0], 1, 2)];
    assert_eq!(all_of(&mut fixture, t.fixed).await, entities(fixed));
    // One by its match, the priority unset; p4c's JSON has its optional field as ternary.
    let [_, _, last] = t.given();
    let select = p4::TableEntry {
        priority: 0,
        action: None,
        ..last.clone()
    };
    let read = fixture.read(vec![table_entry(select)]).await.unwrap();
    assert_eq!(read, entities([last]));
    fixture.stop().await;
}

/// The size of such a table is in P4Info alone, which a client sends: the switch must not take
/// it for a promise that it can keep.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_size_that_no_table_can_have_is_refused() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    for size in [i64::MAX, (1 << 31) + 1, -1] {
        let mut config = config("initial_entries");
        let info = config.p4info.as_mut().unwrap();
        let mut tables = info.tables.iter_mut();
        let ordered = tables.find(|table| table.preamble.as_ref().unwrap().alias == "ordered");
        ordered.unwrap().size = size;
        let refused = fixture
            .set_pipeline(Action::VerifyAndCommit, Some(config))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        let words = refused.message();
        assert!(
            words.contains("ordered") && words.contains(&size.to_string()),
            "{words}"
        );
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_of_p4_that_are_not_const_can_be_changed() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    let t = Tables::of(&fixture);
    assert_eq!(found(&fixture, 0x0800, 6, 10).await, [1, 0, 1, 1, 1]);

    let added = t.exact_one(0x86dd, 7);
    fixture
        .write(vec![change(Type::Insert, &added)])
        .await
        .unwrap();
    assert_eq!(found(&fixture, 0x86dd, 0, 0).await[0], 7);
    let again = fixture.write_fails(change(Type::Insert, &added)).await;
    assert_eq!(again.0, Code::AlreadyExists);
    let given = t.exact_one(0x0800, 1);
    let again = fixture.write_fails(change(Type::Insert, &given)).await;
    assert_eq!(again.0, Code::AlreadyExists);

    let changed = t.exact_one(0x0800, 8);
    fixture
        .write(vec![change(Type::Modify, &changed)])
        .await
        .unwrap();
    assert_eq!(found(&fixture, 0x0800, 6, 10).await[0], 8);
    let gone = t.exact_one(0x0806, 2);
    fixture
        .write(vec![change(Type::Delete, &gone)])
        .await
        .unwrap();
    assert_eq!(found(&fixture, 0x0806, 0, 0).await[0], 0);
    let again = fixture.write_fails(change(Type::Delete, &gone)).await;
    assert_eq!(again.0, Code::NotFound);
    let left = [changed, added];
    assert_eq!(all_of(&mut fixture, t.exact_one).await, entities(left));

    // P4Info has the size, 4; the JSON has only the number of P4's entries.
    let more = [t.exact_one(1, 1), t.exact_one(2, 2)];
    let more = more.iter().map(|entry| change(Type::Insert, entry));
    fixture.write(more.collect()).await.unwrap();
    let one = t.exact_one(3, 3);
    let full = fixture.write_fails(change(Type::Insert, &one)).await;
    assert_eq!(full.0, Code::ResourceExhausted);

    // Above all that P4 gives, between two of them, and one of them gone.
    let [first, second, _] = t.given();
    let port = |low, high| vec![range(PORT, &[low], &[high])];
    let above = t.ordered(port(12, 13), 4, 40);
    let updates = vec![
        change(Type::Insert, &above),
        change(Type::Insert, &t.ordered(port(11, 13), 2, 20)),
        change(Type::Delete, &second),
        change(Type::Modify, &t.ordered(first.r#match.clone(), 3, 30)),
    ];
    fixture.write(updates).await.unwrap();
    for (port, value) in [(10, 30), (11, 30), (12, 40), (14, 30)] {
        assert_eq!(found(&fixture, 0x0800, 6, port).await[2], value, "{port}");
    }
    assert_eq!(found(&fixture, 0x0800, 9, 11).await[2], 20);
    assert_eq!(found(&fixture, 0x0800, 9, 25).await[2], 0);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn const_entries_are_still_denied() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    let t = Tables::of(&fixture);
    let written = |mask: &[u8], priority, value| p4::TableEntry {
        is_const: false,
        ..t.fixed(mask, priority, value)
    };
    let there = written(&[0xff, 0xff], 2, 9);
    for (kind, entry) in [
        (Type::Insert, written(&[0xf0, 0], 7, 9)),
        (Type::Modify, there.clone()),
        (Type::Delete, there),
    ] {
        let (code, message) = fixture.write_fails(change(kind, &entry)).await;
        assert_eq!(code, Code::PermissionDenied, "{kind:?}: {message}");
        assert!(message.contains("const"), "{message}");
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_p4info_that_does_not_know_of_entries_of_p4_makes_them_const() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    let t = Tables::of(&fixture);
    let mut older = config("initial_entries");
    for table in &mut older.p4info.as_mut().unwrap().tables {
        table.has_initial_entries = false;
    }
    fixture
        .set_pipeline(Action::VerifyAndCommit, Some(older))
        .await
        .unwrap();
    let added = change(Type::Insert, &t.exact_one(0x86dd, 7));
    assert_eq!(
        fixture.write_fails(added).await.0,
        Code::PermissionDenied,
        "nobody said that they are not"
    );
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_fails_leaves_the_entries_of_p4_as_they_were() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    let t = Tables::of(&fixture);
    let before = fixture.everything().await;
    let updates = vec![
        change(Type::Delete, &t.exact_one(0x0806, 2)),
        change(Type::Modify, &t.exact_one(0x0800, 9)),
        change(Type::Insert, &t.exact_one(0x86dd, 7)),
        change(Type::Delete, &t.exact_one(0x9999, 0)),
    ];
    let atomicity = crate::common::Atomicity::RollbackOnError;
    fixture.write_as(atomicity, updates).await.unwrap_err();
    let after = fixture.everything().await;
    assert_eq!(sorted(after), sorted(before));
    fixture.stop().await;
}

/// Deleted entries that are brought back come last.
fn sorted(mut all: Vec<Entity>) -> Vec<String> {
    let mut all: Vec<String> = all.drain(..).map(|entity| format!("{entity:?}")).collect();
    all.sort_unstable();
    all
}

/// Another pipeline: like initial_entries.p4 with one entry of `exact_one` for another type,
/// and one with another value.
fn newer() -> p4::ForwardingPipelineConfig {
    let mut newer = config("initial_entries");
    let mut json: Value = serde_json::from_slice(&newer.p4_device_config).unwrap();
    let tables = json["pipelines"][0]["tables"].as_array_mut().unwrap();
    let entries = |name: &str, tables: &mut Vec<Value>| {
        let table = tables.iter_mut().find(|table| table["name"] == name);
        table.unwrap()["entries"].take()
    };
    let mut exact_one = entries("I.exact_one", tables);
    exact_one[1]["match_key"][0]["key"] = "0x0a0a".into();
    let mut ordered = entries("I.ordered", tables);
    ordered[2]["action_entry"]["action_data"][0] = "0x63".into();
    for (name, changed) in [("I.exact_one", exact_one), ("I.ordered", ordered)] {
        let table = tables.iter_mut().find(|table| table["name"] == name);
        table.unwrap()["entries"] = changed;
    }
    newer.p4_device_config = json.to_string().into();
    newer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconciling_keeps_what_a_client_made_of_the_entries_of_p4() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    let t = Tables::of(&fixture);
    let [first, second, third] = t.given();
    let modified = t.ordered(first.r#match.clone(), 3, 30);
    let added = t.ordered(vec![range(PORT, &[50], &[60])], 9, 90);
    let updates = vec![
        change(Type::Insert, &t.exact_one(0x86dd, 7)),
        change(Type::Modify, &modified),
        change(Type::Insert, &added),
        change(Type::Delete, &second),
    ];
    fixture.write(updates).await.unwrap();
    // Its counter, which the next pipeline goes on with.
    assert_eq!(found(&fixture, 0, 17, 0).await[2], 3);

    // The same pipeline, and one that only has another text.
    let mut other = config("initial_entries");
    other.p4_device_config = [other.p4_device_config.as_ref(), b"\n"].concat().into();
    let state = sorted(fixture.everything().await);
    for same in [config("initial_entries"), other] {
        fixture
            .set_pipeline(Action::ReconcileAndCommit, Some(same))
            .await
            .unwrap();
        assert_eq!(sorted(fixture.everything().await), state);
    }
    let select = p4::TableEntry {
        action: None,
        counter_data: Some(p4::CounterData::default()),
        ..third.clone()
    };
    let select = vec![table_entry(select)];
    let read = fixture.read(select).await.unwrap();
    let Entity::TableEntry(read) = &read[0] else {
        panic!("{read:?}");
    };
    assert_eq!(read.counter_data.as_ref().unwrap().packet_count, 1);

    // One with other entries: they are as it gives them, but for what the client changed.
    fixture
        .set_pipeline(Action::ReconcileAndCommit, Some(newer()))
        .await
        .unwrap();
    let wanted = [
        t.exact_one(0x0800, 1),
        t.exact_one(0x0a0a, 2),
        t.exact_one(0x86dd, 7),
    ];
    assert_eq!(all_of(&mut fixture, t.exact_one).await, entities(wanted));
    let third = t.ordered(third.r#match, 1, 0x63);
    let wanted = entities([modified, third, added]);
    assert_eq!(all_of(&mut fixture, t.ordered).await, wanted);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_saved_with_a_pipeline_may_change_its_entries() {
    let (mut fixture, _stream) = Fixture::start_program("initial_entries").await;
    let t = Tables::of(&fixture);
    fixture
        .set_pipeline(Action::VerifyAndSave, Some(config("initial_entries")))
        .await
        .unwrap();
    let updates = vec![
        change(Type::Delete, &t.exact_one(0x0800, 1)),
        change(Type::Insert, &t.exact_one(0x86dd, 7)),
    ];
    fixture.write(updates).await.unwrap();
    fixture.set_pipeline(Action::Commit, None).await.unwrap();
    let wanted = [t.exact_one(0x0806, 2), t.exact_one(0x86dd, 7)];
    assert_eq!(all_of(&mut fixture, t.exact_one).await, entities(wanted));
    fixture.stop().await;
}
