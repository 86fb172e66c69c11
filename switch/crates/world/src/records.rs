// SPDX-License-Identifier: Apache-2.0
//! Packets of a flow with the times at which they were sent and came.

use std::collections::BTreeMap;

use crate::net::Net;

/// What has no time, or not yet.
pub const NEVER: i64 = -1;

/// One packet in so many, as its IPv4 identification has it: those that are multiples.
#[derive(Debug)]
pub struct PacketRecords {
    mask: u16,
    sent: Vec<i64>,
    received: Vec<i64>,
    /// By identification: the newest packet with it that has not come.
    awaited: BTreeMap<u16, u32>,
}

impl PacketRecords {
    /// `one_in` is a power of two up to 2^15.
    #[must_use]
    pub fn new(one_in: u16) -> Self {
        Self {
            mask: one_in - 1,
            sent: Vec::new(),
            received: Vec::new(),
            awaited: BTreeMap::new(),
        }
    }

    /// A packet leaves its host now.
    pub fn sent(&mut self, net: &mut Net, identification: u16) {
        if identification & self.mask != 0 || !net.record(2) {
            return;
        }
        self.awaited.insert(identification, self.sent.len() as u32);
        self.sent.push(net.now as i64);
        self.received.push(NEVER);
    }

    /// A packet reaches the other host now.
    pub fn received(&mut self, now: u64, identification: u16) {
        if identification & self.mask != 0 {
            return;
        }
        if let Some(index) = self.awaited.remove(&identification) {
            self.received[index as usize] = now as i64;
        }
    }

    /// When each was sent and received.
    #[must_use]
    pub fn columns(&self) -> [&[i64]; 2] {
        [&self.sent, &self.received]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_known_by_its_identification_until_that_comes_round() {
        let (mut net, mut records) = (Net::default(), PacketRecords::new(4));
        for (now, identification) in [(10, 4), (11, 5), (12, 8), (20, 4)] {
            net.now = now;
            records.sent(&mut net, identification);
        }
        // The first one with 4 is lost: its identification is another packet's by now.
        records.received(25, 4);
        records.received(26, 4);
        records.received(27, 5);
        let [sent, received] = records.columns();
        assert_eq!((sent, received), (&[10, 12, 20][..], &[-1, -1, 25][..]));
    }
}
