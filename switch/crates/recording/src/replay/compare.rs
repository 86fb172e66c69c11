// SPDX-License-Identifier: Apache-2.0
//! Compares the device's outputs with the recorded ones.

use super::report::Difference;
use crate::format::{Output, Sent, Told};
use crate::hash::{hash, hash_of_event};
use device::{Device, Drops, Event};
use std::collections::VecDeque;

/// The device's way out in a replay.
#[derive(Debug, Default)]
pub struct Compare {
    /// What was recorded and has not been given yet.
    expected: VecDeque<Output>,
    /// What was given and is recorded further on: an input comes before its drops.
    given: VecDeque<Output>,
    pub same: u64,
    pub difference: Option<Difference>,
    seen: Drops,
}

fn time(output: &Output) -> u64 {
    match *output {
        Output::Sent(Sent { at, .. }) | Output::Told { at, .. } | Output::Dropped { at, .. } => at,
    }
}

fn port(output: &Output) -> Option<u16> {
    match output {
        Output::Sent(sent) => Some(sent.port),
        _ => None,
    }
}

/// An output, in words.
fn words(output: &Output) -> String {
    match output {
        Output::Sent(sent) => format!(
            "a frame of {} bytes with hash {:016x} leaves port {} at {} ns{}",
            sent.length,
            sent.hash,
            sent.port,
            sent.at,
            if sent.paced { ", paced" } else { "" }
        ),
        Output::Told {
            at,
            told,
            taken,
            hash,
        } => format!(
            "the controller is told {} with hash {hash:016x} at {at} ns and {} it",
            match told {
                Told::PacketIn => "a frame",
                Told::Event => "an event",
            },
            if *taken { "takes" } else { "does not take" }
        ),
        Output::Dropped { at, place, frames } => {
            format!("{frames} frames are dropped at {at} ns ({})", place.name())
        }
    }
}

/// What differs between two outputs.
fn what(recorded: &Output, replayed: &Output) -> &'static str {
    match (recorded, replayed) {
        (Output::Sent(one), Output::Sent(other)) => {
            if one.port != other.port {
                "the port of a frame that leaves"
            } else if (one.length, one.hash) != (other.length, other.hash) {
                "the bytes of a frame that leaves, or the order of frames"
            } else if one.at != other.at {
                "the due time of a frame that leaves"
            } else {
                "the pacing of a frame that leaves"
            }
        }
        (Output::Told { .. }, Output::Told { .. }) => "what the controller is told",
        (Output::Dropped { .. }, Output::Dropped { .. }) => "a drop",
        _ => "the order of what happens",
    }
}

impl Compare {
    /// The device is to give this.
    pub fn expect(&mut self, output: Output) {
        self.expected.push_back(output);
        self.match_up();
    }

    /// The last of what the device is to give, and has not given yet.
    pub fn last_expected(&self) -> Option<u64> {
        self.expected.back().map(time)
    }

    /// Whether the device has given something that is not known to be recorded.
    pub fn is_ahead(&self) -> bool {
        !self.given.is_empty()
    }

    /// Something else than an output differs.
    pub fn differs(&mut self, difference: Difference) {
        self.difference.get_or_insert(difference);
    }

    /// The device has given something.
    fn given(&mut self, output: Output) {
        self.given.push_back(output);
        self.match_up();
    }

    fn match_up(&mut self) {
        while self.difference.is_none()
            && let (Some(expected), Some(given)) = (self.expected.front(), self.given.front())
        {
            if expected == given {
                self.same += 1;
                self.expected.pop_front();
                self.given.pop_front();
                continue;
            }
            let difference = Difference {
                what: what(expected, given),
                at: time(expected).min(time(given)),
                port: port(given).or(port(expected)),
                recorded: words(expected),
                replayed: words(given),
            };
            self.differs(difference);
        }
    }

    /// All that was recorded so far has been given, and nothing else, or that is the
    /// difference.
    pub fn settle(&mut self) {
        if let Some(given) = self.given.front().copied() {
            self.differs(Difference {
                what: "something happens that did not",
                at: time(&given),
                port: port(&given),
                recorded: "nothing".into(),
                replayed: words(&given),
            });
        }
        if let Some(expected) = self.expected.front().copied() {
            self.differs(Difference {
                what: "something does not happen that did",
                at: time(&expected),
                port: port(&expected),
                recorded: words(&expected),
                replayed: "nothing".into(),
            });
        }
    }

    /// What the device has dropped since the last look.
    pub fn look_at_drops(&mut self, device: &Device) {
        let drops = device.drops();
        if drops.total() == self.seen.total() {
            return;
        }
        let at = device.time();
        for (place, frames) in drops.since(std::mem::replace(&mut self.seen, drops)) {
            self.given(Output::Dropped { at, place, frames });
        }
    }

    /// What the controller said to this, which nobody can know now.
    fn told(&mut self, at: u64, told: Told, hash: u64) -> bool {
        let taken = match self.expected.front() {
            Some(Output::Told { taken, .. }) => *taken,
            _ => true,
        };
        self.given(Output::Told {
            at,
            told,
            taken,
            hash,
        });
        taken
    }
}

impl device::Output for Compare {
    fn transmit(&mut self, now_ns: u64, port: u16, frame: &[u8], paced: bool) {
        self.given(Output::Sent(Sent {
            at: now_ns,
            port,
            paced,
            length: frame.len() as u64,
            hash: hash(frame),
        }));
    }

    fn packet_in(&mut self, now_ns: u64, frame: &[u8]) -> bool {
        self.told(now_ns, Told::PacketIn, hash(frame))
    }

    fn event(&mut self, now_ns: u64, event: Event) -> bool {
        self.told(now_ns, Told::Event, hash_of_event(&event))
    }
}
