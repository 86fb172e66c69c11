// SPDX-License-Identifier: Apache-2.0
//! A modem's port in front of a request/grant MAC: egress runs once a frame, when a grant lets it
//! go, and what the pipeline drops, recirculates or clones there goes the way it always does.

use crate::common::modem::{CODEL, CPE, FLOW, Flow, Frame, Modem, RF, START, number};
use crate::common::{CPU, Recorder, Way, device};
use device::{Configuration, Device, DeviceConfig, QueueId, ServiceFlowConfig};
use proptest::prelude::*;
use traffic_manager::ModelKind;

const QUEUE: QueueId = QueueId {
    port: RF,
    queue_id: FLOW,
};
const MILLISECOND: u64 = 1_000_000;

fn granted(flow: &Flow) -> Modem {
    let mut modem = Modem::new(flow);
    modem.device.set_granted(START, RF, FLOW).unwrap();
    modem
}

fn codel(rate: u64) -> Modem {
    let flow = Flow {
        manager: CODEL,
        rate,
        ..Flow::default()
    };
    let mut modem = Modem::new(&flow);
    modem.inverse_square_roots("FrameEgress.codel.inv_sqrt", 500);
    let parameters = [("latency_target", 5_000), ("control_interval", 50_000)];
    modem.parameters("FrameEgress.codel.parameters", "set_codel", &parameters);
    modem
}

fn frame(number: u32) -> Frame {
    Frame {
        session: 1,
        number,
        length: 1000,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// A queue manager that drops at the head cannot tell a grant from a departure: what a shaped
    /// port sends at its own times, grants at these times take, byte for byte.
    #[test]
    fn a_grant_is_a_departure(gaps in prop::collection::vec(0u64..1_000_000, 300..600)) {
        let mut shaped = codel(8_000_000);
        let mut modem = codel(0);
        modem.device.set_granted(START, RF, FLOW).unwrap();
        let mut now = START;
        let mut last = START;
        let mut taken = Vec::new();
        for (sent, gap) in gaps.iter().enumerate() {
            now += gap;
            let mut departures = Vec::new();
            let mut run = |shaped: &mut Modem, until| {
                shaped.run(until, |_, at, bytes| departures.push((at, bytes.to_vec())));
            };
            // The last time, all that waits.
            let until = if sent + 1 == gaps.len() { now + 1000 * MILLISECOND } else { now };
            run(&mut shaped, until);
            for (at, bytes) in departures {
                last = last.max(at);
                prop_assert!(modem.device.take(at, QUEUE, u32::MAX, &mut taken).is_some());
                prop_assert_eq!(&taken, &bytes);
                prop_assert_eq!(modem.backlog(), queued_bytes(&modem, at));
            }
            let at = now.max(last);
            if sent + 1 < gaps.len() {
                let frame = frame(sent as u32);
                shaped.receive(at, frame);
                modem.receive(at, frame);
            }
        }
        let [of_shaped, of_modem] = [&shaped, &modem].map(|modem| modem.queue(last));
        prop_assert!(of_shaped.egress_dropped.frames > 0, "CoDel has nothing to do");
        prop_assert_eq!(of_shaped.egress_dropped, of_modem.egress_dropped);
        prop_assert_eq!(of_shaped.dequeued, of_modem.dequeued);
        prop_assert_eq!(of_modem.queued.frames, 0);
        prop_assert_eq!(modem.backlog(), 0);
    }

    /// received + copies made = taken + given up + dropped + queued, whatever programs do.
    #[test]
    fn every_frame_is_accounted_for(
        ways in prop::collection::vec((way(), 0u64..2_000_000, 0u8..4), 1..60),
    ) {
        let mut device = device(DeviceConfig::default());
        device.set_granted(0, 1, 1).unwrap();
        let flow = |queue_id| ServiceFlowConfig {
            queue: QueueId { port: 1, queue_id },
            max_sustained_rate: 1_000_000,
            max_burst: 1522,
            queue_limit: 2000,
            ..Default::default()
        };
        let request = Configuration {
            service_flows: vec![flow(1), flow(2)],
            ..Default::default()
        };
        device.configure(0, &request).unwrap();
        let mut out = Recorder::default();
        let (mut now, mut taken, mut frame) = (0, 0u64, Vec::new());
        for (way, pause, grants) in ways {
            device.receive(now, CPU, &way.frame(40));
            device.poll(now, &mut out);
            now += pause;
            for queue_id in [1, 2] {
                let queue = QueueId { port: 1, queue_id };
                for _ in 0..grants {
                    taken += u64::from(device.take(now, queue, u32::MAX, &mut frame).is_some());
                }
                device.give_up(now, queue);
            }
            device.poll(now, &mut out);
            prop_assert!(out.sent.iter().all(|(port, _)| *port != 1), "it left by itself");
            let state = device.traffic_manager_state(now);
            prop_assert_eq!(state.ports.iter().find(|p| p.config.port == 1).unwrap().sent.frames, taken);
            let (arrived, gone) = crate::balance::balance(&device, now);
            prop_assert_eq!(arrived, gone);
        }
        device.load(now, crate::common::program("paths.json"));
        let (arrived, gone) = crate::balance::balance(&device, now);
        prop_assert_eq!(arrived, gone);
        prop_assert!(device.is_empty());
    }
}

/// What the pipeline has to take for queued.
fn queued_bytes(modem: &Modem, now: u64) -> u32 {
    modem.queue(now).queued.bytes as u32
}

fn way() -> impl Strategy<Value = Way> {
    let ingress = prop::sample::select(&[0u8, 0, 0, 1, 4, 0x20][..]);
    let egress = prop::sample::select(&[0u8, 0, 1, 2, 3, 4, 5, 8, 0x10, 0x11][..]);
    let session = prop::sample::select(&[1u8, 2, 4][..]);
    (ingress, egress, session, 0u8..4, 1u8..4, 0u8..3).prop_map(
        |(ingress, egress, session, left, port, queue_id)| Way {
            ingress,
            egress,
            left,
            session,
            group: 1,
            port,
            queue_id,
            length: 30,
        },
    )
}

#[test]
fn nothing_leaves_before_a_grant_and_an_idle_modem_costs_nothing() {
    let mut modem = granted(&Flow::default());
    assert_eq!(
        (modem.device.next_notice(), modem.device.next_deadline()),
        (None, None)
    );
    modem.receive(START, frame(0));
    modem.receive(START, frame(1));
    modem.device.poll(START + MILLISECOND, &mut modem.out);
    assert!(modem.out.sent.is_empty());
    // Somebody is told, and no timer runs.
    let notice = modem.device.next_notice().unwrap();
    assert_eq!((notice.queue, notice.at), (QUEUE, START));
    assert_eq!(
        (modem.device.next_notice(), modem.device.next_deadline()),
        (None, None)
    );
    let backlog = modem.device.backlog(START + MILLISECOND, QUEUE);
    assert_eq!(
        (backlog.waiting, backlog.eligible),
        (backlog.waiting, backlog.waiting)
    );
    assert_eq!(
        (backlog.waiting.bytes, backlog.head, backlog.more_at),
        (2000, Some(1000), None)
    );
    let mut taken = vec![1, 2, 3];
    for expected in 0..2 {
        assert!(
            modem
                .device
                .take(START + 2 * MILLISECOND, QUEUE, u32::MAX, &mut taken)
                .is_some()
        );
        assert_eq!(number(&taken), expected);
    }
    assert_eq!(
        modem
            .device
            .take(START + 2 * MILLISECOND, QUEUE, u32::MAX, &mut taken),
        None
    );
    assert_eq!(modem.backlog(), 0);
    assert!(modem.device.is_empty());
}

#[test]
fn a_frame_that_is_given_up_leaves_the_pipeline_s_books() {
    let mut modem = granted(&Flow::default());
    assert!(!modem.device.give_up(START, QUEUE));
    modem.receive(START, frame(0));
    modem.receive(START, frame(1));
    assert!(modem.device.give_up(START, QUEUE));
    assert_eq!(modem.backlog(), 1000);
    assert_eq!(modem.device.counters().unheard.frames, 1);
    let dropped = modem.device.drops();
    assert_eq!(dropped.at(device::DropPlace::Unheard), 1);
    let mut taken = Vec::new();
    modem
        .device
        .take(START, QUEUE, u32::MAX, &mut taken)
        .unwrap();
    assert_eq!(number(&taken), 1);
    assert_eq!(modem.queue(START).dequeued.frames, 2);
}

#[test]
fn a_note_stays_with_its_frame() {
    let mut modem = granted(&Flow::default());
    let mut buffer = frame(7).bytes();
    modem
        .device
        .receive_buffer(START, CPE, &mut buffer, Some([3, 4]));
    let mut taken = Vec::new();
    let noted = modem
        .device
        .take(START, QUEUE, u32::MAX, &mut taken)
        .unwrap()
        .note;
    // The pipeline's own port, or not: what is known of the bytes is only said of the same bytes.
    let same = taken == frame(7).bytes();
    assert_eq!(noted, same.then_some([3, 4]));
}

#[test]
fn only_service_flows_of_a_port_of_its_own_are_granted() {
    let mut device = device(DeviceConfig::default());
    let words = device.set_granted(0, CPU, 1).unwrap_err().to_string();
    assert_eq!(
        words,
        "port 9: it is the CPU port, which no channel carries"
    );
    let mut bmv2 = Device::new(DeviceConfig {
        traffic_manager: ModelKind::Bmv2 { priorities: 8 },
        ..Default::default()
    });
    bmv2.add_port(1);
    let words = bmv2.set_granted(0, 1, 1).unwrap_err().to_string();
    assert!(
        words.starts_with("port 1: grants need service flows"),
        "{words}"
    );
    assert_eq!(bmv2.backlog(0, QUEUE).waiting.frames, 0);
    assert_eq!(bmv2.take(0, QUEUE, u32::MAX, &mut Vec::new()), None);
    assert!(!bmv2.give_up(0, QUEUE) && bmv2.next_notice().is_none());
}
