// SPDX-License-Identifier: Apache-2.0
//! Capture files with nanosecond timestamps, which Wireshark, tshark and tcpdump read.

use std::io::{self, Write};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const SNAPLEN: u32 = 65_535;
const HEADER: u64 = 24;
const RECORD_HEADER: u64 = 16;

/// The link type of Ethernet frames without their FCS.
pub const LINKTYPE_ETHERNET: u32 = 1;

/// A capture file that is written.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: W,
    /// Bytes that may still be written.
    room: u64,
    /// A record, so that it is written whole or not at all.
    record: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// The disk is full.
    pub fn new(mut out: W, link_type: u32) -> io::Result<Self> {
        let mut header = [0; HEADER as usize];
        header[..4].copy_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
        header[4..6].copy_from_slice(&2u16.to_le_bytes());
        header[6..8].copy_from_slice(&4u16.to_le_bytes());
        header[16..20].copy_from_slice(&SNAPLEN.to_le_bytes());
        header[20..].copy_from_slice(&link_type.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self {
            out,
            room: u64::MAX,
            record: Vec::new(),
        })
    }

    /// The file has at most so many bytes, and whole records.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Self {
        self.room = bytes.saturating_sub(HEADER);
        self
    }

    /// Adds a frame, as one call of the writer; `wall_ns` is nanoseconds since 1970. False where the
    /// file has no room for it: it has none for others any more then, so that it ends at one moment.
    ///
    /// # Errors
    /// The disk is full, or what else the writer says.
    pub fn write(&mut self, wall_ns: u64, frame: &[u8]) -> io::Result<bool> {
        let kept = &frame[..frame.len().min(SNAPLEN as usize)];
        let Some(room) = self.room.checked_sub(RECORD_HEADER + kept.len() as u64) else {
            self.room = 0;
            return Ok(false);
        };
        let mut header = [0; RECORD_HEADER as usize];
        header[..4].copy_from_slice(&((wall_ns / 1_000_000_000) as u32).to_le_bytes());
        header[4..8].copy_from_slice(&((wall_ns % 1_000_000_000) as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(kept.len() as u32).to_le_bytes());
        header[12..].copy_from_slice(&(frame.len() as u32).to_le_bytes());
        self.record.clear();
        self.record.extend_from_slice(&header);
        self.record.extend_from_slice(kept);
        self.out.write_all(&self.record)?;
        self.room = room;
        Ok(true)
    }

    /// Hands what is buffered to the kernel.
    ///
    /// # Errors
    /// The disk is full.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A frame of a capture: nanoseconds since 1970, and what is kept of it.
pub type Record<'f> = (u64, &'f [u8]);

/// The link type of a capture that is a whole one of ours, and its records. `None` for anything
/// else.
#[must_use]
pub fn records(file: &[u8]) -> Option<(u32, Vec<Record<'_>>)> {
    let word = |bytes: &[u8], at: usize| {
        let word = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(word))
    };
    let (header, mut rest) = file.split_at_checked(HEADER as usize)?;
    if word(header, 0)? != MAGIC_NANOSECONDS {
        return None;
    }
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (header, frames) = rest.split_at_checked(RECORD_HEADER as usize)?;
        let time = u64::from(word(header, 0)?) * 1_000_000_000 + u64::from(word(header, 4)?);
        let (frame, others) = frames.split_at_checked(word(header, 8)? as usize)?;
        found.push((time, frame));
        rest = others;
    }
    Some((word(header, 20)?, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_a_header_and_a_record() {
        let mut capture = Capture::new(Vec::new(), 143).unwrap();
        assert!(capture.write(5_000_000_007, &[1, 2, 3]).unwrap());
        let bytes = capture.out;
        assert_eq!(bytes.len(), 24 + 16 + 3);
        assert_eq!(bytes[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        assert_eq!(bytes[20..24], [143, 0, 0, 0]);
        assert_eq!(bytes[24..32], [5, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(bytes[32..40], [3, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[40..], [1, 2, 3]);
        let record = (5_000_000_007, &[1, 2, 3][..]);
        assert_eq!(records(&bytes), Some((143, vec![record])));
        assert_eq!(records(&bytes[..24]), Some((143, Vec::new())));
        for cut in [0, 23, 25, 42] {
            assert_eq!(records(&bytes[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn ends_where_a_record_finds_no_room() {
        let most = 24 + 2 * (16 + 10) + 16 + 5;
        let mut capture = Capture::new(Vec::new(), 1).unwrap().at_most(most);
        assert!(capture.write(1, &[0; 10]).unwrap());
        assert!(capture.write(2, &[0; 10]).unwrap());
        assert!(!capture.write(3, &[0; 10]).unwrap());
        // This one would fit.
        assert!(!capture.write(4, &[0; 5]).unwrap());
        assert_eq!(capture.out.len(), 24 + 2 * (16 + 10));
        let none = Capture::new(Vec::new(), 1).unwrap().at_most(0);
        assert_eq!(none.out.len(), 24);
    }
}
