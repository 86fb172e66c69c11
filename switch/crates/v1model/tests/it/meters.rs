// SPDX-License-Identifier: Apache-2.0
//! Meters and idle timeouts, as packets and the control plane meet them.

use crate::common::{call, insert, pass_at, pipeline, table};
use v1model::*;

const SECOND: u64 = 1_000_000_000;
/// Bytes of the test's frames.
const FRAME: u64 = 100;

/// The colours of the indirect and the direct meter, and what ageing found.
fn send(p: &mut Pipeline, now: u64, index: u8, station: u8) -> [u8; 3] {
    let mut frame = vec![0; FRAME as usize];
    frame[..2].copy_from_slice(&[index, station]);
    let (_, out) = pass_at(p, now, 1, &frame).expect("forwarded");
    [out[0], out[1], out[2]]
}

fn exact(value: u128) -> EntryKey {
    EntryKey {
        matches: vec![Match::Exact(value)],
        priority: 0,
    }
}

fn ternary(value: u128, priority: i32) -> EntryKey {
    EntryKey {
        matches: vec![Match::Ternary { value, mask: 0xff }],
        priority,
    }
}

fn rates(cir: u64, cburst: u64, pir: u64, pburst: u64) -> Option<MeterConfig> {
    Some(MeterConfig {
        cir,
        cburst,
        pir,
        pburst,
    })
}

#[test]
fn an_indirect_meter_counts_the_bytes_of_the_frame() {
    let mut p = pipeline("meters.json");
    let id = p.program().meter("I.by_index").unwrap();
    let schema = &p.program().meters()[0];
    assert_eq!((schema.size, schema.unit), (4, MeterUnit::Bytes));
    assert_eq!(send(&mut p, 0, 2, 0)[0], 0);
    let config = rates(FRAME, FRAME, 2 * FRAME, 2 * FRAME);
    p.set_meter(id, Some(2), config).unwrap();
    assert_eq!(p.meter(id, 2).unwrap(), config);
    assert_eq!(p.meter(id, 1).unwrap(), None);
    let colors = [0, 0, 0, SECOND / 2, SECOND / 2, SECOND];
    let colors = colors.map(|at| send(&mut p, at, 2, 0)[0]);
    // Half a second: 50 committed bytes of a frame's 100, 100 peak bytes.
    assert_eq!(colors, [0, 1, 2, 1, 2, 0]);
    assert_eq!(send(&mut p, SECOND, 1, 0)[0], 0);
    // Past the end: no colour (the compiler's own temporary), but counted.
    assert_eq!(send(&mut p, SECOND, 4, 0)[0], 0);
    assert_eq!(p.out_of_range_accesses(), 1);
    p.set_meter(id, None, None).unwrap();
    assert_eq!(send(&mut p, SECOND, 2, 0)[0], 0);
    let error = p.set_meter(id, Some(4), config).unwrap_err();
    assert_eq!(error.code(), Code::OutOfRange);
    let error = p.set_meter(id, None, rates(2, 1, 1, 1)).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(p.set_meter(MeterId(1), None, None).is_err());
}

#[test]
fn a_direct_meter_writes_its_field_on_a_hit() {
    let mut p = pipeline("meters.json");
    let id = table(&p, "station");
    let schema = &p.program().tables()[id.0 as usize];
    assert_eq!(schema.direct_meter, Some(MeterUnit::Packets));
    let read = call(&p, id, "read_meter", &[]);
    insert(&mut p, id, &exact(7), &read).unwrap();
    assert_eq!(send(&mut p, 0, 0, 6)[1], 9, "a miss leaves the field");
    assert_eq!(send(&mut p, 0, 0, 7)[1], 0, "green when not configured");
    let config = rates(1, 1, 2, 2);
    p.set_direct_meter(id, Some(&exact(7)), config).unwrap();
    assert_eq!(p.direct_meter(id, Some(&exact(7))).unwrap(), config);
    assert_eq!(p.entry(id, &exact(7)).unwrap().meter, Some(config));
    let colors = [0, 0, 0, SECOND, SECOND].map(|at| send(&mut p, at, 0, 7)[1]);
    assert_eq!(colors, [0, 1, 2, 0, 1]);
    // A new entry in the same place does not inherit it.
    p.delete(id, &exact(7)).unwrap();
    insert(&mut p, id, &exact(7), &read).unwrap();
    assert_eq!(p.entry(id, &exact(7)).unwrap().meter, Some(None));
    let other = table(&p, "ageing");
    assert!(p.set_direct_meter(other, None, config).is_err());
    assert!(p.set_direct_meter(id, Some(&exact(1)), config).is_err());
}

#[test]
fn idle_entries_are_reported_and_armed_again() {
    let mut p = pipeline("meters.json");
    let id = table(&p, "ageing");
    assert!(p.program().tables()[id.0 as usize].idle_timeout);
    let action: EntryAction = call(&p, id, "set_aged", &[5]).into();
    let options = EntryOptions {
        idle_timeout_ns: 2 * SECOND,
        metadata: b"cookie".to_vec(),
    };
    let key = ternary(7, 1);
    p.insert(SECOND, id, &key, &action, &options).unwrap();
    let forever = EntryOptions::default();
    p.insert(SECOND, id, &ternary(8, 1), &action, &forever)
        .unwrap();
    assert_eq!(p.next_idle_deadline(), Some(3 * SECOND));
    assert_eq!(send(&mut p, 2 * SECOND, 0, 7)[2], 5);
    let mut expired = Vec::new();
    p.idle_expired(3 * SECOND, 100, &mut expired);
    assert_eq!(expired, []);
    assert_eq!(p.next_idle_deadline(), Some(4 * SECOND));
    p.idle_expired(4 * SECOND, 100, &mut expired);
    let entry = p.entry(id, &key).unwrap();
    assert_eq!((&entry.options, entry.last_hit_ns), (&options, 2 * SECOND));
    assert_eq!(expired, [(id, entry)]);
    p.idle_expired(6 * SECOND, 100, &mut expired);
    assert_eq!(expired.len(), 2);
    // Modified: without a timeout, and then with one again.
    p.modify(6 * SECOND, id, &key, &action, &forever).unwrap();
    p.idle_expired(60 * SECOND, 100, &mut expired);
    assert_eq!(expired.len(), 2);
    p.modify(60 * SECOND, id, &key, &action, &options).unwrap();
    p.idle_expired(62 * SECOND, 100, &mut expired);
    assert_eq!(expired.len(), 3);
    p.delete(id, &key).unwrap();
    p.idle_expired(99 * SECOND, 100, &mut expired);
    assert_eq!(expired.len(), 3);
    // Other tables refuse timeouts.
    let other = table(&p, "station");
    let action: EntryAction = call(&p, other, "NoAction", &[]).into();
    let refused = p.insert(0, other, &exact(1), &action, &options);
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_table_with_many_idle_entries_keeps_no_other_waiting() {
    let text = include_str!("../programs/meters.json");
    let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
    let pipelines = json["pipelines"].as_array_mut().unwrap();
    let all = pipelines.iter_mut();
    let tables = all.flat_map(|p| p["tables"].as_array_mut().unwrap());
    for table in tables.filter(|t| t["name"] == "I.station") {
        table["support_timeout"] = true.into();
    }
    let program = Program::load(json.to_string().as_bytes()).unwrap();
    let mut p = Pipeline::new(std::sync::Arc::new(program), 42);
    let options = EntryOptions {
        idle_timeout_ns: 1,
        ..EntryOptions::default()
    };
    let (busy, other) = (table(&p, "station"), table(&p, "ageing"));
    assert!(busy < other);
    let action: EntryAction = call(&p, busy, "NoAction", &[]).into();
    for key in 0..4 {
        p.insert(0, busy, &exact(key), &action, &options).unwrap();
    }
    let action: EntryAction = call(&p, other, "set_aged", &[5]).into();
    p.insert(0, other, &ternary(7, 1), &action, &options)
        .unwrap();
    // All of them are due each time, and two are looked at.
    let tables = p.program().tables().len() as u64;
    let mut expired = Vec::new();
    for turn in 1..=2 * tables {
        p.idle_expired(10 * turn, 2, &mut expired);
    }
    let of = |id: TableId| expired.iter().filter(|(table, _)| *table == id).count();
    assert!(of(other) >= 2, "{expired:?}");
    assert!(of(busy) >= 4, "{expired:?}");
}
