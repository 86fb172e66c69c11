// SPDX-License-Identifier: Apache-2.0
//! CoDel of p4src/include/codel.p4 against RFC 8289's own words, frame for frame.

mod common;

use common::Recorder;
use device::{Configuration, Device, DeviceConfig, QueueId, ServiceFlowConfig};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use traffic_manager::ModelKind;
use v1model::by_name::{insert_exact, table};
use v1model::{EntryKey, EntryOptions, Match, Pipeline, Program};

const RF: u16 = 1;
const CPE: u16 = 2;
const SERVER: u64 = 0x0200_0000_0201;
const FLOW: u32 = 1;
const FRAME: usize = 1000;
const RATE: u64 = 8_000_000; // a frame a millisecond
const TARGET: u64 = 5_000;
const INTERVAL: u64 = 50_000;
const CODEL: u128 = 2;
const COUNTS: u128 = 400;
const MAX_PACKET: usize = 1522;

/// 1 / sqrt(count) in Q1.31, rounded down.
fn inverse(count: u128) -> u128 {
    ((1u128 << 124) / (count << 62)).isqrt()
}

fn control_law(t: u64, count: u64) -> u64 {
    t + ((u128::from(INTERVAL) * inverse(u128::from(count))) >> 31) as u64
}

/// The RFC's queue, section 5.4 to 5.7. Times in microseconds.
#[derive(Default)]
struct CodelQueue {
    queue: VecDeque<(u64, u32)>,
    first_above_time: u64,
    drop_next: u64,
    count: u64,
    lastcount: u64,
    dropping: bool,
    dropped: Vec<u32>,
}

impl CodelQueue {
    fn dodequeue(&mut self, now: u64) -> (Option<u32>, bool) {
        let Some((tstamp, packet)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        if now - tstamp < TARGET || self.queue.len() * FRAME <= MAX_PACKET {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    fn deque(&mut self, now: u64) -> Option<u32> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            self.dropped.extend(packet);
            (packet, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = control_law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

fn program() -> Arc<Program> {
    static PROGRAM: OnceLock<Arc<Program>> = OnceLock::new();
    Arc::clone(PROGRAM.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build/cm.json");
        Arc::new(Program::load(&std::fs::read(path).unwrap()).unwrap())
    }))
}

fn fill(pipeline: &mut Pipeline) {
    let rf = u128::from(RF);
    let mut insert = |table: &str, key: &[u128], action: &str, values: &[(&str, u128)]| {
        insert_exact(pipeline, table, key, action, values).unwrap();
    };
    let cpe = [("flood_group", 0), ("to_rf", 1), ("modem", 1)];
    insert("bridge.interface", &[CPE.into()], "provision", &cpe);
    let station = [("port", rf), ("to_rf", 1), ("modem", 1)];
    insert("bridge.station", &[1, SERVER.into()], "forward", &station);
    let flow = [("service_flow", FLOW.into())];
    insert("classifier.primary", &[1], "set_primary", &flow);
    let queue = [
        ("port", rf),
        ("queue_id", FLOW.into()),
        ("traffic_priority", 0),
        ("buffer_size", 1 << 30),
        ("max_frame", 1522),
        ("queue_manager", CODEL),
        ("generation", 0),
        ("flow_queuing", 0),
        ("latency_target", 0),
        ("controller_timeout", 0),
        ("tos_and", 0xff),
        ("tos_or", 0),
    ];
    insert("service_flow", &[FLOW.into()], "set_queue", &queue);
    let codel = [
        ("latency_target", u128::from(TARGET)),
        ("control_interval", u128::from(INTERVAL)),
    ];
    insert("codel.parameters", &[FLOW.into()], "set_codel", &codel);
    let id = table(pipeline, "codel.inv_sqrt").unwrap();
    for count in 1..=COUNTS {
        let values = [("inverse_square_root", inverse(count))];
        let call = v1model::by_name::action(pipeline, id, "set_inverse", &values).unwrap();
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

fn cable_modem() -> Device {
    let mut device = Device::new(DeviceConfig {
        traffic_manager: ModelKind::Docsis,
        ..DeviceConfig::default()
    });
    device.add_port(RF);
    device.add_port(CPE);
    device.load(0, program());
    let config = ServiceFlowConfig {
        queue: QueueId {
            port: RF,
            queue_id: FLOW,
        },
        max_sustained_rate: RATE,
        max_burst: 1522,
        ..ServiceFlowConfig::default()
    };
    let request = Configuration {
        service_flows: vec![config],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
    fill(device.pipeline_mut().unwrap());
    device
}

fn frame(number: u32) -> Vec<u8> {
    let mut frame = vec![0; FRAME];
    frame[..6].copy_from_slice(&SERVER.to_be_bytes()[2..]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

/// A device and the RFC's queue side by side.
struct Pair {
    device: Device,
    queue: CodelQueue,
    recorder: Recorder,
    sent: usize,
}

impl Pair {
    /// Lets the device send until `now`; the RFC's queue sends whenever it does.
    fn run(&mut self, now: u64) {
        while let Some(at) = self.device.next_deadline().filter(|&at| at <= now) {
            self.device.poll(at, &mut self.recorder);
            self.compare(at);
        }
    }

    fn compare(&mut self, now: u64) {
        for (_, frame) in &self.recorder.sent[self.sent..] {
            assert_eq!(self.queue.deque(now / 1000), Some(number(frame)));
        }
        self.sent = self.recorder.sent.len();
    }
}

/// Bursts of frames and the pauses before them, microseconds, with an end long enough
/// for the queue to empty.
fn load() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let burst = prop_oneof![
        4 => (0u64..3_000, 1usize..4),
        2 => (0u64..40_000, 10usize..60),
        1 => (20_000u64..1_000_000, 1usize..150),
    ];
    prop::collection::vec(burst, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_frame_has_the_rfcs_fate(load in load()) {
        let mut pair = Pair {
            device: cable_modem(),
            queue: CodelQueue::default(),
            recorder: Recorder::default(),
            sent: 0,
        };
        let (mut now, mut frames) = (1_000_000, 0);
        for (pause, burst) in load {
            now += pause * 1000;
            pair.run(now);
            for _ in 0..burst {
                pair.queue.queue.push_back((now / 1000, frames));
                pair.device.receive(now, CPE, &frame(frames));
                frames += 1;
            }
        }
        pair.run(now + u64::from(frames) * 2_000_000);
        let dropped = pair.device.traffic_manager_state(u64::MAX).service_flows[0].egress_dropped;
        prop_assert_eq!(dropped.frames as usize, pair.queue.dropped.len());
        prop_assert_eq!(pair.sent + pair.queue.dropped.len(), frames as usize);
        prop_assert!(pair.queue.count < COUNTS as u64);
    }
}

/// An upload that never ends is held at the target: one frame in some hundred goes, more
/// and more often, until the queue stands no higher.
#[test]
fn a_standing_queue_is_worked_off() {
    let mut pair = Pair {
        device: cable_modem(),
        queue: CodelQueue::default(),
        recorder: Recorder::default(),
        sent: 0,
    };
    let mut now = 1_000_000;
    // 100 ms of it stand; what comes is as much as goes.
    for n in 0..20_000u32 {
        if n >= 100 {
            now += 1_000_000;
        }
        pair.run(now);
        pair.queue.queue.push_back((now / 1000, n));
        pair.device.receive(now, CPE, &frame(n));
    }
    assert!(pair.queue.dropped.len() > 90);
    let queued = pair.device.traffic_manager_state(now).service_flows[0].queued;
    assert!(queued.frames <= 10, "{queued:?}");
}
