// SPDX-License-Identifier: Apache-2.0
//! What a trace and a capture tell of a channel is what happened on it.

use std::io::Write;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::{MILLISECOND, SECOND};
use crate::plant::{CHANNEL, modem, plant, send};
use device::ServiceFlowConfig;
use grpc_services::proto::docsis::mac::v1::{ChannelState, How};
use v1model::trace::{JsonTrace, TextTrace, TraceFilter};
use world::mac_wire::{
    Extended, LINK_TYPE, MacHeader, Map, Minislot, Packing, Profile, Request, frames,
};
use world::{Captured, World};

/// What was written, for whoever holds the other end.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn named(name: &str) -> Profile {
    match name {
        // The paper's MAPs of 2 ms, which the name alone has too.
        "docsis-1.1-004" => Profile::docsis_1_1_004(2 * MILLISECOND).unwrap(),
        name => Profile::named(name).unwrap(),
    }
}

/// Three modems with more to send than the channel of paper 004 carries, for 100 ms.
fn loaded(name: &str) -> World {
    let mut world = plant(3, named(name), 3, ServiceFlowConfig::default());
    world.watch_channel(CHANNEL, 128).unwrap();
    for number in 0..3 {
        let times = (5..60).map(|at| at * (2 * MILLISECOND + number as u64 * 1000));
        send(&mut world, number, 200 + 400 * number, times.collect());
    }
    world
}

/// The burst of the channel's state that begins there.
fn grant_at(state: &ChannelState, start_ns: u64, sid: u32) -> Option<(u32, Option<(How, u64)>)> {
    let clock = state.shape.unwrap();
    state.maps.iter().find_map(|map| {
        map.elements.iter().find_map(|element| {
            let slot = map.first_minislot + u64::from(element.offset);
            let frame = slot / u64::from(clock.minislots_per_frame);
            let starts = (frame * clock.frame_ps).div_ceil(1000);
            let burst = element.burst.as_ref()?;
            (starts == start_ns && element.sid == sid).then(|| {
                let asked = burst.asked.map(|asked| (asked.how(), asked.sent_ns));
                (element.minislots, asked)
            })
        })
    })
}

/// Every packet that a modem sends is told with a request that was made and a grant that there was.
#[test]
fn a_trace_names_the_request_the_grant_and_the_burst() {
    for name in ["docsis-1.1-004", "docsis-3.0", "docsis-3.1"] {
        let mut world = loaded(name);
        let shared = Shared::default();
        let trace = JsonTrace::new(shared.clone(), TraceFilter::default(), 1 << 24);
        let added = world.with_device(&modem(1), |device, _| device.add_trace(Box::new(trace)));
        assert!(added.unwrap().is_some());
        world.run_until(SECOND / 10).unwrap();
        let state = world.channel_state(CHANNEL).unwrap();
        let text = String::from_utf8(shared.take()).unwrap();
        let mut asked = std::collections::BTreeSet::new();
        let (mut bursts, mut sent) = (0, 0);
        for line in text.lines() {
            let event: serde_json::Value = serde_json::from_str(line).unwrap();
            let number = |name: &str| event[name].as_u64();
            match event["event"].as_str().unwrap() {
                "burst" => {
                    bursts += 1;
                    let start = number("start_ns").unwrap();
                    let (minislots, answers) = grant_at(&state, start, 2).unwrap();
                    assert_eq!(number("minislots").unwrap(), u64::from(minislots));
                    assert_eq!(number("channel").unwrap(), 1);
                    let told = match (event["requested"].as_str(), number("requested_ns")) {
                        (Some("contention"), Some(at)) => Some((How::Contention, at)),
                        (Some("burst"), Some(at)) => Some((How::Burst, at)),
                        (None, None) => None,
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(told, answers, "{line}");
                    let (how, at) = told.expect("nothing is granted that nobody asked for");
                    asked.insert(how as i32);
                    let made = number("time_ns").unwrap();
                    assert!(at < made && made <= start, "{line}");
                    assert!(start < number("end_ns").unwrap());
                }
                "sent" if number("port") == Some(1) => sent += 1,
                _ => {}
            }
        }
        assert!(sent > 10 && bursts == sent, "{name}: {bursts} of {sent}");
        assert!(asked.contains(&(How::Contention as i32)), "{name}");
        assert_eq!(
            asked.contains(&(How::Burst as i32)),
            named(name).piggyback,
            "{name}"
        );
    }
}

#[test]
fn a_trace_for_people_says_so_in_words() {
    let mut world = plant(3, named("docsis-1.1-004"), 1, ServiceFlowConfig::default());
    send(&mut world, 0, 1518, vec![10 * MILLISECOND]);
    let shared = Shared::default();
    let trace = TextTrace::new(shared.clone(), TraceFilter::default(), 1 << 20);
    world
        .with_device(&modem(0), |device, _| device.add_trace(Box::new(trace)))
        .unwrap();
    world.run_until(SECOND / 20).unwrap();
    let text = String::from_utf8(shared.take()).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let place = |start: &str| {
        let found = lines.iter().position(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no line starts with {start}: {text}"))
    };
    let (queued, asked) = (
        place("queue 1 of port 1"),
        place("asked for in contention at 0.01"),
    );
    let granted = place("granted minislots ");
    assert!(queued < asked && asked < granted && granted < place("sent through port 1"));
    // 96 minislots of 25 us.
    let words: Vec<&str> = lines[granted].split_whitespace().collect();
    let (first, last): (u64, u64) = (words[2].parse().unwrap(), words[4].parse().unwrap());
    assert_eq!(last - first, 95);
    assert_eq!(
        lines[granted],
        format!(
            "granted minislots {first} to {last} of channel 1: its burst is from {} to {} s",
            seconds(first * 25_000),
            seconds((last + 1) * 25_000)
        )
    );
}

fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / SECOND, ns % SECOND)
}

/// Times and frames of a capture file.
fn records(file: &[u8]) -> Vec<(u64, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, LINK_TYPE.into()));
    let (mut at, mut found) = (24, Vec::new());
    while at < file.len() {
        let time = u64::from(word(at)) * SECOND + u64::from(word(at + 4));
        let length = word(at + 8) as usize;
        assert_eq!(word(at + 12) as usize, length, "a record is cut");
        found.push((time, &file[at + 16..at + 16 + length]));
        at += 16 + length;
    }
    found
}

/// All that tshark says of a file that it does not like; `None` where there is no tshark.
pub fn complaints(file: &[u8]) -> Option<String> {
    let path = std::env::temp_dir().join(format!(
        "docsis-p4-capture-{}-{}.pcap",
        std::process::id(),
        file.len()
    ));
    Command::new("tshark").arg("-v").output().is_ok().then(|| {
        std::fs::write(&path, file).unwrap();
        let told = Command::new("tshark")
            .args(["-n", "-o", "docsis.check_fcs:TRUE", "-r"])
            .arg(&path)
            .args(["-Y", "_ws.malformed || _ws.expert.severity >= 0x600000"])
            .output()
            .unwrap();
        let _ = std::fs::remove_file(&path);
        assert!(
            told.status.success(),
            "{}",
            String::from_utf8_lossy(&told.stderr)
        );
        String::from_utf8(told.stdout).unwrap()
    })
}

#[test]
fn a_capture_has_maps_requests_and_bursts_and_nothing_malformed() {
    for name in Profile::NAMES {
        let profile = named(name);
        let mut world = loaded(name);
        let shared = Shared::default();
        // Some channels make a MAP at once.
        let before = world.channel_statistics(CHANNEL).unwrap().maps;
        let taken = world.capture_channel(CHANNEL, Box::new(shared.clone()), 1 << 24);
        taken.unwrap();
        assert!(
            world
                .capture_channel(CHANNEL, Box::new(shared.clone()), 1)
                .is_err()
        );
        // Until all has arrived.
        world.run_until(SECOND).unwrap();
        let captured = world.end_capture(CHANNEL).unwrap();
        assert!(world.end_capture(CHANNEL).is_err());
        let state = world.channel_state(CHANNEL).unwrap();
        let file = shared.take();
        let found = records(&file);
        assert_eq!(
            captured,
            Captured {
                frames: found.len() as u64,
                left_out: 0
            }
        );
        assert!(found.is_sorted_by_key(|(at, _)| *at), "{name}");
        let (mut maps, mut requests, mut carried, mut concatenated) = (0, 0, 0, 0);
        let mut piggybacked = 0;
        let mut last = Minislot(0);
        for (at, bytes) in &found {
            if let Ok(map) = Map::decode_message(bytes, last) {
                assert!(last == Minislot(0) || map.start == last, "{name}");
                last = map.end;
                maps += 1;
            } else if let Ok(request) = Request::decode(bytes, |_| 4) {
                assert!((1..=3).contains(&request.sid.0));
                requests += 1;
            } else {
                let parts = frames(bytes).unwrap();
                concatenated += usize::from(parts.len() > 1);
                for part in parts {
                    let (header, _) = MacHeader::decode(part).unwrap();
                    let MacHeader::Packet { extended, payload } = header else {
                        panic!("{name} at {at}: {header:?}");
                    };
                    piggybacked += extended
                        .iter()
                        .filter(|one| matches!(one, Extended::Request { .. }))
                        .count();
                    assert!([200, 600, 1000].contains(&payload), "{payload}");
                    carried += 1;
                }
            }
        }
        let counters = state.counters.unwrap();
        assert_eq!(maps, counters.maps - before, "{name}");
        let heard = counters.requests - counters.requests_collided;
        assert!(
            requests > 0 && requests <= heard,
            "{name}: {requests} of {heard}"
        );
        assert_eq!(carried, counters.frames, "{name}");
        if profile.packing == Packing::Concatenated {
            assert!(concatenated > 0, "{name}");
            assert_eq!(piggybacked > 0, profile.piggyback, "{name}");
        }
        if let Some(told) = complaints(&file) {
            assert_eq!(told, "", "{name}");
        }
    }
}

#[test]
fn a_capture_ends_where_its_file_is_full_and_changes_nothing() {
    let mut world = loaded("docsis-3.0");
    let shared = Shared::default();
    world
        .capture_channel(CHANNEL, Box::new(shared.clone()), 5000)
        .unwrap();
    world.run_until(SECOND / 5).unwrap();
    let captured = world.end_capture(CHANNEL).unwrap();
    let file = shared.take();
    assert!(file.len() <= 5000 && file.len() > 3000);
    assert_eq!(records(&file).len() as u64, captured.frames);
    assert!(captured.left_out > 0);
    let mut without = loaded("docsis-3.0");
    without.run_until(SECOND / 5).unwrap();
    assert_eq!(world.digest(), without.digest());
}

/// A disk without room.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_capture_that_cannot_be_written_is_told_at_its_end() {
    let mut world = loaded("docsis-3.0");
    world
        .capture_channel(CHANNEL, Box::new(Full(2000)), u64::MAX)
        .unwrap();
    world.run_until(SECOND / 5).unwrap();
    let told = world.end_capture(CHANNEL).unwrap_err().to_string();
    assert!(
        told.starts_with("channel \"upstream\": the capture cannot be written: "),
        "{told}"
    );
}
