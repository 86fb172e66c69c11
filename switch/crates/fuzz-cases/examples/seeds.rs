// SPDX-License-Identifier: Apache-2.0
//! Writes the seeds of the target `p4runtime`: well-formed requests, for the
//! fuzzer to damage. `cargo run -p fuzz-cases --example seeds -- FOLDER`

use p4runtime::proto::p4::v1 as p4;
use p4runtime::proto::p4::v1::entity::Entity;
use prost::Message;
use std::path::PathBuf;

/// A message of an input: see `fuzz_cases::p4runtime`.
fn message(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut input = vec![kind];
    input.extend((bytes.len() as u16).to_be_bytes());
    input.extend_from_slice(bytes);
    input
}

fn write(kind: p4::update::Type, entities: &[Entity]) -> Vec<u8> {
    let updates = entities.iter().map(|entity| p4::Update {
        r#type: kind as i32,
        entity: Some(p4::Entity {
            entity: Some(entity.clone()),
        }),
    });
    let request = p4::WriteRequest {
        device_id: 1,
        election_id: Some(p4::Uint128 { high: 0, low: 1 }),
        updates: updates.collect(),
        ..Default::default()
    };
    message(0, &request.encode_to_vec())
}

fn read(entities: &[Entity]) -> Vec<u8> {
    let request = p4::ReadRequest {
        device_id: 1,
        entities: entities
            .iter()
            .map(|entity| p4::Entity {
                entity: Some(entity.clone()),
            })
            .collect(),
        ..Default::default()
    };
    message(1, &request.encode_to_vec())
}

/// The tables, registers and counters of cm.p4, by their ids in its P4Info.
fn entities() -> Vec<Entity> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../p4src/build/cm.p4info.txtpb"
    );
    let text = std::fs::read_to_string(path).expect("cm.p4info.txtpb is committed");
    let info = p4runtime::p4info_from_text(&text).expect("cm.p4info.txtpb is P4Info");
    let mut list = Vec::new();
    for table in &info.tables {
        let preamble = table.preamble.clone().unwrap_or_default();
        let matches = table.match_fields.iter().map(|field| p4::FieldMatch {
            field_id: field.id,
            field_match_type: Some(p4::field_match::FieldMatchType::Exact(
                p4::field_match::Exact { value: vec![1] },
            )),
        });
        let action = table.action_refs.first().map_or(0, |action| action.id);
        let params = info
            .actions
            .iter()
            .find(|a| a.preamble.as_ref().is_some_and(|p| p.id == action))
            .map(|a| a.params.as_slice())
            .unwrap_or_default();
        let params = params.iter().map(|param| p4::action::Param {
            param_id: param.id,
            value: vec![1],
        });
        let entry = p4::TableEntry {
            table_id: preamble.id,
            r#match: matches.collect(),
            action: Some(p4::TableAction {
                r#type: Some(p4::table_action::Type::Action(p4::Action {
                    action_id: action,
                    params: params.collect(),
                })),
            }),
            ..Default::default()
        };
        list.push(Entity::TableEntry(entry.into()));
        let entry = p4::DirectCounterEntry {
            table_entry: Some(p4::TableEntry {
                table_id: preamble.id,
                ..Default::default()
            }),
            data: None,
        };
        list.push(Entity::DirectCounterEntry(entry.into()));
    }
    for register in &info.registers {
        list.push(Entity::RegisterEntry(p4::RegisterEntry {
            register_id: register.preamble.clone().unwrap_or_default().id,
            index: Some(p4::Index { index: 1 }),
            data: Some(p4::P4Data {
                data: Some(p4::p4_data::Data::Bitstring(vec![1])),
            }),
        }));
    }
    for counter in &info.counters {
        list.push(Entity::CounterEntry(p4::CounterEntry {
            counter_id: counter.preamble.clone().unwrap_or_default().id,
            index: Some(p4::Index { index: 0 }),
            data: Some(p4::CounterData {
                byte_count: 1,
                packet_count: 1,
            }),
        }));
    }
    let replica = p4::Replica {
        instance: 1,
        port_kind: Some(p4::replica::PortKind::Port(vec![1])),
        ..Default::default()
    };
    list.push(Entity::PacketReplicationEngineEntry(
        p4::PacketReplicationEngineEntry {
            r#type: Some(
                p4::packet_replication_engine_entry::Type::MulticastGroupEntry(
                    p4::MulticastGroupEntry {
                        multicast_group_id: 1,
                        replicas: vec![replica.clone()],
                        ..Default::default()
                    },
                ),
            ),
        },
    ));
    list.push(Entity::PacketReplicationEngineEntry(
        p4::PacketReplicationEngineEntry {
            r#type: Some(
                p4::packet_replication_engine_entry::Type::CloneSessionEntry(
                    p4::CloneSessionEntry {
                        session_id: 1,
                        replicas: vec![replica],
                        ..Default::default()
                    },
                ),
            ),
        },
    ));
    list.push(Entity::MeterEntry(Box::default()));
    list.push(Entity::ActionProfileMember(
        p4::ActionProfileMember::default(),
    ));
    list.push(Entity::ActionProfileGroup(p4::ActionProfileGroup::default()));
    list.push(Entity::ValueSetEntry(p4::ValueSetEntry::default()));
    list.push(Entity::DigestEntry(p4::DigestEntry::default()));
    list.push(Entity::ExternEntry(p4::ExternEntry::default()));
    list
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("give a folder"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let save = |name: String, input: Vec<u8>| {
        std::fs::write(folder.join(name), input).expect("the folder can be written to");
    };
    for (n, chunk) in entities().chunks(8).enumerate() {
        use p4::update::Type;
        let mut input = write(Type::Insert, chunk);
        input.extend(write(Type::Modify, chunk));
        input.extend(read(chunk));
        input.extend(write(Type::Delete, chunk));
        save(format!("entities-{n}"), input);
    }
    let packet = p4::StreamMessageRequest {
        update: Some(p4::stream_message_request::Update::Packet(p4::PacketOut {
            payload: vec![0; 64].into(),
            metadata: vec![p4::PacketMetadata {
                metadata_id: 1,
                value: vec![1],
            }],
        })),
    };
    save("packet-out".into(), message(2, &packet.encode_to_vec()));
    let get = p4::GetForwardingPipelineConfigRequest {
        device_id: 1,
        response_type: 0,
    };
    save("get-pipeline".into(), message(4, &get.encode_to_vec()));
    let set = p4::SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(p4::Uint128 { high: 0, low: 1 }),
        action: 3,
        config: Some(p4::ForwardingPipelineConfig {
            p4_device_config: b"{}".to_vec().into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    save("set-pipeline".into(), message(3, &set.encode_to_vec()));
}
