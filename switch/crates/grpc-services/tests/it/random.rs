// SPDX-License-Identifier: Apache-2.0
//! Random requests: whatever a client sends, the server answers, and a batch
//! that is refused as a whole has changed nothing.

use crate::common::*;
use grpc_services::proto::p4::v1 as p4;
use p4::entity::Entity;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use tonic::Code;

/// Ids of the objects of each kind, so that most requests fit one.
#[derive(Clone)]
struct Ids {
    tables: Vec<u32>,
    actions: Vec<u32>,
    profiles: Vec<u32>,
    registers: Vec<u32>,
    counters: Vec<u32>,
    meters: Vec<u32>,
    value_sets: Vec<u32>,
    digests: Vec<u32>,
}

/// An id of some such object, mostly.
fn id(ids: Vec<u32>) -> impl Strategy<Value = u32> + Clone {
    prop_oneof![20 => proptest::sample::select(ids), 1 => Just(0), 1 => any::<u32>()]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => proptest::collection::vec(0..4u8, 1..3),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

fn matches() -> impl Strategy<Value = Vec<p4::FieldMatch>> {
    let one =
        (0..4u32, 0..6, bytes(), bytes(), -1..60i32).prop_map(
            |(id, kind, a, b, prefix)| match kind {
                0 => exact(id, &a),
                1 => ternary(id, &a, &b),
                2 => range(id, &a, &b),
                3 => lpm(id, &a, prefix),
                4 => optional(id, &a),
                _ => p4::FieldMatch {
                    field_id: id,
                    field_match_type: None,
                },
            },
        );
    proptest::collection::vec(one, 0..4)
}

fn some_action(ids: Vec<u32>) -> impl Strategy<Value = p4::Action> {
    (id(ids), proptest::collection::vec(bytes(), 0..3)).prop_map(|(id, params)| {
        let params: Vec<_> = params.iter().map(Vec::as_slice).collect();
        bare_action(id, &params)
    })
}

fn table_actions(ids: Vec<u32>) -> impl Strategy<Value = Option<p4::TableAction>> {
    use p4::table_action::Type as Choice;
    let kind = prop_oneof![
        some_action(ids.clone()).prop_map(Choice::Action),
        (0..4u32).prop_map(Choice::ActionProfileMemberId),
        (0..4u32).prop_map(Choice::ActionProfileGroupId),
        proptest::collection::vec((some_action(ids), -1..4i32), 0..4).prop_map(|calls| {
            let actions = calls
                .into_iter()
                .map(|(action, weight)| p4::ActionProfileAction {
                    action: Some(action),
                    weight,
                    watch_kind: None,
                });
            Choice::ActionProfileActionSet(p4::ActionProfileActionSet {
                action_profile_actions: actions.collect(),
                ..Default::default()
            })
        }),
    ];
    proptest::option::of(kind.prop_map(|kind| p4::TableAction { r#type: Some(kind) }))
}

fn meter_config() -> impl Strategy<Value = Option<p4::MeterConfig>> {
    proptest::option::of((-1..3i64, 0..3i64).prop_map(|(cir, pir)| p4::MeterConfig {
        cir,
        pir,
        ..Default::default()
    }))
}

fn counter_data() -> impl Strategy<Value = Option<p4::CounterData>> {
    proptest::option::of((-1..9i64).prop_map(|packet_count| p4::CounterData {
        packet_count,
        byte_count: 1,
    }))
}

fn table_entries(ids: Ids) -> impl Strategy<Value = p4::TableEntry> {
    (
        id(ids.tables),
        matches(),
        table_actions(ids.actions),
        0..3i32,
        meter_config(),
        counter_data(),
        prop::bool::weighted(0.2),
        -1..2i64,
        bytes(),
    )
        .prop_map(
            |(
                table_id,
                r#match,
                action,
                priority,
                meter_config,
                counter_data,
                default,
                idle,
                metadata,
            )| {
                p4::TableEntry {
                    table_id,
                    r#match: if default { Vec::new() } else { r#match },
                    action,
                    priority: if default { 0 } else { priority },
                    meter_config,
                    counter_data,
                    is_default_action: default,
                    idle_timeout_ns: idle * 3_600_000_000_000,
                    metadata,
                    ..Default::default()
                }
            },
        )
}

fn entities(ids: Ids) -> impl Strategy<Value = Entity> {
    let index = || proptest::option::of((-1..9i64).prop_map(|index| p4::Index { index }));
    let replicas = || {
        let replica = (bytes(), 0..3u32).prop_map(|(port, instance)| p4::Replica {
            port_kind: Some(p4::replica::PortKind::Port(port)),
            instance,
            ..Default::default()
        });
        proptest::collection::vec(replica, 0..3)
    };
    use p4::packet_replication_engine_entry::Type as Replication;
    let wrap = |kind| {
        Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
            r#type: Some(kind),
        })
    };
    prop_oneof![
        4 => table_entries(ids.clone()).prop_map(table_entry),
        1 => (table_entries(ids.clone()), counter_data()).prop_map(|(entry, data)| {
            Entity::DirectCounterEntry(Box::new(p4::DirectCounterEntry {
                table_entry: Some(entry),
                data,
            }))
        }),
        1 => (table_entries(ids.clone()), meter_config()).prop_map(|(entry, config)| {
            Entity::DirectMeterEntry(Box::new(p4::DirectMeterEntry {
                table_entry: Some(entry),
                config,
                counter_data: None,
            }))
        }),
        2 => (id(ids.registers.clone()), index(), bytes()).prop_map(|(id, index, value)| {
            register_entry(id, index.map(|index| index.index), Some(&value))
        }),
        1 => (id(ids.counters.clone()), index(), counter_data()).prop_map(|(counter_id, index, data)| {
            Entity::CounterEntry(p4::CounterEntry { counter_id, index, data })
        }),
        1 => (id(ids.meters.clone()), index(), meter_config()).prop_map(|(meter_id, index, config)| {
            Entity::MeterEntry(Box::new(p4::MeterEntry { meter_id, index, config, counter_data: None }))
        }),
        2 => (id(ids.profiles.clone()), 0..5u32, proptest::option::of(some_action(ids.actions.clone()))).prop_map(
            |(action_profile_id, member_id, action)| {
                Entity::ActionProfileMember(p4::ActionProfileMember { action_profile_id, member_id, action })
            }
        ),
        2 => (id(ids.profiles.clone()), 0..4u32, proptest::collection::vec((0..5u32, 0..4i32), 0..4), -1..8i32).prop_map(
            |(action_profile_id, group_id, members, max_size)| {
                let members = members.into_iter().map(|(member_id, weight)| {
                    p4::action_profile_group::Member { member_id, weight, watch_kind: None }
                });
                Entity::ActionProfileGroup(p4::ActionProfileGroup {
                    action_profile_id,
                    group_id,
                    members: members.collect(),
                    max_size,
                })
            }
        ),
        1 => (0..4u32, replicas()).prop_map(move |(multicast_group_id, replicas)| {
            wrap(Replication::MulticastGroupEntry(p4::MulticastGroupEntry {
                multicast_group_id,
                replicas,
                metadata: Vec::new(),
            }))
        }),
        1 => (0..4u32, replicas(), -1..99i32).prop_map(move |(session_id, replicas, packet_length_bytes)| {
            wrap(Replication::CloneSessionEntry(p4::CloneSessionEntry {
                session_id,
                replicas,
                class_of_service: 0,
                packet_length_bytes,
            }))
        }),
        1 => (id(ids.value_sets.clone()), proptest::collection::vec(matches(), 0..6)).prop_map(|(value_set_id, members)| {
            let members = members.into_iter().map(|r#match| p4::ValueSetMember { r#match });
            Entity::ValueSetEntry(p4::ValueSetEntry { value_set_id, members: members.collect() })
        }),
        1 => (id(ids.digests), -1..3i32).prop_map(|(digest_id, max_list_size)| {
            let config = p4::digest_entry::Config { max_list_size, ..Default::default() };
            Entity::DigestEntry(p4::DigestEntry { digest_id, config: Some(config) })
        }),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_at_random_are_answered_and_never_half_applied() {
    let (mut fixture, _stream) = Fixture::start_program("entities").await;
    let of = |aliases: &[&str]| aliases.iter().map(|alias| fixture.id(alias)).collect();
    let ids = Ids {
        tables: of(&[
            "stations", "filters", "indirect", "balanced", "ports", "fixed",
        ]),
        actions: of(&[
            "forward", "drop", "known", "learn", "mirror", "to_port", "NoAction", "flood",
        ]),
        profiles: of(&["profile", "balancer"]),
        registers: of(&["marks", "offsets", "kinds", "wide"]),
        counters: of(&["seen"]),
        meters: of(&["rates"]),
        value_sets: of(&["trusted_types"]),
        digests: of(&["learn_t"]),
    };
    let updates = (1..4i32, entities(ids.clone())).prop_map(|(kind, entity)| p4::Update {
        r#type: kind,
        entity: Some(p4::Entity {
            entity: Some(entity),
        }),
    });
    let batches = (0..3i32, proptest::collection::vec(updates, 1..4));
    let reads = proptest::collection::vec(entities(ids), 1..4);
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let mut state = fixture.everything().await;
    let (mut applied, mut refused) = (0, 0);
    for _ in 0..700 {
        let (mode, batch) = batches.new_tree(&mut runner).unwrap().current();
        let mode = Atomicity::try_from(mode).unwrap();
        let count = batch.len();
        let result = fixture.write_as(mode, batch.clone()).await;
        if let Err(status) = &result {
            let errors = errors(status);
            assert_eq!(errors.len(), count, "{batch:?}");
            for (code, words) in errors {
                assert!(
                    !matches!(code, Code::Internal | Code::Unknown),
                    "{words}: {batch:?}"
                );
            }
        }
        let now = fixture.everything().await;
        match result {
            Ok(()) => applied += 1,
            Err(_) if mode == Atomicity::ContinueOnError => {}
            Err(_) => {
                refused += 1;
                assert_eq!(now, state, "{batch:?}");
            }
        }
        state = now;
        let read = reads.new_tree(&mut runner).unwrap().current();
        let count = read.len();
        if let Err(status) = fixture.read(read).await {
            assert_eq!(errors(&status).len(), count);
        }
    }
    assert!(applied > 10 && refused > 100, "{applied} {refused}");
    fixture.stop().await;
}
