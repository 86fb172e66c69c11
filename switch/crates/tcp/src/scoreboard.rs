// SPDX-License-Identifier: Apache-2.0
//! The scoreboard: what has been sent and not yet acknowledged cumulatively
//! (RFC 6675 2 to 4, RFC 8985 5.2).
//!
//! It keeps a segment as it was sent and never splits it: a SACK block that
//! covers only a part of a segment does not count, as the sender may
//! (RFC 2018 5). So a peer cannot make it keep more than was sent.

use std::collections::{BTreeSet, VecDeque};

/// What is known of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// On its way, as far as anyone knows.
    InFlight,
    /// Reported by a SACK block.
    Sacked,
    /// Taken for lost, and not sent again yet.
    Lost,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) start: u64,
    /// Behind the last sequence number, a FIN's included.
    pub(crate) end: u64,
    pub(crate) fin: bool,
    /// When it was sent last.
    pub(crate) sent_at: u64,
    /// Counts every transmission of the connection: tells this one.
    order: u64,
    pub(crate) transmissions: u32,
    pub(crate) state: State,
    /// A loss probe was sent of it while it was in flight: it is there twice.
    doubled: bool,
}

impl Sent {
    pub(crate) fn retransmitted(&self) -> bool {
        self.transmissions > 1
    }
}

/// Tells the segment with this number, as long as it is on the scoreboard.
pub(crate) type Id = u64;

#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// The number of the first of `segments`.
    base: Id,
    /// Transmissions in the order in which they were made. An entry whose
    /// order is not that of its segment any more is stale.
    log: VecDeque<(Id, u64)>,
    next_order: u64,
    lost: BTreeSet<Id>,
    in_flight: usize,
    sacked: usize,
    doubled: usize,
    /// Behind the highest byte that was SACKed or acknowledged.
    highest_delivered: u64,
    /// The blocks of the last ACK, whose segments are marked already.
    known: [Option<(u64, u64)>; 4],
}

impl Scoreboard {
    /// Segments, whatever is known of them.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// RFC 6675's pipe, in segments: those sent that are neither SACKed nor
    /// lost, and a loss probe's second copy.
    pub(crate) fn pipe(&self) -> usize {
        self.in_flight + self.doubled
    }

    pub(crate) fn sacked(&self) -> usize {
        self.sacked
    }

    /// Segments taken for lost and not sent again yet.
    pub(crate) fn lost(&self) -> usize {
        self.lost.len()
    }

    pub(crate) fn highest_delivered(&self) -> u64 {
        self.highest_delivered
    }

    pub(crate) fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    pub(crate) fn last(&self) -> Option<(Id, &Sent)> {
        let last = self.segments.back()?;
        Some((self.base + self.segments.len() as u64 - 1, last))
    }

    pub(crate) fn first_id(&self) -> Id {
        self.base
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Sent> {
        let index = usize::try_from(id.checked_sub(self.base)?).ok()?;
        self.segments.get(index)
    }

    fn get_mut(&mut self, id: Id) -> Option<&mut Sent> {
        let index = usize::try_from(id.checked_sub(self.base)?).ok()?;
        self.segments.get_mut(index)
    }

    /// A new segment is sent.
    pub(crate) fn push(&mut self, start: u64, end: u64, fin: bool, now: u64) {
        let id = self.base + self.segments.len() as u64;
        let order = self.log_transmission(id);
        self.segments.push_back(Sent {
            start,
            end,
            fin,
            sent_at: now,
            order,
            transmissions: 1,
            state: State::InFlight,
            doubled: false,
        });
        self.in_flight += 1;
    }

    /// A segment is sent again: one that was lost, or a loss probe's.
    pub(crate) fn resend(&mut self, id: Id, now: u64) {
        let order = self.log_transmission(id);
        self.lost.remove(&id);
        let Some(sent) = self.get_mut(id) else {
            return;
        };
        sent.sent_at = now;
        sent.order = order;
        sent.transmissions = sent.transmissions.saturating_add(1);
        match sent.state {
            State::Lost => {
                sent.state = State::InFlight;
                self.in_flight += 1;
            }
            State::InFlight if !sent.doubled => {
                sent.doubled = true;
                self.doubled += 1;
            }
            State::InFlight | State::Sacked => {}
        }
    }

    fn log_transmission(&mut self, id: Id) -> u64 {
        // Stale entries go before they can be more than the others.
        if self.log.len() >= 2 * self.segments.len() + 64 {
            let mut log = std::mem::take(&mut self.log);
            log.retain(|&(id, order)| self.is_in_flight(id, order));
            self.log = log;
        }
        let order = self.next_order;
        self.next_order += 1;
        self.log.push_back((id, order));
        order
    }

    fn is_in_flight(&self, id: Id, order: u64) -> bool {
        self.get(id)
            .is_some_and(|sent| sent.order == order && sent.state == State::InFlight)
    }

    /// Everything before `una` is acknowledged. Calls `delivered` with each
    /// segment that is, as it was before; returns their number.
    pub(crate) fn acknowledge(&mut self, una: u64, mut delivered: impl FnMut(&Sent)) -> usize {
        let mut count = 0;
        while let Some(first) = self.segments.front_mut() {
            if first.end > una {
                first.start = first.start.max(una);
                break;
            }
            let sent = *first;
            delivered(&sent);
            let id = self.base;
            self.forget(id, &sent);
            self.segments.pop_front();
            self.base += 1;
            count += 1;
        }
        self.highest_delivered = self.highest_delivered.max(una);
        while let Some(&(id, order)) = self.log.front() {
            if self.is_in_flight(id, order) {
                break;
            }
            self.log.pop_front();
        }
        count
    }

    /// Takes a segment out of the counts of its state.
    fn forget(&mut self, id: Id, sent: &Sent) {
        match sent.state {
            State::InFlight => self.in_flight -= 1,
            State::Sacked => self.sacked -= 1,
            State::Lost => {
                self.lost.remove(&id);
            }
        }
        if sent.doubled {
            self.doubled -= 1;
        }
    }

    /// Takes in the blocks of an ACK, in ascending or any other order. Calls
    /// `delivered` with each segment that was not SACKed before; returns
    /// their number.
    pub(crate) fn sack(
        &mut self,
        blocks: &[(u64, u64)],
        mut delivered: impl FnMut(&Sent),
    ) -> usize {
        let mut count = 0;
        for &(left, right) in blocks {
            for (left, right) in without(left, right, &self.known) {
                count += self.sack_range(left, right, &mut delivered);
            }
        }
        self.known = [None; 4];
        for (place, block) in self.known.iter_mut().zip(blocks) {
            *place = Some(*block);
        }
        count
    }

    fn sack_range(&mut self, left: u64, right: u64, delivered: &mut impl FnMut(&Sent)) -> usize {
        let mut count = 0;
        let from = self.segments.partition_point(|sent| sent.start < left);
        for index in from..self.segments.len() {
            let sent = self.segments[index];
            if sent.end > right {
                break;
            }
            if sent.state == State::Sacked {
                continue;
            }
            delivered(&sent);
            self.forget(self.base + index as u64, &sent);
            self.sacked += 1;
            let place = &mut self.segments[index];
            place.state = State::Sacked;
            place.doubled = false;
            self.highest_delivered = self.highest_delivered.max(sent.end);
            count += 1;
        }
        count
    }

    /// Takes a segment for lost, if it is in flight.
    pub(crate) fn mark_lost(&mut self, id: Id) -> bool {
        let Some(sent) = self.get_mut(id) else {
            return false;
        };
        if sent.state != State::InFlight {
            return false;
        }
        sent.state = State::Lost;
        let doubled = std::mem::take(&mut sent.doubled);
        self.in_flight -= 1;
        self.doubled -= usize::from(doubled);
        self.lost.insert(id);
        true
    }

    /// Takes those segments in flight for lost that `is_lost` picks.
    pub(crate) fn mark_each(&mut self, mut is_lost: impl FnMut(Id, &Sent) -> bool) -> usize {
        let mut count = 0;
        for index in 0..self.segments.len() {
            let id = self.base + index as u64;
            if is_lost(id, &self.segments[index]) && self.mark_lost(id) {
                count += 1;
            }
        }
        count
    }

    /// What was taken for lost and not sent again is in flight after all.
    pub(crate) fn unmark_lost(&mut self) {
        for id in std::mem::take(&mut self.lost) {
            let Some(sent) = self.get_mut(id) else {
                continue;
            };
            sent.state = State::InFlight;
            self.in_flight += 1;
        }
        self.rebuild_log();
    }

    /// Forgets all SACK marks: the receiver has reneged (RFC 2018 8).
    pub(crate) fn forget_sacks(&mut self) {
        self.known = [None; 4];
        for sent in &mut self.segments {
            if sent.state == State::Sacked {
                sent.state = State::InFlight;
                self.sacked -= 1;
                self.in_flight += 1;
            }
        }
        self.rebuild_log();
    }

    /// The log of what is in flight, when entries may be gone from it.
    fn rebuild_log(&mut self) {
        let mut log: Vec<(Id, u64)> = self
            .from(self.base)
            .filter(|(_, sent)| sent.state == State::InFlight)
            .map(|(id, sent)| (id, sent.order))
            .collect();
        log.sort_unstable_by_key(|(_, order)| *order);
        self.log = log.into();
    }

    /// The first segment to send again.
    pub(crate) fn next_lost(&self) -> Option<(Id, &Sent)> {
        let id = *self.lost.first()?;
        Some((id, self.get(id)?))
    }

    /// Goes over the transmissions in flight, the oldest first, as long as
    /// `judge` does not say [`Verdict::Stop`], and takes for lost what it says.
    pub(crate) fn judge_by_time(&mut self, mut judge: impl FnMut(&Sent) -> Verdict) -> usize {
        let mut count = 0;
        let mut kept = 0;
        while let Some(&(id, order)) = self.log.get(kept) {
            if !self.is_in_flight(id, order) {
                if kept == 0 {
                    self.log.pop_front();
                } else {
                    kept += 1;
                }
                continue;
            }
            let Some(sent) = self.get(id) else {
                break;
            };
            match judge(sent) {
                Verdict::Lost => {
                    self.mark_lost(id);
                    count += 1;
                }
                Verdict::Keep => kept += 1,
                Verdict::Stop => break,
            }
        }
        count
    }

    /// The first segment that ends behind `number`, or the next to be sent.
    pub(crate) fn first_behind(&self, number: u64) -> Id {
        self.base + self.segments.partition_point(|sent| sent.end <= number) as u64
    }

    /// Segments from `id` on.
    pub(crate) fn from(&self, id: Id) -> impl Iterator<Item = (Id, &Sent)> {
        let skip = usize::try_from(id.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let base = self.base;
        self.segments
            .iter()
            .enumerate()
            .skip(skip)
            .map(move |(index, sent)| (base + index as u64, sent))
    }
}

/// What is to become of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Lost,
    Keep,
    Stop,
}

/// The range without the first of `known` that touches it: at most two ranges.
fn without(
    left: u64,
    right: u64,
    known: &[Option<(u64, u64)>; 4],
) -> impl Iterator<Item = (u64, u64)> + use<> {
    let cut = known
        .iter()
        .flatten()
        .find(|(from, to)| *from < right && left < *to)
        .copied()
        // Nothing to cut out: an empty range at the right edge.
        .unwrap_or((right, right));
    [(left, cut.0.min(right)), (cut.1.max(left), right)]
        .into_iter()
        .filter(|(from, to)| from < to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for index in 0..segments {
            board.push(1 + index * 100, 101 + index * 100, false, index);
        }
        board
    }

    fn states(board: &Scoreboard) -> String {
        let letter = |sent: &Sent| match sent.state {
            State::InFlight => '.',
            State::Sacked => 'S',
            State::Lost => 'L',
        };
        board.segments.iter().map(letter).collect()
    }

    /// RFC 6675 4: Update marks what an ACK reports; pipe counts the rest.
    #[test]
    fn blocks_mark_whole_segments() {
        let mut board = board(6);
        assert_eq!(board.sack(&[(201, 401), (450, 601)], |_| ()), 3);
        assert_eq!(states(&board), "..SS.S");
        assert_eq!((board.pipe(), board.sacked()), (3, 3));
        // Only what is new counts.
        assert_eq!(board.sack(&[(201, 501), (501, 601)], |_| ()), 1);
        assert_eq!(states(&board), "..SSSS");
        assert_eq!(board.acknowledge(151, |_| ()), 1);
        assert_eq!(board.first().unwrap().start, 151);
        assert_eq!(board.acknowledge(601, |_| ()), 5);
        assert_eq!((board.pipe(), board.sacked()), (0, 0));
    }

    /// RFC 6675 4: what is lost is not in the pipe, what is sent again is.
    #[test]
    fn lost_and_sent_again() {
        let mut board = board(4);
        assert!(board.mark_lost(0));
        assert!(board.mark_lost(2));
        assert!(!board.mark_lost(2));
        assert_eq!((board.pipe(), board.lost()), (2, 2));
        let (id, _) = board.next_lost().unwrap();
        board.resend(id, 10);
        assert_eq!(board.next_lost().unwrap().0, 2);
        assert_eq!(board.pipe(), 3);
        assert!(board.get(0).unwrap().retransmitted());
        // A loss probe is there twice.
        board.resend(3, 11);
        assert_eq!(board.pipe(), 4);
    }

    /// RFC 8985 5.2: by time of transmission, not by sequence.
    #[test]
    fn judged_in_the_order_of_transmission() {
        let mut board = board(3);
        board.mark_lost(0);
        board.resend(0, 10);
        let mut order = Vec::new();
        board.judge_by_time(|sent| {
            order.push(sent.start);
            Verdict::Keep
        });
        assert_eq!(order, [101, 201, 1]);
    }

    /// RFC 8985 5.2: what was taken for lost by mistake is judged again, in the
    /// order of transmission.
    #[test]
    fn lost_by_mistake() {
        let mut board = board(4);
        board.judge_by_time(|sent| match sent.start {
            1 | 101 => Verdict::Lost,
            _ => Verdict::Stop,
        });
        board.resend(0, 10);
        board.unmark_lost();
        assert_eq!((board.pipe(), board.lost()), (4, 0));
        let mut order = Vec::new();
        board.judge_by_time(|sent| {
            order.push(sent.start);
            Verdict::Keep
        });
        assert_eq!(order, [101, 201, 301, 1]);
    }

    /// RFC 2018 8: after a timeout the sender forgets what was SACKed.
    #[test]
    fn reneging() {
        let mut board = board(3);
        board.sack(&[(101, 301)], |_| ());
        board.forget_sacks();
        assert_eq!((states(&board).as_str(), board.pipe()), ("...", 3));
        assert_eq!(board.sack(&[(101, 301)], |_| ()), 2);
    }

    #[test]
    fn the_log_is_bounded() {
        let mut board = board(2);
        for time in 0..10_000 {
            board.mark_lost(1);
            board.resend(1, time);
        }
        assert!(board.log.len() < 100);
    }
}
