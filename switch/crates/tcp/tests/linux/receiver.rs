// SPDX-License-Identifier: Apache-2.0
//! The receiver alone: it gets the data that the kernel's receiver got.

use std::collections::BTreeMap;

use crate::differences::Found;
use crate::trace::{Event, Trace};
use tcp::{Config, Connection, Flags, Role, Segment, Timestamps};

const PEER: u32 = u32::MAX - 20_000;

/// The numbers and SACK blocks of our receiver's ACKs.
type Acks = Vec<(u32, Vec<(u32, u32)>)>;

fn replay(trace: &Trace) -> Acks {
    let config = Config {
        port: 1,
        peer_port: 2,
        ..Config::linux()
    };
    let mut receiver = Connection::open(config, Role::Passive, 5, 0);
    let segment = |flags, seq: u32| Segment {
        source_port: 2,
        destination_port: 1,
        seq,
        ack: 6,
        flags,
        window: 60_000,
        timestamps: Some(Timestamps { value: 1, echo: 5 }),
        ..Segment::default()
    };
    let syn = Segment {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..segment(Flags::SYN, PEER)
    };
    let handshake = |(at, event): &(u64, Event)| match event {
        Event::Handshake { .. } => Some(*at),
        _ => None,
    };
    let answered = trace
        .events
        .iter()
        .find_map(handshake)
        .expect("a handshake");
    let start = answered - trace.delay;
    receiver.on_segment(start, &syn);
    let answer = receiver.next_segment(start).expect("the answer");
    let clock = answer.timestamps.expect("timestamps").value;
    let first = PEER.wrapping_add(1);
    receiver.on_segment(answered + trace.delay, &segment(Flags::ACK, first));
    let mut acks = Acks::new();
    let mut poll = |receiver: &mut Connection, now| {
        while let Some(segment) = receiver.next_segment(now) {
            let relative = |number: u32| number.wrapping_sub(first);
            let sack = segment.sack.as_slice().iter();
            let sack = sack.map(|(left, right)| (relative(*left), relative(*right)));
            acks.push((relative(segment.ack), sack.collect()));
        }
    };
    for (at, event) in &trace.events {
        let Event::Delivered {
            seq,
            length,
            echo,
            push,
        } = event
        else {
            continue;
        };
        while let Some(timer) = receiver.next_timer().filter(|timer| timer < at) {
            receiver.on_timer(timer);
            poll(&mut receiver, timer);
        }
        let flags = if *push {
            Flags::ACK.with(Flags::PSH)
        } else {
            Flags::ACK
        };
        let mut data = segment(flags, first.wrapping_add(*seq));
        data.payload = *length;
        data.timestamps = Some(Timestamps {
            value: 1,
            echo: clock.wrapping_add(*echo),
        });
        receiver.on_segment(*at, &data);
        poll(&mut receiver, *at);
    }
    while let Some(timer) = receiver.next_timer() {
        receiver.on_timer(timer);
        poll(&mut receiver, timer);
    }
    acks
}

fn linux(trace: &Trace) -> Acks {
    let acks = trace.events.iter().filter_map(|(_, event)| match event {
        Event::Acknowledges(ack) => Some((ack.number, ack.sack.clone())),
        _ => None,
    });
    acks.collect()
}

/// As many ACKs, within an eighth: which of them wait for a second segment
/// depends on where the receiver's round trips begin.
pub fn acks(traces: &[Trace]) -> Found {
    let mut found = Found::new();
    for trace in traces.iter().filter(|trace| trace.receiver) {
        let (ours, linux) = (replay(trace).len(), linux(trace).len());
        if ours.abs_diff(linux) > linux / 8 {
            found.insert(trace.name.clone(), format!("ours {ours}, Linux {linux}"));
        }
    }
    found
}

/// For each hole the same SACK blocks in the end, but for what waits for an ACK.
pub fn blocks(traces: &[Trace]) -> Found {
    /// Two segments, which may wait for an ACK when the hole is filled.
    const WAITING: u32 = 2 * 1448;
    type Last = BTreeMap<u32, Vec<(u32, u32)>>;
    let last = |acks: Acks| -> Last {
        let with_blocks = acks.into_iter().filter(|(_, sack)| !sack.is_empty());
        with_blocks.collect()
    };
    let same = |ours: &(u32, u32), linux: &(u32, u32)| {
        ours.0 == linux.0 && ours.1.abs_diff(linux.1) <= WAITING
    };
    let mut found = Found::new();
    for trace in traces.iter().filter(|trace| trace.receiver) {
        let (ours, linux) = (last(replay(trace)), last(linux(trace)));
        let mut pairs = ours.iter().zip(&linux);
        let agree = pairs.all(|((number, ours), (other, linux))| {
            number == other
                && ours.len() == linux.len()
                && ours
                    .iter()
                    .zip(linux)
                    .all(|(ours, linux)| same(ours, linux))
        });
        if !agree || ours.len() != linux.len() {
            found.insert(
                trace.name.clone(),
                format!("ours {ours:?}, Linux {linux:?}"),
            );
        }
    }
    found
}
