// SPDX-License-Identifier: Apache-2.0
//! A service flow goes from any queue manager to any other under load: no frame is lost
//! that none of them dropped, and the books close.

use crate::common::modem::{Flow, Frame, MAX_PACKET, Modem, SHORTEST, START, number};
use proptest::prelude::*;

/// The flow's manager, whether it has flow queues, and what comes meanwhile.
type Phase = (u8, bool, Vec<(u64, u32, usize)>);

fn phases() -> impl Strategy<Value = Vec<Phase>> {
    let frames = prop::collection::vec((0u64..2_000, 0u32..20, SHORTEST..=MAX_PACKET), 1..80);
    prop::collection::vec((0u8..7, any::<bool>(), frames), 1..15)
}

/// Every manager with parameters under which it drops.
fn parameters(modem: &mut Modem) {
    for half in ["FrameEgress.codel", "FrameIngress.codel_dt"] {
        modem.inverse_square_roots(&format!("{half}.inv_sqrt"), 400);
        let codel = [("latency_target", 1_000), ("control_interval", 4_000)];
        modem.parameters(&format!("{half}.parameters"), "set_codel", &codel);
    }
    let lred = [
        ("min_threshold", 1_000),
        ("max_threshold", 20_000),
        ("min_probability", 1 << 24),
        ("max_probability", 1 << 26),
        ("threshold_reciprocal", (1 << 32) / 19_000),
    ];
    modem.parameters("lred.parameters", "set_sojourn_curve", &lred);
    let red = [
        ("min_threshold", 1_000),
        ("max_threshold", 60_000),
        ("weight", 3_000),
        ("threshold_reciprocal", (1 << 32) / 59_000),
    ];
    modem.parameters("adaptive_red.parameters", "set_red", &red);
    modem.hashed(200, 16);
    modem.set_register("controller_heartbeat", 0, 1);
    modem.set_state("aqm_drop_prob", 1 << 25);
    modem.set_state("aqm_qdelay_old", 15_000);
    modem.set_state("aqm_control_state", 2);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn every_frame_has_one_fate(phases in phases()) {
        let mut flow = Flow { rate: 10_000_000, buffer_size: 100_000, ..Flow::default() };
        let mut modem = Modem::new(&flow);
        parameters(&mut modem);
        let (mut now, mut accepted, mut frames) = (START, Vec::new(), 0);
        let mut sent = Vec::new();
        for (manager, flow_queuing, load) in phases {
            flow.manager = manager;
            flow.generation = flow.generation.wrapping_add(1);
            flow.flow_queuing = flow_queuing;
            flow.sub_queues = if flow_queuing { 16 } else { 0 };
            modem.provision(now, &flow);
            for (pause, session, length) in load {
                now += pause * 1000;
                modem.run(now, |_, _, frame| sent.push(number(frame)));
                let before = modem.backlog();
                modem.receive(now, Frame { session, number: frames, length });
                if modem.backlog() != before {
                    prop_assert_eq!(modem.backlog() - before, length as u32);
                    accepted.push(frames);
                }
                frames += 1;
                prop_assert_eq!(u64::from(modem.backlog()), modem.queue(now).queued.bytes);
            }
        }
        modem.run(u64::MAX, |_, _, frame| sent.push(number(frame)));
        sent.sort_unstable();
        let queue = modem.queue(u64::MAX);
        // What the pipeline took, the traffic manager did, and sent it or was told to drop it.
        prop_assert_eq!(queue.enqueued.frames as usize, accepted.len());
        let left = queue.dequeued.frames + queue.egress_dropped.frames;
        prop_assert_eq!(left, queue.enqueued.frames);
        prop_assert_eq!(queue.overflow.frames + queue.flushed.frames, 0);
        prop_assert_eq!(sent.len(), queue.dequeued.frames as usize);
        prop_assert!(sent.windows(2).all(|pair| pair[0] < pair[1]), "none is there twice");
        prop_assert!(sent.iter().all(|n| accepted.binary_search(n).is_ok()));
        prop_assert_eq!(modem.backlog(), 0);
        for sub_queue in 200..216 {
            prop_assert_eq!(modem.depth(sub_queue), 0);
        }
        prop_assert_eq!(modem.device.pipeline().unwrap().out_of_range_accesses(), 0);
    }
}
