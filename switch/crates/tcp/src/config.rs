// SPDX-License-Identifier: Apache-2.0
//! The settings of a host: two profiles, with every setting that they have.

use crate::rtt::RtoConfig;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// Which congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// RFC 6817.
    Ledbat,
}

/// How losses are found and repaired when the other end has SACK too. Without
/// SACK it is NewReno (RFC 6582) in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossRecovery {
    /// RFC 6675: by duplicate acknowledgments and a pipe.
    Sack,
    /// RACK-TLP (RFC 8985) with PRR (RFC 6937), F-RTO (RFC 5682) and undo.
    Rack,
}

/// How an ACK makes the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Each ACK of new data counts as one segment (RFC 5681 3.1).
    PerAck,
    /// Each segment that an ACK covers counts (RFC 3465).
    PerSegment,
}

/// Settings of a connection. [`Config::linux`] and [`Config::rfc`] are the two
/// profiles; a host changes what it wants otherwise. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The port of this end.
    pub port: u16,
    /// The port of the other end.
    pub peer_port: u16,
    /// The Maximum Segment Size that is announced, without options: 1460 over
    /// Ethernet and IPv4.
    pub mss: u16,
    /// The initial window, in segments.
    pub initial_window: u32,
    /// The congestion controller.
    pub congestion: Congestion,
    /// CUBIC leaves slow start by HyStart.
    pub hystart: bool,
    /// The queueing delay that LEDBAT keeps to (TARGET of RFC 6817 2.5), nanoseconds.
    pub ledbat_target: u64,
    /// How losses are found and repaired.
    pub recovery: LossRecovery,
    /// How an ACK makes the window grow.
    pub growth: Growth,
    /// Offers SACK (RFC 2018) and DSACK (RFC 2883).
    pub sack: bool,
    /// Offers timestamps (RFC 7323 3).
    pub timestamps: bool,
    /// A segment that is not full waits while another such is not acknowledged
    /// (RFC 896, in the form of Minshall).
    pub nagle: bool,
    /// Bounds of the retransmission timeout.
    pub rto: RtoConfig,
    /// ACKs are sent for so many full segments: 2 (RFC 5681 4.2), or 1.
    pub ack_every: u32,
    /// How long an ACK is delayed at most.
    pub delayed_ack: u64,
    /// ACKs that are not delayed at the beginning, in segments.
    pub quick_acks: u32,
    /// How long an ACK waits that reports more data out of order, behind the
    /// third for the same hole; 0 for not at all.
    pub sack_delay: u64,
    /// Data with PSH is acknowledged as soon as the application has read it.
    pub ack_pushed: bool,
    /// How far the receive window may grow at first, in bytes.
    pub receive_buffer: u32,
    /// How far autotuning lets it grow, in bytes. If that is the same, the
    /// window is as large from the beginning.
    pub receive_buffer_max: u32,
    /// The window opens in steps of the Maximum Segment Size that is announced (RFC 9293 3.8.6.2.2).
    /// If not, it opens with whatever is read, as Linux's does where it is scaled: a window that
    /// limits lets every segment through that fits.
    pub window_in_steps: bool,
    /// The most bytes that are on their way at a time.
    pub send_buffer: u32,
    /// The window restarts after an idle time (RFC 5681 4.1).
    pub restart_after_idle: bool,
    /// So many SYNs follow each other without backing off; they do not count
    /// as [`Config::syn_retries`].
    pub syn_linear_timeouts: u32,
    /// Retransmissions of a SYN before the connection is given up.
    pub syn_retries: u32,
    /// Timeouts in a row before the connection is given up (RFC 9293 3.8.3, R2).
    pub retries: u32,
    /// How long TIME-WAIT lasts: twice the MSL (RFC 9293 3.4.2).
    pub time_wait: u64,
    /// The application reads everything at once. If not, [`crate::Connection::read`] does.
    pub reads_at_once: bool,
}

impl Config {
    /// What Linux does.
    pub fn linux() -> Config {
        Config {
            port: 0,
            peer_port: 0,
            mss: 1460,
            initial_window: 10,
            congestion: Congestion::Cubic,
            hystart: true,
            ledbat_target: LEDBAT_TARGET,
            recovery: LossRecovery::Rack,
            growth: Growth::PerSegment,
            sack: true,
            timestamps: true,
            nagle: true,
            rto: RtoConfig {
                initial: SECOND,
                granularity: 200 * MILLISECOND,
                min: 200 * MILLISECOND,
                max: 120 * SECOND,
                by_flight: false,
            },
            ack_every: 2,
            delayed_ack: 40 * MILLISECOND,
            quick_acks: 16,
            sack_delay: MILLISECOND,
            ack_pushed: true,
            // What its buffer of 128 KiB leaves for data.
            receive_buffer: 81_000,
            receive_buffer_max: 6 << 20,
            window_in_steps: true,
            send_buffer: 64 << 20,
            restart_after_idle: true,
            syn_linear_timeouts: 4,
            syn_retries: 6,
            retries: 15,
            time_wait: 60 * SECOND,
            reads_at_once: true,
        }
    }

    /// What the RFCs of Reno say: 5681, 6582 and 6675. Of newer ones there are only the timestamps of RFC
    /// 7323 and RFC 7661 4.3: a window that is not used does not grow.
    pub fn rfc() -> Config {
        Config {
            initial_window: 3,
            congestion: Congestion::Reno,
            hystart: false,
            recovery: LossRecovery::Sack,
            growth: Growth::PerAck,
            nagle: false,
            rto: RtoConfig {
                initial: SECOND,
                granularity: MILLISECOND,
                min: SECOND,
                max: 60 * SECOND,
                by_flight: true,
            },
            delayed_ack: 100 * MILLISECOND,
            quick_acks: 0,
            sack_delay: 0,
            ack_pushed: false,
            syn_linear_timeouts: 0,
            receive_buffer: 64 << 20,
            receive_buffer_max: 64 << 20,
            ..Config::linux()
        }
    }

    /// The same with an ACK for each segment at once, in order or not. RFC 1122 4.2.3.2 and
    /// RFC 5681 4.2 allow a host to delay no ACK: a delayed one is a SHOULD and a MAY.
    pub fn acknowledging_every_segment(self) -> Config {
        Config {
            ack_every: 1,
            sack_delay: 0,
            ..self
        }
    }

    /// The same with another least retransmission timeout, nanoseconds. RFC 6298 2.4 says a second,
    /// and that it may be less where clocks are fine; ns-2 had 200 ms. Linux's is beyond the round
    /// trip and so stays.
    pub fn with_least_timeout(self, least: u64) -> Config {
        let beyond = self.rto.granularity >= self.rto.min;
        let granularity = if beyond { least } else { self.rto.granularity };
        Config {
            rto: RtoConfig {
                granularity,
                min: least,
                ..self.rto
            },
            ..self
        }
    }

    /// The same with a window that is as large from the beginning, and offers no more: so many bytes,
    /// rounded up to what the window's scale can tell (RFC 7323 2.2).
    pub fn with_receive_window(self, bytes: u32) -> Config {
        Config {
            receive_buffer: bytes,
            receive_buffer_max: bytes,
            window_in_steps: false,
            ..self
        }
    }

    /// The same with the values that the machine can work with.
    pub(crate) fn bounded(mut self) -> Config {
        self.mss = self.mss.max(MIN_MSS);
        self.syn_linear_timeouts = self.syn_linear_timeouts.min(100);
        self.syn_retries = self.syn_retries.min(100);
        self.initial_window = self.initial_window.max(1);
        self.ledbat_target = self.ledbat_target.clamp(1, LEDBAT_TARGET);
        self.ack_every = self.ack_every.max(1);
        self.receive_buffer = self.receive_buffer.clamp(MIN_BUFFER, MAX_BUFFER);
        self.receive_buffer_max = self
            .receive_buffer_max
            .clamp(self.receive_buffer, MAX_BUFFER);
        self.send_buffer = self.send_buffer.clamp(MIN_BUFFER, MAX_BUFFER);
        self
    }
}

/// The least segment size that is taken from the other end: what a hostile one
/// could ask for would be a header for every byte.
pub(crate) const MIN_MSS: u16 = 48;
const MIN_BUFFER: u32 = 2048;
/// RFC 6817 2.5: TARGET must be 100 ms or less.
const LEDBAT_TARGET: u64 = 100 * MILLISECOND;
/// The largest window that can be scaled (RFC 7323 2.3).
const MAX_BUFFER: u32 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298 2.4: the least timeout is a bound; Linux adds its own to the round trip.
    #[test]
    fn the_least_timeout() {
        let least = 50 * MILLISECOND;
        let (linux, rfc) = (Config::linux(), Config::rfc());
        let found = [linux.clone(), rfc.clone()].map(|one| one.with_least_timeout(least).rto);
        assert_eq!((found[0].min, found[0].granularity), (least, least));
        assert_eq!((found[1].min, found[1].granularity), (least, MILLISECOND));
        for usual in [linux, rfc] {
            assert_eq!(usual.clone().with_least_timeout(usual.rto.min), usual);
        }
    }
}
