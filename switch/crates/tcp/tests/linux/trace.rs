// SPDX-License-Identifier: Apache-2.0
//! A trace that record.py wrote: the script, and what the kernel did.

use std::fs;
use std::path::{Path, PathBuf};
use tcp::Congestion;

const MICROSECOND: u64 = 1_000;

/// An acknowledgment in a trace. Numbers count from the first byte of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgment {
    pub number: u32,
    /// The window field, not scaled.
    pub window: u16,
    /// Milliseconds from the SYN's timestamp.
    pub echo: u32,
    pub sack: Vec<(u32, u32)>,
}

/// What the sender thought after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub cwnd: u32,
    pub ssthresh: u32,
}

#[derive(Clone, Debug)]
pub enum Event {
    /// The answer to the SYN arrives; its echo is in milliseconds from the
    /// first SYN's timestamp.
    Handshake { window: u16, scale: u8, echo: u32 },
    /// The sender sends data.
    Sends { seq: u32, length: u32 },
    /// Data arrives, with PSH or without. Its echo is in milliseconds from the
    /// timestamp of the answer to the SYN.
    Delivered {
        seq: u32,
        length: u32,
        echo: u32,
        push: bool,
    },
    /// The receiver acknowledges.
    Acknowledges(Acknowledgment),
    /// An ACK arrives.
    Acknowledged(Acknowledgment, Sample),
}

pub struct Trace {
    pub name: String,
    pub congestion: Congestion,
    pub segments: u64,
    pub rate: u64,
    pub delay: u64,
    pub lost: Vec<u32>,
    pub lost_acks: Vec<u32>,
    pub lost_syns: u32,
    /// Segments, and how many milliseconds later they come.
    pub late: Vec<(u32, u64)>,
    /// Says what the receiver did, too.
    pub receiver: bool,
    /// With the time in nanoseconds from the SYN.
    pub events: Vec<(u64, Event)>,
}

/// The committed traces, by name.
pub fn committed() -> Vec<Trace> {
    all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linux/traces"))
}

/// The traces in a folder, by name.
pub fn all(folder: &Path) -> Vec<Trace> {
    let entries = fs::read_dir(folder).expect("there is a folder of traces");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no traces in {}", folder.display());
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Trace {
    let text = fs::read_to_string(path).unwrap();
    let mut trace = Trace {
        name: String::new(),
        congestion: Congestion::Cubic,
        segments: 0,
        rate: 0,
        delay: 0,
        lost: Vec::new(),
        lost_acks: Vec::new(),
        lost_syns: 0,
        late: Vec::new(),
        receiver: false,
        events: Vec::new(),
    };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        if line.starts_with(|letter: char| letter.is_ascii_digit()) {
            let at = words[0].parse::<u64>().unwrap() * MICROSECOND;
            trace.events.push((at, event(&words[1..])));
        } else {
            setting(&mut trace, words[0], &words[1..]);
        }
    }
    trace.receiver = trace
        .events
        .iter()
        .any(|(_, event)| matches!(event, Event::Delivered { .. }));
    trace
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.parse().unwrap()
}

fn setting(trace: &mut Trace, name: &str, words: &[&str]) {
    match name {
        "name" => trace.name = words[0].to_owned(),
        "congestion" => {
            trace.congestion = match words[0] {
                "cubic" => Congestion::Cubic,
                "reno" => Congestion::Reno,
                other => panic!("no congestion control {other}"),
            }
        }
        "segments" => trace.segments = number(words[0]),
        "rate" => trace.rate = number(words[0]),
        "delay" => trace.delay = number(words[0]),
        "lost" => trace.lost = words.iter().map(|word| number(word)).collect(),
        "lost-syns" => trace.lost_syns = number(words[0]),
        "lost-acks" => trace.lost_acks = words.iter().map(|word| number(word)).collect(),
        "late" => {
            let pair = |word: &&str| {
                let (segment, late) = word.split_once(':').unwrap();
                (number(segment), number(late))
            };
            trace.late = words.iter().map(pair).collect();
        }
        other => panic!("no setting {other}"),
    }
}

fn event(words: &[&str]) -> Event {
    match words[0] {
        "H" => Event::Handshake {
            window: number(words[1]),
            scale: number(words[2]),
            echo: number(words[3]),
        },
        "S" => Event::Sends {
            seq: number(words[1]),
            length: number(words[2]),
        },
        "D" => Event::Delivered {
            seq: number(words[1]),
            length: number(words[2]),
            echo: number(words[3]),
            push: words[4..].contains(&"push"),
        },
        "A" => Event::Acknowledges(acknowledgment(&words[1..])),
        "R" => {
            let bar = words.iter().position(|word| *word == "|").unwrap();
            let sample = Sample {
                cwnd: number(words[bar + 1]),
                ssthresh: number(words[bar + 2]),
            };
            Event::Acknowledged(acknowledgment(&words[1..bar]), sample)
        }
        other => panic!("no event {other}"),
    }
}

fn acknowledgment(words: &[&str]) -> Acknowledgment {
    let block = |word: &&str| {
        let (left, right) = word.split_once('-')?;
        Some((number(left), number(right)))
    };
    Acknowledgment {
        number: number(words[0]),
        window: number(words[1]),
        echo: number(words[2]),
        sack: words[3..].iter().filter_map(block).collect(),
    }
}
