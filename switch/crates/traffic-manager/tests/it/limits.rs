// SPDX-License-Identifier: Apache-2.0
//! A service flow's limits, each at its value, which is taken, and one beyond, which is refused.

use traffic_manager::{
    MAX_ASSUMED_PACKET_SIZE, MAX_BURST, MAX_QUEUE_ID, MAX_RATE, MAX_SUB_QUEUES, PEAK_BURST,
    QueueId, ServiceFlowConfig,
};

const SUSTAINED: u64 = 20_000_000;

/// A service flow that is within all limits.
fn flow() -> ServiceFlowConfig {
    ServiceFlowConfig {
        queue: QueueId {
            port: 1,
            queue_id: 1,
        },
        max_sustained_rate: SUSTAINED,
        max_burst: 3 * PEAK_BURST,
        peak_rate: 25_000_000,
        ..Default::default()
    }
}

#[test]
fn a_value_at_its_limit_is_taken_and_one_beyond_is_refused() {
    type Set = fn(&mut ServiceFlowConfig, u64);
    let limits: [(&str, u64, u64, Set); 10] = [
        ("queue_id", 1, 0, |flow, v| flow.queue.queue_id = v as u32),
        (
            "queue_id",
            MAX_QUEUE_ID.into(),
            u64::from(MAX_QUEUE_ID) + 1,
            |flow, v| flow.queue.queue_id = v as u32,
        ),
        ("max_sustained_rate", MAX_RATE, MAX_RATE + 1, |flow, v| {
            flow.max_sustained_rate = v
        }),
        ("peak_rate", MAX_RATE, MAX_RATE + 1, |flow, v| {
            flow.peak_rate = v;
        }),
        ("min_reserved_rate", SUSTAINED, SUSTAINED + 1, |flow, v| {
            flow.min_reserved_rate = v
        }),
        (
            "assumed_packet_size",
            MAX_ASSUMED_PACKET_SIZE.into(),
            u64::from(MAX_ASSUMED_PACKET_SIZE) + 1,
            |flow, v| flow.assumed_packet_size = v as u32,
        ),
        (
            "sub_queues",
            MAX_SUB_QUEUES.into(),
            u64::from(MAX_SUB_QUEUES) + 1,
            |flow, v| flow.sub_queues = v as u32,
        ),
        ("max_burst", PEAK_BURST, PEAK_BURST - 1, |flow, v| {
            flow.max_burst = v;
        }),
        ("max_burst", MAX_BURST, MAX_BURST + 1, |flow, v| {
            flow.max_burst = v;
        }),
        (
            "initial_tokens",
            3 * PEAK_BURST,
            3 * PEAK_BURST + 1,
            |flow, v| flow.initial_tokens = Some(v),
        ),
    ];
    for (name, taken, refused, set) in limits {
        let mut config = flow();
        set(&mut config, taken);
        assert!(config.check().is_ok(), "{name} {taken}");
        set(&mut config, refused);
        let error = config.check().expect_err(name).to_string();
        assert!(error.contains(name), "{name} {refused}: {error}");
    }
}

#[test]
fn the_eight_priorities_are_taken_and_no_more() {
    for priority in 0..=8 {
        let config = ServiceFlowConfig {
            traffic_priority: priority,
            ..flow()
        };
        assert_eq!(config.check().is_ok(), priority < 8, "{priority}");
    }
}
