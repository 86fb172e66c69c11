// SPDX-License-Identifier: Apache-2.0
//! Files that are no recordings, or not any more, end in one sentence or in a difference.

use proptest::prelude::*;
use recording::format::{End, Header, Input, Output, Place, Reason, Record, Sent};
use recording::{Encoder, Ended, Reader, Report};

fn replayed(file: &[u8]) -> Result<Report, String> {
    let (header, mut reader) = Reader::new(file).map_err(|damaged| damaged.to_string())?;
    recording::replay(&header, &mut reader).map_err(|damaged| damaged.to_string())
}

fn header() -> Header {
    Header {
        version: "0.0.0".into(),
        drop_port: 511,
        lateness_bound: 20_000_000,
        ports: vec![1, 2],
        ..Header::default()
    }
}

fn file(records: &[Record]) -> Vec<u8> {
    let mut file = Encoder::header(&header());
    let mut encoder = Encoder::default();
    records
        .iter()
        .for_each(|record| encoder.record(&mut file, record));
    file
}

fn arrived(at: u64) -> Record {
    Record::Input(Input::Arrived {
        at,
        port: 1,
        frame: vec![0; 60],
    })
}

fn end(reason: Reason) -> Record {
    Record::End(End {
        reason,
        now: 1_000,
        place: Place::default(),
        state: None,
    })
}

fn dropped(at: u64) -> Record {
    let place = device::DropPlace::NoPipeline;
    let frames = 1;
    Record::Output(Output::Dropped { at, place, frames })
}

#[test]
fn a_device_without_a_program_drops_what_comes() {
    let stopped = end(Reason::Stopped);
    let whole = [arrived(5), dropped(5), arrived(9), dropped(9), stopped];
    let report = replayed(&file(&whole)).unwrap();
    assert_eq!((report.difference, report.same), (None, 2));
    assert_eq!(report.ended, Ended::Stopped);
    assert_eq!(report.counted.arrived, (2, 120));
}

#[test]
fn where_a_file_is_cut_off_nothing_is_missed() {
    let whole = file(&[arrived(5), dropped(5), arrived(9), dropped(9)]);
    let first = Encoder::header(&header()).len();
    for length in first..=whole.len() {
        let report = replayed(&whole[..length]).unwrap();
        assert_eq!((report.difference, report.ended), (None, Ended::CutOff));
    }
    for length in 0..first {
        assert!(replayed(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn what_did_not_happen_is_a_difference() {
    let sent = Record::Output(Output::Sent(Sent {
        at: 7,
        port: 2,
        paced: false,
        length: 60,
        hash: 1,
    }));
    let stopped = end(Reason::Stopped);
    let cases = [
        (vec![arrived(5), stopped.clone()], "something happens"),
        (vec![arrived(5), dropped(6), stopped.clone()], "a drop"),
        (vec![dropped(6), stopped.clone()], "does not happen"),
        (vec![sent.clone(), arrived(9)], "does not happen"),
        (vec![sent.clone(), end(Reason::Limit)], "does not happen"),
        (vec![arrived(7), sent, stopped], "the order"),
    ];
    for (records, what) in cases {
        let last = records.last().cloned();
        let report = replayed(&file(&records)).unwrap();
        let difference = report.difference.unwrap();
        assert!(difference.what.contains(what), "{difference:?}");
        // How it ends is known all the same.
        let is_cut_off = !matches!(last, Some(Record::End(_)));
        assert_eq!(report.ended == Ended::CutOff, is_cut_off);
    }
}

#[test]
fn what_cannot_be_is_said_in_words() {
    let good = file(&[]);
    let behind = |record: &[u8]| [good.as_slice(), record].concat();
    let mut far = Vec::new();
    Encoder::default().arrived(&mut far, 1 << 60, 1, &[]);
    let mut twice = Vec::new();
    for _ in 0..2 {
        Encoder::default().record(&mut twice, &end(Reason::Limit));
    }
    let cases = [
        (Vec::new(), "no recording"),
        (b"DOCSISRC\x09".to_vec(), "version is 9"),
        (behind(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f]), "longer than"),
        (behind(&[99, 0]), "no record of kind 99"),
        (behind(&[1, 0]), "shorter than"),
        (behind(&[20, 2, 0, 0]), "longer than what"),
        (behind(&far), "more than a year"),
        (
            behind(&[2, 6, 0x81, 0x80, 0x80, 0x80, 0x80, 1]),
            "can count",
        ),
        (behind(&twice), "behind the recording's end"),
    ];
    for (file, words) in cases {
        let sentence = replayed(&file).unwrap_err();
        assert!(sentence.contains(words), "{sentence}");
    }
    let program = recording::format::Program {
        json: b"{}".to_vec(),
        ..Default::default()
    };
    let header = Header {
        program: Some(program),
        ..header()
    };
    let sentence = replayed(&Encoder::header(&header)).unwrap_err();
    assert!(sentence.contains("its program"), "{sentence}");
}

#[test]
fn requests_that_never_end_are_not_waited_for() {
    // Closed streams, unknown methods, turns that nobody takes.
    let work = grpc_services::journal::Work::default();
    let cases = [
        Input::Said {
            request: 1,
            stream: 7,
            message: Vec::new(),
        },
        Input::Asked {
            request: 1,
            method: "/no/such".into(),
            message: Vec::new(),
        },
        Input::Ran {
            request: 1,
            at: 0,
            work,
        },
        Input::Answered {
            request: 1,
            hash: 0,
        },
    ];
    for input in cases {
        let report = replayed(&file(&[Record::Input(input.clone())])).unwrap();
        assert!(report.difference.is_some(), "{input:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn a_damaged_file_ends(
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        more in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let stopped = end(Reason::Stopped);
        let mut file = file(&[arrived(5), dropped(5), arrived(9), dropped(9), stopped]);
        let at = at.index(file.len());
        file[at] = byte;
        let _ = replayed(&file);
        file.truncate(at);
        file.extend(more);
        let _ = replayed(&file);
    }
}
