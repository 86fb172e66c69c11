// SPDX-License-Identifier: Apache-2.0
//! A device that runs cm.p4 as a bridge: receive, replicate, queue, delay,
//! send, count. With explicit time.

use device::{
    Configuration, Device, DeviceConfig, Output, PortConfig, QueueId, ServiceFlowConfig, handle,
};
use std::sync::Arc;
use v1model::{ActionCall, EntryKey, EntryOptions, Match, Pipeline, Program, Replica, TableId};

const CPU: u16 = 255;
const MAC: u128 = 0x0200_0000_0003;

#[derive(Default)]
struct Recorder {
    sent: Vec<(u64, u16, Vec<u8>, bool)>,
    packet_ins: Vec<Vec<u8>>,
    deaf: bool,
}

impl Output for Recorder {
    fn transmit(&mut self, now: u64, port: u16, frame: &[u8], paced: bool) {
        self.sent.push((now, port, frame.to_vec(), paced));
    }

    fn packet_in(&mut self, _now: u64, frame: &[u8]) -> bool {
        self.packet_ins.push(frame.to_vec());
        !self.deaf
    }
}

fn program() -> Arc<Program> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build/cm.json");
    let json = std::fs::read(path).expect("p4src/build/cm.json is committed");
    Arc::new(Program::load(&json).expect("cm.p4 is supported"))
}

fn insert(pipeline: &mut Pipeline, table: &str, key: &[u128], action: &str, args: &[u128]) {
    let program = Arc::clone(pipeline.program());
    let table = program
        .tables()
        .iter()
        .position(|t| t.name.ends_with(table))
        .map(|n| TableId(n as u32))
        .unwrap();
    let action = program.tables()[table.0 as usize]
        .actions
        .iter()
        .copied()
        .find(|a| program.actions()[a.0 as usize].name.ends_with(action))
        .unwrap();
    let key = EntryKey {
        matches: key.iter().copied().map(Match::Exact).collect(),
        priority: 0,
    };
    let call = ActionCall {
        action,
        args: args.to_vec(),
    };
    pipeline
        .insert(0, table, &key, &call.into(), &EntryOptions::default())
        .unwrap();
}

/// Ports 1 to 3 and the CPU; port 1 floods to 2 and 3, port 2 to nobody; the
/// station MAC is at port 3. Nothing is "to RF", so no service flows in P4.
fn bridge() -> Device {
    let mut device = Device::new(DeviceConfig {
        cpu_port: Some(CPU),
        ..Default::default()
    });
    for port in 1..=3 {
        device.add_port(port);
    }
    device.load(0, program());
    let pipeline = device.pipeline_mut().unwrap();
    for port in [1, 2] {
        let args = [port, 0, 0];
        insert(pipeline, "bridge.interface", &[port], "provision", &args);
    }
    insert(pipeline, "bridge.station", &[0, MAC], "forward", &[3, 0, 0]);
    let replicas = [2, 3].map(|port| Replica { instance: 1, port });
    pipeline.multicast_mut().insert(1, &replicas).unwrap();
    device
}

fn frame(to: u128, len: usize) -> Vec<u8> {
    let mut frame = vec![0xa5; len];
    frame[..6].copy_from_slice(&to.to_be_bytes()[10..]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

fn ports(device: &Device) -> Vec<device::PortState> {
    device.traffic_manager_state(1_000_000_000).ports
}

#[test]
fn a_station_gets_its_frames_unchanged() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    for (n, len) in [14, 60, 1514, 9014].into_iter().enumerate() {
        let frame = frame(MAC, len);
        let now = 10 * n as u64;
        device.receive(now, 1, &frame);
        device.poll(now + 2, &mut out);
        assert_eq!(out.sent.pop(), Some((now, 3, frame, false)), "{len}");
    }
    assert_eq!(device.next_deadline(), None);
    let states = ports(&device);
    assert_eq!(states[1].received.frames, 4);
    assert_eq!(states[3].sent.bytes, 14 + 60 + 1514 + 9014);
}

#[test]
fn an_unknown_destination_is_replicated() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    device.receive(0, 1, &frame(0xffff_ffff_ffff, 60));
    device.poll(0, &mut out);
    let to: Vec<u16> = out.sent.iter().map(|sent| sent.1).collect();
    assert_eq!(to, [2, 3]);
    assert!(
        out.sent
            .iter()
            .all(|sent| sent.2 == frame(0xffff_ffff_ffff, 60))
    );
}

#[test]
fn every_drop_is_counted() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    device.receive(0, 2, &frame(1, 60)); // group 2 does not exist
    device.receive(0, 3, &frame(1, 60)); // port 3 is not provisioned
    device.receive(0, 9, &frame(1, 60)); // no such port
    device.receive(0, 1, &[1, 2, 3]); // shorter than its header
    device.poll(0, &mut out);
    assert!(out.sent.is_empty());
    let counters = device.counters();
    assert_eq!(counters.no_replicas.frames, 1);
    assert_eq!(counters.ingress_dropped.frames, 2);
    assert_eq!(counters.no_such_port.frames, 1);
    let pipeline = device.pipeline_mut().unwrap();
    insert(pipeline, "bridge.station", &[0, 77], "forward", &[9, 0, 0]);
    device.receive(0, 1, &frame(77, 60));
    assert_eq!(device.counters().no_such_port.frames, 2);
}

#[test]
fn without_a_program_nothing_passes() {
    let mut device = Device::new(DeviceConfig::default());
    device.add_port(1);
    device.receive(0, 1, &frame(MAC, 60));
    assert_eq!(device.counters().no_pipeline.frames, 1);
    assert_eq!(device.next_deadline(), None);
}

#[test]
fn links_lose_their_share_and_jitter_keeps_the_order() {
    const FRAMES: u64 = 1_000;
    let run = || {
        let (mut device, mut out) = (bridge(), Recorder::default());
        let links = Configuration {
            ports: vec![
                PortConfig {
                    port: 1,
                    receive_loss_ppm: 500_000,
                    ..Default::default()
                },
                PortConfig {
                    port: 3,
                    transmit_loss_ppm: 200_000,
                    transmit_jitter_ns: 1_000_000,
                    ..Default::default()
                },
            ],
            ..Default::default()
        };
        device.configure(0, &links).unwrap();
        for number in 0..FRAMES {
            device.poll(number * 10_000, &mut out);
            device.receive(number * 10_000, 1, &frame(MAC, 60));
        }
        device.poll(FRAMES * 10_000 + 1_000_000, &mut out);
        assert!(device.is_empty());
        let states = ports(&device);
        let (came, left) = (states[1], states[3]);
        assert_eq!(came.received.frames, FRAMES);
        assert_eq!(
            came.receive_overflow.frames + left.transmit_overflow.frames,
            0
        );
        let through = FRAMES - came.receive_lost.frames;
        assert_eq!(left.sent.frames, through - left.transmit_lost.frames);
        assert_eq!(out.sent.len() as u64, left.sent.frames);
        (came.receive_lost.frames, left.transmit_lost.frames, through)
    };
    let (received, transmitted, through) = run();
    // Deviations of binomial draws: 16 of 1,000 at a half, and less than 9 of 500 at a fifth.
    assert!(
        (500 - 5 * 16..=500 + 5 * 16).contains(&received),
        "{received}"
    );
    assert!(transmitted.abs_diff(through / 5) <= 5 * 9, "{transmitted}");
    assert_eq!(run(), (received, transmitted, through));
}

#[test]
fn links_delay_in_both_directions() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    let delays = Configuration {
        ports: vec![
            PortConfig {
                port: 1,
                receive_delay_ns: 20_000_000,
                delay_limit: 100,
                ..Default::default()
            },
            PortConfig {
                port: 3,
                transmit_delay_ns: 1_000_000,
                ..Default::default()
            },
        ],
        ..Default::default()
    };
    device.configure(0, &delays).unwrap();
    device.receive(3, 1, &frame(MAC, 60));
    device.receive(4, 1, &frame(MAC, 60)); // more than the line holds
    assert_eq!(device.next_deadline(), Some(20_000_003));
    device.poll(20_000_002, &mut out);
    assert_eq!(device.next_deadline(), Some(20_000_003));
    device.poll(20_000_003, &mut out);
    assert_eq!(device.next_deadline(), Some(21_000_003));
    device.poll(21_000_002, &mut out);
    assert!(out.sent.is_empty());
    device.poll(21_000_003, &mut out);
    assert_eq!(out.sent.len(), 1);
    let states = ports(&device);
    assert_eq!(states[1].receive_overflow.frames, 1);
    assert_eq!(states[1].received.frames, 2);
    assert_eq!(states[3].sent.frames, 1);
}

#[test]
fn a_port_rate_spaces_departures() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    let request = Configuration {
        ports: vec![PortConfig {
            port: 3,
            rate: 8_000_000,
            ..Default::default()
        }],
        ..Default::default()
    };
    device.configure(0, &request).unwrap();
    for _ in 0..4 {
        device.receive(0, 1, &frame(MAC, 1518));
    }
    while let Some(at) = device.next_deadline() {
        device.poll(at, &mut out);
    }
    let times: Vec<u64> = out.sent.iter().map(|sent| sent.0).collect();
    assert_eq!(times, [0, 1_522_000, 3_044_000, 4_566_000]);
}

#[test]
fn a_packet_out_reaches_the_wire_and_a_request_is_answered() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    // packet_out: op 8, padding 7, egress_port 9, then the fields of UPDATE.
    let header_bits = 8 + 7 + 9 + 32 + 16 + 32 + 32 + 32 + 32 + 48 + 64;
    let mut transmit = vec![0u8; header_bits / 8];
    transmit[2] = 2; // the low 8 bits of egress_port
    transmit.extend(frame(MAC, 60));
    device.packet_out(0, &transmit);
    device.poll(0, &mut out);
    assert_eq!(out.sent.len(), 1);
    assert_eq!((out.sent[0].1, &out.sent[0].2), (2, &frame(MAC, 60)));

    let mut read = vec![0u8; header_bits / 8];
    read[0] = 1;
    device.packet_out(9_000, &read);
    device.poll(9_000, &mut out);
    assert_eq!(out.packet_ins.len(), 1);
    assert_eq!(out.packet_ins[0][0], 1);

    out.deaf = true;
    device.packet_out(9_000, &read);
    device.poll(9_000, &mut out);
    assert_eq!(device.counters().packet_in_dropped.frames, 1);
}

#[test]
fn a_new_program_flushes_what_the_old_one_queued() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    device.receive(0, 1, &frame(MAC, 60));
    device.load(0, program());
    device.poll(0, &mut out);
    assert!(out.sent.is_empty());
    assert_eq!(device.counters().flushed.frames, 1);
    device.receive(0, 1, &frame(MAC, 60)); // its tables are empty
    assert_eq!(device.counters().ingress_dropped.frames, 1);
}

#[test]
fn a_request_that_names_an_unknown_port_is_refused() {
    let mut device = bridge();
    let request = Configuration {
        service_flows: vec![ServiceFlowConfig {
            queue: QueueId {
                port: 8,
                queue_id: 1,
            },
            ..Default::default()
        }],
        ..Default::default()
    };
    assert!(device.configure(0, &request).is_err());
    assert!(device.traffic_manager_state(0).service_flows.is_empty());
}

#[test]
fn failed_frames_are_not_sent_frames() {
    let (mut device, mut out) = (bridge(), Recorder::default());
    device.receive(0, 1, &frame(MAC, 60));
    device.poll(0, &mut out);
    let failed = device::Traffic {
        frames: 1,
        bytes: 60,
    };
    device.send_failed(3, failed);
    let state = ports(&device)[3];
    assert_eq!((state.sent.frames, state.send_failed.bytes), (0, 60));
}

#[test]
fn handles_run_closures_on_the_devices_thread() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let (handle, mut requests, _, _) = handle::channel(7, Some(CPU), move || {
        sender.send(()).unwrap();
    });
    let mut device = bridge();
    let thread = std::thread::spawn(move || {
        let rx = handle.call(|device, now| (device.config().cpu_port, now));
        // A minimal executor: the answer is there once the request has run.
        let mut rx = Box::pin(rx);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        loop {
            if let std::task::Poll::Ready(answer) = rx.as_mut().poll(&mut context) {
                return answer.unwrap();
            }
            std::thread::yield_now();
        }
    });
    assert!(requests.run_blocking(&mut device, || 42));
    assert_eq!(thread.join().unwrap(), (Some(CPU), 42));
    receiver.recv().unwrap();
    assert!(!requests.run_one(&mut device, 43));
    assert!(!requests.run_blocking(&mut device, || 44));
}
