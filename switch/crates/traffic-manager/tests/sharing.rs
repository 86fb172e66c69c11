// SPDX-License-Identifier: Apache-2.0
//! How flows share a port: against a plain model, frame for frame; the minimum
//! reserved rate as an inequality; work conservation; and the shares of greedy
//! flows.

mod plain;

use plain::{BYTE, Flow, Tokens};
use proptest::prelude::*;
use traffic_manager::{
    Commit, Configuration, PEAK_BURST, PortConfig, QueueId, ServiceFlowConfig, TrafficManager,
};

const PORT: u16 = 1;

fn id(n: usize) -> QueueId {
    QueueId {
        port: PORT,
        queue_id: n as u32 + 1,
    }
}

fn manager(rate: u64, service_flows: Vec<ServiceFlowConfig>) -> TrafficManager<u64> {
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

fn enqueue(tm: &mut TrafficManager<u64>, now: u64, n: usize, len: u64) {
    let slot = tm.lookup(id(n)).unwrap();
    assert!(tm.enqueue(now, slot, len as usize, len).is_ok());
}

/// Lets one frame leave: its flow and length.
fn depart(tm: &mut TrafficManager<u64>, now: u64) -> Option<(usize, u64)> {
    let offer = tm.offer(now)?;
    let len = *tm.offered_mut().unwrap();
    assert!(matches!(tm.commit(len as usize), Some(Commit::Sent(_))));
    Some((offer.queue.queue_id as usize - 1, len))
}

/// Parts of the port's rate: what is reserved (of all, in 1/1000), what the
/// flow's own rates leave of it, the assumed packet size.
#[derive(Debug, Clone)]
struct Wish {
    reserved: u64,
    sustained: Option<u64>,
    peak: Option<u64>,
    burst: u64,
    assumed: u32,
    priority: u8,
}

fn wish() -> impl Strategy<Value = Wish> {
    (
        prop_oneof![1 => Just(0u64), 3 => 1u64..1000],
        prop::option::weighted(0.4, 1u64..1500),
        prop::option::weighted(0.2, 1u64..1500),
        1522u64..40_000,
        prop_oneof![2 => Just(0u32), 1 => 0u32..4000],
        0u8..8,
    )
        .prop_map(
            |(reserved, sustained, peak, burst, assumed, priority)| Wish {
                reserved,
                sustained,
                peak,
                burst,
                assumed,
                priority,
            },
        )
}

/// Wishes as configurations; the sum of what is reserved is `load` / 1000 of the port.
fn configs(wishes: &[Wish], port_rate: u64, load: u64) -> Vec<ServiceFlowConfig> {
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
            ..Default::default()
        }
    };
    wishes.iter().enumerate().map(config).collect()
}

/// What a flow has sent of what it was to send in its present backlog, in
/// tokens: least of "earned before - sent before" over all beginnings.
#[derive(Debug, Clone, Copy, Default)]
struct Service {
    since: u64,
    sent: i128,
    least: i128,
}

/// The manager and the plain model side by side.
struct Bench {
    tm: TrafficManager<u64>,
    flows: Vec<Flow>,
    services: Vec<Service>,
    port: Tokens,
    /// Tokens by which a flow may lag; `None`: more is reserved than there is.
    bounds: Option<Vec<i128>>,
    departures: u64,
}

impl Bench {
    fn new(port_rate: u64, configs: &[ServiceFlowConfig]) -> Self {
        let flows: Vec<Flow> = configs.iter().map(|config| Flow::new(*config)).collect();
        let reserved = |flow: &&Flow| flow.config.min_reserved_rate > 0;
        let sum: u64 = flows.iter().map(|flow| flow.config.min_reserved_rate).sum();
        let two_each: u64 = flows.iter().filter(reserved).map(|f| 2 * f.frame()).sum();
        // The inequality of lib.rs, and a nanosecond for rounding.
        let longest = i128::from(two_each) * BYTE / i128::from(port_rate) + 1;
        let lag = |flow: &Flow| {
            i128::from(flow.frame()) * BYTE + longest * i128::from(flow.config.min_reserved_rate)
        };
        let holds = sum <= port_rate && longest < 1_000_000_000;
        Self {
            tm: manager(port_rate, configs.to_vec()),
            bounds: holds.then(|| flows.iter().map(lag).collect()),
            services: vec![Service::default(); flows.len()],
            flows,
            port: Tokens::full(port_rate, PEAK_BURST),
            departures: 0,
        }
    }

    fn arrive(&mut self, now: u64, n: usize, len: u64) {
        self.flows[n].arrive(now, len);
        enqueue(&mut self.tm, now, n, len);
    }

    /// All that leaves by `now`.
    fn drain(&mut self, now: u64) -> Result<(), TestCaseError> {
        self.watch(now)?;
        while let Some((n, len)) = depart(&mut self.tm, now) {
            self.check_choice(now, n, len)?;
            self.port.pass(now);
            self.port.spend(len);
            prop_assert!(self.port.held >= 0, "the port sends faster than it may");
            self.departures += 1;
            self.watch(now)?;
        }
        // Work conservation: the port lacks tokens for a frame that may go.
        self.port.pass(now);
        let may_go = self.flows.iter().filter(|flow| flow.ready);
        if let Some(longest) = may_go.map(|flow| flow.queued[0]).max() {
            let short = self.port.held < i128::from(longest) * BYTE;
            prop_assert!(short, "the port is idle at {now} ns");
        }
        Ok(())
    }

    /// Whether what left was the next, and the model without it.
    fn check_choice(&mut self, now: u64, n: usize, len: u64) -> Result<(), TestCaseError> {
        prop_assert!(self.flows[n].ready, "its own rates hold flow {n} back");
        prop_assert_eq!(self.flows[n].queued[0], len);
        let entitled = (0..self.flows.len())
            .filter_map(|m| Some((self.flows[m].entitled(now)?, m)))
            .min();
        if let Some((_, first)) = entitled {
            prop_assert_eq!(n, first, "entitled for longest");
        } else {
            let ready = self.flows.iter().filter(|flow| flow.ready);
            let priorities = ready.map(|flow| flow.config.traffic_priority);
            let priority = self.flows[n].config.traffic_priority;
            prop_assert_eq!(Some(priority), priorities.max());
        }
        let flow = &mut self.flows[n];
        self.services[n].sent += i128::from(flow.price(len)) * BYTE;
        flow.leave(now, entitled.is_some());
        Ok(())
    }

    /// The minimum reserved rates, over every time that ends now.
    fn watch(&mut self, now: u64) -> Result<(), TestCaseError> {
        for (n, flow) in self.flows.iter_mut().enumerate() {
            flow.tick(now);
            let service = &mut self.services[n];
            if !flow.ready {
                service.since = u64::MAX;
                continue;
            }
            if service.since != flow.since {
                *service = Service {
                    since: flow.since,
                    ..Default::default()
                };
            }
            let earned = i128::from(now - flow.since) * i128::from(flow.config.min_reserved_rate);
            let due = earned - service.sent;
            service.least = service.least.min(due);
            if let Some(bounds) = &self.bounds {
                let lag = due - service.least;
                prop_assert!(
                    lag <= bounds[n],
                    "flow {} lags {} bytes at {} ns, {} are allowed",
                    n,
                    lag / BYTE,
                    now,
                    bounds[n] / BYTE
                );
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// Whatever arrives whenever: every frame is the one that is next, the port is
    /// never idle while one may go, and where the port carries what is reserved
    /// every flow has its minimum over every time in which it wants it.
    #[test]
    fn every_frame_is_the_next_and_every_minimum_holds(
        wishes in prop::collection::vec(wish(), 1..9),
        port_rate in prop_oneof![100_000u64..10_000_000, 10_000_000u64..10_000_000_000],
        load in prop_oneof![2 => Just(1000u64), 2 => 1u64..1000, 1 => 1001u64..3000],
        arrivals in prop::collection::vec((any::<u16>(), 0u64..3000, 1usize..12, 60u64..1523), 20..300),
    ) {
        let configs = configs(&wishes, port_rate, load);
        let mut bench = Bench::new(port_rate, &configs);
        let mut now = 0;
        // A frame's time on the port, by which times between arrivals are measured.
        let unit = 1000 * BYTE as u64 / port_rate + 1;
        for (n, wait, frames, len) in arrivals {
            let wait = if wait < 1000 { 0 } else { unit * (wait - 1000) / 500 };
            let at = now + wait;
            while let Some(due) = bench.tm.next_deadline().filter(|&due| due <= at) {
                now = now.max(due);
                // Not a nanosecond late: until just now the port was short of tokens.
                let mut before = bench.port.clone();
                before.pass(now.max(1) - 1);
                let may_go = bench.flows.iter().filter(|flow| flow.ready);
                if let Some(longest) = may_go.map(|flow| flow.queued[0]).max() {
                    prop_assert!(before.held < i128::from(longest) * BYTE);
                }
                bench.drain(now)?;
            }
            now = at;
            bench.drain(now)?;
            for _ in 0..frames {
                bench.arrive(now, usize::from(n) % wishes.len(), len);
            }
            bench.drain(now)?;
        }
        let empty_at = now + 100_000_000_000_000;
        while let Some(due) = bench.tm.next_deadline().filter(|&due| due <= empty_at) {
            now = now.max(due);
            bench.drain(now)?;
        }
        prop_assert!(bench.departures > 0);
    }
}

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
    );
    let flows = prop::collection::vec((wish, 200u64..1523), 1..9);
    (flows, 1u64..1000).prop_map(|(flows, load)| {
        let wishes: Vec<Wish> = flows
            .iter()
            .map(|&((reserved, sustained, assumed, priority), _)| Wish {
                reserved,
                sustained,
                peak: None,
                burst: 40_000,
                assumed,
                priority,
            })
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
            (0..100).for_each(|_| enqueue(&mut tm, 0, n, flow.len));
        }
        let (warm, end) = (1_000_000_000, 5_000_000_000);
        let mut now = 0;
        let mut sent = vec![0; flows.len()];
        while now < end {
            now = tm.next_deadline().unwrap().max(now);
            while let Some((n, len)) = depart(&mut tm, now) {
                enqueue(&mut tm, now, n, len);
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
