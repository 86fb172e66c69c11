// SPDX-License-Identifier: Apache-2.0
//! Hashes all packet events of a world into one number.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What happened to a frame.
#[derive(Clone, Copy, Debug)]
pub enum Happened {
    /// A host sent it.
    HostSent = 1,
    /// It reached a host.
    HostReceived,
    /// A device sent it.
    DeviceSent,
    /// It reached a device.
    DeviceReceived,
    /// A link had no room for it.
    Dropped,
    /// No frame: a channel's scheduler made a MAP.
    Map,
    /// A fault took it.
    Lost,
}

/// Zeros that end a frame are left out in steps of so many.
const STEP: usize = 16;

/// The hash of a frame's bytes, and how many of them are in front of the zeros that end it.
/// Hosts' payload is zeros: of these their number alone is hashed, which with the bytes
/// before determines all of the frame.
#[must_use]
pub fn of_frame(bytes: &[u8]) -> (u64, usize) {
    // While there are many of them, more steps at a time.
    let filled = without_zeros::<STEP>(without_zeros::<128>(bytes));
    let hash = xxh3_64_with_seed(filled, bytes.len() as u64);
    (hash, filled.len())
}

/// The same of a frame that is known to be zeros from `content` on: these are not looked at.
#[must_use]
pub fn of_content(bytes: &[u8], content: usize) -> (u64, usize) {
    let zeros = (bytes.len() - content) / STEP * STEP;
    let filled = without_zeros::<STEP>(&bytes[..bytes.len() - zeros]);
    let found = (xxh3_64_with_seed(filled, bytes.len() as u64), filled.len());
    debug_assert_eq!(found, of_frame(bytes), "not all zeros from {content} on");
    found
}

/// Bytes without the zeros that end them, in steps of N.
fn without_zeros<const N: usize>(mut bytes: &[u8]) -> &[u8] {
    while let Some((before, step)) = bytes.split_last_chunk::<N>()
        // Not compared with zeros: that is a call of memcmp.
        && step.iter().fold(0, |all, byte| all | byte) == 0
    {
        bytes = before;
    }
    bytes
}

/// A hash over all events, in their order.
#[derive(Clone, Debug, Default)]
pub struct Digest(u64);

impl Digest {
    /// Adds what happened to a frame, where (a hash of the node's name, and the port)
    /// and when.
    pub fn add(&mut self, what: Happened, node: u64, port: u16, time: u64, frame: u64) {
        let place = node ^ (u64::from(port) << 8 | what as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed(self.0 ^ frame);
        self.0 = mixed(self.0.wrapping_add(place));
        self.0 = mixed(self.0 ^ time);
    }

    /// The hash so far.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0
    }
}

/// The end of splitmix64: one to one, and every bit changes half of all.
fn mixed(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_frame_and_its_length_count() {
        let mut frame = vec![0; 200];
        frame[0] = 1;
        let mut seen = vec![of_frame(&frame).0, of_frame(&frame[..199]).0];
        for at in 1..200 {
            let mut other = frame.clone();
            other[at] = 1;
            seen.push(of_frame(&other).0);
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), all), (201, 201));
    }

    #[test]
    fn what_is_behind_a_frames_content_is_zeros_and_hardly_more_could_be() {
        for length in 0..400 {
            for content in [0, 1, 15, 66, 130, 400] {
                let mut frame = vec![0; length];
                frame.iter_mut().take(content).for_each(|byte| *byte = 7);
                let filled = of_frame(&frame).1;
                for known in content.min(length)..=length {
                    assert_eq!(of_content(&frame, known), of_frame(&frame));
                }
                assert!(frame[filled..].iter().all(|byte| *byte == 0));
                let least = content.min(length);
                assert!(
                    (least..least + 16).contains(&filled),
                    "{filled} of {length}"
                );
            }
        }
    }

    #[test]
    fn every_part_of_an_event_and_the_order_count() {
        let digest = |events: &[(Happened, u64, u16, u64, u64)]| {
            let mut digest = Digest::default();
            for &(what, node, port, time, frame) in events {
                digest.add(what, node, port, time, frame);
            }
            digest.value()
        };
        let (sent, received) = (Happened::HostSent, Happened::HostReceived);
        let base = [(sent, 1, 2, 3, 4), (received, 5, 6, 7, 8)];
        let others = [
            vec![(received, 1, 2, 3, 4), base[1]],
            vec![(sent, 9, 2, 3, 4), base[1]],
            vec![(sent, 1, 9, 3, 4), base[1]],
            vec![(sent, 1, 2, 9, 4), base[1]],
            vec![(sent, 1, 2, 3, 9), base[1]],
            vec![base[1], base[0]],
            vec![base[0]],
            vec![],
        ];
        let mut seen = vec![digest(&base)];
        for other in others {
            let value = digest(&other);
            assert!(!seen.contains(&value), "{other:?}");
            seen.push(value);
        }
        assert_eq!(digest(&base), seen[0]);
    }
}
