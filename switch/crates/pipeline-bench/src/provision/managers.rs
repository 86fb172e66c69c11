// SPDX-License-Identifier: Apache-2.0
//! The entries and registers of queue managers' own.

use super::{BUFFER, Management};
use v1model::Pipeline;
use v1model::by_name::{insert_exact, set_register};

/// 2^32 / golden ratio, odd.
const MULTIPLIER: u128 = 0x9e37_79b9;

/// Inserts the entries of a service flow, and sets its registers.
///
/// # Errors
/// The program is not cm.p4, or not the one that the queue managers' file is for.
pub fn insert(pipeline: &mut Pipeline, flow: u32, of: &Management<'_>) -> Result<(), String> {
    let key = [u128::from(flow)];
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
    for entry in &of.manager.entries {
        let values = entry.params.iter();
        let values: Vec<_> = values
            .map(|(name, &value)| (name.as_str(), u128::from(value)))
            .collect();
        insert_exact(pipeline, &entry.table, &key, &entry.action, &values)?;
    }
    for (register, &value) in &of.manager.registers {
        set_register(pipeline, register, flow as usize, value.into())?;
    }
    Ok(())
}
