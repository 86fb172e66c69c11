// SPDX-License-Identifier: Apache-2.0
//! Two bridges that run l2.p4, hosts at both, and a narrow port between them. All of it is
//! provisioned through the server's entrance, as a controller does.

use bytes::Bytes;
use grpc_services::p4info_from_text;
use grpc_services::proto::docsis::tm::v1 as tm;
use grpc_services::proto::p4::config::v1::P4Info;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;
use grpc_services::proto::p4::v1::stream_message_request::Update;
use prost::Message;
use std::fs;
use world::{DeviceOptions, Flow, HostOptions, Lateness, LinkConfig, StreamId, World};

pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MILLISECOND;

/// The port from bridge to bridge.
pub const BETWEEN: u16 = 1;
pub const DEVICES: [&str; 2] = ["near", "far"];

/// What a test's world is like.
#[derive(Clone, Debug)]
pub struct Shape {
    pub seed: u64,
    /// Hosts at each bridge, by their numbers, in the order in which they are added.
    pub hosts: Vec<u8>,
    /// bit/s from bridge to bridge, and bytes that may wait for that.
    pub rate: u64,
    pub queue: u64,
    pub delay: u64,
    pub jitter: u64,
    pub late_hosts: Lateness,
    pub late_devices: Lateness,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            seed: 7,
            hosts: vec![1, 2],
            rate: 20_000_000,
            queue: 60_000,
            delay: 5 * MILLISECOND,
            jitter: 0,
            late_hosts: Lateness::NONE,
            late_devices: Lateness::NONE,
        }
    }
}

/// A host's name: "near1", "far2".
pub fn host(side: usize, number: u8) -> String {
    format!("{}{number}", DEVICES[side])
}

fn mac(side: usize, number: u8) -> [u8; 6] {
    [2, 0, 0, 0, side as u8 + 1, number]
}

/// The host's port at its bridge.
fn port(number: u8) -> u16 {
    u16::from(number) + 1
}

pub fn flow<'a>(source: &'a str, destination: &'a str, port: u16) -> Flow<'a> {
    Flow {
        source,
        destination,
        port,
        ..Flow::default()
    }
}

/// The program, by its path without an ending from the folder of crates on, is a device's
/// from now on. Its P4Info is returned.
pub fn set_pipeline(world: &mut World, device: &str, device_id: u64, program: &str) -> P4Info {
    let path = format!("{}/../{program}", env!("CARGO_MANIFEST_DIR"));
    let info = fs::read_to_string(format!("{path}.p4info.txtpb")).unwrap();
    let info = p4info_from_text(&info).unwrap();
    let method = "/p4.v1.P4Runtime/SetForwardingPipelineConfig";
    let request = p4::SetForwardingPipelineConfigRequest {
        device_id,
        election_id: election(),
        action: p4::set_forwarding_pipeline_config_request::Action::VerifyAndCommit as i32,
        config: Some(p4::ForwardingPipelineConfig {
            p4info: Some(info.clone()),
            p4_device_config: fs::read(format!("{path}.json")).unwrap().into(),
            cookie: None,
        }),
        ..Default::default()
    };
    let _: p4::SetForwardingPipelineConfigResponse = call(world, device, method, &request);
    info
}

/// Writes as the primary controller.
pub fn write(world: &mut World, device: &str, device_id: u64, updates: Vec<p4::Update>) {
    let request = p4::WriteRequest {
        device_id,
        election_id: election(),
        updates,
        ..Default::default()
    };
    let _: p4::WriteResponse = call(world, device, "/p4.v1.P4Runtime/Write", &request);
}

fn election() -> Option<p4::Uint128> {
    Some(p4::Uint128 { high: 0, low: 1 })
}

/// Calls a method, and expects one answer.
pub fn call<M: Message + Default>(
    world: &mut World,
    device: &str,
    method: &str,
    request: &impl Message,
) -> M {
    let answers = world.call(device, method, request.encode_to_vec().into());
    let answers = answers.unwrap_or_else(|error| panic!("{method}: {error}"));
    assert_eq!(answers.len(), 1, "{method}");
    M::decode(answers[0].clone()).unwrap()
}

/// A stream whose client is the device's primary controller.
pub fn primary(world: &mut World, device: &str, device_id: u64) -> StreamId {
    let stream = world.open_stream(device).unwrap();
    let message = p4::StreamMessageRequest {
        update: Some(Update::Arbitration(p4::MasterArbitrationUpdate {
            device_id,
            election_id: election(),
            ..Default::default()
        })),
    };
    let message = Bytes::from(message.encode_to_vec());
    world.stream_send(stream, message).unwrap();
    assert_eq!(world.stream_receive(stream).unwrap().len(), 1);
    stream
}

/// An entry of the table of stations.
pub fn station(info: &P4Info, mac: [u8; 6], port: u16) -> p4::Update {
    let table = &info.tables[0];
    let preamble = |name: &str| {
        let action = info.actions.iter().map(|a| a.preamble.as_ref().unwrap());
        action.into_iter().find(|p| p.alias == name).unwrap().id
    };
    let action = p4::Action {
        action_id: preamble("forward"),
        params: vec![p4::action::Param {
            param_id: 1,
            value: port.to_be_bytes().to_vec(),
        }],
    };
    let entry = p4::TableEntry {
        table_id: table.preamble.as_ref().unwrap().id,
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(p4::field_match::FieldMatchType::Exact(
                p4::field_match::Exact {
                    value: mac.to_vec(),
                },
            )),
        }],
        action: Some(p4::TableAction {
            r#type: Some(p4::table_action::Type::Action(action)),
        }),
        ..Default::default()
    };
    p4::Update {
        r#type: p4::update::Type::Insert as i32,
        entity: Some(p4::Entity {
            entity: Some(Entity::TableEntry(Box::new(entry))),
        }),
    }
}

/// Makes a world of this shape, whose bridges know all stations.
pub fn world(shape: &Shape) -> World {
    let mut world = World::new(shape.seed).unwrap();
    for (side, name) in DEVICES.into_iter().enumerate() {
        let options = DeviceOptions {
            name,
            device_id: side as u64 + 1,
            ports: (1..=10).collect(),
            lateness: shape.late_devices,
            ..DeviceOptions::default()
        };
        world.add_device(&options).unwrap();
    }
    let link = LinkConfig {
        rate: 0,
        delay: shape.delay,
        jitter: shape.jitter,
    };
    let [near, far] = DEVICES;
    world
        .connect((near, BETWEEN), (far, BETWEEN), link)
        .unwrap();
    for &number in &shape.hosts {
        for (side, device) in DEVICES.into_iter().enumerate() {
            let options = HostOptions {
                name: &host(side, number),
                mac: mac(side, number),
                address: [10, 0, side as u8, number],
                device,
                port: port(number),
                link: LinkConfig {
                    rate: 1_000_000_000,
                    ..LinkConfig::default()
                },
                lateness: shape.late_hosts,
            };
            world.add_host(&options).unwrap();
        }
    }
    for side in 0..2 {
        provision(&mut world, side, shape);
    }
    world
}

fn provision(world: &mut World, side: usize, shape: &Shape) {
    let (name, device_id) = (DEVICES[side], side as u64 + 1);
    // It stays open: without it there is no primary controller.
    primary(world, name, device_id);
    let info = set_pipeline(world, name, device_id, "../../p4src/build/bench/l2");
    let mut numbers = shape.hosts.clone();
    numbers.sort_unstable();
    let updates = numbers.iter().flat_map(|&number| {
        let away = station(&info, mac(1 - side, number), BETWEEN);
        [station(&info, mac(side, number), port(number)), away]
    });
    write(world, name, device_id, updates.collect());
    let request = tm::ConfigureRequest {
        device_id,
        ports: vec![tm::PortConfig {
            port: BETWEEN.into(),
            rate: shape.rate,
            queue_limit: shape.queue,
            ..Default::default()
        }],
        ..Default::default()
    };
    let method = "/docsis.tm.v1.TrafficManager/Configure";
    let _: tm::ConfigureResponse = call(world, name, method, &request);
}
