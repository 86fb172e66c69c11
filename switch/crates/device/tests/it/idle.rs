// SPDX-License-Identifier: Apache-2.0
//! Idle timeouts reach the controller when they are due.

use crate::common::Recorder;
use device::events::Event;
use device::{Device, DeviceConfig};
use v1model::{ActionCall, EntryAction, EntryKey, EntryOptions, Match, TableId};

const MS: u64 = 1_000_000;

/// A table with idle timeouts, one entry of 10 ms.
fn device_with_entry() -> (Device, TableId) {
    device_with_entries(10 * MS, 1)
}

/// A table with idle timeouts, with so many entries of this timeout.
fn device_with_entries(idle_timeout_ns: u64, entries: i32) -> (Device, TableId) {
    let mut device = Device::new(DeviceConfig::default());
    device.add_port(1);
    device.load(0, crate::common::program("meters.json"));
    let program = std::sync::Arc::clone(device.pipeline().unwrap().program());
    let at = program.tables().iter().position(|t| t.idle_timeout);
    let table = TableId(at.expect("a table with support_timeout") as u32);
    let schema = &program.tables()[table.0 as usize];
    let action = schema.actions[0];
    let args = vec![1; program.actions()[action.0 as usize].params.len()];
    let options = EntryOptions {
        idle_timeout_ns,
        ..EntryOptions::default()
    };
    let call = EntryAction::from(ActionCall { action, args });
    let pipeline = device.pipeline_mut().unwrap();
    for priority in 1..=entries {
        let any = Match::Ternary {
            value: 7,
            mask: 0xff,
        };
        let key = EntryKey {
            matches: vec![any; schema.keys.len()],
            priority,
        };
        pipeline.insert(0, table, &key, &call, &options).unwrap();
    }
    (device, table)
}

#[test]
fn an_idle_entry_is_reported_when_it_is_due_and_again() {
    let (mut device, table) = device_with_entry();
    let mut out = Recorder::default();
    for n in 1..=3 {
        assert_eq!(device.next_deadline(), Some(n * 10 * MS));
        device.poll(n * 10 * MS - 1, &mut out);
        assert!(out.events.is_empty());
        device.poll(n * 10 * MS, &mut out);
        let events: Vec<_> = out.events.drain(..).collect();
        let [(at, Event::IdleTimeouts(entries))] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(*at, n * 10 * MS);
        assert_eq!((entries.len(), entries[0].0), (1, table));
    }
    out.deaf = true;
    device.poll(40 * MS, &mut out);
    assert_eq!(device.counters().idle_timeout_dropped.frames, 1);
}

#[test]
fn a_new_program_has_no_idle_entries() {
    let (mut device, _) = device_with_entry();
    device.load(1, crate::common::program("paths.json"));
    assert_eq!(device.next_deadline(), None);
}

/// P4Runtime 1.5, section 9.1.8: a target uses the smallest timeout that it can support.
#[test]
fn a_timeout_of_a_nanosecond_does_not_keep_a_device_busy() {
    for entries in [1, 3, 16] {
        let (mut device, _) = device_with_entries(1, entries);
        let mut out = Recorder::default();
        let steps = (0..1000).take_while(|_| device.step(10 * MS, &mut out));
        let steps = steps.count();
        assert!((15..=21).contains(&steps), "{steps} steps in 10 ms");
        let told = out.events.iter().map(|(_, event)| match event {
            Event::IdleTimeouts(entries) => entries.len(),
            other => panic!("{other:?}"),
        });
        assert!(told.sum::<usize>() >= 15 * entries as usize);
        // It has caught up, and goes on.
        assert!(device.next_deadline().is_some_and(|at| at > 10 * MS));
    }
}
