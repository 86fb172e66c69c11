// SPDX-License-Identifier: Apache-2.0
//! What a MAP costs: its bound is 20 us, and 0.5 us for each information element.
//!
//! `cargo run --release -p mac-cmts --example map_cost`

use std::time::Duration;

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

/// Flows of a channel, and whether they ask all the time.
struct Case {
    what: &'static str,
    profile: Profile,
    flows: Vec<FlowConfig>,
    ask: bool,
    /// A MAP is made between two admissions, so that they come at all times.
    apart: bool,
}

/// Admits all flows; how many were, and the processor time that each of the slowest fifty took,
/// microseconds. Linux counts what a thread has run at every tick of some milliseconds.
fn admit(case: &Case, scheduler: &mut Scheduler) -> (u32, f64) {
    let (mut admitted, mut slowest) = (0, 0.0_f64);
    for block in case.flows.chunks(BLOCK) {
        let began = processor_time();
        for flow in block {
            admitted += u32::from(scheduler.admit(0, *flow).is_ok());
            if case.apart {
                let at = scheduler.next_map_at();
                scheduler.make_map(at);
            }
        }
        let took = processor_time().saturating_sub(began);
        slowest = slowest.max(took.as_secs_f64() * 1e6 / block.len() as f64);
    }
    (admitted, slowest)
}

/// Times MAPs and what is heard between them; every grant is used and asks again.
fn measure(case: &Case) {
    let Case {
        what,
        profile,
        flows,
        ask,
        ..
    } = case;
    let mut scheduler = Scheduler::new(profile.clone(), 1, 1).expect("a named profile");
    let (admitted, slowest) = admit(case, &mut scheduler);
    for flow in flows.iter().filter(|_| *ask) {
        let request = Request {
            sid: flow.sid,
            amount: amount(profile),
        };
        let sent = Minislot(0);
        scheduler.heard(0, Heard::Request { request, sent });
    }
    let (mut elements, mut heard) = (0, 0_u32);
    let mut grants: Vec<Element> = Vec::new();
    let began = processor_time();
    for _ in 0..MAPS {
        let at = scheduler.next_map_at();
        let map = scheduler.make_map(at);
        elements += map.information_elements();
        grants.clear();
        grants.extend(map.elements.iter().filter(|e| e.usage.is_data()));
        for grant in &grants {
            let sid = grant.sid;
            let amount = amount(profile);
            let request = ask.then_some(Request { sid, amount });
            heard += 1;
            scheduler.heard(
                at,
                Heard::Burst {
                    sid,
                    first: grant.first,
                    used: profile.phy.bytes(grant.minislots),
                    headers: 0,
                    request,
                    queue_indicator: false,
                },
            );
        }
    }
    let took = processor_time().saturating_sub(began);
    assert_eq!(scheduler.statistics().missed, 0);
    let per_map = took.as_secs_f64() * 1e6 / f64::from(MAPS);
    let elements = elements as f64 / f64::from(MAPS);
    println!(
        "{what:24} {:16} {admitted:4} of {:4} flows, the slowest {BLOCK} admitted or refused in \
         {slowest:6.1} us each: {per_map:6.2} us a MAP of {elements:5.1} information elements (bound \
         {:5.1} us), with the {:5.1} bursts that are heard",
        profile.name,
        flows.len(),
        20.0 + 0.5 * elements,
        f64::from(heard) / f64::from(MAPS),
    );
}

fn main() {
    let flows = |n: u16| (1..=n).map(best_effort).collect::<Vec<_>>();
    let calls = |n: u16| (1..=n).map(call).collect::<Vec<_>>();
    let paper = || Profile::docsis_1_1_004(2_000_000).expect("a MAP time of 2 ms");
    let case = |what, profile, flows, ask| Case {
        what,
        profile,
        flows,
        ask,
        apart: false,
    };
    let greedy = "all ask again and again";
    for case in [
        case("idle", Profile::docsis_3_1(7), Vec::new(), false),
        case("idle", Profile::docsis_3_1(7), flows(500), false),
        case(greedy, Profile::docsis_3_1(7), flows(500), true),
        case(greedy, Profile::docsis_3_1(7), flows(50), true),
        case(greedy, Profile::docsis_3_0(), flows(500), true),
        case(greedy, paper(), flows(500), true),
        case("calls", paper(), calls(30), false),
        case("calls", Profile::docsis_3_0(), calls(64), false),
        case("calls", Profile::docsis_3_1(15), calls(500), false),
        Case {
            apart: true,
            ..case(
                "calls, one a MAP",
                Profile::docsis_3_1(15),
                calls(500),
                false,
            )
        },
    ] {
        measure(&case);
    }
}
