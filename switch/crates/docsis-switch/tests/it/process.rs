// SPDX-License-Identifier: Apache-2.0
//! The switch as a process: one line when ready, one sentence when not, a
//! clean end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/build");

fn switch(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_docsis-switch"));
    command
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn fails(args: &[&str], words: &[&str]) {
    let Output {
        status,
        stdout,
        stderr,
    } = switch(args).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(!status.success(), "{args:?}");
    assert!(stdout.is_empty(), "{args:?}: not ready");
    assert_eq!(said.trim_end().lines().count(), 1, "one sentence: {said}");
    for word in words {
        assert!(said.contains(word), "{said}");
    }
}

/// A running switch and the address on its ready line.
fn start(args: &[&str]) -> (Child, String) {
    let mut child = switch(args).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("docsis-switch: ready"), "{line}");
    let address = line.trim_end().rsplit(' ').next().unwrap().to_owned();
    (child, address)
}

fn ends_with_0(mut child: Child, signal: i32) -> String {
    // SAFETY: no pointers; the child is ours and not yet waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
    assert!(child.wait().unwrap().success());
    let mut said = String::new();
    child.stderr.unwrap().read_to_string(&mut said).unwrap();
    said
}

#[test]
fn bad_input_gets_one_sentence() {
    let cm = format!("{BUILD}/cm.json");
    let l2_info = format!("{BUILD}/bench/l2.p4info.txtpb");
    let any = ["--", "--grpc-server-addr", "127.0.0.1:0"];
    let with = |args: &[&'static str]| [args, &any].concat();
    fails(&[], &["--no-p4"]);
    fails(&["/nonexistent.json"], &["/nonexistent.json"]);
    fails(
        &[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
        &["Cargo.toml"],
    );
    fails(&with(&["--no-p4", "-i", "1@dsw-missing"]), &["dsw-missing"]);
    fails(
        &with(&["--no-p4", "-i", "1@lo", "-i", "1@dsw-x"]),
        &["port 1"],
    );
    fails(&[&cm, "--p4info", &l2_info], &["P4Info", "l2.p4info"]);
    fails(&["forward", "dsw-missing", "lo"], &["dsw-missing"]);
    fails(
        &["bench", "pipeline", "--program", "/nonexistent"],
        &["/nonexistent"],
    );
}

#[test]
fn an_address_in_use_is_refused() {
    let (first, address) = start(&["--no-p4", "--", "--grpc-server-addr", "127.0.0.1:0"]);
    fails(
        &["--no-p4", "--", "--grpc-server-addr", &address],
        &[&address],
    );
    ends_with_0(first, libc::SIGTERM);
}

#[test]
fn signals_end_it_with_0() {
    let cm = format!("{BUILD}/cm.json");
    let info = format!("{BUILD}/cm.p4info.txtpb");
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let args = [
            &cm,
            "--p4info",
            &info,
            "--device-id",
            "3",
            "--log-console",
            "--thrift-port",
            "9090",
            "--",
            "--grpc-server-addr",
            "127.0.0.1:0",
            "--cpu-port",
            "255",
        ];
        let (child, _) = start(&args);
        let said = ends_with_0(child, signal);
        assert!(said.contains("--thrift-port has no effect"), "{said}");
        assert!(
            said.contains("device 3 port 255: received 0 frames"),
            "{said}"
        );
        assert!(said.contains("stopped"), "{said}");
    }
}

#[test]
fn the_benchmark_reports_every_case() {
    let cm = format!("{BUILD}/cm.json");
    let args = [
        "bench",
        "pipeline",
        "--program",
        &cm,
        "--packets",
        "2000",
        "--json",
    ];
    let Output { status, stdout, .. } = switch(&args).output().unwrap();
    assert!(status.success());
    let report: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    for result in results {
        assert!(result["ns_per_packet"].as_f64().unwrap() > 0.0);
        let (forwarded, dropped) = (&result["forwarded"], &result["aqm_dropped"]);
        // AQM at a drop probability of 1e-4 drops next to nothing.
        assert!(forwarded.as_u64().unwrap() > 100 * dropped.as_u64().unwrap());
    }
}
