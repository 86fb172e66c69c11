// SPDX-License-Identifier: Apache-2.0
//! Every frame is accounted for: received + copies made = sent + dropped +
//! queued, whatever programs do and whichever queues are full.

use crate::common::{CPU, Recorder, Way, device};
use device::{Configuration, Device, DeviceConfig, PortConfig, QueueId, ServiceFlowConfig};
use proptest::prelude::*;
use traffic_manager::{ModelKind, PacketQueueChange};

/// Frames on the one side and on the other.
pub fn balance(device: &Device, now: u64) -> (u64, u64) {
    let counters = device.counters();
    let state = device.traffic_manager_state(now);
    let made = [
        counters.multicast_copies,
        counters.ingress_clones,
        counters.egress_clones,
    ];
    let mut arrived: u64 = made.iter().map(|t| t.frames).sum();
    let mut gone: u64 = counters
        .named()
        .iter()
        .filter(|(_, meaning, _)| meaning.starts_with("Dropped"))
        .map(|(_, _, t)| t.frames)
        .sum();
    let numbers: Vec<u16> = state.ports.iter().map(|p| p.config.port).collect();
    for port in &state.ports {
        arrived += port.received.frames;
        gone += [
            port.sent,
            port.send_failed,
            port.receive_overflow,
            port.transmit_overflow,
            port.receive_lost,
            port.transmit_lost,
            port.queue_overflow,
            port.queued,
        ]
        .iter()
        .map(|t| t.frames)
        .sum::<u64>();
    }
    for flow in &state.service_flows {
        gone += flow.overflow.frames + flow.egress_dropped.frames;
        gone += flow.flushed.frames + flow.suppressed.frames + flow.queued.frames;
    }
    let others = state
        .packet_queues
        .iter()
        .filter(|q| !numbers.contains(&q.config.queue.port));
    for queue in others {
        gone += queue.overflow.frames + queue.queued.frames;
    }
    (arrived, gone)
}

fn way() -> impl Strategy<Value = (u16, Way, usize)> {
    let bits = |of: &'static [u8]| {
        prop::collection::vec(prop::sample::select(of), 0..3)
            .prop_map(|bits| bits.into_iter().fold(0, |all, bit| all | bit))
    };
    let ingress = bits(&[0, 1, 1, 2, 4, 0x0c, 0x10, 0x20, 0x20, 0x40]);
    let egress = bits(&[0, 1, 2, 4, 8, 0x10]);
    let ids = (
        1u8..6,
        0u8..4,
        prop::sample::select(&[0u8, 1, 2, 3, 7, 9][..]),
    );
    let rest = (
        0u8..5,
        0u8..9,
        0usize..400,
        prop::sample::select(&[1u16, 2, 3, CPU][..]),
    );
    (ingress, egress, ids, rest).prop_map(
        |(ingress, egress, (session, group, port), (left, queue_id, payload, from))| {
            let way = Way {
                ingress,
                egress,
                left,
                session,
                group,
                port,
                queue_id,
                length: payload as u8,
            };
            (from, way, payload)
        },
    )
}

fn docsis() -> Device {
    let mut device = device(DeviceConfig::default());
    let port = |port, rate| PortConfig {
        port,
        rate,
        queue_limit: 1500,
        ..PortConfig::default()
    };
    let flow = |port, queue_id| ServiceFlowConfig {
        queue: QueueId { port, queue_id },
        max_sustained_rate: 100_000,
        max_burst: 1522,
        queue_limit: 1000,
        ..ServiceFlowConfig::default()
    };
    let request = Configuration {
        ports: vec![
            PortConfig {
                receive_loss_ppm: 300_000,
                ..port(2, 1_000_000)
            },
            PortConfig {
                transmit_loss_ppm: 300_000,
                ..port(3, 0)
            },
        ],
        service_flows: vec![flow(1, 1), flow(2, 2), flow(3, 3)],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
    device
}

fn bmv2() -> Device {
    let mut device = device(DeviceConfig {
        traffic_manager: ModelKind::Bmv2 { priorities: 3 },
        ..DeviceConfig::default()
    });
    let change = |port, priority, rate| PacketQueueChange {
        port: Some(port),
        priority,
        depth: Some(4),
        rate: Some(rate),
    };
    let request = Configuration {
        packet_queues: vec![change(1, Some(0), 1000), change(2, None, 5000)],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
    device
}

/// How long packet-ins are on their way, ns.
const DELAY: u64 = 1_000_000;

fn delay_packet_ins(device: &mut Device) {
    let request = Configuration {
        ports: vec![PortConfig {
            port: CPU,
            transmit_delay_ns: DELAY,
            ..PortConfig::default()
        }],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_frame_is_accounted_for(
        model in any::<bool>(),
        deaf in any::<bool>(),
        delayed in any::<bool>(),
        ways in prop::collection::vec((way(), 0u64..2_000_000), 1..40),
    ) {
        let mut device = if model { docsis() } else { bmv2() };
        if delayed {
            delay_packet_ins(&mut device);
        }
        let mut out = Recorder { deaf, ..Recorder::default() };
        let mut now = 0;
        for ((from, way, payload), pause) in &ways {
            device.receive(now, *from, &way.frame(*payload));
            now += pause;
            device.poll(now, &mut out);
            let (arrived, gone) = balance(&device, now);
            prop_assert!(delayed || arrived == gone, "{} {} after {:?}", arrived, gone, way);
            prop_assert!(device.books().balance(), "after {:?}: {:?}", way, device.books());
        }
        // With frames in the queues.
        device.load(now, crate::common::program("paths.json"));
        device.poll(now + DELAY, &mut out);
        let (arrived, gone) = balance(&device, now + DELAY);
        prop_assert_eq!(arrived, gone);
        prop_assert!(device.books().balance(), "{:?}", device.books());
        prop_assert!(device.is_empty());
    }
}
