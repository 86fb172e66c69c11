// SPDX-License-Identifier: Apache-2.0
//! Devices that are recorded, and what a replay finds.

mod shell;

use crate::testing::kept::Kept;
use grpc_services::proto::p4::v1::update::Type;
use proptest::prelude::*;
use recording::format::{Header, Input, Output, Reason, Record};
use recording::{Encoder, Ended, Reader, Report};
use shell::{NARROW, STATIONS, Shell, frame};
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, channel};

const QUEUE: usize = 64;
const ENDLESS: u64 = u64::MAX;

fn replayed(file: &[u8]) -> Report {
    let (header, mut reader) = Reader::new(file).unwrap();
    recording::replay(&header, &mut reader).unwrap()
}

fn records(file: &[u8]) -> (Header, Vec<Record>) {
    let (header, mut reader) = Reader::new(file).unwrap();
    let records = std::iter::from_fn(|| reader.record().unwrap());
    (header, records.collect())
}

fn written(header: &Header, records: &[Record]) -> Vec<u8> {
    let mut file = Encoder::header(header);
    let mut encoder = Encoder::default();
    records
        .iter()
        .for_each(|record| encoder.record(&mut file, record));
    file
}

/// What happens to a device.
#[derive(Clone, Debug)]
enum Event {
    Frame {
        behind: u64,
        port: u16,
        to: u8,
        length: usize,
    },
    Pause(u64),
    Write(bool, u8),
    Read,
    Get,
    Link(u16, bool),
    Missed(u16),
    NotSent(u16),
}

fn event() -> impl Strategy<Value = Event> {
    let port = 1u16..5;
    prop_oneof![
        12 => (0u64..300_000, port.clone(), 0..STATIONS, 60usize..1500).prop_map(
            |(behind, port, to, length)| Event::Frame { behind, port, to, length }
        ),
        6 => (0u64..900_000).prop_map(Event::Pause),
        // Late: time jumps when the next frame comes.
        1 => (20_000_000u64..60_000_000).prop_map(Event::Pause),
        1 => (any::<bool>(), 0..STATIONS).prop_map(|(insert, from)| Event::Write(insert, from)),
        1 => Just(Event::Read),
        1 => Just(Event::Get),
        1 => (port.clone(), any::<bool>()).prop_map(|(port, up)| Event::Link(port, up)),
        1 => port.clone().prop_map(Event::Missed),
        1 => port.prop_map(Event::NotSent),
    ]
}

fn happen(shell: &mut Shell, number: usize, event: &Event) {
    match *event {
        Event::Frame {
            behind,
            port,
            to,
            length,
        } => shell.receive(behind, port, &frame(to, length, number as u8)),
        // A thread that is not run does nothing of what is due.
        Event::Pause(ns) if ns > 10_000_000 => shell.clock += ns,
        Event::Pause(ns) => shell.pause(ns),
        Event::Write(true, from) => shell.write(Type::Insert, from..STATIONS),
        Event::Write(false, from) => shell.write(Type::Delete, from..STATIONS),
        Event::Read => shell.read(),
        Event::Get => shell.get(),
        Event::Link(port, up) => shell.link(port, up),
        Event::Missed(port) => shell.missed(port, 3),
        Event::NotSent(port) => shell.not_sent(port),
    }
}

/// What is recorded of a device to which this happens.
fn recorded(events: &[Event]) -> Vec<u8> {
    let kept = Kept::default();
    let mut shell = Shell::start(kept.clone(), ENDLESS, QUEUE);
    for (number, event) in events.iter().enumerate() {
        happen(&mut shell, number, event);
    }
    shell.stop();
    kept.bytes()
}

/// Bursts to all stations, with pauses: some wait, some are dropped.
fn busy(frames: usize) -> Vec<Event> {
    let mut events = Vec::new();
    for number in 0..frames {
        events.push(Event::Frame {
            behind: 1_000,
            port: 4,
            to: (number % usize::from(STATIONS)) as u8,
            length: 700 + number % 800,
        });
        events.push(Event::Pause(20_000));
        if number % 200 == 100 {
            events.extend([Event::Read, Event::Get, Event::Pause(30_000_000)]);
        }
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn whatever_happens_happens_again(events in prop::collection::vec(event(), 0..150)) {
        let report = replayed(&recorded(&events));
        prop_assert_eq!(&report.difference, &None);
        prop_assert_eq!(report.ended, Ended::Stopped);
        let frames = events.iter().filter(|event| matches!(event, Event::Frame { .. }));
        prop_assert_eq!(report.counted.arrived.0, frames.count() as u64);
        // The three answers of provisioning, that to arbitration, and the state at the end.
        prop_assert!(report.same >= 5 + report.counted.sent.0);
    }
}

#[test]
fn all_kinds_of_things_happen() {
    let report = replayed(&recorded(&busy(600)));
    assert_eq!(report.difference, None);
    let counted = report.counted;
    assert!(counted.sent.0 > 100 && counted.jumps > 0, "{counted:?}");
    let dropped = counted.dropped.iter().filter(|&&frames| frames > 0);
    assert!(dropped.count() > 1, "{counted:?}");
    // Some requests have several turns.
    assert!(counted.turns > counted.requests, "{counted:?}");
}

/// Every other value of an output.
fn others(output: &Output) -> Vec<Output> {
    let mut others = Vec::new();
    match *output {
        Output::Sent(sent) => {
            let changes: [fn(&mut recording::format::Sent); 5] = [
                |sent| sent.at += 1,
                |sent| sent.port += 1,
                |sent| sent.paced = !sent.paced,
                |sent| sent.length += 1,
                |sent| sent.hash ^= 1,
            ];
            for change in changes {
                let mut other = sent;
                change(&mut other);
                others.push(Output::Sent(other));
            }
        }
        Output::Dropped { at, place, frames } => others.extend([
            Output::Dropped {
                at: at - 1,
                place,
                frames,
            },
            Output::Dropped {
                at,
                place,
                frames: frames + 1,
            },
        ]),
        Output::Told { .. } => {}
    }
    others
}

#[test]
fn an_output_that_is_another_is_found() {
    let (header, records) = records(&recorded(&busy(120)));
    let mut found = 0;
    for at in (0..records.len()).step_by(17) {
        let Record::Output(output) = &records[at] else {
            continue;
        };
        for other in others(output) {
            let mut records = records.clone();
            records[at] = Record::Output(other);
            let difference = replayed(&written(&header, &records)).difference;
            assert!(difference.is_some(), "{output:?} {other:?}");
            found += 1;
        }
        let mut records = records.clone();
        records.remove(at);
        let difference = replayed(&written(&header, &records)).difference;
        assert!(difference.is_some(), "{output:?}");
    }
    assert!(found > 10);
}

#[test]
fn an_input_that_is_another_is_found() {
    let (header, records) = records(&recorded(&busy(120)));
    let changed = |at: usize, record: Record| {
        let mut records = records.clone();
        records[at] = record;
        replayed(&written(&header, &records)).difference
    };
    // A frame that left when it came.
    let left_at_once = |at: &usize| match (&records[*at], &records[at + 1]) {
        (Record::Input(Input::Arrived { at, .. }), Record::Output(Output::Sent(sent))) => {
            *at == sent.at && sent.port != NARROW
        }
        _ => false,
    };
    let at = (0..records.len() - 1).find(left_at_once).unwrap();
    let Record::Input(Input::Arrived {
        at: stamp,
        port,
        frame,
    }) = records[at].clone()
    else {
        unreachable!()
    };
    let later = Input::Arrived {
        at: stamp + 1,
        port,
        frame: frame.clone(),
    };
    let difference = changed(at, Record::Input(later)).unwrap();
    assert_eq!(difference.what, "the due time of a frame that leaves");
    assert_eq!(difference.at, stamp);
    let mut other = frame.clone();
    *other.last_mut().unwrap() ^= 1;
    let other = Input::Arrived {
        at: stamp,
        port,
        frame: other,
    };
    let difference = changed(at, Record::Input(other)).unwrap();
    assert!(difference.what.starts_with("the bytes of a frame"));
    assert!(difference.port.is_some());
    // Answers, and turns that are another's.
    let at = |wanted: fn(&Input) -> bool| {
        let is_wanted = |record: &Record| matches!(record, Record::Input(input) if wanted(input));
        records.iter().rposition(is_wanted).unwrap()
    };
    let answered = at(|input| matches!(input, Input::Answered { .. }));
    if let Record::Input(Input::Answered { request, hash }) = records[answered] {
        let hash = hash ^ 1;
        let other = Record::Input(Input::Answered { request, hash });
        let difference = changed(answered, other).unwrap();
        assert_eq!(difference.what, "the answer to a request");
    }
    let ran = at(|input| matches!(input, Input::Ran { work, .. } if work.stopped));
    if let Record::Input(Input::Ran {
        request,
        at,
        mut work,
    }) = records[ran]
    {
        work.units += 1;
        let other = Record::Input(Input::Ran { request, at, work });
        let difference = changed(ran, other).unwrap();
        // More in this turn, or nothing left for the next.
        assert!(difference.what.starts_with("a request"), "{difference:?}");
    }
    // Of a jump that is not there, what is due is due at other times.
    let mut fewer = records.clone();
    let jumped = at(|input| matches!(input, Input::Jumped { .. }));
    fewer.remove(jumped);
    assert!(replayed(&written(&header, &fewer)).difference.is_some());
}

#[test]
fn a_recording_ends_at_its_limit() {
    let whole = recorded(&busy(300)).len() as u64;
    for part in 1..12 {
        let limit = whole * part / 12;
        let kept = Kept::default();
        let mut shell = Shell::start(kept.clone(), limit, QUEUE);
        for (number, event) in busy(300).iter().enumerate() {
            happen(&mut shell, number, event);
        }
        shell.stop();
        let file = kept.bytes();
        assert!(
            file.len() as u64 <= limit.max(200),
            "{} {limit}",
            file.len()
        );
        let report = replayed(&file);
        assert_eq!((report.difference, report.ended), (None, Ended::Limit));
    }
}

/// A disk that stands still until it is told to go on.
struct Stuck(Kept, Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Whoever holds it has let go.
        let _ = self.1.recv();
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_stands_still_ends_the_recording_and_not_the_switch() {
    let (kept, (go_on, stuck)) = (Kept::default(), channel());
    let mut shell = Shell::start(Stuck(kept.clone(), stuck), ENDLESS, 1);
    // Chunks of 256 KiB: some are lost.
    for (number, event) in busy(2_500).iter().enumerate() {
        happen(&mut shell, number, event);
    }
    drop(go_on);
    shell.stop();
    let (_, records) = records(&kept.bytes());
    let Some(Record::End(end)) = records.last() else {
        panic!("there is no end");
    };
    assert_eq!(end.reason, Reason::Overrun);
    let report = replayed(&kept.bytes());
    assert_eq!((report.difference, report.ended), (None, Ended::Overrun));
    assert!(report.counted.arrived.0 > 10);
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_holds_nobody_up() {
    let mut shell = Shell::start(Full, ENDLESS, 1);
    for (number, event) in busy(50).iter().enumerate() {
        happen(&mut shell, number, event);
    }
    shell.stop();
}
