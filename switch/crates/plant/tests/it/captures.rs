// SPDX-License-Identifier: Apache-2.0
//! Captures of channels that come and go, and whose files have no room.

use crate::common::*;
use plant::mac_wire::Profile;
use plant::{CaptureFile, Captured, Configuration};
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Mutex};

const MOST: u64 = 1 << 24;
const AHEAD: u64 = 7 * SECOND;

/// What was written, one part a call, as far as `refuses` lets it be.
#[derive(Clone, Default)]
struct Written {
    parts: Arc<Mutex<Vec<Vec<u8>>>>,
    calls: Arc<Mutex<u64>>,
    /// Refuses each call of which the number can be divided by this; 0: none.
    refuses: u64,
    with: Option<ErrorKind>,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        if let Some(kind) = self.with.filter(|_| *calls % self.refuses == 0) {
            return Err(kind.into());
        }
        self.parts.lock().unwrap().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn file(&self, most: u64) -> CaptureFile {
        CaptureFile::new(Box::new(self.clone()), most, AHEAD).unwrap()
    }

    /// Times of the records.
    fn times(&self) -> Vec<u64> {
        let all = self.parts.lock().unwrap().concat();
        let (_, records) = pcap::records(&all).expect("whole records");
        records.into_iter().map(|(time, _)| time).collect()
    }
}

/// A modem with a frame every 3 ms on channel us1, until that time.
fn played(world: &mut World, from: u64, until: u64) {
    let mut at = from;
    while at < until {
        world.give(at, MODEM, HOST, &frame(1, RF, 1, 600));
        at += 3 * MILLISECOND;
    }
    world.run(until);
}

fn ended(world: &mut World) -> Captured {
    let mut ended = world.plant.end_captures();
    assert_eq!(ended.len(), 1);
    let (name, captured) = ended.remove(0);
    assert_eq!(name, "us1");
    captured.unwrap()
}

#[test]
fn a_channel_that_is_replaced_goes_on_in_its_file() {
    let mut world = World::new(1);
    world.add_queues(0, [1]);
    let written = Written::default();
    world.plant.capture("us1", written.file(MOST)).unwrap();
    world.run(SECOND);
    let ends = [2 * SECOND, 3 * SECOND];
    let mut counts = Vec::new();
    for (profile, end) in [Profile::docsis_3_1(15), Profile::docsis_3_1(7)]
        .into_iter()
        .zip(ends)
    {
        let request = Configuration {
            channels: vec![channel("us1", 1, profile)],
            granted: vec![granted()],
            flows: vec![best_effort("us1", 1)],
            complete: true,
            ..Configuration::default()
        };
        let begin = world.plant.time();
        world
            .plant
            .configure(&mut world.nodes, begin, request)
            .unwrap();
        played(&mut world, begin, end);
        let look = world.plant.channels().next().unwrap();
        let counted = look.channel.statistics();
        counts.push(counted.maps + counted.frames);
    }
    let captured = ended(&mut world);
    let times = written.times();
    assert!(times.is_sorted());
    assert_eq!(captured.frames, times.len() as u64);
    assert_eq!(captured.left_out, 0);
    // MAPs and frames of both, and the requests between them, by the plant's clock.
    let split = times.partition_point(|at| *at < AHEAD + ends[0]) as u64;
    assert!(times[0] >= AHEAD + SECOND && *times.last().unwrap() < AHEAD + ends[1]);
    assert!(counts[0] > 400 && split > counts[0]);
    assert!(counts[1] > 800 && captured.frames - split > counts[1]);
}

#[test]
fn a_channel_that_never_comes_leaves_an_empty_capture() {
    let mut world = World::with_channel(1, Profile::docsis_3_1(15), 1);
    let written = Written::default();
    world.plant.capture("us2", written.file(MOST)).unwrap();
    let other = Written::default().file(MOST);
    assert!(world.plant.capture("us2", other).is_err());
    played(&mut world, 0, SECOND);
    let [(name, captured)] = &world.plant.end_captures()[..] else {
        panic!("one capture");
    };
    assert_eq!((&**name, captured.as_ref().unwrap().frames), ("us2", 0));
    assert!(written.times().is_empty());
}

#[test]
fn what_a_writer_has_no_room_for_is_counted_and_the_rest_is_written() {
    let mut world = World::with_channel(1, Profile::docsis_3_1(15), 1);
    let all = Written::default();
    world.plant.capture("us1", all.file(MOST)).unwrap();
    played(&mut world, 0, SECOND);
    let whole = ended(&mut world).frames;

    let mut world = World::with_channel(1, Profile::docsis_3_1(15), 1);
    let some = Written {
        refuses: 5,
        with: Some(ErrorKind::WouldBlock),
        ..Written::default()
    };
    world.plant.capture("us1", some.file(MOST)).unwrap();
    played(&mut world, 0, SECOND);
    let captured = ended(&mut world);
    assert_eq!(captured.frames, some.times().len() as u64);
    assert_eq!(captured.frames + captured.left_out, whole);
    // The first call is the file's header.
    assert_eq!(captured.left_out, (whole + 1) / 5);
}

#[test]
fn a_file_that_cannot_be_written_is_told_at_the_end() {
    let mut world = World::with_channel(1, Profile::docsis_3_1(15), 1);
    let full = Written {
        refuses: 5,
        with: Some(ErrorKind::StorageFull),
        ..Written::default()
    };
    world.plant.capture("us1", full.file(MOST)).unwrap();
    played(&mut world, 0, SECOND);
    let [(_, captured)] = &world.plant.end_captures()[..] else {
        panic!("one capture");
    };
    assert_eq!(
        captured.as_ref().unwrap_err().kind(),
        ErrorKind::StorageFull
    );
    assert_eq!(full.times().len(), 3);
}
