// SPDX-License-Identifier: Apache-2.0
//! Nothing is allocated on a packet's way through a device, whichever way it
//! takes, once its pools have grown; and they do not grow for ever.

mod common;

use common::modem::{Flow, Frame, Modem, START};
use common::{Way, device};
use counting_allocator::{Counting, allocations};
use device::events::Event;
use device::{Device, DeviceConfig, DigestConfig, Output};
use device::{LONGEST_FRAME, MOST_FLOW_BYTES, MOST_PACKETS, MOST_UNCOUNTED};
use std::sync::Arc;
use traffic_manager::{Configuration, ModelKind, PortConfig, QueueId, ServiceFlowConfig};
use v1model::{DigestId, Program};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Takes frames without keeping them.
struct Sink(u64);

impl Output for Sink {
    fn transmit(&mut self, _now: u64, _port: u16, frame: &[u8], _paced: bool) {
        self.0 += frame.len() as u64;
    }

    fn packet_in(&mut self, _now: u64, frame: &[u8]) -> bool {
        self.0 += frame.len() as u64;
        true
    }

    fn event(&mut self, _now: u64, _event: Event) -> bool {
        true
    }
}

/// Every way out of ingress and egress.
fn ways() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for ingress in [0, 1, 2, 4, 0x10, 0x20, 0x21, 0x40] {
        for egress in [0, 1, 2, 3, 4, 5, 8, 0x10, 0x12] {
            let way = Way {
                ingress,
                egress,
                left: 2,
                session: 2,
                group: 1,
                port: 1,
                queue_id: 0,
                length: 20,
            };
            frames.push(way.frame(500));
        }
    }
    frames
}

fn round(device: &mut Device, now: &mut u64, frames: &[Vec<u8>], sink: &mut Sink) {
    for frame in frames {
        *now += 1_000_000;
        device.receive(*now, 1, frame);
        device.poll(*now, sink);
    }
}

#[test]
fn packets_do_not_allocate() {
    let frames = ways();
    for traffic_manager in [ModelKind::Docsis, ModelKind::Bmv2 { priorities: 8 }] {
        let mut device = device(DeviceConfig {
            traffic_manager,
            ..DeviceConfig::default()
        });
        // On, and known: its packets bring nothing new.
        let config = DigestConfig {
            ack_timeout_ns: u64::MAX,
            ..DigestConfig::default()
        };
        device.configure_digest(DigestId(0), Some(config));
        let (mut now, mut sink) = (0, Sink(0));
        // Packets of the pool grow until each has held the longest frame.
        for _ in 0..100 {
            round(&mut device, &mut now, &frames, &mut sink);
        }
        let (before, held) = (allocations(), counting_allocator::held());
        for _ in 0..50 {
            round(&mut device, &mut now, &frames, &mut sink);
        }
        assert_eq!(allocations() - before, 0, "{traffic_manager:?}");
        assert_eq!(counting_allocator::held(), held);
        assert!(sink.0 > 0);
    }
}

/// Bytes of memory that a frame of 64 bytes takes in a queue under cm.p4. With all slots of the
/// packet-header vector beside it, these alone were 5,792.
const MOST_A_FRAME: i64 = 1_000;
const FRAMES: u32 = 4_130;

#[test]
fn a_frame_that_waits_takes_little_memory_and_leaves_it_for_the_next() {
    let mut modem = Modem::new(&Flow::default());
    let stand = |modem: &mut Modem, from: u32| {
        for number in from..from + FRAMES {
            let length = 64;
            let session = 1;
            modem.receive(
                START,
                Frame {
                    session,
                    number,
                    length,
                },
            );
        }
    };
    stand(&mut modem, 0);
    let before = counting_allocator::held();
    stand(&mut modem, FRAMES);
    let grown = (counting_allocator::held() - before) / i64::from(FRAMES);
    assert!(
        (100..MOST_A_FRAME).contains(&grown),
        "{grown} bytes a frame"
    );
    // 250 ms at 200 Mbit/s are that many frames: no packet is made twice.
    let mut sent = 0;
    modem.run(START, |_, _, _| sent += 1);
    assert_eq!(sent, 2 * FRAMES);
    let before = counting_allocator::held();
    stand(&mut modem, 0);
    stand(&mut modem, FRAMES);
    let grown = counting_allocator::held() - before;
    assert!(grown < i64::from(FRAMES), "{grown} bytes in all");
}

/// The memory of packets in queues is bounded whatever their limits are, which count bytes on a
/// wire: 200,000 empty packet-outs took 375 MiB.
#[test]
fn empty_packets_take_a_bounded_memory() {
    let mut device = device(DeviceConfig::default());
    let port = PortConfig {
        port: 1,
        rate: 1,
        queue_limit: 1 << 40,
        ..PortConfig::default()
    };
    let slow = Configuration {
        ports: vec![port],
        ..Configuration::default()
    };
    device.configure(0, &slow).unwrap();
    let frame = Way {
        ingress: 0,
        port: 1,
        ..Way::default()
    };
    let frame = frame.frame(0);
    let before = counting_allocator::held();
    for _ in 0..200_000 {
        device.packet_out(0, &frame);
    }
    let held = counting_allocator::held() - before;
    let state = device.traffic_manager_state(0);
    let port = state.ports.iter().find(|p| p.config.port == 1).unwrap();
    let (queued, lost) = (port.queued.frames, port.queue_overflow.frames);
    assert_eq!(queued as usize, MOST_PACKETS);
    assert_eq!(queued + lost, 200_000);
    assert!(held < MOST_PACKETS as i64 * MOST_A_FRAME, "{held} bytes");
    // What leaves makes room.
    let fast = Configuration {
        ports: vec![PortConfig {
            rate: 0,
            ..port.config
        }],
        ..Configuration::default()
    };
    device.configure(1, &fast).unwrap();
    let mut sink = Sink(0);
    device.poll(1_000_000_000, &mut sink);
    device.packet_out(1_000_000_000, &frame);
    let state = device.traffic_manager_state(1_000_000_000);
    let port = state.ports.iter().find(|p| p.config.port == 1).unwrap();
    assert_eq!(port.queue_overflow.frames, lost);
}

/// Bytes of the header that [`shedding`] removes.
const SHED: usize = 8_000;

/// paths.p4 with a header of [`SHED`] bytes behind the command, which ingress removes where paths.p4
/// truncates.
fn shedding() -> Arc<Program> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../v1model/tests/programs/paths.json"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let mut json: String = text.split_whitespace().collect();
    let extract = |header: &str| {
        format!(r#"{{"parameters":[{{"type":"regular","value":"{header}"}}],"op":"extract"}}"#)
    };
    let both = [extract("command"), extract("filler")].join(",");
    for (old, new) in [
        (r#"["bytes",256,"#, format!(r#"["bytes",{},"#, 8 * SHED)),
        (&extract("command"), both),
        (
            r#"{"op":"truncate","parameters":[{"type":"field","value":["scalars","tmp_2"]}]"#,
            r#"{"op":"remove_header","parameters":[{"type":"header","value":"filler"}]"#.to_owned(),
        ),
    ] {
        assert_eq!(json.matches(old).count(), 1, "{old}");
        json = json.replace(old, &new);
    }
    Arc::new(Program::load(json.as_bytes()).unwrap())
}

/// Packets keep the frames that were received, and queues count what the program makes of them:
/// 65,536 packets that lose a long header took 512 MiB. Nor do short frames get the buffers of long
/// ones.
#[test]
fn the_frames_of_packets_that_lose_headers_take_a_bounded_memory() {
    let mut device = device(DeviceConfig::default());
    device.load(0, shedding());
    let pace = |rate| Configuration {
        ports: vec![PortConfig {
            port: 1,
            rate,
            queue_limit: 1 << 40,
            ..PortConfig::default()
        }],
        ..Configuration::default()
    };
    let way = Way {
        ingress: 0x40,
        port: 1,
        ..Way::default()
    };
    let (long, short) = (way.frame(SHED), way.frame(60));
    let queue = |device: &Device| {
        let ports = device.traffic_manager_state(0).ports;
        let port = ports.into_iter().find(|p| p.config.port == 1).unwrap();
        (port.queued.frames as usize, port.queue_overflow.frames)
    };
    let fit = MOST_UNCOUNTED / SHED;
    let before = counting_allocator::held();
    let held = || counting_allocator::held() - before;
    for round in 1..=3 {
        let now = round * 1_000_000_000;
        device.configure(now, &pace(1)).unwrap();
        for _ in 0..fit + 100 {
            device.receive(now, 1, &long);
        }
        assert_eq!(queue(&device), (fit, 100 * round));
        let most = MOST_UNCOUNTED as i64 + fit as i64 * MOST_A_FRAME;
        assert!(held() < most, "{} bytes of long frames", held());
        device.configure(now, &pace(0)).unwrap();
        device.poll(now + 1_000_000, &mut Sink(0));
        assert_eq!(queue(&device).0, 0);
        // As many packets stay, with the room of an Ethernet frame.
        let most = fit as i64 * (2048 + MOST_A_FRAME);
        assert!(held() < most, "{} bytes are kept", held());
    }
    // All are given back, so that as many as ever fit.
    let now = 4_000_000_000;
    device.configure(now, &pace(1)).unwrap();
    for _ in 0..MOST_PACKETS {
        device.receive(now, 1, &short);
    }
    assert_eq!(queue(&device), (MOST_PACKETS, 300));
    let most = fit as i64 * 2048 + MOST_PACKETS as i64 * MOST_A_FRAME;
    assert!(held() < most, "{} bytes of short frames", held());
}

#[test]
fn a_packet_out_is_no_longer_than_a_frame() {
    let mut device = device(DeviceConfig::default());
    let way = Way {
        port: 1,
        ..Way::default()
    };
    let longest = way.frame(LONGEST_FRAME - way.frame(0).len());
    let mut sink = Sink(0);
    device.packet_out(0, &longest);
    device.packet_out(0, &[&longest[..], &[0]].concat());
    device.poll(0, &mut sink);
    assert_eq!(sink.0, LONGEST_FRAME as u64);
    assert_eq!(device.counters().too_long.frames, 1);
}

/// Whatever a client configures, the service flows take no more memory than they may, and a flow
/// without frames takes no more than is counted for it.
#[test]
fn service_flows_take_a_bounded_memory() {
    // Flows alone, flows with all sub-queues, and the highest queue_id of each port.
    for (sub_queues, reserved, step) in [(1, 1_000, 1), (256, 0, 1), (0, 0, 65_534)] {
        let mut device = device(DeviceConfig::default());
        // Port 9 is the CPU port.
        let ports = || (1..=510).filter(|port| *port != 9);
        let looped = ports().map(|port| PortConfig {
            port,
            loop_back: true,
            ..PortConfig::default()
        });
        let looped = Configuration {
            ports: looped.collect(),
            ..Configuration::default()
        };
        device.configure(0, &looped).unwrap();
        let queues = ports().flat_map(|port| (1..=65_535).step_by(step).map(move |id| (port, id)));
        let flows = queues.map(|(port, queue_id)| ServiceFlowConfig {
            queue: QueueId { port, queue_id },
            sub_queues,
            min_reserved_rate: reserved,
            ..ServiceFlowConfig::default()
        });
        let flows: Vec<_> = flows.take(300_000).collect();
        let before = counting_allocator::held();
        let mut there = 0;
        let refused = flows.chunks(500).find_map(|chunk| {
            let request = Configuration {
                service_flows: chunk.to_vec(),
                ..Configuration::default()
            };
            let refused = device.configure(0, &request).err();
            there += if refused.is_none() { chunk.len() } else { 0 };
            refused
        });
        let held = counting_allocator::held() - before;
        eprintln!("{sub_queues} sub-queues: {there} flows take {held} bytes");
        let words = refused
            .map(|refused| refused.to_string())
            .unwrap_or_default();
        assert!(step > 1 || words.contains("more than 268435456"), "{words}");
        assert!(held < MOST_FLOW_BYTES as i64, "{there} flows: {held} bytes");
        // What is removed makes room.
        let removed = Configuration {
            removed: flows[..1000].iter().map(|flow| flow.queue).collect(),
            ..Configuration::default()
        };
        device.configure(0, &removed).unwrap();
        let again = Configuration {
            service_flows: flows[..900].to_vec(),
            ..Configuration::default()
        };
        device.configure(0, &again).unwrap();
    }
}

/// A delay line's limit counts the bytes of frames. Short frames take more than these.
#[test]
fn frames_on_a_delay_line_take_at_most_four_times_their_bytes() {
    const FRAMES: usize = 10_000;
    let mut device = device(DeviceConfig::default());
    let port = PortConfig {
        port: 1,
        receive_delay_ns: 1_000_000_000,
        delay_limit: 100 * FRAMES as u64,
        ..PortConfig::default()
    };
    let slow = Configuration {
        ports: vec![port],
        ..Configuration::default()
    };
    device.configure(0, &slow).unwrap();
    let way = Way {
        ingress: 0,
        port: 1,
        ..Way::default()
    };
    let frame = way.frame(64 - way.frame(0).len());
    assert_eq!(frame.len(), 64);
    let before = counting_allocator::held();
    for _ in 0..2 * FRAMES {
        device.receive(0, 1, &frame);
    }
    let held = counting_allocator::held() - before;
    let state = device.traffic_manager_state(0);
    let port = state.ports.iter().find(|p| p.config.port == 1).unwrap();
    let (limit, lost) = (port.config.delay_limit, port.receive_overflow.frames);
    assert_eq!(lost as usize, 2 * FRAMES - limit as usize / 64);
    eprintln!("{held} bytes for {limit}");
    assert!(held < 4 * limit as i64, "{held} bytes for {limit}");
}
