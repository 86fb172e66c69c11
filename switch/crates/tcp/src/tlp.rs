// SPDX-License-Identifier: Apache-2.0
//! Tail loss probes (RFC 8985 7).

/// RFC 8985 7.2, TLP.max_ack_delay, for a lone segment: what the other end may
/// wait with its ACK, at the worst.
const MAX_ACK_DELAY: u64 = 200_000_000;
/// RFC 8985 7.2: the timeout when there is no SRTT.
const INITIAL_PTO: u64 = 1_000_000_000;

/// A probe that is not answered yet (TLP.end_seq, TLP.is_retrans).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) end: u64,
    pub(crate) retransmission: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    probe: Option<Probe>,
}

/// TLP_calc_PTO of RFC 8985 7.2, without the bound by the RTO.
pub(crate) fn timeout(srtt: Option<u64>, lone: bool) -> u64 {
    match srtt {
        None => INITIAL_PTO,
        Some(srtt) => 2 * srtt + if lone { MAX_ACK_DELAY } else { 0 },
    }
}

impl Tlp {
    pub(crate) fn waits(&self) -> bool {
        self.probe.is_some()
    }

    pub(crate) fn sent(&mut self, probe: Probe) {
        self.probe = Some(probe);
    }

    pub(crate) fn forget(&mut self) {
        self.probe = None;
    }

    /// TLP_process_ack of RFC 8985 7.4.2. `dsack_end`: the right edge of a
    /// DSACK; `plain`: the ACK brings nothing, no data, SACK or window. True
    /// if the probe repaired a loss: congestion control has to react.
    pub(crate) fn on_ack(&mut self, ack: u64, dsack_end: Option<u64>, plain: bool) -> bool {
        let Some(probe) = self.probe else {
            return false;
        };
        if ack < probe.end {
            return false;
        }
        if !probe.retransmission || dsack_end == Some(probe.end) {
            self.probe = None;
            return false;
        }
        if ack > probe.end {
            self.probe = None;
            return true;
        }
        if plain {
            self.probe = None;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// RFC 8985 7.2: 2 SRTT, and the delay of an ACK for a lone segment.
    #[test]
    fn timeouts() {
        assert_eq!(timeout(None, false), 1000 * MS);
        assert_eq!(timeout(Some(30 * MS), false), 60 * MS);
        assert_eq!(timeout(Some(30 * MS), true), 260 * MS);
    }

    fn sent(retransmission: bool) -> Tlp {
        let mut tlp = Tlp::default();
        tlp.sent(Probe {
            end: 100,
            retransmission,
        });
        tlp
    }

    /// RFC 8985 7.4: a DSACK or a second ACK says that both arrived.
    #[test]
    fn needless_probes() {
        let mut tlp = sent(true);
        assert!(!tlp.on_ack(100, None, false));
        assert!(tlp.waits());
        assert!(!tlp.on_ack(100, None, true));
        assert!(!tlp.waits());
        let mut tlp = sent(true);
        assert!(!tlp.on_ack(100, Some(100), false));
        assert!(!tlp.waits());
        // New data as a probe repairs nothing.
        let mut tlp = sent(false);
        assert!(!tlp.on_ack(100, None, false));
        assert!(!tlp.waits());
    }

    /// RFC 8985 7.4: an ACK of more, and no sign of both: one was lost.
    #[test]
    fn repaired_losses() {
        let mut tlp = sent(true);
        assert!(!tlp.on_ack(50, None, false));
        assert!(!tlp.on_ack(100, None, false));
        assert!(tlp.on_ack(200, None, false));
        assert!(!tlp.waits());
    }
}
