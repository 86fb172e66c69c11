// SPDX-License-Identifier: Apache-2.0
//! Traces of a process: from its start into a file, and switched on and off
//! while it runs.

use crate::common::{Host, PROGRAM, Switch, WIRE, frame, ip, link, until, with_links};
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// `ctl trace`, which traces already.
struct Following {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Following {
    fn start(switch: &Switch, args: &[&str]) -> Following {
        let mut child = Command::new(PROGRAM)
            .args(["ctl", "--address", &switch.address, "trace"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.as_mut().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "docsis-switch: tracing\n");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Following { child, lines }
    }

    /// The lines up to an empty one.
    fn block(&mut self) -> String {
        let lines = self.lines.by_ref().map(|line| line.unwrap());
        let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        lines.join("\n")
    }

    /// It has ended by itself; what is left.
    fn end(mut self) -> Vec<String> {
        let rest = self.lines.by_ref().map(|line| line.unwrap()).collect();
        assert!(self.child.wait().unwrap().success());
        rest
    }

    /// Ends it as Ctrl-C does.
    fn interrupt(mut self) {
        // Not SIGINT, which the jobs that a shell has in the background ignore.
        // SAFETY: no pointers; the child is ours and not yet waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        self.child.wait().unwrap();
    }
}

/// A file that is removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        let name = format!("docsis-switch-{}-{name}", std::process::id());
        File(std::env::temp_dir().join(name))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_file_has_the_way_of_packets_from_the_start() {
    with_links(|| {
        let file = File::new("trace");
        let path = file.0.to_str().unwrap();
        let args = [
            "-i",
            "1@s1",
            "-i",
            "2@s2",
            "--offloads-off",
            "--trace",
            path,
        ];
        let switch = Switch::start(&[&[WIRE], &args[..]].concat());
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        assert!(h1.send(&frame(0, 1)));
        assert_eq!(h2.receive(5000), Some(frame(0, 1)));
        // Written while it runs, once the packet's fate is known.
        until("the trace", || file.text().contains("sent through port 2"));
        let text = file.text();
        for words in [
            "packet 1: 60 bytes from port 1 at ",
            "state start",
            "extract ethernet",
            "deparsed: 60 bytes",
        ] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
        assert!(!text.contains("device"), "there is one only: {text}");
        switch.stop();
    });
}

#[test]
fn it_is_switched_on_and_off_while_the_switch_runs() {
    with_links(|| {
        let switch = Switch::start(&[WIRE, "-i", "1@s1", "-i", "2@s2", "--offloads-off"]);
        let (h1, h2) = (Host::open("h1"), Host::open("h2"));
        let pass = |from: &Host, to: &Host, number| {
            assert!(from.send(&frame(0, number)));
            assert_eq!(to.receive(5000), Some(frame(0, number)));
        };
        pass(&h1, &h2, 1);
        let mut all = Following::start(&switch, &[]);
        let mut back = Following::start(&switch, &["--port", "2", "--count", "1", "--json"]);
        pass(&h1, &h2, 2);
        pass(&h2, &h1, 3);
        let there = all.block();
        assert!(
            there.starts_with("packet 1: 60 bytes from port 1"),
            "{there}"
        );
        assert!(there.contains("sent through port 2"), "{there}");
        assert!(all.block().contains("sent through port 1"));
        let first: Value = serde_json::from_str(&back.lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(
            (&first["event"], &first["port"], &first["device"]),
            (&"received".into(), &2.into(), &0.into())
        );
        let rest = back.end();
        let last: Value = serde_json::from_str(rest.last().unwrap()).unwrap();
        assert_eq!(last["event"], "sent");
        all.interrupt();
        // The switch goes on, and a trace begins again.
        pass(&h1, &h2, 4);
        let mut again = Following::start(&switch, &["--count", "1"]);
        pass(&h2, &h1, 5);
        assert!(again.block().contains("bytes from port 2"));
        assert_eq!(again.end(), Vec::<String>::new());
        switch.stop();
    });
}

#[test]
fn a_trace_ends_with_the_switch() {
    with_links(|| {
        let switch = Switch::start(&[WIRE, "-i", "1@s1", "-i", "2@s2"]);
        let following = Following::start(&switch, &[]);
        switch.stop();
        assert_eq!(following.end(), Vec::<String>::new());
    });
}

#[test]
fn several_devices_are_named() {
    with_links(|| {
        link("s3", "h3");
        ip("link set s3 up");
        let file = File::new("devices");
        let path = file.0.to_str().unwrap();
        let ports = ["-i", "4:1@s1", "-i", "5:1@s3", "--trace", path];
        let switch = Switch::start(&[&[WIRE], &ports[..]].concat());
        let (h1, h3) = (Host::open("h1"), Host::open("h3"));
        let mut following = Following::start(&switch, &["--count", "1", "--device-id", "5"]);
        assert!(h1.send(&frame(0, 1)) && h3.send(&frame(0, 2)));
        let told = following.block();
        assert!(told.starts_with("device 5, packet 1: 60 bytes"), "{told}");
        assert!(told.contains("there is no port 2"), "{told}");
        following.end();
        until("both", || {
            let text = file.text();
            text.contains("device 4, packet 1: 60") && text.contains("device 5, packet 1: 60")
        });
        switch.stop();
    });
}

#[test]
fn a_device_that_is_not_there_is_refused() {
    let switch = Switch::start(&["--no-p4"]);
    let mut child = Command::new(PROGRAM)
        .args([
            "ctl",
            "--address",
            &switch.address,
            "trace",
            "--device-id",
            "9",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(said.contains("there is no device 9"), "{said}");
    switch.stop();
}
