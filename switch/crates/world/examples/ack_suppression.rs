// SPDX-License-Identifier: Apache-2.0
//! What ACK suppression does to one download whose acknowledgements go up paper 004's channel:
//! goodput of each rule beside none, paired by seed, with 95 % intervals.
//!
//! ```text
//! cargo run --release -p world --example ack_suppression [SEEDS [SECONDS]]
//! ```

use device::{AckSuppression, Configuration, Framing, PortConfig, ServiceFlowConfig};
use world::mac_wire::Profile;
use world::{Flow, MapTraffic, Times, TransferOptions, World};

#[allow(dead_code)] // The tests use more of it.
#[path = "../tests/it/plant.rs"]
mod plant;

use plant::{CHANNEL, CMTS, SERVER, computer, downstream_to, modem, plant};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// Two-sided 95 % quantiles of Student's t, from one degree of freedom on.
const STUDENT: [f64; 29] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045,
];
const RULES: [(&str, AckSuppression); 3] = [
    ("none", AckSuppression::Off),
    ("always", AckSuppression::Always),
    ("safe", AckSuppression::Safe),
];

/// What is played.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    /// Maximum Sustained Traffic Rate upstream, bit/s; 0 is none.
    upstream: u64,
    /// Frames of 1,522 bytes that wait at the CMTS.
    packets: u64,
}

const CASES: [Case; 4] = [
    Case {
        name: "64 kbit/s upstream, 300 packets at the CMTS",
        upstream: 64_000,
        packets: 300,
    },
    Case {
        name: "128 kbit/s upstream, 300 packets at the CMTS",
        upstream: 128_000,
        packets: 300,
    },
    Case {
        name: "no rates, 300 packets at the CMTS",
        upstream: 0,
        packets: 300,
    },
    Case {
        name: "no rates, 50 packets at the CMTS",
        upstream: 0,
        packets: 50,
    },
];

/// What came of a run.
struct Outcome {
    /// bit/s of payload.
    goodput: f64,
    retransmissions: u64,
    suppressed: u64,
    /// Frames that went up.
    sent: u64,
}

/// One download for so many seconds.
fn play(case: Case, rule: AckSuppression, seed: u64, seconds: u64) -> Outcome {
    let profile = Profile::docsis_1_1_004(2 * MILLISECOND).expect("paper 004's channel");
    let shape = ServiceFlowConfig {
        max_sustained_rate: case.upstream,
        max_burst: if case.upstream == 0 { 0 } else { 3044 },
        ack_suppression: rule,
        ..ServiceFlowConfig::default()
    };
    let mut world = plant(seed, profile, 1, shape);
    downstream_to(&mut world, 0);
    let port = PortConfig {
        port: 1,
        rate: 30_340_000,
        queue_limit: case.packets * 1522,
        framing: Framing {
            packet: 188,
            header: 4,
            frame_header: 6,
            own_packets: false,
        },
        ..PortConfig::default()
    };
    let request = Configuration {
        ports: vec![port],
        ..Configuration::default()
    };
    world
        .with_device(CMTS, |device, now| device.configure(now, &request))
        .expect("a device")
        .expect("a port");
    let maps = MapTraffic {
        message: 46,
        element: 4,
    };
    world.set_map_traffic(CHANNEL, maps).expect("a channel");
    let number = download(&mut world, seed);
    world.run_until(seconds * SECOND).expect("a run");
    let of_modem = world
        .with_device(&modem(0), |device, now| device.traffic_manager_state(now))
        .expect("a modem");
    let flow = of_modem.service_flows[0];
    let info = world.transfer_info(number).expect("a transfer");
    let payload = world.counts(number).expect("a transfer").payload;
    Outcome {
        goodput: payload as f64 * 8.0 / seconds as f64,
        retransmissions: info.sender.retransmissions,
        suppressed: flow.suppressed.frames,
        sent: flow.dequeued.frames,
    }
}

/// It starts at another moment of a MAP with each seed.
fn download(world: &mut World, seed: u64) -> u32 {
    let destination = computer(0);
    let flow = Flow {
        source: SERVER,
        destination: &destination,
        port: 5201,
        one_in: 0,
        ..Flow::default()
    };
    let options = TransferOptions {
        times: Times {
            start: Some(seed % 20 * 97_000),
            stop: None,
        },
        ..TransferOptions::default()
    };
    world.add_transfer(&flow, &options).expect("a transfer")
}

/// Mean, and how far the 95 % interval goes to each side.
fn interval(values: &[f64]) -> (f64, f64) {
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (number - 1.0);
    (mean, STUDENT[values.len() - 2] * (variance / number).sqrt())
}

fn main() {
    let mut arguments = std::env::args().skip(1).map_while(|text| text.parse().ok());
    let seeds: u64 = arguments.next().unwrap_or(12).clamp(2, 30);
    let seconds: u64 = arguments.next().unwrap_or(20).max(1);
    println!(
        "{seeds} seeds of {seconds} s; Mbit/s of payload, paired differences with 95 % intervals"
    );
    for case in CASES {
        println!("{}", case.name);
        let of_rule = |rule| -> Vec<Outcome> {
            (1..=seeds)
                .map(|seed| play(case, rule, seed, seconds))
                .collect()
        };
        let played = RULES.map(|(name, rule)| (name, of_rule(rule)));
        let none = &played[0].1;
        for (name, runs) in &played {
            let goodput: Vec<f64> = runs.iter().map(|run| run.goodput / 1e6).collect();
            let pairs = runs.iter().zip(none);
            let gain: Vec<f64> = pairs
                .map(|(run, none)| (run.goodput - none.goodput) / 1e6)
                .collect();
            let ((mean, _), (gained, error)) = (interval(&goodput), interval(&gain));
            let per_run = |count: fn(&Outcome) -> u64| {
                runs.iter().map(count).sum::<u64>() as f64 / seeds as f64
            };
            println!(
                "  {name:<6}  {mean:7.3}  {gained:+7.3} +- {error:.3}  \
                 {:6.0} frames up, {:6.0} suppressed, {:4.0} retransmissions",
                per_run(|run| run.sent),
                per_run(|run| run.suppressed),
                per_run(|run| run.retransmissions),
            );
        }
    }
}
