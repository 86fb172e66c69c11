// SPDX-License-Identifier: Apache-2.0
//! Captures of upstream channels and traces of devices that a process writes.

use crate::common::{Folder, Switch, until};
use grpc_services::proto::docsis::mac::v1 as mac;
use grpc_services::proto::docsis::mac::v1::upstream_channels_client::UpstreamChannelsClient;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Times of a capture's records, nanoseconds since 1970.
fn times(capture: &Path) -> Vec<u64> {
    let file = std::fs::read(capture).unwrap();
    let (link_type, records) = pcap::records(&file).unwrap();
    assert_eq!(link_type, 143);
    records.into_iter().map(|(time, _)| time).collect()
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
    let found = times(&capture);
    assert!(found.len() > 20, "{}", found.len());
    assert!(found.is_sorted());
    // The schedule may be behind the clock, and MAPs are ahead of their time by as little.
    let (first, last) = (found[0], found[found.len() - 1]);
    assert!(began < first && last < now() + 1_000_000_000);
    let words = format!("channel us1: {} frames are in its capture", found.len());
    assert!(said.contains(&words), "{said}");
    assert!(said.contains("channel us2: 0 frames"), "{said}");
    assert!(times(&other).is_empty());
    assert_eq!(std::fs::read(&trace).unwrap(), b"");
}
