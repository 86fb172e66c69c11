// SPDX-License-Identifier: Apache-2.0
//! Proportional Rate Reduction: what fast recovery may send (RFC 6937), with
//! the reduction bound chosen by RFC 9937's SafeACK.

/// A recovery's counts, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// RecoverFS, at least 1: the congestion window when the recovery began, where RFC 6937 3.1 has the
    /// flight. They are the same where the window was full.
    recover_fs: u64,
    ssthresh: u64,
    delivered: u64,
    /// prr_out.
    out: u64,
}

impl Prr {
    pub(crate) fn new(window: u32, ssthresh: u32) -> Prr {
        Prr {
            recover_fs: u64::from(window.max(1)),
            ssthresh: u64::from(ssthresh),
            delivered: 0,
            out: 0,
        }
    }

    /// A segment is sent.
    pub(crate) fn sent(&mut self) {
        self.out += 1;
    }

    /// How many segments an ACK lets go (RFC 6937 3.1). `safe_ack`: it
    /// acknowledges new data and shows no new loss (RFC 9937 6.2).
    pub(crate) fn on_ack(&mut self, delivered: usize, pipe: usize, safe_ack: bool) -> u32 {
        let (delivered, pipe) = (delivered as u64, pipe as u64);
        self.delivered += delivered;
        let count = if pipe > self.ssthresh {
            (self.delivered * self.ssthresh)
                .div_ceil(self.recover_fs)
                .saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered);
            (limit + u64::from(safe_ack)).min(self.ssthresh - pipe)
        };
        // The first retransmission goes whatever the pipe (RFC 9937 6.2).
        let count = count.max(u64::from(self.out == 0));
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 3.1: from 20 segments to 10, one goes for every two delivered.
    #[test]
    fn proportional() {
        let mut prr = Prr::new(20, 10);
        let mut sent = 0;
        let mut pipe = 19;
        for _ in 0..18 {
            pipe -= 1;
            let count = prr.on_ack(1, pipe, false) as usize;
            for _ in 0..count {
                prr.sent();
            }
            sent += count;
            pipe += count;
        }
        assert!((9..=10).contains(&sent), "{sent}");
        assert_eq!(pipe, 10);
    }

    /// RFC 6937 3.1: below ssthresh it is as in slow start, if the ACK is safe
    /// (RFC 9937 6.2), else it keeps the pipe.
    #[test]
    fn reduction_bounds() {
        let mut prr = Prr::new(20, 10);
        prr.sent();
        assert_eq!(prr.on_ack(2, 3, true), 3);
        let mut prr = Prr::new(20, 10);
        prr.sent();
        assert_eq!(prr.on_ack(2, 3, false), 2);
        // Never beyond ssthresh.
        let mut prr = Prr::new(20, 10);
        prr.sent();
        assert_eq!(prr.on_ack(9, 8, true), 2);
    }

    /// RFC 9937 6.2: the fast retransmit itself is never held back.
    #[test]
    fn the_first_retransmission_goes() {
        let mut prr = Prr::new(100, 50);
        assert_eq!(prr.on_ack(0, 99, false), 1);
    }
}
