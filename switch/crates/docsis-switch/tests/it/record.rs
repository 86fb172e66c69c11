// SPDX-License-Identifier: Apache-2.0
//! A switch that records, and its recording again. Needs root for links.

use crate::common::{Folder, Host, PROGRAM, Switch, WIRE, frame, until, with_links};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn replay(file: &Path) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["replay", "--json"]).arg(file);
    command.output().unwrap()
}

fn report(file: &Path) -> Value {
    let output = replay(file);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["recordings"][0].clone()
}

fn recording(file: &Path, more: &[&str]) -> Switch {
    let file = file.to_str().unwrap();
    let args = [WIRE, "-i", "1@s1", "-i", "2@s2", "--record", file];
    Switch::start(&[&args, more].concat())
}

#[test]
fn what_a_switch_recorded_happens_again() {
    with_links(|| {
        let folder = Folder::new("record");
        let file = folder.file("s.rec");
        let switch = recording(&file, &[]);
        let (near, far) = (Host::open("h1"), Host::open("h2"));
        for number in 0..100 {
            assert!(near.send(&frame(0, number)));
            assert!(far.receive(10_000).is_some());
        }
        switch.stop();
        let report = report(&file);
        assert_eq!(report["first_difference"], Value::Null);
        assert_eq!(report["ended"], "stopped");
        assert_eq!(
            (&report["frames_in"], &report["frames_out"]),
            (&100.into(), &100.into())
        );
        // One byte of the frame that came last, whose hash is in the file, too.
        let mut bytes = std::fs::read(&file).unwrap();
        let last = bytes
            .windows(40)
            .rposition(|part| part == [99; 40])
            .unwrap();
        bytes[last + 20] ^= 1;
        std::fs::write(&file, &bytes).unwrap();
        let output = replay(&file);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        std::fs::write(&file, &bytes[..4]).unwrap();
        let output = replay(&file);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("is damaged at byte 0: this is no recording"),
            "{said}"
        );
    });
}

#[test]
fn a_switch_goes_on_where_its_recording_ends() {
    with_links(|| {
        let folder = Folder::new("limit");
        let file = folder.file("s.rec");
        let switch = recording(&file, &["--record-limit-mib", "1"]);
        let near = Host::open("h1");
        let long = [&frame(0, 1)[..], &[7; 1400]].concat();
        until("two MiB", || {
            // What the switch's thread does not take in time on a busy machine is lost, and others
            // are sent.
            for _ in 0..200 {
                near.send(&long);
            }
            switch.port(1)["counters"]["received"]["frames"].as_u64() >= Some(1400)
        });
        let said = switch.stop();
        assert!(
            said.contains("as long as --record-limit-mib lets it be"),
            "{said}"
        );
        assert!(std::fs::metadata(&file).unwrap().len() <= 1 << 20);
        let report = report(&file);
        assert_eq!(report["ended"], "limit");
        assert_eq!(report["first_difference"], Value::Null);
        assert!(report["frames_in"].as_u64() > Some(500));
    });
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let refused = |args: &[&str]| {
        let output = Command::new(PROGRAM).args(args).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&["--no-p4", "--record", "/nowhere/s.rec"]);
    assert!(
        said.contains("the recording /nowhere/s.rec cannot be written"),
        "{said}"
    );
    let bmv2 = ["--no-p4", "--record", "s.rec", "--traffic-manager", "bmv2"];
    assert!(refused(&bmv2).contains("--record needs --traffic-manager docsis"));
    let two = ["--no-p4", "--record", "s.rec", "-i", "1@a", "-i", "7:1@b"];
    assert!(refused(&two).contains("--record is for one device"));
}
