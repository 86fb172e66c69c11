// SPDX-License-Identifier: Apache-2.0
//! Fills cm.p4's tables and registers as the controller does over P4Runtime. For
//! benchmarks and samples.

mod managers;

use crate::queue_manager::{FlowQueues, QueueManager};
use device::{Configuration, Device, QueueId, ServiceFlowConfig};
use v1model::by_name::{action, insert_exact, set_register, table};
use v1model::{EntryKey, EntryOptions, Match, MatchKind, Pipeline};

/// Port of the RF side.
pub const RF_PORT: u16 = 1;
/// Port of the CPE side.
pub const CPE_PORT: u16 = 2;
/// Station behind the RF port.
pub const SERVER_MAC: u64 = 0x0200_0000_0201;
/// UDP destination port of service flow 0, if there were one; they count up from here.
pub const FIRST_UDP_PORT: u16 = 5000;

/// Rate of each service flow, bit/s: shaped, and never short of tokens here.
const RATE: u64 = 10_000_000_000;
const BURST: u64 = 1_000_000;
const BUFFER: u128 = 1 << 30;
const MAX_FRAME: u128 = 1522;
const LATENCY_TARGET_US: u128 = 10_000;
const AQM_ACTIVE: u128 = 2;
/// The modem of the CPE port.
const MODEM: u128 = 1;
/// Now and then: 1e-4 in Q4.28.
pub const DROP_PROB: u128 = 26_844;

/// How the service flows are managed.
#[derive(Debug, Clone, Copy)]
pub struct Management<'m> {
    /// The queue manager that decides early drops.
    pub manager: &'m QueueManager,
    /// The sub-queues of each service flow.
    pub flow_queues: Option<FlowQueues>,
    /// The register aqm_drop_prob, Q4.28.
    pub drop_prob: u128,
}

impl<'m> From<&'m QueueManager> for Management<'m> {
    fn from(manager: &'m QueueManager) -> Self {
        Self {
            manager,
            flow_queues: manager.flow_queues,
            drop_prob: DROP_PROB,
        }
    }
}

/// UDP to one destination port is one service flow.
fn insert_classifier(pipeline: &mut Pipeline, port: u16, flow: u32) -> Result<(), String> {
    let table = table(pipeline, "classifier.classifier")?;
    let call = action(
        pipeline,
        table,
        "set_service_flow",
        &[("service_flow", u128::from(flow))],
    )?;
    let matches = pipeline.program().tables()[table.0 as usize]
        .keys
        .iter()
        .map(|key| match (key.kind, key.name.as_str()) {
            (MatchKind::Exact, _) => Match::Exact(MODEM),
            (MatchKind::Range, "l4_dst_port") => Match::Range {
                low: u128::from(port),
                high: u128::from(port),
            },
            (MatchKind::Range, _) => Match::Range {
                low: 0,
                high: (1 << key.width) - 1,
            },
            _ => Match::Ternary { value: 0, mask: 0 },
        })
        .collect();
    let key = EntryKey {
        matches,
        priority: 10,
    };
    pipeline
        .insert(0, table, &key, &call.into(), &EntryOptions::default())
        .map_err(|error| format!("classifier: {error}"))
}

/// Provisions the modem with `flows` upstream service flows, all managed alike.
///
/// # Errors
/// The program is not cm.p4, or not the one that the queue managers' file is for.
pub fn cable_modem(
    device: &mut Device,
    now: u64,
    flows: u32,
    management: Management<'_>,
) -> Result<(), String> {
    let service_flows = (1..=flows)
        .map(|queue_id| ServiceFlowConfig {
            queue: QueueId {
                port: RF_PORT,
                queue_id,
            },
            max_sustained_rate: RATE,
            max_burst: BURST,
            peak_rate: RATE * 5 / 4,
            sub_queues: management.flow_queues.map_or(0, |of| of.queues),
            round_robin: management
                .flow_queues
                .map_or_else(Default::default, |of| of.round_robin),
            ..Default::default()
        })
        .collect();
    let request = Configuration {
        service_flows,
        ..Default::default()
    };
    device
        .configure(now, &request)
        .map_err(|error| error.to_string())?;
    let pipeline = device.pipeline_mut().ok_or("no program is loaded")?;
    for (port, to_rf, modem) in [(RF_PORT, 0, 0), (CPE_PORT, 1, MODEM)] {
        let values = [("flood_group", 0), ("to_rf", to_rf), ("modem", modem)];
        insert_exact(
            pipeline,
            "bridge.interface",
            &[u128::from(port)],
            "provision",
            &values,
        )?;
    }
    let station = [MODEM, u128::from(SERVER_MAC)];
    let values = [
        ("port", u128::from(RF_PORT)),
        ("to_rf", 1),
        ("modem", MODEM),
    ];
    insert_exact(pipeline, "bridge.station", &station, "forward", &values)?;
    let values = [("service_flow", 1)];
    let table = "classifier.primary";
    insert_exact(pipeline, table, &[MODEM], "set_primary", &values)?;
    let target = management.manager.latency_target_us;
    let target = target.map_or(LATENCY_TARGET_US, u128::from);
    for flow in 1..=flows {
        if flow > 1 {
            insert_classifier(pipeline, FIRST_UDP_PORT + flow as u16, flow)?;
        }
        let key = [u128::from(flow)];
        let queue = [
            ("port", u128::from(RF_PORT)),
            ("queue_id", u128::from(flow)),
            ("traffic_priority", 0),
            ("buffer_size", BUFFER),
            ("max_frame", MAX_FRAME),
            ("queue_manager", management.manager.number.into()),
            ("generation", 0),
            ("flow_queuing", u128::from(management.flow_queues.is_some())),
            ("latency_target", target),
            ("controller_timeout", u32::MAX.into()),
            ("tos_and", 0xff),
            ("tos_or", 0),
        ];
        let table = "service_flow_queue.service_flow";
        insert_exact(pipeline, table, &key, "set_queue", &queue)?;
        managers::insert(pipeline, flow, &management)?;
        let bucket = [
            ("max_sustained_rate", u128::from(RATE)),
            ("max_burst", u128::from(BURST)),
        ];
        let table = "token_bucket.msr_bucket";
        insert_exact(pipeline, table, &key, "set_bucket", &bucket)?;
        let index = flow as usize;
        set_register(pipeline, "aqm_control_state", index, AQM_ACTIVE)?;
        set_register(pipeline, "aqm_drop_prob", index, management.drop_prob)?;
        set_register(pipeline, "aqm_qdelay_old", index, target)?;
    }
    // The time-out is 71 minutes: the controller never falls silent here.
    set_register(pipeline, "controller_heartbeat", 0, 1)
}
