// SPDX-License-Identifier: Apache-2.0
//! A cable modem that runs cm.p4, with one service flow, in virtual time.

use super::Recorder;
use device::{Configuration, Device, DeviceConfig, QueueId, ServiceFlowConfig, ServiceFlowState};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use traffic_manager::{ModelKind, PacketQueueChange};
use v1model::by_name::{action, table};
use v1model::{EntryKey, EntryOptions, Match, Program};

pub const RF: u16 = 1;
pub const CPE: u16 = 2;
pub const SERVER: u64 = 0x0200_0000_0201;
pub const FLOW: u32 = 1;
pub const SERVICE_FLOWS: usize = 4096;
/// To the end of the CRC, as all lengths here.
pub const MAX_PACKET: usize = 1522;
const CRC: usize = 4;
/// 1.0 in Q4.28.
pub const ONE: u64 = 1 << 28;
pub const MULTIPLIER: u32 = 0x9e37_79b1;
/// Virtual time begins here, nanoseconds: 0 stands for "never" in some registers.
pub const START: u64 = 1_000_000;

pub const DROP_TAIL: u8 = 0;
pub const DOCSIS_PIE: u8 = 1;
pub const CODEL: u8 = 2;
pub const PIE: u8 = 3;
pub const ADAPTIVE_RED: u8 = 4;
pub const CODEL_DT: u8 = 5;
pub const LRED: u8 = 6;
pub const CODEL_002: u8 = 7;
pub const PIE_002: u8 = 8;

/// The service flow's entry, and its queue in the traffic manager.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    pub manager: u8,
    pub generation: u8,
    pub flow_queuing: bool,
    pub buffer_size: u32,
    /// Microseconds.
    pub latency_target: u32,
    /// Microseconds.
    pub controller_timeout: u32,
    /// bit/s; 0 is no limit.
    pub rate: u64,
    pub max_burst: u64,
    pub sub_queues: u32,
    /// Bytes that the traffic manager takes, whatever the pipeline says; 0 is no limit.
    pub queue_limit: u64,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            manager: DROP_TAIL,
            generation: 0,
            flow_queuing: false,
            buffer_size: 1 << 27,
            latency_target: 15_000,
            controller_timeout: u32::MAX,
            rate: 0,
            max_burst: MAX_PACKET as u64,
            sub_queues: 0,
            queue_limit: 0,
        }
    }
}

/// UDP over IPv4, of a session and with a number of its own.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub session: u32,
    pub number: u32,
    /// To the end of the CRC, which is not among its bytes.
    pub length: usize,
}

const ADDRESSES_AT: usize = 26;
const PORTS_AT: usize = 34;
const NUMBER_AT: usize = 42;
const NUMBER_END: usize = NUMBER_AT + 4;
/// The shortest Ethernet frame.
pub const SHORTEST: usize = 64;

impl Frame {
    /// Source, destination and both ports.
    fn endpoints(self) -> [u8; 12] {
        let mut endpoints = [0; 12];
        let host = 0x0a00_0000 | (self.session >> 16);
        endpoints[..4].copy_from_slice(&host.to_be_bytes());
        endpoints[4..8].copy_from_slice(&[203, 0, 113, 7]);
        endpoints[8..10].copy_from_slice(&(self.session as u16).to_be_bytes());
        endpoints[10..].copy_from_slice(&443u16.to_be_bytes());
        endpoints
    }

    pub fn bytes(self) -> Vec<u8> {
        assert!((SHORTEST..=MAX_PACKET).contains(&self.length));
        let length = self.length - CRC;
        let mut frame = vec![0; length];
        frame[..6].copy_from_slice(&SERVER.to_be_bytes()[2..]);
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
        frame[22..24].copy_from_slice(&[64, 17]);
        frame[ADDRESSES_AT..NUMBER_AT - 4].copy_from_slice(&self.endpoints());
        frame[NUMBER_AT..NUMBER_END].copy_from_slice(&self.number.to_be_bytes());
        frame
    }

    /// What the session is known by: CRC-32 of the 5-tuple as the pipeline writes it,
    /// EtherType, IPv4 addresses, room for IPv6's, protocol, ports.
    pub fn session_hash(self) -> u32 {
        let mut tuple = vec![0x08, 0x00];
        let endpoints = self.endpoints();
        tuple.extend_from_slice(&endpoints[..8]);
        tuple.extend_from_slice(&[0; 32]);
        tuple.push(17);
        tuple.extend_from_slice(&endpoints[8..]);
        crc32(&tuple)
    }

    /// Which of so many places the session has.
    pub fn place(self, places: u32, multiplier: u32) -> u32 {
        let spread = self.session_hash().wrapping_mul(multiplier);
        ((u64::from(spread) * u64::from(places)) >> 32) as u32
    }
}

/// IEEE 802.3's, bit by bit.
fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// The number of a frame that was sent.
pub fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[NUMBER_AT..NUMBER_END].try_into().unwrap())
}

/// cm.p4, or another build of it, `CM_JSON`: which test would notice a mistake there?
fn program() -> Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    Arc::clone(PROGRAM.get_or_init(|| {
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build/cm.json");
        let path = std::env::var("CM_JSON").unwrap_or_else(|_| default.into());
        Arc::new(Program::load(&std::fs::read(path).unwrap()).unwrap())
    }))
}

pub struct Modem {
    pub device: Device,
    pub out: Recorder,
    /// Bytes that a sub-queue may hold, of the flow queues that are entered next.
    pub queue_limit: u32,
    entries: BTreeSet<(String, u128)>,
    /// The traffic manager is BMv2's, which has no service flows.
    packet_queues: bool,
}

impl Modem {
    pub fn new(flow: &Flow) -> Self {
        Self::with_seed(flow, 0)
    }

    /// `seed` determines what the program draws at random.
    pub fn with_seed(flow: &Flow, seed: u64) -> Self {
        Self::with_config(
            flow,
            DeviceConfig {
                seed,
                ..DeviceConfig::default()
            },
        )
    }

    /// With BMv2's queues of so many packets, at so many a second; 0 is no limit.
    pub fn with_packet_queues(flow: &Flow, depth: u32, rate: u64) -> Self {
        let config = DeviceConfig {
            traffic_manager: ModelKind::Bmv2 { priorities: 8 },
            ..DeviceConfig::default()
        };
        let mut modem = Self::with_config(flow, config);
        let change = PacketQueueChange {
            port: None,
            priority: None,
            depth: Some(depth),
            rate: Some(rate),
        };
        let request = Configuration {
            packet_queues: vec![change],
            ..Configuration::default()
        };
        modem.device.configure(START, &request).unwrap();
        modem
    }

    fn with_config(flow: &Flow, config: DeviceConfig) -> Self {
        let packet_queues = config.traffic_manager != ModelKind::Docsis;
        let mut device = Device::new(config);
        device.add_port(RF);
        device.add_port(CPE);
        device.load(0, program());
        let mut modem = Self {
            device,
            out: Recorder::default(),
            queue_limit: u32::MAX,
            entries: BTreeSet::new(),
            packet_queues,
        };
        let cpe = [("flood_group", 0), ("to_rf", 1), ("modem", 1)];
        modem.enter("bridge.interface", &[CPE.into()], "provision", &cpe);
        let station = [("port", RF.into()), ("to_rf", 1), ("modem", 1)];
        let key = [1, u128::from(SERVER)];
        modem.enter("bridge.station", &key, "forward", &station);
        let primary = [("service_flow", FLOW.into())];
        modem.enter("classifier.primary", &[1], "set_primary", &primary);
        modem.provision(START, flow);
        modem
    }

    /// Inserts an entry of exact keys, or changes it.
    fn enter(&mut self, name: &str, key: &[u128], call: &str, values: &[(&str, u128)]) {
        let first = self.entries.insert((name.into(), *key.last().unwrap()));
        let pipeline = self.device.pipeline_mut().unwrap();
        let id = table(pipeline, name).unwrap();
        let call = action(pipeline, id, call, values).unwrap();
        let key = EntryKey {
            matches: key.iter().copied().map(Match::Exact).collect(),
            priority: 0,
        };
        let options = EntryOptions::default();
        if first {
            pipeline.insert(0, id, &key, &call.into(), &options)
        } else {
            pipeline.modify(0, id, &key, &call.into(), &options)
        }
        .unwrap();
    }

    /// A manager's parameters, or the flow queues, of the service flow.
    pub fn parameters(&mut self, table: &str, action: &str, values: &[(&str, u64)]) {
        let values: Vec<_> = values.iter().map(|&(n, v)| (n, u128::from(v))).collect();
        self.enter(table, &[FLOW.into()], action, &values);
    }

    /// `set_hashed` of so many sub-queues from `first` on.
    pub fn hashed(&mut self, first: u32, queues: u32) {
        let values = [
            ("first_queue", first.into()),
            ("queues", queues.into()),
            ("multiplier", MULTIPLIER.into()),
            ("queue_limit", self.queue_limit.into()),
        ];
        self.parameters("flow_queue.flow_queues", "set_hashed", &values);
    }

    /// `set_searched` of so many groups of four from `first` on.
    pub fn searched(&mut self, first: u32, groups: u32) {
        let values = [
            ("first_queue", first.into()),
            ("groups", groups.into()),
            ("multiplier", MULTIPLIER.into()),
            ("queue_limit", self.queue_limit.into()),
        ];
        self.parameters("flow_queue.flow_queues", "set_searched", &values);
    }

    /// The service flow from now on.
    pub fn provision(&mut self, now: u64, flow: &Flow) {
        let queue = [
            ("port", RF.into()),
            ("queue_id", FLOW.into()),
            ("traffic_priority", 0),
            ("buffer_size", flow.buffer_size.into()),
            ("max_frame", MAX_PACKET as u128),
            ("queue_manager", flow.manager.into()),
            ("generation", flow.generation.into()),
            ("flow_queuing", flow.flow_queuing.into()),
            ("latency_target", flow.latency_target.into()),
            ("controller_timeout", flow.controller_timeout.into()),
            ("tos_and", 0xff),
            ("tos_or", 0),
        ];
        self.enter("service_flow", &[FLOW.into()], "set_queue", &queue);
        let config = ServiceFlowConfig {
            queue: QueueId {
                port: RF,
                queue_id: FLOW,
            },
            max_sustained_rate: flow.rate,
            max_burst: flow.max_burst,
            sub_queues: flow.sub_queues,
            queue_limit: flow.queue_limit,
            ..ServiceFlowConfig::default()
        };
        self.configure(now, config);
    }

    fn configure(&mut self, now: u64, config: ServiceFlowConfig) {
        if self.packet_queues {
            return;
        }
        let request = Configuration {
            service_flows: vec![config],
            ..Configuration::default()
        };
        self.device.configure(now, &request).unwrap();
    }

    /// Nothing leaves the queue until [`Self::release`].
    pub fn block(&mut self, now: u64) {
        let config = ServiceFlowConfig {
            max_sustained_rate: 8,
            max_burst: MAX_PACKET as u64,
            initial_tokens: Some(0),
            ..self.queue(now).config
        };
        self.configure(now, config);
    }

    /// All leaves that waits, at once.
    pub fn release(&mut self, now: u64) {
        let config = ServiceFlowConfig {
            max_sustained_rate: 0,
            initial_tokens: None,
            ..self.queue(now).config
        };
        self.configure(now, config);
        self.device.poll(now, &mut self.out);
    }

    /// CoDel's 1 / sqrt(count), for a table by the end of its name.
    pub fn inverse_square_roots(&mut self, name: &str, counts: u128) {
        let pipeline = self.device.pipeline_mut().unwrap();
        let id = table(pipeline, name).unwrap();
        for count in 1..=counts {
            let values = [("inverse_square_root", super::codel::inverse(count))];
            let call = action(pipeline, id, "set_inverse", &values).unwrap();
            let range = Match::Range {
                low: count,
                high: count,
            };
            let key = EntryKey {
                matches: vec![range],
                priority: 1,
            };
            let options = EntryOptions::default();
            pipeline
                .insert(0, id, &key, &call.into(), &options)
                .unwrap();
        }
    }

    pub fn register(&self, name: &str, index: usize) -> u64 {
        let pipeline = self.device.pipeline().unwrap();
        let id = pipeline.program().register(name).expect(name);
        pipeline.register(id, index).unwrap() as u64
    }

    pub fn set_register(&mut self, name: &str, index: usize, value: u64) {
        let pipeline = self.device.pipeline_mut().unwrap();
        v1model::by_name::set_register(pipeline, name, index, value.into()).unwrap();
    }

    /// A register's cell of the service flow.
    pub fn state(&self, name: &str) -> u64 {
        self.register(name, FLOW as usize)
    }

    pub fn set_state(&mut self, name: &str, value: u64) {
        self.set_register(name, FLOW as usize, value);
    }

    /// Bytes that the pipeline takes for queued.
    pub fn backlog(&self) -> u32 {
        (self.state("sf_enqueued_bytes") as u32)
            .wrapping_sub(self.state("sf_dequeued_bytes") as u32)
    }

    /// Makes the pipeline take so many bytes for queued.
    pub fn set_backlog(&mut self, bytes: u32) {
        let enqueued = (self.state("sf_dequeued_bytes") as u32).wrapping_add(bytes);
        self.set_state("sf_enqueued_bytes", enqueued.into());
    }

    /// Bytes that the pipeline takes for queued in one of the pool's sub-queues.
    pub fn depth(&self, sub_queue: u32) -> u32 {
        let cell = |name| self.register(name, sub_queue as usize) as u32;
        cell("queue_enqueued_bytes").wrapping_sub(cell("queue_dequeued_bytes"))
    }

    pub fn set_depth(&mut self, sub_queue: u32, bytes: u32) {
        let index = sub_queue as usize;
        let dequeued = self.register("queue_dequeued_bytes", index) as u32;
        let enqueued = dequeued.wrapping_add(bytes);
        self.set_register("queue_enqueued_bytes", index, enqueued.into());
    }

    /// A frame from the CPE; it may leave with [`Self::run`].
    pub fn receive(&mut self, now: u64, frame: Frame) {
        self.device.receive(now, CPE, &frame.bytes());
    }

    /// Whether a frame of this kind gets through an unshaped service flow.
    pub fn passes(&mut self, now: u64, frame: Frame) -> bool {
        let before = self.out.sent.len();
        self.receive(now, frame);
        self.device.poll(now, &mut self.out);
        let passed = self.out.sent.len() - before;
        self.out.sent.truncate(before);
        passed == 1
    }

    /// All that is due until `now`; `sent` is told when each frame leaves.
    pub fn run(&mut self, now: u64, mut sent: impl FnMut(&Self, u64, &[u8])) {
        while let Some(at) = self.device.next_deadline().filter(|&at| at <= now) {
            // One step a time: the state is that behind the frame.
            loop {
                let before = self.out.sent.len();
                let more = self.device.step(at, &mut self.out);
                for n in before..self.out.sent.len() {
                    sent(self, at, &self.out.sent[n].1);
                }
                if !more {
                    break;
                }
            }
        }
    }

    /// The queue goes, with all that waits in it.
    pub fn remove_queue(&mut self, now: u64) {
        let queue = QueueId {
            port: RF,
            queue_id: FLOW,
        };
        let request = Configuration {
            removed: vec![queue],
            ..Configuration::default()
        };
        self.device.configure(now, &request).unwrap();
    }

    /// Packets that a counter has of the service flow.
    pub fn count(&self, name: &str) -> u64 {
        let pipeline = self.device.pipeline().unwrap();
        let id = pipeline.program().counter(name).expect(name);
        pipeline.counter(id, FLOW as usize).unwrap().packets
    }

    pub fn queue(&self, now: u64) -> ServiceFlowState {
        self.device.traffic_manager_state(now).service_flows[0]
    }
}
