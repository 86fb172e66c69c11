// SPDX-License-Identifier: Apache-2.0
//! Channels and service flows for tests.

use mac_wire::{FlowConfig, Policy, Profile, Service, Sid};

/// Paper 004's channel: 80 minislots of 25 us, 12 for contention, 3 for maintenance.
pub(crate) fn docsis_1_1() -> Profile {
    Profile::docsis_1_1_004(2_000_000).unwrap()
}

/// A best-effort flow without rates.
pub(crate) fn best_effort(sid: u16) -> FlowConfig {
    FlowConfig {
        sid: Sid(sid),
        service: Service::BestEffort,
        policy: Policy(0),
        priority: 0,
        max_sustained_rate: 0,
        max_burst: 3044,
        peak_rate: 0,
        min_reserved_rate: 0,
        assumed_packet_size: 0,
        max_concatenated_burst: 0,
        backoff_eighths: 8,
        request_unit: 4,
    }
}
