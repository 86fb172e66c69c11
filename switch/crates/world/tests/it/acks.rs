// SPDX-License-Identifier: Apache-2.0
//! ACK suppression in a modem in front of a request/grant MAC: a download whose acknowledgements
//! are more than the upstream carries.

use crate::common::{MILLISECOND, SECOND};
use crate::plant::{SERVER, computer, downstream_to, modem, plant};
use device::{AckSuppression, ServiceFlowConfig};
use world::mac_wire::Profile;
use world::{Flow, TransferOptions};

/// Payload that came in three seconds, acknowledgements that were suppressed, and retransmissions.
fn download(rule: AckSuppression, seed: u64) -> (u64, u64, u64) {
    let shape = ServiceFlowConfig {
        max_sustained_rate: 64_000,
        max_burst: 3044,
        ack_suppression: rule,
        ..ServiceFlowConfig::default()
    };
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).unwrap();
    let mut world = plant(seed, profile, 1, shape);
    downstream_to(&mut world, 0);
    let destination = computer(0);
    let flow = Flow {
        source: SERVER,
        destination: &destination,
        port: 5201,
        one_in: 0,
        ..Flow::default()
    };
    let options = TransferOptions {
        size: Some(20_000_000),
        ..TransferOptions::default()
    };
    let number = world.add_transfer(&flow, &options).unwrap();
    world.run_until(3 * SECOND).unwrap();
    let state = world
        .with_device(&modem(0), |device, now| device.traffic_manager_state(now))
        .unwrap();
    let queue = state.service_flows[0];
    let left = queue.dequeued.frames + queue.suppressed.frames + queue.queued.frames;
    assert_eq!(queue.enqueued.frames, left);
    let info = world.transfer_info(number).unwrap();
    let payload = world.counts(number).unwrap().payload;
    (
        payload,
        queue.suppressed.frames,
        info.sender.retransmissions,
    )
}

/// 64 kbit/s are 100 acknowledgements of 78 bytes a second, so without suppression a download
/// of two segments of 1,448 bytes each gets 2.4 Mbit/s.
#[test]
fn a_download_is_not_bound_to_the_rate_of_its_acknowledgements() {
    for seed in 1..=3 {
        let (without, none, _) = download(AckSuppression::Off, seed);
        assert_eq!(none, 0);
        for rule in [AckSuppression::Always, AckSuppression::Safe] {
            let (payload, suppressed, retransmissions) = download(rule, seed);
            assert!(suppressed > 100, "{rule:?}: {suppressed}");
            assert!(payload > without, "{rule:?}: {payload}, {without} without");
            assert_eq!(retransmissions, 0, "{rule:?}");
        }
    }
}
