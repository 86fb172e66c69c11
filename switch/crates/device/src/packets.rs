// SPDX-License-Identifier: Apache-2.0
//! Packets for reuse, so that none is allocated on a packet's way.

use v1model::Packet;

/// Packets that are kept whatever has been in use.
const LEAST: usize = 4096;

/// The packets that nobody uses. As many are kept as have been in use at a time since the
/// traffic manager was configured, that is to say as its queues have held, and [`LEAST`].
#[derive(Debug, Default)]
pub(crate) struct Packets {
    // Each is behind a pointer, as it moves often: out of here, into its queue and back.
    #[allow(clippy::vec_box)]
    free: Vec<Box<Packet>>,
    used: usize,
    /// Most of `used`.
    most: usize,
}

impl Packets {
    /// A packet, with whatever was in it.
    pub fn take(&mut self) -> Box<Packet> {
        self.used += 1;
        self.most = self.most.max(self.used);
        self.free.pop().unwrap_or_default()
    }

    /// Keeps a packet that nobody uses any more, or hands it back: it is not to be kept.
    pub fn give(&mut self, packet: Box<Packet>) -> Option<Box<Packet>> {
        self.used = self.used.saturating_sub(1);
        if self.free.len() < self.most.max(LEAST) {
            self.free.push(packet);
            return None;
        }
        Some(packet)
    }

    /// What has been in use so far says nothing about what will be.
    pub fn forget_most(&mut self) {
        self.most = self.used;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(packets: &mut Packets, used: impl IntoIterator<Item = Box<Packet>>) -> usize {
        let given = used.into_iter().map(|packet| packets.give(packet));
        given.filter(Option::is_none).count()
    }

    #[test]
    fn as_many_are_kept_as_queues_have_held() {
        let mut packets = Packets::default();
        let used: Vec<_> = (0..LEAST + 34).map(|_| packets.take()).collect();
        assert_eq!(kept(&mut packets, used), LEAST + 34);
        // Shorter queues: what is above goes when it comes back.
        let used: Vec<_> = (0..LEAST + 34).map(|_| packets.take()).collect();
        packets.used = 10;
        packets.forget_most();
        assert_eq!(kept(&mut packets, used), LEAST);
    }
}
