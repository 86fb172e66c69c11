// SPDX-License-Identifier: Apache-2.0
//! Loss by SACK without time: IsLost and NextSeg of RFC 6675 4.

use crate::scoreboard::{Id, Scoreboard, State};

/// DupThresh (RFC 6675 2).
pub(crate) const DUP_THRESH: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sack {
    /// Everything below was judged.
    judged: Id,
    /// Duplicate acknowledgments, as RFC 6675 2 defines them: ACKs that SACK
    /// something new.
    dup_acks: u32,
    /// RescueRxt: the rescue retransmission (NextSeg, rule 4) waits until more than that is
    /// acknowledged.
    rescue_rxt: u64,
}

impl Sack {
    /// A recovery begins with a segment that ends at `first_end` (RFC 6675 5 step 4.3).
    pub(crate) fn begin(&mut self, first_end: u64) {
        self.rescue_rxt = first_end;
    }

    /// Counts an ACK; true when DupThresh of them have come in a row.
    pub(crate) fn on_ack(&mut self, advanced: bool, sacked: bool) -> bool {
        if advanced {
            self.dup_acks = 0;
        } else if sacked {
            self.dup_acks = self.dup_acks.saturating_add(1);
        }
        self.dup_acks >= DUP_THRESH
    }

    /// IsLost of RFC 6675 4 for every segment that was sent once: DupThresh
    /// segments above it are SACKed. Returns how many are newly lost.
    pub(crate) fn detect_loss(&mut self, board: &mut Scoreboard) -> usize {
        let mut above = 0;
        let mut id = board.first_behind(board.highest_delivered());
        while above < DUP_THRESH {
            if id <= board.first_id().max(self.judged) {
                return 0;
            }
            id -= 1;
            above += u32::from(
                board
                    .get(id)
                    .is_some_and(|sent| sent.state == State::Sacked),
            );
        }
        let mut count = 0;
        for below in board.first_id().max(self.judged)..id {
            let once = board.get(below).is_some_and(|sent| !sent.retransmitted());
            count += usize::from(once && board.mark_lost(below));
        }
        self.judged = id;
        count
    }

    /// Rules 3 and 4 of NextSeg (RFC 6675 4): what may be sent again when
    /// nothing is lost by the rules and there is no new data. All below `una` is acknowledged, and the
    /// recovery ends at `point`.
    pub(crate) fn next(&mut self, board: &Scoreboard, una: u64, point: u64) -> Option<Id> {
        let highest = board.highest_delivered();
        let hole = board
            .from(self.judged)
            .take_while(|(_, sent)| sent.end <= highest)
            .find(|(_, sent)| sent.state == State::InFlight && !sent.retransmitted());
        if let Some((id, _)) = hole {
            return Some(id);
        }
        let (id, last) = board.last()?;
        if una <= self.rescue_rxt || last.state != State::InFlight || last.retransmitted() {
            return None;
        }
        self.rescue_rxt = point;
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Scoreboard {
        let mut board = Scoreboard::default();
        for index in 0..8 {
            board.push(1 + index * 100, 101 + index * 100, false, 0);
        }
        board
    }

    /// RFC 6675 4, IsLost: three SACKed segments above, contiguous or not.
    #[test]
    fn three_above() {
        let (mut sack, mut board) = (Sack::default(), board());
        board.sack(&[(201, 301), (401, 501)], |_| ());
        assert_eq!(sack.detect_loss(&mut board), 0);
        board.sack(&[(601, 701)], |_| ());
        assert_eq!(sack.detect_loss(&mut board), 2);
        assert_eq!(board.get(3).unwrap().state, State::InFlight);
        // What was sent again is not lost again by the same evidence.
        board.resend(0, 1);
        board.sack(&[(601, 801)], |_| ());
        assert_eq!(sack.detect_loss(&mut board), 1);
        assert_eq!(board.get(3).unwrap().state, State::Lost);
    }

    /// RFC 6675 4, NextSeg: rule 3 holes that are not lost yet; rule 4 once, and not before more than the
    /// first segment that was sent again is acknowledged.
    #[test]
    fn what_else_to_send() {
        let (mut sack, mut board) = (Sack::default(), board());
        sack.begin(101);
        board.sack(&[(101, 201), (301, 401)], |_| ());
        assert_eq!(sack.next(&board, 1, 801), Some(0));
        board.mark_lost(0);
        board.resend(0, 1);
        board.mark_lost(2);
        board.resend(2, 1);
        assert_eq!(sack.next(&board, 1, 801), None);
        board.acknowledge(201, |_| ());
        assert_eq!(sack.next(&board, 201, 801), Some(7));
        assert_eq!(sack.next(&board, 201, 801), None);
    }

    /// RFC 6675 2: an ACK without new SACK information is no duplicate.
    #[test]
    fn duplicate_acknowledgments() {
        let mut sack = Sack::default();
        assert!(!sack.on_ack(false, true));
        assert!(!sack.on_ack(false, false));
        assert!(!sack.on_ack(false, true));
        assert!(sack.on_ack(false, true));
        assert!(!sack.on_ack(true, true));
    }
}
