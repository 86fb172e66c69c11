// SPDX-License-Identifier: Apache-2.0
//! The report of a replay.

use crate::format::{Input, Output, Reason, Record, Told};
use device::DropPlace;

/// How a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With the device: it is complete.
    Stopped,
    /// At the size that it may have.
    Limit,
    /// Where the writer was too slow.
    Overrun,
    /// Without saying so: the process was killed, or the disk was full.
    CutOff,
}

impl From<Reason> for Ended {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Stopped => Ended::Stopped,
            Reason::Limit => Ended::Limit,
            Reason::Overrun => Ended::Overrun,
        }
    }
}

/// What a recording has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Frames that reached ports, and their bytes.
    pub arrived: (u64, u64),
    /// Frames that left through ports, and their bytes.
    pub sent: (u64, u64),
    /// Frames for the controller.
    pub packet_ins: u64,
    /// Digests and idle timeouts.
    pub events: u64,
    /// Frames that were dropped, by place.
    pub dropped: [u64; DropPlace::ALL.len()],
    /// Methods that clients called.
    pub requests: u64,
    /// Messages that clients sent on streams.
    pub messages: u64,
    /// Turns that requests and messages had on the device's thread.
    pub turns: u64,
    /// Answers that were compared.
    pub answers: u64,
    /// Jumps of time.
    pub jumps: u64,
    /// Interfaces that went down or came up.
    pub links: u64,
    /// Time of the first and of the last frame or turn, ns.
    pub span: Option<(u64, u64)>,
}

impl Counted {
    pub(super) fn note(&mut self, record: &Record) {
        match record {
            Record::Input(Input::Arrived { at, frame, .. }) => {
                self.arrived.0 += 1;
                self.arrived.1 += frame.len() as u64;
                self.extend(*at);
            }
            Record::Input(Input::Ran { at, .. }) => {
                self.turns += 1;
                self.extend(*at);
            }
            Record::Input(Input::Asked { .. }) => self.requests += 1,
            Record::Input(Input::Said { .. }) => self.messages += 1,
            Record::Input(Input::Answered { .. }) => self.answers += 1,
            Record::Input(Input::Jumped { .. }) => self.jumps += 1,
            Record::Input(Input::Link { .. }) => self.links += 1,
            Record::Output(Output::Sent(sent)) => {
                self.sent.0 += 1;
                self.sent.1 = self.sent.1.saturating_add(sent.length);
                self.extend(sent.at);
            }
            Record::Output(Output::Told { told, .. }) => match told {
                Told::PacketIn => self.packet_ins += 1,
                Told::Event => self.events += 1,
            },
            Record::Output(Output::Dropped { place, frames, .. }) => {
                let dropped = &mut self.dropped[*place as usize];
                *dropped = dropped.saturating_add(*frames);
            }
            Record::Input(_) | Record::End(_) => {}
        }
    }

    fn extend(&mut self, at: u64) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first, last.max(at)));
    }
}

/// Where the replay first was another than the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs, in a few words.
    pub what: &'static str,
    /// When, ns of the device's time.
    pub at: u64,
    /// Where, if that is a port.
    pub port: Option<u16>,
    /// What was recorded.
    pub recorded: String,
    /// What the replay did instead.
    pub replayed: String,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What the recording has.
    pub counted: Counted,
    /// Outputs and answers that were compared, and the same.
    pub same: u64,
    /// The first difference.
    pub difference: Option<Difference>,
    /// How the recording ends.
    pub ended: Ended,
    /// Steps that the device made.
    pub steps: u64,
}
