// SPDX-License-Identifier: Apache-2.0
//! Writes records as bytes.

use crate::format::{
    End, Header, Input, MAGIC, Output, Place, Reason, Record, Sent, Told, VERSION, tag,
};
use device::DropPlace;
use grpc_services::journal::Work;

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn optional(out: &mut Vec<u8>, value: Option<u64>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        number(out, value);
    }
}

/// The beginning of a file.
#[must_use]
pub fn header(header: &Header) -> Vec<u8> {
    let mut body = Vec::new();
    string(&mut body, header.version.as_bytes());
    number(&mut body, header.device_id);
    optional(&mut body, header.cpu_port.map(u64::from));
    number(&mut body, header.drop_port.into());
    number(&mut body, header.seed);
    number(&mut body, header.lateness_bound);
    body.push(header.bmv2_quirks.into());
    number(&mut body, header.ports.len() as u64);
    for &port in &header.ports {
        number(&mut body, port.into());
    }
    body.push(header.program.is_some().into());
    if let Some(program) = &header.program {
        // A time from 0 on.
        number(&mut body, program.at << 1);
        string(&mut body, &program.json);
        body.push(program.p4info.is_some().into());
        if let Some(p4info) = &program.p4info {
            string(&mut body, p4info);
        }
    }
    let mut out = MAGIC.to_vec();
    out.push(VERSION);
    string(&mut out, &body);
    out
}

/// Writes records behind each other. A time is written as its difference from the one before,
/// so all records of a file are one encoder's.
#[derive(Debug, Default)]
pub struct Encoder {
    last: u64,
    body: Vec<u8>,
}

impl Encoder {
    /// The beginning of a file.
    #[must_use]
    pub fn header(of: &Header) -> Vec<u8> {
        header(of)
    }

    /// The last time that was written: where records are taken back, it is to be set again.
    #[must_use]
    pub fn last_time(&self) -> u64 {
        self.last
    }

    /// The records since this was [`Self::last_time`] are not to be in the file.
    pub fn go_back(&mut self, last: u64) {
        self.last = last;
    }

    fn time(&mut self, at: u64) {
        // Both directions, small numbers first.
        let ahead = at.wrapping_sub(self.last) as i64;
        number(&mut self.body, (ahead << 1 ^ ahead >> 63) as u64);
        self.last = at;
    }

    fn number(&mut self, value: u64) {
        number(&mut self.body, value);
    }

    fn place(&mut self, place: Place) {
        self.number(place.steps);
        self.time(place.until);
    }

    fn end_record(&mut self, out: &mut Vec<u8>, tag: u8) {
        out.push(tag);
        string(out, &self.body);
        self.body.clear();
    }

    /// Any record.
    pub fn record(&mut self, out: &mut Vec<u8>, record: &Record) {
        match record {
            Record::Input(input) => self.input(out, input),
            Record::Output(output) => self.output(out, output),
            Record::End(end) => self.end(out, end),
        }
    }

    fn input(&mut self, out: &mut Vec<u8>, input: &Input) {
        match *input {
            Input::Arrived {
                at,
                port,
                ref frame,
            } => self.arrived(out, at, port, frame),
            Input::TooLong { length } => self.too_long(out, length),
            Input::Jumped {
                now,
                arrived,
                place,
            } => self.jumped(out, now, arrived, place),
            Input::Link { port, up, place } => self.link(out, port, up, place),
            Input::NotSent {
                port,
                frames,
                bytes,
                place,
            } => self.not_sent(out, port, frames, bytes, place),
            Input::Missed {
                port,
                frames,
                place,
            } => self.missed(out, port, frames, place),
            Input::Asked {
                request,
                ref method,
                ref message,
            } => self.asked(out, request, method, message),
            Input::Said {
                request,
                stream,
                ref message,
            } => self.said(out, request, stream, message),
            Input::Ran { request, at, work } => self.ran(out, request, at, work),
            Input::Answered { request, hash } => self.answered(out, request, hash),
            Input::Left { request } => self.left(out, request),
            Input::StreamOpened { stream } => self.stream_opened(out, stream),
            Input::StreamEnded { stream } => self.stream_ended(out, stream),
        }
    }

    /// A frame reaches a port.
    pub fn arrived(&mut self, out: &mut Vec<u8>, at: u64, port: u16, frame: &[u8]) {
        self.time(at);
        self.number(port.into());
        self.body.extend_from_slice(frame);
        self.end_record(out, tag::ARRIVED);
    }

    /// A frame is too long to be received.
    pub fn too_long(&mut self, out: &mut Vec<u8>, length: u64) {
        self.number(length);
        self.end_record(out, tag::TOO_LONG);
    }

    /// Time jumps.
    pub fn jumped(&mut self, out: &mut Vec<u8>, now: u64, arrived: Option<u64>, place: Place) {
        self.time(now);
        optional(&mut self.body, arrived);
        self.place(place);
        self.end_record(out, tag::JUMPED);
    }

    /// An interface goes down or comes up.
    pub fn link(&mut self, out: &mut Vec<u8>, port: u16, up: bool, place: Place) {
        self.number(port.into());
        self.body.push(up.into());
        self.place(place);
        self.end_record(out, tag::LINK);
    }

    /// An interface does not take frames.
    pub fn not_sent(
        &mut self,
        out: &mut Vec<u8>,
        port: u16,
        frames: u64,
        bytes: u64,
        place: Place,
    ) {
        self.number(port.into());
        self.number(frames);
        self.number(bytes);
        self.place(place);
        self.end_record(out, tag::NOT_SENT);
    }

    /// The kernel drops frames.
    pub fn missed(&mut self, out: &mut Vec<u8>, port: u16, frames: u64, place: Place) {
        self.number(port.into());
        self.number(frames);
        self.place(place);
        self.end_record(out, tag::MISSED);
    }

    /// A client calls a method.
    pub fn asked(&mut self, out: &mut Vec<u8>, request: u64, method: &str, message: &[u8]) {
        self.number(request);
        string(&mut self.body, method.as_bytes());
        self.body.extend_from_slice(message);
        self.end_record(out, tag::ASKED);
    }

    /// A client sends a message on its stream.
    pub fn said(&mut self, out: &mut Vec<u8>, request: u64, stream: u64, message: &[u8]) {
        self.number(request);
        self.number(stream);
        self.body.extend_from_slice(message);
        self.end_record(out, tag::SAID);
    }

    /// A request has a turn.
    pub fn ran(&mut self, out: &mut Vec<u8>, request: u64, at: u64, work: Work) {
        self.number(request);
        self.time(at);
        self.number(work.units);
        self.body.push(work.stopped.into());
        self.end_record(out, tag::RAN);
    }

    /// A client has its answer.
    pub fn answered(&mut self, out: &mut Vec<u8>, request: u64, hash: u64) {
        self.number(request);
        self.body.extend_from_slice(&hash.to_le_bytes());
        self.end_record(out, tag::ANSWERED);
    }

    /// A client waits no more.
    pub fn left(&mut self, out: &mut Vec<u8>, request: u64) {
        self.number(request);
        self.end_record(out, tag::LEFT);
    }

    /// A client opens a stream.
    pub fn stream_opened(&mut self, out: &mut Vec<u8>, stream: u64) {
        self.number(stream);
        self.end_record(out, tag::STREAM_OPENED);
    }

    /// A stream ends.
    pub fn stream_ended(&mut self, out: &mut Vec<u8>, stream: u64) {
        self.number(stream);
        self.end_record(out, tag::STREAM_ENDED);
    }

    /// What the device gives.
    pub fn output(&mut self, out: &mut Vec<u8>, output: &Output) {
        match *output {
            Output::Sent(Sent {
                at,
                port,
                paced,
                length,
                hash,
            }) => {
                self.time(at);
                self.number(port.into());
                self.body.push(paced.into());
                self.number(length);
                self.body.extend_from_slice(&hash.to_le_bytes());
                self.end_record(out, tag::SENT);
            }
            Output::Told {
                at,
                told,
                taken,
                hash,
            } => {
                self.time(at);
                self.body.push(match told {
                    Told::PacketIn => 0,
                    Told::Event => 1,
                });
                self.body.push(taken.into());
                self.body.extend_from_slice(&hash.to_le_bytes());
                self.end_record(out, tag::TOLD);
            }
            Output::Dropped { at, place, frames } => {
                self.time(at);
                self.dropped(place, frames);
                self.end_record(out, tag::DROPPED);
            }
        }
    }

    fn dropped(&mut self, place: DropPlace, frames: u64) {
        self.body.push(place as u8);
        self.number(frames);
    }

    /// Nothing follows.
    pub fn end(&mut self, out: &mut Vec<u8>, end: &End) {
        self.body.push(match end.reason {
            Reason::Stopped => 0,
            Reason::Limit => 1,
            Reason::Overrun => 2,
        });
        self.time(end.now);
        self.place(end.place);
        self.body.push(end.state.is_some().into());
        if let Some(state) = end.state {
            self.body.extend_from_slice(&state.to_le_bytes());
        }
        self.end_record(out, tag::END);
    }
}
