// SPDX-License-Identifier: Apache-2.0
//! p4c and simple_switch as processes; frames go through pcap files.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const COMPILER: &str = "p4c-bm2-ss";
const SWITCH: &str = "simple_switch";
/// BMv2 is done when its output has not grown for this long.
const QUIET: Duration = Duration::from_millis(1500);
/// BMv2 is stuck when it has not sent as many frames as it got by then.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is not on PATH.
pub fn missing() -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    [COMPILER, SWITCH].into_iter().find(|name| !there(name))
}

/// BMv2 reads files at once, and its queues hold 64 packets.
pub const MOST_FRAMES: usize = 60;

/// Compiles; the JSON lies beside the source.
pub fn compile(source: &Path) -> PathBuf {
    let json = source.with_extension("json");
    let output = Command::new(COMPILER)
        .args(["--std", "p4-16", "--arch", "v1model", "--Wdisable", "-o"])
        .arg(&json)
        .arg(source)
        .output()
        .expect("p4c starts");
    assert!(
        output.status.success() && json.is_file(),
        "p4c refuses {}:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    json
}

/// Ends with the test, whatever becomes of it.
struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What BMv2 sends through port 0 of what it gets there, in hexadecimal digits.
pub fn run(folder: &Path, json: &Path, frames: &[Vec<u8>]) -> Vec<String> {
    std::fs::write(folder.join("port0_in.pcap"), pcap(frames)).expect("the folder can be written");
    // Nobody talks to it, but it insists on a port.
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("there is a free port")
        .port();
    let log = folder.join("simple_switch.log");
    let file = std::fs::File::create(&log).expect("the folder can be written");
    let child = Command::new(SWITCH)
        .args(["--use-files", "0", "--device-id", &port.to_string()])
        .args(["--thrift-port", &port.to_string(), "-i", "0@port0"])
        .arg(json)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("a file can be opened twice"))
        .stderr(file)
        .spawn()
        .expect("simple_switch starts");
    let mut switch = Switch(child);
    let output = folder.join("port0_out.pcap");
    let start = Instant::now();
    let mut last = (0, Instant::now());
    loop {
        let sent = frames_of(&std::fs::read(&output).unwrap_or_default());
        if sent.len() != last.0 {
            last = (sent.len(), Instant::now());
        }
        let quiet = last.1.elapsed() > QUIET && !sent.is_empty();
        if sent.len() >= frames.len() || quiet || start.elapsed() > PATIENCE {
            return sent.iter().map(|frame| crate::hex(frame)).collect();
        }
        if let Ok(Some(status)) = switch.0.try_wait() {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            panic!("simple_switch ended with {status}:\n{log}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A pcap file of Ethernet frames.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 2 | 4 << 16, 0, 0, 65_535, 1] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    for (n, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        for word in [0, n as u32, length, length] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    file
}

/// The frames of a pcap file that may still be written to.
fn frames_of(file: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut rest = file.get(24..).unwrap_or_default();
    while let Some(length) = rest.get(8..12) {
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        let Some(frame) = rest.get(16..16 + length) else {
            break;
        };
        frames.push(frame.to_vec());
        rest = &rest[16 + length..];
    }
    frames
}
