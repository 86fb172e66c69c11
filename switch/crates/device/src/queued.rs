// SPDX-License-Identifier: Apache-2.0
//! Packets in queues, and what their frames have more than the queues count.
//!
//! A queue counts the frame that egress will make of a packet, as far as ingress knows it. The
//! packet keeps the frame as it was received, and a program may remove headers of it.

use crate::output::Note;
use v1model::{InstanceType, Packet};

/// Packets that a device holds at a time, in queues and on the way through ingress again, whatever
/// the queues' limits say: a short one takes little less memory than a long one. As frames of
/// 1,500 bytes they are 0.4 s at 2 Gbit/s.
pub const MOST_PACKETS: usize = 1 << 16;

/// Bytes that the received frames of packets in queues have more than these count: as many as there
/// can be of Ethernet's frames, for which this is no limit beside [`MOST_PACKETS`].
pub const MOST_UNCOUNTED: usize = MOST_PACKETS * 1522;

/// A packet in a queue.
#[derive(Debug)]
pub(crate) struct Queued {
    packet: Box<Packet>,
    /// Bytes of its received frame that its queue does not count.
    uncounted: u32,
    pub rid: u16,
    pub instance_type: InstanceType,
    /// Egress has run: the packet's buffer is the frame to send, and it waits
    /// for the tokens that egress made it need more of.
    pub done: bool,
    /// What is known of its frame.
    pub note: Option<Note>,
}

impl Queued {
    /// A packet that is to be queued.
    pub fn new(
        packet: Box<Packet>,
        rid: u16,
        instance_type: InstanceType,
        note: Option<Note>,
    ) -> Self {
        Self {
            packet,
            uncounted: 0,
            rid,
            instance_type,
            done: false,
            note,
        }
    }

    pub fn packet(&self) -> &Packet {
        &self.packet
    }

    pub fn packet_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }

    /// The packet, which is in no queue any more.
    pub fn leave(self, uncounted: &mut Uncounted) -> Box<Packet> {
        uncounted.0 -= self.uncounted as usize;
        self.packet
    }
}

/// Bytes of received frames that the queues of a device do not count.
#[derive(Debug, Default)]
pub(crate) struct Uncounted(usize);

impl Uncounted {
    /// Notes what the received frame of a packet has more than `len` bytes, which its queue is to
    /// count. False: there is no room for it.
    #[inline]
    pub fn note(&mut self, len: usize, queued: &mut Queued) -> bool {
        let more = queued.packet.received().len().saturating_sub(len);
        if more == 0 {
            return true;
        }
        let Ok(bytes) = u32::try_from(more) else {
            return false;
        };
        if self.0 + more > MOST_UNCOUNTED {
            return false;
        }
        self.0 += more;
        queued.uncounted = bytes;
        true
    }

    /// Whether no packet in a queue has more than that counts.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_in_a_queue_has_no_word_more_than_it_needs() {
        assert_eq!(size_of::<Queued>(), 40);
    }
}
