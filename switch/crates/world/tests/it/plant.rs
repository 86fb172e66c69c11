// SPDX-License-Identifier: Apache-2.0
//! Modems that run cm.p4, each with a computer, and a CMTS that runs cmts.p4, with a server.
//! Upstream a request/grant MAC is between them.

use device::{Configuration, Device, QueueId, ServiceFlowConfig};
use std::sync::{Arc, OnceLock};
use v1model::Program;
use v1model::by_name::insert_exact;
use world::mac_wire::{FlowConfig, Profile, Sid};
use world::{DeviceOptions, Flow, HostOptions, LinkConfig, UdpStreamOptions, World};

pub const CMTS: &str = "cmts";
pub const SERVER: &str = "server";
pub const CHANNEL: &str = "upstream";
/// Ports of a modem, and the CMTS's towards the network.
pub const RF: u16 = 1;
const CPE: u16 = 2;
const NSI: u16 = 500;
/// The service flow of each modem, and its queue.
const FLOW: u32 = 1;
pub const QUEUE: QueueId = QueueId {
    port: RF,
    queue_id: FLOW,
};
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 1, 0];

pub fn modem(number: usize) -> String {
    format!("cm{number}")
}

pub fn computer(number: usize) -> String {
    format!("pc{number}")
}

/// A program of the project, loaded once.
fn program(name: &'static str, loaded: &'static OnceLock<Arc<Program>>) -> Arc<Program> {
    let load = || {
        let path = format!(
            "{}/../../../p4src/build/{name}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let json = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        Arc::new(Program::load(&json).unwrap())
    };
    Arc::clone(loaded.get_or_init(load))
}

fn mac(bytes: [u8; 6]) -> u128 {
    bytes
        .iter()
        .fold(0, |all, &byte| all << 8 | u128::from(byte))
}

/// So many modems, whose service flows a channel carries.
pub fn plant(seed: u64, profile: Profile, modems: usize, shape: ServiceFlowConfig) -> World {
    let mut world = unlinked(seed, modems);
    world.add_channel(CHANNEL, profile).unwrap();
    for number in 0..modems {
        let name = modem(number);
        let flow = ServiceFlowConfig {
            queue: QUEUE,
            ..shape
        };
        world
            .with_device(&name, |device, now| set_up_modem(device, now, flow))
            .unwrap();
        world.grant_port(&name, RF, FLOW).unwrap();
        let sid = Sid(number as u16 + 1);
        let flow = FlowConfig {
            max_sustained_rate: shape.max_sustained_rate,
            max_burst: shape.max_burst,
            peak_rate: shape.peak_rate,
            ..FlowConfig::best_effort(sid)
        };
        world
            .add_upstream_flow(CHANNEL, &name, QUEUE, flow)
            .unwrap();
    }
    world
}

/// Modems and the CMTS, connected, without a channel.
pub fn unlinked(seed: u64, modems: usize) -> World {
    let mut world = World::new(seed).unwrap();
    let cmts = DeviceOptions {
        name: CMTS,
        device_id: 1000,
        ports: (1..=modems as u16).chain([NSI]).collect(),
        ..DeviceOptions::default()
    };
    world.add_device(&cmts).unwrap();
    host(&mut world, SERVER, SERVER_MAC, [10, 0, 1, 0], (CMTS, NSI));
    world
        .with_device(CMTS, |device, now| set_up_cmts(device, now, modems))
        .unwrap();
    for number in 0..modems {
        let name = modem(number);
        let options = DeviceOptions {
            name: &name,
            device_id: number as u64 + 1,
            ports: vec![RF, CPE],
            ..DeviceOptions::default()
        };
        world.add_device(&options).unwrap();
        let at = [2, 0, 0, 0, 0, number as u8];
        let address = [10, 0, 0, number as u8 + 1];
        host(&mut world, &computer(number), at, address, (&name, CPE));
        let cmts = (CMTS, number as u16 + 1);
        world
            .connect((&name, RF), cmts, LinkConfig::default())
            .unwrap();
    }
    world
}

fn host(world: &mut World, name: &str, mac: [u8; 6], address: [u8; 4], at: (&str, u16)) {
    let options = HostOptions {
        name,
        mac,
        address,
        device: at.0,
        port: at.1,
        ..HostOptions::default()
    };
    world.add_host(&options).unwrap();
}

pub fn set_up_modem(device: &mut Device, now: u64, flow: ServiceFlowConfig) {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    device.load(now, program("cm", &PROGRAM));
    let request = Configuration {
        service_flows: vec![flow],
        ..Configuration::default()
    };
    device.configure(now, &request).unwrap();
    let pipeline = device.pipeline_mut().unwrap();
    let mut insert = |table, key: &[u128], action, values: &[(&str, u128)]| {
        insert_exact(pipeline, table, key, action, values).unwrap();
    };
    let flow = u128::from(FLOW);
    let cpe = [("flood_group", 0), ("to_rf", 1), ("modem", 1)];
    insert("bridge.interface", &[CPE.into()], "provision", &cpe);
    let station = [("port", RF.into()), ("to_rf", 1), ("modem", 1)];
    insert("bridge.station", &[1, mac(SERVER_MAC)], "forward", &station);
    insert(
        "classifier.primary",
        &[1],
        "set_primary",
        &[("service_flow", flow)],
    );
    let queue = [
        ("port", RF.into()),
        ("queue_id", flow),
        ("traffic_priority", 0),
        ("buffer_size", 1 << 27),
        ("max_frame", 1522),
        ("queue_manager", 0),
        ("generation", 0),
        ("flow_queuing", 0),
        ("latency_target", 10_000),
        ("controller_timeout", u32::MAX.into()),
        ("tos_and", 0xff),
        ("tos_or", 0),
    ];
    insert("service_flow", &[flow], "set_queue", &queue);
}

fn set_up_cmts(device: &mut Device, now: u64, modems: usize) {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    device.load(now, program("cmts", &PROGRAM));
    let pipeline = device.pipeline_mut().unwrap();
    let mut insert = |table, key: &[u128], action, values: &[(&str, u128)]| {
        insert_exact(pipeline, table, key, action, values).unwrap();
    };
    for port in 1..=modems as u128 {
        let rf = [("flood_group", 0), ("to_rf", 0), ("modem", 0)];
        insert("bridge.interface", &[port], "provision", &rf);
    }
    let server = [("port", NSI.into()), ("to_rf", 0), ("modem", 0)];
    insert("bridge.station", &[0, mac(SERVER_MAC)], "forward", &server);
}

/// What the server sends to a modem's computer finds its way.
pub fn downstream_to(world: &mut World, number: usize) {
    let at = mac([2, 0, 0, 0, 0, number as u8]);
    let forward = |device: &mut Device, from: u16, to: u16| {
        let pipeline = device.pipeline_mut().unwrap();
        let mut insert = |table, key: &[u128], action, values: &[(&str, u128)]| {
            insert_exact(pipeline, table, key, action, values).unwrap();
        };
        let interface = [("flood_group", 0), ("to_rf", 0), ("modem", 0)];
        insert("bridge.interface", &[from.into()], "provision", &interface);
        let station = [("port", to.into()), ("to_rf", 0), ("modem", 0)];
        insert("bridge.station", &[0, at], "forward", &station);
    };
    let rf = number as u16 + 1;
    world
        .with_device(CMTS, |device, _| forward(device, NSI, rf))
        .unwrap();
    world
        .with_device(&modem(number), |device, _| forward(device, RF, CPE))
        .unwrap();
}

/// Frames of so many bytes to the end of their CRC, from a modem's computer to the server, at
/// these times; each is recorded.
pub fn send(world: &mut World, number: usize, frame_length: usize, at: Vec<u64>) -> u32 {
    let source = computer(number);
    let flow = Flow {
        source: &source,
        destination: SERVER,
        port: 5000 + number as u16,
        one_in: 1,
        ..Flow::default()
    };
    let stream = UdpStreamOptions {
        times: world::Times::default(),
        frame_length,
        interval: 0,
        train: 1,
        on_off: (0, 0),
        at: Some(at),
    };
    world.add_udp_stream(&flow, stream).unwrap()
}
