// SPDX-License-Identifier: Apache-2.0
//! What arrived out of order, as ranges of sequence numbers, and the SACK
//! blocks that report it (RFC 2018 4).

use std::collections::BTreeMap;

use crate::segment::MAX_SACK_BLOCKS;

/// The most ranges that are kept: with full segments, the holes of a window of
/// 12 MB of which every second segment is lost. What would be one more is
/// dropped, and comes again.
const MAX_RANGES: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// From the first number to behind the last. They do not touch.
    ranges: BTreeMap<u64, u64>,
    /// The ranges that were reported last, the newest first.
    recent: Vec<(u64, u64)>,
}

/// What became of data out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// All or a part of it is new.
    New,
    /// It was there already.
    Duplicate,
    /// There is no room for one more range.
    Refused,
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds the numbers from `start` to before `end`.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> Inserted {
        let (mut left, mut right) = (start, end);
        // The range that begins at or before `start`, if it reaches it.
        if let Some((&from, &to)) = self.ranges.range(..=start).next_back()
            && to >= start
        {
            if to >= end {
                self.report(from, to);
                return Inserted::Duplicate;
            }
            left = from;
        }
        let inside: Vec<u64> = self
            .ranges
            .range(left..=end)
            .map(|(from, _)| *from)
            .collect();
        if inside.is_empty() && self.ranges.len() >= MAX_RANGES {
            return Inserted::Refused;
        }
        for from in inside {
            if let Some(to) = self.ranges.remove(&from) {
                right = right.max(to);
            }
        }
        self.ranges.insert(left, right);
        self.report(left, right);
        Inserted::New
    }

    /// RFC 2018 4: the block with the newest segment comes first, the others
    /// as they were reported.
    fn report(&mut self, left: u64, right: u64) {
        self.recent.retain(|(from, to)| *from < left || right < *to);
        self.recent.insert(0, (left, right));
        self.recent.truncate(MAX_SACK_BLOCKS);
    }

    /// In-order data reaches up to `next`: takes out what follows without a
    /// hole and returns up to where.
    pub(crate) fn advance(&mut self, mut next: u64) -> u64 {
        while let Some(entry) = self.ranges.first_entry() {
            if *entry.key() > next {
                break;
            }
            next = next.max(entry.remove());
        }
        self.recent.retain(|(_, to)| *to > next);
        next
    }

    /// The blocks to report, the newest first.
    pub(crate) fn blocks(&self) -> &[(u64, u64)] {
        &self.recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2018 4: the first block contains the segment that caused the ACK,
    /// the next ones repeat the last reports.
    #[test]
    fn the_newest_block_comes_first() {
        let mut reassembly = Reassembly::default();
        for start in [100, 300, 500, 700, 900] {
            assert_eq!(reassembly.insert(start, start + 50), Inserted::New);
        }
        assert_eq!(
            reassembly.blocks(),
            [(900, 950), (700, 750), (500, 550), (300, 350)]
        );
        assert_eq!(reassembly.insert(350, 500), Inserted::New);
        assert_eq!(reassembly.blocks(), [(300, 550), (900, 950), (700, 750)]);
        assert_eq!(reassembly.insert(710, 720), Inserted::Duplicate);
        assert_eq!(reassembly.blocks()[0], (700, 750));
    }

    #[test]
    fn holes_are_filled() {
        let mut reassembly = Reassembly::default();
        reassembly.insert(100, 200);
        reassembly.insert(300, 400);
        assert_eq!(reassembly.advance(50), 50);
        assert_eq!(reassembly.advance(100), 200);
        reassembly.insert(250, 320);
        assert_eq!(reassembly.advance(260), 400);
        assert!(reassembly.is_empty() && reassembly.blocks().is_empty());
    }

    #[test]
    fn ranges_are_bounded() {
        let mut reassembly = Reassembly::default();
        for range in 0..MAX_RANGES as u64 {
            assert_eq!(reassembly.insert(range * 2, range * 2 + 1), Inserted::New);
        }
        assert_eq!(reassembly.insert(1 << 40, 1 << 41), Inserted::Refused);
        // What joins ranges needs no room.
        assert_eq!(reassembly.insert(1, 2), Inserted::New);
        assert_eq!(reassembly.insert(1 << 40, 1 << 41), Inserted::New);
    }
}
