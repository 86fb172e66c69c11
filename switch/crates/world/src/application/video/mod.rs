// SPDX-License-Identifier: Apache-2.0
//! Somebody who watches an adaptive video: one segment after the other over one TCP connection that
//! is kept, as HTTP/1.1 does.
//!
//! The client asks for a segment, the server answers with its bytes. What is asked for, and when, is
//! the player's to decide.

mod player;
mod records;

use std::collections::VecDeque;

use tcp::Config;

use super::Common;
use super::tcp::Pair;
use crate::host::{Host, Role};
use crate::net::Net;
use crate::wire::Addresses;
use player::Player;
use records::Records;

pub use player::PlayerConfig;
pub use records::Columns as VideoColumns;

/// Until the client connects again after a connection was lost or could not be had, nanoseconds.
const RETRY: u64 = 1_000_000_000;
/// Connections that are over for the client and not for TCP; the oldest goes where there are more.
const MOST_LINGERING: usize = 16;

/// What a video and its player are like.
#[derive(Clone, Debug)]
pub struct VideoConfig {
    /// How TCP works.
    pub tcp: Config,
    /// Who decides.
    pub player: PlayerConfig,
    /// Bytes of a request.
    pub request: u64,
    /// When the first segment is asked for, and when everything ends.
    pub start: u64,
    /// See `start`.
    pub stop: u64,
}

/// A segment that the client waits for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    /// When it was asked for first, over whichever connection.
    asked: u64,
    bytes: u64,
}

/// A connection, and what was asked and answered over it.
#[derive(Debug)]
struct Talk {
    pair: Pair,
    /// Bytes of all requests.
    asked: u64,
    /// Bytes of all answers.
    answered: u64,
    /// The server owes the last answer.
    owed: bool,
}

/// Somebody who watches a video.
#[derive(Debug)]
pub struct Video {
    tcp: Config,
    request: u64,
    stop: u64,
    player: Player,
    talk: Option<Talk>,
    /// Those that are over for the client, and not yet for TCP.
    lingering: VecDeque<Pair>,
    /// Connections opened so far.
    opened: u64,
    wanted: Option<Wanted>,
    /// When the client next asks; none while it waits for an answer.
    next: Option<u64>,
    /// When the client next does something by itself, its lateness included.
    wakes: Option<u64>,
    records: Records,
}

impl Video {
    /// Nothing asked yet.
    #[must_use]
    pub fn new(config: VideoConfig, common: &mut Common) -> Self {
        let mut new = Self {
            tcp: config.tcp,
            request: config.request,
            stop: config.stop,
            player: Player::new(config.player),
            talk: None,
            lingering: VecDeque::new(),
            opened: 0,
            wanted: None,
            next: Some(config.start),
            wakes: None,
            records: Records::default(),
        };
        new.plan_wake(common, 0);
        new
    }

    /// When a timer of TCP or the client is due.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let current = self.talk.iter().map(|talk| &talk.pair);
        let timers = current.chain(&self.lingering).filter_map(Pair::next_timer);
        timers.chain(self.wakes).min()
    }

    /// A timer has come; when the next one does.
    pub fn on_timer(
        &mut self,
        common: &mut Common,
        net: &mut Net,
        hosts: &mut [Host],
    ) -> Option<u64> {
        for pair in &mut self.lingering {
            pair.fire(common, net, hosts);
        }
        if let Some(talk) = &mut self.talk {
            talk.pair.fire(common, net, hosts);
        }
        self.check_lost(common, net, hosts);
        if self.wakes.is_some_and(|at| at <= net.now) {
            self.wakes = None;
            self.act(common, net, hosts);
        }
        self.sweep(hosts);
        self.due()
    }

    /// A segment of TCP is handed to an end. Whether it is one, and when the first timer is due of
    /// those that it has changed.
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
        let port = match role {
            Role::Client => addresses.destination_port,
            Role::Server => addresses.source_port,
        };
        let mine = |pair: &Pair| pair.addresses.source_port == port;
        if let Some(talk) = self.talk.as_mut().filter(|talk| mine(&talk.pair)) {
            let pair = &mut talk.pair;
            let before = pair.client.delivered();
            pair.end(role).on_segment(net.now, &segment);
            common.counts.payload += pair.client.delivered() - before;
            pair.flush(role, common, net, hosts);
            match role {
                Role::Server => self.answer(common, net, hosts),
                Role::Client => self.look(common, net, hosts),
            }
            self.check_lost(common, net, hosts);
            return (true, self.due());
        }
        let mut due = None;
        if let Some(pair) = self.lingering.iter_mut().find(|pair| mine(pair)) {
            pair.end(role).on_segment(net.now, &segment);
            pair.flush(role, common, net, hosts);
            due = pair.timer_at(role);
        }
        (true, due)
    }

    /// The server sends the segment that it was asked for, once it has all of the request.
    fn answer(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let (Some(talk), Some(wanted)) = (&mut self.talk, self.wanted) else {
            return;
        };
        if talk.owed && talk.pair.server.delivered() >= talk.asked {
            talk.owed = false;
            talk.answered += wanted.bytes;
            talk.pair.server.send(wanted.bytes);
            talk.pair.flush(Role::Server, common, net, hosts);
        }
    }

    /// The client looks whether it has the whole segment.
    fn look(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let (Some(talk), Some(wanted)) = (&self.talk, self.wanted) else {
            return;
        };
        if talk.owed || talk.pair.client.delivered() < talk.answered {
            return;
        }
        self.wanted = None;
        let plays = self.player.got(wanted.asked, net.now, wanted.bytes);
        self.records.came(net.now, plays);
        let next = self.player.asks_at(net.now);
        self.next = Some(next);
        if next <= net.now {
            self.act(common, net, hosts);
        } else {
            self.plan_wake(common, net.now);
        }
    }

    fn plan_wake(&mut self, common: &mut Common, now: u64) {
        let next = self.next.filter(|&at| at < self.stop);
        let stops = (self.stop < u64::MAX && now < self.stop).then_some(self.stop);
        let due = next.into_iter().chain(stops).min();
        let lateness = common.lateness.draw(&mut common.random);
        self.wakes = due.map(|due| due.max(now) + lateness);
    }

    /// The client does what is due.
    fn act(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        if net.now >= self.stop {
            self.end(common, net, hosts);
            return;
        }
        if self.next.is_some_and(|at| at <= net.now) {
            self.next = None;
            self.ask(common, net, hosts);
        }
        self.plan_wake(common, net.now);
    }

    /// Asks for the next segment, or once more for one that a lost connection did not bring.
    fn ask(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        if self.talk.is_none() && !self.connect(common, net, hosts) {
            self.next = Some(net.now + RETRY);
            return;
        }
        if self.wanted.is_none() {
            let rate = self.player.rate();
            let bytes = self.player.bytes(rate);
            let buffered = self.player.buffered(net.now);
            if !self.records.asked(net, rate, bytes, buffered) {
                return;
            }
            let asked = net.now;
            self.wanted = Some(Wanted { asked, bytes });
        }
        if let Some(talk) = &mut self.talk {
            talk.asked += self.request;
            talk.owed = true;
            talk.pair.client.send(self.request);
            talk.pair.flush(Role::Client, common, net, hosts);
        }
    }

    /// Opens a connection; whether the client had a port for it.
    fn connect(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) -> bool {
        let mut addresses = common.forward;
        if self.opened > 0 {
            let (to, port) = (addresses.destination, addresses.destination_port);
            let host = &mut hosts[common.source as usize];
            let Some(own) = host.free_port(addresses.protocol, to, port) else {
                return false;
            };
            addresses.source_port = own;
        }
        let pair = Pair::begin(&self.tcp, addresses, common.destination, common, net.now);
        pair.open(common.number, hosts);
        self.opened += 1;
        self.talk = Some(Talk {
            pair,
            asked: 0,
            answered: 0,
            owed: false,
        });
        true
    }

    /// A connection that one of the ends has given up is over; what it did not bring is asked for
    /// over the next one.
    fn check_lost(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        let lost = |talk: &Talk| talk.pair.client.is_closed() || talk.pair.server.is_closed();
        if self.talk.as_ref().is_some_and(lost) {
            self.hang_up(common, net, hosts);
            let due = self.next.unwrap_or(0);
            self.next = Some(due.max(net.now + RETRY));
            self.plan_wake(common, net.now);
        }
    }

    /// The client goes: what is on its way is reset.
    fn end(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        self.hang_up(common, net, hosts);
        self.wanted = None;
        self.next = None;
    }

    fn hang_up(&mut self, common: &mut Common, net: &mut Net, hosts: &mut [Host]) {
        if let Some(Talk { mut pair, .. }) = self.talk.take() {
            pair.client.abort();
            pair.flush(Role::Client, common, net, hosts);
            self.lingering.push_back(pair);
            self.sweep(hosts);
        }
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

    /// Its segments.
    #[must_use]
    pub fn columns(&self) -> VideoColumns<'_> {
        self.records.columns()
    }
}
