// SPDX-License-Identifier: Apache-2.0
//! UDP requests in turn, as netperf's UDP_RR: the next one follows the reply, or a timeout.

use super::Common;
use crate::host::{Host, Role};
use crate::net::Net;
use crate::records::NEVER;
use crate::wire::number_of;

/// What is asked, and when.
#[derive(Clone, Copy, Debug)]
pub struct RequestResponseConfig {
    /// The first request, nanoseconds.
    pub start: u64,
    /// Nothing is asked from then on, nanoseconds.
    pub stop: u64,
    /// The next request does not wait longer for a reply, nanoseconds.
    pub timeout: u64,
    /// UDP payload of a request and of a reply, bytes; both have room for a number.
    pub payload: [usize; 2],
}

/// Requests, and when each was made and answered.
#[derive(Debug)]
pub struct RequestResponse {
    config: RequestResponseConfig,
    /// When the next request is due, if no reply comes before.
    next: u64,
    asked: Vec<i64>,
    answered: Vec<i64>,
}

impl RequestResponse {
    /// Nothing asked yet.
    #[must_use]
    pub fn new(config: RequestResponseConfig) -> Self {
        Self {
            config,
            next: config.start,
            asked: Vec::new(),
            answered: Vec::new(),
        }
    }

    /// When the next request is due at the latest.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        (self.next < self.config.stop).then_some(self.next)
    }

    /// Makes a request that is due; when the next one is.
    pub fn on_timer(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
    ) -> Option<u64> {
        // Whoever is late for the end does not ask any more.
        if self.due()? <= net.now && net.now < self.config.stop {
            self.ask(common, net, hosts);
        } else if self.next <= net.now {
            self.next = self.config.stop;
        }
        self.due()
    }

    fn ask(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        self.next = net.now.saturating_add(self.config.timeout);
        // A world that records no more ends here.
        if net.record(2) {
            let number = self.asked.len() as u64;
            self.asked.push(net.now as i64);
            self.answered.push(NEVER);
            self.send(common, net, hosts, Role::Client, number);
        }
    }

    fn send(
        &self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
        role: Role,
        number: u64,
    ) {
        let id = common.identification(role);
        let payload = self.config.payload[role as usize];
        let frame = common.addresses(role).datagram(net, id, payload, number);
        common.send(net, hosts, role, id, frame);
    }

    /// A request has reached the other end, or a reply is there. True where the next request was
    /// made for it, so that `due` has changed.
    ///
    /// A reply belongs to its own request, however late it is; only that to the last one is
    /// waited for.
    pub fn receive(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
        role: Role,
        payload: &[u8],
    ) -> bool {
        let Some(number) = number_of(payload) else {
            return false;
        };
        let last = self.asked.len() as u64;
        if number >= last {
            return false;
        }
        if role == Role::Server {
            self.send(common, net, hosts, Role::Server, number);
            return false;
        }
        let answered = &mut self.answered[number as usize];
        // Whoever copies a packet on its way does not change when the first one came.
        if *answered != NEVER {
            return false;
        }
        *answered = net.now as i64;
        common.counts.payload += payload.len() as u64;
        let waited_for = number + 1 == last && net.now < self.config.stop;
        if waited_for {
            self.ask(common, net, hosts);
        }
        waited_for
    }

    /// When each request was made, and when its reply was there; -1 is not at all.
    #[must_use]
    pub fn columns(&self) -> [&[i64]; 2] {
        [&self.asked, &self.answered]
    }
}
