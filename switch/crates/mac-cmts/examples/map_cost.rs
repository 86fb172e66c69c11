// SPDX-License-Identifier: Apache-2.0
//! What a MAP costs: its bound is 20 us, and 0.5 us for each information element.
//!
//! `cargo run --release -p mac-cmts --example map_cost`

use std::time::{Duration, Instant};

use mac_cmts::{Heard, Scheduler};
use mac_wire::{
    Amount, Asking, Element, FlowConfig, Minislot, Periodic, Policy, Profile, Request, Service, Sid,
};

const MAPS: u32 = 20_000;
/// Flows that are admitted between two looks at the time.
const BLOCK: usize = 50;

fn best_effort(sid: u16) -> FlowConfig {
    FlowConfig {
        sid: Sid(sid),
        service: Service::BestEffort,
        policy: Policy::USUAL,
        priority: (sid % 8) as u8,
        max_sustained_rate: 50_000_000,
        max_burst: 100_000,
        peak_rate: 60_000_000,
        min_reserved_rate: 0,
        assumed_packet_size: 0,
        max_concatenated_burst: 0,
        backoff_eighths: 8,
        request_unit: 4,
    }
}

fn call(sid: u16) -> FlowConfig {
    FlowConfig {
        service: Service::Unsolicited {
            grants: Periodic {
                interval: 20_000_000,
                jitter: 2_000_000,
            },
            size: 232,
            per_interval: 1,
        },
        policy: Policy::USUAL_UNSOLICITED,
        max_sustained_rate: 0,
        peak_rate: 0,
        ..best_effort(sid)
    }
}

fn amount(profile: &Profile) -> Amount {
    match profile.asking {
        Asking::OneBurst => Amount::Minislots(5),
        Asking::QueueDepth => Amount::Bytes(1528),
    }
}

/// What the thread has run so far, by Linux's count; nothing where there is none.
fn processor_time() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = counted
        .split(' ')
        .next()
        .and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Times MAPs and what is heard between them; every grant is used and asks again.
fn measure(what: &str, profile: Profile, flows: Vec<FlowConfig>, ask: bool) {
    let name = profile.name.clone();
    let mut scheduler = Scheduler::new(profile.clone(), 1, 1).expect("a named profile");
    let mut admitted = 0;
    // By fifty: Linux counts what a thread has run at every tick of some milliseconds.
    let mut slowest = 0.0_f64;
    for block in flows.chunks(BLOCK) {
        let began = processor_time();
        for flow in block {
            admitted += u32::from(scheduler.admit(0, *flow).is_ok());
        }
        let took = processor_time().saturating_sub(began);
        slowest = slowest.max(took.as_secs_f64() * 1e6 / block.len() as f64);
    }
    if ask {
        for flow in &flows {
            let request = Request {
                sid: flow.sid,
                amount: amount(&profile),
            };
            let sent = Minislot(0);
            scheduler.heard(0, Heard::Request { request, sent });
        }
    }
    let (mut making, mut hearing) = (Duration::ZERO, Duration::ZERO);
    let (mut elements, mut heard) = (0, 0_u32);
    let mut grants: Vec<Element> = Vec::new();
    for _ in 0..MAPS {
        let at = scheduler.next_map_at();
        let began = Instant::now();
        let map = scheduler.make_map(at);
        making += began.elapsed();
        elements += map.information_elements();
        grants.clear();
        grants.extend(map.elements.iter().filter(|e| e.usage.is_data()));
        let began = Instant::now();
        for grant in &grants {
            let sid = grant.sid;
            let amount = amount(&profile);
            let request = ask.then_some(Request { sid, amount });
            heard += 1;
            scheduler.heard(
                at,
                Heard::Burst {
                    sid,
                    first: grant.first,
                    used: profile.phy.bytes(grant.minislots),
                    request,
                    queue_indicator: false,
                },
            );
        }
        hearing += began.elapsed();
    }
    let per_map = making.as_nanos() as f64 / f64::from(MAPS) / 1000.0;
    let elements = elements as f64 / f64::from(MAPS);
    let bound = 20.0 + 0.5 * elements;
    let per_burst = match heard {
        0 => 0.0,
        heard => hearing.as_nanos() as f64 / f64::from(heard),
    };
    assert_eq!(scheduler.statistics().missed, 0);
    println!(
        "{what:24} {name:16} {admitted:4} of {:4} flows, the slowest {BLOCK} admitted or refused in {slowest:6.1} \
         us each: {per_map:7.2} us a MAP of {elements:6.1} information elements (bound {bound:6.1} us), \
         {per_burst:5.0} ns a burst heard",
        flows.len(),
    );
}

fn main() {
    let flows = |n: u16| (1..=n).map(best_effort).collect::<Vec<_>>();
    let calls = |n: u16| (1..=n).map(call).collect::<Vec<_>>();
    let paper = || Profile::docsis_1_1_004(2_000_000).expect("a MAP time of 2 ms");
    measure("idle", Profile::docsis_3_1(7), Vec::new(), false);
    measure("idle", Profile::docsis_3_1(7), flows(500), false);
    measure(
        "all ask again and again",
        Profile::docsis_3_1(7),
        flows(500),
        true,
    );
    measure(
        "all ask again and again",
        Profile::docsis_3_1(7),
        flows(50),
        true,
    );
    measure(
        "all ask again and again",
        Profile::docsis_3_0(),
        flows(500),
        true,
    );
    measure("all ask again and again", paper(), flows(500), true);
    measure("calls", paper(), calls(30), false);
    measure("calls", Profile::docsis_3_0(), calls(64), false);
    measure("calls", Profile::docsis_3_1(15), calls(500), false);
}
