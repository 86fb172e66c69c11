// SPDX-License-Identifier: Apache-2.0
//! Devices that run paths.p4, whose frames say which way they take.
#![allow(dead_code)] // Not every test binary uses all of it.

pub mod codel;
pub mod codel_002;
pub mod departure_rate;
pub mod modem;
pub mod pie_002;
pub mod statistics;

use device::events::Event;
use device::{Device, DeviceConfig, Note, Output};
use std::sync::{Arc, OnceLock};
use v1model::{CloneSession, Program, Replica};

/// What leaves a device.
#[derive(Default)]
pub struct Recorder {
    pub sent: Vec<(u16, Vec<u8>)>,
    /// The notes that frames in `sent` had.
    pub notes: Vec<Option<Note>>,
    pub packet_ins: Vec<Vec<u8>>,
    pub events: Vec<(u64, Event)>,
    /// The controller takes nothing.
    pub deaf: bool,
    /// This port's link is full when it has taken so many frames.
    pub full_after: Option<(u16, usize)>,
}

impl Output for Recorder {
    fn transmit(&mut self, _now: u64, port: u16, frame: &[u8], _paced: bool) {
        self.sent.push((port, frame.to_vec()));
    }

    fn is_full(&self, port: u16) -> bool {
        self.full_after.is_some_and(|(full, after)| {
            full == port && self.sent.iter().filter(|(to, _)| *to == port).count() >= after
        })
    }

    fn transmit_noted(
        &mut self,
        now: u64,
        port: u16,
        frame: &mut Vec<u8>,
        paced: bool,
        note: Option<Note>,
    ) {
        self.notes.push(note);
        self.transmit(now, port, frame, paced);
    }

    fn packet_in(&mut self, _now: u64, frame: &[u8]) -> bool {
        if !self.deaf {
            self.packet_ins.push(frame.to_vec());
        }
        !self.deaf
    }

    fn event(&mut self, now: u64, event: Event) -> bool {
        if !self.deaf {
            self.events.push((now, event));
        }
        !self.deaf
    }
}

/// One of v1model's test programs, loaded once.
pub fn program(name: &'static str) -> Arc<Program> {
    static PATHS: OnceLock<Arc<Program>> = OnceLock::new();
    let load = || {
        let path = format!(
            "{}/../v1model/tests/programs/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        let json = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        Arc::new(Program::load(&json).unwrap_or_else(|e| panic!("{path}: {e}")))
    };
    if name == "paths.json" {
        Arc::clone(PATHS.get_or_init(load))
    } else {
        load()
    }
}

pub const CPU: u16 = 9;

/// Ports 1 to 3 and the CPU port 9. Group 1 goes to ports 1, 2, 2, 7 and the
/// CPU, 2 to none; session 1 to port 3, 2 to ports 2 and 7, 3 to none, 4 to port
/// 1 and cut to 10 bytes. Port 7 does not exist.
pub fn device(config: DeviceConfig) -> Device {
    let mut device = Device::new(DeviceConfig {
        cpu_port: Some(CPU),
        ..config
    });
    for port in 1..=3 {
        device.add_port(port);
    }
    device.load(0, program("paths.json"));
    let replica = |instance, port| Replica { instance, port };
    let pipeline = device.pipeline_mut().unwrap();
    let all = [(0, 1), (0, 2), (1, 2), (1, 7), (2, CPU)].map(|(i, p)| replica(i, p));
    let groups = pipeline.multicast_mut();
    groups.insert(1, &all).unwrap();
    groups.insert(2, &[]).unwrap();
    for (id, replicas, packet_length_bytes) in [
        (1, vec![replica(0, 3)], 0),
        (2, vec![replica(5, 2), replica(6, 7)], 0),
        (3, vec![], 0),
        (4, vec![replica(0, 1)], 10),
    ] {
        let session = CloneSession {
            replicas,
            class_of_service: 0,
            packet_length_bytes,
        };
        pipeline.clone_sessions_mut().insert(id, &session).unwrap();
    }
    device
}

/// A frame's commands; see paths.p4.
#[derive(Debug, Clone, Copy, Default)]
pub struct Way {
    pub ingress: u8,
    pub egress: u8,
    pub left: u8,
    pub session: u8,
    pub group: u8,
    pub port: u8,
    pub queue_id: u8,
    pub length: u8,
}

impl Way {
    pub fn frame(self, payload: usize) -> Vec<u8> {
        let mut frame = vec![
            self.ingress,
            self.egress,
            self.left,
            self.session,
            self.group,
            self.port,
            self.queue_id,
            self.length,
        ];
        frame.resize(frame.len() + payload, 0xa5);
        frame
    }
}
