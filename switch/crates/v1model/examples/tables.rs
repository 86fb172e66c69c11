// SPDX-License-Identifier: Apache-2.0
//! Measures tables: entries written per second, and nanoseconds that lookups
//! take of a packet's time. Run with `cargo run --release --example tables`.
//!
//! A lookup's time is that of a packet through ingress, less that of a packet
//! through the same program whose table is empty.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use v1model::*;

/// Passes over the frames of a measurement.
const RUNS: usize = 300;
/// Frames of a measurement.
const FRAMES: usize = 1024;
/// Times that a table is filled; the best counts.
const FILLS: usize = 5;

/// A repeatable sequence (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

fn pipeline() -> Pipeline {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/scale.json");
    let json = std::fs::read(path).expect("the test programs are there");
    Pipeline::new(Arc::new(Program::load(&json).expect("it is a program")), 1)
}

/// The fields of the frame, as in scale.p4.
#[derive(Clone, Copy, Default)]
struct Key {
    kind: u8,
    a: u128,
    b: u128,
    c: u16,
    d: u16,
}

impl Key {
    fn frame(&self) -> Vec<u8> {
        let mut frame = vec![self.kind];
        frame.extend(self.a.to_be_bytes());
        frame.extend(self.b.to_be_bytes());
        frame.extend(self.c.to_be_bytes());
        frame.extend(self.d.to_be_bytes());
        frame.resize(100, 0);
        frame
    }
}

/// Nanoseconds of a packet through ingress: the best of many short runs, so
/// that other processes do not count.
fn packets(p: &mut Pipeline, frames: &[Vec<u8>]) -> f64 {
    let mut packet = Packet::new();
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let begin = Instant::now();
        for frame in frames {
            p.ingress(1, 1, frame, &mut packet);
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / frames.len() as f64);
    }
    best
}

/// Writes entries with a packet after each, since what a write puts off the
/// packet pays: the entries that the table took, and seconds. `took` keeps the
/// shortest time of each write with its packet, in nanoseconds.
fn write<'k>(
    p: &mut Pipeline,
    table: TableId,
    keys: &'k [EntryKey],
    frame: &[u8],
    took: &mut [u128],
) -> (Vec<&'k EntryKey>, f64) {
    let action = p.program().table_action(table, "I.set");
    let action: EntryAction = ActionCall {
        action: action.expect("the table has the action"),
        args: vec![3],
    }
    .into();
    let mut packet = Packet::new();
    let mut written = Vec::new();
    let begin = Instant::now();
    for (key, took) in keys.iter().zip(took) {
        let start = Instant::now();
        let done = p.insert(0, table, key, &action, &EntryOptions::default());
        p.ingress(0, 1, frame, &mut packet);
        *took = start.elapsed().as_nanos().min(*took);
        if done.is_ok() {
            written.push(key);
        }
    }
    (written, begin.elapsed().as_secs_f64())
}

struct Case {
    name: &'static str,
    table: &'static str,
    kind: u8,
    entries: usize,
    make: fn(&mut Numbers) -> (EntryKey, Key),
}

fn prefix(value: u128, width: u16, length: u16) -> Match {
    let behind = u128::MAX
        .checked_shr(u32::from(128 - width + length))
        .unwrap_or(0);
    Match::Lpm {
        value: value & !behind,
        prefix_len: length,
    }
}

fn one(matches: Match) -> EntryKey {
    EntryKey {
        matches: vec![matches],
        priority: 0,
    }
}

const CASES: [Case; 7] = [
    Case {
        name: "exact, 48 bits",
        table: "I.exact_narrow",
        kind: 1,
        entries: 10_000,
        make: |n| {
            let a = u128::from(n.next() & 0xffff_ffff_ffff);
            (
                one(Match::Exact(a)),
                Key {
                    a,
                    ..Key::default()
                },
            )
        },
    },
    Case {
        name: "exact, 128 + 16 bits",
        table: "I.exact_wide",
        kind: 2,
        entries: 10_000,
        make: |n| {
            let (a, c) = (n.wide(), n.next() as u16);
            let key = EntryKey {
                matches: vec![Match::Exact(a), Match::Exact(u128::from(c))],
                priority: 0,
            };
            (
                key,
                Key {
                    a,
                    c,
                    ..Key::default()
                },
            )
        },
    },
    Case {
        name: "lpm IPv4, lengths as on the Internet",
        table: "I.lpm_narrow",
        kind: 3,
        entries: 10_000,
        make: |n| {
            let a = u128::from(n.next() as u32);
            let lengths = [16, 19, 20, 21, 22, 22, 23, 23, 24, 24, 24, 24, 24, 24];
            let length = lengths[n.below(14) as usize];
            (
                one(prefix(a, 32, length)),
                Key {
                    a,
                    ..Key::default()
                },
            )
        },
    },
    Case {
        name: "lpm IPv4, every length, nested",
        table: "I.lpm_narrow",
        kind: 3,
        entries: 10_000,
        make: |n| {
            let a = 0x0a00_0000 | u128::from(n.next() as u32 >> 12);
            let length = 12 + n.below(21) as u16;
            (
                one(prefix(a, 32, length)),
                Key {
                    a,
                    ..Key::default()
                },
            )
        },
    },
    Case {
        name: "lpm IPv6, /20 to /64",
        table: "I.lpm_wide",
        kind: 4,
        entries: 10_000,
        make: |n| {
            let a = 0x2 << 124 | n.wide() >> 4;
            let length = 20 + n.below(45) as u16;
            (
                one(prefix(a, 128, length)),
                Key {
                    a,
                    ..Key::default()
                },
            )
        },
    },
    Case {
        name: "ternary, a filter's five fields",
        table: "I.filter",
        kind: 5,
        entries: 500,
        make: filter,
    },
    Case {
        name: "ternary, a filter's five fields",
        table: "I.filter",
        kind: 5,
        entries: 4_000,
        make: filter,
    },
];

/// Rules over two addresses, a protocol and two port ranges.
fn filter(n: &mut Numbers) -> (EntryKey, Key) {
    let mut masked = |value: u128, width: u32| {
        let mask = match n.below(4) {
            0 => 0,
            1 => (1 << width) - 1,
            _ => ((1u128 << width) - 1) & !((1u128 << n.below(u64::from(width))) - 1),
        };
        Match::Ternary {
            value: value & mask,
            mask,
        }
    };
    let (a, b) = (0x0a00_0001_u128 << 3, 0xc0a8_0101_u128);
    let (first, second) = (masked(a, 32), masked(b, 32));
    let low = n.below(60_000) as u16;
    let high = if n.below(2) == 0 {
        low
    } else {
        low + n.below(5_000) as u16
    };
    let matches = vec![
        first,
        second,
        Match::Optional((n.below(3) > 0).then(|| u128::from(n.below(3)))),
        Match::Range {
            low: 0,
            high: 0xffff,
        },
        Match::Range {
            low: u128::from(low),
            high: u128::from(high),
        },
    ];
    let key = EntryKey {
        matches,
        priority: 1 + n.below(1000) as i32,
    };
    let probe = Key {
        a,
        b,
        c: n.below(3) as u16,
        d: low,
        ..Key::default()
    };
    (key, probe)
}

fn main() {
    println!(
        "entries  table                                 write/s   delete/s   longest write  lookup"
    );
    for case in CASES {
        let mut numbers = Numbers(case.entries as u64);
        let (mut keys, mut frames) = (Vec::new(), Vec::new());
        while keys.len() < case.entries {
            let (key, mut probe) = (case.make)(&mut numbers);
            probe.kind = case.kind;
            keys.push(key);
            frames.push(probe.frame());
        }
        frames.truncate(FRAMES);
        let (mut writes, mut deletes) = (0f64, 0f64);
        let mut took = vec![u128::MAX; keys.len()];
        let (mut lookup, mut count) = (0.0, 0);
        for fill in 0..FILLS {
            let mut p = pipeline();
            let table = p.program().table(case.table).expect("it has the table");
            let empty = if fill == 0 {
                packets(&mut p, &frames)
            } else {
                0.0
            };
            let (written, seconds) = write(&mut p, table, &keys, &frames[0], &mut took);
            writes = writes.max(written.len() as f64 / seconds);
            count = written.len();
            if fill == 0 {
                lookup = packets(&mut p, &frames) - empty;
            }
            let begin = Instant::now();
            for key in &written {
                p.delete(table, key).expect("it is there");
            }
            deletes = deletes.max(count as f64 / begin.elapsed().as_secs_f64());
        }
        println!(
            "{count:7}  {:36} {writes:9.0}  {deletes:9.0}  {:9.1} us  {lookup:6.1} ns",
            case.name,
            took.iter().max().copied().unwrap_or(0) as f64 / 1000.0,
        );
    }
}
