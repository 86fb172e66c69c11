// SPDX-License-Identifier: Apache-2.0
//! UDP one way: at a constant rate, in trains, on and off, or at given times.

use super::Common;
use crate::host::{Host, Role};
use crate::net::Net;
use crate::random::Random;

/// When datagrams are sent.
#[derive(Clone, Debug)]
pub enum Timetable {
    /// Every so many nanoseconds, from a time on.
    Every {
        /// From one to the next.
        interval: u64,
        /// Datagrams back to back.
        train: u32,
        /// Means of the times with and without traffic; both 0 for traffic all the time.
        on_off: (u64, u64),
    },
    /// At each of these times, in order.
    At(Vec<u64>),
}

/// What is sent, and when.
#[derive(Clone, Debug)]
pub struct UdpStreamConfig {
    /// When.
    pub timetable: Timetable,
    /// The first one is due then, or drawn from here on; nanoseconds.
    pub start: u64,
    /// Nothing is sent from then on, nanoseconds.
    pub stop: u64,
    /// UDP payload of each, bytes.
    pub payload: usize,
}

/// The first datagram comes at most so much later than the start.
const SPREAD: u64 = 100_000_000;

/// A stream of datagrams.
#[derive(Debug)]
pub struct UdpStream {
    config: UdpStreamConfig,
    /// When the next one would be due, were there no end.
    due: u64,
    /// End of the time with traffic.
    on_until: u64,
    /// Sent so far.
    number: u64,
}

impl UdpStream {
    /// None sent yet.
    #[must_use]
    pub fn new(config: UdpStreamConfig, random: &mut Random) -> Self {
        let (due, on_until) = match &config.timetable {
            Timetable::Every {
                interval, on_off, ..
            } => {
                // Not all of one rate at the same moment.
                let due = config.start + random.below((*interval).min(SPREAD));
                let on_until = match on_off.0 {
                    0 => u64::MAX,
                    mean => due.saturating_add(random.exponential_of(mean)),
                };
                (due, on_until)
            }
            Timetable::At(_) => (config.start, u64::MAX),
        };
        Self {
            config,
            due,
            on_until,
            number: 0,
        }
    }

    /// When the next one is due.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let due = match &self.config.timetable {
            Timetable::Every { .. } => self.due,
            Timetable::At(times) => *times.get(self.number as usize)?,
        };
        (due < self.config.stop).then_some(due)
    }

    /// Sends what is due; when the next one is.
    pub fn on_timer(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
    ) -> Option<u64> {
        while let Some(due) = self.due() {
            if due > net.now {
                return Some(due);
            }
            if net.now >= self.config.stop {
                break;
            }
            let (interval, train, off) = match &self.config.timetable {
                Timetable::Every {
                    interval,
                    train,
                    on_off,
                } => (*interval, *train, *on_off),
                Timetable::At(_) => (0, 1, (0, 0)),
            };
            for _ in 0..train {
                let id = common.identification(Role::Client);
                let payload = self.config.payload;
                let frame = common.forward.datagram(net, id, payload, self.number);
                common.send(net, hosts, Role::Client, id, frame);
                self.number += 1;
            }
            self.due += interval;
            if self.due >= self.on_until {
                let random = &mut common.random;
                self.due = self.on_until.saturating_add(random.exponential_of(off.1));
                // A time of nothing would never end.
                let on = random.exponential_of(off.0).max(1);
                self.on_until = self.due.saturating_add(on);
            }
        }
        None
    }
}
