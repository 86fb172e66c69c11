// SPDX-License-Identifier: Apache-2.0
//! A channel's frames in a capture file, at their times in the world, from 1970 on.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};

use mac_channel::{Filled, Frame as Burst, Grant, Heard, Leaving, Observer, Records};
use mac_wire::{FlowConfig, LINK_TYPE, Map, Profile, Sid};
use pcap::Capture;

use crate::link::Frame;

/// Where a capture is written.
pub type CaptureOutput = Box<dyn Write + Send>;

/// What became of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Records in the file.
    pub frames: u64,
    /// Frames for which it had no room, or that could not be put into a record.
    pub left_out: u64,
}

pub struct ChannelCapture {
    records: Records,
    file: Capture<CaptureOutput>,
    frames: u64,
    left_out: u64,
    failed: Option<io::Error>,
}

impl fmt::Debug for ChannelCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelCapture")
            .field("frames", &self.frames)
            .field("left_out", &self.left_out)
            .finish_non_exhaustive()
    }
}

impl ChannelCapture {
    /// Of a channel with that profile, in a file of at most so many bytes.
    pub fn new(profile: Profile, out: CaptureOutput, bytes: u64) -> io::Result<Self> {
        Ok(Self {
            records: Records::new(profile),
            file: Capture::new(out, LINK_TYPE.into())?.at_most(bytes),
            frames: 0,
            left_out: 0,
            failed: None,
        })
    }

    pub fn flow(&mut self, flow: &FlowConfig) {
        self.records.flow(flow);
    }

    pub fn burst(&mut self, sid: Sid, grant: &Grant, filled: &Filled, leaving: &[Leaving<Frame>]) {
        let frames = leaving.iter().map(|Leaving { frame, last }| {
            let Burst { item, .. } = frame;
            (item.bytes.as_slice(), *last)
        });
        self.records.burst(sid, grant, filled, frames);
    }

    /// Writes what happened until `now`.
    pub fn write(&mut self, now: u64) {
        while let Some((at, record)) = self.records.pop(now) {
            if self.failed.is_some() {
                continue;
            }
            match self.file.write(at, &record) {
                Ok(true) => self.frames += 1,
                Ok(false) => self.left_out += 1,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Ends it.
    pub fn end(mut self, now: u64) -> io::Result<Captured> {
        self.write(now);
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.file.flush()?;
        Ok(Captured {
            frames: self.frames,
            left_out: self.left_out + self.records.left_out(),
        })
    }
}

/// What a capture sees of a channel, if there is one.
pub struct Tap<'a>(pub Option<&'a RefCell<ChannelCapture>>);

impl Observer for Tap<'_> {
    fn map(&mut self, now: u64, map: &Map, body: &[u8]) {
        if let Some(capture) = self.0 {
            capture.borrow_mut().records.map(now, map, body);
        }
    }

    fn heard(&mut self, now: u64, heard: &Heard) {
        if let Some(capture) = self.0 {
            capture.borrow_mut().records.heard(now, heard);
        }
    }
}
