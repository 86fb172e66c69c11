// SPDX-License-Identifier: Apache-2.0
//! Table lookups against a naive search, and what the control plane may do.

use crate::common::{Reader, call, insert, modify, pass, pipeline, table};
use proptest::prelude::*;
use v1model::*;

/// The fields of the key header, as in tables.p4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    a: u128,
    b: u128,
    address: u128,
    wide: u128,
    port: u128,
}

fn frame(k: &Key) -> Vec<u8> {
    let mut f = Vec::new();
    f.extend((k.a as u16).to_be_bytes());
    f.push(k.b as u8);
    f.extend((k.address as u32).to_be_bytes());
    f.extend(k.wide.to_be_bytes());
    f.extend((k.port as u16).to_be_bytes());
    f
}

/// exact_one, exact_many, lpm, wide_lpm, mixed, const_entries, chosen.
fn found(p: &mut Pipeline, k: &Key) -> [u16; 7] {
    let (_, out) = pass(p, 1, &frame(k)).expect("forwarded");
    let mut r = Reader(&out);
    std::array::from_fn(|i| r.number(if i < 6 { 2 } else { 1 }) as u16)
}

fn key() -> impl Strategy<Value = Key> {
    // Few values, so that entries and packets meet.
    let wide = prop_oneof![
        Just(0u128),
        Just(1 << 127),
        Just(3 << 126),
        Just(7),
        any::<u128>()
    ];
    (0u128..4, 0u128..3, 0u32..8, wide, 0u128..8).prop_map(|(a, b, address, wide, port)| Key {
        a,
        b,
        address: u128::from(address.rotate_right(3)),
        wide,
        port,
    })
}

fn ones(width: u16) -> u128 {
    if width == 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

fn prefix(width: u16, len: u16) -> u128 {
    ones(width) & !ones(width - len)
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

fn lpm(width: u16, value: u128, len: u16) -> Match {
    let prefix_len = len.min(width);
    Match::Lpm {
        value: value & prefix(width, prefix_len),
        prefix_len,
    }
}

/// Entries for the five tables that take them, made from a key.
fn entry() -> impl Strategy<Value = (usize, EntryKey)> {
    let masks = (
        0u128..4,
        any::<bool>(),
        0u16..129,
        any::<bool>(),
        0u128..4,
        1i32..4,
    );
    (key(), 0usize..5, masks).prop_map(|(k, table, (mask, some, len, full, span, priority))| {
        let wide_mask = if full { u128::MAX } else { 1 << 127 };
        let matches = match table {
            0 => vec![Match::Exact(k.a)],
            1 => vec![Match::Exact(k.a), Match::Exact(k.wide)],
            2 => vec![Match::Exact(k.b), lpm(32, k.address, len)],
            3 => vec![lpm(128, k.wide, len)],
            _ => vec![
                Match::Ternary {
                    value: k.a & mask,
                    mask,
                },
                Match::Optional(some.then_some(k.b)),
                lpm(32, k.address, len),
                Match::Ternary {
                    value: k.wide & wide_mask,
                    mask: wide_mask,
                },
                Match::Range {
                    low: k.port,
                    high: k.port + span,
                },
            ],
        };
        let priority = if table == 4 { priority } else { 0 };
        (table, EntryKey { matches, priority })
    })
}

const TABLES: [&str; 5] = ["exact_one", "exact_many", "lpm", "wide_lpm", "mixed"];

fn fields(table: usize, k: &Key) -> Vec<(u16, u128)> {
    match table {
        0 => vec![(16, k.a)],
        1 => vec![(16, k.a), (128, k.wide)],
        2 => vec![(8, k.b), (32, k.address)],
        3 => vec![(128, k.wide)],
        _ => vec![
            (16, k.a),
            (8, k.b),
            (32, k.address),
            (128, k.wide),
            (16, k.port),
        ],
    }
}

/// The best entry: by priority, then longest prefix, then age.
fn naive(entries: &[(usize, EntryKey, u16)], table: usize, k: &Key) -> Option<u16> {
    let mut best: Option<((i32, u16), u16)> = None;
    for (_, key, value) in entries.iter().filter(|(t, _, _)| *t == table) {
        let hit = key
            .matches
            .iter()
            .zip(fields(table, k))
            .all(|(m, (w, v))| holds(m, w, v));
        let length = key.matches.iter().find_map(|m| match m {
            Match::Lpm { prefix_len, .. } if table != 4 => Some(*prefix_len),
            _ => None,
        });
        let rank = (key.priority, length.unwrap_or(0));
        if hit && best.is_none_or(|(r, _)| rank > r) {
            best = Some((rank, *value));
        }
    }
    best.map(|(_, value)| value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn lookups_equal_a_naive_search(
        wanted in prop::collection::vec(entry(), 0..60),
        deleted in prop::collection::vec(0usize..60, 0..15),
        keys in prop::collection::vec(key(), 1..40),
    ) {
        let mut p = pipeline("tables.json");
        let mut entries: Vec<(usize, EntryKey, u16)> = Vec::new();
        for (value, (at, key)) in wanted.iter().enumerate() {
            let id = table(&p, TABLES[*at]);
            let action = call(&p, id, &format!("set_{}", TABLES[*at]), &[value as u128 + 1]);
            let new = !entries.iter().any(|(t, k, _)| t == at && k == key);
            match insert(&mut p, id, key, &action) {
                Ok(()) => {
                    prop_assert!(new);
                    entries.push((*at, key.clone(), value as u16 + 1));
                }
                Err(e) => {
                    prop_assert_eq!(e.code(), Code::AlreadyExists);
                    prop_assert!(!new);
                }
            }
        }
        for at in deleted {
            if at < entries.len() {
                let (t, key, _) = entries.remove(at);
                let id = table(&p, TABLES[t]);
                prop_assert!(p.delete(id, &key).is_ok());
                prop_assert_eq!(p.delete(id, &key).unwrap_err().code(), Code::NotFound);
            }
        }
        for k in keys {
            let found = found(&mut p, &k);
            prop_assert_eq!(found[0], naive(&entries, 0, &k).unwrap_or(0xffff), "{:?}", k);
            for (t, got) in found.iter().enumerate().take(5).skip(1) {
                prop_assert_eq!(*got, naive(&entries, t, &k).unwrap_or(0), "{} {:?}", TABLES[t], k);
            }
            let lpm_hit = naive(&entries, 2, &k).is_some();
            let mixed_hit = naive(&entries, 4, &k).is_some();
            prop_assert_eq!(found[6], u16::from(lpm_hit) | if mixed_hit { 2 } else { 4 });
        }
    }
}

const SOME: Key = Key {
    a: 1,
    b: 2,
    address: 3,
    wide: 4,
    port: 5,
};

fn exact(value: u128) -> EntryKey {
    EntryKey {
        matches: vec![Match::Exact(value)],
        priority: 0,
    }
}

#[test]
fn const_entries_are_tried_in_order_and_cannot_be_changed() {
    let mut p = pipeline("tables.json");
    let with = |a, port| Key { a, port, ..SOME };
    assert_eq!(found(&mut p, &with(0x0123, 15))[5], 1);
    assert_eq!(found(&mut p, &with(0x0123, 9))[5], 2);
    assert_eq!(found(&mut p, &with(0x0223, 20))[5], 3);
    assert_eq!(found(&mut p, &with(0x0223, 21))[5], 0);

    let id = table(&p, "const_entries");
    let entries = p.entries(id).unwrap();
    assert_eq!(entries.len(), 3);
    let action = entries[0].action.as_call().unwrap().clone();
    assert_eq!(
        insert(&mut p, id, &entries[0].key, &action)
            .unwrap_err()
            .code(),
        Code::PermissionDenied
    );
    assert_eq!(
        modify(&mut p, id, &entries[0].key, &action)
            .unwrap_err()
            .code(),
        Code::PermissionDenied
    );
    assert_eq!(
        p.delete(id, &entries[0].key).unwrap_err().code(),
        Code::PermissionDenied
    );
}

#[test]
fn the_default_entry_can_be_set_and_reset_unless_const() {
    let mut p = pipeline("tables.json");
    let id = table(&p, "exact_one");
    assert_eq!(found(&mut p, &SOME)[0], 0xffff);
    assert!(p.default_entry(id).unwrap().1);
    let action = call(&p, id, "set_exact_one", &[7]);
    p.set_default(id, Some(&action.clone().into())).unwrap();
    assert_eq!(p.default_entry(id).unwrap(), (action.into(), false));
    assert_eq!(found(&mut p, &SOME)[0], 7);
    p.set_default(id, None).unwrap();
    assert_eq!(found(&mut p, &SOME)[0], 0xffff);

    let fixed = table(&p, "wide_lpm");
    let action = call(&p, fixed, "NoAction", &[]);
    assert_eq!(
        p.set_default(fixed, Some(&action.clone().into()))
            .unwrap_err()
            .code(),
        Code::PermissionDenied
    );
}

#[test]
fn direct_counters_count_hits_and_misses_and_survive_a_modify() {
    let mut p = pipeline("tables.json");
    let id = table(&p, "mixed");
    let key = EntryKey {
        matches: vec![
            Match::Ternary {
                value: 1,
                mask: 0xffff,
            },
            Match::Optional(None),
            Match::Lpm {
                value: 0,
                prefix_len: 0,
            },
            Match::Ternary { value: 0, mask: 0 },
            Match::Range {
                low: 0,
                high: 0xffff,
            },
        ],
        priority: 1,
    };
    let set = call(&p, id, "set_mixed", &[9]);
    insert(&mut p, id, &key, &set).unwrap();
    found(&mut p, &SOME);
    found(&mut p, &Key { a: 2, ..SOME });
    let other = call(&p, id, "other", &[]);
    modify(&mut p, id, &key, &other).unwrap();
    found(&mut p, &SOME);
    let length = frame(&SOME).len() as u64;
    let twice = CounterData {
        packets: 2,
        bytes: 2 * length,
    };
    assert_eq!(p.direct_counter(id, Some(&key)).unwrap(), twice);
    assert_eq!(p.entry(id, &key).unwrap().counter, Some(twice));
    let once = CounterData {
        packets: 1,
        bytes: length,
    };
    assert_eq!(p.direct_counter(id, None).unwrap(), once);
    p.set_direct_counter(id, Some(&key), CounterData::default())
        .unwrap();
    assert_eq!(
        p.direct_counter(id, Some(&key)).unwrap(),
        CounterData::default()
    );
    let no_counter = table(&p, "lpm");
    assert_eq!(
        p.direct_counter(no_counter, None).unwrap_err().code(),
        Code::NotFound
    );
}

#[test]
fn a_table_takes_as_many_entries_as_its_size() {
    let mut p = pipeline("tables.json");
    let id = table(&p, "exact_one");
    for value in 0..64 {
        let action = call(&p, id, "set_exact_one", &[value]);
        insert(&mut p, id, &exact(value), &action).unwrap();
    }
    let action = call(&p, id, "set_exact_one", &[1]);
    assert_eq!(
        insert(&mut p, id, &exact(64), &action).unwrap_err().code(),
        Code::ResourceExhausted
    );
    p.delete(id, &exact(3)).unwrap();
    insert(&mut p, id, &exact(64), &action).unwrap();
    let order: Vec<EntryKey> = p.entries(id).unwrap().into_iter().map(|e| e.key).collect();
    assert_eq!(order.last(), Some(&exact(64)));
    assert!(!order.contains(&exact(3)));
}

#[test]
fn matches_and_actions_that_do_not_fit_are_refused() {
    let mut p = pipeline("tables.json");
    let id = table(&p, "exact_one");
    let good = call(&p, id, "set_exact_one", &[1]);
    let code = |p: &mut Pipeline, key: EntryKey, action: &ActionCall| {
        insert(p, id, &key, action).unwrap_err().code()
    };
    assert_eq!(code(&mut p, exact(0x1_0000), &good), Code::OutOfRange);
    let priority = EntryKey {
        priority: 1,
        ..exact(1)
    };
    assert_eq!(code(&mut p, priority, &good), Code::InvalidArgument);
    let two = EntryKey {
        matches: vec![Match::Exact(1); 2],
        priority: 0,
    };
    assert_eq!(code(&mut p, two, &good), Code::InvalidArgument);
    let ternary = EntryKey {
        matches: vec![Match::Ternary { value: 1, mask: 1 }],
        priority: 0,
    };
    assert_eq!(code(&mut p, ternary, &good), Code::InvalidArgument);
    let wide = ActionCall {
        args: vec![0x1_0000],
        ..good.clone()
    };
    assert_eq!(code(&mut p, exact(1), &wide), Code::OutOfRange);
    let many = ActionCall {
        args: vec![1, 2],
        ..good.clone()
    };
    assert_eq!(code(&mut p, exact(1), &many), Code::InvalidArgument);
    let foreign = call(&p, table(&p, "lpm"), "set_lpm", &[1]);
    assert_eq!(code(&mut p, exact(1), &foreign), Code::InvalidArgument);
    assert_eq!(p.entries(TableId(9999)).unwrap_err().code(), Code::NotFound);

    let lpm_table = table(&p, "wide_lpm");
    let action = call(&p, lpm_table, "set_wide_lpm", &[1]);
    let behind = EntryKey {
        matches: vec![Match::Lpm {
            value: 1,
            prefix_len: 8,
        }],
        priority: 0,
    };
    assert_eq!(
        insert(&mut p, lpm_table, &behind, &action)
            .unwrap_err()
            .code(),
        Code::InvalidArgument
    );
    assert_eq!(p.entries(id).unwrap(), []);
}

#[test]
fn entries_that_p4_gives_are_numbered_as_p4runtime_has_it() {
    let p = pipeline("initial_entries.json");
    let priorities = |name| {
        let entries = p.entries(table(&p, name)).unwrap();
        let priorities = entries.iter().map(|entry| entry.key.priority);
        priorities.collect::<Vec<_>>()
    };
    assert_eq!(priorities("exact_one"), [0, 0]);
    assert_eq!(priorities("ordered"), [3, 2, 1]);
    // Annotated with 30, 10 and 20, where the lowest wins.
    assert_eq!(priorities("annotated"), [1, 21, 11]);
    assert_eq!(priorities("fixed"), [2, 1]);
}

/// A new program's entries are compared with the old one's, each of which is looked up. If that
/// took longer with each entry, those that a table may have would take hours.
#[test]
fn entries_that_p4_gives_are_found_by_their_keys() {
    let text = include_str!("../programs/initial_entries.json");
    let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
    let tables = json["pipelines"][0]["tables"].as_array_mut().unwrap();
    let given = tables
        .iter_mut()
        .find(|t| t["name"].as_str().unwrap().ends_with("exact_one"))
        .unwrap();
    let entry = given["entries"][0].clone();
    let entries = (0..1 << 16).map(|n| {
        let mut entry = entry.clone();
        entry["match_key"][0]["key"] = format!("0x{n:x}").into();
        entry
    });
    given["entries"] = entries.rev().collect();
    let program = Program::load(json.to_string().as_bytes()).unwrap();
    let table = |name: &str| {
        let at = program.tables().iter().position(|t| t.name.ends_with(name));
        TableId(at.unwrap() as u32)
    };
    let id = table("exact_one");
    for value in 0..1 << 16 {
        let found = program.initial_entry(id, &exact(value)).unwrap();
        assert_eq!(found, (1 << 16) - 1 - value as usize);
        assert_eq!(program.initial_entries(id)[found].0, exact(value));
    }
    let other = |key: EntryKey| program.initial_entry(id, &key);
    let priority = EntryKey {
        priority: 1,
        ..exact(7)
    };
    assert_eq!((other(exact(1 << 16)), other(priority)), (None, None));
    let ordered = program.initial_entries(table("ordered"));
    for (at, (key, _)) in ordered.iter().enumerate() {
        assert_eq!(program.initial_entry(table("ordered"), key), Some(at));
    }
}

#[test]
fn entries_that_p4_gives_can_be_changed_once_they_are_known_not_to_be_const() {
    let mut p = pipeline("initial_entries.json");
    let id = table(&p, "exact_one");
    let set = call(&p, id, "set_exact", &[9]);
    let refused = |e: ControlError| e.code();
    let added = insert(&mut p, id, &exact(0x86dd), &set);
    assert_eq!(added.map_err(refused), Err(Code::PermissionDenied));

    p.unlock_entries(id, 4).unwrap();
    insert(&mut p, id, &exact(0x86dd), &set).unwrap();
    modify(&mut p, id, &exact(0x0800), &set).unwrap();
    p.delete(id, &exact(0x0806)).unwrap();
    let mut found = |kind: u16| {
        let frame = [&kind.to_be_bytes()[..], &[0; 6]].concat();
        let (_, out) = crate::common::pass(&mut p, 0, &frame).unwrap();
        out[0]
    };
    assert_eq!([0x86dd, 0x0800, 0x0806].map(&mut found), [9, 9, 0]);
    // The JSON has room for the entries of P4 and no more.
    insert(&mut p, id, &exact(1), &set).unwrap();
    insert(&mut p, id, &exact(2), &set).unwrap();
    let full = insert(&mut p, id, &exact(3), &set);
    assert_eq!(full.map_err(refused), Err(Code::ResourceExhausted));
    // One pipeline's are as P4 gives them, whatever another one's are.
    let other = Pipeline::new(std::sync::Arc::clone(p.program()), 0);
    assert_eq!(other.entries(id).unwrap().len(), 2);
}
