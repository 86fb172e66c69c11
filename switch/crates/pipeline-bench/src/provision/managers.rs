// SPDX-License-Identifier: Apache-2.0
//! What the queue managers' own tables and registers get, so that a standing queue
//! of a few frames goes through all of their code and hardly ever loses one.

use super::{BUFFER, Management};
use crate::queue_manager::QueueManager;
use v1model::Pipeline;
use v1model::by_name::{insert_exact, set_register};

const SECOND_US: u128 = 1_000_000;
/// 2^32 / golden ratio, odd.
const MULTIPLIER: u128 = 0x9e37_79b9;
/// 2^14 bytes in a millisecond, in 1/256 us.
const AVG_DQ_TIME: u128 = 256_000;
/// The shortest measurement there is, for a queue of a few frames.
const DQ_PACKETS: u128 = 2;
/// 0.002 in Q0.16.
const RED_WEIGHT: u128 = 131;
/// Thresholds of RED, bytes; the average begins between them.
const MIN_THRESHOLD: u128 = 1_000;
const MAX_THRESHOLD: u128 = 1_000_000;
/// 1e-5 and 1e-4 in Q4.28.
const RARELY: [u128; 2] = [2_684, 26_844];

/// 2^32 / (max - min), rounded down.
const fn reciprocal(min: u128, max: u128) -> u128 {
    (1 << 32) / (max - min)
}

/// The entries of a service flow.
///
/// # Errors
/// The program is not cm.p4.
pub fn insert(pipeline: &mut Pipeline, flow: u32, of: &Management) -> Result<(), String> {
    let key = [u128::from(flow)];
    let index = flow as usize;
    if let Some(queues) = of.flow_queues {
        let (action, places, name) = if queues.searched {
            ("set_searched", queues.queues / 4, "groups")
        } else {
            ("set_hashed", queues.queues, "queues")
        };
        let values = [
            ("first_queue", u128::from((flow - 1) * queues.queues)),
            (name, places.into()),
            ("multiplier", MULTIPLIER),
            ("queue_limit", BUFFER),
        ];
        insert_exact(pipeline, "flow_queue.flow_queues", &key, action, &values)?;
    }
    let curve = [
        ("min_threshold", MIN_THRESHOLD),
        ("max_threshold", MAX_THRESHOLD),
        (
            "threshold_reciprocal",
            reciprocal(MIN_THRESHOLD, MAX_THRESHOLD),
        ),
    ];
    let table = match of.manager {
        QueueManager::Codel | QueueManager::SfqCodel => "codel.parameters",
        QueueManager::CodelDt => "codel_dt.parameters",
        QueueManager::AdaptiveRed => {
            let values = [&curve[..], &[("weight", RED_WEIGHT)]].concat();
            insert_exact(
                pipeline,
                "adaptive_red.parameters",
                &key,
                "set_red",
                &values,
            )?;
            return set_register(pipeline, "red_avg", index, (2 * MIN_THRESHOLD) << 16);
        }
        QueueManager::Lred => {
            let [min, max] = RARELY;
            let values = [
                &curve[..],
                &[("min_probability", min), ("max_probability", max)],
            ];
            let table = "lred.parameters";
            return insert_exact(pipeline, table, &key, "set_depth_curve", &values.concat());
        }
        QueueManager::Codel002 => {
            let interval = ("control_interval", SECOND_US);
            let table = "FrameIngress.codel_002.parameters";
            insert_exact(pipeline, table, &key, "set_interval", &[interval])?;
            let values = [("latency_target", SECOND_US), interval];
            let table = "FrameEgress.codel_002.parameters";
            return insert_exact(pipeline, table, &key, "set_codel_002", &values);
        }
        QueueManager::Pie002 => {
            let values = [("dq_threshold", DQ_PACKETS), ("max_burst", 0)];
            let table = "pie_002.parameters";
            return insert_exact(pipeline, table, &key, "set_pie_002", &values);
        }
        _ => return Ok(()),
    };
    let codel = [
        ("latency_target", SECOND_US),
        ("control_interval", SECOND_US),
    ];
    insert_exact(pipeline, table, &key, "set_codel", &codel)?;
    set_register(pipeline, "pie_avg_dq_time", index, AVG_DQ_TIME)
}
