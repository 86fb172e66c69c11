// SPDX-License-Identifier: Apache-2.0
//! A port with flows whose rates are parts of its own.

use traffic_manager::{
    Commit, Configuration, PortConfig, QueueId, ServiceFlowConfig, TrafficManager,
};

pub const PORT: u16 = 1;

/// The queue of flow `n`.
pub fn id(n: usize) -> QueueId {
    QueueId {
        port: PORT,
        queue_id: n as u32 + 1,
    }
}

/// A manager of one port.
pub fn manager(rate: u64, service_flows: Vec<ServiceFlowConfig>) -> TrafficManager<u64> {
    let mut tm = TrafficManager::default();
    tm.add_port(PORT);
    let port = PortConfig {
        port: PORT,
        rate,
        ..Default::default()
    };
    let request = Configuration {
        ports: vec![port],
        service_flows,
        ..Default::default()
    };
    tm.configure(0, &request, &mut |_| ()).unwrap();
    tm
}

/// Queues a frame of flow `n`.
pub fn enqueue(tm: &mut TrafficManager<u64>, now: u64, n: usize, sub_queue: u32, len: u64) {
    let slot = tm.lookup(id(n)).unwrap();
    assert!(tm.enqueue(now, slot, sub_queue, len as usize, len).is_ok());
}

/// Lets one frame leave: its flow and length.
pub fn depart(tm: &mut TrafficManager<u64>, now: u64) -> Option<(usize, u64)> {
    let offer = tm.offer(now)?;
    let len = *tm.offered_mut().unwrap();
    assert!(matches!(tm.commit(len as usize), Some(Commit::Sent(_))));
    Some((offer.queue.queue_id as usize - 1, len))
}

/// Parts of the port's rate: what is reserved (of all, in 1/1000), what the
/// flow's own rates leave of it, the assumed packet size.
#[derive(Debug, Clone)]
pub struct Wish {
    pub reserved: u64,
    pub sustained: Option<u64>,
    pub peak: Option<u64>,
    pub burst: u64,
    pub assumed: u32,
    pub priority: u8,
    pub sub_queues: u32,
}

/// Wishes as configurations; the sum of what is reserved is `load` / 1000 of the port.
pub fn configs(wishes: &[Wish], port_rate: u64, load: u64) -> Vec<ServiceFlowConfig> {
    let sum = wishes.iter().map(|wish| wish.reserved).sum::<u64>().max(1);
    let part = |of: u64, n: u64, all: u64| {
        u64::try_from(u128::from(of) * u128::from(n) / u128::from(all)).unwrap()
    };
    let config = |(n, wish): (usize, &Wish)| {
        let min = part(part(port_rate, load, 1000), wish.reserved, sum);
        // Not below the minimum: a rate of 0 would be none.
        let beside = |parts: Option<u64>| match parts {
            Some(parts) => (min + part(port_rate, parts, 3000)).max(1000),
            None => 0,
        };
        ServiceFlowConfig {
            queue: id(n),
            max_sustained_rate: beside(wish.sustained),
            max_burst: wish.burst,
            peak_rate: beside(wish.peak),
            traffic_priority: wish.priority,
            min_reserved_rate: min,
            assumed_packet_size: wish.assumed,
            sub_queues: wish.sub_queues,
            ..Default::default()
        }
    };
    wishes.iter().enumerate().map(config).collect()
}
