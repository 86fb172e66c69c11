// SPDX-License-Identifier: Apache-2.0
//! Capture files with nanosecond timestamps, one per interface and direction,
//! named as BMv2 names them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
const SNAPLEN: u32 = 65_535;

/// One capture file.
#[derive(Debug)]
pub struct Capture<W: Write = BufWriter<File>> {
    out: W,
}

impl Capture {
    /// Creates (or empties) a file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::new(BufWriter::with_capacity(1 << 18, File::create(path)?))
    }
}

impl<W: Write> Capture<W> {
    /// Writes the file header.
    fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&MAGIC_NANOSECONDS.to_le_bytes())?;
        out.write_all(&2u16.to_le_bytes())?;
        out.write_all(&4u16.to_le_bytes())?;
        out.write_all(&[0; 8])?;
        out.write_all(&SNAPLEN.to_le_bytes())?;
        out.write_all(&LINKTYPE_ETHERNET.to_le_bytes())?;
        Ok(Self { out })
    }

    /// Adds a frame; `wall_ns` is nanoseconds since 1970.
    ///
    /// # Errors
    /// The disk is full.
    pub fn write(&mut self, wall_ns: u64, frame: &[u8]) -> io::Result<()> {
        let kept = &frame[..frame.len().min(SNAPLEN as usize)];
        let mut header = [0; 16];
        header[..4].copy_from_slice(&((wall_ns / 1_000_000_000) as u32).to_le_bytes());
        header[4..8].copy_from_slice(&((wall_ns % 1_000_000_000) as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(kept.len() as u32).to_le_bytes());
        header[12..].copy_from_slice(&(frame.len() as u32).to_le_bytes());
        self.out.write_all(&header)?;
        self.out.write_all(kept)
    }

    /// Hands what is buffered to the kernel.
    ///
    /// # Errors
    /// The disk is full.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_a_header_and_a_record() {
        let mut capture = Capture::new(Vec::new()).unwrap();
        capture.write(5_000_000_007, &[1, 2, 3]).unwrap();
        let bytes = capture.out;
        assert_eq!(bytes.len(), 24 + 16 + 3);
        assert_eq!(bytes[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        assert_eq!(bytes[24..32], [5, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(bytes[32..40], [3, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[40..], [1, 2, 3]);
    }
}
