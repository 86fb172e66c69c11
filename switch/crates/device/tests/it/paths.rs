// SPDX-License-Identifier: Apache-2.0
//! The ways of packets through a device: clones, copies, further passes, frames
//! of any length. With explicit time.

use crate::balance::balance;
use crate::common::{CPU, Recorder, Way, device};
use device::{
    AGAIN, Configuration, Device, DeviceConfig, DropPlace, LONGEST_FRAME, MOST_PASSES, PortConfig,
};
use proptest::prelude::*;
use traffic_manager::{ModelKind, PacketQueueChange};

const CLONE: u8 = 1;
const RESUBMIT_ONCE: u8 = 4;
const RESUBMIT_FOR_EVER: u8 = 0x0c;
const DROP: u8 = 0x10;
const MULTICAST: u8 = 0x20;
const EGRESS_CLONE: u8 = 1;
const RECIRCULATE: u8 = 2;
const EGRESS_DROP: u8 = 4;
const GROW: u8 = 0x10;

fn send(device: &mut Device, way: Way) -> Vec<(u16, Vec<u8>)> {
    let mut out = Recorder::default();
    device.receive(0, 1, &way.frame(20));
    device.poll(0, &mut out);
    out.sent
}

#[test]
fn copies_are_made_in_bmv2s_order() {
    let mut device = device(DeviceConfig {
        traffic_manager: ModelKind::Bmv2 { priorities: 1 },
        ..DeviceConfig::default()
    });
    let way = Way {
        ingress: CLONE | MULTICAST,
        session: 1,
        group: 1,
        ..Way::default()
    };
    let ports: Vec<u16> = send(&mut device, way).iter().map(|s| s.0).collect();
    assert_eq!(ports, [3, 1, 2, 2], "the clone, then the group");
    let counters = device.counters();
    assert_eq!(counters.ingress_clones.frames, 1);
    assert_eq!(counters.multicast_copies.frames, 4);
    assert_eq!(counters.no_such_port.frames, 1, "port 7");
    assert_eq!(counters.packet_in_dropped.frames, 0);
}

#[test]
fn a_session_cuts_its_clones() {
    let mut device = device(DeviceConfig::default());
    let way = Way {
        ingress: CLONE,
        session: 4,
        port: 2,
        ..Way::default()
    };
    let sent = send(&mut device, way);
    let lengths: Vec<_> = sent.iter().map(|s| (s.0, s.1.len())).collect();
    assert!(lengths.contains(&(1, 10)) && lengths.contains(&(2, 28)));
    assert_eq!(device.traffic_manager_state(0).ports[1].sent.bytes, 10);
}

#[test]
fn sessions_and_groups_that_lead_nowhere_are_counted() {
    let mut device = device(DeviceConfig::default());
    let clone = |session| Way {
        ingress: CLONE,
        session,
        port: 2,
        ..Way::default()
    };
    assert_eq!(send(&mut device, clone(5)).len(), 1);
    assert_eq!(device.counters().no_clone_session.frames, 1);
    assert_eq!(send(&mut device, clone(3)).len(), 1);
    let group = |group| Way {
        ingress: MULTICAST,
        group,
        ..Way::default()
    };
    assert!(send(&mut device, group(2)).is_empty());
    assert!(send(&mut device, group(77)).is_empty());
    assert_eq!(device.counters().no_replicas.frames, 2);
    assert_eq!(device.counters().ingress_clones.frames, 0);
}

#[test]
fn a_resubmitted_packet_is_dropped_once_it_may() {
    let mut device = device(DeviceConfig::default());
    let way = Way {
        ingress: RESUBMIT_ONCE | DROP,
        ..Way::default()
    };
    assert!(send(&mut device, way).is_empty());
    assert_eq!(device.counters().resubmitted.frames, 1);
    assert_eq!(device.counters().ingress_dropped.frames, 1);
}

#[test]
fn a_packet_grows_with_each_pass_through_egress() {
    let mut device = device(DeviceConfig::default());
    let way = Way {
        egress: RECIRCULATE | GROW,
        left: 1,
        port: 2,
        ..Way::default()
    };
    // The second pass takes the filler for commands: all 0, to port 0.
    assert!(send(&mut device, way).is_empty());
    assert_eq!(device.counters().recirculated.bytes, 32 + 28);
    assert_eq!(device.counters().no_such_port.bytes, 32 + 28);
}

/// A program may make a frame longer with each pass: what is longer than the switch can receive is
/// dropped, with its buffer.
#[test]
fn a_frame_that_egress_makes_too_long_is_dropped() {
    for egress in [GROW, GROW | RECIRCULATE, GROW | EGRESS_CLONE] {
        let mut device = device(DeviceConfig::default());
        let mut out = Recorder::default();
        let way = Way {
            egress,
            left: 1,
            port: 2,
            session: 3,
            ..Way::default()
        };
        let longest = |payload| way.frame(payload - way.frame(0).len());
        device.receive(0, 1, &longest(LONGEST_FRAME));
        device.poll(0, &mut out);
        assert!(out.sent.is_empty(), "{egress}");
        let counters = device.counters();
        assert_eq!(counters.too_long.frames, 1, "{egress}");
        assert_eq!(counters.too_long.bytes, LONGEST_FRAME as u64);
        assert_eq!(counters.recirculated.frames, 0);
        assert_eq!(device.drops().at(DropPlace::TooLong), 1);
        let (arrived, gone) = balance(&device, 0);
        assert_eq!(arrived, gone, "{egress}");
        assert!(device.is_empty());
    }
    // A frame of that length passes if egress does not make it longer.
    let mut device = device(DeviceConfig::default());
    let mut out = Recorder::default();
    let way = Way {
        port: 2,
        ..Way::default()
    };
    device.receive(0, 1, &way.frame(LONGEST_FRAME - way.frame(0).len()));
    device.poll(0, &mut out);
    assert_eq!(out.sent[0].1.len(), LONGEST_FRAME);
}

/// While one packet goes round for ever, others pass between its passes.
#[test]
fn a_loop_does_not_hold_up_others_and_ends() {
    let mut device = device(DeviceConfig::default());
    let mut out = Recorder::default();
    let looping = Way {
        ingress: RESUBMIT_FOR_EVER,
        ..Way::default()
    };
    let passing = Way {
        port: 2,
        ..Way::default()
    };
    device.receive(0, 1, &looping.frame(20));
    for n in 1..=10 {
        device.receive(n, 1, &passing.frame(20));
        assert_eq!(device.next_deadline(), Some(0));
        let steps = (0..).take_while(|_| {
            device.step(n, &mut out);
            out.sent.len() < n as usize
        });
        assert!(steps.count() <= 1, "frame {n} waits for the loop");
    }
    device.poll(100, &mut out);
    assert_eq!(out.sent.len(), 10);
    assert_eq!(device.next_deadline(), None);
    assert_eq!(device.counters().too_many_passes.frames, 1);
    let passes = device.counters().resubmitted.frames;
    assert_eq!(passes, u64::from(MOST_PASSES) + 1);
}

#[test]
fn further_passes_are_bounded_in_number_at_a_time() {
    let mut device = device(DeviceConfig::default());
    let looping = Way {
        ingress: RESUBMIT_FOR_EVER,
        ..Way::default()
    };
    for _ in 0..AGAIN + 5 {
        device.receive(0, 1, &looping.frame(0));
    }
    assert_eq!(device.counters().ingress_queue_full.frames, 5);
    device.load(0, crate::common::program("paths.json"));
    assert_eq!(device.counters().flushed.frames, AGAIN as u64);
    assert!(device.is_empty());
}

/// A clone of egress that is cloned again, and so on.
#[test]
fn egress_clones_of_egress_clones_end() {
    let mut device = device(DeviceConfig::default());
    let way = Way {
        egress: EGRESS_CLONE | EGRESS_DROP,
        left: 255,
        session: 1,
        port: 2,
        ..Way::default()
    };
    let sent = send(&mut device, way);
    assert_eq!(sent.len(), 1, "the last, of which egress drops nothing");
    assert_eq!(device.counters().egress_clones.frames, 255);
}

/// enq_qdepth does not count the packet, nor does deq_qdepth, and a clone is
/// queued when its packet has left.
#[test]
fn egress_clones_wait_behind_what_is_queued() {
    let mut device = device(DeviceConfig {
        traffic_manager: ModelKind::Bmv2 { priorities: 1 },
        ..DeviceConfig::default()
    });
    let slow = PacketQueueChange {
        port: Some(3),
        priority: None,
        depth: Some(2),
        rate: Some(1000),
    };
    let request = Configuration {
        packet_queues: vec![slow],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
    let way = Way {
        egress: EGRESS_CLONE,
        left: 1,
        session: 1,
        port: 3,
        ..Way::default()
    };
    let mut out = Recorder::default();
    device.receive(0, 1, &way.frame(20));
    device.receive(0, 1, &way.frame(20));
    device.poll(0, &mut out);
    // The queue holds two: the first packet left before its clone came.
    assert_eq!(out.sent.len(), 1);
    for ms in 1..=3 {
        assert_eq!(device.next_deadline(), Some(ms * 1_000_000));
        device.poll(ms * 1_000_000, &mut out);
        assert_eq!(out.sent.len(), ms as usize + 1);
    }
    let state = device.traffic_manager_state(0);
    assert_eq!(state.ports[3].queue_overflow.frames, 0);
}

#[test]
fn packets_wait_while_their_link_is_full_and_others_pass() {
    let mut device = device(DeviceConfig {
        traffic_manager: ModelKind::Bmv2 { priorities: 1 },
        ..DeviceConfig::default()
    });
    let mut out = Recorder {
        full_after: Some((3, 2)),
        ..Recorder::default()
    };
    let to = |port| Way {
        port,
        ..Way::default()
    };
    for _ in 0..4 {
        device.receive(0, 1, &to(3).frame(20));
        device.receive(0, 1, &to(2).frame(20));
    }
    device.poll(0, &mut out);
    let ports = |out: &Recorder| out.sent.iter().map(|s| s.0).collect::<Vec<_>>();
    assert_eq!(ports(&out), [3, 2, 3, 2, 2, 2]);
    assert_eq!(
        device.next_deadline(),
        None,
        "nothing to do until it has room"
    );
    assert!(!device.is_empty());
    // It has room for one.
    out.full_after = Some((3, 3));
    device.set_port_full(3, false);
    device.poll(1, &mut out);
    assert_eq!(ports(&out)[6..], [3]);
    assert_eq!(device.next_deadline(), None);
    device.set_port_full(3, false);
    out.full_after = None;
    device.poll(2, &mut out);
    assert_eq!(ports(&out)[7..], [3]);
    assert!(device.is_empty());
}

#[test]
fn a_held_frame_is_cloned_once() {
    let mut device = device(DeviceConfig::default());
    let flow = device::ServiceFlowConfig {
        queue: device::QueueId {
            port: 2,
            queue_id: 1,
        },
        max_sustained_rate: 8_000,
        max_burst: 1522,
        // Enough for the frame as it is queued, not for what egress makes of it.
        initial_tokens: Some(64),
        ..Default::default()
    };
    let request = Configuration {
        service_flows: vec![flow],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
    let way = Way {
        egress: EGRESS_CLONE | GROW,
        left: 1,
        session: 1,
        port: 2,
        queue_id: 1,
        ..Way::default()
    };
    let mut out = Recorder::default();
    device.receive(0, 1, &way.frame(52));
    device.poll(0, &mut out);
    assert_eq!(out.sent.len(), 1, "the clone has left");
    device.poll(32_000_000, &mut out);
    assert_eq!(out.sent.len(), 2);
    assert_eq!(device.counters().egress_clones.frames, 1);
}

#[test]
fn what_the_controller_does_not_take_is_counted() {
    for transmit_delay_ns in [0, 5] {
        let mut device = device(DeviceConfig::default());
        let port = PortConfig {
            port: CPU,
            transmit_delay_ns,
            ..PortConfig::default()
        };
        let request = Configuration {
            ports: vec![port],
            ..Configuration::default()
        };
        device.configure(0, &request).unwrap();
        let mut out = Recorder {
            deaf: true,
            ..Recorder::default()
        };
        let way = Way {
            ingress: MULTICAST,
            group: 1,
            ..Way::default()
        };
        device.receive(0, CPU, &way.frame(20));
        device.poll(5, &mut out);
        assert_eq!(device.counters().packet_in_dropped.frames, 1);
        assert_eq!(device.drops().at(DropPlace::PacketIn), 1);
        assert!(device.books().balance(), "{:?}", device.books());
    }
}

#[test]
fn a_frame_in_a_buffer_is_one_like_any_other() {
    for receive_delay_ns in [0, 5] {
        let mut devices = [(); 2].map(|()| device(DeviceConfig::default()));
        let mut outs = [(); 2].map(|()| Recorder::default());
        for device in &mut devices {
            let delayed = PortConfig {
                port: 1,
                receive_delay_ns,
                delay_limit: 1600,
                ..PortConfig::default()
            };
            let request = Configuration {
                ports: vec![delayed],
                ..Configuration::default()
            };
            device.configure(0, &request).unwrap();
        }
        let [copied, taken] = &mut devices;
        let mut buffer = Vec::new();
        // The delay line has no room for the last one.
        for (port, payload) in [(1, 40), (4, 40), (1, 1400), (1, 200)] {
            let way = Way {
                port: 2,
                ..Way::default()
            };
            copied.receive(0, port, &way.frame(payload));
            buffer.clear();
            buffer.extend_from_slice(&way.frame(payload));
            taken.receive_buffer(0, port, &mut buffer, None);
        }
        for (device, out) in devices.iter_mut().zip(&mut outs) {
            device.poll(5, out);
        }
        let [copied, taken] = &devices;
        let sent = if receive_delay_ns == 0 { 3 } else { 2 };
        assert_eq!(outs[0].sent.len(), sent);
        assert_eq!(outs[0].sent, outs[1].sent);
        assert_eq!(copied.counters(), taken.counters());
        assert_eq!(copied.counters().no_such_port.frames, 1);
        let states = [copied, taken].map(|device| device.traffic_manager_state(5));
        assert_eq!(states[0], states[1]);
    }
}

/// A frame that was noted, through both delay lines; the notes with which it left.
fn notes_of(way: Way) -> Vec<bool> {
    let (mut device, mut out) = (device(DeviceConfig::default()), Recorder::default());
    let delayed = |port| PortConfig {
        port,
        receive_delay_ns: 5,
        transmit_delay_ns: 5,
        ..PortConfig::default()
    };
    let request = Configuration {
        ports: vec![delayed(1), delayed(2)],
        ..Configuration::default()
    };
    device.configure(0, &request).unwrap();
    // What came before is not what is noted.
    let plain = Way {
        port: 3,
        ..Way::default()
    };
    device.receive(0, 1, &plain.frame(20));
    let (mut frame, note) = (way.frame(20), Some([7, 9]));
    device.receive_buffer(0, 1, &mut frame, note);
    device.poll(1_000, &mut out);
    assert_eq!((out.sent[0].0, out.notes[0]), (3, None));
    let mut noted = Vec::new();
    for ((_, sent), found) in out.sent.iter().zip(&out.notes).skip(1) {
        assert!(*found == note || found.is_none());
        assert!(found.is_none() || *sent == way.frame(20), "{way:?}");
        noted.push(found.is_some());
    }
    noted
}

#[test]
fn a_note_comes_back_with_a_frame_that_leaves_as_it_came_and_with_no_other() {
    let way = Way {
        port: 2,
        ..Way::default()
    };
    assert_eq!(notes_of(way), [true]);
    for egress in [0, GROW, RECIRCULATE] {
        // Egress writes into a frame in which something is left to do.
        let way = Way {
            egress,
            left: 1,
            ..way
        };
        assert_eq!(notes_of(way), [false], "{egress}");
    }
    for ingress in [MULTICAST, RESUBMIT_ONCE] {
        let group = 1;
        let way = Way {
            ingress,
            group,
            ..way
        };
        assert!(notes_of(way).iter().all(|noted| !noted), "{ingress}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Frames from nothing to 64 KiB, with any commands, over delayed links.
    #[test]
    fn no_frame_stops_a_device(
        start in prop::collection::vec(any::<u8>(), 0..9),
        len in prop::sample::select(&[0usize, 1, 7, 8, 9, 39, 40, 1514, 9014, 65_535, 65_536][..]),
        bmv2 in any::<bool>(),
    ) {
        let traffic_manager = match bmv2 {
            true => ModelKind::Bmv2 { priorities: 8 },
            false => ModelKind::Docsis,
        };
        let mut device = device(DeviceConfig { traffic_manager, ..DeviceConfig::default() });
        let delayed = PortConfig { port: 1, receive_delay_ns: 5, transmit_delay_ns: 5, ..PortConfig::default() };
        let request = Configuration { ports: vec![delayed], ..Configuration::default() };
        device.configure(0, &request).unwrap();
        let mut frame = start;
        frame.resize(len.max(frame.len()), 0);
        // Not for ever: each pass costs a copy of the frame.
        if let Some(left) = frame.get_mut(2) { *left %= 8; }
        let mut out = Recorder::default();
        device.receive(0, 1, &frame);
        device.poll(5, &mut out);
        device.poll(1_000_000_000, &mut out);
        prop_assert!(device.is_empty());
    }
}
