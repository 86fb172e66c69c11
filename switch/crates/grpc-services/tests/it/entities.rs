// SPDX-License-Identifier: Apache-2.0
//! Write and Read: table entries, counters, registers, multicast groups.

use crate::common::{
    Fixture, Type, action, errors, exact, range, register_entry, table_entry, ternary, update,
};
use grpc_services::proto::p4::v1 as p4;
use p4::entity::Entity;
use tonic::Code;

/// Cells of cm.p4's arrays that are indexed by service flow.
const FLOWS: i64 = 4096;

fn insert(entry: &p4::TableEntry) -> p4::Update {
    update(Type::Insert, table_entry(entry.clone()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn table_entries_are_written_and_read_back_in_canonical_form() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let table_id = fixture.table("classifier");
    let set = fixture.action("set_service_flow");
    let protocol = fixture.field("classifier", "ip_protocol");
    let port = fixture.field("classifier", "l4_dst_port");
    let modem = fixture.field("classifier", "modem");
    let entry = p4::TableEntry {
        table_id,
        r#match: vec![
            range(port, &[0, 0, 80], &[1, 0]),
            ternary(protocol, &[0, 6], &[0xff]),
            exact(modem, &[0, 1]),
        ],
        action: action(set, &[&[0, 0, 2]]),
        priority: 10,
        metadata: b"mine".to_vec(),
        ..Default::default()
    };
    fixture.write(vec![insert(&entry)]).await.unwrap();
    // In the key's order, without padding, don't cares left out.
    let canonical = p4::TableEntry {
        r#match: vec![
            exact(modem, &[1]),
            ternary(protocol, &[6], &[0xff]),
            range(port, &[80], &[1, 0]),
        ],
        action: action(set, &[&[2]]),
        ..entry.clone()
    };
    let all = p4::TableEntry::default();
    let found = fixture.read(vec![table_entry(all)]).await.unwrap();
    assert_eq!(found, [table_entry(canonical.clone())]);

    let (code, message) = fixture.write_fails(insert(&entry)).await;
    assert_eq!(code, Code::AlreadyExists, "{message}");
    // The same match at another priority is another entry.
    let lower = p4::TableEntry {
        priority: 9,
        ..canonical.clone()
    };
    fixture.write(vec![insert(&lower)]).await.unwrap();

    // Filters.
    let select = |entry| vec![table_entry(entry)];
    let by_priority = p4::TableEntry {
        table_id,
        priority: 9,
        ..Default::default()
    };
    let found = fixture.read(select(by_priority)).await.unwrap();
    assert_eq!(found, [table_entry(lower.clone())]);
    let by_match = p4::TableEntry {
        table_id,
        r#match: canonical.r#match.clone(),
        ..Default::default()
    };
    assert_eq!(fixture.read(select(by_match)).await.unwrap().len(), 2);
    let by_metadata = p4::TableEntry {
        table_id,
        metadata: b"yours".to_vec(),
        ..Default::default()
    };
    assert_eq!(fixture.read(select(by_metadata)).await.unwrap(), []);

    // Modify, then delete by key only.
    let modified = p4::TableEntry {
        action: action(set, &[&[3]]),
        ..canonical.clone()
    };
    let modify = |entry: &p4::TableEntry| update(Type::Modify, table_entry(entry.clone()));
    fixture.write(vec![modify(&modified)]).await.unwrap();
    let by_key = p4::TableEntry {
        table_id,
        r#match: canonical.r#match.clone(),
        priority: 10,
        ..Default::default()
    };
    let found = fixture.read(select(by_key.clone())).await.unwrap();
    assert_eq!(found, [table_entry(modified.clone())]);
    let delete = update(Type::Delete, table_entry(by_key.clone()));
    fixture.write(vec![delete.clone()]).await.unwrap();
    assert_eq!(fixture.read(select(by_key)).await.unwrap(), []);
    assert_eq!(fixture.write_fails(delete).await.0, Code::NotFound);
    assert_eq!(
        fixture.write_fails(modify(&modified)).await.0,
        Code::NotFound
    );
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_do_not_fit_are_refused_in_words() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let classifier = fixture.table("classifier");
    let station = fixture.table("station");
    let set = fixture.action("set_service_flow");
    let forward = fixture.action("forward");
    let flood = fixture.action("flood");
    let port = fixture.field("classifier", "l4_dst_port");
    let protocol = fixture.field("classifier", "ip_protocol");
    // Of modem 1, whose field comes first in both keys.
    let modem = || exact(1, &[1]);
    let classify = |mut matches: Vec<p4::FieldMatch>| {
        matches.push(modem());
        p4::TableEntry {
            table_id: classifier,
            r#match: matches,
            action: action(set, &[&[1]]),
            priority: 1,
            ..Default::default()
        }
    };
    let stationed = |mut matches: Vec<p4::FieldMatch>, action| {
        matches.push(modem());
        p4::TableEntry {
            table_id: station,
            r#match: matches,
            action,
            ..Default::default()
        }
    };
    let address = || vec![exact(2, &[1])];
    let good = action(forward, &[&[1], &[1], &[1]]);
    let cases = [
        // Keys.
        (
            p4::TableEntry {
                priority: 0,
                ..classify(vec![])
            },
            Code::InvalidArgument,
            "priority",
        ),
        (
            p4::TableEntry {
                priority: 1,
                ..stationed(address(), good.clone())
            },
            Code::InvalidArgument,
            "priority",
        ),
        (
            stationed(vec![], good.clone()),
            Code::InvalidArgument,
            "address",
        ),
        (
            stationed(vec![exact(9, &[1])], good.clone()),
            Code::InvalidArgument,
            "id 9",
        ),
        (
            stationed(vec![exact(2, &[1]), exact(2, &[1])], good.clone()),
            Code::InvalidArgument,
            "twice",
        ),
        (
            stationed(vec![ternary(2, &[1], &[1])], good.clone()),
            Code::InvalidArgument,
            "exact",
        ),
        (
            stationed(vec![exact(2, &[1, 0, 0, 0, 0, 0, 0])], good.clone()),
            Code::OutOfRange,
            "address",
        ),
        (
            stationed(vec![exact(2, &[])], good.clone()),
            Code::OutOfRange,
            "empty",
        ),
        (
            classify(vec![ternary(protocol, &[0], &[0])]),
            Code::InvalidArgument,
            "don't care",
        ),
        (
            classify(vec![ternary(protocol, &[2], &[1])]),
            Code::InvalidArgument,
            "mask",
        ),
        (
            classify(vec![range(port, &[9], &[8])]),
            Code::InvalidArgument,
            "low bound",
        ),
        (
            classify(vec![range(port, &[0], &[255, 255])]),
            Code::InvalidArgument,
            "don't care",
        ),
        (
            classify(vec![range(port, &[0], &[1, 0, 0])]),
            Code::OutOfRange,
            "l4_dst_port",
        ),
        // Actions.
        (stationed(address(), None), Code::InvalidArgument, "action"),
        (
            stationed(address(), action(set, &[&[1]])),
            Code::InvalidArgument,
            "action",
        ),
        (
            stationed(address(), action(forward, &[&[1], &[1]])),
            Code::InvalidArgument,
            "modem",
        ),
        (
            stationed(address(), action(forward, &[&[1], &[1], &[1], &[1]])),
            Code::InvalidArgument,
            "id 4",
        ),
        (
            stationed(address(), action(forward, &[&[2, 0], &[1], &[1]])),
            Code::OutOfRange,
            "port",
        ),
        // The rest.
        (
            p4::TableEntry {
                table_id: 0,
                ..stationed(address(), good.clone())
            },
            Code::InvalidArgument,
            "table_id",
        ),
        (
            p4::TableEntry {
                table_id: 33554433,
                ..stationed(address(), good.clone())
            },
            Code::NotFound,
            "33554433",
        ),
        (
            p4::TableEntry {
                is_const: true,
                ..stationed(address(), good.clone())
            },
            Code::InvalidArgument,
            "is_const",
        ),
        (
            p4::TableEntry {
                idle_timeout_ns: 1,
                ..stationed(address(), good.clone())
            },
            Code::InvalidArgument,
            "idle",
        ),
        (
            p4::TableEntry {
                meter_config: Some(p4::MeterConfig::default()),
                ..stationed(address(), good.clone())
            },
            Code::InvalidArgument,
            "meter",
        ),
    ];
    // One batch: each is attempted, each has its own error, good ones are done.
    let mut updates = vec![insert(&stationed(vec![exact(2, &[7])], action(flood, &[])))];
    updates.extend(cases.iter().map(|(entry, _, _)| insert(entry)));
    let status = fixture.write(updates).await.unwrap_err();
    let errors = errors(&status);
    assert_eq!(errors.len(), cases.len() + 1);
    assert_eq!(errors[0].0, Code::Ok);
    for (n, ((_, code, words), found)) in cases.iter().zip(&errors[1..]).enumerate() {
        assert_eq!(found.0, *code, "case {n}: {}", found.1);
        // Words may be left out of long batches; see below.
        assert!(
            found.1.is_empty() || found.1.contains(words),
            "case {n}: {}",
            found.1
        );
    }
    for (entry, code, words) in cases {
        let (found, message) = fixture.write_fails(insert(&entry)).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(words), "{message}");
    }
    let all = table_entry(p4::TableEntry::default());
    assert_eq!(fixture.read(vec![all]).await.unwrap().len(), 1);

    let untyped = update(Type::Unspecified, table_entry(classify(vec![])));
    assert_eq!(fixture.write_fails(untyped).await.0, Code::InvalidArgument);
    let empty = p4::Update {
        r#type: Type::Insert as i32,
        entity: None,
    };
    assert_eq!(fixture.write_fails(empty).await.0, Code::InvalidArgument);
    let digest = update(
        Type::Insert,
        Entity::ExternEntry(p4::ExternEntry::default()),
    );
    let (code, message) = fixture.write_fails(digest).await;
    assert_eq!(code, Code::Unimplemented);
    assert!(message.contains("extern"), "{message}");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_default_entry_can_be_modified_and_reset() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let table_id = fixture.table("station");
    let set = fixture.action("forward");
    let initial = fixture.action("flood");
    let entry = |action| p4::TableEntry {
        table_id,
        is_default_action: true,
        action,
        ..Default::default()
    };
    let select = vec![table_entry(entry(None))];
    let found = fixture.read(select.clone()).await.unwrap();
    assert_eq!(found, [table_entry(entry(action(initial, &[])))]);

    let changed = entry(action(set, &[&[1], &[1], &[1]]));
    let modify = |entry: &p4::TableEntry| update(Type::Modify, table_entry(entry.clone()));
    fixture.write(vec![modify(&changed)]).await.unwrap();
    let found = fixture.read(select.clone()).await.unwrap();
    assert_eq!(found, [table_entry(changed.clone())]);
    // It is none of the entries.
    let entries = table_entry(p4::TableEntry {
        table_id,
        ..Default::default()
    });
    assert_eq!(fixture.read(vec![entries]).await.unwrap(), []);

    for kind in [Type::Insert, Type::Delete] {
        let wrong = update(kind, table_entry(changed.clone()));
        assert_eq!(fixture.write_fails(wrong).await.0, Code::InvalidArgument);
    }
    let with_priority = p4::TableEntry {
        priority: 1,
        ..changed.clone()
    };
    let (code, _) = fixture.write_fails(modify(&with_priority)).await;
    assert_eq!(code, Code::InvalidArgument);

    fixture.write(vec![modify(&entry(None))]).await.unwrap();
    let found = fixture.read(select).await.unwrap();
    assert_eq!(found, [table_entry(entry(action(initial, &[])))]);

    // An action that is only for the default entry.
    let interface = p4::TableEntry {
        table_id: fixture.table("interface"),
        r#match: vec![exact(1, &[1])],
        action: action(fixture.action("unknown_interface"), &[]),
        ..Default::default()
    };
    let (code, _) = fixture.write_fails(insert(&interface)).await;
    assert_eq!(code, Code::PermissionDenied);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_are_written_and_read() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let data = p4::CounterData {
        byte_count: 1500,
        packet_count: 3,
    };
    let key = p4::TableEntry {
        table_id: fixture.table("station"),
        r#match: vec![exact(1, &[1]), exact(2, &[5])],
        ..Default::default()
    };
    let entry = p4::TableEntry {
        action: action(fixture.action("flood"), &[]),
        counter_data: Some(data),
        ..key.clone()
    };
    fixture.write(vec![insert(&entry)]).await.unwrap();
    let with_counter = p4::TableEntry {
        counter_data: Some(p4::CounterData::default()),
        ..key.clone()
    };
    let found = fixture.read(vec![table_entry(with_counter)]).await;
    assert_eq!(found.unwrap(), [table_entry(entry.clone())]);
    let without = p4::TableEntry {
        counter_data: None,
        ..entry
    };
    let found = fixture.read(vec![table_entry(key.clone())]).await;
    assert_eq!(found.unwrap(), [table_entry(without)]);

    let direct = |table_entry: &p4::TableEntry, data| {
        Entity::DirectCounterEntry(Box::new(p4::DirectCounterEntry {
            table_entry: Some(table_entry.clone()),
            data,
        }))
    };
    let found = fixture.read(vec![direct(&key, None)]).await.unwrap();
    assert_eq!(found, [direct(&key, Some(data))]);
    let zero = p4::CounterData::default();
    let clear = update(Type::Modify, direct(&key, Some(zero)));
    fixture.write(vec![clear]).await.unwrap();
    let found = fixture.read(vec![direct(&key, None)]).await.unwrap();
    assert_eq!(found, [direct(&key, Some(zero))]);
    let missing = p4::TableEntry {
        r#match: vec![exact(1, &[1]), exact(2, &[6])],
        ..key.clone()
    };
    let status = fixture
        .read(vec![direct(&missing, None)])
        .await
        .unwrap_err();
    assert_eq!(errors(&status)[0].0, Code::NotFound);
    let modify = update(Type::Modify, direct(&missing, Some(zero)));
    assert_eq!(fixture.write_fails(modify).await.0, Code::NotFound);

    let counter_id = fixture.counter("sf_received");
    let cell = |index: Option<i64>, data| {
        Entity::CounterEntry(p4::CounterEntry {
            counter_id,
            index: index.map(|index| p4::Index { index }),
            data,
        })
    };
    fixture
        .write(vec![update(Type::Modify, cell(Some(2), Some(data)))])
        .await
        .unwrap();
    let found = fixture.read(vec![cell(Some(2), None)]).await.unwrap();
    assert_eq!(found, [cell(Some(2), Some(data))]);
    let all = fixture.read(vec![cell(None, None)]).await.unwrap();
    assert_eq!(all.len(), FLOWS as usize);
    assert_eq!(all[2], cell(Some(2), Some(data)));
    assert_eq!(all[FLOWS as usize - 1], cell(Some(FLOWS - 1), Some(zero)));
    fixture
        .write(vec![update(Type::Modify, cell(None, Some(zero)))])
        .await
        .unwrap();
    let found = fixture.read(vec![cell(Some(2), None)]).await.unwrap();
    assert_eq!(found, [cell(Some(2), Some(zero))]);
    for (kind, index, data, code) in [
        (Type::Insert, Some(0), Some(zero), Code::InvalidArgument),
        (Type::Modify, Some(-1), Some(zero), Code::InvalidArgument),
        (Type::Modify, Some(FLOWS), Some(zero), Code::OutOfRange),
        (
            Type::Modify,
            Some(0),
            Some(p4::CounterData {
                byte_count: -1,
                packet_count: 0,
            }),
            Code::InvalidArgument,
        ),
    ] {
        let (found, message) = fixture.write_fails(update(kind, cell(index, data))).await;
        assert_eq!(found, code, "{message}");
    }
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registers_are_written_and_read_in_batches() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let names = [
        "aqm_drop_prob",
        "aqm_qdelay_old",
        "aqm_burst_allowance",
        "aqm_control_state",
        "msr_tokens",
    ];
    let ids = names.map(|name| fixture.register(name));
    let cells = ids.iter().flat_map(|&id| {
        (0..FLOWS).map(move |index| {
            let value = (index % 255) as u8 + 1;
            register_entry(id, Some(index), Some(&[value]))
        })
    });
    let cells: Vec<_> = cells.collect();
    let updates = cells.iter().map(|cell| update(Type::Modify, cell.clone()));
    fixture.write(updates.collect()).await.unwrap();
    // Cell by cell, and all of them.
    let one_by_one = ids
        .iter()
        .flat_map(|&id| (0..FLOWS).map(move |index| register_entry(id, Some(index), None)));
    assert_eq!(fixture.read(one_by_one.collect()).await.unwrap(), cells);
    let whole = ids.map(|id| register_entry(id, None, None));
    assert_eq!(fixture.read(whole.to_vec()).await.unwrap(), cells);

    let id = ids[0];
    let all = update(Type::Modify, register_entry(id, None, Some(&[0, 0xff])));
    fixture.write(vec![all]).await.unwrap();
    let found = fixture.read(vec![register_entry(id, None, None)]).await;
    let expected = (0..FLOWS).map(|index| register_entry(id, Some(index), Some(&[0xff])));
    assert_eq!(found.unwrap(), expected.collect::<Vec<_>>());

    let boolean = Entity::RegisterEntry(p4::RegisterEntry {
        register_id: id,
        index: None,
        data: Some(p4::P4Data {
            data: Some(p4::p4_data::Data::Bool(true)),
        }),
    });
    let wide = [1, 0, 0, 0, 0];
    for (kind, entity, code) in [
        (
            Type::Insert,
            register_entry(id, Some(0), Some(&[1])),
            Code::InvalidArgument,
        ),
        (
            Type::Delete,
            register_entry(id, Some(0), Some(&[1])),
            Code::InvalidArgument,
        ),
        (
            Type::Modify,
            register_entry(id, Some(-1), Some(&[1])),
            Code::InvalidArgument,
        ),
        (
            Type::Modify,
            register_entry(id, Some(FLOWS), Some(&[1])),
            Code::OutOfRange,
        ),
        (
            Type::Modify,
            register_entry(id, Some(0), Some(&wide)),
            Code::OutOfRange,
        ),
        (
            Type::Modify,
            register_entry(id, Some(0), Some(&[])),
            Code::OutOfRange,
        ),
        (
            Type::Modify,
            register_entry(id, Some(0), None),
            Code::InvalidArgument,
        ),
        (Type::Modify, boolean, Code::InvalidArgument),
        (
            Type::Modify,
            register_entry(0, Some(0), Some(&[1])),
            Code::InvalidArgument,
        ),
        (
            Type::Modify,
            register_entry(1, Some(0), Some(&[1])),
            Code::NotFound,
        ),
    ] {
        let (found, message) = fixture.write_fails(update(kind, entity)).await;
        assert_eq!(found, code, "{message}");
    }
    // The good requests of a bad batch are answered.
    let status = fixture
        .read(vec![
            register_entry(id, Some(0), None),
            register_entry(id, Some(FLOWS), None),
            register_entry(id, Some(-1), None),
        ])
        .await
        .unwrap_err();
    let codes: Vec<_> = errors(&status).into_iter().map(|error| error.0).collect();
    assert_eq!(codes, [Code::Ok, Code::OutOfRange, Code::InvalidArgument]);
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn multicast_groups_are_written_and_read() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let group = |id, replicas: &[(u8, u32)]| {
        let replicas = replicas.iter().map(|&(port, instance)| p4::Replica {
            port_kind: Some(p4::replica::PortKind::Port(vec![port])),
            instance,
            ..Default::default()
        });
        let group = p4::MulticastGroupEntry {
            multicast_group_id: id,
            replicas: replicas.collect(),
            metadata: Vec::new(),
        };
        Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
            r#type: Some(p4::packet_replication_engine_entry::Type::MulticastGroupEntry(group)),
        })
    };
    let mut write = async |kind, entity| fixture.write(vec![update(kind, entity)]).await;
    let code = |result: Result<(), tonic::Status>| errors(&result.unwrap_err()).remove(0).0;
    write(Type::Insert, group(2, &[(1, 0), (3, 0)]))
        .await
        .unwrap();
    write(Type::Insert, group(1, &[(2, 1)])).await.unwrap();
    assert_eq!(
        code(write(Type::Insert, group(1, &[])).await),
        Code::AlreadyExists
    );
    assert_eq!(
        code(write(Type::Modify, group(3, &[])).await),
        Code::NotFound
    );
    assert_eq!(
        code(write(Type::Insert, group(0, &[])).await),
        Code::InvalidArgument
    );
    let twice = group(3, &[(1, 0), (1, 0)]);
    assert_eq!(
        code(write(Type::Insert, twice).await),
        Code::InvalidArgument
    );
    let instance = group(3, &[(1, 1 << 16)]);
    assert_eq!(
        code(write(Type::Insert, instance).await),
        Code::InvalidArgument
    );
    write(Type::Modify, group(1, &[(2, 0)])).await.unwrap();
    let found = fixture.read(vec![group(0, &[])]).await.unwrap();
    assert_eq!(found, [group(1, &[(2, 0)]), group(2, &[(1, 0), (3, 0)])]);
    let delete = update(Type::Delete, group(2, &[]));
    fixture.write(vec![delete.clone()]).await.unwrap();
    assert_eq!(fixture.write_fails(delete).await.0, Code::NotFound);
    assert_eq!(fixture.read(vec![group(2, &[])]).await.unwrap(), []);

    // Ports in the deprecated spelling come back as they were written.
    #[allow(deprecated)]
    let numeric = p4::replica::PortKind::EgressPort(3);
    let old = Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(
            p4::packet_replication_engine_entry::Type::MulticastGroupEntry(
                p4::MulticastGroupEntry {
                    multicast_group_id: 5,
                    replicas: vec![p4::Replica {
                        port_kind: Some(numeric.clone()),
                        ..Default::default()
                    }],
                    metadata: b"m".to_vec(),
                },
            ),
        ),
    });
    fixture
        .write(vec![update(Type::Insert, old.clone())])
        .await
        .unwrap();
    assert_eq!(fixture.read(vec![group(5, &[])]).await.unwrap(), [old]);
    // Both spellings in one group would not.
    let mut mixed = group(6, &[(1, 0), (3, 0)]);
    if let Entity::PacketReplicationEngineEntry(entry) = &mut mixed
        && let Some(p4::packet_replication_engine_entry::Type::MulticastGroupEntry(group)) =
            &mut entry.r#type
    {
        group.replicas[1].port_kind = Some(numeric);
    }
    let (code, message) = fixture.write_fails(update(Type::Insert, mixed)).await;
    assert_eq!(code, Code::Unimplemented, "{message}");
    assert!(message.contains("multicast group 6"), "{message}");
    fixture.stop().await;
}
