// SPDX-License-Identifier: Apache-2.0
//! Measures P4Runtime over TCP on loopback, against a device in this process:
//! the control loop's read and write of every register of 4,096 service flows
//! while frames pass, how long these frames wait for it, and how many table
//! entries a second are inserted.
//!
//! `cargo run --release --example round_trip [-- --json] [-- --rounds N]`
//! prints microseconds, or a JSON object with the same numbers.

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::*;
use grpc_services::proto::p4::v1 as p4;
use grpc_services::proto::p4::v1::entity::Entity;

/// Registers that the control loop touches: it reads the first ones and writes
/// the last ones.
const READ: [&str; 6] = [
    "aqm_drop_prob",
    "aqm_qdelay_old",
    "aqm_burst_allowance",
    "aqm_control_state",
    "sf_enqueued_bytes",
    "sf_dequeued_bytes",
];
const WRITTEN: [&str; 4] = [
    "aqm_drop_prob",
    "aqm_qdelay_old",
    "aqm_burst_allowance",
    "aqm_control_state",
];
const FLOWS: i64 = 4096;
const ENTRIES: u32 = 10_000;
/// Frames a second that pass meanwhile.
const FRAMES: u64 = 10_000;

struct Report {
    json: bool,
    lines: Vec<String>,
}

impl Report {
    fn times(&mut self, name: &str, mut times: Vec<Duration>) {
        times.sort_unstable();
        let at = |quantile: f64| {
            let place = (times.len() as f64 * quantile) as usize;
            times[place.min(times.len() - 1)].as_secs_f64() * 1e6
        };
        let (p50, p99, max) = (at(0.5), at(0.99), at(1.0));
        if self.json {
            let line = format!(
                "\"{name}\": {{\"p50_us\": {p50:.1}, \"p99_us\": {p99:.1}, \"max_us\": {max:.1}}}"
            );
            self.lines.push(line);
        } else {
            println!("{name:<28} p50 {p50:8.1} us  p99 {p99:8.1} us  max {max:8.1} us");
        }
    }

    fn rate(&mut self, name: &str, count: u32, time: Duration) {
        let rate = f64::from(count) / time.as_secs_f64();
        if self.json {
            self.lines.push(format!("\"{name}\": {rate:.0}"));
        } else {
            println!("{name:<28} {rate:8.0} /s");
        }
    }

    fn finish(self) {
        if self.json {
            println!("{{{}}}", self.lines.join(", "));
        }
    }
}

/// Asks the device's thread for its attention as frames would, and returns how
/// long each time took.
fn traffic(fixture: &Fixture, stop: Arc<AtomicBool>) -> tokio::task::JoinHandle<Vec<Duration>> {
    let handle = fixture.handle.clone();
    tokio::spawn(async move {
        let mut waits = Vec::new();
        let mut frame = vec![0; 200];
        (frame[12], frame[13]) = (8, 0);
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let frame = frame.clone();
            let start = Instant::now();
            let passed = handle.call(move |device, now| device.receive(now, 1, &frame));
            passed.await.expect("the device runs");
            waits.push(start.elapsed());
            next += Duration::from_nanos(1_000_000_000 / FRAMES);
            tokio::time::sleep_until(next.into()).await;
        }
        waits
    })
}

async fn registers(report: &mut Report, rounds: usize) {
    let (mut fixture, _stream) = Fixture::start_program("cmts").await;
    let ids = READ.map(|name| fixture.register(name));
    let whole: Vec<_> = ids
        .iter()
        .map(|&id| register_entry(id, None, None))
        .collect();
    let written = WRITTEN.map(|name| fixture.register(name));
    let updates: Vec<_> = written
        .iter()
        .flat_map(|&id| {
            (0..FLOWS).map(move |index| {
                let cell = register_entry(id, Some(index), Some(&[1, 2, 3]));
                update(Type::Modify, cell)
            })
        })
        .collect();
    let single: Vec<_> = ids
        .iter()
        .flat_map(|&id| (0..FLOWS).map(move |index| register_entry(id, Some(index), None)))
        .collect();
    let stop = Arc::new(AtomicBool::new(false));
    let waits = traffic(&fixture, Arc::clone(&stop));
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        let start = Instant::now();
        let found = fixture.read(whole.clone()).await.expect("a read");
        times[0].push(start.elapsed());
        assert_eq!(found.len(), READ.len() * FLOWS as usize);
        drop(found);
        let batch = updates.clone();
        let middle = Instant::now();
        fixture.write(batch).await.expect("a write");
        times[1].push(middle.elapsed());
        let both = *times[0].last().expect("a read") + middle.elapsed();
        times[2].push(both);
    }
    for _ in 0..rounds.div_ceil(10) {
        let request = single.clone();
        let start = Instant::now();
        let found = fixture.read(request).await.expect("a read");
        times[3].push(start.elapsed());
        assert_eq!(found.len(), READ.len() * FLOWS as usize);
    }
    stop.store(true, Ordering::Relaxed);
    let waits = waits.await.expect("the traffic ends");
    let [reads, writes, both, singles] = times;
    report.times("read_6_registers_of_4096", reads);
    report.times("write_4_registers_of_4096", writes);
    report.times("read_and_write", both);
    report.times("read_24576_cells_one_by_one", singles);
    report.times("frame_waits_meanwhile", waits);
    fixture.stop().await;
}

async fn entries(report: &mut Report) {
    let (mut fixture, _stream) = Fixture::start_program("bench/l3_lpm").await;
    let table = fixture
        .info
        .tables
        .iter()
        .find(|table| table.size >= i64::from(ENTRIES))
        .expect("a large table");
    let table_id = table.preamble.as_ref().expect("a preamble").id;
    let action_id = table.action_refs[0].id;
    let actions = fixture.info.actions.iter();
    let mut actions = actions.filter(|a| a.preamble.as_ref().is_some_and(|p| p.id == action_id));
    let params = actions.next().expect("an action").params.len();
    let entry = |n: u32| {
        let value = (n << 8).to_be_bytes();
        table_entry(p4::TableEntry {
            table_id,
            r#match: vec![lpm(1, &value, 24)],
            action: action(action_id, &vec![&[1][..]; params]),
            ..Default::default()
        })
    };
    let all: Vec<Entity> = (1..=ENTRIES).map(entry).collect();
    let batch: Vec<_> = all.iter().cloned().map(insert).collect();
    let start = Instant::now();
    fixture.write(batch).await.expect("a write");
    report.rate("entries_in_one_batch", ENTRIES, start.elapsed());
    let start = Instant::now();
    let read = table_entry(p4::TableEntry::default());
    let found = fixture.read(vec![read]).await.expect("a read");
    report.times("read_10000_entries", vec![start.elapsed()]);
    assert_eq!(found.len(), ENTRIES as usize);
    let batch = all.iter().cloned().map(delete).collect();
    let start = Instant::now();
    fixture.write(batch).await.expect("a write");
    report.rate("deletions_in_one_batch", ENTRIES, start.elapsed());

    // One update in each Write, 32 of them on their way at a time.
    let start = Instant::now();
    let mut writers = tokio::task::JoinSet::new();
    for part in all.chunks(all.len().div_ceil(32)) {
        let (mut client, part) = (fixture.client.clone(), part.to_vec());
        writers.spawn(async move {
            for entity in part {
                let request = p4::WriteRequest {
                    device_id: DEVICE_ID,
                    election_id: election_id(1),
                    updates: vec![insert(entity)],
                    ..Default::default()
                };
                client.write(request).await.expect("a write");
            }
        });
    }
    while writers.join_next().await.is_some() {}
    report.rate("entries_in_single_writes", ENTRIES, start.elapsed());
    fixture.stop().await;
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let rounds = args.iter().position(|arg| arg == "--rounds");
    let rounds = rounds.and_then(|at| args.get(at + 1)?.parse().ok());
    let mut report = Report {
        json: args.iter().any(|arg| arg == "--json"),
        lines: Vec::new(),
    };
    registers(&mut report, rounds.unwrap_or(200)).await;
    entries(&mut report).await;
    report.finish();
}
