// SPDX-License-Identifier: Apache-2.0
//! Backlogs that are worked off to the end, to the nanosecond: what the PTF suite sees
//! on the wire of a switch, less how late the switch is.

use traffic_manager::{
    Commit, Configuration, PortConfig, QueueId, ServiceFlowConfig, TrafficManager,
};

const PORT: u16 = 1;
/// Depth of the peak rate's bucket and of a port's, bytes.
const FRAME: u64 = 1522;
const SECOND: u64 = 1_000_000_000;

fn flow(queue_id: u32, rate: u64, burst: u64, peak: u64) -> ServiceFlowConfig {
    ServiceFlowConfig {
        queue: QueueId {
            port: PORT,
            queue_id,
        },
        max_sustained_rate: rate,
        max_burst: burst,
        peak_rate: peak,
        ..Default::default()
    }
}

fn configure(tm: &mut TrafficManager<u64>, now: u64, rate: u64, flows: &[ServiceFlowConfig]) {
    let port = PortConfig {
        port: PORT,
        rate,
        ..Default::default()
    };
    let request = Configuration {
        ports: vec![port],
        service_flows: flows.to_vec(),
        ..Default::default()
    };
    tm.configure(now, &request, &mut |_| ()).unwrap();
}

fn manager(rate: u64, flows: &[ServiceFlowConfig]) -> TrafficManager<u64> {
    let mut tm = TrafficManager::default();
    tm.add_port(PORT);
    configure(&mut tm, 0, rate, flows);
    tm
}

fn enqueue(tm: &mut TrafficManager<u64>, now: u64, queue_id: u32, count: u64, len: u64) {
    let id = QueueId {
        port: PORT,
        queue_id,
    };
    for _ in 0..count {
        let slot = tm.lookup(id).unwrap();
        assert!(tm.enqueue(now, slot, 0, len as usize, len).is_ok());
    }
}

/// Queue, length and time of everything that leaves until nothing waits.
fn work_off(tm: &mut TrafficManager<u64>, mut now: u64) -> Vec<(u32, u64, u64)> {
    let mut left = Vec::new();
    while !tm.is_empty() {
        while let Some(offer) = tm.offer(now) {
            let len = *tm.offered_mut().unwrap();
            assert!(matches!(tm.commit(len as usize), Some(Commit::Sent(_))));
            left.push((offer.queue.queue_id, len, now));
        }
        if !tm.is_empty() {
            now = tm.next_deadline().unwrap();
        }
    }
    left
}

/// When the bytes up to and including a frame have been earned by a bucket that held
/// `depth` at 0 and is never full again.
fn earned(sum: u64, depth: u64, rate: u64) -> u64 {
    (sum.saturating_sub(depth) * 8 * SECOND).div_ceil(rate)
}

/// A burst at the peak rate, then the sustained rate; after a pause the bucket is full
/// again, and no fuller however long the pause is.
#[test]
fn a_pause_fills_the_bucket_and_no_more() {
    let (rate, burst, peak, len) = (10_000_000, 100_000, 100_000_000, 1000);
    let mut tm = manager(0, &[flow(1, rate, burst, peak)]);
    // As long as it takes to fill the bucket to the byte, and far longer.
    let full = burst * 8 * SECOND / rate;
    for start in [0, SECOND + full, 3600 * SECOND] {
        enqueue(&mut tm, start, 1, 200, len);
        let times: Vec<u64> = work_off(&mut tm, start)
            .iter()
            .map(|(.., at)| at - start)
            .collect();
        let expected: Vec<u64> = (1..=200)
            .map(|n| earned(n * len, FRAME, peak).max(earned(n * len, burst, rate)))
            .collect();
        assert_eq!(times, expected, "at {start} ns");
    }
}

#[test]
fn without_a_rate_nothing_waits_and_with_one_only_that_one_holds() {
    let mut tm = manager(0, &[flow(1, 0, 0, 0)]);
    enqueue(&mut tm, 7, 1, 1000, 1500);
    assert!(work_off(&mut tm, 7).iter().all(|&(.., at)| at == 7));
    assert_eq!(tm.service_flows(7)[0].delayed.frames, 0);

    for (rate, burst, peak) in [(10_000_000, 60_000, 0), (0, 0, 10_000_000)] {
        let mut tm = manager(0, &[flow(1, rate, burst, peak)]);
        enqueue(&mut tm, 0, 1, 500, 1000);
        let depth = burst.max(FRAME);
        for (n, (.., at)) in (1..).zip(work_off(&mut tm, 0)) {
            assert_eq!(at, earned(n * 1000, depth, 10_000_000), "frame {n}");
        }
    }
}

/// Two flows of one port have their own rates at the same time, to the nanosecond.
#[test]
fn rates_are_each_flow_s_own() {
    let rates = [2_000_000, 6_000_000];
    let flows: Vec<ServiceFlowConfig> = (1..)
        .zip(rates)
        .map(|(queue_id, rate)| ServiceFlowConfig {
            initial_tokens: Some(0),
            ..flow(queue_id, rate, 3044, rate)
        })
        .collect();
    let mut tm = manager(0, &flows);
    enqueue(&mut tm, 0, 1, 250, 1000);
    enqueue(&mut tm, 0, 2, 750, 1000);
    let left = work_off(&mut tm, 0);
    for (queue_id, rate) in (1..).zip(rates) {
        let own = left.iter().filter(|&&(queue, ..)| queue == queue_id);
        for (n, (.., at)) in (1..).zip(own) {
            assert_eq!(*at, earned(n * 1000, 0, rate), "frame {n} of {rate} bit/s");
        }
    }
}

/// What equal flows share is the whole of the port's rate: each frame leaves when the
/// ones before it are paid for, whatever their lengths.
#[test]
fn a_port_s_rate_is_used_to_the_frame() {
    let rate = 8_000_000;
    let lens = [1500, 300, 777];
    let mut tm = manager(rate, &[1, 2, 3].map(|queue_id| flow(queue_id, 0, 0, 0)));
    for (queue_id, len) in (1..).zip(lens) {
        enqueue(&mut tm, 0, queue_id, 150_000 / len, len);
    }
    let mut sum = 0;
    for (_, len, at) in work_off(&mut tm, 0) {
        sum += len;
        assert_eq!(at, earned(sum, FRAME, rate), "{sum} bytes");
    }
    assert!(sum > 449_000);
}
