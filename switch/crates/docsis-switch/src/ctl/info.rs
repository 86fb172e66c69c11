// SPDX-License-Identifier: Apache-2.0
//! `docsis-switch ctl info`: what runs.

use grpc_services::proto::docsis::switch::v1 as switch;
use serde_json::{Value, json};

/// For programs.
pub fn json(info: &switch::GetInfoResponse) -> Value {
    let devices = info.devices.iter().map(|device| {
        let ports = device
            .ports
            .iter()
            .map(|port| json!({"port": port.port, "interface": port.interface, "up": port.up}));
        let program = device.program.as_ref().map(|program| {
            json!({
                "source": program.source,
                "path": program.path,
                "compiler": program.compiler,
                "format": program.format,
            })
        });
        json!({
            "device_id": device.device_id,
            "traffic_manager": device.traffic_manager,
            "has_pipeline": device.has_pipeline,
            "program": program,
            "ports": ports.collect::<Vec<_>>(),
        })
    });
    json!({
        "name": info.name,
        "version": info.version,
        "uptime_ns": info.uptime_ns,
        "pid": info.pid,
        "memory_bytes": info.memory_bytes,
        "peak_memory_bytes": info.peak_memory_bytes,
        "devices": devices.collect::<Vec<_>>(),
    })
}

/// A program in words: its source, its file, what compiled it.
fn program(program: &switch::ProgramInfo) -> String {
    let mut text = match program.source.as_str() {
        "" => "a program without a name",
        source => source,
    }
    .to_owned();
    match program.path.as_str() {
        "" => text += ", pushed over P4Runtime",
        path => text += &format!(", from {path}"),
    }
    let format = match program.format.as_str() {
        "" => String::new(),
        format => format!(" (JSON format {format})"),
    };
    match program.compiler.as_str() {
        "" => text += &format,
        compiler => text += &format!(", compiled by {compiler}{format}"),
    }
    text
}

/// For people.
pub fn table(info: &switch::GetInfoResponse) -> String {
    let mut text = format!(
        "{} {}, process {}, up {:.1} s, memory {:.1} MB (at most {:.1} MB)\n",
        info.name,
        info.version,
        info.pid,
        info.uptime_ns as f64 / 1e9,
        info.memory_bytes as f64 / 1e6,
        info.peak_memory_bytes as f64 / 1e6,
    );
    for device in &info.devices {
        let runs = match &device.program {
            Some(running) => program(running),
            None => "none".to_owned(),
        };
        text += &format!(
            "device {}: traffic manager {}, {} ports\n  program {runs}\n",
            device.device_id,
            device.traffic_manager,
            device.ports.len(),
        );
        for port in &device.ports {
            let state = if port.up { "up" } else { "down" };
            let interface = match port.interface.as_str() {
                "" => "no interface",
                name => name,
            };
            text += &format!("  port {:>3} {interface:<16} {state}\n", port.port);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_with_its_origin() {
        let mut info = switch::ProgramInfo {
            source: "cm.p4".into(),
            path: "build/cm.json".into(),
            compiler: "https://github.com/p4lang/p4c".into(),
            format: "2.23".into(),
        };
        assert_eq!(
            program(&info),
            "cm.p4, from build/cm.json, compiled by https://github.com/p4lang/p4c (JSON format 2.23)"
        );
        info.path.clear();
        info.compiler.clear();
        assert_eq!(
            program(&info),
            "cm.p4, pushed over P4Runtime (JSON format 2.23)"
        );
        assert_eq!(
            program(&switch::ProgramInfo::default()),
            "a program without a name, pushed over P4Runtime"
        );
    }
}
