// SPDX-License-Identifier: Apache-2.0
//! Nothing is allocated on a frame's way through the queues, once they have
//! grown to their limits, whichever way flows are shaped and reserved.

use counting_allocator::{Counting, allocations};
use traffic_manager::{
    Commit, Configuration, PortConfig, QueueId, ServiceFlowConfig, TrafficManager,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PORT: u16 = 1;
/// 64 modems with four flows each.
const FLOWS: u32 = 256;
const PORT_RATE: u64 = 1_000_000_000;

/// A quarter each: nothing, shaped, reserved, both; of every other eight, with
/// sub-queues.
fn flow(queue_id: u32) -> ServiceFlowConfig {
    let share = PORT_RATE / u64::from(FLOWS);
    ServiceFlowConfig {
        queue: QueueId {
            port: PORT,
            queue_id,
        },
        max_sustained_rate: if queue_id & 1 == 0 { 2 * share } else { 0 },
        max_burst: 10_000,
        min_reserved_rate: if queue_id & 2 == 0 { share } else { 0 },
        traffic_priority: (queue_id / 4 % 8) as u8,
        queue_limit: 8_000,
        sub_queues: queue_id / 8 % 2 * 32,
        ..Default::default()
    }
}

/// A thousand frames to flows drawn at random, a fifth more than the port carries.
fn round(tm: &mut TrafficManager<usize>, now: &mut u64, random: &mut u64) -> u64 {
    let mut sent = 0;
    for _ in 0..1000 {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let queue_id = (*random % u64::from(FLOWS)) as u32 + 1;
        let len = 60 + (*random >> 32) as usize % 1460;
        let slot = tm.lookup(flow(queue_id).queue).unwrap();
        let _ = tm.enqueue(*now, slot, (*random >> 50) as u32, len, len);
        let next = *now + 5_200;
        while let Some(due) = tm.next_deadline().filter(|&due| due <= next) {
            *now = (*now).max(due);
            if tm.offer(*now).is_some() {
                let len = *tm.offered_mut().unwrap();
                assert!(matches!(tm.commit(len), Some(Commit::Sent(_))));
                sent += 1;
            }
        }
        *now = next;
    }
    sent
}

#[test]
fn frames_do_not_allocate() {
    let mut tm = TrafficManager::default();
    tm.add_port(PORT);
    let port = PortConfig {
        port: PORT,
        rate: PORT_RATE,
        ..Default::default()
    };
    let request = Configuration {
        ports: vec![port],
        service_flows: (1..=FLOWS).map(flow).collect(),
        ..Default::default()
    };
    tm.configure(0, &request, &mut |_| ()).unwrap();
    let (mut now, mut random) = (0, 1);
    // Every queue up to its limit, in the shortest frames.
    for queue_id in 1..=FLOWS {
        let slot = tm.lookup(flow(queue_id).queue).unwrap();
        while tm.enqueue(now, slot, 0, 60, 60).is_ok() {}
    }
    for _ in 0..100 {
        round(&mut tm, &mut now, &mut random);
    }
    let before = allocations();
    let sent: u64 = (0..40).map(|_| round(&mut tm, &mut now, &mut random)).sum();
    assert!(sent > 30_000, "{sent}");
    assert_eq!(allocations() - before, 0);
}
