// SPDX-License-Identifier: Apache-2.0
//! Writes the seeds of the targets `p4runtime`, `packets`, `tcp`, `mac` and `recording`:
//! well-formed requests, frames, answers and files, for the fuzzer to damage.
//! `cargo run -p fuzz-cases --example seeds -- fuzz/seeds`

use fuzz_cases::PROGRAMS;
use grpc_services::proto::p4::config::v1::{
    ActionProfile, MatchField, P4Info, Preamble, Table, match_field,
};
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use prost::Message;
use recording::Encoder;
use recording::format::{Header, Input, Place, Program, Record};
use std::path::{Path, PathBuf};

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

/// A program's P4Info, by its path from `switch/`.
fn p4info(path: &str) -> P4Info {
    let path = switch_folder().join(path);
    let text = std::fs::read_to_string(path).expect("the P4Info is committed");
    grpc_services::p4info_from_text(&text).expect("it is P4Info")
}

fn switch_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A field of a key that matches 1, however it is matched.
fn field_match(field: &MatchField) -> p4::FieldMatch {
    use p4::field_match::*;
    let one = || vec![1];
    let kind = match &field.r#match {
        Some(match_field::Match::MatchType(kind)) => match_field::MatchType::try_from(*kind),
        _ => Ok(match_field::MatchType::Exact),
    };
    let value = match kind {
        Ok(match_field::MatchType::Lpm) => FieldMatchType::Lpm(Lpm {
            value: one(),
            prefix_len: field.bitwidth,
        }),
        Ok(match_field::MatchType::Ternary) => FieldMatchType::Ternary(Ternary {
            value: one(),
            mask: one(),
        }),
        Ok(match_field::MatchType::Range) => FieldMatchType::Range(Range {
            low: one(),
            high: vec![2],
        }),
        Ok(match_field::MatchType::Optional) => FieldMatchType::Optional(Optional { value: one() }),
        _ => FieldMatchType::Exact(Exact { value: one() }),
    };
    p4::FieldMatch {
        field_id: field.id,
        field_match_type: Some(value),
    }
}

/// A call of an action of the program with 1 for each argument.
fn call(info: &P4Info, action: u32) -> p4::Action {
    let called = info.actions.iter().find(|a| id(&a.preamble) == action);
    let params = called.map(|a| a.params.as_slice()).unwrap_or_default();
    let params = params.iter().map(|param| p4::action::Param {
        param_id: param.id,
        value: vec![1],
    });
    p4::Action {
        action_id: action,
        params: params.collect(),
    }
}

fn id(preamble: &Option<Preamble>) -> u32 {
    preamble.clone().unwrap_or_default().id
}

/// Members and a group of a profile, whose tables have this action.
fn profile(info: &P4Info, profile: &ActionProfile, list: &mut Vec<Entity>) {
    let users = |table: &&Table| profile.table_ids.contains(&id(&table.preamble));
    let table = info.tables.iter().find(users);
    let action = table
        .and_then(|t| t.action_refs.first())
        .map_or(0, |a| a.id);
    let action_profile_id = id(&profile.preamble);
    for member_id in 1..=2 {
        list.push(Entity::ActionProfileMember(p4::ActionProfileMember {
            action_profile_id,
            member_id,
            action: Some(call(info, action)),
        }));
    }
    let members = (1..=2).map(|member_id| p4::action_profile_group::Member {
        member_id,
        weight: 1,
        watch_kind: None,
    });
    list.push(Entity::ActionProfileGroup(p4::ActionProfileGroup {
        action_profile_id,
        group_id: 1,
        members: members.collect(),
        max_size: 4,
    }));
}

/// An entry of a table that every field of its key matches.
fn entry(info: &P4Info, table: &Table) -> p4::TableEntry {
    use p4::table_action::Type;
    let loose = |field: &MatchField| {
        use match_field::{Match, MatchType::*};
        [Ternary, Range, Optional]
            .map(|t| Some(Match::MatchType(t as i32)))
            .contains(&field.r#match)
    };
    let action = match table.implementation_id {
        0 => Type::Action(call(info, table.action_refs.first().map_or(0, |a| a.id))),
        _ => Type::ActionProfileMemberId(1),
    };
    p4::TableEntry {
        table_id: id(&table.preamble),
        r#match: table.match_fields.iter().map(field_match).collect(),
        action: Some(p4::TableAction {
            r#type: Some(action),
        }),
        priority: i32::from(table.match_fields.iter().any(loose)),
        ..Default::default()
    }
}

/// All kinds of entities, by their ids in a program's P4Info.
fn entities(info: &P4Info) -> Vec<Entity> {
    let mut list = Vec::new();
    for one in &info.action_profiles {
        profile(info, one, &mut list);
    }
    for table in &info.tables {
        let entry = entry(info, table);
        list.push(Entity::TableEntry(entry.clone().into()));
        list.push(Entity::DirectCounterEntry(Box::new(
            p4::DirectCounterEntry {
                table_entry: Some(entry.clone()),
                data: None,
            },
        )));
        list.push(Entity::DirectMeterEntry(Box::new(p4::DirectMeterEntry {
            table_entry: Some(entry),
            ..Default::default()
        })));
    }
    for register in &info.registers {
        list.push(Entity::RegisterEntry(p4::RegisterEntry {
            register_id: id(&register.preamble),
            index: Some(p4::Index { index: 1 }),
            data: Some(p4::P4Data {
                data: Some(p4::p4_data::Data::Bitstring(vec![1])),
            }),
        }));
    }
    for counter in &info.counters {
        list.push(Entity::CounterEntry(p4::CounterEntry {
            counter_id: id(&counter.preamble),
            index: Some(p4::Index { index: 0 }),
            data: Some(p4::CounterData {
                byte_count: 1,
                packet_count: 1,
            }),
        }));
    }
    for meter in &info.meters {
        list.push(Entity::MeterEntry(Box::new(p4::MeterEntry {
            meter_id: id(&meter.preamble),
            index: Some(p4::Index { index: 0 }),
            config: Some(p4::MeterConfig {
                cir: 1000,
                cburst: 100,
                pir: 2000,
                pburst: 200,
                ..Default::default()
            }),
            ..Default::default()
        })));
    }
    for digest in &info.digests {
        list.push(Entity::DigestEntry(p4::DigestEntry {
            digest_id: id(&digest.preamble),
            config: Some(p4::digest_entry::Config {
                max_timeout_ns: 1000,
                max_list_size: 2,
                ack_timeout_ns: 1000,
            }),
        }));
    }
    for set in &info.value_sets {
        list.push(Entity::ValueSetEntry(p4::ValueSetEntry {
            value_set_id: id(&set.preamble),
            members: vec![p4::ValueSetMember {
                r#match: set.r#match.iter().map(field_match).collect(),
            }],
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
    list.push(Entity::ExternEntry(p4::ExternEntry::default()));
    list
}

/// Pushes a program.
fn set_pipeline(program: &str, info: Option<P4Info>) -> Vec<u8> {
    let path = switch_folder().join(program);
    let json = std::fs::read(path).unwrap_or_else(|_| program.as_bytes().to_vec());
    let json = fuzz_cases::without_positions(&json);
    let set = p4::SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(p4::Uint128 { high: 0, low: 1 }),
        action: 3,
        config: Some(p4::ForwardingPipelineConfig {
            p4info: info,
            p4_device_config: json.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    message(3, &set.encode_to_vec())
}

/// Writes, reads, changes and deletes entities, several at a time.
fn batches(info: &P4Info) -> Vec<Vec<u8>> {
    use p4::update::Type;
    let batch = |chunk: &[Entity]| {
        let mut input = write(Type::Insert, chunk);
        input.extend(write(Type::Modify, chunk));
        input.extend(read(chunk));
        input.extend(write(Type::Delete, chunk));
        input
    };
    entities(info).chunks(8).map(batch).collect()
}

/// Frames as hosts send them: IPv4 with UDP and TCP, IPv6, VLAN, ARP.
fn frames() -> Vec<Vec<u8>> {
    let ethernet = |kind: u16, rest: &[u8]| {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        frame.extend(kind.to_be_bytes());
        frame.extend_from_slice(rest);
        frame.resize(frame.len().max(60), 0);
        frame
    };
    let ipv4 = |protocol: u8, payload: &[u8]| {
        let mut packet = vec![0x45, 0, 0, 20 + payload.len() as u8, 0, 1, 0x40, 0, 64];
        packet.extend([protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend_from_slice(payload);
        packet
    };
    let udp = [0x13, 0x88, 0, 53, 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut tcp = vec![0x1f, 0x90, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0];
    tcp.extend([0; 12]);
    let mut ipv6 = vec![0x60, 0, 0, 0, 0, 16, 17, 64];
    ipv6.extend([0x20; 32]);
    ipv6.extend(udp);
    let mut vlan = vec![0, 5, 8, 0];
    vlan.extend(ipv4(17, &udp));
    vec![
        ethernet(0x0800, &ipv4(17, &udp)),
        ethernet(0x0800, &ipv4(6, &tcp)),
        ethernet(0x86dd, &ipv6),
        ethernet(0x8100, &vlan),
        ethernet(0x0806, &[0, 1, 8, 0, 6, 4, 0, 1]),
    ]
}

/// The packets of a program's STF test, with their ports.
fn tested(program: &Path) -> Vec<(u16, Vec<u8>)> {
    let Ok(text) = std::fs::read_to_string(program.with_extension("stf")) else {
        return Vec::new();
    };
    let script = stf::parse(&text).expect("the test is one");
    let packets = script
        .statements
        .into_iter()
        .filter_map(|s| match s.command {
            stf::script::Command::Packet { port, data } => Some((port, data)),
            _ => None,
        });
    packets.collect()
}

/// An input of the target `packets` for each program.
fn packets(save: &impl Fn(String, Vec<u8>)) {
    for (at, program) in PROGRAMS.iter().enumerate() {
        let path = switch_folder().join(program);
        let common = frames().into_iter().zip([1, 2].into_iter().cycle());
        let mut frames: Vec<_> = common.map(|(frame, port)| (port, frame)).collect();
        frames.extend(tested(&path));
        // Tables do something: not their default actions.
        let mut input = vec![at as u8, 8, 1, 0, 1, 0, 1, 0, 1, 0];
        for (port, frame) in frames {
            input.push(u8::from(port != 1));
            input.push(1);
            input.extend((frame.len() as u16).to_be_bytes());
            input.extend(frame);
        }
        let name = path.file_stem().expect("a file").to_string_lossy();
        save(name.into_owned(), input);
    }
}

/// Choices for `fuzz_cases::tcp`: what a peer answers that means well.
fn tcp_answer(flags: u8, window: u16, payload: u16, sacked: &[u16]) -> Vec<u8> {
    /// The number that is expected, or one so much later.
    fn near(more: u16) -> Vec<u8> {
        let kind = if more == 0 { 0 } else { 4 };
        [&[kind], &more.to_be_bytes()[..]].concat()
    }
    let mut input = vec![0, flags | 0x80];
    input.extend([near(0), near(0)].concat());
    input.extend(window.to_be_bytes());
    input.extend(payload.to_be_bytes());
    input.push((sacked.len() as u8) << 4);
    input.extend([near(0), near(0)].concat());
    if flags & 2 != 0 {
        // MSS and window scale.
        input.extend([5, 180, 7]);
    }
    for more in sacked {
        input.extend(near(*more));
        input.extend(1448u16.to_be_bytes());
    }
    input
}

/// Connections of both profiles that send, lose, receive and close.
fn tcp(save: &dyn Fn(String, Vec<u8>)) {
    const TIMER: u8 = 12;
    const SEND: u8 = 13;
    const OTHER: u8 = 15;
    for (name, choice) in [
        ("linux", 0),
        ("rfc", 1),
        ("no-sack", 2),
        ("bare", 6),
        ("passive", 32),
    ] {
        for congestion in 0..3 {
            let mut input = vec![choice, congestion, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xf0];
            let syn = if choice == 32 { 0x02 } else { 0x12 };
            input.extend(tcp_answer(syn, 60_000, 0, &[]));
            for _ in 0..3 {
                input.extend(tcp_answer(0x10, 5000, 1448, &[]));
                input.extend(tcp_answer(0x10, 5000, 0, &[1448]));
                input.extend(tcp_answer(0x10, 5000, 0, &[1448, 4344]));
                input.extend([TIMER, TIMER]);
            }
            input.extend([SEND, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
            input.extend(tcp_answer(0x10, 0, 0, &[]));
            input.extend([TIMER; 6]);
            input.extend([OTHER, 5]);
            input.extend(tcp_answer(0x11, 9000, 100, &[]));
            input.extend([TIMER; 20]);
            save(format!("{name}-{congestion}"), input);
        }
    }
}

/// A device that runs l2.p4, whose client becomes primary, reads and configures, and to which a
/// frame comes, too late.
fn recordings(save: &impl Fn(String, Vec<u8>)) {
    let read = |name: &str| {
        let path = switch_folder().join("../p4src/build/bench").join(name);
        std::fs::read(path).expect("the program is committed")
    };
    let header = Header {
        device_id: 1,
        cpu_port: Some(255),
        drop_port: 511,
        lateness_bound: 20_000_000,
        ports: vec![1, 2],
        program: Some(Program {
            at: 0,
            json: read("l2.json"),
            p4info: Some(read("l2.p4info.txtpb")),
        }),
        ..Header::default()
    };
    let update = p4::MasterArbitrationUpdate {
        device_id: 1,
        ..Default::default()
    };
    let arbitration = p4::StreamMessageRequest {
        update: Some(p4::stream_message_request::Update::Arbitration(update)),
    };
    let asked = |request, method: &str, message: Vec<u8>| Input::Asked {
        request,
        method: method.into(),
        message,
    };
    let ran = |request, at| Input::Ran {
        request,
        at,
        work: Default::default(),
    };
    let get = grpc_services::proto::docsis::tm::v1::GetRequest { device_id: 1 };
    let inputs = [
        Input::StreamOpened { stream: 0 },
        Input::Said {
            request: 0,
            stream: 0,
            message: arbitration.encode_to_vec(),
        },
        asked(1, "/docsis.tm.v1.TrafficManager/Get", get.encode_to_vec()),
        ran(1, 1_000),
        Input::Jumped {
            now: 50_000_000,
            arrived: Some(2_000),
            place: Place::default(),
        },
        Input::Arrived {
            at: 50_000_000,
            port: 1,
            frame: vec![2; 60],
        },
        Input::Link {
            port: 1,
            up: false,
            place: Place::default(),
        },
        asked(2, "/p4.v1.P4Runtime/Read", Vec::new()),
        Input::Left { request: 2 },
        Input::StreamEnded { stream: 0 },
    ];
    for (name, header) in [
        ("l2", header.clone()),
        (
            "no-program",
            Header {
                program: None,
                ..header
            },
        ),
    ] {
        let mut file = Encoder::header(&header);
        let mut encoder = Encoder::default();
        for input in &inputs {
            encoder.record(&mut file, &Record::Input(input.clone()));
        }
        save(name.into(), file);
    }
}

/// MAPs, requests and headers as a channel has them.
fn mac(save: &impl Fn(String, Vec<u8>)) {
    use mac_wire::{
        Amount, Backoff, Element, Extended, Fragment, FragmentControl, Key, Map, Minislot, Request,
        SegmentHeader, Sid, Usage, concatenate, mac_frame,
    };
    let element = |sid, usage, first, minislots| Element {
        sid,
        usage,
        first: Minislot(first),
        minislots,
    };
    let map = Map {
        channel: 1,
        ucd_count: 0,
        start: Minislot(80),
        end: Minislot(160),
        ack: Minislot(40),
        ranging: Backoff { start: 3, end: 7 },
        data: Backoff { start: 3, end: 7 },
        elements: vec![
            element(Sid::ALL, Usage::Request, 80, 12),
            element(Sid(1), Usage::LongData, 92, 40),
            element(Sid(2), Usage::Request, 140, 1),
            element(Sid::ALL, Usage::InitialMaintenance, 157, 3),
        ],
        pending: vec![Sid(3), Sid(4)],
    };
    let near = |bytes: Vec<u8>| [vec![0], 80_u64.to_be_bytes().to_vec(), bytes].concat();
    save("map".into(), near(map.encode().expect("it is a MAP")));
    let message = map.message([2; 6]).expect("it is a MAP");
    save("map-message".into(), near(message));
    for (name, amount) in [
        ("request-minislots", Amount::Minislots(96)),
        ("request-bytes", Amount::Bytes(1528)),
    ] {
        let request = Request {
            sid: Sid(7),
            amount,
        };
        let bytes = request.encode(4).expect("it has a SID");
        save(name.into(), [vec![1], bytes].concat());
    }
    let privacy = |fragment| Extended::Privacy {
        key: Key::default(),
        sid: Sid(7),
        minislots: 3,
        fragment,
    };
    let frame = mac_frame(&[5; 60], vec![privacy(None)]).expect("it is short");
    save("header".into(), [vec![2], frame.clone()].concat());
    save("frame".into(), [vec![3], frame.clone()].concat());
    let burst = concatenate(&[frame.clone(), frame]).expect("they are short");
    save("concatenation".into(), [vec![3], burst].concat());
    let fragment = Fragment {
        extended: vec![privacy(Some(FragmentControl {
            first: true,
            last: false,
            sequence: 0,
        }))],
        part: &[7; 40],
    };
    let fragment = fragment.encode().expect("it says which it is");
    save("fragment".into(), [vec![3], fragment].concat());
    let segment = SegmentHeader {
        first_header: Some(12),
        sequence: 77,
        cluster: 0,
        request: 382,
    };
    let segment = segment.encode().expect("all of it fits").to_vec();
    save("segment".into(), [vec![4], segment].concat());
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("give a folder"));
    let save_in = |target: &'static str| {
        let folder = folder.join(target);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        move |name: String, input: Vec<u8>| {
            std::fs::write(folder.join(name), input).expect("the folder can be written to");
        }
    };
    packets(&save_in("packets"));
    tcp(&save_in("tcp"));
    mac(&save_in("mac"));
    recordings(&save_in("recording"));
    let save = save_in("p4runtime");
    for (n, input) in batches(&p4info("../p4src/build/cm.p4info.txtpb"))
        .into_iter()
        .enumerate()
    {
        save(format!("entities-{n}"), input);
    }
    for program in ["entities", "profiles", "digest", "meters", "value_sets"] {
        let path = format!("crates/v1model/tests/programs/{program}");
        let info = p4info(&format!("{path}.p4info.txtpb"));
        let mut input = set_pipeline(&format!("{path}.json"), Some(info.clone()));
        input.extend(batches(&info).concat());
        save(format!("program-{program}"), input);
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
    save("set-pipeline".into(), set_pipeline("{}", None));
}
