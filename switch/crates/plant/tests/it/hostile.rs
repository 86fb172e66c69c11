// SPDX-License-Identifier: Apache-2.0
//! Configurations from anybody: refused in words or carried out, and never a panic.

use crate::common::*;
use plant::mac_wire::{Capacity, FlowConfig, FlowSettings, Profile, Setting, Settings, Sid};
use plant::{Configuration, FlowPlace, GrantedPort};
use proptest::prelude::*;

const KEYS: &[&str] = &[
    "map_minislots",
    "stretch",
    "contention_minislots",
    "maintenance_minislots",
    "request_minislots",
    "extra_contention",
    "collisions",
    "tries",
    "fragmentation",
    "piggyback",
    "idle_proactive_grants",
    "header",
    "segment_header",
    "concatenated_frames",
    "backoff.start",
    "backoff.end",
    "clock.per_frame",
    "clock.frame_ps",
    "capacity.rate",
    "capacity.variation_percent",
    "timing.map_ahead",
    "timing.map_to_modem",
    "timing.map_processing",
    "timing.request_heard",
    "timing.delivery",
    "timing.burst_preparation",
    "timing.ack_before_start",
    "phy.minislot_bytes",
    "map_frames",
    "map_time",
    "line_rate",
];
const FLOW_KEYS: &[&str] = &[
    "policy",
    "polling_interval_ns",
    "poll_jitter_ns",
    "grant_size",
    "grant_interval_ns",
    "grant_jitter_ns",
    "grants_per_interval",
    "guaranteed_grant_interval_ns",
    "guaranteed_grant_rate",
    "guaranteed_request_interval_ns",
    "activity_detection_disable",
    "max_concatenated_burst",
    "backoff_eighths",
    "request_unit",
    "traffic_priority",
    "max_sustained_rate",
    "max_burst",
    "peak_rate",
    "min_reserved_rate",
    "assumed_packet_size",
];

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..20, 0u64..10_000_000, any::<u64>(), Just(u64::MAX)]
}

fn any_profile() -> impl Strategy<Value = Option<Profile>> {
    let keys = prop::collection::vec((prop::sample::select(KEYS), any_number()), 0..4);
    (prop::sample::select(Profile::NAMES.to_vec()), keys).prop_map(|(name, keys)| {
        let settings: Settings = keys
            .into_iter()
            .map(|(key, value)| (key.to_owned(), Setting::Number(value)))
            .collect();
        Profile::with_settings(name, &settings).ok()
    })
}

fn any_flow() -> impl Strategy<Value = Option<FlowPlace>> {
    let kinds = ["best-effort", "nrtps", "rtps", "ugs-ad", "ugs", "pgs"];
    let keys = prop::collection::vec((prop::sample::select(FLOW_KEYS), any_number()), 0..6);
    (
        prop::sample::select(kinds.to_vec()),
        keys,
        0u16..6,
        0u32..6,
        0u16..4,
    )
        .prop_map(|(kind, keys, sid, queue_id, port)| {
            let settings: FlowSettings = keys
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect();
            let flow = FlowConfig::with_settings(Sid(sid), kind, settings).ok()?;
            Some(FlowPlace {
                channel: "us1".into(),
                end: end(MODEM, port.max(1)),
                queue_id,
                flow,
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn a_plant_survives_any_configuration(
        profile in any_profile(),
        flows in prop::collection::vec(any_flow(), 0..5),
        port in 0u16..4,
        primary in 0u32..3,
        complete in prop::bool::ANY,
        capacity in prop::option::of((any_number(), any::<u8>())),
    ) {
        let mut world = World::new(6);
        world.add_queues(0, 1..=4);
        let request = Configuration {
            channels: profile.into_iter().map(|profile| channel("us1", 1, profile)).collect(),
            granted: vec![GrantedPort { end: end(MODEM, port), primary }],
            flows: flows.into_iter().flatten().collect(),
            removed: Vec::new(),
            capacities: capacity.into_iter().map(|(rate, variation_percent)| ("us1".into(), Some(Capacity { rate, variation_percent }))).collect(),
            complete,
        };
        let _ = world.plant.configure(&mut world.nodes, 0, request);
        for number in 1..=40 {
            let at = u64::from(number) * 100_000;
            world.give(at, MODEM, HOST, &frame(number, RF, (number % 5) as u8, 1200));
        }
        // A channel of hostile numbers may have very many MAPs.
        for step in 1..=20 {
            world.run(step * MILLISECOND);
        }
    }
}
