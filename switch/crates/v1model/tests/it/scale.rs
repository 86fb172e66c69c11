// SPDX-License-Identifier: Apache-2.0
//! Tables of every kind under random insertions, changes and deletions: what
//! packets find is what a naive search finds.

use crate::common::{Reader, call, insert, modify, pass, pipeline, table};
use proptest::prelude::*;
use v1model::*;

/// The fields of the frame, as in scale.p4.
#[derive(Clone, Copy, Debug)]
struct Fields {
    a: u128,
    b: u128,
    c: u128,
    d: u128,
}

const TABLES: [&str; 6] = [
    "exact_narrow",
    "exact_wide",
    "lpm_narrow",
    "lpm_wide",
    "filter",
    "ranges",
];

/// The key of each table, field by field.
fn key_fields(table: usize, f: &Fields) -> Vec<u128> {
    let low = |value: u128, bits: u32| value & ((1 << bits) - 1);
    match table {
        0 => vec![low(f.a, 48)],
        1 => vec![f.a, f.c],
        2 => vec![low(f.a, 32)],
        3 => vec![f.a],
        4 => vec![low(f.a, 32), low(f.b, 32), low(f.c, 8), f.c, f.d],
        _ => vec![f.a, f.d],
    }
}

/// Widths of the keys' fields.
fn widths(table: usize) -> &'static [u16] {
    [
        [48].as_slice(),
        &[128, 16],
        &[32],
        &[128],
        &[32, 32, 8, 16, 16],
        &[128, 16],
    ][table]
}

fn ones(width: u16) -> u128 {
    u128::MAX >> (128 - width)
}

fn prefix(width: u16, length: u16) -> u128 {
    ones(width) & !ones(width).checked_shr(u32::from(length)).unwrap_or(0)
}

/// Values that meet, in upper bits, in lower bits, or in both.
fn value() -> impl Strategy<Value = u128> {
    (0u128..4, 0u128..6, 0u32..7).prop_map(|(high, low, shift)| {
        let spread = high << 126 | high << 40 | high << 29;
        spread ^ (low << (shift * 16)) ^ low
    })
}

fn fields() -> impl Strategy<Value = Fields> {
    (value(), value(), value(), value()).prop_map(|(a, b, c, d)| Fields {
        a,
        b,
        c: c & 0xffff,
        d: d & 0xffff,
    })
}

/// A match of the field's kind around a value.
fn match_for(kind: MatchKind, width: u16, value: u128, (x, y): (u16, u128)) -> Match {
    match kind {
        MatchKind::Exact => Match::Exact(value),
        MatchKind::Lpm => {
            let prefix_len = x % (width + 1);
            Match::Lpm {
                value: value & prefix(width, prefix_len),
                prefix_len,
            }
        }
        MatchKind::Ternary | MatchKind::Optional => {
            // p4c calls an optional field ternary.
            let mask = match x % 4 {
                0 => 0,
                1 => ones(width),
                2 => prefix(width, x % (width + 1)),
                _ => (y ^ (y << 7) ^ (y << 90)) & ones(width),
            };
            Match::Ternary {
                value: value & mask,
                mask,
            }
        }
        MatchKind::Range => {
            let low = value.saturating_sub(y);
            let high = match x % 3 {
                0 => value,
                1 => value.saturating_add(y << (x % 100)).min(ones(width)),
                _ => ones(width),
            };
            Match::Range {
                low: if x % 5 == 0 { 0 } else { low },
                high,
            }
        }
    }
}

fn holds(m: &Match, width: u16, value: u128) -> bool {
    match *m {
        Match::Exact(v) => v == value,
        Match::Lpm {
            value: v,
            prefix_len,
        } => value & prefix(width, prefix_len) == v,
        Match::Ternary { value: v, mask } => value & mask == v,
        Match::Range { low, high } => (low..=high).contains(&value),
        Match::Optional(v) => v.is_none_or(|v| v == value),
    }
}

struct Row {
    key: EntryKey,
    value: u16,
}

/// The value of the best entry: the longest prefix, else the highest priority,
/// else the oldest.
fn naive(rows: &[Row], widths: &[u16], fields: &[u128]) -> Option<u16> {
    let fits = |row: &&Row| {
        let mut matches = row.key.matches.iter().zip(widths).zip(fields);
        matches.all(|((m, width), value)| holds(m, *width, *value))
    };
    let rank = |row: &Row| {
        let lengths = row.key.matches.iter().map(|m| match m {
            Match::Lpm { prefix_len, .. } => i32::from(*prefix_len),
            _ => 0,
        });
        row.key.priority + lengths.sum::<i32>()
    };
    let mut best: Option<&Row> = None;
    for row in rows.iter().filter(fits) {
        if best.is_none_or(|best| rank(row) > rank(best)) {
            best = Some(row);
        }
    }
    best.map(|row| row.value)
}

fn found(p: &mut Pipeline, table: usize, f: &Fields) -> u16 {
    let mut frame = vec![table as u8 + 1];
    frame.extend(f.a.to_be_bytes());
    frame.extend(f.b.to_be_bytes());
    frame.extend((f.c as u16).to_be_bytes());
    frame.extend((f.d as u16).to_be_bytes());
    let (_, out) = pass(p, 1, &frame).expect("forwarded");
    let mut r = Reader(&out[33..]);
    r.number(2) as u16
}

type Step = (u8, Fields, Vec<(u16, u128)>, i32);

fn step() -> impl Strategy<Value = Step> {
    let shapes = prop::collection::vec((0u16..300, 0u128..40), 5);
    (0u8..10, fields(), shapes, 1i32..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_packets_find_is_what_a_naive_search_finds(
        which in 0usize..TABLES.len(),
        steps in prop::collection::vec(step(), 1..160),
    ) {
        let mut p = pipeline("scale.json");
        let id = table(&p, TABLES[which]);
        let schema = p.program().tables()[id.0 as usize].clone();
        let mut rows: Vec<Row> = Vec::new();
        for (at, (what, f, shapes, priority)) in steps.iter().enumerate() {
            let at = at as u16;
            let values = key_fields(which, f);
            let matches: Vec<Match> = schema.keys.iter().zip(&values).zip(shapes)
                .map(|((field, value), shape)| match_for(field.kind, field.width, *value, *shape))
                .collect();
            let key = EntryKey {
                matches,
                priority: if schema.needs_priority() { *priority } else { 0 },
            };
            let action = call(&p, id, "set", &[u128::from(at)]);
            let known = rows.iter().position(|row| row.key == key);
            match what {
                0..=5 => match (insert(&mut p, id, &key, &action), known) {
                    (Ok(()), None) => rows.push(Row { key, value: at }),
                    (Err(ControlError::EntryExists { .. }), Some(_)) => {}
                    other => prop_assert!(false, "{other:?}"),
                },
                6 | 7 if !rows.is_empty() => {
                    let row = rows.remove(usize::from(at) * 7 % rows.len());
                    p.delete(id, &row.key).unwrap();
                }
                8 if !rows.is_empty() => {
                    let place = usize::from(at) * 5 % rows.len();
                    modify(&mut p, id, &rows[place].key, &action).unwrap();
                    rows[place].value = at;
                }
                _ => prop_assert_eq!(p.delete(id, &key).is_ok(), known.is_some_and(|at| {
                    rows.remove(at);
                    true
                })),
            }
            for probe in [f, &steps[usize::from(at) / 2].1] {
                let wanted = naive(&rows, widths(which), &key_fields(which, probe));
                let wanted = wanted.unwrap_or(probe.c as u16);
                prop_assert_eq!(found(&mut p, which, probe), wanted);
            }
        }
        let read: Vec<EntryKey> = p.entries(id).unwrap().into_iter().map(|e| e.key).collect();
        let kept: Vec<EntryKey> = rows.into_iter().map(|row| row.key).collect();
        prop_assert_eq!(read, kept);
    }
}
