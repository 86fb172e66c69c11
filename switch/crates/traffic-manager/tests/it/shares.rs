// SPDX-License-Identifier: Apache-2.0
//! The shares of a port that greedy flows have in the long run: as water
//! filling gives them.

use crate::wishes::{Wish, configs, depart, enqueue, manager};
use proptest::prelude::*;
use traffic_manager::ServiceFlowConfig;

/// A flow that always has frames of one length.
#[derive(Debug, Clone)]
struct Greedy {
    len: u64,
    config: ServiceFlowConfig,
}

impl Greedy {
    /// Its minimum reserved rate in bytes that leave.
    fn minimum(&self) -> f64 {
        let price = self.len.max(self.config.assumed_packet_size.into());
        self.config.min_reserved_rate as f64 * self.len as f64 / price as f64
    }

    /// What it may send, bit/s.
    fn most(&self) -> f64 {
        match self.config.max_sustained_rate {
            0 => f64::INFINITY,
            rate => rate as f64,
        }
    }
}

/// Minimum first, then strict priority, then equal shares, each flow at most at
/// its sustained rate: bit/s.
fn water_filling(flows: &[Greedy], port_rate: u64) -> Vec<f64> {
    let mut shares: Vec<f64> = flows.iter().map(Greedy::minimum).collect();
    let mut left = port_rate as f64 - shares.iter().sum::<f64>();
    for priority in (0..8).rev() {
        let of = |n: &usize| flows[*n].config.traffic_priority == priority;
        let mut level: Vec<usize> = (0..flows.len()).filter(of).collect();
        let room = |n: usize| flows[n].most() - flows[n].minimum();
        level.sort_by(|&a, &b| room(a).total_cmp(&room(b)));
        for (served, &n) in level.iter().enumerate() {
            let extra = room(n).min(left / (level.len() - served) as f64);
            shares[n] += extra;
            left -= extra;
        }
    }
    shares
}

#[test]
fn the_reference_fills_as_said() {
    let flow = |min: u64, most: u64, priority| Greedy {
        len: 1000,
        config: ServiceFlowConfig {
            min_reserved_rate: min,
            max_sustained_rate: most,
            traffic_priority: priority,
            ..Default::default()
        },
    };
    // 100: 40 + 10 reserved, 50 left.
    let equals = [flow(40, 0, 0), flow(10, 0, 0)];
    assert_eq!(water_filling(&equals, 100), [65.0, 35.0]);
    let limited = [flow(40, 45, 0), flow(10, 0, 0), flow(0, 0, 0)];
    assert_eq!(water_filling(&limited, 100), [45.0, 32.5, 22.5]);
    let ranked = [flow(40, 0, 0), flow(10, 30, 5), flow(0, 0, 1)];
    assert_eq!(water_filling(&ranked, 100), [40.0, 30.0, 30.0]);
}

fn greedy() -> impl Strategy<Value = Vec<Greedy>> {
    let sustained = prop::option::weighted(0.4, 1u64..1000);
    let wish = (
        prop_oneof![1 => Just(0u64), 2 => 10u64..1000],
        sustained,
        prop_oneof![3 => Just(0u32), 1 => 0u32..2000],
        0u8..4,
        prop_oneof![Just(0u32), 1u32..20],
    );
    let flows = prop::collection::vec((wish, 200u64..1523), 1..9);
    (flows, 1u64..1000).prop_map(|(flows, load)| {
        let wishes: Vec<Wish> = flows
            .iter()
            .map(
                |&((reserved, sustained, assumed, priority, sub_queues), _)| Wish {
                    reserved,
                    sustained,
                    peak: None,
                    burst: 40_000,
                    assumed,
                    priority,
                    sub_queues,
                },
            )
            .collect();
        let configs = configs(&wishes, GREEDY_RATE, load);
        let flows = flows.iter().zip(configs);
        flows
            .map(|(&(_, len), config)| Greedy {
                len,
                config: ServiceFlowConfig {
                    initial_tokens: Some(0),
                    ..config
                },
            })
            .collect()
    })
}

/// The port of greedy flows, bit/s.
const GREEDY_RATE: u64 = 100_000_000;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// All flows always have frames: over four seconds each sends its share to
    /// within 1 % and three frames.
    #[test]
    fn greedy_flows_have_the_shares_of_the_reference(flows in greedy()) {
        let configs = flows.iter().map(|flow| flow.config).collect();
        let mut tm = manager(GREEDY_RATE, configs);
        for (n, flow) in flows.iter().enumerate() {
            (0..100).for_each(|frame| enqueue(&mut tm, 0, n, frame, flow.len));
        }
        let (warm, end) = (1_000_000_000, 5_000_000_000);
        let mut now = 0;
        let mut sent = vec![0; flows.len()];
        while now < end {
            now = tm.next_deadline().unwrap().max(now);
            while let Some((n, len)) = depart(&mut tm, now) {
                enqueue(&mut tm, now, n, (sent[n] % 29) as u32, len);
                sent[n] += if now < warm { 0 } else { len };
            }
        }
        let seconds = (end - warm) as f64 / 1e9;
        for (n, share) in water_filling(&flows, GREEDY_RATE).iter().enumerate() {
            let due = share * seconds / 8.0;
            let off = (sent[n] as f64 - due).abs();
            prop_assert!(
                off <= due / 100.0 + 3.0 * 1522.0,
                "flow {}: {} of {} bytes, {:?}", n, sent[n], due, flows
            );
        }
    }
}
