// SPDX-License-Identifier: Apache-2.0
//! `sample`: what became of many frames in a modem's pipeline, in virtual time. The
//! figures of the papers that are about single decisions are made of it.

mod drops;
pub mod options;
mod sessions;

use crate::bench::measure::Sink;
use crate::program;
use crate::provision::{CPE_PORT, Management, RF_PORT, cable_modem};
use device::{Device, DeviceConfig};
use options::Sample;
use serde_json::json;
use std::path::Path;

/// Device time between two frames that leave, ns: slower than every rate.
const INTERVAL: u64 = 2_000;

/// Samples and prints.
///
/// # Errors
/// One sentence: the program cannot be read or is not cm.p4, or an option does not fit.
pub fn run(what: &Sample) -> Result<(), String> {
    let results = match what {
        Sample::Drops(options) => json!({ "sample": "drops", "results": drops::run(options)? }),
        Sample::Sessions(options) => {
            json!({ "sample": "sessions", "results": sessions::run(options)? })
        }
    };
    println!("{results:#}");
    Ok(())
}

/// A modem with one service flow, and the time in it.
struct Modem {
    device: Device,
    now: u64,
    sink: Sink,
}

impl Modem {
    fn new(program: &Path, seed: u64, management: Management<'_>) -> Result<Self, String> {
        let program = program::load(program)?;
        let mut device = Device::new(DeviceConfig {
            seed,
            ..DeviceConfig::default()
        });
        device.add_port(RF_PORT);
        device.add_port(CPE_PORT);
        device.load(0, program);
        let now = 1_000_000_000;
        cable_modem(&mut device, now, 1, management)?;
        Ok(Self {
            device,
            now,
            sink: Sink::default(),
        })
    }

    fn receive(&mut self, frame: &[u8]) {
        self.device.receive(self.now, CPE_PORT, frame);
    }

    /// Lets one frame leave, if there is one.
    fn send_one(&mut self) -> bool {
        self.now += INTERVAL;
        let before = self.sink.frames;
        self.device.step(self.now, &mut self.sink);
        self.sink.frames > before
    }
}
