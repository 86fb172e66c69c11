// SPDX-License-Identifier: Apache-2.0
//! Ports that loop back, and what they are for: a CMTS whose downstream service flows share one
//! queue behind the rates of each. With explicit time.

use crate::balance::balance;
use crate::common::{CPU, Recorder, Way, device, program};
use device::{
    AGAIN, ConfigError, Configuration, Device, DeviceConfig, MOST_PASSES, PortConfig, QueueId,
    ServiceFlowConfig, ServiceFlowState,
};
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};
use v1model::by_name::{action, table};
use v1model::{EntryKey, EntryOptions, Match, Program};

const RF: u16 = 1;
const SERVER: u16 = 2;
const LOOP: u16 = 510;
/// The bridge behind the loop: no modem has this number.
const BEHIND: u128 = 511;
/// The queue that all share, and the first of those in front of it.
const SHARED: u32 = 1;
const FIRST: u32 = 2;
const PEAK_BURST: u64 = 1522;
/// Virtual time begins here, ns.
const START: u64 = 1_000_000;

fn loops(port: u16) -> PortConfig {
    PortConfig {
        port,
        loop_back: true,
        ..PortConfig::default()
    }
}

fn ports(ports: &[PortConfig]) -> Configuration {
    Configuration {
        ports: ports.to_vec(),
        ..Configuration::default()
    }
}

#[test]
fn what_leaves_comes_from_there_again() {
    let mut device = device(DeviceConfig::default());
    device.configure(0, &ports(&[loops(3)])).unwrap();
    let mut out = Recorder::default();
    // GROW puts filler in front: a frame of zeros, which goes to port 0.
    let way = Way {
        egress: 0x10,
        left: 1,
        port: 3,
        ..Way::default()
    };
    device.receive(5, 1, &way.frame(20));
    device.poll(5, &mut out);
    assert!(out.sent.is_empty(), "it has no interface");
    let state = device.traffic_manager_state(5);
    let port = state.ports.iter().find(|p| p.config.port == 3).unwrap();
    assert_eq!((port.sent.frames, port.received.frames), (1, 1));
    assert_eq!(port.sent.bytes, port.received.bytes);
    assert_eq!(device.counters().no_such_port.frames, 1, "the second time");
    assert_eq!(device.next_deadline(), None);
}

#[test]
fn a_frame_that_goes_round_for_ever_is_dropped() {
    let mut device = device(DeviceConfig::default());
    device.configure(0, &ports(&[loops(3)])).unwrap();
    let mut out = Recorder::default();
    let way = Way {
        port: 3,
        ..Way::default()
    };
    device.receive(0, 1, &way.frame(20));
    let passing = Way {
        port: 2,
        ..Way::default()
    };
    for now in 1..=10 {
        device.receive(now, 1, &passing.frame(20));
        device.poll(now, &mut out);
    }
    assert_eq!(out.sent.len(), 10, "the others are not held up");
    assert_eq!(device.counters().too_many_passes.frames, 1);
    let state = device.traffic_manager_state(10);
    let port = state.ports.iter().find(|p| p.config.port == 3).unwrap();
    assert_eq!(port.sent.frames, u64::from(MOST_PASSES) + 1);
    assert!(device.is_empty());
}

#[test]
fn frames_on_their_way_round_are_bounded_and_flushed() {
    let mut device = device(DeviceConfig::default());
    device.configure(0, &ports(&[loops(3)])).unwrap();
    let way = Way {
        port: 3,
        ..Way::default()
    };
    for _ in 0..2 * AGAIN {
        device.receive(0, 1, &way.frame(0));
    }
    let mut out = Recorder::default();
    // Some are in the queue and some on their way; a new program ends both.
    for _ in 0..AGAIN {
        device.step(0, &mut out);
    }
    device.load(0, program("paths.json"));
    let (arrived, gone) = balance(&device, 0);
    assert_eq!(arrived, gone);
    assert!(device.is_empty());
}

#[test]
fn what_cannot_loop_back_is_refused_and_changes_nothing() {
    let mut device = device(DeviceConfig::default());
    let before = device.traffic_manager_state(0);
    let delayed = PortConfig {
        receive_delay_ns: 5,
        ..loops(3)
    };
    let plain = PortConfig {
        port: 7,
        ..PortConfig::default()
    };
    for (request, words) in [
        (ports(&[loops(CPU)]), "port 9: loop_back"),
        (ports(&[loops(0)]), "port 0: loop_back"),
        (ports(&[loops(511)]), "port 511: loop_back"),
        (ports(&[delayed]), "port 3: receive_delay_ns is 5"),
        (ports(&[plain]), "port 7: no such port"),
        (ports(&[loops(7), loops(7)]), "port 7: named twice"),
        (ports(&[loops(7), plain]), "port 7: named twice"),
    ] {
        let error = device.configure(0, &request).unwrap_err();
        assert!(matches!(error, ConfigError::Invalid(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(device.traffic_manager_state(0), before);
}

#[test]
fn a_port_that_loops_back_is_made_and_can_be_configured_with_its_queues() {
    let mut device = Device::new(DeviceConfig::default());
    let request = Configuration {
        ports: vec![loops(LOOP)],
        service_flows: vec![ServiceFlowConfig {
            queue: QueueId {
                port: LOOP,
                queue_id: 4,
            },
            ..ServiceFlowConfig::default()
        }],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
    assert_eq!(device.traffic_manager_state(0).service_flows.len(), 1);
    // It stays a port, which loops back no more.
    let plain = PortConfig {
        port: LOOP,
        ..PortConfig::default()
    };
    device.configure(0, &ports(&[plain])).unwrap();
    let state = device.traffic_manager_state(0);
    assert!(!state.ports[0].config.loop_back);
}

/// A cap in front of the shared queue; bit/s and bytes, 0 is no limit.
#[derive(Debug, Clone, Copy)]
struct Cap {
    rate: u64,
    burst: u64,
    peak: u64,
    buffer: u32,
}

/// A CMTS that runs cmts.p4, with a station behind each service flow.
struct Cmts {
    device: Device,
    caps: Vec<Cap>,
    /// Time, service flow and bytes to the end of the CRC, of what left at the RF port.
    sent: Vec<(u64, usize, u64, u32)>,
}

fn station(flow: usize) -> u128 {
    0x0200_0000_0100 + flow as u128
}

impl Cmts {
    /// `channel`: bit/s; 0 is no limit. `buffer`: bytes of the shared queue.
    fn new(channel: u64, buffer: u32, caps: &[Cap]) -> Self {
        static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
        let load = || {
            let file = "/../../../p4src/build/cmts.json";
            let path = format!("{}{file}", env!("CARGO_MANIFEST_DIR"));
            Arc::new(Program::load(&std::fs::read(path).unwrap()).unwrap())
        };
        let mut device = Device::new(DeviceConfig::default());
        [RF, SERVER]
            .into_iter()
            .for_each(|port| device.add_port(port));
        device.load(0, Arc::clone(PROGRAM.get_or_init(load)));
        let mut cmts = Self {
            device,
            caps: caps.to_vec(),
            sent: Vec::new(),
        };
        cmts.provision(buffer);
        let queue = |port, queue_id| QueueId { port, queue_id };
        let mut flows = vec![ServiceFlowConfig {
            queue: queue(RF, SHARED),
            ..ServiceFlowConfig::default()
        }];
        flows.extend(caps.iter().zip(FIRST..).map(|(cap, id)| ServiceFlowConfig {
            queue: queue(LOOP, id),
            max_sustained_rate: cap.rate,
            max_burst: cap.burst,
            peak_rate: cap.peak,
            ..ServiceFlowConfig::default()
        }));
        let rf = PortConfig {
            port: RF,
            rate: channel,
            ..PortConfig::default()
        };
        let request = Configuration {
            ports: vec![rf, loops(LOOP)],
            service_flows: flows,
            ..Configuration::default()
        };
        cmts.device.configure(START, &request).unwrap();
        cmts
    }

    fn enter(&mut self, name: &str, key: &[u128], call: &str, values: &[(&str, u128)]) {
        let pipeline = self.device.pipeline_mut().unwrap();
        let id = table(pipeline, name).unwrap();
        let call = action(pipeline, id, call, values).unwrap();
        let key = EntryKey {
            matches: key.iter().copied().map(Match::Exact).collect(),
            priority: 0,
        };
        let options = EntryOptions::default();
        pipeline
            .insert(0, id, &key, &call.into(), &options)
            .unwrap();
    }

    fn provision(&mut self, buffer: u32) {
        for (port, modem, group) in [(SERVER, 0, SERVER), (LOOP, BEHIND, 0)] {
            let values = [
                ("flood_group", group.into()),
                ("to_rf", 1),
                ("modem", modem),
            ];
            self.enter("bridge.interface", &[port.into()], "provision", &values);
        }
        let queue = |port: u16, id: u32, buffer: u32| {
            [
                ("port", u128::from(port)),
                ("queue_id", id.into()),
                ("traffic_priority", 0),
                ("buffer_size", buffer.into()),
                ("max_frame", 1522),
                ("queue_manager", 0),
                ("generation", 0),
                ("flow_queuing", 0),
                ("latency_target", 10_000),
                ("controller_timeout", 96_000),
                ("tos_and", 0xff),
                ("tos_or", 0),
            ]
        };
        let shared = queue(RF, SHARED, buffer);
        self.enter("service_flow", &[SHARED.into()], "set_queue", &shared);
        let all = [("service_flow", u128::from(SHARED))];
        self.enter("classifier.primary", &[0], "set_primary", &all);
        for (flow, cap) in self.caps.clone().into_iter().enumerate() {
            let (index, modem) = (FIRST + flow as u32, 1 + flow as u128);
            for (of, to) in [(0, modem), (BEHIND, 0)] {
                let values = [("port", RF.into()), ("to_rf", 1), ("modem", to)];
                self.enter("bridge.station", &[of, station(flow)], "forward", &values);
            }
            let own = queue(LOOP, index, cap.buffer);
            self.enter("service_flow", &[index.into()], "set_queue", &own);
            let primary = [("service_flow", u128::from(index))];
            self.enter("classifier.primary", &[modem], "set_primary", &primary);
        }
    }

    /// A frame for a service flow, `length` to the end of the CRC.
    fn receive(&mut self, now: u64, flow: usize, length: usize, number: u32) {
        let mut frame = vec![0; length - 4];
        frame[..6].copy_from_slice(&station(flow).to_be_bytes()[10..]);
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        frame[40..44].copy_from_slice(&number.to_be_bytes());
        self.device.receive(now, SERVER, &frame);
    }

    /// Does what is due by then.
    fn run(&mut self, until: u64) {
        while let Some(at) = self.device.next_deadline() {
            let at = at.max(self.device.time());
            if at > until {
                break;
            }
            let mut out = Recorder::default();
            self.device.step(at, &mut out);
            for (port, frame) in out.sent {
                assert_eq!(port, RF);
                let flow = usize::from(frame[5]);
                let number = u32::from_be_bytes(frame[40..44].try_into().unwrap());
                let length = frame.len() as u64 + 4;
                self.sent.push((self.device.time(), flow, length, number));
            }
        }
    }

    fn queue(&self, id: u32) -> ServiceFlowState {
        let state = self.device.traffic_manager_state(self.device.time());
        let found = |flow: &&ServiceFlowState| flow.config.queue.queue_id == id;
        *state.service_flows.iter().find(found).unwrap()
    }

    fn count(&self, name: &str, index: u32) -> u64 {
        let pipeline = self.device.pipeline().unwrap();
        let id = pipeline.program().counter(name).expect(name);
        pipeline.counter(id, index as usize).unwrap().packets
    }

    /// received = forwarded + dropped + queued, of each service flow and of the one behind them.
    fn check_sums(&self) {
        let mut forwarded = 0;
        for id in SHARED..FIRST + self.caps.len() as u32 {
            let drops = ["sf_drop_buffer_full", "sf_drop_aqm", "sf_drop_policed"];
            let dropped: u64 = drops.iter().map(|name| self.count(name, id)).sum();
            let queued = self.queue(id).queued.frames;
            let sum = self.count("sf_forwarded", id) + dropped + queued;
            assert_eq!(self.count("sf_received", id), sum, "service flow {id}");
            if id >= FIRST {
                forwarded += self.count("sf_forwarded", id);
            }
        }
        assert_eq!(self.count("sf_received", SHARED), forwarded);
        let (arrived, gone) = balance(&self.device, self.device.time());
        assert_eq!(arrived, gone);
    }
}

fn uncapped() -> Cap {
    Cap {
        rate: 0,
        burst: 0,
        peak: 0,
        buffer: 1 << 27,
    }
}

/// Equal service flows with queues of their own would take turns.
#[test]
fn one_queue_serves_first_come_first_served() {
    let mut cmts = Cmts::new(8_000_000, 1 << 27, &[uncapped(), uncapped()]);
    for number in 0..10 {
        cmts.receive(START, 0, 1000, number);
        cmts.run(START);
    }
    cmts.receive(START, 1, 1000, 10);
    cmts.run(START + 1_000_000_000);
    let numbers: Vec<u32> = cmts.sent.iter().map(|sent| sent.3).collect();
    assert_eq!(numbers, (0..=10).collect::<Vec<_>>());
    cmts.check_sums();
}

#[test]
fn what_a_cap_holds_back_is_no_backlog_of_the_shared_queue() {
    let slow = Cap {
        rate: 80_000,
        burst: 1522,
        peak: 0,
        buffer: 5_000,
    };
    // Room for two frames behind the caps.
    let mut cmts = Cmts::new(8_000_000, 2_000, &[slow, uncapped()]);
    for number in 0..20 {
        cmts.receive(START, 0, 1000, number);
        cmts.run(START);
    }
    let now = START + 2_000_000;
    cmts.run(now);
    assert_eq!(cmts.queue(FIRST).queued.frames, 5, "its own buffer");
    assert_eq!(cmts.count("sf_drop_buffer_full", FIRST), 14);
    assert_eq!(cmts.queue(SHARED).queued.frames, 0);
    cmts.receive(now, 1, 1000, 99);
    cmts.run(now + 1_000_000);
    assert_eq!(cmts.sent.last().unwrap().3, 99, "nobody is before it");
    assert_eq!(cmts.count("sf_drop_buffer_full", SHARED), 0);
    cmts.check_sums();
}

fn cap() -> impl Strategy<Value = Cap> {
    let rate = prop_oneof![Just(0), 100_000..20_000_000u64];
    let peak = prop_oneof![Just(0), 1_000_000..40_000_000u64];
    (rate, 1522..60_000u64, peak, 3_000..200_000u32).prop_map(|(rate, burst, peak, buffer)| Cap {
        rate,
        burst: if rate == 0 { 0 } else { burst },
        peak,
        buffer,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// With any arrivals: the caps hold for every interval, each flow's frames keep their order,
    /// and the sums balance at every moment.
    #[test]
    fn caps_hold_in_front_of_the_shared_queue(
        caps in prop::collection::vec(cap(), 1..4),
        arrivals in prop::collection::vec(
            (0usize..4, 64usize..=1522, 0u64..3_000_000), 1..150),
    ) {
        // A channel without a rate passes on at once what the caps let go.
        let mut cmts = Cmts::new(0, 1 << 27, &caps);
        let mut now = START;
        for (number, (flow, length, pause)) in arrivals.iter().enumerate() {
            cmts.receive(now, flow % caps.len(), *length, number as u32);
            cmts.check_sums();
            now += pause;
            cmts.run(now);
        }
        cmts.check_sums();
        cmts.run(now + 200_000_000_000);
        cmts.check_sums();
        prop_assert!(cmts.device.is_empty());
        for (flow, cap) in caps.iter().enumerate() {
            let sent: Vec<_> = cmts.sent.iter().filter(|sent| sent.1 == flow).collect();
            prop_assert!(sent.windows(2).all(|pair| pair[0].3 < pair[1].3), "out of order");
            for first in 0..sent.len() {
                let mut bytes = 0u64;
                for last in &sent[first..] {
                    bytes += last.2;
                    let ns = u128::from(last.0 - sent[first].0);
                    for (rate, burst) in [(cap.rate, cap.burst), (cap.peak, PEAK_BURST)] {
                        // bytes <= t R / 8 + B, in bits times ns.
                        let most = ns * u128::from(rate) + u128::from(burst) * 8_000_000_000;
                        let sum = u128::from(bytes) * 8_000_000_000;
                        prop_assert!(rate == 0 || sum <= most, "{cap:?} after {ns} ns");
                    }
                }
            }
        }
    }

    /// Behind a slow channel: first come, first served, whatever flow it is of.
    #[test]
    fn the_shared_queue_keeps_the_order_of_what_the_caps_let_go(
        arrivals in prop::collection::vec(
            (0usize..3, 64usize..=1522, 0u64..400_000), 1..150),
        buffer in 2_000u32..100_000,
    ) {
        let mut cmts = Cmts::new(20_000_000, buffer, &[uncapped(); 3]);
        let mut now = START;
        for (number, (flow, length, pause)) in arrivals.iter().enumerate() {
            cmts.receive(now, *flow, *length, number as u32);
            now += pause;
            cmts.run(now);
            let backlog = cmts.queue(SHARED).queued.bytes;
            prop_assert!(backlog <= u64::from(buffer));
            cmts.check_sums();
        }
        cmts.run(now + 1_000_000_000);
        cmts.check_sums();
        prop_assert!(cmts.sent.windows(2).all(|pair| pair[0].3 < pair[1].3), "out of order");
    }
}
