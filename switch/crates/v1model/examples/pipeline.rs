// SPDX-License-Identifier: Apache-2.0
//! Measures the in-process pipeline: `cargo run --release --example pipeline
//! -- cm.json [MODEMS RULES]`. Upstream UDP and TCP frames through ingress and
//! egress of a modem with 32 service flows and 5 classifiers, beside so many
//! other modems of so many classifiers. Prints ns per packet.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use v1model::*;

const SERVICE_FLOWS: u128 = 32;

fn insert(
    p: &mut Pipeline,
    table: TableId,
    key: &EntryKey,
    action: &ActionCall,
) -> Result<(), ControlError> {
    let action = action.clone().into();
    p.insert(0, table, key, &action, &EntryOptions::default())
}

fn main() {
    let path = std::env::args()
        .nth(1)
        .expect("usage: pipeline PROGRAM.json [MODEMS RULES]");
    let number = |n| std::env::args().nth(n).map(|words| words.parse());
    let [modems, rules] = [2, 3].map(|n| number(n).unwrap_or(Ok(0)).expect("a number"));
    let json = std::fs::read(&path).expect("the program cannot be read");
    let program = Arc::new(Program::load(&json).unwrap_or_else(|e| panic!("{path}: {e}")));
    let mut pipeline = Pipeline::new(program, 1);
    provision(&mut pipeline, modems, rules);

    let mut packet = Packet::new();
    let mut out = Vec::new();
    for (name, frame) in [
        ("udp 60", frame(17, 60)),
        ("udp 200", frame(17, 200)),
        ("tcp 1514", frame(6, 1514)),
    ] {
        let mut best = f64::MAX;
        let rounds = 400_000u64;
        for _ in 0..5 {
            let start = Instant::now();
            for round in 0..rounds {
                let now = round * 10_000;
                if let Fate::Unicast { port } = pipeline.ingress(now, 2, &frame, &mut packet).fate {
                    pipeline.mark_enqueued(now, 0, &mut packet);
                    let metadata = EgressMetadata {
                        port,
                        ..EgressMetadata::default()
                    };
                    black_box(pipeline.egress(now, &metadata, &mut packet, &mut out));
                } else {
                    panic!("the frame was dropped");
                }
            }
            best = best.min(start.elapsed().as_nanos() as f64 / rounds as f64);
        }
        println!("{name}: {best:.0} ns per packet");
    }
}

fn frame(protocol: u8, len: usize) -> Vec<u8> {
    let mut f = vec![0x02, 0, 0, 0, 1, 1, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00];
    f.extend([0x45, 0]);
    f.extend(((len - 14) as u16).to_be_bytes());
    f.extend([
        0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 11, 10, 0, 0, 101,
    ]);
    f.extend(40000u16.to_be_bytes());
    f.extend(5031u16.to_be_bytes());
    f.resize(len, 0);
    f
}

fn call(p: &Pipeline, table: TableId, action: &str, args: &[u128]) -> ActionCall {
    let action = p
        .program()
        .table_action(table, action)
        .expect("the action exists");
    ActionCall {
        action,
        args: args.to_vec(),
    }
}

fn provision(p: &mut Pipeline, modems: u128, rules: u128) {
    let program = p.program().clone();
    let find = |suffix: &str| {
        let at = program
            .tables()
            .iter()
            .position(|t| t.name.ends_with(suffix));
        let at = at.unwrap_or_else(|| panic!("no table {suffix}"));
        (
            TableId(at as u32),
            program.tables()[at]
                .name
                .strip_suffix(suffix)
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let exact = |values: &[u128]| EntryKey {
        matches: values.iter().copied().map(Match::Exact).collect(),
        priority: 0,
    };

    let (interface, scope) = find(".interface");
    for port in 1..=4u128 {
        // Of modem 1, but for the RF port.
        let near = u128::from(port != 1);
        let args = [port, near, near];
        let action = call(p, interface, &format!("{scope}.provision"), &args);
        insert(p, interface, &exact(&[port]), &action).unwrap();
    }
    let (station, scope) = find(".station");
    let action = call(p, station, &format!("{scope}.forward"), &[1, 1, 1]);
    insert(p, station, &exact(&[1, 0x0200_0000_0101]), &action).unwrap();

    let (classifier, scope) = find(".classifier");
    let keys = program.tables()[classifier.0 as usize].keys.clone();
    for rule in 1..=5u16 {
        let matches = keys
            .iter()
            .map(|k| match (k.kind, k.name.as_str()) {
                (MatchKind::Exact, _) => Match::Exact(1),
                (MatchKind::Ternary, "ip_protocol") => Match::Ternary {
                    value: 17,
                    mask: 0xff,
                },
                (MatchKind::Ternary, "ipv4_dst") if rule < 5 => Match::Ternary {
                    value: 0x0a00_0000 | u128::from(rule),
                    mask: 0xffff_ffff,
                },
                (MatchKind::Range, "l4_dst_port") => Match::Range {
                    low: 5000,
                    high: 6000,
                },
                (MatchKind::Range, _) => Match::Range {
                    low: 0,
                    high: (1 << k.width) - 1,
                },
                _ => Match::Ternary { value: 0, mask: 0 },
            })
            .collect();
        let key = EntryKey {
            matches,
            priority: i32::from(10 - rule),
        };
        let action = call(
            p,
            classifier,
            &format!("{scope}.set_service_flow"),
            &[u128::from(rule) + 1],
        );
        insert(p, classifier, &key, &action).unwrap();
    }
    let set = call(p, classifier, &format!("{scope}.set_service_flow"), &[1]);
    for modem in 2..2 + modems {
        for rule in 0..rules {
            let matches = keys
                .iter()
                .map(|k| match (k.kind, k.name.as_str()) {
                    (MatchKind::Exact, _) => Match::Exact(modem),
                    (MatchKind::Range, "l4_dst_port") => Match::Range {
                        low: 5000 + rule,
                        high: 6000 + rule,
                    },
                    (MatchKind::Range, _) => Match::Range {
                        low: 0,
                        high: (1 << k.width) - 1,
                    },
                    _ => Match::Ternary { value: 0, mask: 0 },
                })
                .collect();
            let priority = 100 + rule as i32;
            insert(p, classifier, &EntryKey { matches, priority }, &set).unwrap();
        }
    }

    let (primary, scope) = find(".primary");
    let action = call(p, primary, &format!("{scope}.set_primary"), &[1]);
    insert(p, primary, &exact(&[1]), &action).unwrap();

    let (queue, scope) = find(".service_flow");
    let (bucket, bucket_scope) = find(".msr_bucket");
    for sf in 1..=SERVICE_FLOWS {
        let never = u128::from(u32::MAX);
        let args = [1, sf, 0, 625_000, 1522, 1, 0, 0, 10_000, never, 0xff, 0];
        let action = call(p, queue, &format!("{scope}.set_queue"), &args);
        insert(p, queue, &exact(&[sf]), &action).unwrap();
        let action = call(
            p,
            bucket,
            &format!("{bucket_scope}.set_bucket"),
            &[20_000_000, 500_000],
        );
        insert(p, bucket, &exact(&[sf]), &action).unwrap();
    }
    // The controller is alive for all of the run, and has set a probability, so
    // that the whole data path of DOCSIS-PIE runs.
    let set = |p: &mut Pipeline, name: &str, value: u128| {
        let register = program
            .register(name)
            .unwrap_or_else(|| panic!("no register {name}"));
        p.set_register(register, None, value).unwrap();
    };
    set(p, "controller_heartbeat", 1);
    set(p, "aqm_drop_prob", 1 << 20);
    set(p, "aqm_control_state", 2);
}
