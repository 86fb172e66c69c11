// SPDX-License-Identifier: Apache-2.0
//! A web user: one page after the other, each of objects from several servers, over a TCP
//! connection each.
//!
//! The client asks, the server answers and closes. A page is there when its last object is.

mod content;
mod page;
mod sizes;

use std::collections::VecDeque;

use tcp::Config;

use super::Common;
use super::tcp::Pair;
use crate::host::{Host, Role};
use crate::net::Net;
use crate::random::Random;
use crate::records::NEVER;
use crate::wire::{Addresses, Mac};
use page::Page;

pub use content::{Content, Named, Timed};
pub use sizes::MOST_VARIATION;

/// Until the client tries again after a connection could not be had, nanoseconds.
const RETRY: u64 = 1_000_000_000;
/// Connections that are over for the client and not for TCP; the oldest goes where there are more.
const MOST_LINGERING: usize = 512;

/// A web server.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// Its host, by its index.
    pub host: u32,
    /// The host's MAC address.
    pub mac: Mac,
    /// The host's IPv4 address.
    pub address: [u8; 4],
    /// TCP port.
    pub port: u16,
}

/// What a user's pages are like.
#[derive(Clone, Debug)]
pub struct PagesConfig {
    /// How TCP works.
    pub tcp: Config,
    /// In the order in which they take turns; the first one has the HTML. There is one at least.
    pub servers: Vec<Server>,
    /// What they have.
    pub content: Content,
    /// Connections to one server at once.
    pub connections: u16,
    /// Bytes of a request.
    pub request: u64,
    /// When the first one begins, and when everything ends.
    pub start: u64,
    /// See `start`.
    pub stop: u64,
}

/// An object on its way.
#[derive(Debug)]
struct Fetch {
    pair: Pair,
    /// The server, by its place.
    server: usize,
    size: u64,
    /// The server has been asked.
    answered: bool,
}

/// A web user.
#[derive(Debug)]
pub struct Pages {
    config: PagesConfig,
    made: content::Pages,
    page: Option<Page>,
    /// When the user asks for the next object of the page.
    asks: Option<u64>,
    open: Vec<Fetch>,
    /// Those that are over for the client, and not yet for TCP.
    lingering: VecDeque<Pair>,
    /// Connections opened so far.
    opened: u64,
    /// When the next page begins.
    next: Option<u64>,
    /// Before that nothing more is opened: a connection could not be had.
    again: Option<u64>,
    /// When the client next does something by itself, its lateness included.
    wakes: Option<u64>,
    began: Vec<i64>,
    completed: Vec<i64>,
}

impl Pages {
    /// No page yet. `random` is for sizes alone, so that what is slow changes none of them.
    #[must_use]
    pub fn new(config: PagesConfig, random: Random, common: &mut Common) -> Self {
        let mut new = Self {
            made: content::Pages::new(config.content, random),
            next: Some(config.start),
            config,
            page: None,
            asks: None,
            open: Vec::new(),
            lingering: VecDeque::new(),
            opened: 0,
            again: None,
            wakes: None,
            began: Vec::new(),
            completed: Vec::new(),
        };
        new.plan_wake(common, 0);
        new
    }

    /// When a timer of TCP or the client is due.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let pairs = self.open.iter().map(|fetch| &fetch.pair);
        let timers = pairs.chain(&self.lingering).filter_map(Pair::next_timer);
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
        for pair in &mut self.lingering {
            pair.fire(common, net, hosts);
        }
        for fetch in &mut self.open {
            fetch.pair.fire(common, net, hosts);
        }
        while let Some(place) = self.open.iter().position(is_lost) {
            self.lose(place, common, net, hosts);
        }
        if self.wakes.is_some_and(|at| at <= now) {
            self.wakes = None;
            self.act(common, net, hosts);
        }
        self.sweep(hosts);
        self.due()
    }

    /// A segment is handed to an end. Whether it is one, and when the first timer is due of those
    /// that it has changed.
    pub fn receive(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
        (role, addresses): (Role, &Addresses),
        content: &[u8],
    ) -> (bool, Option<u64>) {
        let Ok(segment) = tcp::Segment::decode(content, content.len()) else {
            return (false, None);
        };
        let forward = match role {
            Role::Client => addresses.reversed(),
            Role::Server => *addresses,
        };
        let mine = |pair: &Pair| {
            pair.addresses.source_port == forward.source_port
                && pair.addresses.destination == forward.destination
                && pair.addresses.destination_port == forward.destination_port
        };
        if let Some(place) = self.open.iter().position(|fetch| mine(&fetch.pair)) {
            let pair = &mut self.open[place].pair;
            let before = pair.client.delivered();
            pair.end(role).on_segment(net.now, &segment);
            common.counts.payload += pair.client.delivered() - before;
            pair.flush(role, common, net, hosts);
            let due = pair.timer_at(role);
            let opened = self.attend(place, role, common, net, hosts);
            let timers = [due, opened, self.wakes];
            return (true, timers.into_iter().flatten().min());
        }
        let mut due = None;
        if let Some(pair) = self.lingering.iter_mut().find(|pair| mine(pair)) {
            pair.end(role).on_segment(net.now, &segment);
            if role == Role::Client && pair.client.peer_closed() {
                pair.client.close();
            }
            pair.flush(role, common, net, hosts);
            due = pair.timer_at(role);
        }
        (true, due)
    }

    /// The client, or the server, looks at its end of a connection. When a timer of a connection is
    /// due that was opened for that.
    fn attend(
        &mut self,
        place: usize,
        role: Role,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
    ) -> Option<u64> {
        let fetch = &mut self.open[place];
        match role {
            Role::Server => {
                let asked = fetch.pair.server.delivered() >= self.config.request;
                if asked && !std::mem::replace(&mut fetch.answered, true) {
                    fetch.pair.server.send(fetch.size);
                    fetch.pair.server.close();
                    fetch.pair.flush(role, common, net, hosts);
                    return fetch.pair.timer_at(role);
                }
                None
            }
            Role::Client if is_lost(fetch) => {
                self.lose(place, common, net, hosts);
                None
            }
            Role::Client => {
                let came = fetch.pair.client.delivered();
                if came < fetch.size {
                    return None;
                }
                let server = fetch.server;
                self.retire(place, common, net, hosts);
                if let Some(page) = &mut self.page {
                    page.complete(server);
                    if page.is_complete() {
                        self.end_page(common, net.now);
                        return None;
                    }
                }
                self.fill(common, net, hosts);
                self.open
                    .iter()
                    .filter_map(|fetch| fetch.pair.next_timer())
                    .min()
            }
        }
    }

    fn end_page(&mut self, common: &mut Common, now: u64) {
        if let Some(time) = self.completed.last_mut() {
            *time = now as i64;
        }
        self.page = None;
        self.asks = None;
        self.next = Some(now.saturating_add(self.made.pause()));
        self.plan_wake(common, now);
    }

    fn plan_wake(&mut self, common: &mut Common, now: u64) {
        let stop = self.config.stop;
        let next = self.next.or(self.again).into_iter().chain(self.asks);
        let busy = self.page.is_some() && stop < u64::MAX;
        let due = next
            .filter(|&at| at < stop)
            .chain(busy.then_some(stop))
            .min();
        let lateness = common.lateness.draw(&mut common.random);
        self.wakes = due.map(|due| due.max(now) + lateness);
    }

    /// The client does what is due.
    fn act(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        if net.now >= self.config.stop {
            self.stop(common, net, hosts);
            return;
        }
        self.again = None;
        if self.next.is_some_and(|at| at <= net.now) && self.page.is_none() && net.record(2) {
            self.next = None;
            let servers = self.config.servers.len();
            self.page = Some(self.made.next(servers, self.config.connections));
            self.asks = Some(net.now);
            self.began.push(net.now as i64);
            self.completed.push(NEVER);
        }
        self.ask(net.now);
        self.fill(common, net, hosts);
        self.plan_wake(common, net.now);
    }

    /// The user asks for what is due, where objects come as time goes by.
    fn ask(&mut self, now: u64) {
        while self.asks.is_some_and(|at| at <= now) {
            self.asks = None;
            if let Some(page) = &mut self.page
                && let Some(object) = self.made.object()
                && page.ask(object.size)
            {
                self.asks = Some(now.saturating_add(object.gap));
            }
        }
    }

    /// The user goes: what is on its way is reset.
    fn stop(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        while !self.open.is_empty() {
            self.open[0].pair.client.abort();
            self.retire(0, common, net, hosts);
        }
        self.page = None;
        self.asks = None;
        self.next = None;
        self.again = None;
    }

    /// Opens as many connections as the browser's rules allow.
    fn fill(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        if self.again.is_some() {
            return;
        }
        for server in 0..self.config.servers.len() {
            while self
                .page
                .as_ref()
                .is_some_and(|page| page.is_wanted(server))
            {
                let Some(addresses) = self.next_addresses(server, common, hosts) else {
                    self.again = Some(net.now + RETRY);
                    self.plan_wake(common, net.now);
                    return;
                };
                let Some(size) = self.page.as_mut().and_then(|page| page.next(server)) else {
                    return;
                };
                self.fetch(server, size, addresses, common, net, hosts);
            }
        }
    }

    /// Those of the next connection to a server; none where the client has no port left.
    fn next_addresses(
        &self,
        server: usize,
        common: &Common,
        hosts: &mut [Host],
    ) -> Option<Addresses> {
        if self.opened == 0 {
            return Some(common.forward);
        }
        let Server {
            mac, address, port, ..
        } = self.config.servers[server];
        let protocol = common.forward.protocol;
        let own = hosts[common.source as usize].free_port(protocol, address, port)?;
        Some(Addresses {
            destination_mac: mac,
            destination: address,
            destination_port: port,
            source_port: own,
            ..common.forward
        })
    }

    fn fetch(
        &mut self,
        server: usize,
        size: u64,
        addresses: Addresses,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
    ) {
        let at = self.config.servers[server].host;
        let mut pair = Pair::begin(&self.config.tcp, addresses, at, common, net.now);
        pair.open(common.number, hosts);
        pair.client.send(self.config.request);
        pair.flush(Role::Client, common, net, hosts);
        self.opened += 1;
        self.open.push(Fetch {
            pair,
            server,
            size,
            answered: false,
        });
    }

    /// A connection was lost before all of its object came: as a user, try again.
    fn lose(&mut self, place: usize, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let Fetch { server, size, .. } = self.open[place];
        self.retire(place, common, net, hosts);
        if let Some(page) = &mut self.page {
            page.failed(server, size);
        }
        self.again = Some(net.now + RETRY);
        self.plan_wake(common, net.now);
    }

    /// A connection is over for the client.
    fn retire(&mut self, place: usize, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let mut pair = self.open.remove(place).pair;
        if pair.client.peer_closed() {
            pair.client.close();
        }
        pair.flush(Role::Client, common, net, hosts);
        self.lingering.push_back(pair);
        self.sweep(hosts);
    }

    /// Forgets connections of which nothing more comes.
    fn sweep(&mut self, hosts: &mut [Host]) {
        while (self.lingering.len() > MOST_LINGERING
            || self.lingering.front().is_some_and(Pair::is_over))
            && let Some(pair) = self.lingering.pop_front()
        {
            pair.close(hosts);
        }
    }

    /// When each page began, and when its last object was there.
    #[must_use]
    pub fn columns(&self) -> [&[i64]; 2] {
        [&self.began, &self.completed]
    }
}

/// Whether a connection ended before all of its object came.
fn is_lost(fetch: &Fetch) -> bool {
    fetch.pair.client.is_closed() && fetch.pair.client.delivered() < fetch.size
}
