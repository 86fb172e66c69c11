// SPDX-License-Identifier: Apache-2.0
//! Adds applications over TCP to a world.

use tcp::Config;

use super::traffic::{Flow, Times, checked_interval};
use super::{MOST_APPLICATIONS, World};
use crate::application::{
    CONNECTIONS, Delay, Kind as Traffic, Messages, PORTS_BETWEEN, Plan, Requests, Tcp, Transfers,
    Turns,
};
use crate::error::{WorldError, invalid};
use crate::rate_limit::{RateLimit, RateLimitId};
use crate::wire::PROTOCOL_TCP;

/// Bytes of a segment's timestamps, which the Maximum Segment Size counts.
const TIMESTAMPS: u16 = 12;
const SEGMENTS: std::ops::RangeInclusive<u16> = 88..=1448;
const MOST_INITIAL_WINDOW: u32 = 1000;
/// RFC 6817 2.5: TARGET must be 100 ms or less.
const MOST_LEDBAT_TARGET: u64 = 100_000_000;
/// bit/s of an application.
const MOST_RATE: u64 = 100_000_000_000;
/// Limits of a world. A transfer with a rate of its own may have another even then.
const MOST_RATE_LIMITS: usize = MOST_APPLICATIONS;
/// Nanoseconds.
const LEAST_TIMEOUTS: std::ops::RangeInclusive<u64> = 1_000_000..=60_000_000_000;
/// Bytes. The largest is the largest that can be scaled (RFC 7323 2.3).
const RECEIVE_WINDOWS: std::ops::RangeInclusive<u32> = 2048..=1 << 30;
/// Nanoseconds.
const MOST_REPLY_DELAY: u64 = 60_000_000_000;
/// Bytes of a transfer, a message, a request or a response.
const MOST_BYTES: u64 = 1 << 50;
/// As the testbed sets its hosts: half of 32 MiB is window.
const RECEIVE_BUFFER: u32 = 16 << 20;
/// How long a connection remembers its end. Linux has a minute; in the world a late
/// segment of it is no other's.
const TIME_WAIT: u64 = 1_000_000_000;

pub use tcp::Congestion;

/// What a host's TCP has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// All that Linux does.
    #[default]
    Linux,
    /// RFC 5681, 6582 and 6675 alone.
    Rfc,
}

/// When a host acknowledges data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acknowledgements {
    /// As the profile has it: every second segment, or a little later (RFC 5681 4.2).
    #[default]
    Delayed,
    /// Every segment, at once.
    EverySegment,
}

/// How TCP works.
#[derive(Clone, Copy, Debug)]
pub struct TcpOptions {
    /// Congestion control.
    pub congestion: Congestion,
    /// What TCP has.
    pub profile: Profile,
    /// Segments.
    pub initial_window: u32,
    /// Largest payload of a segment, bytes.
    pub segment: u16,
    /// When the receiver acknowledges.
    pub acknowledgements: Acknowledgements,
    /// The queueing delay that LEDBAT keeps to, nanoseconds.
    pub ledbat_target: u64,
    /// The least retransmission timeout, nanoseconds; the profile's unless given.
    pub least_timeout: Option<u64>,
    /// The window that a receiver offers at the most, from the beginning, bytes; one that does not
    /// limit unless given.
    pub receive_window: Option<u32>,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            congestion: Congestion::Cubic,
            profile: Profile::Linux,
            initial_window: 10,
            segment: *SEGMENTS.end(),
            acknowledgements: Acknowledgements::Delayed,
            ledbat_target: MOST_LEDBAT_TARGET,
            least_timeout: None,
            receive_window: None,
        }
    }
}

/// Transfers to add.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransferOptions {
    /// When the first one begins, and when everything ends.
    pub times: Times,
    /// Bytes of each; endless unless given.
    pub size: Option<u64>,
    /// From the end of one to the start of the next; one only unless given.
    pub pause: Option<u64>,
    /// All of them are on one connection, instead of one each.
    pub kept: bool,
    /// bit/s of payload that the application sends at the most; no such limit unless given.
    pub rate: Option<u64>,
    /// The limit that it keeps to together with other transfers, instead of a rate of its own.
    pub shared_limit: Option<RateLimitId>,
    /// What the destination sends is so much longer on its way than its link says, nanoseconds: a
    /// round trip of this flow's own.
    pub reply_delay: u64,
    /// How TCP works.
    pub tcp: TcpOptions,
}

/// Messages to add.
#[derive(Clone, Copy, Debug)]
pub struct MessagesOptions {
    /// When the first one is sent, and when everything ends.
    pub times: Times,
    /// Bytes of each.
    pub size: u64,
    /// From one to the next, nanoseconds.
    pub interval: u64,
    /// How TCP works.
    pub tcp: TcpOptions,
}

/// Requests to add.
#[derive(Clone, Copy, Debug)]
pub struct RequestsOptions {
    /// When the client begins to think, and when it asks no more.
    pub times: Times,
    /// Bytes of a request.
    pub request: u64,
    /// Mean bytes of a response, which are exponentially distributed.
    pub response: u64,
    /// Mean time from a response to the next request, exponentially distributed.
    pub think: u64,
    /// How TCP works.
    pub tcp: TcpOptions,
}

pub(super) fn checked_bytes(what: &str, bytes: u64) -> Result<u64, WorldError> {
    if bytes == 0 || bytes > MOST_BYTES {
        return Err(invalid(format!(
            "{what} has 1 to {MOST_BYTES} bytes, not {bytes}"
        )));
    }
    Ok(bytes)
}

fn checked_rate_limit(rate: u64) -> Result<RateLimit, WorldError> {
    if !(1..=MOST_RATE).contains(&rate) {
        return Err(invalid(format!(
            "a rate of transfers is 1 to {MOST_RATE} bit/s, not {rate}"
        )));
    }
    Ok(RateLimit::new(rate))
}

pub(super) fn config(options: &TcpOptions) -> Result<Config, WorldError> {
    let (segment, window) = (options.segment, options.initial_window);
    if !SEGMENTS.contains(&segment) {
        return Err(invalid(format!(
            "a segment has a payload of {} to {} bytes at most, not {segment}",
            SEGMENTS.start(),
            SEGMENTS.end()
        )));
    }
    if window == 0 || window > MOST_INITIAL_WINDOW {
        return Err(invalid(format!(
            "an initial window has 1 to {MOST_INITIAL_WINDOW} segments, not {window}"
        )));
    }
    let target = options.ledbat_target;
    if target == 0 || target > MOST_LEDBAT_TARGET {
        return Err(invalid(format!(
            "LEDBAT's target is above 0 and at most 100 ms (RFC 6817 2.5), not {target} ns"
        )));
    }
    let profile = match options.profile {
        Profile::Linux => Config::linux(),
        Profile::Rfc => Config::rfc(),
    };
    let profile = match options.least_timeout {
        None => profile,
        Some(least) if LEAST_TIMEOUTS.contains(&least) => profile.with_least_timeout(least),
        Some(least) => {
            return Err(invalid(format!(
                "the least retransmission timeout is 1 ms to a minute, not {least} ns"
            )));
        }
    };
    let profile = match options.acknowledgements {
        Acknowledgements::Delayed => profile,
        Acknowledgements::EverySegment => profile.acknowledging_every_segment(),
    };
    let profile = match options.receive_window {
        None => Config {
            receive_buffer_max: profile.receive_buffer_max.max(RECEIVE_BUFFER),
            ..profile
        },
        Some(bytes) if RECEIVE_WINDOWS.contains(&bytes) => profile.with_receive_window(bytes),
        Some(bytes) => {
            return Err(invalid(format!(
                "a receive window has {} to {} bytes, not {bytes}",
                RECEIVE_WINDOWS.start(),
                RECEIVE_WINDOWS.end()
            )));
        }
    };
    Ok(Config {
        congestion: options.congestion,
        initial_window: window,
        mss: segment + TIMESTAMPS,
        time_wait: TIME_WAIT,
        ledbat_target: target,
        ..profile
    })
}

impl World {
    /// Adds TCP transfers, one after the other, or one.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_transfer(
        &mut self,
        flow: &Flow<'_>,
        options: &TransferOptions,
    ) -> Result<u32, WorldError> {
        if let Some(size) = options.size {
            checked_bytes("a transfer", size)?;
        } else if options.pause.is_some() || options.kept {
            return Err(invalid(
                "there is no pause and no next one behind an endless transfer; give a size",
            ));
        }
        let own_limit = options.rate.map(checked_rate_limit).transpose()?;
        let limits = self.net.rate_limits.len();
        if let Some(RateLimitId(number)) = options.shared_limit {
            if own_limit.is_some() {
                return Err(invalid(
                    "a transfer keeps to a rate of its own or to a shared limit; leave one out",
                ));
            }
            if number as usize >= limits {
                return Err(invalid(format!("there is no rate limit {number}")));
            }
        }
        let last = u32::from(flow.source_port) + u32::from((CONNECTIONS - 1) * PORTS_BETWEEN);
        if options.pause.is_some() && !options.kept && last > u32::from(u16::MAX) {
            return Err(invalid(format!(
                "source port {} is too high: later transfers would have ports up to {last}",
                flow.source_port
            )));
        }
        if options.reply_delay > MOST_REPLY_DELAY {
            return Err(invalid(format!(
                "replies are a minute longer on their way at the most, not {} ns",
                options.reply_delay
            )));
        }
        let segment = options.tcp.segment;
        let shared = |limit| Turns::shared(limit, segment);
        let alone = |rate| Turns::alone(RateLimitId(limits as u32), rate, segment);
        let added = self.add_tcp(
            flow,
            options.times,
            &options.tcp,
            options.reply_delay,
            |next, stop| {
                Plan::Transfers(Transfers {
                    size: options.size,
                    pause: options.pause,
                    kept: options.kept,
                    turns: options.shared_limit.map(shared).or(options.rate.map(alone)),
                    next: Some(next),
                    stop,
                    left: None,
                })
            },
        )?;
        self.net.rate_limits.extend(own_limit);
        Ok(added)
    }

    /// Adds a limit that transfers keep to together, bit/s of their payload. Those that can send
    /// take turns of a segment each; what one cannot use goes to the others.
    ///
    /// # Errors
    /// The rate is not possible, or there are too many limits.
    pub fn add_rate_limit(&mut self, rate: u64) -> Result<RateLimitId, WorldError> {
        self.check()?;
        let limit = checked_rate_limit(rate)?;
        let limits = &mut self.net.rate_limits;
        if limits.len() >= MOST_RATE_LIMITS {
            return Err(invalid(format!(
                "a world has at most {MOST_RATE_LIMITS} rate limits"
            )));
        }
        limits.push(limit);
        Ok(RateLimitId(limits.len() as u32 - 1))
    }

    /// Adds messages on one TCP connection.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_messages(
        &mut self,
        flow: &Flow<'_>,
        options: &MessagesOptions,
    ) -> Result<u32, WorldError> {
        let size = checked_bytes("a message", options.size)?;
        let interval = checked_interval("a time between messages", options.interval)?;
        self.add_tcp(flow, options.times, &options.tcp, 0, |next, stop| {
            Plan::Messages(Messages {
                size,
                interval,
                next: Some(next),
                stop,
                before: 0,
            })
        })
    }

    /// Adds requests and responses on one TCP connection.
    ///
    /// # Errors
    /// Which value is not possible.
    pub fn add_requests(
        &mut self,
        flow: &Flow<'_>,
        options: &RequestsOptions,
    ) -> Result<u32, WorldError> {
        let request = checked_bytes("a request", options.request)?;
        let response = checked_bytes("a response", options.response)?;
        let think = checked_interval("a time to think", options.think)?;
        self.add_tcp(flow, options.times, &options.tcp, 0, |next, stop| {
            Plan::Requests(Requests {
                request,
                response,
                think,
                next: Some(next),
                stop,
                number: 0,
                asked: 0,
                answered: 0,
                owed: false,
            })
        })
    }

    fn add_tcp(
        &mut self,
        flow: &Flow<'_>,
        times: Times,
        options: &TcpOptions,
        reply_delay: u64,
        plan: impl FnOnce(u64, u64) -> Plan,
    ) -> Result<u32, WorldError> {
        let config = config(options)?;
        let mut draft = self.draft(PROTOCOL_TCP, flow, times)?;
        draft.common.delay = (reply_delay > 0).then(|| Box::new(Delay::new(reply_delay)));
        let mut plan = plan(draft.start, draft.stop);
        plan.think_first(&mut draft.common.random);
        let tcp = Tcp::new(config, plan, flow.source_port, &mut draft.common);
        Ok(self.begin(draft.common, Traffic::Tcp(Box::new(tcp))))
    }
}
