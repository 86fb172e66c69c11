// SPDX-License-Identifier: Apache-2.0
//! UDP packets that the other end returns, as irtt's: a call, or a game.

use super::Common;
use crate::host::{Host, Role};
use crate::net::Net;
use crate::records::NEVER;
use crate::wire::number_of;

/// What is sent, and when.
#[derive(Clone, Copy, Debug)]
pub struct ProbesConfig {
    /// The first one, nanoseconds.
    pub start: u64,
    /// From one to the next, nanoseconds.
    pub interval: u64,
    /// How many.
    pub count: u32,
    /// UDP payload of each, bytes.
    pub payload: usize,
}

/// Probes, and when each was where.
#[derive(Debug)]
pub struct Probes {
    config: ProbesConfig,
    sent: Vec<i64>,
    reached: Vec<i64>,
    returned: Vec<i64>,
}

impl Probes {
    /// None sent yet.
    #[must_use]
    pub fn new(config: ProbesConfig) -> Self {
        Self {
            config,
            sent: Vec::new(),
            reached: Vec::new(),
            returned: Vec::new(),
        }
    }

    /// When the next one is due.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let next = self.sent.len() as u64;
        let more = next < u64::from(self.config.count);
        more.then(|| self.config.start + next * self.config.interval)
    }

    /// Sends what is due; when the next one is.
    pub fn on_timer(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
    ) -> Option<u64> {
        while let Some(due) = self.due() {
            if due > net.now || !net.record(3) {
                return Some(due);
            }
            let number = self.sent.len() as u64;
            self.sent.push(net.now as i64);
            self.reached.push(NEVER);
            self.returned.push(NEVER);
            self.send(common, net, hosts, Role::Client, number);
        }
        None
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
        let addresses = common.addresses(role);
        let frame = addresses.datagram(net, id, self.config.payload, number);
        common.send(net, hosts, role, id, frame);
    }

    /// A probe has reached the other end, or is back.
    pub fn receive(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
        role: Role,
        payload: &[u8],
    ) {
        let Some(number) = number_of(payload) else {
            return;
        };
        let times = match role {
            Role::Client => &mut self.returned,
            Role::Server => &mut self.reached,
        };
        // Whoever copies a packet on its way does not change when the first one came.
        match times.get_mut(number as usize) {
            Some(time) if *time == NEVER => *time = net.now as i64,
            _ => return,
        }
        match role {
            Role::Client => common.counts.payload += payload.len() as u64,
            Role::Server => self.send(common, net, hosts, Role::Server, number),
        }
    }

    /// When each was sent, reached the other end, and came back.
    #[must_use]
    pub fn columns(&self) -> [&[i64]; 3] {
        [&self.sent, &self.reached, &self.returned]
    }
}
