// SPDX-License-Identifier: Apache-2.0
//! Captures of upstream channels and traces of devices that a process writes.

use crate::common::{Switch, until};
use p4runtime::proto::docsis::mac::v1 as mac;
use p4runtime::proto::docsis::mac::v1::upstream_channels_client::UpstreamChannelsClient;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("docsis-switch-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Lengths of a capture's records and their times, nanoseconds since 1970.
fn records(file: &[u8]) -> Vec<(u64, usize)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 143));
    let (mut at, mut found) = (24, Vec::new());
    while at < file.len() {
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        let length = word(at + 8) as usize;
        found.push((time, length));
        at += 16 + length;
    }
    assert_eq!(at, file.len(), "whole records");
    found
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}

/// A channel without service flows makes MAPs; nothing needs an interface.
#[test]
fn what_crosses_a_channel_is_written_until_the_end() {
    let folder = Folder::new("taps");
    let (capture, other) = (folder.file("us1.pcap"), folder.file("us2.pcap"));
    let trace = folder.file("cm.txt");
    let began = now();
    let switch = Switch::start(&[
        "--no-p4",
        "--device-id",
        "1",
        "--rf-link",
        "1:1,2:1",
        "--channel-pcap",
        &format!("us1={}", capture.display()),
        "--channel-pcap",
        &format!("us2={}", other.display()),
        "--device-trace",
        &format!("1={}", trace.display()),
        "--log-console",
    ]);
    let request = mac::ConfigureRequest {
        channels: vec![mac::Channel {
            name: "us1".into(),
            number: 1,
            profile: "docsis-3.0".into(),
            ..mac::Channel::default()
        }],
        ..mac::ConfigureRequest::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let address = format!("http://{}", switch.address);
    let mut client = runtime
        .block_on(UpstreamChannelsClient::connect(address))
        .unwrap();
    runtime.block_on(client.configure(request)).unwrap();
    until("a few MAPs", || {
        let get = runtime.block_on(client.get(mac::GetRequest { maps: 0 }));
        let state = get.unwrap().into_inner().channels.remove(0);
        state.counters.unwrap().maps > 20
    });
    // Before the end, too.
    until("a record in the file", || {
        std::fs::metadata(&capture).unwrap().len() > 100
    });
    let said = switch.stop();
    let found = records(&std::fs::read(&capture).unwrap());
    assert!(found.len() > 20, "{}", found.len());
    assert!(found.is_sorted_by_key(|(at, _)| *at));
    // The schedule may be behind the clock, and MAPs are ahead of their time by as little.
    let (first, last) = (found[0].0, found[found.len() - 1].0);
    assert!(began < first && last < now() + 1_000_000_000);
    let words = format!("channel us1: {} frames are in its capture", found.len());
    assert!(said.contains(&words), "{said}");
    assert!(said.contains("channel us2: 0 frames"), "{said}");
    assert!(records(&std::fs::read(&other).unwrap()).is_empty());
    assert_eq!(std::fs::read(&trace).unwrap(), b"");
}
