// SPDX-License-Identifier: Apache-2.0
//! Both ends are ours, and the path does what the script says.

use std::collections::BTreeMap;

use crate::differences::Found;
use crate::sender::{MSS, first_difference};
use crate::trace::{Event, Trace};
use tcp::{Config, Connection, Role, Segment};

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
const ISS: u32 = u32::MAX - 30_000;
/// IPv4 and Ethernet with its FCS.
const FRAMING: u64 = 20 + 18;

struct Path<'a> {
    trace: &'a Trace,
    lost: Vec<u32>,
    late: Vec<(u32, u64)>,
    acks: u32,
    syns: u32,
    busy_until: u64,
    /// By time and order: to which end, and what.
    events: BTreeMap<(u64, u64), (usize, Segment)>,
    next: u64,
    sent: Vec<(u32, u32)>,
}

impl Path<'_> {
    fn take(&mut self, now: u64, from: usize, segment: Segment) {
        let trace = self.trace;
        let mut delay = trace.delay;
        let mut at = now;
        if from == 0 && segment.payload > 0 {
            let seq = segment.seq.wrapping_sub(ISS).wrapping_sub(1);
            self.sent.push((seq, segment.payload));
            let number = seq / MSS as u32;
            if let Some(place) = self.lost.iter().position(|lost| *lost == number) {
                self.lost.remove(place);
                return;
            }
            if let Some(place) = self.late.iter().position(|late| late.0 == number) {
                delay += self.late.remove(place).1 * MILLISECOND;
            }
        }
        if from == 0 && segment.mss.is_some() {
            self.syns += 1;
            if self.syns <= trace.lost_syns {
                return;
            }
        }
        if from == 1 && segment.mss.is_none() {
            self.acks += 1;
            if trace.lost_acks.contains(&(self.acks - 1)) {
                return;
            }
        }
        if from == 0 && trace.rate > 0 && segment.mss.is_none() && segment.payload > 0 {
            let bytes = FRAMING + segment.header_length() as u64 + u64::from(segment.payload);
            self.busy_until = self.busy_until.max(now) + bytes * 8 * SECOND / trace.rate;
            at = self.busy_until;
        }
        self.events
            .insert((at + delay, self.next), (1 - from, segment));
        self.next += 1;
    }
}

fn run(trace: &Trace) -> Vec<(u32, u32)> {
    let config = |port, peer_port| Config {
        port,
        peer_port,
        congestion: trace.congestion,
        ..Config::linux()
    };
    let mut ends = [
        Connection::open(config(1, 2), Role::Active, ISS, 0),
        Connection::open(config(2, 0), Role::Passive, 9, 0),
    ];
    ends[0].send(trace.segments * MSS);
    let mut path = Path {
        trace,
        lost: trace.lost.clone(),
        late: trace.late.clone(),
        acks: 0,
        syns: 0,
        busy_until: 0,
        events: BTreeMap::new(),
        next: 0,
        sent: Vec::new(),
    };
    let mut now = 0;
    while now < 100 * SECOND {
        for (from, end) in ends.iter_mut().enumerate() {
            while let Some(segment) = end.next_segment(now) {
                path.take(now, from, segment);
            }
        }
        let arrival = path.events.keys().next().map(|(at, _)| *at);
        let timer = ends.iter().filter_map(Connection::next_timer).min();
        let Some(at) = [arrival, timer].into_iter().flatten().min() else {
            break;
        };
        now = now.max(at);
        if arrival == Some(at) {
            let (_, (to, segment)) = path.events.pop_first().expect("there is one");
            ends[to].on_segment(now, &segment);
        } else {
            for end in &mut ends {
                end.on_timer(now);
            }
        }
    }
    assert_eq!(ends[1].delivered(), trace.segments * MSS, "{}", trace.name);
    path.sent
}

/// The same segments again in the same order as with Linux at both ends.
pub fn closed_loop(traces: &[Trace]) -> Found {
    let mut found = Found::new();
    for trace in traces {
        let linux = trace.events.iter().filter_map(|(_, event)| match event {
            Event::Sends { seq, length } => Some((*seq, *length)),
            _ => None,
        });
        let linux: Vec<(u32, u32)> = linux.collect();
        if let Some(difference) = first_difference(&run(trace), &linux) {
            found.insert(trace.name.clone(), difference);
        }
    }
    found
}
