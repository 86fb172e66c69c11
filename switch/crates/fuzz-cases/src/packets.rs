// SPDX-License-Identifier: Apache-2.0
//! The fuzz target of frames through a device: parser, pipelines, traffic manager and deparser.

use crate::bytes::Bytes;
use crate::programs::program;
use device::{Device, DeviceConfig, Output};
use std::sync::Arc;
use v1model::{ActionCall, Pipeline, Program, TableId};

/// Takes all frames.
struct Sink;

impl Output for Sink {
    fn transmit(&mut self, _: u64, _: u16, frame: &[u8], _: bool) {
        assert!(
            frame.len() < 1 << 20,
            "a frame grew to {} bytes",
            frame.len()
        );
    }

    fn packet_in(&mut self, _: u64, _: &[u8]) -> bool {
        true
    }
}

/// Makes tables run other actions than the default ones, because random bytes never match a key.
fn choose_defaults(pipeline: &mut Pipeline, choice: &mut Bytes<'_>) {
    let program = Arc::clone(pipeline.program());
    for (table, schema) in program.tables().iter().enumerate() {
        let Some(action) = schema.actions.get(choice.below(schema.actions.len())) else {
            continue;
        };
        let params = &program.actions()[action.0 as usize].params;
        let args = params.iter().map(|p| {
            let value = u128::from(choice.number());
            if p.width < 16 {
                value & ((1 << p.width) - 1)
            } else {
                value
            }
        });
        let call = ActionCall {
            action: *action,
            args: args.collect(),
        };
        // Const default actions stay as they are.
        let _ = pipeline.set_default(TableId(table as u32), Some(&call.into()));
    }
}

/// A device with two ports and a CPU port that runs the program, then a few
/// frames, as the bytes say.
pub(crate) fn run(program: Arc<Program>, mut bytes: Bytes<'_>) {
    let mut device = Device::new(DeviceConfig {
        cpu_port: Some(255),
        ..DeviceConfig::default()
    });
    device.add_port(1);
    device.add_port(2);
    device.load(0, program);
    let choices = usize::from(bytes.byte());
    let mut choices = Bytes(bytes.take(choices));
    if let Some(pipeline) = device.pipeline_mut().filter(|_| !choices.is_empty()) {
        choose_defaults(pipeline, &mut choices);
    }
    let mut now = 0;
    while !bytes.is_empty() {
        let port = [1, 2, 255][bytes.below(3)];
        now += 1_000 * u64::from(bytes.byte());
        let length = usize::from(bytes.number() % 2048);
        device.receive(now, port, bytes.take(length));
        device.poll(now, &mut Sink);
    }
    device.poll(now + 1_000_000_000, &mut Sink);
}

/// One of [`PROGRAMS`](crate::PROGRAMS), and frames for it.
pub fn packets(data: &[u8]) {
    let mut bytes = Bytes(data);
    let at = bytes.below(crate::PROGRAMS.len());
    run(program(at), bytes);
}
