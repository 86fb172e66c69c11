// SPDX-License-Identifier: Apache-2.0
//! Lets clients ask the process about itself over gRPC, and set its log level.

use crate::cli::LogLevel;
use crate::clock::Clock;
use crate::control::{Command, Control};
use crate::logging::Log;
use crate::port::Time;
use grpc_services::Process;
use grpc_services::proto::docsis::switch::v1 as switch;
use std::path::PathBuf;
use std::sync::Arc;
use tracing::debug;
use v1model::{Pipeline, Program};

/// The process, for docsis.switch.v1.Switch.
#[derive(Debug)]
pub struct Switch {
    /// The name that the program was started by.
    pub name: String,
    /// The devices' clock.
    pub clock: Clock,
    /// The log.
    pub log: Log,
    /// Device ids with ports and interfaces.
    pub devices: Vec<(u64, Vec<(u16, String)>)>,
    /// What the devices ran first, and its file.
    pub program: Option<(Arc<Program>, PathBuf)>,
    /// The ways to the devices' threads.
    pub controls: Vec<Control>,
}

/// True where `log_msg` is to reach the log.
pub fn logs_messages(level: LogLevel) -> bool {
    level <= LogLevel::Debug
}

/// Attaches the log to a pipeline, or detaches it: then `log_msg` costs nothing.
pub fn log_messages(pipeline: &mut Pipeline, on: bool) {
    pipeline
        .set_log(on.then(|| -> Box<dyn FnMut(&str) + Send> { Box::new(|text| debug!("{text}")) }));
}

impl Process for Switch {
    fn info(&self) -> switch::GetInfoResponse {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let devices = self.devices.iter().map(|(device_id, ports)| {
            let ports = ports.iter().map(|(port, interface)| switch::PortInfo {
                port: u32::from(*port),
                interface: interface.clone(),
                up: true,
            });
            switch::DeviceInfo {
                device_id: *device_id,
                ports: ports.collect(),
                ..Default::default()
            }
        });
        switch::GetInfoResponse {
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            uptime_ns: self.clock.now(),
            pid: std::process::id(),
            memory_bytes: kibibytes(&status, "VmRSS:"),
            peak_memory_bytes: kibibytes(&status, "VmHWM:"),
            devices: devices.collect(),
        }
    }

    fn program_file(&self, program: &Arc<Program>) -> Option<String> {
        let (first, path) = self.program.as_ref()?;
        Arc::ptr_eq(first, program).then(|| path.display().to_string())
    }

    fn log_level(&self) -> switch::LogLevel {
        to_proto(self.log.level())
    }

    fn set_log_level(&self, level: switch::LogLevel) -> Result<(), String> {
        let level = from_proto(level).ok_or("the level is unspecified")?;
        self.log.set_level(level)?;
        for control in &self.controls {
            control.send(Command::LogMessages(logs_messages(level)));
        }
        Ok(())
    }
}

/// A value of /proc/self/status, in bytes; 0 where there is none.
fn kibibytes(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|rest| rest.trim().strip_suffix("kB"));
    number.map_or(0, |number| number.trim().parse::<u64>().unwrap_or(0) * 1024)
}

/// As the service has it.
pub fn to_proto(level: LogLevel) -> switch::LogLevel {
    match level {
        LogLevel::Trace => switch::LogLevel::Trace,
        LogLevel::Debug => switch::LogLevel::Debug,
        LogLevel::Info => switch::LogLevel::Info,
        LogLevel::Warn => switch::LogLevel::Warn,
        LogLevel::Error => switch::LogLevel::Error,
        LogLevel::Off => switch::LogLevel::Off,
    }
}

fn from_proto(level: switch::LogLevel) -> Option<LogLevel> {
    Some(match level {
        switch::LogLevel::Unspecified => return None,
        switch::LogLevel::Trace => LogLevel::Trace,
        switch::LogLevel::Debug => LogLevel::Debug,
        switch::LogLevel::Info => LogLevel::Info,
        switch::LogLevel::Warn => LogLevel::Warn,
        switch::LogLevel::Error => LogLevel::Error,
        switch::LogLevel::Off => LogLevel::Off,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read() {
        let status = "Name:\tx\nVmHWM:\t    9216 kB\nVmRSS:\t    8 kB\n";
        assert_eq!(kibibytes(status, "VmRSS:"), 8192);
        assert_eq!(kibibytes(status, "VmHWM:"), 9216 * 1024);
        assert_eq!(kibibytes(status, "VmSwap:"), 0);
    }
}
