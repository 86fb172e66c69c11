// SPDX-License-Identifier: Apache-2.0
//! `bench timers`: how late this machine wakes a thread that sleeps. It is what
//! a run in real time can be judged against, so it is measured beside the run.

use crate::cli::BenchTimers;
use crate::scheduling;
use device::Lateness;
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

/// How long each sleep is: about what lies between two frames at 8 Mbit/s.
const SLEEP: Duration = Duration::from_micros(1_500);
/// Priority under SCHED_RR, as the testbed's.
const PRIORITY: i32 = 10;

/// Sleeps for so long, and notes how late each sleep ended.
fn sleep_for(time: Duration) -> Lateness {
    let mut lateness = Lateness::new(u64::MAX);
    let end = Instant::now() + time;
    while Instant::now() < end {
        let due = Instant::now() + SLEEP;
        thread::sleep(SLEEP);
        lateness.note(due.elapsed().as_nanos() as u64);
    }
    lateness
}

fn report(lateness: &Lateness) -> Value {
    json!({
        "samples": lateness.count(),
        "p50_ns": lateness.quantile(0.5),
        "p99_ns": lateness.quantile(0.99),
        "most_ns": lateness.most(),
    })
}

/// Measures both kinds of thread at the same time, and prints.
///
/// # Errors
/// One sentence: a thread cannot be started.
pub fn run(options: &BenchTimers) -> Result<(), String> {
    let time = Duration::from_secs_f64(options.seconds);
    let no_thread = |error| format!("no thread to sleep in: {error}");
    let realtime = thread::Builder::new()
        .spawn(move || {
            scheduling::exact_timers();
            let permitted = scheduling::realtime(PRIORITY).is_ok();
            permitted.then(|| sleep_for(time))
        })
        .map_err(no_thread)?;
    let other = thread::Builder::new()
        .spawn(move || {
            scheduling::exact_timers();
            sleep_for(time)
        })
        .map_err(no_thread)?;
    let ended = |_| "a thread that slept has failed".to_owned();
    let (realtime, other) = (
        realtime.join().map_err(ended)?,
        other.join().map_err(ended)?,
    );
    let document = json!({
        "seconds": options.seconds,
        // Null where SCHED_RR is not permitted.
        "realtime": realtime.as_ref().map(report),
        "other": report(&other),
    });
    if options.json {
        println!("{document:#}");
        return Ok(());
    }
    match &realtime {
        Some(lateness) => println!("Under SCHED_RR, {}", sentence(lateness)),
        None => println!("SCHED_RR is not permitted here, so it was not measured."),
    }
    println!("Under the ordinary policy, {}", sentence(&other));
    Ok(())
}

fn sentence(lateness: &Lateness) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    format!(
        "{} sleeps of 1.5 ms ended late by {:.0} us at the median, {:.0} us at p99, {:.0} us at the most.",
        lateness.count(),
        us(lateness.quantile(0.5)),
        us(lateness.quantile(0.99)),
        us(lateness.most())
    )
}
