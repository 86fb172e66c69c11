// SPDX-License-Identifier: Apache-2.0
//! One number for everything that packets did.

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
}

/// Zeros are looked for in steps of so many bytes.
const STEP: usize = 16;

/// The hash of a frame's bytes. Hosts' payload is zeros: of what ends a frame its length
/// alone is hashed, which with the bytes before determines all of it.
#[must_use]
pub fn of_frame(bytes: &[u8]) -> u64 {
    let mut end = bytes.len();
    while let Some(step) = bytes[..end].last_chunk::<STEP>()
        && *step == [0; STEP]
    {
        end -= STEP;
    }
    xxh3_64_with_seed(&bytes[..end], bytes.len() as u64)
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
        let mut seen = vec![of_frame(&frame), of_frame(&frame[..199])];
        for at in 1..200 {
            let mut other = frame.clone();
            other[at] = 1;
            seen.push(of_frame(&other));
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), all), (201, 201));
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
