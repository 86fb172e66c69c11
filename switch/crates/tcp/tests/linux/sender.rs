// SPDX-License-Identifier: Apache-2.0
//! The sender alone: it gets the ACKs that the kernel's sender got, when it got them.

use crate::differences::Found;
use crate::trace::{Acknowledgment, Event, Sample, Trace};
use tcp::{Config, Connection, Flags, Role, Segment, Timestamps};

pub const MSS: u64 = 1448;
const ISS: u32 = u32::MAX - 10_000;
const PEER: u32 = 77;

/// What our sender did.
#[derive(Default)]
struct Replay {
    /// The data, as bytes before it, and after how many ACKs it went.
    sent: Vec<(u32, u32, usize)>,
    samples: Vec<Sample>,
}

fn answer(flags: Flags, window: u16, echo: u32) -> Segment {
    Segment {
        source_port: 2,
        destination_port: 1,
        seq: PEER,
        ack: ISS.wrapping_add(1),
        flags,
        window,
        timestamps: Some(Timestamps {
            value: 1,
            echo: ISS.wrapping_add(echo),
        }),
        ..Segment::default()
    }
}

fn acknowledgment(ack: &Acknowledgment) -> Segment {
    let number = |relative: u32| ISS.wrapping_add(1).wrapping_add(relative);
    let mut segment = answer(Flags::ACK, ack.window, ack.echo);
    segment.seq = PEER + 1;
    segment.ack = number(ack.number);
    for (left, right) in &ack.sack {
        segment.sack.push(number(*left), number(*right));
    }
    segment
}

fn replay(trace: &Trace) -> Replay {
    let config = Config {
        port: 1,
        peer_port: 2,
        congestion: trace.congestion,
        ..Config::linux()
    };
    let mut sender = Connection::open(config, Role::Active, ISS, 0);
    let mut replay = Replay::default();
    replay.poll(&mut sender, 0);
    for (at, event) in &trace.events {
        let arrival = match event {
            Event::Handshake {
                window,
                scale,
                echo,
            } => Segment {
                mss: Some(1460),
                window_scale: Some(*scale),
                sack_permitted: true,
                ..answer(Flags::SYN.with(Flags::ACK), *window, *echo)
            },
            Event::Acknowledged(ack, _) => acknowledgment(ack),
            _ => continue,
        };
        while let Some(timer) = sender.next_timer().filter(|timer| timer < at) {
            sender.on_timer(timer);
            replay.poll(&mut sender, timer);
        }
        replay.poll(&mut sender, *at);
        sender.on_segment(*at, &arrival);
        if matches!(event, Event::Handshake { .. }) {
            sender.send(trace.segments * MSS);
        } else {
            let info = sender.info();
            replay.samples.push(Sample {
                cwnd: info.cwnd,
                ssthresh: info.ssthresh,
            });
        }
        replay.poll(&mut sender, *at);
    }
    replay
}

impl Replay {
    fn poll(&mut self, sender: &mut Connection, now: u64) {
        while let Some(segment) = sender.next_segment(now) {
            if segment.payload > 0 {
                let seq = segment.seq.wrapping_sub(ISS).wrapping_sub(1);
                self.sent.push((seq, segment.payload, self.samples.len()));
            }
        }
    }
}

/// What Linux's sender did.
fn linux(trace: &Trace) -> Replay {
    let mut linux = Replay::default();
    for (_, event) in &trace.events {
        match event {
            Event::Sends { seq, length } => {
                linux.sent.push((*seq, *length, linux.samples.len()));
            }
            Event::Acknowledged(_, sample) => linux.samples.push(*sample),
            _ => {}
        }
    }
    linux
}

/// Where two lists differ first.
pub fn first_difference<T: PartialEq + std::fmt::Debug>(ours: &[T], linux: &[T]) -> Option<String> {
    let same = ours.iter().zip(linux).take_while(|(a, b)| a == b).count();
    if same == ours.len() && same == linux.len() {
        return None;
    }
    let near = |list: &[T]| format!("{:?}", &list[same..list.len().min(same + 4)]);
    Some(format!(
        "at {same} of {}: ours {}, Linux {}",
        linux.len(),
        near(ours),
        near(linux)
    ))
}

/// The same segments again in the same order.
pub fn segments(traces: &[Trace]) -> Found {
    let mut found = Found::new();
    for trace in traces {
        let plain = |replay: Replay| -> Vec<(u32, u32)> {
            replay.sent.iter().map(|sent| (sent.0, sent.1)).collect()
        };
        let (ours, linux) = (plain(replay(trace)), plain(linux(trace)));
        if let Some(difference) = first_difference(&ours, &linux) {
            found.insert(trace.name.clone(), difference);
        }
    }
    found
}

/// Each after the same ACK, or one of the two before or behind it.
pub fn turns(traces: &[Trace]) -> Found {
    let mut found = Found::new();
    for trace in traces {
        let (ours, linux) = (replay(trace), linux(trace));
        let mut pairs = ours.sent.iter().zip(&linux.sent);
        if let Some((ours, linux)) = pairs.find(|(ours, linux)| ours.2.abs_diff(linux.2) > 2) {
            found.insert(
                trace.name.clone(),
                format!("ours {ours:?}, Linux {linux:?}"),
            );
        }
    }
    found
}

/// Where two recordings of Linux send other segments, or in another order.
pub fn repeated(one: &Trace, other: &Trace) -> Option<String> {
    let plain = |trace: &Trace| -> Vec<(u32, u32)> {
        linux(trace)
            .sent
            .iter()
            .map(|sent| (sent.0, sent.1))
            .collect()
    };
    first_difference(&plain(one), &plain(other))
}

/// The congestion window within one segment after each ACK.
pub fn window(traces: &[Trace]) -> Found {
    let mut found = Found::new();
    for trace in traces {
        let (ours, linux) = (replay(trace), linux(trace));
        let far = |index: &usize| {
            ours.samples[*index]
                .cwnd
                .abs_diff(linux.samples[*index].cwnd)
                > 1
        };
        let far: Vec<usize> = (0..linux.samples.len()).filter(far).collect();
        if let Some(&first) = far.first() {
            let near = |replay: &Replay| {
                let samples = &replay.samples[first.saturating_sub(2)..];
                samples
                    .iter()
                    .take(6)
                    .map(|sample| sample.cwnd)
                    .collect::<Vec<_>>()
            };
            let text = format!(
                "{} of {} from {first} on: ours {:?}, Linux {:?}",
                far.len(),
                linux.samples.len(),
                near(&ours),
                near(&linux)
            );
            found.insert(trace.name.clone(), text);
        }
    }
    found
}

/// The slow start threshold: HyStart's exit within a tenth, and what is left
/// after a loss within one segment.
pub fn threshold(traces: &[Trace]) -> Found {
    /// How Linux says that there is none.
    const NONE: u32 = 0x7fff_ffff;
    let mut found = Found::new();
    for trace in traces {
        let (ours, linux) = (replay(trace), linux(trace));
        let values = |replay: &Replay| {
            let mut values: Vec<u32> = replay
                .samples
                .iter()
                .map(|sample| sample.ssthresh)
                .collect();
            values.dedup();
            values.retain(|value| *value < NONE);
            values
        };
        let (ours, linux) = (values(&ours), values(&linux));
        let near = |(ours, linux): (&u32, &u32)| ours.abs_diff(*linux) <= (linux / 10).max(1);
        if ours.len() != linux.len() || !ours.iter().zip(&linux).all(near) {
            found.insert(
                trace.name.clone(),
                format!("ours {ours:?}, Linux {linux:?}"),
            );
        }
    }
    found
}
