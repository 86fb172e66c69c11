// SPDX-License-Identifier: Apache-2.0
//! Packets are traced to their ends: queues, copies, ports.

use device::{Device, DeviceConfig, Output, TRACES};
use std::io::Write;
use std::sync::{Arc, Mutex};
use v1model::trace::{TextTrace, TraceFilter, TraceSink};
use v1model::{ActionCall, EntryAction, EntryKey, EntryOptions, Match, Program, Replica, TableId};

struct Wires;

impl Output for Wires {
    fn transmit(&mut self, _: u64, _: u16, _: &[u8], _: bool) {}

    fn packet_in(&mut self, _: u64, _: &[u8]) -> bool {
        false
    }
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
    }
}

fn device(program: &str) -> (Device, Shared) {
    let path = format!("{}/../{program}", env!("CARGO_MANIFEST_DIR"));
    let json = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let program = Arc::new(Program::load(&json).unwrap());
    let mut device = Device::new(DeviceConfig {
        cpu_port: Some(255),
        ..Default::default()
    });
    for port in 1..=3 {
        device.add_port(port);
    }
    device.load(0, program);
    let shared = Shared::default();
    device.add_trace(sink(&shared, "")).unwrap();
    (device, shared)
}

fn sink(shared: &Shared, filter: &str) -> Box<dyn TraceSink + Send> {
    let filter: TraceFilter = filter.parse().unwrap();
    Box::new(TextTrace::new(shared.clone(), filter, 1 << 20))
}

/// A table by the end of its name, and a call of one of its actions.
fn call(device: &Device, table: &str, action: &str, args: &[u128]) -> (TableId, EntryAction) {
    let program = device.pipeline().unwrap().program();
    let table = program
        .tables()
        .iter()
        .position(|t| t.name.ends_with(table))
        .map(|n| TableId(n as u32))
        .unwrap();
    let actions = &program.tables()[table.0 as usize].actions;
    let action = actions
        .iter()
        .copied()
        .find(|a| program.actions()[a.0 as usize].name.ends_with(action))
        .unwrap();
    let args = args.to_vec();
    (table, EntryAction::from(ActionCall { action, args }))
}

/// Makes every packet that misses a table run an action.
fn set_default(device: &mut Device, table: &str, action: &str, args: &[u128]) {
    let (table, call) = call(device, table, action, args);
    let pipeline = device.pipeline_mut().unwrap();
    pipeline.set_default(table, Some(&call)).unwrap();
}

fn insert(device: &mut Device, table: &str, key: u128, action: &str, args: &[u128]) {
    let (table, call) = call(device, table, action, args);
    let key = EntryKey {
        matches: vec![Match::Exact(key)],
        priority: 0,
    };
    let pipeline = device.pipeline_mut().unwrap();
    let options = EntryOptions::default();
    pipeline.insert(0, table, &key, &call, &options).unwrap();
}

fn frame() -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00, 64, 17, 10, 0, 1, 7, 1, 2, 3]);
    frame
}

#[test]
fn what_leaves_and_what_does_not() {
    let (mut device, trace) = device("v1model/tests/programs/trace.json");
    for (port, end) in [
        (2, "  sent through port 2 at 0.000005000 s: 23 bytes\n\n"),
        (9, "  dropped at 0.000005000 s: there is no port 9\n\n"),
        (
            255,
            "  dropped at 0.000005000 s: the controller did not take it\n\n",
        ),
    ] {
        set_default(&mut device, "route", "forward", &[port, 1]);
        device.receive(5_000, 1, &frame());
        device.poll(5_000, &mut Wires);
        let text = trace.take();
        assert!(text.ends_with(end), "{text}");
        assert_eq!(text.matches("packet ").count(), 1, "{text}");
        let queued = format!("  queue 0 of port {port} at 0.000005000 s, behind 0 packets\n");
        assert_eq!(text.contains(&queued), port != 9, "{text}");
    }
}

#[test]
fn copies_have_traces_of_their_own() {
    let (mut device, trace) = device("../../p4src/build/cm.json");
    let pipeline = device.pipeline_mut().unwrap();
    let replicas = [2, 3].map(|port| Replica { instance: 1, port });
    pipeline.multicast_mut().insert(1, &replicas).unwrap();
    insert(&mut device, "bridge.interface", 1, "provision", &[1, 0, 0]);
    device.receive(5_000, 1, &[0xff; 60]);
    device.poll(5_000, &mut Wires);
    let text = trace.take();
    for part in [
        "  multicast group 1: 2 copies\n",
        "packet 2: multicast replica of packet 1 at",
        "packet 3: multicast replica of packet 1 at",
        "  sent through port 2 at",
        "  sent through port 3 at",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert_eq!(text.matches("packet 1: 60 bytes from port 1").count(), 1);
}

#[test]
fn traces_come_and_go_and_outlive_a_pipeline() {
    let (mut device, first) = device("v1model/tests/programs/trace.json");
    let mut now = 0;
    let mut receive = |device: &mut Device, port| {
        now += 1000;
        device.receive(now, port, &[0; 64]);
        device.poll(now, &mut Wires);
    };
    let packets = |shared: &Shared| {
        let text = shared.take();
        let lines = text.lines().filter(|line| line.starts_with("packet "));
        let numbers = lines.map(|line| line[7..line.find(':').unwrap()].parse().unwrap());
        numbers.collect::<Vec<u64>>()
    };
    receive(&mut device, 1);
    let second = Shared::default();
    let id = device.add_trace(sink(&second, "port=2")).unwrap();
    receive(&mut device, 1);
    receive(&mut device, 2);
    assert_eq!(
        (packets(&first), packets(&second)),
        (vec![1, 2, 3], vec![3])
    );

    let program = Arc::clone(device.pipeline().unwrap().program());
    device.load(3_500, program);
    receive(&mut device, 2);
    assert_eq!((packets(&first), packets(&second)), (vec![4], vec![4]));

    device.remove_trace(id);
    receive(&mut device, 2);
    assert_eq!((packets(&first), packets(&second)), (vec![5], vec![]));

    // In its place another, and no more than there are places.
    for _ in 1..TRACES {
        device.add_trace(sink(&second, "packets=0")).unwrap();
    }
    assert_eq!(device.add_trace(sink(&second, "")), None);
}

#[test]
fn nothing_is_traced_after_the_last_trace() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../v1model/tests/programs/trace.json"
    );
    let program = Program::load(&std::fs::read(path).unwrap()).unwrap();
    let mut device = Device::new(DeviceConfig::default());
    device.add_port(1);
    let shared = Shared::default();
    // Before there is a pipeline.
    let id = device.add_trace(sink(&shared, "")).unwrap();
    device.load(0, Arc::new(program));
    assert!(device.pipeline().unwrap().is_traced());
    device.remove_trace(id);
    assert!(!device.pipeline().unwrap().is_traced());
    device.receive(1, 1, &[0; 64]);
    assert_eq!(shared.take(), "");
}
