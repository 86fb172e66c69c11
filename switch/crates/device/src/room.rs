// SPDX-License-Identifier: Apache-2.0
//! How much room buffers keep. They go from frame to frame, and from packet to packet: with the
//! room of the longest frame that was ever in them, short frames would take up to 32 KiB each.

use crate::pool::Pool;
use traffic_manager::LONGEST_FRAME;
use v1model::Packet;

/// Room that a buffer keeps whatever is in it: all but jumbo frames fit, and never need more.
const ROOM: usize = 2048;

/// The room that is enough for a frame, and that a buffer may have which has grown for it.
fn enough(length: usize) -> usize {
    ROOM.max(2 * length)
}

/// Gives back the room of a buffer that its frame does not need.
#[inline]
pub(crate) fn fit(frame: &mut Vec<u8>) {
    let enough = enough(frame.len());
    if frame.capacity() > enough {
        frame.shrink_to(enough);
    }
}

/// As [`fit`], of a frame that egress has made, which is cut where it is longer than any may be:
/// packets exchange their buffers for it, and keep what they get. The frame may still be one byte
/// too long, which shows that it is to be dropped.
#[inline]
pub(crate) fn bound(frame: &mut Vec<u8>) {
    let enough = enough(frame.len().min(LONGEST_FRAME));
    if frame.capacity() > enough {
        frame.truncate(LONGEST_FRAME + 1);
        frame.shrink_to(enough);
    }
}

/// Packets for reuse.
#[derive(Debug, Default)]
pub(crate) struct Packets(Pool<Box<Packet>>);

impl Packets {
    pub fn take(&mut self) -> Box<Packet> {
        self.0.take()
    }

    /// Keeps a packet that nobody uses any more, or hands it back: it is not to be kept.
    pub fn give(&mut self, mut packet: Box<Packet>) -> Option<Box<Packet>> {
        fit(packet.buffer());
        self.0.give(packet)
    }

    pub fn used(&self) -> usize {
        self.0.used()
    }

    pub fn tidy_up(&mut self, now: u64) {
        self.0.tidy_up(now);
    }

    pub fn forget_most(&mut self) {
        self.0.forget_most();
    }
}

/// Buffers for reuse, empty ones.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Pool<Vec<u8>>);

impl Buffers {
    pub fn take(&mut self) -> Vec<u8> {
        self.0.take()
    }

    /// Keeps a buffer that nobody uses any more, whatever is in it.
    pub fn give(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        fit(&mut buffer);
        self.0.give(buffer);
    }

    pub fn tidy_up(&mut self, now: u64) {
        self.0.tidy_up(now);
    }

    pub fn forget_most(&mut self) {
        self.0.forget_most();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_egress_made_has_no_more_room_than_frames_need() {
        let mut frame = vec![7; 1 << 20];
        bound(&mut frame);
        assert_eq!(frame, [7; LONGEST_FRAME + 1], "it is still too long");
        assert!(frame.capacity() <= 2 * LONGEST_FRAME);
        // As after egress has cut a frame.
        let mut frame = vec![7; 1 << 20];
        frame.truncate(100);
        bound(&mut frame);
        assert_eq!(frame, [7; 100]);
        assert!(frame.capacity() <= ROOM);
        let mut frame = vec![7; LONGEST_FRAME];
        let room = frame.capacity();
        bound(&mut frame);
        assert_eq!((frame.len(), frame.capacity()), (LONGEST_FRAME, room));
    }

    #[test]
    fn what_is_kept_for_reuse_has_room_for_an_ethernet_frame() {
        let mut packets = Packets::default();
        let mut buffers = Buffers::default();
        for (length, room) in [(9_000, ROOM), (1_518, 1_518)] {
            let mut packet = packets.take();
            *packet.buffer() = vec![7; length];
            packets.give(packet);
            assert_eq!(packets.take().buffer().capacity(), room);
            buffers.give(vec![7; length]);
            let buffer = buffers.take();
            assert_eq!((buffer.len(), buffer.capacity()), (0, room));
        }
    }
}
