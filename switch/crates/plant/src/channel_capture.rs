// SPDX-License-Identifier: Apache-2.0
//! A channel's frames in a capture file.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, ErrorKind, Write};

use mac_channel::{Filled, Grant, Heard, Observer, Records};
use mac_wire::{FlowConfig, LINK_TYPE, Map, Minislot, Profile, Sid};
use pcap::Capture;

/// Where a capture is written. Whoever must not wait for a disk gives one that answers
/// [`ErrorKind::WouldBlock`], with nothing taken, where it has no room: such frames are left out.
pub type CaptureOutput = Box<dyn Write + Send>;

/// What became of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Records in the file.
    pub frames: u64,
    /// Frames for which it had no room, or that could not be put into a record.
    pub left_out: u64,
}

/// The file of a capture, of link type [`LINK_TYPE`].
pub struct CaptureFile {
    file: Capture<CaptureOutput>,
    ahead: u64,
    frames: u64,
    left_out: u64,
    failed: Option<io::Error>,
}

impl fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureFile")
            .field("frames", &self.frames)
            .field("left_out", &self.left_out)
            .finish_non_exhaustive()
    }
}

impl CaptureFile {
    /// A file of at most so many bytes. Its times, nanoseconds since 1970, are `ahead` of those that
    /// frames have here.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(out: CaptureOutput, bytes: u64, ahead: u64) -> io::Result<Self> {
        Ok(Self {
            file: Capture::new(out, LINK_TYPE.into())?.at_most(bytes),
            ahead,
            frames: 0,
            left_out: 0,
            failed: None,
        })
    }

    fn write(&mut self, at: u64, record: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        match self.file.write(at.saturating_add(self.ahead), record) {
            Ok(true) => self.frames += 1,
            Ok(false) => self.left_out += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.left_out += 1,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Ends it; what became of it.
    ///
    /// # Errors
    /// It could not be written.
    pub fn end(mut self) -> io::Result<Captured> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.file.flush()?;
        Ok(Captured {
            frames: self.frames,
            left_out: self.left_out,
        })
    }
}

/// Writes a channel's frames: MAPs when they are sent, requests when they are heard, bursts when
/// their last byte has arrived.
#[derive(Debug)]
pub struct ChannelCapture {
    records: Records,
    file: CaptureFile,
}

impl ChannelCapture {
    /// Starts the capture of a channel with that profile and those service flows.
    pub fn new<'f>(
        profile: Profile,
        flows: impl Iterator<Item = &'f FlowConfig>,
        file: CaptureFile,
    ) -> Self {
        let mut records = Records::new(profile);
        flows.for_each(|flow| records.flow(flow));
        Self { records, file }
    }

    /// A service flow came, or was changed.
    pub fn flow(&mut self, flow: &FlowConfig) {
        self.records.flow(flow);
    }

    /// A grant was filled with Ethernet frames without their CRC, each with the minislot that has
    /// its last byte.
    pub fn burst<'f>(
        &mut self,
        sid: Sid,
        grant: &Grant,
        filled: &Filled,
        frames: impl Iterator<Item = (&'f [u8], Minislot)>,
    ) {
        self.records.burst(sid, grant, filled, frames);
    }

    /// Writes what happened until `now`, by the channel's clock, which is `behind` the times in the
    /// file's own terms.
    pub fn write(&mut self, now: u64, behind: u64) {
        while let Some((at, record)) = self.records.pop(now) {
            self.file.write(at.saturating_add(behind), &record);
        }
    }

    /// The channel has ended, and what was under way on it never arrives: its file, for another.
    pub fn into_file(self) -> CaptureFile {
        let left_out = self.file.left_out + self.records.left_out();
        CaptureFile {
            left_out,
            ..self.file
        }
    }
}

/// What a capture sees of a channel, if there is one.
#[derive(Debug)]
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
