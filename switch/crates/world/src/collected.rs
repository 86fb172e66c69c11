// SPDX-License-Identifier: Apache-2.0
//! Frames that have left devices through ports without a link, for whoever asks.

use std::collections::BTreeMap;

/// A frame, and when it left: nanoseconds.
pub type Left = (u64, Vec<u8>);

/// Bytes that all collections of a world may hold, with what each frame takes beside its own.
pub const MOST_BYTES: usize = 64 << 20;
/// What a frame takes beside its bytes.
const EACH: usize = 64;

/// The ports whose frames are kept. A port is a device's hash and its number.
#[derive(Debug, Default)]
pub struct Collected {
    ports: BTreeMap<(u64, u16), Vec<Left>>,
    bytes: usize,
}

impl Collected {
    /// Keeps a port's frames from now on, if it does not already.
    pub fn open(&mut self, device: u64, port: u16) {
        self.ports.entry((device, port)).or_default();
    }

    /// A frame leaves through a port. Whether there is room, if it is to be kept.
    pub fn add(&mut self, device: u64, port: u16, at: u64, frame: &[u8]) -> bool {
        let Some(frames) = self.ports.get_mut(&(device, port)) else {
            return true;
        };
        let bytes = self.bytes + frame.len() + EACH;
        if bytes > MOST_BYTES {
            return false;
        }
        self.bytes = bytes;
        frames.push((at, frame.to_vec()));
        true
    }

    /// Takes what was kept; `None` of a port whose frames are not.
    pub fn take(&mut self, device: u64, port: u16) -> Option<Vec<Left>> {
        let frames = std::mem::take(self.ports.get_mut(&(device, port))?);
        self.bytes -= frames.iter().map(|(_, f)| f.len() + EACH).sum::<usize>();
        Some(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_that_are_open_are_kept_and_what_is_taken_makes_room() {
        let mut collected = Collected::default();
        assert_eq!(collected.take(1, 2), None);
        assert!(collected.add(1, 2, 5, b"before"));
        collected.open(1, 2);
        assert!(collected.add(1, 2, 6, b"kept"));
        assert!(collected.add(1, 3, 7, b"another port"));
        collected.open(1, 2);
        assert_eq!(collected.take(1, 2), Some(vec![(6, b"kept".to_vec())]));
        assert_eq!(collected.take(1, 2), Some(vec![]));
        assert_eq!(collected.bytes, 0);
    }

    #[test]
    fn frames_are_charged_with_what_they_take_beside_their_bytes() {
        let mut collected = Collected::default();
        collected.open(1, 1);
        let frame = [0; 64];
        let most = MOST_BYTES / (frame.len() + EACH);
        assert!((0..most).all(|at| collected.add(1, 1, at as u64, &frame)));
        assert!(!collected.add(1, 1, 0, &frame));
        assert_eq!(collected.take(1, 1).map(|frames| frames.len()), Some(most));
        assert!(collected.add(1, 1, 0, &frame));
    }
}
