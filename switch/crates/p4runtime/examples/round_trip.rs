// SPDX-License-Identifier: Apache-2.0
//! Measures a P4Runtime round trip as the control loop does it: five registers
//! of 64 cells, read and written in one batch each, over TCP on loopback.
//!
//! `cargo run --release --example round_trip` prints microseconds per RPC.

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::*;

const REGISTERS: [&str; 5] = [
    "aqm_drop_prob",
    "aqm_qdelay_old",
    "aqm_burst_allowance",
    "aqm_control_state",
    "sf_enqueued_bytes",
];
const CELLS: i64 = 64;
const ROUNDS: usize = 1000;

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |quantile: f64| {
        let place = (times.len() as f64 * quantile) as usize;
        times[place.min(times.len() - 1)].as_secs_f64() * 1e6
    };
    println!("{what:<24} p50 {:7.1} us  p99 {:7.1} us", at(0.5), at(0.99));
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let (mut fixture, _stream) = Fixture::start_cm().await;
    let ids = REGISTERS.map(|name| fixture.register(name));
    let cells = |value: Option<&'static [u8]>| {
        ids.iter()
            .flat_map(move |&id| {
                (0..CELLS).map(move |index| register_entry(id, Some(index), value))
            })
            .collect::<Vec<_>>()
    };
    let updates: Vec<_> = cells(Some(&[1, 2, 3, 4]))
        .into_iter()
        .map(|entity| update(Type::Modify, entity))
        .collect();
    let single = cells(None);
    let whole: Vec<_> = ids
        .iter()
        .map(|&id| register_entry(id, None, None))
        .collect();

    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        fixture.write(updates.clone()).await.expect("a write");
        times[0].push(start.elapsed());
        for (request, times) in [&single, &whole].into_iter().zip(&mut times[1..]) {
            let start = Instant::now();
            let found = fixture.read(request.clone()).await.expect("a read");
            times.push(start.elapsed());
            assert_eq!(found.len(), 320);
        }
    }
    let [writes, singles, wholes] = times;
    report("write 320 cells", writes);
    report("read 320 cells", singles);
    report("read 5 whole registers", wholes);
    fixture.stop().await;
}
