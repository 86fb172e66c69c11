// SPDX-License-Identifier: Apache-2.0
//! Nothing is allocated per packet once the buffers have grown.

mod common;

use common::{call, insert, project, table};
use counting_allocator::{Counting, allocations};
use v1model::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn packets_do_not_allocate() {
    let mut p = project("cm.json");
    let key = |values: &[u128]| EntryKey {
        matches: values.iter().copied().map(Match::Exact).collect(),
        priority: 0,
    };
    let interface = table(&p, "interface");
    let provision = call(&p, interface, "provision", &[0, 0, 0]);
    insert(&mut p, interface, &key(&[1]), &provision).unwrap();
    let station = table(&p, "station");
    let forward = call(&p, station, "forward", &[2, 0, 0]);
    insert(&mut p, station, &key(&[0, 0x0202_0202_0202]), &forward).unwrap();

    let mut frame = vec![2u8; 12];
    frame.extend([0x86, 0xdd, 0x60]);
    frame.resize(1514, 0);
    // An answered request rebuilds a header.
    let request = vec![1u8; 45];
    let mut packet = Packet::new();
    let mut out = Vec::new();
    let mut round = |p: &mut Pipeline| {
        for (port, frame) in [(1, &frame), (255, &request)] {
            let Fate::Unicast { port } = p.ingress(0, port, frame, &mut packet).fate else {
                panic!("dropped");
            };
            let metadata = EgressMetadata {
                port,
                ..EgressMetadata::default()
            };
            assert_eq!(
                p.egress(0, &metadata, &mut packet, &mut out).fate,
                EgressFate::Send
            );
        }
    };
    // Buffers change hands: each grows when it first gets the longer frame.
    (0..8).for_each(|_| round(&mut p));
    let before = allocations();
    (0..100).for_each(|_| round(&mut p));
    assert_eq!(allocations() - before, 0);
}

#[test]
fn nor_do_stacks_and_checksums() {
    // Labels and options; an IPv4 packet whose UDP checksum is computed.
    let mut labels = vec![3, 1, 2, 4, 7, 2, 1, 2, 3, 1, 7];
    labels.resize(200, 9);
    let mut udp = vec![2; 12];
    udp.extend([8, 0, 0x46, 0, 0, 200, 0, 0, 0, 0, 64, 17]);
    udp.resize(230, 5);
    for (program, frame) in [("stacks.json", labels), ("checksum.json", udp)] {
        let mut p = common::pipeline(program);
        let mut packet = Packet::new();
        let mut out = Vec::new();
        let mut round = || {
            p.ingress(0, 1, &frame, &mut packet);
            let metadata = EgressMetadata::default();
            let outcome = p.egress(0, &metadata, &mut packet, &mut out);
            assert_eq!(outcome.fate, EgressFate::Send);
        };
        round();
        let before = allocations();
        (0..100).for_each(|_| round());
        assert_eq!(allocations() - before, 0, "{program}");
    }
}

/// Packets of every first byte from 0 to 7 through ingress: nothing allocates.
fn lookups_do_not_allocate(p: &mut Pipeline, now_ns: u64) {
    let mut packet = Packet::new();
    let mut round = || {
        for kind in 0..8 {
            let mut frame = [0; 100];
            frame[0] = kind;
            p.ingress(now_ns, 1, &frame, &mut packet);
        }
    };
    round();
    let before = allocations();
    (0..100).for_each(|_| round());
    assert_eq!(allocations() - before, 0);
}

#[test]
fn nor_do_lookups_of_any_kind() {
    let mut p = common::pipeline("scale.json");
    for (name, matches) in [
        ("exact_narrow", vec![Match::Exact(0)]),
        ("exact_wide", vec![Match::Exact(0), Match::Exact(0)]),
        (
            "lpm_wide",
            vec![Match::Lpm {
                value: 0,
                prefix_len: 77,
            }],
        ),
        (
            "ranges",
            vec![Match::Range { low: 0, high: 9 }, Match::Exact(0)],
        ),
    ] {
        let id = table(&p, name);
        let set = call(&p, id, "set", &[1]);
        let priority = i32::from(name == "ranges");
        insert(&mut p, id, &EntryKey { matches, priority }, &set).unwrap();
    }
    lookups_do_not_allocate(&mut p, 1);
}

#[test]
fn nor_do_selectors_meters_and_idle_timeouts() {
    let exact = |value| EntryKey {
        matches: vec![Match::Exact(value)],
        priority: 0,
    };
    let mut p = common::pipeline("profiles.json");
    let id = table(&p, "net");
    let weighted = |value| WeightedCall {
        call: call(&p, id, "set_net", &[value, 0]),
        weight: 3,
        watch_port: None,
    };
    let shot = EntryAction::OneShot(vec![weighted(1), weighted(2)]);
    p.insert(0, id, &exact(0), &shot, &EntryOptions::default())
        .unwrap();
    lookups_do_not_allocate(&mut p, 1);

    let mut p = common::pipeline("meters.json");
    let config = Some(MeterConfig {
        cir: 10,
        cburst: 1,
        pir: 20,
        pburst: 2,
    });
    p.set_meter(MeterId(0), None, config).unwrap();
    let id = table(&p, "station");
    let read = call(&p, id, "read_meter", &[]);
    insert(&mut p, id, &exact(0), &read).unwrap();
    p.set_direct_meter(id, Some(&exact(0)), config).unwrap();
    let id = table(&p, "ageing");
    let action: EntryAction = call(&p, id, "set_aged", &[5]).into();
    let key = EntryKey {
        matches: vec![Match::Ternary { value: 0, mask: 0 }],
        priority: 1,
    };
    let options = EntryOptions {
        idle_timeout_ns: 5,
        metadata: Vec::new(),
    };
    p.insert(0, id, &key, &action, &options).unwrap();
    lookups_do_not_allocate(&mut p, 1_000_000_000);
}

/// What `Pipeline::kept_bytes` says of entries is no less than what they take, and not much more.
#[test]
fn entries_take_no_more_memory_than_is_counted() {
    const ENTRIES: u128 = 2_000;
    // Lists have all their room from the start, so entries take only what is beside these.
    let wide = |n: u128| n << 100 | n;
    let exact = Match::Exact;
    let lpm = |value, prefix_len| Match::Lpm { value, prefix_len };
    let range = |n: u128| Match::Range {
        low: n << 64,
        high: n << 66,
    };
    type Key<'k> = &'k dyn Fn(u128) -> Vec<Match>;
    let kinds: [(&str, Key<'_>); 5] = [
        ("exact_narrow", &|n| vec![exact(n)]),
        ("exact_wide", &|n| vec![exact(wide(n)), exact(n)]),
        ("lpm_narrow", &|n| vec![lpm(n << 16, 20)]),
        ("lpm_wide", &|n| vec![lpm(n << 110, 20)]),
        ("ranges", &|n| vec![range(n), exact(n)]),
    ];
    for (name, matches) in kinds {
        for metadata in [0, 100] {
            let mut p = common::pipeline("scale.json");
            let id = table(&p, name);
            let set = call(&p, id, "set", &[1]).into();
            let options = EntryOptions {
                idle_timeout_ns: 0,
                metadata: vec![1; metadata],
            };
            let key = |n: u128| EntryKey {
                matches: matches(n),
                priority: i32::from(name == "ranges"),
            };
            let (held, kept) = (counting_allocator::held(), p.kept_bytes());
            for n in 0..ENTRIES {
                p.insert(0, id, &key(n), &set, &options).unwrap();
            }
            let takes = counting_allocator::held() - held;
            let counted = (p.kept_bytes() - kept) as i64;
            eprintln!("{name} {metadata}: {takes} of {counted}");
            assert!(takes <= counted, "{name}: {takes} bytes, {counted} counted");
            assert!(counted < 800 * ENTRIES as i64, "{name}: {counted}");
            // Places stay, and what was beside them goes.
            for n in 0..ENTRIES {
                p.modify(0, id, &key(n), &set, &EntryOptions::default())
                    .unwrap();
            }
            let without = p.kept_bytes() as i64;
            assert!(kept as i64 + counted - without >= ENTRIES as i64 * metadata as i64);
            for n in 0..ENTRIES {
                p.delete(id, &key(n)).unwrap();
            }
            assert_eq!(p.kept_bytes() as i64, without);
            for n in 0..ENTRIES {
                p.insert(0, id, &key(n), &set, &options).unwrap();
            }
            assert_eq!(p.kept_bytes() as i64, kept as i64 + counted);
        }
    }
}

/// The same of groups, members and sessions.
#[test]
fn groups_take_no_more_memory_than_is_counted() {
    let replicas: Vec<Replica> = (0..1000)
        .map(|instance| Replica { instance, port: 1 })
        .collect();
    let mut p = common::pipeline("scale.json");
    let (held, kept) = (counting_allocator::held(), p.kept_bytes());
    for id in 1..200 {
        p.multicast_mut().insert(id, &replicas).unwrap();
        let session = CloneSession {
            replicas: replicas.clone(),
            ..CloneSession::default()
        };
        p.clone_sessions_mut().insert(id, &session).unwrap();
    }
    let takes = counting_allocator::held() - held;
    let counted = (p.kept_bytes() - kept) as i64;
    assert!(takes <= counted, "{takes} bytes, {counted} counted");
    assert!(counted < 2 * takes, "{takes} bytes, {counted} counted");
    for id in 1..200 {
        p.multicast_mut().modify(id, &replicas[..1]).unwrap();
        p.clone_sessions_mut()
            .modify(id, &CloneSession::default())
            .unwrap();
    }
    assert!(p.kept_bytes() - kept < 200 * 300);
    for id in 1..200 {
        p.multicast_mut().delete(id).unwrap();
        p.clone_sessions_mut().delete(id).unwrap();
    }
    assert_eq!(p.kept_bytes(), kept);

    let mut p = common::pipeline("profiles.json");
    let id = table(&p, "net");
    let weighted = |value| WeightedCall {
        call: call(&p, id, "set_net", &[value, 0]),
        weight: 1,
        watch_port: None,
    };
    let shot = EntryAction::OneShot((0..10).map(weighted).collect());
    let key = EntryKey {
        matches: vec![Match::Exact(0)],
        priority: 0,
    };
    let options = EntryOptions::default();
    p.insert(0, id, &key, &shot, &options).unwrap();
    p.delete(id, &key).unwrap();
    // The places are there, so that an entry of the same length is as good as free.
    let (held, kept) = (counting_allocator::held(), p.kept_bytes());
    for _ in 0..1000 {
        p.insert(0, id, &key, &shot, &options).unwrap();
        let takes = counting_allocator::held() - held;
        let counted = (p.kept_bytes() - kept) as i64;
        assert!((1..=counted + 500).contains(&takes), "{takes} {counted}");
        p.delete(id, &key).unwrap();
    }
    assert_eq!(p.kept_bytes(), kept);
}
