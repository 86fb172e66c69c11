// SPDX-License-Identifier: Apache-2.0
//! The memory that the switch needs for a cable modem beside its code, which the kernel maps from
//! the file, shares and can drop, and of which a development build has three times as much.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build");

/// The goal is 30 MB with the shipped build's code, of which 10 are resident. cm.p4 loaded takes 10,
/// its JSON, which controllers read back, included; a device with its registers and tables some 4.
const MOST_OF_A_SWITCH: u64 = 20_000_000;

/// `bench pipeline` loads the program once and makes six devices of it, one after the other. What
/// they leave the allocator keeps for seconds, so it is twice as much beside the program.
const MOST_OF_SIX: u64 = 30_000_000;

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
    let bytes = |key: &str| report[key].as_u64().unwrap();
    let own = bytes("peak_resident_bytes") - bytes("resident_code_bytes");
    assert!(own < MOST_OF_SIX, "{own} bytes at the most");
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
    let bytes = |name: &str| -> u64 {
        let mut lines = status.lines();
        let kib = lines.find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next());
        kib.unwrap().parse::<u64>().unwrap() * 1024
    };
    let own = bytes("RssAnon:");
    assert!(own < MOST_OF_A_SWITCH, "{own} bytes");
}
