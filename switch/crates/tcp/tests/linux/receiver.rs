// SPDX-License-Identifier: Apache-2.0
//! The receiver alone: it gets the data that the kernel's receiver got.

use crate::differences::{Found, check};
use crate::sender::first_difference;
use crate::trace::{Event, Trace, all};
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
    receiver.on_segment(0, &syn);
    while receiver.next_segment(0).is_some() {}
    let first = PEER.wrapping_add(1);
    receiver.on_segment(trace.delay, &segment(Flags::ACK, first));
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
        let Event::Delivered { seq, length } = event else {
            continue;
        };
        while let Some(timer) = receiver.next_timer().filter(|timer| timer < at) {
            receiver.on_timer(timer);
            poll(&mut receiver, timer);
        }
        let mut data = segment(Flags::ACK, first.wrapping_add(*seq));
        data.payload = *length;
        receiver.on_segment(*at, &data);
        poll(&mut receiver, *at);
    }
    while let Some(timer) = receiver.next_timer() {
        receiver.on_timer(timer);
        poll(&mut receiver, timer);
    }
    acks
}

/// The same ACKs with the same SACK blocks.
#[test]
fn acks() {
    let mut found = Found::new();
    for trace in all() {
        let linux = trace.events.iter().filter_map(|(_, event)| match event {
            Event::Acknowledges(ack) => Some((ack.number, ack.sack.clone())),
            _ => None,
        });
        let linux: Acks = linux.collect();
        if let Some(difference) = first_difference(&replay(&trace), &linux) {
            found.insert(trace.name, difference);
        }
    }
    check("acks", &found);
}
