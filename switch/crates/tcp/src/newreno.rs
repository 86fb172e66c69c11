// SPDX-License-Identifier: Apache-2.0
//! Fast retransmit and fast recovery without SACK: NewReno (RFC 6582), with
//! limited transmit (RFC 3042).

/// Duplicate acknowledgments after which a segment is taken for lost (RFC
/// 5681 3.2).
const DUP_THRESH: u32 = 3;
/// RFC 3042 2: the first two duplicates let one new segment go each.
const LIMITED: u32 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewReno {
    dup_acks: u32,
    /// One more than the "recover" of RFC 6582 3.1, which is the last number that was sent.
    recover: u64,
}

/// What an ACK asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// Fast retransmit, and fast recovery begins.
    Enter,
    /// RFC 6582 3.2 step 3: the window grows by the segment that has left.
    Inflate,
    /// A partial acknowledgment: the next segment is lost, too.
    Partial,
    /// Everything up to `recover` is acknowledged.
    Full,
}

impl NewReno {
    /// `ack` is SND.UNA after the ACK; `point` is the recovery point while
    /// in fast recovery.
    pub(crate) fn on_ack(
        &mut self,
        ack: u64,
        advanced: bool,
        duplicate: bool,
        point: Option<u64>,
    ) -> Step {
        if advanced {
            self.dup_acks = 0;
            return match point {
                None => Step::Nothing,
                Some(point) if ack >= point => Step::Full,
                Some(_) => Step::Partial,
            };
        }
        if !duplicate {
            return Step::Nothing;
        }
        if point.is_some() {
            return Step::Inflate;
        }
        self.dup_acks = self.dup_acks.saturating_add(1);
        // RFC 6582 3.2 step 2: unless more than "recover" is acknowledged, the duplicates may be of what
        // an earlier recovery sent again.
        if self.dup_acks == DUP_THRESH && ack > self.recover {
            return Step::Enter;
        }
        Step::Nothing
    }

    /// RFC 6582 3.2 steps 2 and 4: a recovery begins, or a timeout.
    pub(crate) fn begin(&mut self, nxt: u64) {
        self.recover = nxt;
        self.dup_acks = 0;
    }

    /// RFC 3042 2: how much more than the window may be in flight.
    pub(crate) fn limited_transmit(&self) -> usize {
        self.dup_acks.min(LIMITED) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6582 3.2: the third duplicate begins, partial ACKs go on, a full
    /// one ends.
    #[test]
    fn a_recovery() {
        let mut newreno = NewReno::default();
        assert_eq!(newreno.on_ack(1, false, true, None), Step::Nothing);
        assert_eq!(newreno.limited_transmit(), 1);
        assert_eq!(newreno.on_ack(1, false, true, None), Step::Nothing);
        assert_eq!(newreno.limited_transmit(), 2);
        assert_eq!(newreno.on_ack(1, false, true, None), Step::Enter);
        newreno.begin(1000);
        assert_eq!(newreno.on_ack(1, false, true, Some(1000)), Step::Inflate);
        assert_eq!(newreno.on_ack(500, true, false, Some(1000)), Step::Partial);
        assert_eq!(newreno.on_ack(1000, true, false, Some(1000)), Step::Full);
    }

    /// RFC 6582 3.2 step 2: duplicates of the old recovery begin no new one.
    #[test]
    fn no_second_retransmit_for_the_same_window() {
        let mut newreno = NewReno::default();
        newreno.begin(1000);
        for _ in 0..5 {
            assert_eq!(newreno.on_ack(999, false, true, None), Step::Nothing);
        }
        // All of the old window is acknowledged, and what was sent again needlessly arrives.
        newreno.on_ack(1000, true, false, None);
        for _ in 0..5 {
            assert_eq!(newreno.on_ack(1000, false, true, None), Step::Nothing);
        }
        newreno.on_ack(1001, true, false, None);
        for _ in 0..2 {
            assert_eq!(newreno.on_ack(1001, false, true, None), Step::Nothing);
        }
        assert_eq!(newreno.on_ack(1001, false, true, None), Step::Enter);
    }
}
