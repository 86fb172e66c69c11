// SPDX-License-Identifier: Apache-2.0
//! How flows share a port: against a plain model, frame for frame; the minimum
//! reserved rate as an inequality; and work conservation.

use crate::plain::{BYTE, Flow, Tokens};
use crate::wishes::{PORT, Wish, configs, depart, enqueue, manager};
use proptest::prelude::*;
use traffic_manager::{Configuration, PEAK_BURST, PortConfig, ServiceFlowConfig, TrafficManager};

fn sub_queues() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(0u32), 2 => 1u32..6, 1 => 1u32..257]
}

fn wish() -> impl Strategy<Value = Wish> {
    (
        prop_oneof![1 => Just(0u64), 3 => 1u64..1000],
        prop::option::weighted(0.4, 1u64..1500),
        prop::option::weighted(0.2, 1u64..1500),
        1522u64..40_000,
        prop_oneof![2 => Just(0u32), 1 => 0u32..4000],
        0u8..8,
        sub_queues(),
    )
        .prop_map(
            |(reserved, sustained, peak, burst, assumed, priority, sub_queues)| Wish {
                reserved,
                sustained,
                peak,
                burst,
                assumed,
                priority,
                sub_queues,
            },
        )
}

/// What a flow has sent of what it was to send in its present backlog, in
/// tokens: least of "earned before - sent before" over all beginnings.
#[derive(Debug, Clone, Copy, Default)]
struct Service {
    since: u64,
    sent: i128,
    least: i128,
}

fn one(flow: ServiceFlowConfig) -> Configuration {
    Configuration {
        service_flows: vec![flow],
        ..Default::default()
    }
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

    /// The plain model has changed: so does the manager, and no bound holds from before.
    fn configure(&mut self, now: u64, request: &Configuration) -> usize {
        let mut flushed = 0;
        let sink = &mut |_| flushed += 1;
        self.tm.configure(now, request, sink).unwrap();
        self.bounds = None;
        flushed
    }

    fn change(&mut self, now: u64, change: &Change) -> Result<(), TestCaseError> {
        match *change {
            Change::Discard => {
                if let Some(offer) = self.tm.offer(now) {
                    let n = offer.queue.queue_id as usize - 1;
                    self.check_choice(now, n)?;
                    let flow = &mut self.flows[n];
                    prop_assert_eq!(self.tm.discard(), flow.head());
                    flow.discard(now);
                }
            }
            Change::Reserve(n, min, assumed_packet_size, traffic_priority, sub_queues) => {
                let n = n % self.flows.len();
                let flow = &mut self.flows[n];
                let most = match flow.config.max_sustained_rate {
                    0 => u64::MAX,
                    rate => rate,
                };
                let config = ServiceFlowConfig {
                    min_reserved_rate: min.min(most),
                    assumed_packet_size,
                    traffic_priority,
                    sub_queues,
                    ..flow.config
                };
                flow.reserve(now, config);
                self.configure(now, &one(config));
            }
            Change::Port(rate) => {
                self.port.pass(now);
                self.port.rate = rate;
                let port = PortConfig {
                    port: PORT,
                    rate,
                    ..Default::default()
                };
                let ports = Configuration {
                    ports: vec![port],
                    ..Default::default()
                };
                self.configure(now, &ports);
            }
            Change::Renew(n) => {
                let n = n % self.flows.len();
                let config = self.flows[n].config;
                let removed = Configuration {
                    removed: vec![config.queue],
                    ..Default::default()
                };
                let flushed = self.configure(now, &removed);
                prop_assert_eq!(flushed, self.flows[n].queued.len());
                self.configure(now, &one(config));
                self.flows[n] = Flow::new(config);
                self.flows[n].pass(now);
                self.flows[n].make_idle();
            }
            Change::Flush => {
                let mut flushed = 0;
                self.tm.flush(now, &mut |_| flushed += 1);
                let queued = self.flows.iter().map(|flow| flow.queued.len());
                prop_assert_eq!(flushed, queued.sum::<usize>());
                self.flows.iter_mut().for_each(Flow::flush);
            }
        }
        Ok(())
    }

    fn arrive(&mut self, now: u64, n: usize, sub_queue: u32, len: u64) {
        self.flows[n].arrive(now, sub_queue, len);
        enqueue(&mut self.tm, now, n, sub_queue, len);
    }

    /// All that leaves by `now`.
    fn drain(&mut self, now: u64) -> Result<(), TestCaseError> {
        self.watch(now)?;
        while let Some((n, len)) = depart(&mut self.tm, now) {
            prop_assert_eq!(self.flows[n].head(), Some(len));
            let entitled = self.check_choice(now, n)?;
            let flow = &mut self.flows[n];
            self.services[n].sent += i128::from(flow.price(len)) * BYTE;
            flow.leave(now, entitled);
            self.port.pass(now);
            self.port.spend(len);
            prop_assert!(self.port.held >= 0, "the port sends faster than it may");
            self.departures += 1;
            self.watch(now)?;
        }
        // Work conservation: the port lacks tokens for a frame that may go.
        self.port.pass(now);
        let may_go = self.flows.iter().filter(|flow| flow.ready);
        if let Some(longest) = may_go.filter_map(Flow::head).max() {
            let short = self.port.held < i128::from(longest) * BYTE;
            prop_assert!(short, "the port is idle at {now} ns");
        }
        Ok(())
    }

    /// Whether flow `n` was the next, and whether within its minimum.
    fn check_choice(&self, now: u64, n: usize) -> Result<bool, TestCaseError> {
        prop_assert!(self.flows[n].ready, "its own rates hold flow {n} back");
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
        Ok(entitled.is_some())
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

#[derive(Debug, Clone)]
enum Change {
    /// The egress pipeline drops what is on offer.
    Discard,
    /// Another minimum reserved rate, assumed packet size, priority and number
    /// of sub-queues of a flow.
    Reserve(usize, u64, u32, u8, u32),
    /// Another rate of the port.
    Port(u64),
    /// A flow is removed and made anew.
    Renew(usize),
    Flush,
}

fn change(port_rate: u64) -> impl Strategy<Value = Change> {
    let min = prop_oneof![1 => Just(0), 3 => 1..port_rate / 2];
    prop_oneof![
        4 => Just(Change::Discard),
        4 => (0usize..8, min, prop_oneof![Just(0u32), 0u32..4000], 0u8..8, sub_queues())
            .prop_map(|(n, min, assumed, priority, subs)| {
                Change::Reserve(n, min, assumed, priority, subs)
            }),
        1 => (port_rate / 4..port_rate * 2).prop_map(Change::Port),
        1 => (0usize..8).prop_map(Change::Renew),
        1 => Just(Change::Flush),
    ]
}

/// Frames of one flow, the first in this sub-queue and every other in the next
/// by `stride`, so long after those before; the time in frames' on the port.
#[derive(Debug, Clone)]
struct Arrival {
    flow: usize,
    sub_queue: u32,
    stride: u32,
    wait: u64,
    frames: usize,
    len: u64,
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let wait = prop_oneof![1 => Just(0), 2 => 0u64..2000];
    let arrival = (0usize..8, 0u32..300, 0u32..3, wait, 1usize..12, 60u64..1523);
    arrival.prop_map(|(flow, sub_queue, stride, wait, frames, len)| Arrival {
        flow,
        sub_queue,
        stride,
        wait,
        frames,
        len,
    })
}

fn port_rate() -> impl Strategy<Value = u64> {
    prop_oneof![100_000u64..10_000_000, 10_000_000u64..10_000_000_000]
}

impl Bench {
    /// To `at`, deadline by deadline; the present time.
    fn run(&mut self, mut now: u64, at: u64) -> Result<u64, TestCaseError> {
        while let Some(due) = self.tm.next_deadline().filter(|&due| due <= at) {
            now = now.max(due);
            // Not a nanosecond late: until just now the port was short of tokens.
            let mut before = self.port.clone();
            before.pass(now.max(1) - 1);
            let may_go = self.flows.iter().filter(|flow| flow.ready);
            if let Some(longest) = may_go.filter_map(Flow::head).max() {
                prop_assert!(before.held < i128::from(longest) * BYTE);
            }
            self.drain(now)?;
        }
        self.drain(at)?;
        Ok(at)
    }

    fn arrive_all(
        &mut self,
        now: u64,
        port_rate: u64,
        arrival: &Arrival,
    ) -> Result<u64, TestCaseError> {
        let unit = 1000 * BYTE as u64 / port_rate + 1;
        let now = self.run(now, now + unit * arrival.wait / 500)?;
        let n = arrival.flow % self.flows.len();
        for frame in 0..arrival.frames as u32 {
            let sub_queue = arrival.sub_queue + frame * arrival.stride;
            self.arrive(now, n, sub_queue, arrival.len);
        }
        Ok(now)
    }
}

/// Long enough for whatever is queued.
const LONG: u64 = 100_000_000_000_000;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    /// Whatever arrives whenever: every frame is the one that is next, the port is
    /// never idle while one may go, and where the port carries what is reserved
    /// every flow has its minimum over every time in which it wants it.
    #[test]
    fn every_frame_is_the_next_and_every_minimum_holds(
        wishes in prop::collection::vec(wish(), 1..9),
        port_rate in port_rate(),
        load in prop_oneof![2 => Just(1000u64), 2 => 1u64..1000, 1 => 1001u64..3000],
        arrivals in prop::collection::vec(arrival(), 20..300),
    ) {
        let mut bench = Bench::new(port_rate, &configs(&wishes, port_rate, load));
        let mut now = 0;
        for arrival in arrivals {
            now = bench.arrive_all(now, port_rate, &arrival)?;
            bench.drain(now)?;
        }
        bench.run(now, now + LONG)?;
        prop_assert!(bench.departures > 0);
    }

    /// And so it is while everything but the flows' own rates changes.
    #[test]
    fn every_frame_is_the_next_while_things_change(
        (port_rate, steps) in port_rate().prop_flat_map(|rate| {
            let step = (arrival(), prop::option::weighted(0.4, change(rate)));
            (Just(rate), prop::collection::vec(step, 20..200))
        }),
        wishes in prop::collection::vec(wish(), 1..9),
        load in 1u64..2000,
    ) {
        let mut bench = Bench::new(port_rate, &configs(&wishes, port_rate, load));
        let mut now = 0;
        for (arrival, change) in steps {
            now = bench.arrive_all(now, port_rate, &arrival)?;
            if let Some(change) = change {
                bench.change(now, &change)?;
            }
            bench.drain(now)?;
        }
        bench.run(now, now + LONG)?;
        let nothing = bench.flows.iter().all(|flow| flow.head().is_none());
        prop_assert_eq!(bench.tm.is_empty(), nothing);
    }
}
