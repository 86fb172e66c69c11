// SPDX-License-Identifier: Apache-2.0
//! Applications over TCP: transfers, messages, requests with responses.

mod pair;
mod plan;

use std::collections::VecDeque;

use prefetch::fetch;
use tcp::{Config, State};

use super::Common;
use crate::host::{Host, Role};
use crate::net::Net;
use crate::records::NEVER;
use crate::samples::SenderReading;
use crate::wire::Addresses;

pub use pair::Pair;

pub use plan::{Messages, Plan, Requests, Transfers, Turns};

/// Until an application tries again after a connection could not be had, nanoseconds.
const RETRY: u64 = 1_000_000_000;
/// Between the source ports of an application's connections, as the Mininet stage has it.
pub const PORTS_BETWEEN: u16 = 200;
/// Connections until the first source port comes again.
pub const CONNECTIONS: u16 = 60;

/// What a TCP sender is like, over all of its connections.
#[derive(Clone, Copy, Debug)]
pub struct TransferInfo {
    /// State of the newest connection, as RFC 9293 names it.
    pub state: &'static str,
    /// What is sampled, too.
    pub sender: SenderReading,
    /// Retransmission timeout, nanoseconds.
    pub rto: u64,
    /// Segments with data, retransmissions included.
    pub sent_segments: u64,
    /// How often the retransmission timer fired.
    pub timeouts: u64,
    /// Connections opened.
    pub connections: u64,
    /// Bytes acknowledged.
    pub acknowledged: u64,
}

/// What connections that are over came to.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    payload: u64,
    acknowledged: u64,
    segments: u64,
    retransmissions: u64,
    timeouts: u64,
}

/// An application over TCP.
#[derive(Debug)]
pub struct Tcp {
    config: Config,
    plan: Plan,
    /// Whose port is chosen for each connection; 0: the host chooses.
    first_port: u16,
    opened: u64,
    /// The newest one, if it is in use.
    current: Option<Pair>,
    /// Bytes that the sender of the current one was given.
    given: u64,
    /// Those that are over for the application, and not yet for TCP.
    lingering: VecDeque<Pair>,
    past: Past,
    /// Messages or requests: when handed over, and when complete.
    asked: Vec<i64>,
    completed: Vec<i64>,
    /// When the application next does something by itself, its lateness included.
    wakes: Option<u64>,
}

impl Tcp {
    /// No connection yet.
    #[must_use]
    pub fn new(config: Config, plan: Plan, first_port: u16, common: &mut Common) -> Self {
        let mut new = Self {
            config,
            plan,
            first_port,
            opened: 0,
            current: None,
            given: 0,
            lingering: VecDeque::new(),
            past: Past::default(),
            asked: Vec::new(),
            completed: Vec::new(),
            wakes: None,
        };
        new.plan_wake(common, 0);
        new
    }

    /// Which end sends the data.
    fn sender_role(&self) -> Role {
        self.plan.sender()
    }

    /// Which end gets the data, and acknowledges them.
    #[must_use]
    pub fn receiver_role(&self) -> Role {
        match self.sender_role() {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        }
    }

    /// When a timer of TCP or the application is due.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let pairs = self.current.iter().chain(&self.lingering);
        pairs.filter_map(Pair::next_timer).chain(self.wakes).min()
    }

    /// When a timer of one end's or the application is due: what has happened to that end
    /// has changed no timer of the other one, at whose state nobody needs to look.
    #[must_use]
    pub fn due_at(&self, role: Role) -> Option<u64> {
        let pairs = self.current.iter().chain(&self.lingering);
        let timers = pairs.filter_map(|pair| pair.timer_at(role));
        timers.chain(self.wakes).min()
    }

    /// A timer has come; when the next one does.
    pub fn on_timer(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
    ) -> Option<u64> {
        let now = net.now;
        for place in 0..self.lingering.len() {
            self.lingering[place].fire(common, net, hosts);
        }
        if let Some(pair) = &mut self.current {
            pair.fire(common, net, hosts);
            for role in [Role::Server, Role::Client] {
                self.attend(role, common, net, hosts);
            }
        }
        if self.wakes.is_some_and(|at| at <= now) {
            self.wakes = None;
            self.act(common, net, hosts);
        }
        self.sweep(hosts);
        self.due()
    }

    /// Asks for the memory of the newest connection's end.
    #[inline]
    pub fn fetch(&self, role: Role) {
        if let Some(pair) = &self.current {
            fetch(match role {
                Role::Client => &pair.client,
                Role::Server => &pair.server,
            });
        }
    }

    /// A segment is handed to an end. False where it is none.
    pub fn receive(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
        (role, addresses): (Role, &Addresses),
        content: &[u8],
    ) -> bool {
        let Ok(segment) = tcp::Segment::decode(content, content.len()) else {
            return false;
        };
        let port = match role {
            Role::Client => addresses.destination_port,
            Role::Server => addresses.source_port,
        };
        let mine = |pair: &&mut Pair| pair.addresses.source_port == port;
        if let Some(pair) = self.current.as_mut().filter(|pair| mine(pair)) {
            pair.end(role).on_segment(net.now, &segment);
            pair.flush(role, common, net, hosts);
            self.attend(role, common, net, hosts);
        } else if let Some(pair) = self.lingering.iter_mut().find(mine) {
            pair.end(role).on_segment(net.now, &segment);
            pair.flush(role, common, net, hosts);
        }
        true
    }

    /// The application looks at an end of the current connection to which something has
    /// happened.
    fn attend(&mut self, role: Role, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let Some(pair) = &mut self.current else {
            return;
        };
        if role != self.plan.sender() {
            common.counts.payload = self.past.payload + pair.end(role).delivered();
        }
        match role {
            Role::Client => self.attend_client(common, net),
            Role::Server => self.attend_server(common, net, hosts),
        }
    }

    fn attend_server(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let Some(pair) = &mut self.current else {
            return;
        };
        match &mut self.plan {
            Plan::Transfers(_) => {
                // The receiver closes when it has everything, and then the sender is done.
                if pair.server.peer_closed() && pair.server.state() == State::CloseWait {
                    pair.server.close();
                    pair.flush(Role::Server, common, net, hosts);
                }
            }
            Plan::Messages(messages) => {
                let first = messages.before;
                let complete = first + pair.server.delivered() / messages.size;
                self.complete(first, complete, net.now);
            }
            Plan::Requests(requests) => {
                while requests.is_asked(pair.server.delivered()) {
                    let bytes = requests.answer(&mut common.random);
                    pair.server.send(bytes);
                    self.given += bytes;
                    pair.flush(Role::Server, common, net, hosts);
                }
            }
        }
    }

    fn attend_client(&mut self, common: &mut Common, net: &mut Net) {
        let Some(pair) = &mut self.current else {
            return;
        };
        if let Plan::Requests(requests) = &mut self.plan
            && requests.is_answered(pair.client.delivered())
        {
            let complete = requests.complete(net.now, &mut common.random);
            self.complete(complete - 1, complete, net.now);
            self.plan_wake(common, net.now);
        }
        let Some(pair) = &mut self.current else {
            return;
        };
        if let Plan::Transfers(transfers) = &mut self.plan
            && transfers.kept
            && transfers.is_given()
            && pair.client.state() == State::Established
            && pair.client.unacknowledged() == 0
        {
            transfers.finished(net.now);
            self.plan_wake(common, net.now);
        } else if matches!(self.plan, Plan::Transfers(_)) && pair.client.peer_closed() {
            self.retire();
            if let Plan::Transfers(transfers) = &mut self.plan {
                transfers.finished(net.now);
            }
            self.plan_wake(common, net.now);
        } else if pair.client.is_closed() {
            // It was lost: as a user, try again.
            self.retire();
            self.plan.failed(net.now + RETRY, self.asked.len() as u64);
            self.plan_wake(common, net.now);
        } else if self.ask_for_turn(net) {
            self.plan_wake(common, net.now);
        }
    }

    /// Messages or responses from one to before another are complete.
    fn complete(&mut self, first: u64, end: u64, now: u64) {
        let end = self.completed.len().min(end as usize);
        let done = self.completed[..end].iter_mut().skip(first as usize);
        for time in done.rev().take_while(|time| **time == NEVER) {
            *time = now as i64;
        }
    }

    fn plan_wake(&mut self, common: &mut Common, now: u64) {
        let due = self.plan.due(self.current.is_some());
        let lateness = common.lateness.draw(&mut common.random);
        self.wakes = due.map(|due| due.max(now) + lateness);
    }

    /// The application does what is due.
    fn act(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        if self.plan.is_over(net.now) {
            if let Some(pair) = &mut self.current {
                if self.plan.ends_with_reset() {
                    pair.client.abort();
                } else {
                    pair.client.close();
                    pair.server.close();
                    pair.flush(Role::Server, common, net, hosts);
                }
            }
            if let Some(pair) = &mut self.current {
                pair.flush(Role::Client, common, net, hosts);
                self.retire();
            }
            self.plan.end();
            return;
        }
        if self.current.is_none() {
            self.open(common, net, hosts);
        }
        let Some(pair) = &mut self.current else {
            // No port was free: the plan has the time at which to try again.
            self.plan_wake(common, net.now);
            return;
        };
        match &mut self.plan {
            Plan::Transfers(transfers) => {
                let bytes = transfers.give();
                pair.client.send(bytes);
                self.given += bytes;
                if transfers.is_given() && !transfers.kept {
                    pair.client.close();
                }
            }
            Plan::Messages(messages) => {
                while messages.is_due(net.now) && net.record(2) {
                    pair.client.send(messages.send());
                    self.given += messages.size;
                    self.asked.push(net.now as i64);
                    self.completed.push(NEVER);
                }
            }
            Plan::Requests(requests) => {
                if requests.is_due(net.now) && net.record(2) {
                    pair.client.send(requests.ask());
                    self.asked.push(net.now as i64);
                    self.completed.push(NEVER);
                }
            }
        }
        pair.flush(Role::Client, common, net, hosts);
        self.ask_for_turn(net);
        self.plan_wake(common, net.now);
    }

    /// A transfer that keeps to a rate asks for its next turn, if TCP has sent what it was given.
    /// Returns whether it has asked.
    fn ask_for_turn(&mut self, net: &mut Net) -> bool {
        let (Plan::Transfers(transfers), Some(pair)) = (&mut self.plan, &self.current) else {
            return false;
        };
        let Some((limit, bytes)) = transfers.wanted(pair.client.unsent()) else {
            return false;
        };
        transfers.next = Some(net.rate_limits[limit.0 as usize].turn(net.now, bytes));
        true
    }

    /// Opens the next connection, if a port is free for it.
    fn open(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let Some(addresses) = self.next_addresses(common, hosts) else {
            self.plan.failed(net.now + RETRY, self.asked.len() as u64);
            return;
        };
        // One that lingers with this port is over.
        let port = addresses.source_port;
        let mut lingering = self.lingering.iter();
        if let Some(place) = lingering.position(|pair| pair.addresses.source_port == port)
            && let Some(pair) = self.lingering.remove(place)
        {
            pair.close(hosts);
        }
        let server = common.destination;
        let pair = Pair::begin(&self.config, addresses, server, common, net.now);
        pair.open(common.number, hosts);
        self.current = Some(pair);
        self.opened += 1;
        self.given = 0;
    }

    /// Those of the next connection; none where every port is another application's.
    fn next_addresses(&mut self, common: &Common, hosts: &mut [Host]) -> Option<Addresses> {
        let mut addresses = common.forward;
        if self.opened == 0 {
            return Some(addresses);
        }
        let host = &mut hosts[common.source as usize];
        if self.first_port == 0 {
            let (to, port) = (addresses.destination, addresses.destination_port);
            addresses.source_port = host.free_port(addresses.protocol, to, port)?;
            return Some(addresses);
        }
        for _ in 0..CONNECTIONS {
            let number = (self.opened % u64::from(CONNECTIONS)) as u16;
            // A port beyond the last there is, 65535, is skipped.
            if let Some(port) = self.first_port.checked_add(number * PORTS_BETWEEN) {
                addresses.source_port = port;
                let owner = host.flow(&Common::key_of(&addresses, Role::Client));
                if owner.is_none_or(|owner| owner.application == common.number) {
                    return Some(addresses);
                }
            }
            self.opened += 1;
        }
        None
    }

    /// The current connection is over for the application.
    fn retire(&mut self) {
        let Some(mut pair) = self.current.take() else {
            return;
        };
        let role = self.sender_role();
        let receiver = match role {
            Role::Client => pair.server.delivered(),
            Role::Server => pair.client.delivered(),
        };
        let sender = pair.end(role);
        let counts = sender.info().counts;
        self.past.payload += receiver;
        self.past.acknowledged += self.given.saturating_sub(sender.unacknowledged());
        self.past.segments += counts.segments;
        self.past.retransmissions += counts.retransmissions;
        self.past.timeouts += counts.timeouts;
        self.given = 0;
        self.lingering.push_back(pair);
    }

    /// Forgets connections of which nothing more comes.
    fn sweep(&mut self, hosts: &mut [Host]) {
        // Where the last word was lost, an end waits for it for ever.
        while (self.lingering.len() > usize::from(CONNECTIONS)
            || self.lingering.front().is_some_and(Pair::is_over))
            && let Some(pair) = self.lingering.pop_front()
        {
            pair.close(hosts);
        }
    }

    /// What a TCP sender is like.
    #[must_use]
    pub fn info(&self) -> TransferInfo {
        let pair = self.current.as_ref().or(self.lingering.back());
        let sender = pair.map(|pair| match self.sender_role() {
            Role::Client => &pair.client,
            Role::Server => &pair.server,
        });
        let past = &self.past;
        let Some(sender) = sender else {
            return TransferInfo {
                state: "CLOSED",
                sender: SenderReading {
                    ssthresh: i64::MAX as u64,
                    retransmissions: past.retransmissions,
                    ..SenderReading::default()
                },
                rto: self.config.rto.initial,
                sent_segments: past.segments,
                timeouts: past.timeouts,
                connections: self.opened,
                acknowledged: past.acknowledged,
            };
        };
        let info = sender.info();
        let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
        let live = self.current.is_some();
        let counts = if live {
            info.counts
        } else {
            Default::default()
        };
        let acknowledged = self.given.saturating_sub(sender.unacknowledged());
        TransferInfo {
            state: name(info.state),
            sender: SenderReading {
                cwnd: bytes(info.cwnd),
                ssthresh: match info.ssthresh {
                    u32::MAX => i64::MAX as u64,
                    segments => bytes(segments),
                },
                srtt: info.srtt.unwrap_or(0),
                in_flight: bytes(info.in_flight),
                retransmissions: past.retransmissions + counts.retransmissions,
            },
            rto: info.rto,
            sent_segments: past.segments + counts.segments,
            timeouts: past.timeouts + counts.timeouts,
            connections: self.opened,
            acknowledged: past.acknowledged + if live { acknowledged } else { 0 },
        }
    }

    /// When each message or request was handed over, and when it was complete.
    #[must_use]
    pub fn columns(&self) -> [&[i64]; 2] {
        [&self.asked, &self.completed]
    }
}

fn name(state: State) -> &'static str {
    match state {
        State::Listen => "LISTEN",
        State::SynSent => "SYN-SENT",
        State::SynReceived => "SYN-RECEIVED",
        State::Established => "ESTABLISHED",
        State::FinWait1 => "FIN-WAIT-1",
        State::FinWait2 => "FIN-WAIT-2",
        State::CloseWait => "CLOSE-WAIT",
        State::Closing => "CLOSING",
        State::LastAck => "LAST-ACK",
        State::TimeWait => "TIME-WAIT",
        State::Closed => "CLOSED",
    }
}
