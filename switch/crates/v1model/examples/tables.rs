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

/// Packets per measurement.
const PACKETS: u32 = 400_000;

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

/// Nanoseconds of a packet through ingress: the mean, and the longest.
fn packets(p: &mut Pipeline, frames: &[Vec<u8>]) -> f64 {
    let mut packet = Packet::new();
    let mut best = f64::MAX;
    for _ in 0..3 {
        let begin = Instant::now();
        for at in 0..PACKETS {
            p.ingress(
                u64::from(at),
                1,
                &frames[at as usize % frames.len()],
                &mut packet,
            );
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(PACKETS));
    }
    best
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
        let mut p = pipeline();
        let table = p.program().table(case.table).expect("it has the table");
        let action = p
            .program()
            .table_action(table, "I.set")
            .expect("it has the action");
        let action: EntryAction = ActionCall {
            action,
            args: vec![3],
        }
        .into();
        let options = EntryOptions::default();
        let mut numbers = Numbers(case.entries as u64);
        let mut keys = Vec::new();
        let mut frames = Vec::new();
        while keys.len() < case.entries {
            let (key, mut probe) = (case.make)(&mut numbers);
            probe.kind = case.kind;
            keys.push(key);
            frames.push(probe.frame());
        }
        frames.truncate(4096);
        let empty = packets(&mut p, &frames);
        // A packet after each write: what a write puts off, the packet pays.
        let mut packet = Packet::new();
        let mut longest = 0;
        let mut written = Vec::new();
        let begin = Instant::now();
        for key in &keys {
            let start = Instant::now();
            if p.insert(0, table, key, &action, &options).is_ok() {
                written.push(key);
            }
            p.ingress(0, 1, &frames[0], &mut packet);
            longest = longest.max(start.elapsed().as_nanos());
        }
        let writes = keys.len() as f64 / begin.elapsed().as_secs_f64();
        let full = packets(&mut p, &frames);
        let begin = Instant::now();
        for key in &written {
            p.delete(table, key).expect("it is there");
            p.ingress(0, 1, &frames[0], &mut packet);
        }
        let deletes = written.len() as f64 / begin.elapsed().as_secs_f64();
        println!(
            "{:7}  {:36} {writes:9.0}  {deletes:9.0}  {:9.1} us  {:6.1} ns",
            written.len(),
            case.name,
            longest as f64 / 1000.0,
            full - empty
        );
    }
}
