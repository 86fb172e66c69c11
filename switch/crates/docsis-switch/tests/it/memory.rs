// SPDX-License-Identifier: Apache-2.0
//! The memory that the switch needs for a cable modem: below 30 MB as it is
//! shipped, where it needs some 29. A development build's code is three times as
//! long, and it needs up to 45.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build");
const MOST_BYTES: u64 = if cfg!(debug_assertions) {
    50_000_000
} else {
    30_000_000
};

fn switch() -> Command {
    Command::new(env!("CARGO_BIN_EXE_docsis-switch"))
}

#[test]
fn a_modem_with_32_service_flows_and_full_queues() {
    let cm = format!("{BUILD}/cm.json");
    let output = switch()
        .args(["bench", "pipeline", "--packets", "2000", "--json"])
        .args(["--program", &cm])
        .output()
        .unwrap();
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let flows = |row: &serde_json::Value| row["service_flows"].as_u64();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.iter().filter_map(flows).max(), Some(32));
    let peak = report["peak_resident_bytes"].as_u64().unwrap();
    assert!(peak < MOST_BYTES, "{peak} bytes at the most");
}

#[test]
fn a_switch_that_serves_cm_p4() {
    let mut child = switch()
        .arg(format!("{BUILD}/cm.json"))
        .args(["--p4info", &format!("{BUILD}/cm.p4info.txtpb")])
        .args(["--", "--grpc-server-addr", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut words = BufReader::new(child.stdout.take().unwrap());
    words.read_line(&mut line).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    // SAFETY: no pointers; the child is ours and not yet waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert!(child.wait().unwrap().success());
    assert!(line.contains("ready"), "{line}");
    let kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .unwrap();
    assert!(kib * 1024 < MOST_BYTES, "{kib} KiB at the most");
}
