// SPDX-License-Identifier: Apache-2.0
//! A modem and a CMTS that run paths.p4, whose frames say where they go, and an RF link between them.

use device::{Configuration as Queues, Device, DeviceConfig, Output, QueueId, ServiceFlowConfig};
use plant::mac_wire::{FlowConfig, Periodic, Policy, Profile, Service, Sid};
use plant::{ChannelConfig, Configuration, End, FlowPlace, GrantedPort, Node, Plant};
use std::sync::{Arc, OnceLock};
use v1model::Program;

pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
/// The modem's ports, and its place.
pub const RF: u16 = 1;
pub const HOST: u16 = 2;
pub const MODEM: u32 = 0;
/// The CMTS's ports, and its place.
pub const SERVER: u16 = 1;
pub const CMTS_RF: u16 = 2;
pub const CMTS: u32 = 1;

/// What left a device through a port with a host: when, which port, and the bytes.
#[derive(Default)]
pub struct Hosts(pub Vec<(u64, u16, Vec<u8>)>);

impl Output for Hosts {
    fn transmit(&mut self, now: u64, port: u16, frame: &[u8], _paced: bool) {
        self.0.push((now, port, frame.to_vec()));
    }

    fn packet_in(&mut self, _now: u64, _frame: &[u8]) -> bool {
        true
    }
}

/// What happened at a port with an RF link: when, whether a frame left, and its number.
pub type Seen = (u64, bool, u32);

pub struct Station {
    pub device: Device,
    pub hosts: Hosts,
    pub seen: Vec<Seen>,
}

impl Node for Station {
    type Out = Hosts;

    fn device(&self) -> &Device {
        &self.device
    }

    fn device_mut(&mut self) -> &mut Device {
        &mut self.device
    }

    fn parts(&mut self) -> (&mut Device, &mut Hosts) {
        (&mut self.device, &mut self.hosts)
    }

    fn left(&mut self, now: u64, _port: u16, frame: &[u8]) {
        self.seen.push((now, true, number(frame)));
    }

    fn arrives(&mut self, now: u64, _port: u16, frame: &[u8]) {
        self.seen.push((now, false, number(frame)));
    }
}

fn program() -> Arc<Program> {
    static PATHS: OnceLock<Arc<Program>> = OnceLock::new();
    let load = || {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../v1model/tests/programs/paths.json"
        );
        Arc::new(Program::load(&std::fs::read(path).unwrap()).unwrap())
    };
    Arc::clone(PATHS.get_or_init(load))
}

fn station(device_id: u64) -> Station {
    let mut device = Device::new(DeviceConfig {
        device_id,
        ..DeviceConfig::default()
    });
    device.add_port(1);
    device.add_port(2);
    device.load(0, program());
    Station {
        device,
        hosts: Hosts::default(),
        seen: Vec::new(),
    }
}

/// A frame of that many bytes on the wire, FCS included, out of that queue of that port.
pub fn frame(number: u32, port: u16, queue_id: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![0; 5];
    frame.extend([port as u8, queue_id, 0]);
    frame.extend(number.to_be_bytes());
    frame.resize(length - 4, 0xa5);
    frame
}

/// The number of a frame.
pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[8..12].try_into().unwrap())
}

/// A plant and its two devices.
pub struct World {
    pub plant: Plant,
    pub nodes: Vec<Station>,
}

pub fn end(node: u32, port: u16) -> End {
    End { node, port }
}

impl World {
    /// Without channels.
    pub fn new(seed: u64) -> Self {
        let links = [[end(MODEM, RF), end(CMTS, CMTS_RF)]];
        Self {
            plant: Plant::new(&links, seed).unwrap(),
            nodes: vec![station(1), station(2)],
        }
    }

    /// With a channel, and best-effort service flows in queues 1 to so many.
    pub fn with_channel(seed: u64, profile: Profile, flows: u16) -> Self {
        let mut world = Self::new(seed);
        world.add_queues(0, 1..=u32::from(flows));
        let request = Configuration {
            channels: vec![channel("us1", 1, profile)],
            granted: vec![granted()],
            flows: (1..=flows).map(|sid| best_effort("us1", sid)).collect(),
            ..Configuration::default()
        };
        world.plant.configure(&mut world.nodes, 0, request).unwrap();
        world
    }

    /// Queues of service flows at the modem's RF port, without rates.
    pub fn add_queues(&mut self, now: u64, ids: impl IntoIterator<Item = u32>) {
        let queues = ids.into_iter().map(|queue_id| ServiceFlowConfig {
            queue: QueueId { port: RF, queue_id },
            queue_limit: 1 << 20,
            ..ServiceFlowConfig::default()
        });
        let request = Queues {
            service_flows: queues.collect(),
            ..Queues::default()
        };
        self.nodes[MODEM as usize]
            .device
            .configure(now, &request)
            .unwrap();
    }

    /// A frame reaches a device's port from its host, in due time.
    pub fn give(&mut self, at: u64, node: u32, port: u16, frame: &[u8]) {
        let at = self.plant.run_before(&mut self.nodes, at);
        self.nodes[node as usize].device.receive(at, port, frame);
        self.plant.received(&mut self.nodes, node as usize);
    }

    pub fn run(&mut self, until: u64) {
        self.plant.run(&mut self.nodes, until);
    }

    /// Upstream frames that reached the server: when, and their numbers.
    pub fn served(&self) -> Vec<(u64, u32)> {
        let sent = self.nodes[CMTS as usize].hosts.0.iter();
        sent.map(|(at, port, frame)| {
            assert_eq!(*port, SERVER);
            (*at, number(frame))
        })
        .collect()
    }
}

pub fn channel(name: &str, number: u8, profile: Profile) -> ChannelConfig {
    ChannelConfig {
        name: name.into(),
        number,
        profile,
        map_traffic: None,
    }
}

pub fn granted() -> GrantedPort {
    GrantedPort {
        end: end(MODEM, RF),
        primary: 1,
    }
}

/// A flow in the queue with its SID's number.
pub fn place(channel: &str, flow: FlowConfig) -> FlowPlace {
    FlowPlace {
        channel: channel.into(),
        end: end(MODEM, RF),
        queue_id: flow.sid.0.into(),
        flow,
    }
}

pub fn best_effort(channel: &str, sid: u16) -> FlowPlace {
    place(channel, FlowConfig::best_effort(Sid(sid)))
}

/// Unsolicited grants of `size` bytes every `interval` ns.
pub fn unsolicited(sid: u16, interval: u64, jitter: u64, size: u32) -> FlowPlace {
    let service = Service::Unsolicited {
        grants: Periodic { interval, jitter },
        size,
        per_interval: 1,
    };
    let flow = FlowConfig {
        service,
        policy: Policy::USUAL_UNSOLICITED,
        ..FlowConfig::best_effort(Sid(sid))
    };
    place("us1", flow)
}

/// Numbers that look random: splitmix64.
pub fn random(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
