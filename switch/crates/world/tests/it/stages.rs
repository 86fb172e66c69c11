// SPDX-License-Identifier: Apache-2.0
//! A plant, which is what real time has, and a world do the same with the same frames: captures and
//! traces of both agree byte by byte.

use crate::channel_views::{Shared, complaints};
use crate::common::{MILLISECOND, SECOND};
use device::{Configuration as Queues, Device, DeviceConfig, Output, PortConfig, QueueId};
use device::{Framing, ServiceFlowConfig};
use plant::{CaptureFile, Captured, ChannelConfig, Configuration, End, FlowPlace, GrantedPort};
use plant::{Node, Plant};
use std::sync::{Arc, OnceLock};
use v1model::Program;
use v1model::trace::{TextTrace, TraceFilter};
use world::mac_wire::{Backoff, FlowConfig, Profile, Sid};
use world::{DeviceOptions, LinkConfig, MapTraffic, World};

const CHANNEL: &str = "us1";
const RF: u16 = 1;
const HOST: u16 = 2;
/// The CMTS's ports.
const SERVER: u16 = 1;
const CMTS_RF: u16 = 2;
const MOST: u64 = 1 << 24;
/// The service flow's.
const QUEUE: u32 = 2;
const END: u64 = SECOND;

/// What happens on both.
struct Case {
    profile: Profile,
    maps: Option<MapTraffic>,
    /// Frames that reach a device, 0 is the modem, at a time, in order of times.
    arrivals: Vec<(u64, usize, Vec<u8>)>,
}

/// What was written of it: the channel's capture, and the traces of modem and CMTS.
#[derive(PartialEq, Eq)]
struct Seen {
    capture: Vec<u8>,
    traces: [String; 2],
}

/// A profile whose modem draws nothing, as its first opportunity is its own: two stages seed their
/// channels differently.
fn certain(name: &str) -> Profile {
    Profile {
        backoff: Backoff { start: 0, end: 0 },
        ..Profile::named(name).unwrap()
    }
}

/// A frame of that many bytes on the wire, FCS included, out of that queue of that port.
fn frame(port: u16, queue: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![0; 5];
    // The queue is where the first byte of a source address is, so its number is even.
    frame.extend([port as u8, queue, 0, 0, 0, 0, 0]);
    // EtherType of local experiments.
    frame.extend([0x88, 0xb5]);
    frame.resize(length - 4, 0xa5);
    frame
}

fn case(name: &str, maps: Option<MapTraffic>) -> Case {
    let up = (0..60u64).map(|number| {
        let length = 64 + (number as usize * 97) % 1400;
        let at = 3 * MILLISECOND + number * 1_234_567;
        (at, 0, frame(RF, QUEUE as u8, length))
    });
    let down = (0..60u64).map(|number| {
        let at = 3 * MILLISECOND + number * 1_300_007;
        (at, 1, frame(CMTS_RF, 0, 1518))
    });
    let mut arrivals: Vec<_> = up.chain(down).collect();
    arrivals.sort_by_key(|(at, ..)| *at);
    Case {
        profile: certain(name),
        maps,
        arrivals,
    }
}

fn flow() -> FlowConfig {
    FlowConfig::best_effort(Sid(1))
}

/// Loads a program whose frames say where they go, and gives the RF port what it needs.
fn set_up(device: &mut Device, now: u64, modem: bool) {
    static PATHS: OnceLock<Arc<Program>> = OnceLock::new();
    let load = || {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../v1model/tests/programs/paths.json"
        );
        Arc::new(Program::load(&std::fs::read(path).unwrap()).unwrap())
    };
    device.load(now, Arc::clone(PATHS.get_or_init(load)));
    let mut request = Queues::default();
    if modem {
        request.service_flows.push(ServiceFlowConfig {
            queue: QueueId {
                port: RF,
                queue_id: QUEUE,
            },
            queue_limit: 1 << 20,
            ..ServiceFlowConfig::default()
        });
    } else {
        request.ports.push(PortConfig {
            port: CMTS_RF,
            rate: 30_340_000,
            framing: Framing {
                packet: 188,
                header: 4,
                frame_header: 6,
                own_packets: false,
            },
            ..PortConfig::default()
        });
    }
    device.configure(now, &request).unwrap();
}

fn traced(device: &mut Device) -> Shared {
    let shared = Shared::default();
    let trace = TextTrace::new(shared.clone(), TraceFilter::default(), MOST);
    assert!(device.add_trace(Box::new(trace)).is_some());
    shared
}

fn text(shared: &Shared) -> String {
    String::from_utf8(shared.take()).unwrap()
}

fn in_a_world(case: &Case) -> Seen {
    let mut world = World::new(1).unwrap();
    let mut traces = Vec::new();
    for (name, device_id) in [("cm", 1), ("cmts", 2)] {
        let options = DeviceOptions {
            name,
            device_id,
            ports: vec![1, 2],
            ..DeviceOptions::default()
        };
        world.add_device(&options).unwrap();
        let made = world.with_device(name, |device, now| {
            set_up(device, now, device_id == 1);
            traced(device)
        });
        traces.push(made.unwrap());
    }
    let ends = [("cm", RF), ("cmts", CMTS_RF)];
    world
        .connect(ends[0], ends[1], LinkConfig::default())
        .unwrap();
    world.grant_port("cm", RF, QUEUE).unwrap();
    world.add_channel(CHANNEL, case.profile.clone()).unwrap();
    let capture = Shared::default();
    let out = Box::new(capture.clone());
    // Before the first MAP.
    world.capture_channel(CHANNEL, out, MOST).unwrap();
    if let Some(maps) = case.maps {
        world.set_map_traffic(CHANNEL, maps).unwrap();
    }
    let queue = QueueId {
        port: RF,
        queue_id: QUEUE,
    };
    world
        .add_upstream_flow(CHANNEL, "cm", queue, flow())
        .unwrap();
    for (at, device, bytes) in &case.arrivals {
        let (name, port) = [("cm", HOST), ("cmts", SERVER)][*device];
        world
            .inject(name, port, vec![(*at, bytes.clone())])
            .unwrap();
    }
    world.run_until(END).unwrap();
    world.end_capture(CHANNEL).unwrap();
    world.end_traces();
    Seen {
        capture: capture.take(),
        traces: [text(&traces[0]), text(&traces[1])],
    }
}

/// Where frames go that nobody looks at.
struct Nowhere;

impl Output for Nowhere {
    fn transmit(&mut self, _now: u64, _port: u16, _frame: &[u8], _paced: bool) {}

    fn packet_in(&mut self, _now: u64, _frame: &[u8]) -> bool {
        true
    }
}

struct Station(Device, Nowhere);

impl Node for Station {
    type Out = Nowhere;

    fn device(&self) -> &Device {
        &self.0
    }

    fn device_mut(&mut self) -> &mut Device {
        &mut self.0
    }

    fn parts(&mut self) -> (&mut Device, &mut Nowhere) {
        (&mut self.0, &mut self.1)
    }
}

/// The shell wakes for each frame, or every so many ns.
fn in_a_plant(case: &Case, wakes_every: Option<u64>) -> (Seen, Captured) {
    let mut nodes = Vec::new();
    let mut traces = Vec::new();
    for device_id in [1, 2] {
        let mut device = Device::new(DeviceConfig {
            device_id,
            ..DeviceConfig::default()
        });
        device.add_port(1);
        device.add_port(2);
        set_up(&mut device, 0, device_id == 1);
        traces.push(traced(&mut device));
        nodes.push(Station(device, Nowhere));
    }
    let end = |node, port| End { node, port };
    let links = [[end(0, RF), end(1, CMTS_RF)]];
    let mut plant = Plant::new(&links, 1).unwrap();
    let capture = Shared::default();
    let file = |shared: &Shared| CaptureFile::new(Box::new(shared.clone()), MOST, 0).unwrap();
    plant.capture(CHANNEL, file(&capture)).unwrap();
    assert!(plant.capture(CHANNEL, file(&Shared::default())).is_err());
    let request = Configuration {
        channels: vec![ChannelConfig {
            name: CHANNEL.into(),
            number: 1,
            profile: case.profile.clone(),
            map_traffic: case.maps,
        }],
        granted: vec![GrantedPort {
            end: end(0, RF),
            primary: QUEUE,
        }],
        flows: vec![FlowPlace {
            channel: CHANNEL.into(),
            end: end(0, RF),
            queue_id: QUEUE,
            flow: flow(),
        }],
        ..Configuration::default()
    };
    plant.configure(&mut nodes, 0, request).unwrap();
    assert!(plant.capture(CHANNEL, file(&Shared::default())).is_err());
    let mut now = 0;
    for (at, device, bytes) in &case.arrivals {
        while let Some(late) = wakes_every.filter(|late| now + late < *at) {
            now += late;
            plant.wake(&mut nodes, now, None);
            plant.run(&mut nodes, now);
        }
        let at = plant.run_before(&mut nodes, *at);
        nodes[*device].0.receive(at, [HOST, SERVER][*device], bytes);
        plant.received(&mut nodes, *device);
    }
    plant.run(&mut nodes, END);
    let [(name, captured)] = &mut plant.end_captures()[..] else {
        panic!("one channel is captured");
    };
    assert_eq!(name, CHANNEL);
    let captured = *captured.as_ref().unwrap();
    drop(nodes);
    let seen = Seen {
        capture: capture.take(),
        traces: [text(&traces[0]), text(&traces[1])],
    };
    (seen, captured)
}

#[test]
fn captures_and_traces_of_a_plant_are_those_of_a_world() {
    for name in ["docsis-1.1-004", "docsis-3.0"] {
        for maps in [
            None,
            Some(MapTraffic {
                message: 4600,
                element: 40,
            }),
        ] {
            let case = case(name, maps);
            let (world, (plant, captured)) = (in_a_world(&case), in_a_plant(&case, None));
            assert!(
                captured.left_out == 0 && captured.frames > 400,
                "{captured:?}"
            );

            assert!(world.capture == plant.capture, "{name}");
            for (world, plant) in world.traces.iter().zip(&plant.traces) {
                assert!(world == plant, "{name}");
                // 60 up, 60 down.
                assert_eq!(world.matches("sent through port").count(), 120, "{name}");
            }
            assert_eq!(
                plant.traces[0].matches("asked for in").count(),
                60,
                "{name}"
            );
            // A thread that wakes now and then writes the same.
            let (late, _) = in_a_plant(&case, Some(7 * MILLISECOND));
            assert!(late == plant, "{name}");
            if let Some(told) = complaints(&plant.capture) {
                assert_eq!(told, "", "{name}");
            }
        }
    }
}

/// MAPs that take downstream capacity make frames late, and nothing else of the channel.
#[test]
fn map_traffic_takes_of_the_downstream_alone() {
    let maps = MapTraffic {
        message: 4600,
        element: 40,
    };
    let (without, _) = in_a_plant(&case("docsis-3.0", None), None);
    let (with, _) = in_a_plant(&case("docsis-3.0", Some(maps)), None);
    assert!(without.capture == with.capture);
    // When frames of the server leave the CMTS's RF port.
    let leave = |seen: &Seen| -> Vec<String> {
        let lines = seen.traces[1].lines();
        let sent = lines.filter(|line| line.contains("sent through port 2"));
        sent.map(str::to_owned).collect()
    };
    let (without, with) = (leave(&without), leave(&with));
    assert_eq!((without.len(), with.len()), (60, 60));
    assert!(
        without
            .iter()
            .zip(&with)
            .all(|(without, with)| without <= with)
    );
    let later = without
        .iter()
        .zip(&with)
        .filter(|(without, with)| without < with);
    assert!(later.count() > 30);
}
