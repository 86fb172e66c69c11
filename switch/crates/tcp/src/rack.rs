// SPDX-License-Identifier: Apache-2.0
//! RACK: loss is told by the time of transmission (RFC 8985 6.2).

use crate::scoreboard::{Scoreboard, Sent, Verdict};

/// RFC 8985 6.2 step 4: as many duplicate acknowledgments as RFC 5681 waits
/// for, when no reordering has been seen.
pub(crate) const DUP_THRESH: usize = 3;
/// The most that the window grows: RACK.reo_wnd_mult times a quarter RTT.
const MAX_REO_WND_MULT: u64 = 255;
/// RFC 8985 6.2 step 4: recoveries until a grown window is given up.
const REO_WND_PERSIST: u8 = 16;

#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: of the segments delivered, the one sent
    /// last.
    newest: Option<(u64, u64)>,
    /// RACK.rtt, of that segment.
    rtt: u64,
    reordering_seen: bool,
    /// RACK.dsack_round: SND.NXT when the window grew last.
    dsack_round: Option<u64>,
    reo_wnd_mult: u64,
    reo_wnd_persist: u8,
}

/// What an ACK brought that RACK needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) now: u64,
    pub(crate) min_rtt: Option<u64>,
    /// The time of transmission that the timestamp echoes, at the latest.
    pub(crate) echoed: Option<u64>,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            newest: None,
            rtt: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
        }
    }
}

/// RFC 8985 6.2 step 2, RACK_sent_after.
fn sent_after(one: (u64, u64), other: (u64, u64)) -> bool {
    one > other
}

impl Rack {
    /// RFC 8985 6.2 steps 2 and 3, for one segment that was acknowledged or
    /// SACKed. `highest` is the highest byte delivered before this ACK.
    pub(crate) fn delivered(&mut self, sent: &Sent, highest: u64, acked: &Acked) {
        let rtt = acked.now.saturating_sub(sent.sent_at);
        if sent.retransmitted() {
            // An ACK of the first transmission, not of the last one.
            if acked.echoed.is_some_and(|echoed| echoed < sent.sent_at) {
                return;
            }
            if acked.min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
                return;
            }
        } else if sent.end < highest {
            self.reordering_seen = true;
        }
        let this = (sent.sent_at, sent.end);
        if self.newest.is_none_or(|newest| sent_after(this, newest)) {
            self.newest = Some(this);
            self.rtt = rtt;
        }
    }

    /// RFC 8985 6.2 step 4: a DSACK says that a retransmission was needless.
    pub(crate) fn dsack(&mut self, una: u64, nxt: u64) {
        if self.dsack_round.is_some_and(|round| una < round) {
            return;
        }
        self.dsack_round = Some(nxt);
        self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(MAX_REO_WND_MULT);
        self.reo_wnd_persist = REO_WND_PERSIST;
    }

    /// RFC 8985 6.2 step 4: a recovery is over.
    pub(crate) fn recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// RACK.reo_wnd (RFC 8985 6.2 step 4).
    pub(crate) fn reo_wnd(
        &self,
        recovering: bool,
        sacked: usize,
        min_rtt: Option<u64>,
        srtt: Option<u64>,
    ) -> u64 {
        if !self.reordering_seen && (recovering || sacked >= DUP_THRESH) {
            return 0;
        }
        let window = self.reo_wnd_mult * (min_rtt.unwrap_or(0) / 4);
        window.min(srtt.unwrap_or(0))
    }

    /// RFC 8985 6.2 step 5: marks what is lost and returns how many, and in
    /// how many nanoseconds the next may be.
    pub(crate) fn detect_loss(
        &self,
        board: &mut Scoreboard,
        now: u64,
        reo_wnd: u64,
    ) -> (usize, Option<u64>) {
        let Some(newest) = self.newest else {
            return (0, None);
        };
        let mut timeout: Option<u64> = None;
        let lost = board.judge_by_time(|sent| {
            if !sent_after(newest, (sent.sent_at, sent.end)) {
                return Verdict::Stop;
            }
            let due = self.due(sent, reo_wnd);
            if due <= now {
                return Verdict::Lost;
            }
            timeout = Some(timeout.unwrap_or(0).max(due - now));
            Verdict::Keep
        });
        (lost, timeout)
    }

    /// When a segment in flight counts as lost (RFC 8985 6.2 step 5, 6.3).
    pub(crate) fn due(&self, sent: &Sent, reo_wnd: u64) -> u64 {
        sent.sent_at
            .saturating_add(self.rtt)
            .saturating_add(reo_wnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const MIN_RTT: Option<u64> = Some(20 * MS);

    fn acked(now: u64) -> Acked {
        Acked {
            now,
            min_rtt: MIN_RTT,
            echoed: None,
        }
    }

    /// Five segments of 100 bytes, one sent every millisecond.
    fn board() -> Scoreboard {
        let mut board = Scoreboard::default();
        for index in 0..5 {
            board.push(1 + index * 100, 101 + index * 100, false, index * MS);
        }
        board
    }

    fn sack(rack: &mut Rack, board: &mut Scoreboard, block: (u64, u64), now: u64) {
        let highest = board.highest_delivered();
        board.sack(&[block], |sent| rack.delivered(sent, highest, &acked(now)));
    }

    /// RFC 8985 6.2 step 5: what was sent a reordering window before the
    /// newest that arrived is lost; until then a timer runs.
    #[test]
    fn loss_by_time() {
        let (mut rack, mut board) = (Rack::default(), board());
        sack(&mut rack, &mut board, (101, 201), 21 * MS);
        let reo_wnd = rack.reo_wnd(false, board.sacked(), MIN_RTT, MIN_RTT);
        assert_eq!(reo_wnd, 5 * MS);
        assert_eq!(
            rack.detect_loss(&mut board, 21 * MS, reo_wnd),
            (0, Some(4 * MS))
        );
        assert_eq!(rack.detect_loss(&mut board, 25 * MS, reo_wnd), (1, None));
        assert_eq!(board.next_lost().unwrap().1.start, 1);
    }

    /// RFC 8985 6.2 step 4: three SACKed segments, and no reordering known:
    /// there is nothing to wait for.
    #[test]
    fn three_duplicates_suffice() {
        let (mut rack, mut board) = (Rack::default(), board());
        sack(&mut rack, &mut board, (101, 401), 23 * MS);
        let reo_wnd = rack.reo_wnd(false, board.sacked(), MIN_RTT, MIN_RTT);
        assert_eq!(reo_wnd, 0);
        assert_eq!(rack.detect_loss(&mut board, 23 * MS, reo_wnd), (1, None));
    }

    /// RFC 8985 6.2 step 3: a segment that arrives behind later ones.
    #[test]
    fn reordering_is_seen() {
        let (mut rack, mut board) = (Rack::default(), board());
        sack(&mut rack, &mut board, (101, 401), 23 * MS);
        board.acknowledge(401, |sent| rack.delivered(sent, 401, &acked(24 * MS)));
        assert!(rack.reordering_seen);
        assert_eq!(rack.reo_wnd(true, 3, MIN_RTT, MIN_RTT), 5 * MS);
    }

    /// RFC 8985 6.2 step 2: the ACK of a first transmission says nothing of
    /// the second.
    #[test]
    fn retransmissions_that_cannot_have_arrived() {
        let (mut rack, mut board) = (Rack::default(), board());
        board.mark_lost(0);
        board.resend(0, 30 * MS);
        let sent = *board.get(0).unwrap();
        rack.delivered(&sent, 0, &acked(31 * MS));
        assert!(rack.newest.is_none());
        let echo = Acked {
            echoed: Some(29 * MS),
            ..acked(60 * MS)
        };
        rack.delivered(&sent, 0, &echo);
        assert!(rack.newest.is_none());
        rack.delivered(&sent, 0, &acked(60 * MS));
        assert_eq!(rack.newest, Some((30 * MS, 101)));
    }

    /// RFC 8985 6.2 step 4: a DSACK a round trip widens the window, sixteen
    /// recoveries without one narrow it.
    #[test]
    fn the_window_adapts() {
        let mut rack = Rack {
            reordering_seen: true,
            ..Rack::default()
        };
        rack.dsack(10, 100);
        rack.dsack(50, 150);
        assert_eq!(rack.reo_wnd(true, 0, MIN_RTT, Some(100 * MS)), 10 * MS);
        rack.dsack(100, 200);
        assert_eq!(rack.reo_wnd(true, 0, MIN_RTT, Some(100 * MS)), 15 * MS);
        assert_eq!(rack.reo_wnd(true, 0, MIN_RTT, Some(12 * MS)), 12 * MS);
        for _ in 0..16 {
            rack.recovered();
        }
        assert_eq!(rack.reo_wnd(true, 0, MIN_RTT, Some(100 * MS)), 5 * MS);
    }
}
