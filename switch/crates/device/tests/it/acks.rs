// SPDX-License-Identifier: Apache-2.0
//! TCP acknowledgements that are taken out of a modem's queue: what the pipeline, cm.p4, has of
//! it in its registers, and that queue managers do not take it for departures.

use crate::common::modem::{
    CODEL, CPE, DOCSIS_PIE, DROP_TAIL, FLOW, Flow, MAX_PACKET, Modem, PIE_002, RF, SERVER, START,
};
use device::{AckSuppression, Configuration, DropPlace, QueueId, ServiceFlowConfig};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const QUEUE: QueueId = QueueId {
    port: RF,
    queue_id: FLOW,
};
/// To the end of the CRC.
const ACK: usize = 70;

/// Without data where `length` is [`ACK`].
fn segment(port: u16, acknowledges: u32, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length - 4];
    frame[..6].copy_from_slice(&SERVER.to_be_bytes()[2..]);
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[16..18].copy_from_slice(&(length as u16 - 18).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 6]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 203, 0, 113, 7]);
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[42..46].copy_from_slice(&acknowledges.to_be_bytes());
    // Three words of options, all of them padding.
    frame[46..48].copy_from_slice(&[0x80, 0x10]);
    frame[54..66].fill(1);
    frame
}

fn acknowledges(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[42..46].try_into().unwrap())
}

fn modem(flow: &Flow, ack_suppression: AckSuppression) -> Modem {
    let mut modem = Modem::new(flow);
    let config = ServiceFlowConfig {
        ack_suppression,
        ..modem.queue(START).config
    };
    let request = Configuration {
        service_flows: vec![config],
        ..Configuration::default()
    };
    modem.device.configure(START, &request).unwrap();
    modem
}

/// 100 bytes a millisecond.
fn slow(manager: u8) -> Flow {
    Flow {
        manager,
        rate: 800_000,
        ..Flow::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The pipeline's backlog is the queue's at all times, it spends tokens for nothing but what
    /// was sent, and received = sent + suppressed + queued.
    #[test]
    fn the_pipeline_hears_of_each(
        arrivals in prop::collection::vec((0u16..3, 0u32..3, 0u8..5, 0u64..3 * MS), 1..200),
        is_safe in any::<bool>(),
        manager in prop::sample::select(&[DROP_TAIL, DOCSIS_PIE, PIE_002][..]),
        granted in any::<bool>(),
    ) {
        let rule = if is_safe { AckSuppression::Safe } else { AckSuppression::Always };
        let mut modem = modem(&slow(manager), rule);
        if granted {
            modem.device.set_granted(START, RF, FLOW).unwrap();
        }
        // Differences are believed at this time of the clock.
        let mut now = START + 10_000 * MS;
        let mut numbers = [0u32; 3];
        let mut frame = Vec::new();
        let mut taken = 0;
        for (received, &(port, more, kind, pause)) in arrivals.iter().enumerate() {
            let number = &mut numbers[usize::from(port)];
            *number += more;
            let length = if kind == 0 { MAX_PACKET } else { ACK };
            modem.device.receive(now, CPE, &segment(port, *number, length));
            prop_assert_eq!(u64::from(modem.backlog()), modem.queue(now).queued.bytes);
            now += pause;
            if granted && kind == 1 {
                taken += u64::from(modem.device.take(now, QUEUE, u32::MAX, &mut frame).is_some());
            }
            modem.device.poll(now, &mut modem.out);
            let queue = modem.queue(now);
            prop_assert_eq!(u64::from(modem.backlog()), queue.queued.bytes);
            let sent = if granted { taken } else { modem.out.sent.len() as u64 };
            prop_assert_eq!(queue.dequeued.frames, sent);
            if manager == PIE_002 {
                let packets = modem.state("pie_002_enqueued") - modem.state("pie_002_dequeued");
                prop_assert_eq!(packets, queue.queued.frames);
            }
            let frames = sent + queue.suppressed.frames + queue.queued.frames;
            prop_assert_eq!(frames, received as u64 + 1);
            prop_assert_eq!(modem.device.drops().at(DropPlace::Suppressed), queue.suppressed.frames);
            prop_assert_eq!(modem.device.drops().total(), queue.suppressed.frames);
            let (arrived, gone) = crate::balance::balance(&modem.device, now);
            prop_assert_eq!(arrived, gone);
        }
        prop_assert_eq!(modem.state("sf_lost_bytes"), 0, "nothing was taken for lost");
    }
}

#[test]
fn the_newest_number_takes_the_old_place_and_its_time() {
    let mut modem = modem(&slow(DROP_TAIL), AckSuppression::Safe);
    let mut now = START;
    // 15 ms for the first, and as much for the one behind the acknowledgements.
    for (number, length) in [(1, MAX_PACKET), (2, ACK), (3, ACK)] {
        modem
            .device
            .receive(now, CPE, &segment(5000, number, length));
    }
    modem.device.receive(now, CPE, &segment(80, 9, MAX_PACKET));
    for number in 4..10 {
        now += MS;
        modem.device.receive(now, CPE, &segment(5000, number, ACK));
    }
    modem.device.poll(now + 1_000 * MS, &mut modem.out);
    let sent: Vec<u32> = modem
        .out
        .sent
        .iter()
        .map(|(_, frame)| acknowledges(frame))
        .collect();
    // 2 told no higher number than the data before it is known to have told.
    assert_eq!(sent, [1, 9, 9]);
    assert_eq!(modem.queue(now).suppressed.frames, 7);
}

/// CoDel's sojourn time is that of the queue, not that of the newest acknowledgement, which would
/// end its drop state.
#[test]
fn codel_drops_as_if_nothing_were_suppressed() {
    let dropped = |rule| {
        let flow = Flow {
            rate: 8_000_000,
            ..slow(CODEL)
        };
        let mut modem = modem(&flow, rule);
        modem.inverse_square_roots("FrameEgress.codel.inv_sqrt", 500);
        let parameters = [("latency_target", 5_000), ("control_interval", 50_000)];
        modem.parameters("FrameEgress.codel.parameters", "set_codel", &parameters);
        let mut now = START;
        let mut number = 0;
        for _ in 0..2_000 {
            number += 1;
            modem.device.receive(now, CPE, &segment(80, 1, MAX_PACKET));
            modem.device.receive(now, CPE, &segment(5000, number, ACK));
            now += MS;
            modem.device.poll(now, &mut modem.out);
        }
        (
            modem.queue(now).egress_dropped.frames,
            modem.queue(now).suppressed.frames,
        )
    };
    let (without, none) = dropped(AckSuppression::Off);
    let (safe, suppressed) = dropped(AckSuppression::Safe);
    assert_eq!(none, 0);
    assert!(suppressed > 1_000, "{suppressed}");
    // As many acknowledgements less are in the way: a tenth of the load.
    assert!(safe * 2 > without && without > 50, "{safe} of {without}");
}
